/**
 * Which replica of this shard is active, as this process last read it in the directory. It is a copy that follows the directory, so it
 * may be a moment old: use it to find the active replica, never to decide who is active.
 *
 * A relay on a standby dials `addresses` of `current()`, holds new sessions while there is none, and ends its streams when
 * `onChange` reports another instance or none. It does nothing while `isSelf` is true: this process then serves sessions itself.
 */
import type { ActiveRecord } from '../directory/election/records.ts';

export interface ActiveReplica extends ActiveRecord {
  /** This process is the active replica. */
  readonly isSelf: boolean;
}

export interface ActiveReplicaSource {
  /** null: no replica is active, or the directory was not read yet. */
  current(): ActiveReplica | null;
  /** Calls the listener after each change of `current()`. Returns a function that ends that. */
  onChange(listener: () => void): () => void;
}

export class ActiveReplicaCopy implements ActiveReplicaSource {
  readonly #instance: string;
  readonly #listeners = new Set<() => void>();
  #current: ActiveReplica | null = null;

  /** `instance`: of this process. */
  constructor(instance: string) {
    this.#instance = instance;
  }

  current(): ActiveReplica | null {
    return this.#current;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What the directory says now. */
  note(record: ActiveRecord | null): void {
    const before = this.#current;
    if (before?.instance === record?.instance && before?.epoch === record?.epoch) return;
    this.#current = record === null ? null : { ...record, isSelf: record.instance === this.#instance };
    for (const listener of this.#listeners) listener();
  }
}
