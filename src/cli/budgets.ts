/** `flotilla budgets`: what each disruption budget has used, whether it is open, and when it opens. */
import type { ApiBudget, ApiBudgets } from '../dashboard/api/types.ts';
import { age, budgetHolds, count } from '../dashboard/client/format.ts';
import { COMMON_HELP } from './inspect/command.ts';
import { LIST_HELP, listCommand, runList } from './inspect/list.ts';
import type { Column } from './inspect/terminal.ts';

const HELP = `Usage: flotilla budgets [options]

Lists the disruption budgets of the configuration (disruption-budgets): how many machines each has used of how many in its
window, how many drain now, whether it is open, and when it opens or closes. HOLDS says why the shard reclaims no further
machine of the place now. Drains by hand are counted and not held; preemptions are counted apart.

  --prefix TEXT     name begins with this text
${LIST_HELP}${COMMON_HELP}
Examples:
  flotilla budgets
  flotilla budgets --json | jq -r '.budgets[] | select(.holds != "") | [.name, .holds] | @tsv'

Exit code: 0 shown, 3 nothing matches, 1 the shard did not answer, 2 invalid usage.
`;

const COLUMNS: readonly Column[] = [
  { name: 'BUDGET' },
  { name: 'WHERE' },
  { name: 'USED', align: 'right' },
  { name: 'IN', align: 'right' },
  { name: 'DRAINING', align: 'right' },
  { name: 'PREEMPTED', align: 'right', isWide: true },
  { name: 'OPEN' },
  { name: 'HOLDS', colour: (text) => (text.trim() === '-' ? 'dim' : 'yellow') },
];

export const BUDGETS = listCommand<ApiBudgets, ApiBudget>({
  name: 'budgets',
  help: HELP,
  options: { prefix: { type: 'string' } },
  ask: (flags) => ['budgets', { prefix: flags.text('prefix') }],
  rowsOf: (answer) => answer.budgets,
  withRows: (answer, budgets) => ({ ...answer, budgets }),
  title: ({ matching, total }) => `${count(matching)} of ${count(total)} disruption budgets`,
  columns: COLUMNS,
  cells: rowOf,
  nameOf: ({ name }) => name,
  none: 'The configuration declares no disruption budget that matches.',
});

export const run = runList(BUDGETS);

function rowOf(budget: ApiBudget, { nowMs }: ApiBudgets): string[] {
  const { used, max, windowMs, draining, drainingMax, preempted } = budget;
  return [
    budget.name,
    budget.place,
    max === null ? '-' : `${count(used)}/${count(max)}`,
    windowMs === null ? '-' : age(windowMs),
    drainingMax === null ? count(draining) : `${count(draining)}/${count(drainingMax)}`,
    count(preempted),
    opening(budget, nowMs),
    budgetHolds(budget, nowMs) || '-',
  ];
}

/** `always`; `closes in 2h`; `opens in 6h`. */
function opening({ open, closesAtMs, opensAtMs }: ApiBudget, nowMs: number): string {
  if (open) return closesAtMs === null ? 'always' : `yes, closes in ${age(closesAtMs - nowMs)}`;
  return opensAtMs === null ? 'no' : `no, opens in ${age(opensAtMs - nowMs)}`;
}
