/**
 * Allocates and frees byte blocks in one shared buffer. Half a million ids, hosts and names as JavaScript strings
 * would cost time in every garbage collection; here they are bytes that the collector does not trace.
 *
 * Addresses count units of 2 bytes, so that a u32 reaches 8 GiB and little is lost to rounding. The first
 * unit is never allocated: an address of 0 means "none". A block holds one run of bytes behind its length:
 *
 *   bytes     meaning
 *   1         length, if below 255                    255 in this byte: the length is in the next four
 *   (4)       length, little endian, if the first byte is 255
 *   length    the bytes
 *   …         unused, up to the block's size class
 *
 * Size classes: every unit count from 2 to 64, then eight steps to each doubling, so at most an eighth of a
 * block is unused. A freed block goes to its class's free list, whose links are kept in the freed blocks; when
 * untouched units run out, a class without free blocks splits one of a larger class. Blocks are never joined
 * again: callers size the arena for the mix they expect, and pages that were never touched cost nothing.
 *
 * One thread allocates and frees. Other threads read under their caller's version check (key-table.ts).
 */
import { assert } from './assert.ts';

const UNIT_BYTES = 2;
/** A free block holds the address of the next one: 4 bytes. */
const UNITS_MIN = 2;
/** Up to here every unit count is a class of its own. */
const EXACT_UNITS = 64;
const STEPS_PER_DOUBLING = 8;
/** 64 units × 2^24 = 2 GiB, more than one block will ever be. */
const CLASS_COUNT = EXACT_UNITS + 1 + STEPS_PER_DOUBLING * 24;
const LONG = 255;

export class ByteArena {
  /** Other threads open the arena over this. */
  readonly buffer: SharedArrayBuffer;
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  readonly #units: Uint16Array<SharedArrayBuffer>;
  readonly #freeHeads = new Uint32Array(CLASS_COUNT);
  /** First unit that was never allocated. */
  #untouchedUnit = 1;
  #unitsUsed = 0;
  #text: Buffer | undefined;

  constructor(buffer: SharedArrayBuffer) {
    assert(buffer.byteLength % UNIT_BYTES === 0, 'an arena is a whole number of units');
    this.buffer = buffer;
    this.bytes = new Uint8Array(buffer);
    this.#units = new Uint16Array(buffer);
  }

  static create(bytesMax: number): ByteArena {
    return new ByteArena(new SharedArrayBuffer(Math.ceil(bytesMax / UNIT_BYTES) * UNIT_BYTES + UNIT_BYTES));
  }

  /** An arena that begins with a copy of another arena's touched bytes; blocks that were free there stay unused. */
  static restore(touched: Uint8Array, spareBytes: number): ByteArena {
    const arena = ByteArena.create(touched.length + spareBytes);
    arena.bytes.set(touched);
    arena.#untouchedUnit = touched.length / UNIT_BYTES;
    return arena;
  }

  /** Every byte that was ever allocated. */
  get touched(): Uint8Array {
    return this.bytes.subarray(0, this.bytesTouched);
  }

  /** Bytes in allocated blocks, with their length bytes and unused ends. */
  get bytesUsed(): number {
    return this.#unitsUsed * UNIT_BYTES;
  }

  /** Bytes that were ever allocated: the memory that the arena costs. */
  get bytesTouched(): number {
    return this.#untouchedUnit * UNIT_BYTES;
  }

  /** Copies a run of bytes into a block of its own; 0, and no change, if there is no room. */
  store(source: Uint8Array, start: number, end: number): number {
    const length = end - start;
    const address = this.#allocate(unitsFor(length));
    if (address === 0) return 0;
    const { bytes } = this;
    let at = address * UNIT_BYTES;
    if (length < LONG) {
      bytes[at++] = length;
    } else {
      bytes[at++] = LONG;
      for (let shift = 0; shift < 32; shift += 8) bytes[at++] = length >>> shift;
    }
    if (length < 64) for (let from = start; from < end; from++) bytes[at++] = source[from]!;
    else bytes.set(source.subarray(start, end), at);
    return address;
  }

  free(address: number): void {
    const sizeClass = classOf(unitsFor(this.lengthOf(address)));
    this.#unitsUsed -= unitsOfClass(sizeClass);
    this.#pushFree(address, sizeClass);
  }

  lengthOf(address: number): number {
    const { bytes } = this;
    const at = address * UNIT_BYTES;
    const short = bytes[at]!;
    if (short !== LONG) return short;
    return (bytes[at + 1]! | (bytes[at + 2]! << 8) | (bytes[at + 3]! << 16) | (bytes[at + 4]! << 24)) >>> 0;
  }

