/**
 * Interned, reference-counted strings in shared memory. Equal strings have equal refs, so the rest of the shard
 * compares integers; when no row uses a string any more, its ref and its bytes are used again. 640,000 names in a
 * JavaScript Map cost 157 MB and 136 ms of every full collection; here they cost about 45 bytes each and no time.
 *
 *   part           bytes            content
 *   key table      10 + 4 an entry  buckets and addresses (key-table.ts)
 *   arena          length + 1…4     the UTF-8 bytes (byte-arena.ts)
 *   references     4 an entry       u32: how many rows use it; of a free ref: the next free ref
 *   owners         2 an entry       u16: who brought it first (table-shares.ts); only where several share the table
 *
 * Ref 0 is the empty string, or none; it is not counted. Refs are dense and start at 1; the ref freed last is used
 * first. Capacity is fixed at creation: pages that were never touched cost nothing, and no entry ever moves.
 *
 * T4: a table may have a limit on the length of a text. It holds a longer one as its digest, so that full text and digest
 * have one ref. Needs keep the whole text beside it (`internWhole`): then `get` and `compare` use that.
 *
 * One thread writes. `attach` gives another thread `find`, `get` and `equals`, each consistent in itself. A ref that
 * such a thread took from a row is valid only with the row's generation, which it checks after using the ref.
 */
import { assert } from './assert.ts';
import { ByteArena } from './byte-arena.ts';
import { digestText, isDigestText } from './digest-text.ts';
import { compareBytewise } from './dimensions.ts';
import { ShardError } from './errors.ts';
import { hashBytes } from './hash.ts';
import { KeyTable, type SharedKeyTable } from './key-table.ts';
import { type SharedAmong, TableShares } from './table-shares.ts';
import { Utf8Scratch } from './utf8.ts';
import { WholeTexts } from './whole-texts.ts';

export interface StringTableOptions {
  readonly entriesMax: number;
  readonly bytesMax: number;
  /** What the strings are, for messages. */
  readonly name: string;
  /** T4: a longer text is held as its digest. Default: texts of any length are held as they are. */
  readonly textBytesMax?: number;
}

/** A table's strings with their refs, for an image (image.ts). */
export interface StringImage {
  readonly name: string;
  readonly addresses: Uint32Array;
  readonly arena: Uint8Array;
  readonly textBytesMax: number;
  readonly wholeRefs: readonly number[];
  readonly wholeTexts: readonly string[];
}

export interface SharedStringTable {
  readonly name: string;
  readonly keys: SharedKeyTable;
}

/** Room for the few strings that a decision on a restored table interns. */
const RESTORED_SPARE = 16_384;
const RESTORED_SPARE_BYTES = 64;
/** References of each restored string: an image does not have them, and more than any part releases. */
const PINNED = 2 ** 30;

export class StringTableFullError extends ShardError {
  readonly code = 'string_table_full';
  readonly next = 'reject-input';

  constructor(name: string, what: string, limit: number) {
    super(
      `The table of ${name} is full: all ${limit} ${what} are in use. ` +
        'The shard refused the input that needs a new entry and changed nothing. Start it with a larger limit.',
    );
  }
}

export class StringTable {
  readonly name: string;
  readonly entriesMax: number;
  readonly #keys: KeyTable;
  readonly #textBytesMax: number;
  readonly #wholes = new WholeTexts();
  /** Undefined in a thread that only reads. */
  readonly #references: Uint32Array | undefined;
  readonly #scratch = new Utf8Scratch();
  #shares: TableShares | null = null;
  #owners = new Uint16Array(0);
  #freeRef = 0;
  #refLimit = 1;
  #count = 0;

  private constructor(name: string, keys: KeyTable, isWriter: boolean, textBytesMax = Infinity) {
    this.name = name;
    this.#textBytesMax = textBytesMax;
    this.entriesMax = keys.entriesMax;
    this.#keys = keys;
    if (isWriter) this.#references = new Uint32Array(keys.entriesMax + 1);
  }

  static create(options: StringTableOptions): StringTable {
    const keys = KeyTable.create(options.entriesMax, options.bytesMax);
    return new StringTable(options.name, keys, true, options.textBytesMax);
  }

  /** For `find`, `findBytes`, `equalsBytes` and `get` in another thread, where a long text is its digest. */
  static attach(shared: SharedStringTable): StringTable {
    return new StringTable(shared.name, KeyTable.attach(shared.keys), false);
  }

