/**
 * Inventory columns: one fixed-width row per machine, all rows in one SharedArrayBuffer. A decision from scratch scans the
 * whole fleet; as objects that would be garbage-collector work, as columns it is sequential reads, and a worker can read a
 * row without a copy. `cap` is the row capacity: machinesMax + 1 (slot 0 = none), rounded up to 8.
 *
 *   offset         bytes   column                   unit, meaning
 *   0              4       magic                    refuses a foreign or older buffer
 *   4              4       rowCapacity              rows, fixed at creation, multiple of 8
 *   8              4       slotLimit                i32, Atomics only: every slot that was ever used is below
 *   12             52      unused                   so that columns begin on a cache line
 *                          hot, 64 bytes a machine
 *   64 +  0·cap    8·cap   pricePerHourUsd          f64, USD per hour, ≥ 0
 *   64 +  8·cap    8·cap   interruptionProbability  f64, in [0, 1]
 *   64 + 16·cap    16·cap  core                     the fields of every transition, see Core: u32 generation
 *                                                   (row-generation.ts); u32 shape and u16 cluster, again; i48
 *                                                   stateSinceMs, whole ms since the epoch: when the shard saw the
 *                                                   machine enter its state
 *   64 + 32·cap    4·cap   shapePosition            u32, index in the list of its shape (slot-lists.ts)
 *   64 + 36·cap    4·cap   clusterPosition          u32, index in the list of its cluster
 *   64 + 40·cap    4·cap   shape                    u32, ref in the shape table
 *   64 + 44·cap    4·cap   need                     u32, ref of the assigned fingerprint, 0 = none
 *   64 + 48·cap    4·cap   group                    u32, ref of the assigned group, 0 = none
 *   64 + 52·cap    4·cap   priority                 i32, assigned
 *   64 + 56·cap    2·cap   cluster                  u16, ref in the cluster table, 0 = bound to none
 *   64 + 58·cap    2·cap   instanceType             u16, ref in the instance type table
 *   64 + 60·cap    1·cap   state                    u8, MachineState, 0 = empty slot
 *   64 + 61·cap    1·cap   capacityType             u8, CapacityType
 *   64 + 62·cap    1·cap   interruptionPenalty      u8, assigned bucket
 *   64 + 63·cap    1·cap   reclamationPenalty       u8, assigned bucket
 *                          cold, 20 bytes a machine
 *   64 + 64·cap    4·cap   idRank                   u32, orders as the ids do bytewise; 0 = not ranked yet (id-ranks.ts)
 *   64 + 68·cap    4·cap   host                     u32, address in the host arena, 0 = no host
 *   64 + 72·cap    4·cap   lastError                u32, ref in the text table, 0 = none
 *   64 + 76·cap    4·cap   ownLabels                u32, ref in the text table, 0 = none
 *   64 + 80·cap    2·cap   flags                    u16, bits of Flag
 *   64 + 82·cap    1·cap   provider                 u8, index of the configured provider that listed it
 *   64 + 83·cap    1·cap   intent                   u8, Intent: the action enqueued for it
 *
 * Widest first, so all are aligned and none is padded. The core of a row is contiguous because a transition needs all of
 * it, and most of its time is waiting for memory. The main thread alone writes.
 *
 * Another thread trusts a row only between two equal, even reads of its generation (base/seqlock.ts). The generation does
 * not cover the shape in the core, the positions and idRank: only the main thread reads them.
 */
import { assert } from '../base/assert.ts';

const MAGIC = 0x464c5434; // "FLT4"
const HEADER_BYTES = 64;
const SLOT_LIMIT_WORD = 2;
export const HOT_BYTES_PER_ROW = 64;
export const COLD_BYTES_PER_ROW = 20;

/** Words of a row's core. */
export const Core = {
  Generation: 0,
  Shape: 1,
  /** The lower 32 bits of stateSinceMs … */
  SinceLow: 2,
  /** … and its upper 16, below 16 bits of cluster. */
  SinceHighAndCluster: 3,
} as const;
export const CORE_WORDS = 4;
const CLUSTER_SHIFT = 16;
const SINCE_HIGH_MASK = 2 ** CLUSTER_SHIFT - 1;

/** The columns that a decision reads, 66 of the 84 bytes. */
export interface ColumnsImage {
  readonly pricePerHourUsd: Float64Array;
  readonly interruptionProbability: Float64Array;
  readonly core: Uint32Array;
  readonly shape: Uint32Array;
  readonly need: Uint32Array;
  readonly group: Uint32Array;
  readonly priority: Int32Array;
  readonly cluster: Uint16Array;
  readonly state: Uint8Array;
  readonly capacityType: Uint8Array;
  readonly interruptionPenalty: Uint8Array;
  readonly reclamationPenalty: Uint8Array;
  readonly idRank: Uint32Array;
  readonly ownLabels: Uint32Array;
  readonly provider: Uint8Array;
  readonly intent: Uint8Array;
  readonly flags: Uint16Array;
}

