/**
 * Keys (canonical bytes, inventory/shape-key.ts) of a listing's shapes, one after the other. Shapes of a listing and of
 * the inventory are compared by key, and the keys go to the main thread. Each part of a listing adds its shapes.
 */
import { ShapeKeyBuilder } from '../../inventory/shape-key.ts';
import type { MachineBatch } from '../decode/batch.ts';
import { unitsOfWords } from '../decode/entry-tables.ts';
import { endOf, startOf } from '../decode/range-table.ts';

/** A key with ten labels has about 400 bytes; a fleet has dozens to thousands of shapes, and the array grows with them. */
const KEY_BYTES_MIN = 64 * 1024;
const SHAPES_MIN = 64;

export class ShapeKeys {
  bytes = new Uint8Array(KEY_BYTES_MIN);
  /** By shape of the listing: where its key ends and the next one begins. */
  end = new Uint32Array(SHAPES_MIN);
  readonly #builder: ShapeKeyBuilder;
  #count = 0;

  constructor(ownLabelKeys: readonly string[]) {
    this.#builder = new ShapeKeyBuilder(ownLabelKeys);
  }

  startOf(shape: number): number {
    return shape === 0 ? 0 : this.end[shape - 1]!;
  }

  /** Before another listing. */
  reset(): void {
    this.#count = 0;
  }

  /** Adds the batch's shapes that are missing here. */
  addThoseOf(batch: MachineBatch): void {
    const shapeCount = batch.shapes.count;
    if (this.end.length < shapeCount) {
      const grown = new Uint32Array(2 * shapeCount);
      grown.set(this.end);
      this.end = grown;
    }
    for (; this.#count < shapeCount; this.#count++) {
      this.#buildKey(batch, this.#count);
      this.end[this.#count] = this.#appendKey(this.startOf(this.#count));
    }
  }

  #buildKey(batch: MachineBatch, shape: number): void {
    const { bytes, strings } = batch;
    const { words, wordStart } = batch.shapes;
    const builder = this.#builder;
    const end = wordStart[shape + 1]!;
    let at = wordStart[shape]!;
    const instanceType = words[at]!;
    const zone = words[at + 1]!;
    const labelCount = words[at + 3]!;
    builder.begin(words[at + 2]!);
    builder.instanceType(bytes, startOf(strings, instanceType), endOf(strings, instanceType));
    builder.zone(bytes, startOf(strings, zone), endOf(strings, zone));
    at += 4;
    for (let label = 0; label < labelCount; label++, at += 2) {
      const key = words[at]!;
      const value = words[at + 1]!;
      builder.label(
        bytes,
        startOf(strings, key),
        endOf(strings, key),
        bytes,
        startOf(strings, value),
        endOf(strings, value),
      );
    }
    for (; at < end; at += 3) {
      const name = words[at]!;
      const units = unitsOfWords(words[at + 1]!, words[at + 2]!);
      builder.amount(bytes, startOf(strings, name), endOf(strings, name), units);
    }
    builder.finish();
  }

  #appendKey(start: number): number {
    const end = start + this.#builder.length;
    if (end > this.bytes.length) {
      const grown = new Uint8Array(Math.max(end, 2 * this.bytes.length));
      grown.set(this.bytes.subarray(0, start));
      this.bytes = grown;
    }
    this.bytes.set(this.#builder.bytes.subarray(0, this.#builder.length), start);
    return end;
  }
}
