/**
 * A shared buffer from which byte blocks are allocated and given back. Half a million ids, hosts and names
 * as JavaScript strings would be work for every garbage collection; here they are bytes that nobody traces.
 *
 * The arena is addressed in words of 4 bytes, so that a u32 reaches 16 GiB. Word 0 is never allocated: an
 * address of 0 means "none". A block holds one run of bytes behind its length:
 *
 *   bytes     meaning
 *   1         length, if below 255                    255 in this byte: the length is in the next four
 *   (4)       length, little endian, if the first byte is 255
 *   length    the bytes
 *   …         unused, up to the block's size class
 *
 * Size classes: every word count up to 32 words, then eight steps to each doubling, so at most an eighth of a
 * block is unused. A freed block goes to its class's free list, whose links are kept in the freed blocks; a
 * class that has none takes a larger class's block and splits it. Blocks are never joined again: callers
 * choose the size for the mix they expect, and pages that were never touched cost nothing.
 *
 * One thread allocates and frees. Other threads read under their caller's version check (key-table.ts).
 */
import { assert } from './assert.ts';

const WORD_BYTES = 4;
/** Up to here every word count is a class of its own. */
const EXACT_WORDS = 32;
const STEPS_PER_DOUBLING = 8;
/** 32 words × 2^25 = 4 GiB, more than one block will ever be. */
const CLASS_COUNT = EXACT_WORDS + 1 + STEPS_PER_DOUBLING * 25;
const LONG = 255;

export class ByteArena {
  /** What other threads need to read the blocks. */
  readonly buffer: SharedArrayBuffer;
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  readonly #words: Uint32Array<SharedArrayBuffer>;
  readonly #freeHeads = new Uint32Array(CLASS_COUNT);
  /** First word that was never allocated. */
  #freshWord = 1;
  #wordsUsed = 0;
  #text: Buffer | undefined;

  constructor(buffer: SharedArrayBuffer) {
    assert(buffer.byteLength % WORD_BYTES === 0, 'an arena is a whole number of words');
    this.buffer = buffer;
    this.bytes = new Uint8Array(buffer);
    this.#words = new Uint32Array(buffer);
  }

  static create(bytesMax: number): ByteArena {
    return new ByteArena(new SharedArrayBuffer(Math.ceil(bytesMax / WORD_BYTES) * WORD_BYTES + WORD_BYTES));
  }

  /** Bytes in allocated blocks, with their length bytes and unused ends. */
  get bytesUsed(): number {
    return this.#wordsUsed * WORD_BYTES;
  }

  /** Bytes that were ever touched: what the arena costs in memory. */
  get bytesTouched(): number {
    return this.#freshWord * WORD_BYTES;
  }

  /** Copies a run of bytes into a block of its own; 0 if there is no room (nothing changed then). */
  store(source: Uint8Array, start: number, end: number): number {
    const length = end - start;
    const address = this.#allocate(wordsFor(length));
    if (address === 0) return 0;
    const { bytes } = this;
    let at = address * WORD_BYTES;
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
    const sizeClass = classOf(wordsFor(this.lengthOf(address)));
    this.#wordsUsed -= wordsOfClass(sizeClass);
    this.#pushFree(address, sizeClass);
  }

  lengthOf(address: number): number {
    const { bytes } = this;
    const at = address * WORD_BYTES;
    const short = bytes[at]!;
    if (short !== LONG) return short;
    return (bytes[at + 1]! | (bytes[at + 2]! << 8) | (bytes[at + 3]! << 16) | (bytes[at + 4]! << 24)) >>> 0;
  }

  /** Where the run begins in `bytes`. */
  startOf(address: number): number {
    const at = address * WORD_BYTES;
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

  #allocate(words: number): number {
    const sizeClass = classOf(words);
    const size = wordsOfClass(sizeClass);
    let address = this.#freeHeads[sizeClass]!;
    if (address !== 0) {
      this.#freeHeads[sizeClass] = this.#words[address]!;
    } else if (this.#freshWord + size <= this.#words.length) {
      address = this.#freshWord;
      this.#freshWord += size;
    } else {
      address = this.#splitLarger(sizeClass);
      if (address === 0) return 0;
    }
    this.#wordsUsed += size;
    return address;
  }

  /** Only when fresh words ran out: cuts the wanted size off a larger free block. */
  #splitLarger(sizeClass: number): number {
    const size = wordsOfClass(sizeClass);
    for (let larger = sizeClass + 1; larger < CLASS_COUNT; larger++) {
      const address = this.#freeHeads[larger]!;
      if (address === 0) continue;
      this.#freeHeads[larger] = this.#words[address]!;
      let rest = address + size;
      let restWords = wordsOfClass(larger) - size;
      while (restWords > 0) {
        const piece = classBelow(restWords);
        this.#pushFree(rest, piece);
        rest += wordsOfClass(piece);
        restWords -= wordsOfClass(piece);
      }
      return address;
    }
    return 0;
  }

  #pushFree(address: number, sizeClass: number): void {
    this.#words[address] = this.#freeHeads[sizeClass]!;
    this.#freeHeads[sizeClass] = address;
  }
}

function wordsFor(length: number): number {
  return ((length + (length < LONG ? 1 : 5) + 3) / WORD_BYTES) | 0;
}

/** The smallest class that holds so many words. */
function classOf(words: number): number {
  if (words <= EXACT_WORDS) return words;
  const doubling = 26 - Math.clz32(words - 1); // 33…64 words: 0, 65…128: 1, …
  const base = EXACT_WORDS * 2 ** doubling;
  return (
    EXACT_WORDS + doubling * STEPS_PER_DOUBLING + Math.ceil(((words - base) * STEPS_PER_DOUBLING) / base)
  );
}

function wordsOfClass(sizeClass: number): number {
  if (sizeClass <= EXACT_WORDS) return sizeClass;
  const step = sizeClass - EXACT_WORDS - 1;
  const base = EXACT_WORDS * 2 ** Math.floor(step / STEPS_PER_DOUBLING);
  return base + (base / STEPS_PER_DOUBLING) * ((step % STEPS_PER_DOUBLING) + 1);
}

/** The largest class that so many words hold. */
function classBelow(words: number): number {
  const sizeClass = classOf(words);
  return wordsOfClass(sizeClass) === words ? sizeClass : sizeClass - 1;
}
