/**
 * The provider's own record of what was asked of it and what came of it: counts for ever, entries for
 * the recent past. Tests and simulations check a shard against this, not against what the shard says of
 * itself. Bootstrap blobs are secrets: only their size is kept.
 */
import type { Token } from './fence.ts';

/** What was asked, or what happened by itself. */
export type LedgerEvent =
  | 'create'
  | 'configure'
  | 'drain'
  | 'delete'
  | 'get'
  | 'list'
  | 'finished'
  | 'interrupted'
  | 'vanished'
  | 'repriced'
  | 'repaired';

export type LedgerResult =
  | 'ok' // a read answered; an event of the weather
  | 'started' // a new operation
  | 'repeated' // the operation was known: same id, nothing done
  | 'fenced'
  | 'not_found'
  | 'invalid'
  | 'unsupported'
  | 'unfit' // the machine's state does not allow it
  | 'over_quota'
  | 'succeeded' // an operation reached its target
  | 'failed'; // … or FAILED

export interface LedgerEntry {
  readonly atMs: number;
  readonly event: LedgerEvent;
  readonly result: LedgerResult;
  /** '' for a List. */
  readonly machineId: string;
  /** '' where there is none. */
  readonly operationId: string;
  /** Of mutating calls. */
  readonly token?: Token;
  /** Of a Configure: for which cluster, and how much it was told. */
  readonly cluster?: string;
  readonly blobBytes?: number;
}

export class Ledger {
  readonly #entriesMax: number;
  readonly #entries: LedgerEntry[] = [];
  #next = 0;
  readonly #counts = new Map<string, number>();

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  write(entry: LedgerEntry): void {
    const key = `${entry.event} ${entry.result}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    if (this.#entriesMax === 0) return;
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % this.#entriesMax;
  }

  /** How often, since the start. Without a result: all results together. */
  count(event: LedgerEvent, result?: LedgerResult): number {
    if (result !== undefined) return this.#counts.get(`${event} ${result}`) ?? 0;
    let total = 0;
    for (const [key, count] of this.#counts) if (key.startsWith(`${event} `)) total += count;
    return total;
  }

  /** The recent past, oldest first; of one machine if an id is given. */
  entries(machineId?: string): LedgerEntry[] {
    const inOrder = [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
    return machineId === undefined ? inOrder : inOrder.filter((entry) => entry.machineId === machineId);
  }

  /** `{ 'create started': 3, … }`, for a log line or a comparison in a test. */
  counts(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([left], [right]) => (left < right ? -1 : 1)));
  }
}
