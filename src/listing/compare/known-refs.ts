/**
 * The inventory's refs of a listing's shapes and clusters. Each is looked up once, however many machines have it; rows
 * are then compared by refs. The inventory reuses refs that no machine holds, so a lookup is valid only while its
 * tables do not change (`isCurrent`); otherwise the caller must look up and compare again.
 */
import type { StringTable } from '../../base/string-table.ts';
import type { MachineBatch } from '../decode/batch.ts';
import { endOf, startOf } from '../decode/range-table.ts';
import { ShapeKeys } from './shape-keys.ts';

const NOT_LOOKED_UP = -1;

export class KnownRefs {
  readonly #shapeKeys: StringTable;
  readonly #clusters: StringTable;
  readonly keys: ShapeKeys;
  #batch: MachineBatch | null = null;
  #shapeVersion = 0;
  #clusterVersion = 0;
  #shapeRefs = new Uint32Array(0);
  #clusterRefs = new Int32Array(0);

  constructor(shapeKeys: StringTable, clusters: StringTable, ownLabelKeys: readonly string[]) {
    this.#shapeKeys = shapeKeys;
    this.#clusters = clusters;
    this.keys = new ShapeKeys(ownLabelKeys);
  }

  /** Builds the keys of a listing and looks them up. */
  open(batch: MachineBatch): void {
    this.#batch = batch;
    const shapeCount = batch.shapes.count;
    this.keys.reset();
    this.keys.addThoseOf(batch);
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
    const { keys } = this;
    for (let shape = 0; shape < batch.shapes.count; shape++) {
      this.#shapeRefs[shape] = this.#shapeKeys.findBytes(keys.bytes, keys.startOf(shape), keys.end[shape]!);
    }
    this.#clusterRefs.fill(NOT_LOOKED_UP, 0, batch.strings.count + 1);
  }

  /** Whether every ref returned since `lookUp` still means the same. */
  isCurrent(): boolean {
    return (
      (this.#shapeVersion & 1) === 0 &&
      (this.#clusterVersion & 1) === 0 &&
      this.#shapeKeys.version === this.#shapeVersion &&
      this.#clusters.version === this.#clusterVersion
    );
  }

  /** The inventory's ref of a shape of the listing; 0 if the inventory lacks it. */
  shapeRef(shape: number): number {
    return this.#shapeRefs[shape]!;
  }

  /** The inventory's ref of a cluster, which is a string of the listing; 0 if the inventory lacks it. */
  clusterRef(text: number): number {
    const known = this.#clusterRefs[text]!;
    if (known !== NOT_LOOKED_UP) return known;
    const { bytes, strings } = this.#batch!;
    const ref = this.#clusters.findBytes(bytes, startOf(strings, text), endOf(strings, text));
    this.#clusterRefs[text] = ref;
    return ref;
  }
}
