/**
 * The rows of the inventory and everything derived from them, written in one place: columns, ids, hosts, strings, live
 * indexes, lazily kept orders, id ranks and the change log. Every operation checks first, then takes what may run out
 * (slot, id bytes, host bytes), then writes. So a refused operation changes nothing, and a write cannot fail half-way.
 *
 * Rows hold one reference to each shape, cluster, fingerprint, group and text that they name. inventory.ts offers the same
 * operations with objects instead of numbers and refs.
 */
import { assert } from '../base/assert.ts';
import { hashBytes } from '../base/hash.ts';
import type { KeyTable } from '../base/key-table.ts';
import { ownerOf } from '../base/table-shares.ts';
import { IllegalTransitionError, InvalidMachineError } from '../machine/machine.ts';
import { canMove, isMachineState, MachineState, STATE_COUNT } from '../machine/state.ts';
import {
  type Binding,
  emptyBinding,
  endsBinding,
  isSameBinding,
  loadBinding,
  resolveBinding,
  storeBinding,
} from './binding.ts';
import { ChangeLog } from './change-log.ts';
import { CORE_WORDS, type ColumnsImage, Core, InventoryColumns } from './columns.ts';
import { DuplicateIdError, InventoryFullError, WrongSlotError } from './errors.ts';
import { FleetCounts } from './fleet-counts.ts';
import { IdRanks } from './id-ranks.ts';
import { FleetIndexes } from './indexes.ts';
import { CORDONED, Flag, Intent, isBinding } from './intent.ts';
import { MachineRow } from './machine-row.ts';
import { FleetOrders } from './orders.ts';
import { findInvalidRow, PLAIN_MOVES, PlainMove } from './row-checks.ts';
import { beginRowWrite, endRowRemoval, endRowWrite, isSameIncarnation } from './row-generation.ts';
import { SlotPool } from './slot-pool.ts';
import { type InventoryOptions, InventoryTables } from './tables.ts';

const S = MachineState;
/** Flags about the current state; they end with it. */
const STATE_FLAGS = Flag.Stuck | Flag.FoundDraining | Flag.Leaving | Flag.LeavingNow | Flag.Releasing;
const UNBOUND = emptyBinding();

export class RowStore {
  readonly machinesMax: number;
  readonly columns: InventoryColumns;
  readonly tables: InventoryTables;
  /** Read-only: the store itself updates them. */
  readonly indexes: FleetIndexes;
  readonly counts: FleetCounts;
  readonly orders: FleetOrders;
  /** Slots touched (inserted, changed, removed, intent, flags) since the one reader last took them. */
  readonly changes: ChangeLog;
  readonly #ids: KeyTable;
  readonly #ranks: IdRanks;
  readonly #slots: SlotPool;
  /** A row that sets only the state. */
  readonly #stateRow = new MachineRow();
  readonly #held = emptyBinding();
  readonly #next = emptyBinding();
  #count = 0;
  /** H6: slots of cordoned machines, in any state; and a number that changes with them. */
  readonly cordoned = new Set<number>();
  cordonVersion = 0;
  /** Rows with one of STATE_FLAGS: usually none, and then a transition skips the flags. */
  #stateFlagged = 0;

  constructor(options: InventoryOptions) {
    this.tables = new InventoryTables(options);
    this.machinesMax = this.tables.machinesMax;
    this.columns = InventoryColumns.create(this.machinesMax);
    const { ids, shapes, clusters } = this.tables;
    this.indexes = new FleetIndexes(this.columns, shapes.shapesMax, clusters.entriesMax);
    this.counts = new FleetCounts(this.indexes, shapes);
    this.orders = new FleetOrders(this.columns, this.indexes, () => this.ensureRanks());
    this.changes = new ChangeLog(this.columns.rowCapacity - 1);
    this.#ids = ids;
    this.#ranks = new IdRanks(ids, this.columns.idRank, this.machinesMax);
    this.#slots = new SlotPool(this.columns, this.machinesMax);
  }

