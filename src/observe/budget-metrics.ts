/** Metrics of the disruption budgets (H9). A configuration may have 256 of them, so a name as label is bounded. */
import type { Registry } from 'prom-client';
import { gaugeFrom, type Sample } from './families.ts';

export interface BudgetFacts {
  readonly name: string;
  readonly used: number;
  /** null: no limit over time. */
  readonly most: number | null;
  readonly draining: number;
  readonly preempted: number;
  readonly isOpen: boolean;
  readonly holds: string;
}

export function budgetMetrics(registry: Registry, read: () => readonly BudgetFacts[] | null): void {
  const gauge = (name: string, help: string, valueIn: (budget: BudgetFacts) => number | null) =>
    gaugeFrom(
      registry,
      { name: `flotilla_disruption_budget_${name}`, help },
      () =>
        read()?.flatMap((budget): Sample[] => {
          const value = valueIn(budget);
          return value === null ? [] : [{ labels: { budget: budget.name }, value }];
        }) ?? null,
      ['budget'],
    );
  gauge('used_machines', 'Machines that count for a disruption budget in its window.', ({ used }) => used);
  gauge('max_machines', 'Machines that a disruption budget allows in its window.', ({ most }) => most);
  gauge(
    'draining_machines',
    'Machines of the place of a disruption budget that drain now, without preempted ones.',
    ({ draining }) => draining,
  );
  gauge(
    'preempted_machines',
    'Machines of the place of a disruption budget that were preempted in its window; no budget limits them.',
    ({ preempted }) => preempted,
  );
  gauge('open', 'Whether a disruption budget is open now.', ({ isOpen }) => (isOpen ? 1 : 0));
  gauge(
    'holds',
    'Whether a disruption budget lets no further machine go now: it is closed, used up, or as many drain as may.',
    ({ holds }) => (holds === '' ? 0 : 1),
  );
}
