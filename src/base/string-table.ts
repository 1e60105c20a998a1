/**
 * Interned, reference-counted strings in shared memory. Equal strings have equal refs, so the rest of the shard
 * compares integers; when no row uses a string any more, its ref and its bytes are used again. 640,000 names in a
 * JavaScript Map cost 157 MB and 136 ms of every full collection; here they cost about 45 bytes each and no time.
 *
 *   part           bytes            content
 *   key table      10 + 4 an entry  buckets and addresses (key-table.ts)
 *   arena          length + 1…4     the UTF-8 bytes (byte-arena.ts)
 *   references     4 an entry       u32: how many rows use it; of a free ref: the next free ref
 *
 * Ref 0 is the empty string, or none; it is not counted. Refs are dense and start at 1; the ref freed last is used
 * first. Capacity is fixed at creation: pages that were never touched cost nothing, and no entry ever moves.
 *
 * One thread writes. `attach` gives another thread `find`, `get` and `equals`, each consistent in itself. A ref that
 * such a thread took from a row is valid only with the row's generation, which it checks after using the ref.
 */
import { assert } from './assert.ts';
import { ByteArena } from './byte-arena.ts';
import { ShardError } from './errors.ts';
import { hashBytes } from './hash.ts';
import { KeyTable, type SharedKeyTable } from './key-table.ts';
import { Utf8Scratch } from './utf8.ts';

export interface StringTableOptions {
  readonly entriesMax: number;
  readonly bytesMax: number;
  /** What the strings are, for messages. */
  readonly name: string;
}

/** A table's strings with their refs, for an image (image.ts). */
export interface StringImage {
  readonly name: string;
  readonly addresses: Uint32Array;
  readonly arena: Uint8Array;
}

export interface SharedStringTable {
  readonly name: string;
  readonly keys: SharedKeyTable;
}

/** Room for the few strings that a decision on a restored table interns. */
const RESTORED_SPARE = 16_384;
const RESTORED_SPARE_BYTES = 64;

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
  /** Undefined in a thread that only reads. */
  readonly #references: Uint32Array | undefined;
  readonly #scratch = new Utf8Scratch();
  #freeRef = 0;
  #refLimit = 1;
  #count = 0;

  private constructor(name: string, keys: KeyTable, isWriter: boolean) {
    this.name = name;
    this.entriesMax = keys.entriesMax;
    this.#keys = keys;
    if (isWriter) this.#references = new Uint32Array(keys.entriesMax + 1);
  }

  static create(options: StringTableOptions): StringTable {
    return new StringTable(options.name, KeyTable.create(options.entriesMax, options.bytesMax), true);
  }

  /** For `find`, `findBytes`, `equalsBytes` and `get` in another thread. */
  static attach(shared: SharedStringTable): StringTable {
    return new StringTable(shared.name, KeyTable.attach(shared.keys), false);
  }

  /** Views of what the table holds now. */
  image(): StringImage {
    const { name } = this;
    return { name, addresses: this.#keys.addressesBelow(this.#refLimit), arena: this.#keys.arena.touched };
  }

  /** A table with the same strings under the same refs, which it never frees, and room for more. */
  static restore(image: StringImage, spareEntries = RESTORED_SPARE): StringTable {
    const { name, addresses, arena } = image;
    const spareBytes = spareEntries * RESTORED_SPARE_BYTES;
    const keys = KeyTable.restore(addresses, ByteArena.restore(arena, spareBytes), spareEntries);
    const table = new StringTable(name, keys, true);
    table.#refLimit = addresses.length;
    for (let ref = 1; ref < addresses.length; ref++) {
      if (addresses[ref] === 0) continue;
      table.#references![ref] = 1;
      table.#count++;
    }
    return table;
  }

  share(): SharedStringTable {
    return { name: this.name, keys: this.#keys.share() };
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

  /** Room for the bytes of all strings. */
  get bytesMax(): number {
    return this.#keys.arena.bytes.length;
  }

  /** Bytes of memory that the table has touched. */
  get bytesTouched(): number {
    return this.#refLimit === 1 ? 0 : this.#keys.bytesTouched(this.#refLimit) + this.#refLimit * 4;
  }

  /** The ref of a string, with one more reference to it. */
  intern(text: string): number {
    const end = this.#scratch.write(text);
    return this.internBytes(this.#scratch.bytes, 0, end);
  }

  internBytes(bytes: Uint8Array, start: number, end: number): number {
    if (start === end) return 0;
    const references = this.#writable();
    const hash = hashBytes(bytes, start, end);
    const known = this.#keys.find(hash, bytes, start, end);
    if (known !== 0) {
      references[known]!++;
      return known;
    }
    const ref = this.#freeRef === 0 ? this.#refLimit : this.#freeRef;
    if (ref > this.entriesMax) throw new StringTableFullError(this.name, 'entries', this.entriesMax);
    if (!this.#keys.add(ref, hash, bytes, start, end)) {
      throw new StringTableFullError(this.name, 'bytes', this.#keys.arena.bytes.length);
    }
    if (this.#freeRef === 0) this.#refLimit++;
    else this.#freeRef = references[ref]!;
    references[ref] = 1;
    this.#count++;
    return ref;
  }

  /** The ref of a string, 0 if it is not held; takes no reference. */
  find(text: string): number {
    const end = this.#scratch.write(text);
    return this.findBytes(this.#scratch.bytes, 0, end);
  }

  findBytes(bytes: Uint8Array, start: number, end: number): number {
    if (start === end) return 0;
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
    this.#keys.remove(ref);
    references[ref] = this.#freeRef;
    this.#freeRef = ref;
    this.#count--;
  }

  get(ref: number): string {
    return ref === 0 ? '' : this.#keys.textOf(ref);
  }

  /** Bytewise (UTF-8) order of two refs, without decoding. The writer's thread only. */
  compare(refA: number, refB: number): number {
    return refA === refB ? 0 : this.#keys.compare(refA, refB);
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

  #isHeld(ref: number): boolean {
    return ref > 0 && ref < this.#refLimit && this.#keys.addressOf(ref) !== 0;
  }

  #writable(): Uint32Array {
    assert(this.#references !== undefined, 'a table attached in another thread is only read');
    return this.#references;
  }
}
