/**
 * The machines of a simulated provider, as columns: every large test and benchmark starts a provider of
 * 500,000 machines, which must leave memory and time to the code under test.
 *
 *   column                    bytes  unit, meaning
 *   pricePerHourUsd           8      f64
 *   interruptionProbability   8      f64, in [0, 1]
 *   changedAt                 8      f64, revision of the last change
 *   operationNumber           8      f64, number of the last operation, part of the operation id
 *   dueMs                     8      f64, when the operation in progress or a repair ends; infinite = never
 *   kind                      4      u32, KindTable
 *   older, newer              4 + 4  i32, neighbours in the order of changes, -1 = none
 *   step                      4      u32, grows with every change of state; a completion that was scheduled
 *                                    at another step is void
 *   incarnation               4      u32, how often the machine was created; part of its host reference
 *   state                     1      u8, MachineState, 0 = unused row
 *   hosted                    1      u8, 1 = the machine has a host
 *   operation                 1      u8, OPERATIONS[…].number of the last operation, 0 = none
 *   ending                    1      u8, Ending of the operation in progress
 *
 * Ids, bindings and the few last errors are strings beside the columns. A linked list through the rows has
 * them in order of change: a change moves its row to the newest end, and a listing after a cursor reads
 * backwards from there, so its cost depends on the number of changes, not of machines.
 */
import { assert } from '../../base/assert.ts';
import type { MachineState } from '../../machine/state.ts';
import type { StringMap } from './kinds.ts';

/** Cluster and metadata of a Configure call, stored unchanged. */
export interface StoredBinding {
  readonly cluster: string;
  readonly shardMetadata: StringMap;
}

/** 4 M rows × 64 bytes = 268 MB of columns, eight times the fleet that this project is built for. */
export const ROWS_MAX = 4_194_304;
const ROWS_AT_START = 1_024;
const NONE = -1;

export class Fleet {
  pricePerHourUsd = new Float64Array(ROWS_AT_START);
  interruptionProbability = new Float64Array(ROWS_AT_START);
  changedAt = new Float64Array(ROWS_AT_START);
  operationNumber = new Float64Array(ROWS_AT_START);
  dueMs = new Float64Array(ROWS_AT_START);
  kind = new Uint32Array(ROWS_AT_START);
  step = new Uint32Array(ROWS_AT_START);
  incarnation = new Uint32Array(ROWS_AT_START);
  state = new Uint8Array(ROWS_AT_START);
  hosted = new Uint8Array(ROWS_AT_START);
  operation = new Uint8Array(ROWS_AT_START);
  ending = new Uint8Array(ROWS_AT_START);
  readonly ids: string[] = [];
  readonly bindings: (StoredBinding | null)[] = [];
  readonly lastErrors = new Map<number, string>();

  #older = new Int32Array(ROWS_AT_START);
  #newer = new Int32Array(ROWS_AT_START);
  #newest = NONE;
  #revision = 0;
  readonly #rowById = new Map<string, number>();
  readonly #unusedRows: number[] = [];
  #rowEnd = 0;

  /** Grows by one with every change of any machine. */
  get revision(): number {
    return this.#revision;
  }

  get machineCount(): number {
    return this.#rowById.size;
  }

  /** All rows are below this; unused ones have state 0. */
  get rowEnd(): number {
    return this.#rowEnd;
  }

  /** -1 if there is no such machine. */
  rowOf(id: string): number {
    return this.#rowById.get(id) ?? NONE;
  }

