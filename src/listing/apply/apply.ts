/**
 * Applies a listing to the inventory, row by row, without an object per machine. S4: a row for a machine in flight, or one
 * listed before our last change of the machine, is deferred: the shard does not apply it and reads the machine again. A
 * listing in parts is applied part by part.
 */
import { ShardError } from '../../base/errors.ts';
import { boundedDetail } from '../../base/outside-text.ts';
import { ownerOf, TableShareError } from '../../base/table-shares.ts';
import { Flag } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { MachineRow } from '../../inventory/machine-row.ts';
import { InvalidMachineError } from '../../machine/machine.ts';
import { MachineState } from '../../machine/state.ts';
import type { ShardCounters, ShardObserver } from '../../shard/ports/observer.ts';
import type { Listing, ListingRows, ProviderPort, SlotRefs } from '../../shard/ports/providers.ts';
import type { IdPrefixes } from './id-prefixes.ts';
import { type AdmitNames, ListingRefs } from './listing-refs.ts';
import { type ProviderNames, TooManyResourceNamesError } from './provider-names.ts';
import type { RefusedMachines } from './refused-machines.ts';

/** How many rows were applied, and how. */
export interface AppliedCounts {
  new: number;
  changed: number;
  removed: number;
  deferred: number;
  /** Refused here; the records that the decoder rejected are not among them. */
  rejected: number;
  /** T10: rows of machines that belong to another provider, those that the comparison found included. */
  foreign: number;
  /** Those of them that are newly in dispute. */
  disputed: number;
}

/** T10: the part of shard/machines/disputes.ts that a listing needs. */
export interface DisputeTarget {
  claim(slot: number, provider: number, listing: number): boolean;
  repeat(slot: number, provider: number, listing: number): boolean;
}

/** The part of shard/machines/changes.ts, the one place that changes machines, which a listing needs. */
export interface RowTarget {
  readonly inventory: Inventory;
  /** Records refused because a table was full, so far. */
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
  fillBinding(slot: number, row: MachineRow, listing: number): void;
  /** Withdraws an action that waits for its turn. False: an action of the shard is changing the machine now. */
  freeForObservation(slot: number): boolean;
  changedSince(slot: number, sequence: number): boolean;
  remove(slot: number, source: 'listing'): void;
  noteCapacityExhausted(error: ShardError): void;
  reportCapacityExhausted(): void;
}

/** S2: an observation that shows an impossible move is doubted until a second one confirms it. */
export type ObservationOutcome =
  | 'same' // it shows what the shard knew
  | 'applied'
  | 'confirmed' // doubted before, observed again: applied against the table of moves
  | 'doubted' // not applied; the shard reads the machine again
  | 'refused'; // the inventory cannot keep it: counted, and the last good record stays

export interface ApplyContext {
  readonly changes: RowTarget;
  /** Reads the machine of a deferred row again. */
  readonly reads: { defer(slot: number): void };
  readonly counters: ShardCounters;
  readonly observer: ShardObserver;
  readonly providers: Pick<ProviderPort, 'names'>;
  readonly disputes: DisputeTarget;
  /** Null: no provider has a prefix. */
  readonly idPrefixes: IdPrefixes | null;
  readonly resourceNames: ProviderNames;
}

/** Which listing it is, and what it may do. */
export interface ListingRole {
  /** Index of its provider. */
  readonly provider: number;
  /** Counts the provider's listings, from 1. */
  readonly number: number;
  /** The sequence of changes when the listing began. */
  readonly begun: number;
  readonly mayRemove: boolean;
  readonly refused: RefusedMachines;
  /** T10: whether the shard has not acted yet, so that a machine that two providers list is in dispute. */
  readonly mayDispute: () => boolean;
  /** Number of the listing of that provider that is under way, or comes next. */
  readonly listingOf: (provider: number) => number;
}

