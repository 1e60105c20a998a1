/**
 * Shapes and strings of one listing, each interned once and held until the listing is applied. Rows name them by index, so
 * two rows of one rack cost one look-up.
 */
import type { StringTable } from '../../base/string-table.ts';
import type { InventoryTables } from '../../inventory/tables.ts';
import type { ListingRows } from '../../shard/ports/providers.ts';

class StringRefs {
  readonly #table: StringTable;
  readonly #rows: ListingRows;
  readonly #refs: Uint32Array;

  constructor(table: StringTable, rows: ListingRows) {
    this.#table = table;
    this.#rows = rows;
    this.#refs = new Uint32Array(rows.stringCount);
  }

  get(index: number): number {
    if (index === 0) return 0;
    const known = this.#refs[index]!;
    if (known !== 0) return known;
    const { bytes, stringStart, stringEnd } = this.#rows;
    const ref = this.#table.internBytes(bytes, stringStart[index]!, stringEnd[index]!);
    this.#refs[index] = ref;
    return ref;
  }

  release(): void {
    for (const ref of this.#refs) if (ref !== 0) this.#table.release(ref);
  }
}

export class ListingRefs {
  readonly clusters: StringRefs;
  readonly fingerprints: StringRefs;
  readonly groups: StringRefs;
  readonly #tables: InventoryTables;
  readonly #rows: ListingRows;
  readonly #shapes: Uint32Array;

  constructor(tables: InventoryTables, rows: ListingRows) {
    this.#tables = tables;
    this.#rows = rows;
    this.#shapes = new Uint32Array(rows.shapeCount);
    this.clusters = new StringRefs(tables.clusters, rows);
    this.fingerprints = new StringRefs(tables.fingerprints, rows);
    this.groups = new StringRefs(tables.groups, rows);
  }

  shape(index: number): number {
    const known = this.#shapes[index]!;
    if (known !== 0) return known;
    const { bytes, shapeKeyStart, shapeKeyEnd } = this.#rows;
    const ref = this.#tables.shapes.internKey(bytes, shapeKeyStart[index]!, shapeKeyEnd[index]!);
    this.#shapes[index] = ref;
    return ref;
  }

  release(): void {
    for (const ref of this.#shapes) if (ref !== 0) this.#tables.shapes.release(ref);
    this.clusters.release();
    this.fingerprints.release();
    this.groups.release();
  }
}
