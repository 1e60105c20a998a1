/**
 * The canonical bytes of a shape: equal shapes have equal bytes, in whatever order a sender wrote labels and
 * resources (Go servers shuffle map entries: keyed by raw bytes, 7,000 shapes became 477,000). A worker builds
 * them straight from wire bytes and looks the shape up in shared memory, without an allocation per machine.
 *
 *   capacity type     u8
 *   instance type     text                      text = length as a varint, then UTF-8 bytes
 *   zone              text
 *   labels            varint count, then (key text, value text), by key bytewise
 *   capacity          varint count, then (resource name text, units f64 little endian), by name bytewise
 *
 * A resource with 0 units is left out; of two entries with the same name the later one counts. Labels that are unique
 * per machine (a host name) would make every machine a shape of its own, so they are kept apart as *own labels*:
 * (index into the configured keys u8, value text), by index. shape-key-reader.ts reads both back.
 */
import { assert } from '../base/assert.ts';
import { Utf8Scratch } from '../base/utf8.ts';

/** Labels that differ from machine to machine. Requirements are not matched with them by shape. */
export const OWN_LABEL_KEYS_DEFAULT: readonly string[] = ['kubernetes.io/hostname'];

/** Own labels are numbered by a byte. */
const OWN_LABEL_KEYS_MAX = 255;

/** Entries as ranges of the raw scratch, not yet in order. */
class EntryList {
  count = 0;
  readonly keyStart: number[] = [];
  readonly keyEnd: number[] = [];
  /** Labels: the end of the value, which begins where the key ends. Resources: unused. */
  readonly valueEnd: number[] = [];
  readonly units: number[] = [];
  readonly order: number[] = [];
}

export class ShapeKeyBuilder {
  readonly #ownKeys: readonly Uint8Array[];
  readonly #text = new Utf8Scratch();
  readonly #raw = new Utf8Scratch();
  readonly #out = new Utf8Scratch();
  readonly #own = new Utf8Scratch();
  readonly #labels = new EntryList();
  readonly #amounts = new EntryList();
  readonly #ownStart: number[] = [];
  readonly #ownEnd: number[] = [];
  readonly #unit = new Float64Array(1);
  readonly #unitBytes = new Uint8Array(this.#unit.buffer);
  #rawEnd = 0;
  #capacityType = 0;
  #typeEnd = 0;
  #zoneStart = 0;
  #zoneEnd = 0;
  /** After `finish`: bytes 0…length of `bytes` are the key, bytes 0…ownLength of `ownBytes` the own labels. */
  length = 0;
  ownLength = 0;

  constructor(ownLabelKeys: readonly string[] = OWN_LABEL_KEYS_DEFAULT) {
    assert(ownLabelKeys.length <= OWN_LABEL_KEYS_MAX, `at most ${OWN_LABEL_KEYS_MAX} own label keys`);
    this.#ownKeys = ownLabelKeys.map((key) => new TextEncoder().encode(key));
  }

  get bytes(): Uint8Array {
    return this.#out.bytes;
  }

  get ownBytes(): Uint8Array {
    return this.#own.bytes;
  }