  /** Where the run begins in `bytes`. */
  startOf(address: number): number {
    const at = address * UNIT_BYTES;
    return this.bytes[at] === LONG ? at + 5 : at + 1;
  }

  textOf(address: number): string {
    const start = this.startOf(address);
    return this.decode(start, start + this.lengthOf(address));
  }

  /** The text of a range of `bytes`. */
  decode(start: number, end: number): string {
    this.#text ??= Buffer.from(this.buffer);
    return this.#text.toString('utf8', start, end);
  }

  equals(address: number, other: Uint8Array, start: number, end: number): boolean {
    const length = end - start;
    if (this.lengthOf(address) !== length) return false;
    const { bytes } = this;
    const own = this.startOf(address) - start;
    // Backwards: ids and names differ at their ends far more often than at their beginnings.
    for (let at = end - 1; at >= start; at--) if (bytes[own + at] !== other[at]) return false;
    return true;
  }

  /** Bytewise order: negative, 0 or positive. */
  compare(addressA: number, addressB: number): number {
    const { bytes } = this;
    const lengthA = this.lengthOf(addressA);
    const lengthB = this.lengthOf(addressB);
    const startA = this.startOf(addressA);
    const shift = this.startOf(addressB) - startA;
    const end = startA + Math.min(lengthA, lengthB);
    for (let at = startA; at < end; at++) {
      const difference = bytes[at]! - bytes[at + shift]!;
      if (difference !== 0) return difference;
    }
    return lengthA - lengthB;
  }

  #allocate(units: number): number {
    const sizeClass = classOf(units);
    const size = unitsOfClass(sizeClass);
    let address = this.#freeHeads[sizeClass]!;
    if (address !== 0) {
      this.#freeHeads[sizeClass] = this.#nextFree(address);
    } else if (this.#untouchedUnit + size <= this.#units.length) {
      address = this.#untouchedUnit;
      this.#untouchedUnit += size;
    } else {
      address = this.#splitLarger(sizeClass);
      if (address === 0) return 0;
    }
    this.#unitsUsed += size;
    return address;
  }

  /** Only when untouched units ran out: cuts the wanted size off a larger free block. */
  #splitLarger(sizeClass: number): number {
    const size = unitsOfClass(sizeClass);
    for (let larger = sizeClass + 1; larger < CLASS_COUNT; larger++) {
      const address = this.#freeHeads[larger]!;
      if (address === 0) continue;
      this.#freeHeads[larger] = this.#nextFree(address);
      let rest = address + size;
      let restUnits = unitsOfClass(larger) - size;
      // A single leftover unit is too small for a link; it is lost.
      while (restUnits >= UNITS_MIN) {
        const piece = classBelow(restUnits);
        this.#pushFree(rest, piece);
        rest += unitsOfClass(piece);
        restUnits -= unitsOfClass(piece);
      }
      return address;
    }
    return 0;
  }

  #nextFree(address: number): number {
    return (this.#units[address]! | (this.#units[address + 1]! << 16)) >>> 0;
  }

  #pushFree(address: number, sizeClass: number): void {
    const next = this.#freeHeads[sizeClass]!;
    this.#units[address] = next;
    this.#units[address + 1] = next >>> 16;
    this.#freeHeads[sizeClass] = address;
  }
}

function unitsFor(length: number): number {
  return Math.max(UNITS_MIN, (length + (length < LONG ? 1 : 5) + 1) >>> 1);
}

/** The smallest class that holds this many units. */
function classOf(units: number): number {
  if (units <= EXACT_UNITS) return units;
  const doubling = 25 - Math.clz32(units - 1); // 65…128 units: 0, 129…256: 1, …
  const base = EXACT_UNITS * 2 ** doubling;
  return (
    EXACT_UNITS + doubling * STEPS_PER_DOUBLING + Math.ceil(((units - base) * STEPS_PER_DOUBLING) / base)
  );
}

function unitsOfClass(sizeClass: number): number {
  if (sizeClass <= EXACT_UNITS) return sizeClass;
  const step = sizeClass - EXACT_UNITS - 1;
  const base = EXACT_UNITS * 2 ** Math.floor(step / STEPS_PER_DOUBLING);
  return base + (base / STEPS_PER_DOUBLING) * ((step % STEPS_PER_DOUBLING) + 1);
}

/** The largest class that fits in this many units. */
function classBelow(units: number): number {
  const sizeClass = classOf(units);
  return unitsOfClass(sizeClass) === units ? sizeClass : sizeClass - 1;
}
