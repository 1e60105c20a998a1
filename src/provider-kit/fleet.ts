/**
 * The machines, and the order of their changes. Every change takes the next revision; a listing after a cursor is the end of
 * that order. A machine that changes again leaves an outdated entry behind, which is dropped once they are the majority.
 */
import type { MachineFacts, MachineRecord } from './record.ts';

interface Change {
  readonly revision: number;
  readonly record: MachineRecord;
}

interface Tombstone {
  readonly revision: number;
  readonly id: string;
}

/** 10,000 ids × about 100 bytes = 1 MB. Half of them are dropped at a time. */
const TOMBSTONES_MAX = 10_000;
/** Below this number, dropping outdated entries is not worth a pass. */
const OUTDATED_MIN = 1_024;

export class Fleet {
  readonly #records = new Map<string, MachineRecord>();
  #changes: Change[] = [];
  #tombstones: Tombstone[] = [];
  /** Tombstones up to this revision may have been dropped. */
  #forgottenUpTo = 0;
  #revision = 0;

  get revision(): number {
    return this.#revision;
  }

  get size(): number {
    return this.#records.size;
  }

  get records(): Iterable<MachineRecord> {
    return this.#records.values();
  }

  find(id: string): MachineRecord | undefined {
    return this.#records.get(id);
  }

  add(id: string, facts: MachineFacts, isOffered: boolean): MachineRecord {
    const record: MachineRecord = { id, facts, isOffered, isRemoved: false, revision: 0, encoded: null };
    this.#records.set(id, record);
    this.#changed(record);
    return record;
  }

  change(record: MachineRecord, change: Partial<MachineFacts>): void {
    record.facts = { ...record.facts, ...change };
    record.encoded = null;
    this.#changed(record);
  }

  remove(record: MachineRecord): void {
    record.isRemoved = true;
    this.#records.delete(record.id);
    this.#tombstones.push({ revision: ++this.#revision, id: record.id });
    if (this.#tombstones.length <= TOMBSTONES_MAX) return;
    this.#forgottenUpTo = this.#tombstones[TOMBSTONES_MAX / 2 - 1]!.revision;
    this.#tombstones = this.#tombstones.slice(TOMBSTONES_MAX / 2);
  }

  /** Whether all removals after this revision are known. */
  remembersSince(revision: number): boolean {
    return revision >= this.#forgottenUpTo && revision <= this.#revision;
  }

  /** Machines whose last change came after the revision, in the order of these changes. */
  changedAfter(revision: number): MachineRecord[] {
    const first = firstAfter(this.#changes, revision);
    return this.#changes.slice(first).filter(isCurrent).map(toRecord);
  }

  /** Ids that were removed after one revision, up to another, and that no machine has now. */
  removedBetween(after: number, upTo: number): string[] {
    const since = this.#tombstones.slice(firstAfter(this.#tombstones, after));
    const ids = since.filter(({ revision, id }) => revision <= upTo && !this.#records.has(id));
    return [...new Set(ids.map(({ id }) => id))];
  }

  #changed(record: MachineRecord): void {
    record.revision = ++this.#revision;
    this.#changes.push({ revision: record.revision, record });
    if (this.#changes.length > 2 * this.#records.size + OUTDATED_MIN)
      this.#changes = this.#changes.filter(isCurrent);
  }
}

function isCurrent({ revision, record }: Change): boolean {
  return record.revision === revision && !record.isRemoved;
}

function toRecord({ record }: Change): MachineRecord {
  return record;
}

/** The first index whose revision is greater; revisions ascend. */
function firstAfter(entries: readonly { readonly revision: number }[], revision: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (entries[middle]!.revision > revision) high = middle;
    else low = middle + 1;
  }
  return low;
}