export class ListingApplication {
  readonly counts: AppliedCounts = {
    new: 0,
    changed: 0,
    removed: 0,
    deferred: 0,
    rejected: 0,
    foreign: 0,
    disputed: 0,
  };
  /** The error of the first row that was refused here. */
  firstRefusal = '';
  /** T10: the first machine that is newly in dispute; 0 = none. */
  firstDisputed = 0;
  /** Machines with a doubted row, which was not applied. */
  readonly doubted: number[] = [];
  readonly #refused: RefusedMachines;
  readonly #context: ApplyContext;
  readonly #role: ListingRole;
  readonly #inventory: Inventory;
  readonly #provider: number;
  readonly #listing: number;
  readonly #begun: number;
  readonly #isFirst: boolean;
  readonly #isIntoEmpty: boolean;
  readonly #row = new MachineRow();
  readonly #capacityExhaustedBefore: number;
  #rows: ListingRows;
  readonly #removed: SlotRefs;
  readonly #foreign: SlotRefs;
  readonly #admitNames: AdmitNames;
  #refs: ListingRefs;
  /** From here on, rows repeat ids of an earlier part. */
  #repeatedStart: number;
  #isOverShare = false;
  #next = 0;
  #nextForeign = 0;
  #nextRemoved = 0;

  constructor(context: ApplyContext, listing: Listing, role: ListingRole) {
    const { provider, number } = role;
    this.#context = context;
    this.#role = role;
    this.#inventory = context.changes.inventory;
    this.#rows = listing.rows;
    this.#repeatedStart = listing.rows.count - listing.repeatedCount;
    this.#removed = role.mayRemove ? listing.removed : { ...listing.removed, count: 0 };
    this.#foreign = listing.foreign;
    this.#provider = provider;
    this.#listing = number;
    this.#begun = role.begun;
    this.#isFirst = number === 1;
    this.#refused = role.refused;
    this.counts.foreign = listing.foreign.count;
    this.#isIntoEmpty = this.#inventory.count === 0;
    this.#admitNames = (names) => context.resourceNames.admit(provider, names);
    this.#refs = this.#refsOf(listing.rows);
    this.#capacityExhaustedBefore = context.changes.capacityExhaustedCount;
  }

  /** Continues with the next part. Only a listing into an empty inventory has parts, so it removes no machine. */
  continueWith({ rows, repeatedCount }: Listing): void {
    this.#refs.release();
    this.#rows = rows;
    this.#repeatedStart = rows.count - repeatedCount;
    this.#refs = this.#refsOf(rows);
    this.#next = 0;
  }

  get isDone(): boolean {
    return (
      this.#next >= this.#rows.count &&
      this.#nextForeign >= this.#foreign.count &&
      this.#nextRemoved >= this.#removed.count
    );
  }

  /** Some rows were neither applied nor deferred, because a table or the provider's share of it was full. */
  get lacksRows(): boolean {
    return this.#isOverShare || this.#context.changes.capacityExhaustedCount > this.#capacityExhaustedBefore;
  }

  /** Applies at most so many rows and removals. */
  step(countMax: number, nowMs: number): void {
    for (let left = countMax; left > 0 && this.#next < this.#rows.count; left--) {
      this.#applyRow(this.#next++, nowMs);
    }
    if (this.#next < this.#rows.count) return;
    for (let left = countMax; left > 0 && this.#nextForeign < this.#foreign.count; left--) {
      this.#noteForeign(this.#nextForeign++);
    }
    if (this.#nextForeign < this.#foreign.count) return;
    for (let left = countMax; left > 0 && this.#nextRemoved < this.#removed.count; left--) {
      this.#removeAt(this.#nextRemoved++);
    }
  }

  /** Releases the shapes and strings of the listing. */
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
    const isForeign = slot !== 0 && inventory.columns.provider[slot] !== this.#provider;
    if ((slot === 0 || isForeign) && this.#isRefusedByPrefix(index)) return;
    if (isForeign) {
      this.#applyForeign(slot, index, isRepeated, nowMs);
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
      this.#refuseRow(index, error);
    } finally {
      this.#releaseTexts();
    }
  }

  /** A table or the provider's share of it is full: this machine is refused, and the others go on. */
  #refuseRow(index: number, error: unknown): void {
    if (!(error instanceof ShardError)) throw error;
    if (error instanceof TooManyResourceNamesError) {
      this.#reject(error.message);
      return;
    }
    if (error instanceof TableShareError) {
      this.#isOverShare = true;
      this.#reject(this.firstRefusal === '' ? `Machine ${this.#idAt(index)}: ${error.message}` : '');
      return;
    }
    this.counts.rejected++;
    if (this.firstRefusal === '') this.firstRefusal = error.message;
    this.#context.changes.noteCapacityExhausted(error);
  }

  /** T10: a prefix decides which provider has an id, before anything is known. */
  #isRefusedByPrefix(index: number): boolean {
    const { idPrefixes } = this.#context;
    if (idPrefixes === null) return false;
    const { bytes, idStart, idEnd } = this.#rows;
    const why = idPrefixes.refusal(bytes, idStart[index]!, idEnd[index]!, this.#provider);
    if (why === '') return false;
    this.counts.foreign++;
    this.#reject(new InvalidMachineError(this.#idAt(index), 'structural', why).message);
    return true;
  }

  /** S1: the row of a machine that belongs to another provider is refused. T10: unless neither is known to own it. */
  #applyForeign(slot: number, index: number, isRepeated: boolean, nowMs: number): void {
    const inventory = this.#inventory;
    const isNewClaim = this.#dispute(slot);
    if (isNewClaim && this.#rows.cluster[index] !== 0 && inventory.columns.cluster[slot] === 0) {
      this.#takeOver(slot, index, nowMs);
      return;
    }
    this.#refused.add(slot, inventory.generationOf(slot));
    if (isRepeated) return; // rejected and counted when its id first came
    const owner = this.#context.providers.names[inventory.columns.provider[slot]!];
    const what = `provider ${owner} already has a machine with this id`;
    this.counts.foreign++;
    this.#reject(new InvalidMachineError(inventory.idOf(slot), 'structural', what).message);
  }

