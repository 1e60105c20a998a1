/**
 * What a listing's shapes and clusters are called in the inventory: each is looked up once, however many machines have
 * it, and a row is then compared by refs. Refs are used again once nobody holds them, so what was looked up counts only
 * while the tables stay as they were (`isCurrent`); whoever compared meanwhile looks up and compares again.
 */
import type { StringTable } from '../src/base/string-table.ts';
import { ShapeKeyBuilder } from '../src/inventory/shape-key.ts';
import type { MachineBatch } from '../src/provider/decode/batch.ts';
import { unitsOfWords } from '../src/provider/decode/entry-tables.ts';
import { endOf, startOf } from '../src/provider/decode/range-table.ts';

const NOT_LOOKED_UP = -1;
/** A key with ten labels is about 400 bytes, and a fleet has dozens to thousands of shapes: it grows with them. */
const KEY_BYTES_MIN = 64 * 1024;

export class KnownRefs {
  readonly #shapeKeys: StringTable;
  readonly #clusters: StringTable;
  readonly #builder: ShapeKeyBuilder;
  #batch: MachineBatch | null = null;
  #shapeVersion = 0;
  #clusterVersion = 0;
  #shapeRefs = new Uint32Array(0);
  #clusterRefs = new Int32Array(0);
  /** Canonical bytes (inventory/shape-key.ts) of the listing's shapes; `keyEnd[shape]` is where the next begins. */
  keyBytes = new Uint8Array(KEY_BYTES_MIN);
  keyEnd = new Uint32Array(0);

  constructor(shapeKeys: StringTable, clusters: StringTable, ownLabelKeys: readonly string[]) {
    this.#shapeKeys = shapeKeys;
    this.#clusters = clusters;
    this.#builder = new ShapeKeyBuilder(ownLabelKeys);
  }

  /** Takes a listing in: builds its keys and looks them up. */
  open(batch: MachineBatch): void {
    this.#batch = batch;
    const shapeCount = batch.shapes.count;
    if (this.keyEnd.length < shapeCount) this.keyEnd = new Uint32Array(2 * shapeCount);
    let end = 0;
    for (let shape = 0; shape < shapeCount; shape++) {
      this.#buildKey(batch, shape);
      end = this.#appendKey(end);
      this.keyEnd[shape] = end;
    }
    if (this.#shapeRefs.length < shapeCount) this.#shapeRefs = new Uint32Array(2 * shapeCount);
    if (this.#clusterRefs.length <= batch.strings.count) {
      this.#clusterRefs = new Int32Array(2 * batch.strings.count + 1);
    }
    this.lookUp();
  }

  /** Looks everything up again. */
  lookUp(): void {
    const batch = this.#batch!;
    this.#shapeVersion = this.#shapeKeys.version;
    this.#clusterVersion = this.#clusters.version;
    for (let shape = 0; shape < batch.shapes.count; shape++) {
      this.#shapeRefs[shape] = this.#shapeKeys.findBytes(
        this.keyBytes,
        this.keyStart(shape),
        this.keyEnd[shape]!,
      );
    }
    this.#clusterRefs.fill(NOT_LOOKED_UP, 0, batch.strings.count + 1);
  }

  /** Whether every ref that was given since `lookUp` still means what it meant. */
  isCurrent(): boolean {
    return (
      (this.#shapeVersion & 1) === 0 &&
      (this.#clusterVersion & 1) === 0 &&
      this.#shapeKeys.version === this.#shapeVersion &&
      this.#clusters.version === this.#clusterVersion
    );
  }

  keyStart(shape: number): number {
    return shape === 0 ? 0 : this.keyEnd[shape - 1]!;
  }

  /** The inventory's ref of a shape of the listing, 0 if it has none. */
  shapeRef(shape: number): number {
    return this.#shapeRefs[shape]!;
  }

  /** The inventory's ref of a cluster, given as a string of the listing; 0 if it has none. */
  clusterRef(text: number): number {
    const known = this.#clusterRefs[text]!;
    if (known !== NOT_LOOKED_UP) return known;
    const { bytes, strings } = this.#batch!;
    const ref = this.#clusters.findBytes(bytes, startOf(strings, text), endOf(strings, text));
    this.#clusterRefs[text] = ref;
    return ref;
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
    if (end > this.keyBytes.length) {
      const grown = new Uint8Array(Math.max(end, 2 * this.keyBytes.length));
      grown.set(this.keyBytes.subarray(0, start));
      this.keyBytes = grown;
    }
    this.keyBytes.set(this.#builder.bytes.subarray(0, this.#builder.length), start);
    return end;
  }
}
