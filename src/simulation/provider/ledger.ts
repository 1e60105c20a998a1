/**
 * The provider's own record of calls and events: counts since the start, and the recent entries. Tests and
 * simulations check a shard against this record, not against the shard's own reports. Bootstrap blobs are
 * secrets: the ledger keeps only their size.
 */
import type { Token } from './fence.ts';

/** A call, or an event without a call. */
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
  | 'ok' // a read was answered, or an event happened without a call
  | 'started' // a new operation
  | 'repeated' // a repeat of a known operation: same id, no effect
  | 'fenced'
  | 'not_found'
  | 'invalid'
  | 'unsupported'
  | 'unfit' // the machine's state does not allow the call
  | 'over_quota'
  | 'succeeded' // an operation reached its target state
  | 'failed' // … or FAILED
  | 'undone'; // … or the state before it

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
  /** Of a Configure: its cluster and the size of its blob. */
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

  /** Count since the start; without a result, the count of all results. */
  count(event: LedgerEvent, result?: LedgerResult): number {
    if (result !== undefined) return this.#counts.get(`${event} ${result}`) ?? 0;
    let total = 0;
    for (const [key, count] of this.#counts) if (key.startsWith(`${event} `)) total += count;
    return total;
  }

  /** The recent entries, oldest first; of one machine if an id is given. */
  entries(machineId?: string): LedgerEntry[] {
    const inOrder = [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
    return machineId === undefined ? inOrder : inOrder.filter((entry) => entry.machineId === machineId);
  }

  /** `{ 'create started': 3, … }`, for a log line or a comparison in a test. */
  counts(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([left], [right]) => (left < right ? -1 : 1)));
  }
}