  begin(capacityType: number): void {
    this.#capacityType = capacityType;
    this.#rawEnd = this.#typeEnd = this.#zoneStart = this.#zoneEnd = 0;
    this.#labels.count = this.#amounts.count = 0;
    for (let index = 0; index < this.#ownKeys.length; index++) this.#ownStart[index] = -1;
  }

  /** Optional; if called, the first call after `begin`. */
  instanceType(bytes: Uint8Array, start: number, end: number): void {
    assert(this.#rawEnd === 0, 'the instance type comes first');
    this.#typeEnd = this.#put(bytes, start, end);
  }

  zone(bytes: Uint8Array, start: number, end: number): void {
    this.#zoneStart = this.#rawEnd;
    this.#zoneEnd = this.#put(bytes, start, end);
  }

  label(
    keys: Uint8Array,
    keyStart: number,
    keyEnd: number,
    values: Uint8Array,
    valueStart: number,
    valueEnd: number,
  ): void {
    const own = this.#ownIndex(keys, keyStart, keyEnd);
    const start = this.#rawEnd;
    const middle = own >= 0 ? start : this.#put(keys, keyStart, keyEnd);
    const end = this.#put(values, valueStart, valueEnd);
    if (own >= 0) {
      this.#ownStart[own] = start;
      this.#ownEnd[own] = end;
    } else {
      addEntry(this.#labels, start, middle, end, 0);
    }
  }

  amount(names: Uint8Array, start: number, end: number, units: number): void {
    const from = this.#rawEnd;
    addEntry(this.#amounts, from, this.#put(names, start, end), 0, units);
  }

  finish(): void {
    const raw = this.#raw.bytes;
    // Varints and counts are at most 5 bytes: 12 more per label, 13 per resource, 32 for the rest.
    this.#out.reserve(this.#rawEnd + 12 * this.#labels.count + 13 * this.#amounts.count + 32);
    const out = this.#out.bytes;
    let at = 0;
    out[at++] = this.#capacityType;
    at = putText(out, at, raw, 0, this.#typeEnd);
    at = putText(out, at, raw, this.#zoneStart, this.#zoneEnd);
    at = this.#putLabels(out, at);
    this.length = this.#putAmounts(out, at);
    this.#finishOwn();
  }

  /** The same from objects, for callers that have them. */
  build(
    instanceType: string,
    zone: string,
    capacityType: number,
    labels: Readonly<Record<string, string>>,
    capacity: Readonly<Record<string, number>>,
  ): void {
    this.begin(capacityType);
    const text = this.#text;
    const typeEnd = text.write(instanceType);
    this.instanceType(text.bytes, 0, typeEnd);
    const zoneEnd = text.write(zone);
    this.zone(text.bytes, 0, zoneEnd);
    for (const key of Object.keys(labels)) {
      const middle = text.write(key);
      const end = text.write(labels[key]!, middle);
      this.label(text.bytes, 0, middle, text.bytes, middle, end);
    }
    for (const name of Object.keys(capacity)) {
      const end = text.write(name);
      this.amount(text.bytes, 0, end, capacity[name]!);
    }
    this.finish();
  }

  #putLabels(out: Uint8Array, start: number): number {
    const raw = this.#raw.bytes;
    const { keyStart, keyEnd, valueEnd, order } = this.#labels;
    const count = sortEntries(raw, this.#labels);
    let at = putVarint(out, start, count);
    for (let index = 0; index < count; index++) {
      const entry = order[index]!;
      at = putText(out, at, raw, keyStart[entry]!, keyEnd[entry]!);
      at = putText(out, at, raw, keyEnd[entry]!, valueEnd[entry]!);
    }
    return at;
  }

  #putAmounts(out: Uint8Array, start: number): number {
    const raw = this.#raw.bytes;
    const { keyStart, keyEnd, units, order } = this.#amounts;
    const count = sortEntries(raw, this.#amounts);
    let written = 0;
    for (let index = 0; index < count; index++) if (units[order[index]!] !== 0) written++;
    let at = putVarint(out, start, written);
    for (let index = 0; index < count; index++) {
      const entry = order[index]!;
      if (units[entry] === 0) continue;
      at = putText(out, at, raw, keyStart[entry]!, keyEnd[entry]!);
      this.#unit[0] = units[entry]!;
      for (let byte = 0; byte < 8; byte++) out[at++] = this.#unitBytes[byte]!;
    }
    return at;
  }

  #finishOwn(): void {
    this.#own.reserve(this.#rawEnd + 6 * this.#ownKeys.length);
    let at = 0;
    for (let index = 0; index < this.#ownKeys.length; index++) {
      if (this.#ownStart[index] === -1) continue;
      this.#own.bytes[at++] = index;
      at = putText(this.#own.bytes, at, this.#raw.bytes, this.#ownStart[index]!, this.#ownEnd[index]!);
    }
    this.ownLength = at;
  }

  #put(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    this.#raw.reserve(this.#rawEnd + length);
    const raw = this.#raw.bytes;
    let at = this.#rawEnd;
    for (let from = start; from < end; from++) raw[at++] = bytes[from]!;
    this.#rawEnd = at;
    return at;
  }

  #ownIndex(bytes: Uint8Array, start: number, end: number): number {
    for (let index = 0; index < this.#ownKeys.length; index++) {
      const key = this.#ownKeys[index]!;
      if (key.length === end - start && compareRanges(key, 0, key.length, bytes, start, end) === 0)
        return index;
    }
    return -1;
  }
}

function addEntry(list: EntryList, keyStart: number, keyEnd: number, valueEnd: number, units: number): void {
  const entry = list.count++;
  list.keyStart[entry] = keyStart;
  list.keyEnd[entry] = keyEnd;
  list.valueEnd[entry] = valueEnd;
  list.units[entry] = units;
}

/** Fills `order` by key and drops all but the last of equal keys; returns how many remain. */
function sortEntries(raw: Uint8Array, list: EntryList): number {
  const { keyStart, keyEnd, order } = list;
  let count = 0;
  // Insertion sort: a machine has a handful of labels, and most senders write them in one order.
  for (let entry = 0; entry < list.count; entry++) {
    let at = count;
    let difference = -1;
    for (; at > 0; at--) {
      const before = order[at - 1]!;
      difference = compareRanges(
        raw,
        keyStart[entry]!,
        keyEnd[entry]!,
        raw,
        keyStart[before]!,
        keyEnd[before]!,
      );
      if (difference >= 0) break;
    }
    if (at > 0 && difference === 0) {
      order[at - 1] = entry;
      continue;
    }
    for (let moved = count; moved > at; moved--) order[moved] = order[moved - 1]!;
    order[at] = entry;
    count++;
  }
  return count;
}

function compareRanges(
  a: Uint8Array,
  startA: number,
  endA: number,
  b: Uint8Array,
  startB: number,
  endB: number,
): number {
  const shared = Math.min(endA - startA, endB - startB);
  for (let index = 0; index < shared; index++) {
    const difference = a[startA + index]! - b[startB + index]!;
    if (difference !== 0) return difference;
  }
  return endA - startA - (endB - startB);
}

function putVarint(out: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) out[at++] = (rest & 0x7f) | 0x80;
  out[at++] = rest;
  return at;
}

function putText(out: Uint8Array, start: number, raw: Uint8Array, from: number, to: number): number {
  let at = putVarint(out, start, to - from);
  for (let index = from; index < to; index++) out[at++] = raw[index]!;
  return at;
}