  /**
   * Copies the rows of an image into an empty store, for a decision on a copy (shard/check). Rows keep their slots and refs;
   * ids and hosts are left out.
   */
  restore(image: ColumnsImage): void {
    assert(this.#count === 0 && image.state.length <= this.columns.rowCapacity, 'an empty store with room');
    this.columns.restore(image);
    const { state, shape, cluster, slotLimit } = this.columns;
    for (let slot = 1; slot < slotLimit; slot++) {
      if (state[slot] === 0) continue;
      this.indexes.enter(slot, state[slot]!, shape[slot]!, cluster[slot]!);
      this.#count++;
    }
    this.#ranks.restore(slotLimit);
  }

  /** Machines held. */
  get count(): number {
    return this.#count;
  }

  /** Slots in bytewise order of their ids, for paging. */
  get slotsById(): Uint32Array {
    this.ensureRanks();
    return this.#ranks.slotsById;
  }

  /** Whether machines were added or removed since the last `ensureRanks`. */
  get lacksRanks(): boolean {
    return !this.#ranks.isCurrent;
  }

  /** Gives every machine its idRank. Cheap when no machine was added or removed; call it between parts of a bulk load. */
  ensureRanks(): void {
    if (this.lacksRanks) this.#ranks.ensure((slot) => this.#slots.give(slot));
  }

  /** The slot of an id, 0 if there is none. */
  findBytes(bytes: Uint8Array, start: number, end: number): number {
    return this.#ids.find(hashBytes(bytes, start, end), bytes, start, end);
  }

  idOf(slot: number): string {
    return this.#ids.textOf(slot);
  }

  /** Keep it with a slot and pass it to `isCurrent` later. */
  generationOf(slot: number): number {
    return this.columns.core[slot * CORE_WORDS + Core.Generation]!;
  }

  /** Whether a slot holds the same machine as at that generation; changes of the machine do not matter. */
  isCurrent(slot: number, generation: number): boolean {
    const now = this.columns.core[slot * CORE_WORDS + Core.Generation];
    return now !== undefined && this.columns.state[slot] !== 0 && isSameIncarnation(now, generation);
  }

  /** T1: throws a TableShareError if a machine more of this provider would use what is reserved for others. */
  admitRow(provider: number, idBytes: number): void {
    const { rowShares, ids } = this.tables;
    rowShares?.admit(ownerOf(provider), idBytes, this.#count, ids.arena.bytesUsed);
  }

  insertRow(
    ids: Uint8Array,
    idStart: number,
    idEnd: number,
    row: MachineRow,
    provider: number,
    nowMs: number,
  ): number {
    this.guardWrite();
    if (idStart === idEnd) throw new InvalidMachineError('', 'structural', 'the id is empty');
    assert(Number.isInteger(provider) && provider >= 0 && provider <= 255, 'a provider is a byte');
    if (this.#findInvalid('?', row, row.hasHost, row, row.state === S.Creating, row.lastError) !== null) {
      const id = decode(ids, idStart, idEnd);
      throw this.#findInvalid(id, row, row.hasHost, row, row.state === S.Creating, row.lastError)!;
    }
    const { columns, tables } = this;
    const hash = hashBytes(ids, idStart, idEnd);
    if (this.#ids.find(hash, ids, idStart, idEnd) !== 0) {
      throw new DuplicateIdError(decode(ids, idStart, idEnd));
    }
    if (this.#slots.peek() === 0) this.ensureRanks(); // frees the slots in limbo (id-ranks.ts)
    const slot = this.#slots.peek();
    this.admitRow(provider, idEnd - idStart);
    if (slot === 0) throw new InventoryFullError('slots', this.machinesMax);
    const host = row.hasHost ? this.#storeHost(row, provider) : 0;
    if (!this.#ids.add(slot, hash, ids, idStart, idEnd)) {
      tables.hosts.free(host, ownerOf(provider));
      throw new InventoryFullError('bytes of ids', this.#ids.arena.bytes.length);
    }
    this.#slots.take();
    this.#count++;
    tables.rowShares?.charge(ownerOf(provider), idEnd - idStart);
    tables.retainRow(row.shape, row, row.lastError, row.ownLabels);
    beginRowWrite(columns.core, slot);
    this.#writeFacts(slot, row);
    storeBinding(columns, slot, row);
    columns.state[slot] = row.state;
    columns.writeStateSinceMs(slot, nowMs);
    columns.host[slot] = host;
    columns.lastError[slot] = row.lastError;
    columns.provider[slot] = provider;
    columns.intent[slot] = Intent.None;
    endRowWrite(columns.core, slot);
    this.indexes.enter(slot, row.state, row.shape, row.cluster);
    this.#ranks.add(slot);
    this.orders.mark(slot, row.state, row.state);
    this.changes.mark(slot);
    return slot;
  }

  /** S2: a row that changes nothing is not a write; returns false then. `force` skips the transition table, and only that. */
  applyRow(slot: number, row: MachineRow, nowMs: number, force = false): boolean {
    this.guardWrite();
    const { columns, tables } = this;
    const from = this.stateOf(slot);
    const to = row.state as MachineState;
    if (to !== from && isMachineState(to) && !force && !canMove(from, to)) {
      throw new IllegalTransitionError(this.idOf(slot), from, to);
    }
    const held = this.#held;
    const next = this.#next;
    loadBinding(columns, slot, held);
    resolveBinding(next, held, row, from, to);
    const hostBefore = columns.host[slot]!;
    // X7: a deleted machine is Speculative again and loses its host, even if the change does not mention it.
    const keepsHost = row.saysHost ? row.hasHost && this.#isHost(hostBefore, row) : to !== S.Speculative;
    const hasHost = row.saysHost ? row.hasHost : keepsHost && hostBefore !== 0;
    const errorBefore = columns.lastError[slot]!;
    const lastError = row.saysLastError ? row.lastError : from === S.Failed && to !== from ? 0 : errorBefore;
    const mayBeAssigned = to === S.Creating || (to === from && this.#isAssignmentKept(slot, row));
    if (this.#findInvalid('?', row, hasHost, next, mayBeAssigned, lastError) !== null) {
      throw this.#findInvalid(this.idOf(slot), row, hasHost, next, mayBeAssigned, lastError)!;
    }
    const hostStays = keepsHost || (!hasHost && hostBefore === 0);
    if (to === from && hostStays && lastError === errorBefore && this.#hasFacts(slot, row)) {
      if (isSameBinding(held, next)) return false;
    }
    const host = keepsHost ? hostBefore : hasHost ? this.#storeHost(row, columns.provider[slot]!) : 0;
    const shapeBefore = columns.shape[slot]!;
    const ownBefore = columns.ownLabels[slot]!;
    tables.retainRow(row.shape, next, lastError, row.ownLabels);
    this.indexes.move(slot, from, to, shapeBefore, row.shape, held.cluster, next.cluster);
    beginRowWrite(columns.core, slot);
    this.#writeFacts(slot, row);
    storeBinding(columns, slot, next);
    columns.host[slot] = host;
    columns.lastError[slot] = lastError;
    if (to !== from) this.#writeState(slot, to, nowMs);
    endRowWrite(columns.core, slot);
    if (host !== hostBefore) tables.hosts.free(hostBefore, ownerOf(columns.provider[slot]!));
    tables.releaseRow(shapeBefore, held, errorBefore, ownBefore);
    this.orders.mark(slot, from, to);
    this.changes.mark(slot);
    return true;
  }

  /** A change of the state only: the same as applyRow, without reading fields that cannot change. */
  move(slot: number, to: MachineState, nowMs: number, force = false): boolean {
    this.guardWrite();
    const { columns, tables } = this;
    const from = columns.state[slot]!;
    const shape = columns.core[slot * CORE_WORDS + Core.Shape]!;
    const cluster = columns.coreClusterOf(slot);
    const kind = PLAIN_MOVES[from * STATE_COUNT + to];
    if (kind !== PlainMove.Always && !(kind === PlainMove.IfBound && cluster !== 0)) {
      return this.#moveChecked(slot, to, nowMs, force);
    }
    const unbinds = cluster !== 0 && endsBinding(from as MachineState, to);
    const need = unbinds ? columns.need[slot]! : 0;
    const group = unbinds ? columns.group[slot]! : 0;
    this.indexes.moveState(slot, from, to, shape, cluster, unbinds ? 0 : cluster);
    beginRowWrite(columns.core, slot);
    if (unbinds) storeBinding(columns, slot, UNBOUND);
    this.#writeState(slot, to, nowMs);
    endRowWrite(columns.core, slot);
    if (unbinds) tables.releaseRefs(cluster, need, group);
    this.orders.mark(slot, from, to);
    this.changes.mark(slot);
    return true;
  }

  /** Moves that need more checks than the state: applied as a row that sets only the state. */
  #moveChecked(slot: number, to: MachineState, nowMs: number, force: boolean): boolean {
    const { columns } = this;
    const from = this.stateOf(slot);
    if (to === from) return false;
    const row = this.#stateRow;
    row.state = to;
    row.pricePerHourUsd = columns.pricePerHourUsd[slot]!;
    row.interruptionProbability = columns.interruptionProbability[slot]!;
    row.shape = columns.shape[slot]!;
    row.ownLabels = columns.ownLabels[slot]!;
    return this.applyRow(slot, row, nowMs, force);
  }

  remove(slot: number): void {
    this.guardWrite();
    const { columns, tables } = this;
    const state = this.stateOf(slot);
    const held = this.#held;
    loadBinding(columns, slot, held);
    const shape = columns.shape[slot]!;
    const host = columns.host[slot]!;
    const lastError = columns.lastError[slot]!;
    const ownLabels = columns.ownLabels[slot]!;
    this.indexes.leave(slot, state, shape, held.cluster);
    beginRowWrite(columns.core, slot);
    columns.state[slot] = 0;
    columns.shape[slot] = columns.host[slot] = columns.lastError[slot] = columns.ownLabels[slot] = 0;
    columns.intent[slot] = 0;
    this.writeFlags(slot, 0);
    storeBinding(columns, slot, UNBOUND);
    endRowRemoval(columns.core, slot);
    const owner = ownerOf(columns.provider[slot]!);
    tables.rowShares?.refund(owner, this.#ids.arena.lengthOf(this.#ids.addressOf(slot)));
    this.#ids.remove(slot);
    this.#ranks.remove(slot);
    tables.hosts.free(host, owner);
    tables.releaseRow(shape, held, lastError, ownLabels);
    this.orders.mark(slot, state, state);
    this.changes.mark(slot);
    this.#count--;
  }

  /** The state of a machine; throws if the slot is empty. */
  stateOf(slot: number): MachineState {
    const state = this.columns.state[slot];
    if (state === undefined || state === 0) throw new WrongSlotError(slot, 'holds no machine');
    return state as MachineState;
  }

  /** Call it only within a write of the row. */
  writeFlags(slot: number, flags: number): void {
    const column = this.columns.flags;
    const before = column[slot]!;
    if (before === flags) return;
    this.#stateFlagged += Math.sign(flags & STATE_FLAGS) - Math.sign(before & STATE_FLAGS);
    column[slot] = flags;
    if (((before ^ flags) & CORDONED) === 0) return;
    this.cordonVersion++;
    if ((flags & CORDONED) === 0) this.cordoned.delete(slot);
    else this.cordoned.add(slot);
  }

  /** Called before every write; the inventory overrides it to check for open snapshots. */
  guardWrite(): void {}

  #findInvalid(
    machineId: string,
    row: MachineRow,
    hasHost: boolean,
    binding: Binding,
    mayBeAssigned: boolean,
    lastError: number,
  ): InvalidMachineError | null {
    assert(this.tables.shapes.isHeld(row.shape), 'a row names a shape that its caller holds');
    const { state, pricePerHourUsd: price, interruptionProbability: probability } = row;
    return findInvalidRow(machineId, state, price, probability, hasHost, binding, mayBeAssigned, lastError);
  }

  /** Whether an enqueued Bootstrap or Provision assigned the row and the change does not contradict it. */
  #isAssignmentKept(slot: number, row: MachineRow): boolean {
    // In any other state the cluster is a binding, even if the action that made it has not settled yet.
    if (row.state !== S.Idle && row.state !== S.Speculative) return false;
    return isBinding(this.columns.intent[slot]!) && !(row.saysCluster && row.cluster !== 0);
  }

  #hasFacts(slot: number, row: MachineRow): boolean {
    const { columns } = this;
    return (
      columns.shape[slot] === row.shape &&
      columns.pricePerHourUsd[slot] === row.pricePerHourUsd &&
      columns.interruptionProbability[slot] === row.interruptionProbability &&
      columns.ownLabels[slot] === row.ownLabels
    );
  }

  #writeFacts(slot: number, row: MachineRow): void {
    const { columns } = this;
    const { shapes } = this.tables;
    columns.pricePerHourUsd[slot] = row.pricePerHourUsd;
    columns.interruptionProbability[slot] = row.interruptionProbability;
    columns.shape[slot] = columns.core[slot * CORE_WORDS + Core.Shape] = row.shape;
    columns.instanceType[slot] = shapes.instanceTypeOf[row.shape]!;
    columns.capacityType[slot] = shapes.capacityTypeOf[row.shape]!;
    columns.ownLabels[slot] = row.ownLabels;
  }

  #writeState(slot: number, state: MachineState, nowMs: number): void {
    const { columns } = this;
    columns.state[slot] = state;
    columns.writeStateSinceMs(slot, nowMs);
    if (this.#stateFlagged > 0) this.writeFlags(slot, columns.flags[slot]! & ~STATE_FLAGS);
  }

  #isHost(address: number, row: MachineRow): boolean {
    return this.tables.hosts.equals(
      address,
      row.hostProviderBytes,
      row.hostProviderStart,
      row.hostProviderEnd,
      row.hostRefBytes,
      row.hostRefStart,
      row.hostRefEnd,
    );
  }

  #storeHost(row: MachineRow, provider: number): number {
    const { hosts } = this.tables;
    const address = hosts.store(
      row.hostProviderBytes,
      row.hostProviderStart,
      row.hostProviderEnd,
      row.hostRefBytes,
      row.hostRefStart,
      row.hostRefEnd,
      ownerOf(provider),
    );
    if (address === 0) throw new InventoryFullError('bytes of hosts', hosts.bytesMax);
    return address;
  }
}

function decode(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.subarray(start, end)).toString('utf8');
}