  /** Views of what the table holds now. */
  image(): StringImage {
    const { refs, texts } = this.#wholes.image();
    return {
      name: this.name,
      addresses: this.#keys.addressesBelow(this.#refLimit),
      arena: this.#keys.arena.touched,
      textBytesMax: this.#textBytesMax,
      wholeRefs: refs,
      wholeTexts: texts,
    };
  }

  /** A table with the same strings under the same refs, which it never frees, and room for more. */
  static restore(image: StringImage, spareEntries = RESTORED_SPARE): StringTable {
    const { name, addresses, arena } = image;
    const spareBytes = spareEntries * RESTORED_SPARE_BYTES;
    const keys = KeyTable.restore(addresses, ByteArena.restore(arena, spareBytes), spareEntries);
    const table = new StringTable(name, keys, true, image.textBytesMax);
    table.#refLimit = addresses.length;
    for (let ref = 1; ref < addresses.length; ref++) {
      if (addresses[ref] === 0) continue;
      table.#references![ref] = PINNED;
      table.#count++;
    }
    for (const [index, ref] of image.wholeRefs.entries()) {
      const text = image.wholeTexts[index]!;
      table.#wholes.use(ref, text, table.#scratch.write(text));
    }
    return table;
  }

  share(): SharedStringTable {
    return { name: this.name, keys: this.#keys.share() };
  }

  /** T1: from now on each provider has a part of the table, and demand has one of `demandReserve`. */
  shareAmong(among: SharedAmong, demandReserve = 0): void {
    const { name, entriesMax, bytesMax } = this;
    this.#shares = TableShares.create({ name, entriesMax, bytesMax }, among, demandReserve);
    this.#owners = new Uint16Array(this.#shares === null ? 0 : entriesMax + 1);
  }

  /** What the providers brought; null if they do not share the table. */
  get shares(): TableShares | null {
    return this.#shares;
  }

  /** Distinct strings held. */
  get count(): number {
    return this.#count;
  }

  /** The key table's version: while it is even and unchanged, refs stay valid. Readers may use it too. */
  get version(): number {
    return this.#keys.version;
  }

  /** Every ref in use is below this. */
  get refLimit(): number {
    return this.#refLimit;
  }

  get bytesUsed(): number {
    return this.#keys.arena.bytesUsed;
  }

  /** Room for the bytes of all strings, and as much again for whole texts. */
  get bytesMax(): number {
    return this.#keys.arena.bytes.length;
  }

  /** Bytes of memory that the table has touched. */
  get bytesTouched(): number {
    if (this.#refLimit === 1) return 0;
    return this.#keys.bytesTouched(this.#refLimit) + this.#refLimit * 4 + this.#wholes.bytes;
  }

  /**
   * The ref of a string, with one more reference to it. That of a long one is the ref of its digest. A new one counts for its
   * owner (`ownerOf`); throws a TableShareError.
   */
  intern(text: string, owner = 0): number {
    const end = this.#scratch.write(text);
    return this.internBytes(this.#scratch.bytes, 0, end, owner);
  }

  internBytes(bytes: Uint8Array, start: number, end: number, owner = 0): number {
    if (start === end) return 0;
    if (end - start > this.#textBytesMax) return this.intern(digestText(bytes, start, end), owner);
    const references = this.#writable();
    const hash = hashBytes(bytes, start, end);
    const known = this.#keys.find(hash, bytes, start, end);
    if (known !== 0) {
      references[known]!++;
      return known;
    }
    const ref = this.#freeRef === 0 ? this.#refLimit : this.#freeRef;
    this.#shares?.admit(owner, end - start, this.#count, this.bytesUsed);
    if (ref > this.entriesMax) throw new StringTableFullError(this.name, 'entries', this.entriesMax);
    if (!this.#keys.add(ref, hash, bytes, start, end)) {
      throw new StringTableFullError(this.name, 'bytes', this.#keys.arena.bytes.length);
    }
    if (this.#freeRef === 0) this.#refLimit++;
    else this.#freeRef = references[ref]!;
    references[ref] = 1;
    this.#count++;
    if (this.#shares !== null && owner !== 0) {
      this.#owners[ref] = owner;
      this.#shares.charge(owner, end - start);
    }
    return ref;
  }

  /** The same, and keeps the whole text for `get` and `compare` until `releaseWhole`. */
  internWhole(text: string): number {
    const ref = this.intern(text);
    if (text.length <= this.#textBytesMax / 3) return ref; // a UTF-16 unit is at most three bytes
    try {
      this.#keepWhole(ref, text);
    } catch (error) {
      this.release(ref);
      throw error;
    }
    return ref;
  }

  /** One more reference to the string, and to its whole text. */
  retainWhole(ref: number): void {
    this.retain(ref);
    if (this.#wholes.count > 0) this.#wholes.retain(ref);
  }

  releaseWhole(ref: number): void {
    if (this.#wholes.count > 0) this.#wholes.release(ref);
    this.release(ref);
  }

  /** The ref of a string, 0 if it is not held; takes no reference. */
  find(text: string): number {
    const end = this.#scratch.write(text);
    return this.findBytes(this.#scratch.bytes, 0, end);
  }

  findBytes(bytes: Uint8Array, start: number, end: number): number {
    if (start === end) return 0;
    if (end - start > this.#textBytesMax) return this.find(digestText(bytes, start, end));
    return this.#keys.find(hashBytes(bytes, start, end), bytes, start, end);
  }

  /** Whether a ref stands for exactly these bytes, without a look-up. */
  equalsBytes(ref: number, bytes: Uint8Array, start: number, end: number): boolean {
    return ref === 0 ? start === end : this.#keys.equals(ref, bytes, start, end);
  }

  retain(ref: number): void {
    if (ref === 0) return;
    assert(this.#isHeld(ref), 'only a held string is retained');
    this.#writable()[ref]!++;
  }

  release(ref: number): void {
    if (ref === 0) return;
    assert(this.#isHeld(ref), 'only a held string is released');
    const references = this.#writable();
    if (--references[ref]! > 0) return;
    if (this.#shares !== null && this.#owners[ref] !== 0) {
      this.#shares.refund(this.#owners[ref]!, this.byteLength(ref));
      this.#owners[ref] = 0;
    }
    this.#keys.remove(ref);
    references[ref] = this.#freeRef;
    this.#freeRef = ref;
    this.#count--;
  }

  /** The text; of a long one the whole text if a need has it, else the digest. */
  get(ref: number): string {
    const whole = this.#wholes.count === 0 ? undefined : this.#wholes.get(ref);
    return whole ?? this.shortText(ref);
  }

  /** The text as it is written on machines: of a long one the digest. */
  shortText(ref: number): string {
    return ref === 0 ? '' : this.#keys.textOf(ref);
  }

  /** A text as the table would hold it: a long one as its digest. */
  shortened(text: string): string {
    const end = this.#scratch.write(text);
    return end > this.#textBytesMax ? digestText(this.#scratch.bytes, 0, end) : text;
  }

  /** Whether a text names the string: as it is, or by its digest. */
  isNamed(ref: number, text: string): boolean {
    return this.get(ref) === text || (isDigestText(text) && this.shortText(ref) === text);
  }

  /** Bytewise (UTF-8) order of two refs, without decoding. The writer's thread only. */
  compare(refA: number, refB: number): number {
    if (refA === refB) return 0;
    if (this.#wholes.count === 0) return this.#keys.compare(refA, refB);
    const isShort = this.#wholes.get(refA) === undefined && this.#wholes.get(refB) === undefined;
    return isShort ? this.#keys.compare(refA, refB) : compareBytewise(this.get(refA), this.get(refB));
  }

  referenceCount(ref: number): number {
    return this.#isHeld(ref) ? this.#writable()[ref]! : 0;
  }

  /** Copies a ref's bytes to `out` at `at`; returns the end. The writer's thread only. */
  copyBytes(ref: number, out: Uint8Array, at: number): number {
    if (ref === 0) return at;
    const { arena } = this.#keys;
    const address = this.#keys.addressOf(ref);
    const start = arena.startOf(address);
    const length = arena.lengthOf(address);
    out.set(arena.bytes.subarray(start, start + length), at);
    return at + length;
  }

  byteLength(ref: number): number {
    return ref === 0 ? 0 : this.#keys.arena.lengthOf(this.#keys.addressOf(ref));
  }

  /** The same of the whole text, if a need has it. */
  wholeByteLength(ref: number): number {
    const whole = this.#wholes.count === 0 ? undefined : this.#wholes.byteLength(ref);
    return whole ?? this.byteLength(ref);
  }

  #keepWhole(ref: number, text: string): void {
    const bytes = this.#scratch.write(text);
    if (bytes <= this.#textBytesMax) return;
    if (this.#wholes.get(ref) === undefined && this.#wholes.bytes + bytes > this.bytesMax) {
      throw new StringTableFullError(this.name, 'bytes of long texts', this.bytesMax);
    }
    this.#wholes.use(ref, text, bytes);
  }

  #isHeld(ref: number): boolean {
    return ref > 0 && ref < this.#refLimit && this.#keys.addressOf(ref) !== 0;
  }

  #writable(): Uint32Array {
    assert(this.#references !== undefined, 'a table attached in another thread is only read');
    return this.#references;
  }
}
