/**
 * Compares a listing with the inventory and finds the rows that are new or changed. It runs in the listing thread, over
 * shared memory that the main thread keeps writing. It needs no thread itself: the simulator and tests call it directly.
 *
 * A row is unchanged if state, price, probability, shape, own labels, host, cluster and last_error equal the
 * inventory's. The assignment is not compared: X10 reads it only for a binding that the inventory does not hold, and
 * then the row has changed anyway. A machine that is being created or enqueued has its cluster only locally, so a
 * provider that names no cluster does not contradict it. When in doubt (the main thread wrote the row meanwhile), a row
 * counts as changed: applying known facts does nothing.
 */

import { boundedDetail } from '../../base/outside-text.ts';
import type { SharedInventory } from '../../inventory/inventory.ts';
import { InventoryReader, SharedRow } from '../../inventory/inventory-reader.ts';
import { isSameIncarnation } from '../../inventory/row-generation.ts';
import { InvalidMachineError, type InvalidReason } from '../../machine/machine.ts';
import { MachineState, STATE_COUNT } from '../../machine/state.ts';
import type { Listing, SlotRefs } from '../../shard/ports/providers.ts';
import { INVALID_REASONS, type MachineBatch, REJECTION_TEXTS_MAX } from '../decode/batch.ts';
import { idAt, revisionOf } from '../decode/rows.ts';
import { KnownRefs } from './known-refs.ts';
import { cutOutRows } from './listing-rows.ts';
import { RowList } from './row-list.ts';
import { RowTexts } from './row-texts.ts';

export type ComparedListing = Omit<Listing, 'durationMs'>;

/** Which listing it is. */
export interface ListedBy {
  /** Index of the provider. */
  readonly provider: number;
  readonly isFull: boolean;
  /** F4: all rows count as changed. */
  readonly wantsAllRows?: boolean;
}

/** Rows between two checks that the inventory's refs still mean the same: a few milliseconds. */
const CHUNK_ROWS = 4096;
/** If shapes keep coming and going, comparing again might never end. */
const CHUNK_TRIES_MAX = 3;

/** Of a slot. Unlisted (full listings only): belonged to this provider at the start, and not seen in the listing yet. */
const Mark = { None: 0, Unlisted: 1, Listed: 2 } as const;

const S = MachineState;
const NO_VIEW = new DataView(new ArrayBuffer(0));

/**
 * States in which a provider that names no cluster does not contradict the inventory's: in the first three the cluster is
 * a local assignment, in the others a binding that lasts until the provider reports another.
 */
const MAY_BE_SILENT = new Uint8Array(STATE_COUNT);
for (const state of [S.Speculative, S.Creating, S.Idle, S.Configuring, S.Failed]) MAY_BE_SILENT[state] = 1;

export class ListingComparison {
  readonly #reader: InventoryReader;
  readonly #names: readonly string[];
  readonly #refs: KnownRefs;
  readonly #row = new SharedRow();
  readonly #texts = new RowTexts();
  readonly #changed = new RowList();
  readonly #foreign = new RowList();
  readonly #removed = new RowList();
  #mark = new Uint8Array(0);
  #generation = new Uint32Array(0);
  #hint = 0;
  #view: DataView = NO_VIEW;

  /** `names`: the providers' names by index. */
  constructor(inventory: SharedInventory, names: readonly string[]) {
    const reader = InventoryReader.attach(inventory);
    this.#reader = reader;
    this.#names = names;
    this.#refs = new KnownRefs(reader.shapeKeys, reader.clusters, reader.ownLabelKeys);
  }

  /** The listing must be decoded with these own labels. */
  get ownLabelKeys(): readonly string[] {
    return this.#reader.ownLabelKeys;
  }

  /** The inventory never had a machine: every listed row is new (first-listing.ts). */
  get knowsNothing(): boolean {
    return this.#reader.slotLimit === 1;
  }

