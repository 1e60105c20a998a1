/** `/api/v1/budgets`: the disruption budgets, what each has used, and when it opens (H9). */
import type { BudgetView } from '../../shard/ports/budgets.ts';
import type { ControlScope } from '../../shard/ports/controls.ts';
import type { ShardReader } from '../../shard/ports/reader.ts';
import { LIMIT_MAX, type Query } from './query.ts';
import type { ApiBudget, ApiBudgets } from './types.ts';

export function budgets(view: Pick<ShardReader, 'budgets'>, query: Query, nowMs: number): ApiBudgets {
  const prefix = query.text('prefix');
  const limit = query.limit(LIMIT_MAX);
  query.end();
  const all = view.budgets();
  const matching = all.filter(({ name }) => name.startsWith(prefix));
  return {
    nowMs,
    total: all.length,
    matching: matching.length,
    // As many as a configuration may have fit on one page.
    budgets: matching.slice(0, limit).map(budget),
    next: '',
  };
}

export function budget(view: BudgetView): ApiBudget {
  return {
    name: view.name,
    place: placeOf(view.scope),
    machines: view.machines,
    windowMs: view.windowMs,
    used: view.used,
    max: view.most,
    givenBackAtMs: view.givenBackMs,
    draining: view.draining,
    drainingMax: view.drainingMost,
    preempted: view.preempted,
    open: view.isOpen,
    closesAtMs: view.closesMs,
    opensAtMs: view.opensMs,
    holds: view.holds,
  };
}

/** `cluster prod-eu-1, zone a`; `the whole fleet`. */
function placeOf({ cluster, provider, zone, instanceType, capacityType }: ControlScope): string {
  const parts = [
    ['cluster', cluster],
    ['provider', provider],
    ['zone', zone],
    ['instance type', instanceType],
    ['capacity type', capacityType],
  ] as const;
  const given = parts.filter(([, value]) => value !== '').map(([name, value]) => `${name} ${value}`);
  return given.length === 0 ? 'the whole fleet' : given.join(', ');
}
