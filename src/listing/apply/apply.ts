/**
 * Applies what a listing says to the inventory, row by row, without an object per machine. A row for a machine in flight,
 * or listed before the machine's last change of ours, is parked: not applied, not forgotten, but read again (S4). A listing
 * that comes in parts is taken part by part.
 */
import { ShardError } from '../../base/errors.ts';
import { Flag, Intent } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { MachineRow } from '../../inventory/machine-row.ts';
import { MachineState } from '../../machine/state.ts';
import type { ShardCounters, ShardObserver } from '../../shard/ports/observer.ts';
import type { Listing, ListingRows, ProviderPort, SlotRefs } from '../../shard/ports/providers.ts';
import { ListingRefs } from './listing-refs.ts';
import type { RefusedMachines } from './refused-machines.ts';

/** What became of the rows. */
export interface AppliedCounts {
  new: number;
  changed: number;
  removed: number;
  deferred: number;
  rejected: number;
}

/** The one place that changes machines (shard/machines/changes.ts), as far as a listing needs it. */
export interface RowTarget {
  readonly inventory: Inventory;
  /** Records that a full table had no room for, so far. */
  readonly capacityExhaustedCount: number;
  insertRow(
    bytes: Uint8Array,
    idStart: number,
    idEnd: number,
    row: MachineRow,
    provider: number,
    nowMs: number,
  ): number;
  replaceRow(slot: number, row: MachineRow, nowMs: number): ObservationOutcome;
  observeRow(slot: number, row: MachineRow, listing: number, nowMs: number): ObservationOutcome;
  fillBinding(slot: number, row: MachineRow): void;
  changedSince(slot: number, sequence: number): boolean;
  remove(slot: number, source: 'listing'): void;
  noteCapacityExhausted(error: ShardError): void;
  reportCapacityExhausted(): void;
}

/** What becomes of a provider's observation of a machine (S2). */
export type ObservationOutcome =
  | 'same' // it shows what the shard knew
  | 'applied'
  | 'confirmed' // doubted before, observed again: applied against the table of moves
  | 'doubted' // not applied; the shard reads the machine again
  | 'refused'; // the inventory cannot keep it: counted, and the last good record stays

export interface ApplyContext {
  readonly changes: RowTarget;
  /** Reads a machine again whose row had to wait (S4). */
  readonly reads: { defer(slot: number): void };
  readonly counters: ShardCounters;
  readonly observer: ShardObserver;
  readonly providers: Pick<ProviderPort, 'names'>;
}

export class ListingApplication {
  readonly counts: AppliedCounts = { new: 0, changed: 0, removed: 0, deferred: 0, rejected: 0 };
  /** Machines whose state cannot follow from what is known; not applied yet (S2). */
  readonly doubted: number[] = [];
  readonly #refused: RefusedMachines;
  readonly #context: ApplyContext;
  readonly #inventory: Inventory;
  readonly #provider: number;
  readonly #listing: number;
  readonly #begun: number;
  readonly #isFirst: boolean;
  readonly #isIntoEmpty: boolean;
  readonly #row = new MachineRow();
  readonly #capacityExhaustedBefore: number;
  #rows: ListingRows;
  #removed: SlotRefs;
  #refs: ListingRefs;
  /** From here on rows are of ids that an earlier part showed. */
  #repeatedStart: number;
  #next = 0;
  #nextRemoved = 0;

  /** `number` counts this provider's listings; `begun` is the changes' sequence when this one was asked for. */
  constructor(
    context: ApplyContext,
    listing: Listing,
    provider: number,
    number: number,
    begun: number,
    removes: boolean,
    refused: RefusedMachines,
  ) {
    this.#context = context;
    this.#inventory = context.changes.inventory;
    this.#rows = listing.rows;
    this.#repeatedStart = listing.rows.count - listing.repeatedCount;
    this.#removed = removes ? listing.removed : { ...listing.removed, count: 0 };
    this.#provider = provider;
    this.#listing = number;
    this.#begun = begun;
    this.#isFirst = number === 1;
    this.#refused = refused;
    const { foreign } = listing;
    for (let at = 0; at < foreign.count; at++) refused.add(foreign.slot[at]!, foreign.generation[at]!);
    this.#isIntoEmpty = this.#inventory.count === 0;
    this.#refs = new ListingRefs(this.#inventory.tables, listing.rows);
    this.#capacityExhaustedBefore = context.changes.capacityExhaustedCount;
  }