  /** The result has its own memory and does not change any more. */
  compare(batch: MachineBatch, { provider, isFull, wantsAllRows = false }: ListedBy): ComparedListing {
    const { bytes } = batch;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#changed.count = this.#foreign.count = this.#removed.count = 0;
    this.#hint = 1;
    const knownCount = this.#markKnown(provider, isFull);
    this.#refs.open(batch);
    for (let start = 0; start < batch.rowCount; start += CHUNK_ROWS) {
      const end = Math.min(start + CHUNK_ROWS, batch.rowCount);
      this.#compareChunk(batch, provider, start, end, wantsAllRows ? CHUNK_TRIES_MAX : 1);
    }
    this.#spareRejected(batch);
    if (isFull) this.#findUnlisted(provider);
    else this.#findDeleted(batch, provider);
    this.#view = NO_VIEW; // drops the reference to the answer
    return {
      kind: 'listed',
      isFull,
      revision: revisionOf(batch),
      listedCount: batch.rowCount - this.#foreign.count,
      rows: cutOutRows(batch, this.#changed, this.#refs.keys),
      repeatedCount: 0,
      removed: slotRefs(this.#removed),
      foreign: slotRefs(this.#foreign),
      knownCount,
      rejected: rejectedOf(batch, this.#foreign.count),
      unnamedCount: batch.unnamedCount,
      rejectionTexts: this.#rejectionTexts(batch),
      answerBytes: bytes.length,
    };
  }

  /** Counts this provider's machines; for a full listing it marks them. */
  #markKnown(provider: number, isFull: boolean): number {
    const reader = this.#reader;
    const { slotLimit } = reader;
    if (this.#mark.length < slotLimit) {
      this.#mark = new Uint8Array(slotLimit);
      this.#generation = new Uint32Array(slotLimit);
    }
    this.#mark.fill(Mark.None);
    let count = 0;
    for (let slot = 1; slot < slotLimit; slot++) {
      if (reader.stateOf(slot) === 0 || reader.providerOf(slot) !== provider) continue;
      count++;
      if (!isFull) continue;
      this.#mark[slot] = Mark.Unlisted;
      this.#generation[slot] = reader.generationOf(slot);
    }
    return count;
  }

  /** At the last try every row counts as changed. */
  #compareChunk(batch: MachineBatch, provider: number, start: number, end: number, firstTry: number): void {
    const refs = this.#refs;
    const changedCount = this.#changed.count;
    const foreignCount = this.#foreign.count;
    const hint = this.#hint;
    for (let tries = firstTry; ; tries++) {
      const isLast = tries === CHUNK_TRIES_MAX;
      for (let row = start; row < end; row++) this.#compareRow(batch, provider, row, isLast);
      if (isLast || refs.isCurrent()) return;
      refs.lookUp();
      this.#changed.count = changedCount;
      this.#foreign.count = foreignCount;
      this.#hint = hint;
    }
  }

  #compareRow(batch: MachineBatch, provider: number, row: number, isInDoubt: boolean): void {
    const reader = this.#reader;
    const known = this.#row;
    const slot = reader.findRow(batch.bytes, batch.idStart[row]!, batch.idEnd[row]!, known, this.#hint);
    if (slot === 0) {
      this.#changed.push(row, 0, 0);
      return;
    }
    this.#hint = slot + 1;
    if (known.provider !== provider) {
      // T10: of two records of a machine in dispute, the one with a binding counts. The main thread decides, so it gets the row.
      const isBoundHereOnly = batch.cluster[row] !== 0 && known.cluster === 0;
      (isBoundHereOnly ? this.#changed : this.#foreign).push(row, slot, known.generation);
      return;
    }
    if (slot < this.#mark.length) this.#mark[slot] = Mark.Listed;
    if (!isInDoubt && this.#isKnown(batch, row, known) && reader.isUnchanged(known)) return;
    this.#changed.push(row, slot, known.generation);
  }

  #isKnown(batch: MachineBatch, row: number, known: SharedRow): boolean {
    return (
      batch.state[row] === known.state &&
      batch.pricePerHourUsd[row] === known.pricePerHourUsd &&
      batch.interruptionProbability[row] === known.interruptionProbability &&
      this.#refs.shapeRef(batch.shape[row]!) === known.shape &&
      this.#isKnownCluster(batch.cluster[row]!, known) &&
      this.#isKnownHost(batch, row, known) &&
      this.#areKnownTexts(batch, row, known)
    );
  }

  #isKnownCluster(cluster: number, known: SharedRow): boolean {
    if (cluster === 0) return known.cluster === 0 || MAY_BE_SILENT[known.state] === 1;
    return known.cluster !== 0 && this.#refs.clusterRef(cluster) === known.cluster;
  }

  #isKnownHost(batch: MachineBatch, row: number, known: SharedRow): boolean {
    const { bytes } = batch;
    const providerStart = batch.hostProviderStart[row]!;
    const providerEnd = batch.hostProviderEnd[row]!;
    const refStart = batch.hostRefStart[row]!;
    const refEnd = batch.hostRefEnd[row]!;
    if (providerStart === providerEnd && refStart === refEnd) return known.host === 0;
    return this.#reader.hosts.equals(known.host, bytes, providerStart, providerEnd, bytes, refStart, refEnd);
  }

  #areKnownTexts(batch: MachineBatch, row: number, known: SharedRow): boolean {
    const { texts } = this.#reader;
    const range = this.#texts;
    range.lastError(batch, row, this.#view);
    if (!texts.equalsBytes(known.lastError, range.bytes, range.start, range.end)) return false;
    range.ownLabels(batch, row);
    return texts.equalsBytes(known.ownLabels, range.bytes, range.start, range.end);
  }

  /** A rejected record proves that the machine exists: it must not be removed. */
  #spareRejected({ bytes, rejectedIds }: MachineBatch): void {
    for (let index = 0; index < rejectedIds.count; index++) {
      const slot = this.#reader.find(bytes, rejectedIds.start[index]!, rejectedIds.end[index]!);
      if (slot > 0 && slot < this.#mark.length) this.#mark[slot] = Mark.Listed;
    }
  }

  #findUnlisted(provider: number): void {
    const mark = this.#mark;
    const known = this.#row;
    for (let slot = 1; slot < mark.length; slot++) {
      if (mark[slot] !== Mark.Unlisted) continue;
      if (!this.#reader.read(slot, known) || known.provider !== provider) continue;
      // Only if the slot still holds the machine that it held when the comparison began.
      if (isSameIncarnation(known.generation, this.#generation[slot]!)) {
        this.#removed.push(0, slot, known.generation);
      }
    }
  }

  #findDeleted({ bytes, deletedIds }: MachineBatch, provider: number): void {
    const known = this.#row;
    for (let index = 0; index < deletedIds.count; index++) {
      const slot = this.#reader.findRow(bytes, deletedIds.start[index]!, deletedIds.end[index]!, known);
      if (slot === 0 || slot >= this.#mark.length || known.provider !== provider) continue;
      if (this.#mark[slot] === Mark.Listed) continue;
      this.#mark[slot] = Mark.Listed; // an id may be listed twice
      this.#removed.push(0, slot, known.generation);
    }
  }

  #rejectionTexts(batch: MachineBatch): string[] {
    const texts = [...batch.rejectionTexts];
    for (let index = 0; index < this.#foreign.count && texts.length < REJECTION_TEXTS_MAX; index++) {
      const owner = this.#reader.providerOf(this.#foreign.slot[index]!);
      const what = `provider ${this.#names[owner] ?? owner} already has a machine with this id`;
      texts.push(new InvalidMachineError(idAt(batch, this.#foreign.row[index]!), 'structural', what).message);
    }
    return texts.map(boundedDetail);
  }
}

export function rejectedOf(batch: MachineBatch, foreignCount: number): Record<InvalidReason, number> {
  const count = (reason: InvalidReason) => batch.rejectedCounts[INVALID_REASONS.indexOf(reason)]!;
  return {
    price: count('price'),
    interruption_probability: count('interruption_probability'),
    structural: count('structural') + foreignCount,
  };
}

function slotRefs(list: RowList): SlotRefs {
  return {
    count: list.count,
    slot: list.slot.slice(0, list.count),
    generation: list.generation.slice(0, list.count),
  };
}
