/**
 * Map entries, cached by their raw bytes. A fleet repeats a few thousand labels and quantities millions of times, so an
 * entry is parsed when its bytes first occur and costs one hash and one comparison afterwards. The raw bytes are only a
 * shortcut: an entry encoded differently (value before key, a length in two bytes) is another entry with the same key
 * and value refs, and shapes are made of the refs.
 *
 *   labels, by entry                                resources, by entry
 *   key      u32, string ref                        name       u32, string ref of the dimension
 *   value    u32, string ref                        low, high  u32, the units (a double) as words
 *   fault    u8, EntryFault                         fault      u8, EntryFault
 *   ownKey   u8, 1 + index of the own label key, 0 = an ordinary label
 */
import { ShardError } from '../../base/errors.ts';
import { parseSupply } from '../../base/quantity.ts';
import type { AnswerReader } from './answer-reader.ts';
import { RangeTable } from './range-table.ts';
import { textOf } from './ranges.ts';
import { LABEL_KEY_BYTES_MAX, LABEL_VALUE_BYTES_MAX, RESOURCE_NAME_BYTES_MAX } from './text-limits.ts';

/** Malformed: the bytes are not an entry, and reading them throws. TooLong: T3 limits its texts. */
export const EntryFault = { None: 0, NotText: 1, Quantity: 2, TooLong: 3, Malformed: 4 } as const;

const ENTRIES_MIN = 64;

/** One double and its two words, in this machine's byte order. */
const DOUBLE = new Float64Array(1);
const WORDS = new Uint32Array(DOUBLE.buffer);

export function unitsOfWords(low: number, high: number): number {
  WORDS[0] = low;
  WORDS[1] = high;
  return DOUBLE[0]!;
}

export class LabelEntries {
  readonly #reader: AnswerReader;
  readonly #strings: RangeTable;
  readonly #ownKeys: readonly string[];
  readonly #entries = new RangeTable();
  key = new Uint32Array(ENTRIES_MIN);
  value = new Uint32Array(ENTRIES_MIN);
  fault = new Uint8Array(ENTRIES_MIN);
  ownKey = new Uint8Array(ENTRIES_MIN);
  #parsedCount = 0;

  constructor(reader: AnswerReader, strings: RangeTable, ownKeys: readonly string[]) {
    this.#reader = reader;
    this.#strings = strings;
    this.#ownKeys = ownKeys;
  }

  reset(): void {
    this.#entries.reset(this.#reader.bytes, this.#reader.view);
    this.#parsedCount = 0;
    this.#parse(0, 0, 0);
  }

  /** The ref of an entry; its columns are filled. */
  intern(start: number, end: number): number {
    const entry = this.#entries.intern(start, end);
    if (entry > this.#parsedCount) {
      this.#parsedCount = entry; // also if parsing throws: the fault then says so
      this.#parse(entry, start, end);
    }
    return entry;
  }

  #parse(entry: number, start: number, end: number): void {
    if (entry === this.key.length) this.#grow();
    const reader = this.#reader;
    const strings = this.#strings;
    this.key[entry] = this.value[entry] = this.ownKey[entry] = 0;
    this.fault[entry] = EntryFault.Malformed; // stays if `entry` throws
    reader.entry(start, end);
    if (
      reader.keyEnd - reader.keyStart > LABEL_KEY_BYTES_MAX ||
      reader.valueEnd - reader.valueStart > LABEL_VALUE_BYTES_MAX
    ) {
      this.fault[entry] = EntryFault.TooLong;
      return;
    }
    const key = strings.intern(reader.keyStart, reader.keyEnd);
    const value = strings.intern(reader.valueStart, reader.valueEnd);
    const isText = strings.text[key]! & strings.text[value]!;
    this.key[entry] = key;
    this.value[entry] = value;
    this.fault[entry] = isText === 1 ? EntryFault.None : EntryFault.NotText;
    const keyText = textOf(reader.bytes, reader.keyStart, reader.keyEnd);
    this.ownKey[entry] = 1 + this.#ownKeys.indexOf(keyText);
  }

  #grow(): void {
    const length = 2 * this.key.length;
    this.key = copied(this.key, new Uint32Array(length));
    this.value = copied(this.value, new Uint32Array(length));
    this.fault = copied(this.fault, new Uint8Array(length));
    this.ownKey = copied(this.ownKey, new Uint8Array(length));
  }
}

export class ResourceEntries {
  readonly #reader: AnswerReader;
  readonly #strings: RangeTable;
  readonly #entries = new RangeTable();
  name = new Uint32Array(ENTRIES_MIN);
  low = new Uint32Array(ENTRIES_MIN);
  high = new Uint32Array(ENTRIES_MIN);
  fault = new Uint8Array(ENTRIES_MIN);
  #parsedCount = 0;

  constructor(reader: AnswerReader, strings: RangeTable) {
    this.#reader = reader;
    this.#strings = strings;
  }

  reset(): void {
    this.#entries.reset(this.#reader.bytes, this.#reader.view);
    this.#parsedCount = 0;
    // Entry 0 has no bytes, hence no quantity. Parsing it would throw and catch an error per answer.
    this.name[0] = this.low[0] = this.high[0] = 0;
    this.fault[0] = EntryFault.Quantity;
  }

  intern(start: number, end: number): number {
    const entry = this.#entries.intern(start, end);
    if (entry > this.#parsedCount) {
      this.#parsedCount = entry; // also if parsing throws: the fault then says so
      this.#parse(entry, start, end);
    }
    return entry;
  }

  #parse(entry: number, start: number, end: number): void {
    if (entry === this.name.length) this.#grow();
    const reader = this.#reader;
    this.name[entry] = this.low[entry] = this.high[entry] = 0;
    this.fault[entry] = EntryFault.Malformed; // stays if `entry` throws
    reader.entry(start, end);
    const { bytes, keyStart, keyEnd, valueStart, valueEnd } = reader;
    if (keyEnd - keyStart > RESOURCE_NAME_BYTES_MAX) {
      this.fault[entry] = EntryFault.TooLong;
      return;
    }
    const name = this.#strings.intern(keyStart, keyEnd);
    this.name[entry] = name;
    const units = supplyUnits(textOf(bytes, keyStart, keyEnd), textOf(bytes, valueStart, valueEnd));
    DOUBLE[0] = units ?? 0;
    this.low[entry] = WORDS[0]!;
    this.high[entry] = WORDS[1]!;
    this.fault[entry] = units === null ? EntryFault.Quantity : EntryFault.None;
    if (this.#strings.text[name] === 0) this.fault[entry] = EntryFault.NotText;
  }

  #grow(): void {
    const length = 2 * this.name.length;
    this.name = copied(this.name, new Uint32Array(length));
    this.low = copied(this.low, new Uint32Array(length));
    this.high = copied(this.high, new Uint32Array(length));
    this.fault = copied(this.fault, new Uint8Array(length));
  }
}

/** Null: not a quantity that a machine can have. */
function supplyUnits(name: string, text: string): number | null {
  try {
    return parseSupply(name, text);
  } catch (error) {
    if (error instanceof ShardError) return null;
    throw error;
  }
}

function copied<Column extends Uint8Array | Uint32Array>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}