type Shared<T> = T & { readonly buffer: SharedArrayBuffer };

export class InventoryColumns {
  readonly buffer: SharedArrayBuffer;
  readonly rowCapacity: number;
  readonly #header: Int32Array;
  readonly pricePerHourUsd: Shared<Float64Array>;
  readonly interruptionProbability: Shared<Float64Array>;
  /** Four words a row: index slot × CORE_WORDS + Core.… */
  readonly core: Shared<Uint32Array>;
  readonly shapePosition: Shared<Uint32Array>;
  readonly clusterPosition: Shared<Uint32Array>;
  readonly shape: Shared<Uint32Array>;
  readonly need: Shared<Uint32Array>;
  readonly group: Shared<Uint32Array>;
  readonly priority: Shared<Int32Array>;
  readonly cluster: Shared<Uint16Array>;
  readonly instanceType: Shared<Uint16Array>;
  readonly state: Shared<Uint8Array>;
  readonly capacityType: Shared<Uint8Array>;
  readonly interruptionPenalty: Shared<Uint8Array>;
  readonly reclamationPenalty: Shared<Uint8Array>;
  readonly idRank: Shared<Uint32Array>;
  readonly host: Shared<Uint32Array>;
  readonly lastError: Shared<Uint32Array>;
  readonly ownLabels: Shared<Uint32Array>;
  readonly flags: Shared<Uint16Array>;
  readonly provider: Shared<Uint8Array>;
  readonly intent: Shared<Uint8Array>;

  private constructor(buffer: SharedArrayBuffer) {
    const header = new Int32Array(buffer, 0, HEADER_BYTES / 4);
    const rowCapacity = header[1]!;
    assert(header[0] === MAGIC && buffer.byteLength === bytesFor(rowCapacity), 'not an inventory buffer');
    this.buffer = buffer;
    this.rowCapacity = rowCapacity;
    this.#header = header;
    let offset = HEADER_BYTES;
    const next = (bytes: number) => {
      const at = offset;
      offset += bytes * rowCapacity;
      return at;
    };
    this.pricePerHourUsd = new Float64Array(buffer, next(8), rowCapacity);
    this.interruptionProbability = new Float64Array(buffer, next(8), rowCapacity);
    const coreStart = next(4 * CORE_WORDS);
    this.core = new Uint32Array(buffer, coreStart, CORE_WORDS * rowCapacity);
    this.shapePosition = new Uint32Array(buffer, next(4), rowCapacity);
    this.clusterPosition = new Uint32Array(buffer, next(4), rowCapacity);
    this.shape = new Uint32Array(buffer, next(4), rowCapacity);
    this.need = new Uint32Array(buffer, next(4), rowCapacity);
    this.group = new Uint32Array(buffer, next(4), rowCapacity);
    this.priority = new Int32Array(buffer, next(4), rowCapacity);
    this.cluster = new Uint16Array(buffer, next(2), rowCapacity);
    this.instanceType = new Uint16Array(buffer, next(2), rowCapacity);
    this.state = new Uint8Array(buffer, next(1), rowCapacity);
    this.capacityType = new Uint8Array(buffer, next(1), rowCapacity);
    this.interruptionPenalty = new Uint8Array(buffer, next(1), rowCapacity);
    this.reclamationPenalty = new Uint8Array(buffer, next(1), rowCapacity);
    assert(offset === HEADER_BYTES + HOT_BYTES_PER_ROW * rowCapacity, 'hot columns are 64 bytes a machine');
    this.idRank = new Uint32Array(buffer, next(4), rowCapacity);
    this.host = new Uint32Array(buffer, next(4), rowCapacity);
    this.lastError = new Uint32Array(buffer, next(4), rowCapacity);
    this.ownLabels = new Uint32Array(buffer, next(4), rowCapacity);
    this.flags = new Uint16Array(buffer, next(2), rowCapacity);
    this.provider = new Uint8Array(buffer, next(1), rowCapacity);
    this.intent = new Uint8Array(buffer, next(1), rowCapacity);
    assert(offset === buffer.byteLength, 'the columns fill the buffer');
  }

  static create(machinesMax: number): InventoryColumns {
    const rowCapacity = Math.ceil((machinesMax + 1) / 8) * 8;
    const buffer = new SharedArrayBuffer(bytesFor(rowCapacity));
    new Int32Array(buffer, 0, 3).set([MAGIC, rowCapacity, 1]);
    return new InventoryColumns(buffer);
  }

  /** For another thread, or over a copy. */
  static open(buffer: SharedArrayBuffer): InventoryColumns {
    return new InventoryColumns(buffer);
  }