  /** A foreign row that the comparison found; it is counted as rejected already. */
  #noteForeign(at: number): void {
    const { slot: slots, generation } = this.#foreign;
    const slot = slots[at]!;
    this.#refused.add(slot, generation[at]!);
    const inventory = this.#inventory;
    if (!inventory.isCurrent(slot, generation[at]!)) return;
    if (inventory.columns.provider[slot] === this.#provider) return;
    const { idPrefixes } = this.#context;
    if (idPrefixes !== null && this.#isFirst) {
      const id = new TextEncoder().encode(inventory.idOf(slot));
      if (idPrefixes.refusal(id, 0, id.length, this.#provider) !== '') return;
    }
    this.#dispute(slot);
  }

  /** T10: notes that this provider lists the machine of another. Returns whether that is a new claim. */
  #dispute(slot: number): boolean {
    const { disputes } = this.#context;
    if (disputes.repeat(slot, this.#provider, this.#listing)) return false;
    if (!this.#isFirst || !this.#role.mayDispute()) return false;
    if (!disputes.claim(slot, this.#provider, this.#listing)) return false;
    this.counts.disputed++;
    this.firstDisputed ||= slot;
    return true;
  }

  /** The machine in dispute has a binding in this listing only: keeps this record, so that needs are credited with it. */
  #takeOver(slot: number, index: number, nowMs: number): void {
    const inventory = this.#inventory;
    const owner = inventory.columns.provider[slot]!;
    try {
      // Refuse the row before the other record is gone.
      this.#refs.shape(this.#rows.shape[index]!);
      inventory.admitRow(this.#provider, this.#rows.idEnd[index]! - this.#rows.idStart[index]!);
      this.#context.changes.remove(slot, 'listing');
      const taken = this.#insert(index, nowMs);
      if (taken === 0) return;
      this.#context.disputes.claim(taken, owner, this.#role.listingOf(owner));
      if (this.firstDisputed === slot) this.firstDisputed = taken;
    } catch (error) {
      this.#refuseRow(index, error);
    } finally {
      this.#releaseTexts();
    }
  }

  /**
   * The inventory was empty and has only machines of this listing, so no id needs a look-up. The inventory refuses an id
   * that came meanwhile all the same.
   */
  #isAllOurs(): boolean {
    return this.#isIntoEmpty && this.#inventory.count === this.counts.new;
  }

  /** Returns the slot; 0 if it was refused. */
  #insert(index: number, nowMs: number): number {
    const { changes, counters } = this.#context;
    const { bytes, idStart, idEnd } = this.#rows;
    const row = this.#fill(index);
    row.saysCluster = row.saysAssignment = true;
    this.#fillAssignment(row, index);
    const slot = changes.insertRow(bytes, idStart[index]!, idEnd[index]!, row, this.#provider, nowMs);
    if (slot === 0) {
      this.counts.rejected++;
      return 0;
    }
    this.counts.new++;
    counters.rowsNew++;
    this.#noteFoundDraining(slot, row);
    return slot;
  }

  /** Leaves the machine as if this row had been inserted. */
  #replace(slot: number, index: number, nowMs: number): void {
    const row = this.#fill(index);
    row.saysCluster = row.saysAssignment = true;
    this.#fillAssignment(row, index);
    if (this.#context.changes.replaceRow(slot, row, nowMs) === 'refused') this.counts.rejected++;
    else this.#noteFoundDraining(slot, row);
  }

  /** P6: the need that it drains for is unknown after a restart, so it counts for the first deficit that it fits. */
  #noteFoundDraining(slot: number, { state }: MachineRow): void {
    if (!this.#isFirst || state !== MachineState.Draining) return;
    this.#inventory.setFlag(slot, Flag.FoundDraining, true);
  }

  #change(slot: number, index: number, nowMs: number): void {
    const { changes, counters } = this.#context;
    const row = this.#fill(index);
    changes.fillBinding(slot, row, this.#listing);
    if (row.saysAssignment) this.#fillAssignment(row, index); // else not read: a long text would cost its digest (T4)
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
    const { changes } = this.#context;
    return !changes.freeForObservation(slot) || changes.changedSince(slot, this.#begun);
  }

  #fill(index: number): MachineRow {
    const rows = this.#rows;
    const row = this.#row;
    const owner = ownerOf(this.#provider);
    const { texts } = this.#inventory.tables;
    row.state = rows.state[index]!;
    row.pricePerHourUsd = rows.pricePerHourUsd[index]!;
    row.interruptionProbability = rows.interruptionProbability[index]!;
    row.shape = this.#refs.shape(rows.shape[index]!);
    const [ownStart, ownEnd] = [rows.ownLabelsStart[index]!, rows.ownLabelsEnd[index]!];
    row.ownLabels = texts.internBytes(rows.bytes, ownStart, ownEnd, owner);
    row.saysHost = true;
    row.hostProviderBytes = row.hostRefBytes = rows.bytes;
    row.hostProviderStart = rows.hostProviderStart[index]!;
    row.hostProviderEnd = rows.hostProviderEnd[index]!;
    row.hostRefStart = rows.hostRefStart[index]!;
    row.hostRefEnd = rows.hostRefEnd[index]!;
    row.hasHost = row.hostProviderEnd > row.hostProviderStart || row.hostRefEnd > row.hostRefStart;
    row.cluster = this.#refs.clusters.get(rows.cluster[index]!);
    row.saysLastError = true;
    const [errorStart, errorEnd] = [rows.lastErrorStart[index]!, rows.lastErrorEnd[index]!];
    row.lastError = texts.internBytes(rows.bytes, errorStart, errorEnd, owner);
    return row;
  }

  #fillAssignment(row: MachineRow, index: number): void {
    const rows = this.#rows;
    const hasAssignment = row.cluster !== 0 && rows.hasAssignment[index] === 1;
    row.need = hasAssignment ? this.#refs.fingerprints.get(rows.need[index]!) : 0;
    row.group = hasAssignment ? this.#refs.groups.get(rows.group[index]!) : 0;
    row.priority = hasAssignment ? rows.priority[index]! : 0;
    row.interruptionPenalty = hasAssignment ? rows.interruptionPenalty[index]! : 0;
    row.reclamationPenalty = hasAssignment ? rows.reclamationPenalty[index]! : 0;
  }

  #refsOf(rows: ListingRows): ListingRefs {
    return new ListingRefs(this.#inventory.tables, rows, ownerOf(this.#provider), this.#admitNames);
  }

  #idAt(index: number): string {
    const { bytes, idStart, idEnd } = this.#rows;
    return Buffer.from(bytes.subarray(idStart[index]!, idEnd[index]!)).toString('utf8');
  }

  #releaseTexts(): void {
    const { texts } = this.#inventory.tables;
    texts.release(this.#row.ownLabels);
    texts.release(this.#row.lastError);
    this.#row.ownLabels = this.#row.lastError = 0;
  }

  /** Counts a refused row. One event for all of a listing: a provider may list half a million of them. */
  #reject(detail: string): void {
    const { counters, observer } = this.#context;
    counters.rejected.structural++;
    this.counts.rejected++;
    if (this.firstRefusal !== '') return;
    this.firstRefusal = boundedDetail(detail);
    const provider = this.#context.providers.names[this.#provider]!;
    observer.happened({
      kind: 'record_rejected',
      level: 'warn',
      provider,
      reason: 'structural',
      detail: this.firstRefusal,
    });
  }
}
