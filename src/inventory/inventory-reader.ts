/**
 * The inventory for other threads, which look ids up and compare rows with a provider's listing while the main thread keeps
 * writing. Every answer is consistent: a row is copied between two equal, even reads of its generation, and a row that was
 * removed or reused meanwhile is never returned as valid.
 *
 * Refs in a row (shape, cluster, host …) may be reused once the row has changed. So: read the row, use the refs, then check
 * `isUnchanged`, and start over if it is false.
 */
import { hashBytes } from '../base/hash.ts';
import { KeyTable } from '../base/key-table.ts';
import { isBeingWritten, isUnchanged, pauseReader } from '../base/seqlock.ts';
import { StringTable } from '../base/string-table.ts';
import { CORE_WORDS, Core, InventoryColumns } from './columns.ts';
import { Hosts } from './hosts.ts';
import type { SharedInventory } from './inventory.ts';

/** A copy of one row, reused for many. */
export class SharedRow {
  slot = 0;
  generation = 0;
  state = 0;
  pricePerHourUsd = 0;
  interruptionProbability = 0;
  stateSinceMs = 0;
  shape = 0;
  cluster = 0;
  need = 0;
  group = 0;
  priority = 0;
  interruptionPenalty = 0;
  reclamationPenalty = 0;
  /** Address for `hosts`. */
  host = 0;
  lastError = 0;
  ownLabels = 0;
  provider = 0;
  intent = 0;
  flags = 0;
}

export class InventoryReader {
  readonly hosts: Hosts;
  readonly texts: StringTable;
  /** Canonical bytes (shape-key.ts) → shape ref. */
  readonly shapeKeys: StringTable;
  readonly clusters: StringTable;
  readonly fingerprints: StringTable;
  readonly groups: StringTable;
  readonly ownLabelKeys: readonly string[];
  readonly #columns: InventoryColumns;
  readonly #ids: KeyTable;

  private constructor(shared: SharedInventory) {
    this.#columns = InventoryColumns.open(shared.columns);
    this.#ids = KeyTable.attach(shared.ids);
    this.hosts = Hosts.attach(shared.hosts);
    this.texts = StringTable.attach(shared.texts);
    this.shapeKeys = StringTable.attach(shared.shapeKeys);
    this.clusters = StringTable.attach(shared.clusters);
    this.fingerprints = StringTable.attach(shared.fingerprints);
    this.groups = StringTable.attach(shared.groups);
    this.ownLabelKeys = shared.ownLabelKeys;
  }

  static attach(shared: SharedInventory): InventoryReader {
    return new InventoryReader(shared);
  }

  /** Exclusive: a scan of all rows runs from slot 1 to here. */
  get slotLimit(): number {
    return this.#columns.slotLimit;
  }

  /**
   * For scans of all rows: single values of a slot at this moment, 0 = no machine. Two of them may be from different
   * writes; before acting on a row, copy it whole with `read`.
   */
  stateOf(slot: number): number {
    return this.#columns.state[slot]!;
  }

  providerOf(slot: number): number {
    return this.#columns.provider[slot]!;
  }

  /** Send it along with a slot: with it the main thread's `isCurrent` checks that the slot has the same machine. */
  generationOf(slot: number): number {
    return Atomics.load(this.#columns.core, slot * CORE_WORDS + Core.Generation);
  }

  /** The slot of an id at this moment, 0 if there is none. */
  find(id: Uint8Array, start: number, end: number): number {
    return this.#ids.find(hashBytes(id, start, end), id, start, end);
  }

  /** Whether a slot has this id at this moment: a cheap test of the guess that the next listed row is in the next slot. */
  hasId(slot: number, id: Uint8Array, start: number, end: number): boolean {
    return slot > 0 && slot <= this.#ids.entriesMax && this.#ids.equals(slot, id, start, end);
  }

  idOf(slot: number): string {
    return this.#ids.textOf(slot);
  }

  /** Copies a row; false if the slot holds no machine. */
  read(slot: number, out: SharedRow): boolean {
    const { core, rowCapacity } = this.#columns;
    if (!(slot > 0 && slot < rowCapacity)) return false;
    const word = slot * CORE_WORDS + Core.Generation;
    for (let tries = 0; ; tries++) {
      const before = Atomics.load(core, word);
      if (!isBeingWritten(before)) {
        this.#copy(slot, out);
        out.generation = before;
        if (isUnchanged(core, word, before)) return out.state !== 0;
      }
      pauseReader(tries);
    }
  }

  /** Looks an id up and copies its row as one step; `hint` is a slot to try first. Returns the slot, 0 if absent. */
  findRow(id: Uint8Array, start: number, end: number, out: SharedRow, hint = 0): number {
    for (let tries = 0; ; tries++) {
      const slot = this.hasId(hint, id, start, end) ? hint : this.find(id, start, end);
      if (slot === 0) return 0;
      // The row belongs to the id if the slot has the id after the copy and the row has not changed since.
      if (this.read(slot, out) && this.hasId(slot, id, start, end) && this.isUnchanged(out)) return slot;
      pauseReader(tries);
    }
  }

  /** Whether the row is the same as when it was copied, so that refs taken from the copy were valid. */
  isUnchanged(row: SharedRow): boolean {
    return isUnchanged(this.#columns.core, row.slot * CORE_WORDS + Core.Generation, row.generation);
  }

  #copy(slot: number, out: SharedRow): void {
    const columns = this.#columns;
    out.slot = slot;
    out.state = columns.state[slot]!;
    out.pricePerHourUsd = columns.pricePerHourUsd[slot]!;
    out.interruptionProbability = columns.interruptionProbability[slot]!;
    out.stateSinceMs = columns.stateSinceMsOf(slot);
    out.shape = columns.shape[slot]!;
    out.cluster = columns.cluster[slot]!;
    out.need = columns.need[slot]!;
    out.group = columns.group[slot]!;
    out.priority = columns.priority[slot]!;
    out.interruptionPenalty = columns.interruptionPenalty[slot]!;
    out.reclamationPenalty = columns.reclamationPenalty[slot]!;
    out.host = columns.host[slot]!;
    out.lastError = columns.lastError[slot]!;
    out.ownLabels = columns.ownLabels[slot]!;
    out.provider = columns.provider[slot]!;
    out.intent = columns.intent[slot]!;
    out.flags = columns.flags[slot]!;
  }
}
