/** A growing list of rows of a listing, each with its slot and the slot's generation. */
const LENGTH_MIN = 256;

export class RowList {
  count = 0;
  row = new Uint32Array(LENGTH_MIN);
  slot = new Uint32Array(LENGTH_MIN);
  generation = new Uint32Array(LENGTH_MIN);

  push(row: number, slot: number, generation: number): void {
    if (this.count === this.row.length) {
      this.row = doubled(this.row);
      this.slot = doubled(this.slot);
      this.generation = doubled(this.generation);
    }
    this.row[this.count] = row;
    this.slot[this.count] = slot;
    this.generation[this.count++] = generation;
  }
}

function doubled(column: Uint32Array): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(2 * column.length);
  grown.set(column);
  return grown;
}