  /** Exclusive: scans run from slot 1 to here. */
  get slotLimit(): number {
    return Atomics.load(this.#header, SLOT_LIMIT_WORD);
  }

  set slotLimit(limit: number) {
    Atomics.store(this.#header, SLOT_LIMIT_WORD, limit);
  }

  /** Milliseconds since the epoch: when the shard saw the machine enter its state. */
  stateSinceMsOf(slot: number): number {
    const word = slot * CORE_WORDS;
    const high = (this.core[word + Core.SinceHighAndCluster]! << CLUSTER_SHIFT) >> CLUSTER_SHIFT; // with its sign
    return high * 2 ** 32 + this.core[word + Core.SinceLow]!;
  }

  writeStateSinceMs(slot: number, sinceMs: number): void {
    const word = slot * CORE_WORDS;
    const wholeMs = Math.ceil(sinceMs); // up: no hold ends early
    const high = Math.floor(wholeMs / 2 ** 32);
    this.core[word + Core.SinceLow] = wholeMs; // modulo 2^32, as a u32 is written
    this.core[word + Core.SinceHighAndCluster] =
      (this.core[word + Core.SinceHighAndCluster]! & ~SINCE_HIGH_MASK) | (high & SINCE_HIGH_MASK);
  }

  /** The cluster, from the core: for callers that read the core anyway. */
  coreClusterOf(slot: number): number {
    return this.core[slot * CORE_WORDS + Core.SinceHighAndCluster]! >>> CLUSTER_SHIFT;
  }

  writeCluster(slot: number, cluster: number): void {
    const word = slot * CORE_WORDS + Core.SinceHighAndCluster;
    this.cluster[slot] = cluster;
    this.core[word] = (cluster << CLUSTER_SHIFT) | (this.core[word]! & SINCE_HIGH_MASK);
  }

  /** The rows as they are now, in a buffer of their own with no room for more. Main thread only. */
  copy(): InventoryColumns {
    const { slotLimit } = this;
    const copy = InventoryColumns.create(slotLimit - 1);
    copy.slotLimit = slotLimit;
    const from = this.#all();
    copy.#all().forEach((column, index) => {
      const valuesPerRow = column === copy.core ? CORE_WORDS : 1;
      column.set(from[index]!.subarray(0, slotLimit * valuesPerRow));
    });
    return copy;
  }

  /** Views of the columns that a decision reads, for an image (base/image.ts). */
  image(): ColumnsImage {
    const rows = this.slotLimit;
    return {
      pricePerHourUsd: this.pricePerHourUsd.subarray(0, rows),
      interruptionProbability: this.interruptionProbability.subarray(0, rows),
      core: this.core.subarray(0, rows * CORE_WORDS),
      shape: this.shape.subarray(0, rows),
      need: this.need.subarray(0, rows),
      group: this.group.subarray(0, rows),
      priority: this.priority.subarray(0, rows),
      cluster: this.cluster.subarray(0, rows),
      state: this.state.subarray(0, rows),
      capacityType: this.capacityType.subarray(0, rows),
      interruptionPenalty: this.interruptionPenalty.subarray(0, rows),
      reclamationPenalty: this.reclamationPenalty.subarray(0, rows),
      idRank: this.idRank.subarray(0, rows),
      ownLabels: this.ownLabels.subarray(0, rows),
      provider: this.provider.subarray(0, rows),
      intent: this.intent.subarray(0, rows),
      flags: this.flags.subarray(0, rows),
    };
  }

  /** Copies the rows of an image into this buffer; there must be room for them. */
  restore(image: ColumnsImage): void {
    this.pricePerHourUsd.set(image.pricePerHourUsd);
    this.interruptionProbability.set(image.interruptionProbability);
    this.core.set(image.core);
    this.shape.set(image.shape);
    this.need.set(image.need);
    this.group.set(image.group);
    this.priority.set(image.priority);
    this.cluster.set(image.cluster);
    this.state.set(image.state);
    this.capacityType.set(image.capacityType);
    this.interruptionPenalty.set(image.interruptionPenalty);
    this.reclamationPenalty.set(image.reclamationPenalty);
    this.idRank.set(image.idRank);
    this.ownLabels.set(image.ownLabels);
    this.provider.set(image.provider);
    this.intent.set(image.intent);
    this.flags.set(image.flags);
    this.slotLimit = image.state.length;
  }

  #all() {
    return [
      this.pricePerHourUsd,
      this.interruptionProbability,
      this.core,
      this.shapePosition,
      this.clusterPosition,
      this.shape,
      this.need,
      this.group,
      this.priority,
      this.cluster,
      this.instanceType,
      this.state,
      this.capacityType,
      this.interruptionPenalty,
      this.reclamationPenalty,
      this.idRank,
      this.host,
      this.lastError,
      this.ownLabels,
      this.provider,
      this.intent,
      this.flags,
    ];
  }
}

function bytesFor(rowCapacity: number): number {
  return HEADER_BYTES + (HOT_BYTES_PER_ROW + COLD_BYTES_PER_ROW) * rowCapacity;
}