  /** The part before is applied; goes on with this one. Only a listing that found nothing known has parts: it removes nothing. */
  goOnWith({ rows, repeatedCount }: Listing): void {
    this.#refs.release();
    this.#rows = rows;
    this.#repeatedStart = rows.count - repeatedCount;
    this.#refs = new ListingRefs(this.#inventory.tables, rows);
    this.#next = 0;
  }

  get isDone(): boolean {
    return this.#next >= this.#rows.count && this.#nextRemoved >= this.#removed.count;
  }

  /** Some rows are neither applied nor parked, because a table was full. */
  get lacksRows(): boolean {
    return this.#context.changes.capacityExhaustedCount > this.#capacityExhaustedBefore;
  }

  /** At most so many rows and removals. */
  step(countMax: number, nowMs: number): void {
    for (let left = countMax; left > 0 && this.#next < this.#rows.count; left--) {
      this.#applyRow(this.#next++, nowMs);
    }
    if (this.#next < this.#rows.count) return;
    for (let left = countMax; left > 0 && this.#nextRemoved < this.#removed.count; left--) {
      this.#removeAt(this.#nextRemoved++);
    }
  }

  /** Gives back what was held. */
  close(): void {
    this.#refs.release();
    this.#context.changes.reportCapacityExhausted();
  }

  #applyRow(index: number, nowMs: number): void {
    const rows = this.#rows;
    const inventory = this.#inventory;
    const known = rows.slot[index]!;
    const isCurrent = known !== 0 && inventory.isCurrent(known, rows.generation[index]!);
    const isRepeated = index >= this.#repeatedStart;
    const slot =
      isCurrent || (this.#isAllOurs() && !isRepeated)
        ? known
        : inventory.findBytes(rows.bytes, rows.idStart[index]!, rows.idEnd[index]!);
    if (slot !== 0 && inventory.columns.provider[slot] !== this.#provider) {
      // A repeated one was refused, and counted, when it was first shown.
      if (!isRepeated) this.#reject(`machine ${inventory.idOf(slot)} is another provider's`);
      this.#refused.add(slot, inventory.generationOf(slot));
      return;
    }
    if (slot !== 0 && this.#mustWait(slot)) {
      this.#context.reads.defer(slot);
      this.counts.deferred++;
      return;
    }
    try {
      if (slot === 0) this.#insert(index, nowMs);
      else if (isRepeated) this.#replace(slot, index, nowMs);
      else this.#change(slot, index, nowMs);
    } catch (error) {
      // A table is full: the machine is refused, and the others go on.
      if (!(error instanceof ShardError)) throw error;
      this.counts.rejected++;
      this.#context.changes.noteCapacityExhausted(error);
    } finally {
      this.#releaseTexts();
    }
  }

  /**
   * There was no machine at all, and since then only this listing brought some: none has to be looked up. An id that came
   * meanwhile all the same is refused by the inventory.
   */
  #isAllOurs(): boolean {
    return this.#isIntoEmpty && this.#inventory.count === this.counts.new;
  }

  #insert(index: number, nowMs: number): void {
    const { changes, counters } = this.#context;
    const { bytes, idStart, idEnd } = this.#rows;
    const row = this.#fill(index);
    row.saysCluster = row.saysAssignment = true;
    const slot = changes.insertRow(bytes, idStart[index]!, idEnd[index]!, row, this.#provider, nowMs);
    if (slot === 0) {
      this.counts.rejected++;
      return;
    }
    this.counts.new++;
    counters.rowsNew++;
    this.#noteFoundDraining(slot, row);
  }

