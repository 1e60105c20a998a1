/**
 * Shapes and strings of one listing, each interned once and held until the listing is applied. Rows name them by index, so
 * two rows of one rack cost one look-up.
 */

import { ShardError } from '../../base/errors.ts';
import type { StringTable } from '../../base/string-table.ts';
import { capacityNames, capacityStart } from '../../inventory/shape-key-reader.ts';
import type { InventoryTables } from '../../inventory/tables.ts';
import type { ListingRows } from '../../shard/ports/providers.ts';

class StringRefs {
  readonly #table: StringTable;
  readonly #rows: ListingRows;
  readonly #owner: number;
  readonly #refs: Uint32Array;

  constructor(table: StringTable, rows: ListingRows, owner: number) {
    this.#table = table;
    this.#rows = rows;
    this.#owner = owner;
    this.#refs = new Uint32Array(rows.stringCount);
  }

  get(index: number): number {
    if (index === 0) return 0;
    const known = this.#refs[index]!;
    if (known !== 0) return known;
    const { bytes, stringStart, stringEnd } = this.#rows;
    const ref = this.#table.internBytes(bytes, stringStart[index]!, stringEnd[index]!, this.#owner);
    this.#refs[index] = ref;
    return ref;
  }

  release(): void {
    for (const ref of this.#refs) if (ref !== 0) this.#table.release(ref);
  }
}

/** Checks the resource names of a capacity; throws what refuses a row that has it. */
export type AdmitNames = (names: readonly string[]) => void;

export class ListingRefs {
  readonly clusters: StringRefs;
  readonly fingerprints: StringRefs;
  readonly groups: StringRefs;
  readonly #tables: InventoryTables;
  readonly #rows: ListingRows;
  readonly #shapes: Uint32Array;
  readonly #owner: number;
  readonly #admitNames: AdmitNames;
  /** By the bytes of a capacity: the error that refuses it, null if it is admitted. */
  readonly #admitted = new Map<string, ShardError | null>();

  /** T1: what is new counts for `owner` (base/table-shares.ts). */
  constructor(tables: InventoryTables, rows: ListingRows, owner: number, admitNames: AdmitNames) {
    this.#tables = tables;
    this.#rows = rows;
    this.#owner = owner;
    this.#admitNames = admitNames;
    this.#shapes = new Uint32Array(rows.shapeCount);
    this.clusters = new StringRefs(tables.clusters, rows, owner);
    this.fingerprints = new StringRefs(tables.fingerprints, rows, owner);
    this.groups = new StringRefs(tables.groups, rows, owner);
  }

  shape(index: number): number {
    const known = this.#shapes[index]!;
    if (known !== 0) return known;
    const { bytes, shapeKeyStart, shapeKeyEnd } = this.#rows;
    this.#admit(shapeKeyStart[index]!, shapeKeyEnd[index]!);
    const [start, end] = [shapeKeyStart[index]!, shapeKeyEnd[index]!];
    const ref = this.#tables.shapes.internKey(bytes, start, end, this.#owner);
    this.#shapes[index] = ref;
    return ref;
  }

  #admit(start: number, end: number): void {
    const { bytes } = this.#rows;
    const from = capacityStart(bytes, start);
    const key = Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from).toString('latin1');
    let refusal = this.#admitted.get(key);
    if (refusal === undefined) {
      refusal = this.#refusalOf(capacityNames(bytes, from));
      this.#admitted.set(key, refusal);
    }
    if (refusal !== null) throw refusal;
  }

  #refusalOf(names: readonly string[]): ShardError | null {
    try {
      this.#admitNames(names);
      return null;
    } catch (error) {
      if (error instanceof ShardError) return error;
      throw error;
    }
  }

  release(): void {
    for (const ref of this.#shapes) if (ref !== 0) this.#tables.shapes.release(ref);
    this.clusters.release();
    this.fingerprints.release();
    this.groups.release();
  }
}
