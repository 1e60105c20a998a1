/**
 * E6: counts the machines that clusters lost without a decision of the shard, by offering, between two samples. The inventory
 * does not show them, so unlike dollars they are counted from events: a process that crashes loses those of a minute.
 */
import type { ShardObserver } from '../shard/ports/observer.ts';
import type { InterruptionRow, SpendingSample } from '../shard/ports/spending.ts';

export class InterruptionCounts {
  #counts = new Map<string, InterruptionRow>();

  readonly observer: Partial<ShardObserver> = {
    noted: ({ kind, provider = '', offering = '' }) => {
      if (kind === 'interrupted')
        this.#add({ provider, offering, configured: 0, declaredPerHour: 0, observed: 1 });
    },
  };

  /** The sample with what was observed since the last one that was taken. */
  take({ interruptions = [], ...sample }: SpendingSample): SpendingSample {
    const counts = this.#counts;
    this.#counts = new Map();
    const rows = interruptions.map((row) => {
      const observed = counts.get(keyOf(row))?.observed ?? 0;
      counts.delete(keyOf(row));
      return { ...row, observed };
    });
    return { ...sample, interruptions: [...rows, ...counts.values()] };
  }

  /** The sample was not kept: the next one has what it observed. */
  giveBack({ interruptions = [] }: SpendingSample): void {
    for (const row of interruptions)
      if (row.observed > 0) this.#add({ ...row, configured: 0, declaredPerHour: 0 });
  }

  #add(row: InterruptionRow): void {
    const known = this.#counts.get(keyOf(row))?.observed ?? 0;
    this.#counts.set(keyOf(row), { ...row, observed: known + row.observed });
  }
}

function keyOf({ provider, offering }: InterruptionRow): string {
  return `${provider.length} ${provider} ${offering}`;
}