  /** What an insertion would have made of the row. */
  #replace(slot: number, index: number, nowMs: number): void {
    const row = this.#fill(index);
    row.saysCluster = row.saysAssignment = true;
    if (this.#context.changes.replaceRow(slot, row, nowMs) === 'refused') this.counts.rejected++;
    else this.#noteFoundDraining(slot, row);
  }

  /** P6: nobody knows any more what it was drained for. */
  #noteFoundDraining(slot: number, { state }: MachineRow): void {
    if (!this.#isFirst || state !== MachineState.Draining) return;
    this.#inventory.setFlag(slot, Flag.FoundDraining, true);
  }

  #change(slot: number, index: number, nowMs: number): void {
    const { changes, counters } = this.#context;
    const row = this.#fill(index);
    changes.fillBinding(slot, row);
    const fate = changes.observeRow(slot, row, this.#listing, nowMs);
    if (fate === 'doubted') this.doubted.push(slot);
    else if (fate === 'refused') this.counts.rejected++;
    else if (fate !== 'same') {
      this.counts.changed++;
      counters.rowsChanged++;
    }
  }

  #removeAt(index: number): void {
    const { slot: slots, generation } = this.#removed;
    const slot = slots[index]!;
    const inventory = this.#inventory;
    if (!inventory.isCurrent(slot, generation[index]!)) return;
    if (inventory.columns.provider[slot] !== this.#provider) return;
    if (this.#mustWait(slot)) {
      this.#context.reads.defer(slot);
      this.counts.deferred++;
      return;
    }
    this.#context.changes.remove(slot, 'listing');
    this.counts.removed++;
  }

  #mustWait(slot: number): boolean {
    return (
      this.#inventory.columns.intent[slot] !== Intent.None ||
      this.#context.changes.changedSince(slot, this.#begun)
    );
  }

  #fill(index: number): MachineRow {
    const rows = this.#rows;
    const row = this.#row;
    const { texts } = this.#inventory.tables;
    row.state = rows.state[index]!;
    row.pricePerHourUsd = rows.pricePerHourUsd[index]!;
    row.interruptionProbability = rows.interruptionProbability[index]!;
    row.shape = this.#refs.shape(rows.shape[index]!);
    row.ownLabels = texts.internBytes(rows.bytes, rows.ownLabelsStart[index]!, rows.ownLabelsEnd[index]!);
    row.saysHost = true;
    row.hostProviderBytes = row.hostRefBytes = rows.bytes;
    row.hostProviderStart = rows.hostProviderStart[index]!;
    row.hostProviderEnd = rows.hostProviderEnd[index]!;
    row.hostRefStart = rows.hostRefStart[index]!;
    row.hostRefEnd = rows.hostRefEnd[index]!;
    row.hasHost = row.hostProviderEnd > row.hostProviderStart || row.hostRefEnd > row.hostRefStart;
    row.cluster = this.#refs.clusters.get(rows.cluster[index]!);
    const hasAssignment = row.cluster !== 0 && rows.hasAssignment[index] === 1;
    row.need = hasAssignment ? this.#refs.fingerprints.get(rows.need[index]!) : 0;
    row.group = hasAssignment ? this.#refs.groups.get(rows.group[index]!) : 0;
    row.priority = hasAssignment ? rows.priority[index]! : 0;
    row.interruptionPenalty = hasAssignment ? rows.interruptionPenalty[index]! : 0;
    row.reclamationPenalty = hasAssignment ? rows.reclamationPenalty[index]! : 0;
    row.saysLastError = true;
    row.lastError = texts.internBytes(rows.bytes, rows.lastErrorStart[index]!, rows.lastErrorEnd[index]!);
    return row;
  }

  #releaseTexts(): void {
    const { texts } = this.#inventory.tables;
    texts.release(this.#row.ownLabels);
    texts.release(this.#row.lastError);
    this.#row.ownLabels = this.#row.lastError = 0;
  }

  #reject(detail: string): void {
    const { counters, observer } = this.#context;
    counters.rejected.structural++;
    this.counts.rejected++;
    const provider = this.#context.providers.names[this.#provider]!;
    observer.happened({ kind: 'record_rejected', level: 'warn', provider, reason: 'structural', detail });
  }
}