  insert(id: string, kind: number, state: MachineState): number {
    assert(!this.#rowById.has(id), `machine ${id} exists already`);
    const row = this.#unusedRows.pop() ?? this.#rowEnd++;
    assert(row < ROWS_MAX, `a simulated provider holds at most ${ROWS_MAX} machines`);
    if (row >= this.state.length) this.#grow();
    this.ids[row] = id;
    this.bindings[row] = null;
    this.#rowById.set(id, row);
    this.kind[row] = kind;
    this.state[row] = state;
    this.hosted[row] = 0;
    this.operation[row] = 0;
    this.ending[row] = 0;
    this.operationNumber[row] = 0;
    this.dueMs[row] = Number.POSITIVE_INFINITY;
    this.incarnation[row] = 0;
    this.step[row]!++; // voids completions that were scheduled for the row's former machine
    this.#append(row);
    return row;
  }

  remove(row: number): void {
    this.#unlink(row);
    this.#rowById.delete(this.ids[row]!);
    this.ids[row] = '';
    this.bindings[row] = null;
    this.lastErrors.delete(row);
    this.state[row] = 0;
    this.step[row]!++;
    this.#unusedRows.push(row);
    this.#revision++;
  }

  /** Sets a new state, which voids the scheduled completion. */
  move(row: number, state: MachineState): void {
    this.state[row] = state;
    this.dueMs[row] = Number.POSITIVE_INFINITY;
    this.step[row]!++;
    this.touch(row);
  }

  /** To be called when a field that listings show has changed. */
  touch(row: number): void {
    this.#unlink(row);
    this.#append(row);
  }

  /** Rows changed after the revision, oldest change first. */
  rowsChangedAfter(revision: number): Uint32Array {
    let rowCount = 0;
    let first = NONE;
    for (let row = this.#newest; row !== NONE && this.changedAt[row]! > revision; row = this.#older[row]!) {
      first = row;
      rowCount++;
    }
    const rows = new Uint32Array(rowCount);
    for (let index = 0, row = first; index < rowCount; index++, row = this.#newer[row]!) rows[index] = row;
    return rows;
  }

  /** All rows by row number: the same order in every listing. */
  rowsInPlace(): Uint32Array {
    const rows = new Uint32Array(this.machineCount);
    let rowCount = 0;
    for (let row = 0; row < this.#rowEnd; row++) if (this.state[row] !== 0) rows[rowCount++] = row;
    return rows;
  }

  /** Sets the order of changes by `changedAt`, after machines of an earlier process were inserted. */
  restoreOrder(revision: number): void {
    const rows = this.rowsInPlace().sort((left, right) => this.changedAt[left]! - this.changedAt[right]!);
    this.#newest = NONE;
    for (const row of rows) this.#linkNewest(row);
    this.#revision = revision;
  }

  #append(row: number): void {
    this.changedAt[row] = ++this.#revision;
    this.#linkNewest(row);
  }

  #linkNewest(row: number): void {
    this.#older[row] = this.#newest;
    this.#newer[row] = NONE;
    if (this.#newest !== NONE) this.#newer[this.#newest] = row;
    this.#newest = row;
  }

  #unlink(row: number): void {
    const older = this.#older[row]!;
    const newer = this.#newer[row]!;
    if (older !== NONE) this.#newer[older] = newer;
    if (newer === NONE) this.#newest = older;
    else this.#older[newer] = older;
  }

  #grow(): void {
    const rowCapacity = this.state.length * 2;
    this.pricePerHourUsd = copied(this.pricePerHourUsd, new Float64Array(rowCapacity));
    this.interruptionProbability = copied(this.interruptionProbability, new Float64Array(rowCapacity));
    this.changedAt = copied(this.changedAt, new Float64Array(rowCapacity));
    this.operationNumber = copied(this.operationNumber, new Float64Array(rowCapacity));
    this.dueMs = copied(this.dueMs, new Float64Array(rowCapacity));
    this.kind = copied(this.kind, new Uint32Array(rowCapacity));
    this.step = copied(this.step, new Uint32Array(rowCapacity));
    this.incarnation = copied(this.incarnation, new Uint32Array(rowCapacity));
    this.state = copied(this.state, new Uint8Array(rowCapacity));
    this.hosted = copied(this.hosted, new Uint8Array(rowCapacity));
    this.operation = copied(this.operation, new Uint8Array(rowCapacity));
    this.ending = copied(this.ending, new Uint8Array(rowCapacity));
    this.#older = copied(this.#older, new Int32Array(rowCapacity));
    this.#newer = copied(this.#newer, new Int32Array(rowCapacity));
  }
}

function copied<T extends Float64Array | Uint32Array | Int32Array | Uint8Array>(from: T, into: T): T {
  into.set(from);
  return into;
}
