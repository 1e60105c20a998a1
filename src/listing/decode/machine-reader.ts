/**
 * Reads the fields of one Machine message into scalars: numbers, offsets of strings and sorted lists of map entries. One
 * instance is reused for every machine, so reading allocates nothing. Fields may come in any order and any number of
 * times: the last scalar counts, messages merge, the last entry of a map key counts. The reader skips unknown fields, and
 * known fields with another wire type.
 */
import { WIRE_BYTES } from '../../wire/protobuf-reader.ts';
import type { AnswerReader } from './answer-reader.ts';
import { AssignmentReader } from './assignment-reader.ts';
import { ENTRIES_PER_MACHINE_MAX, EntryList } from './entry-list.ts';
import { EntryFault, type LabelEntries, type ResourceEntries } from './entry-tables.ts';
import type { RangeTable } from './range-table.ts';
import { isText } from './ranges.ts';
import {
  ENTRY_BYTES_MAX,
  HOST_BYTES_MAX,
  LABEL_KEY_BYTES_MAX,
  LABEL_VALUE_BYTES_MAX,
  NAME_BYTES_MAX,
  RESOURCE_NAME_BYTES_MAX,
} from './text-limits.ts';

/** Why a machine is rejected. Only Malformed means that its bytes are not a valid message. */
export const RowFault = {
  None: 0,
  NotText: 1,
  Quantity: 2,
  TooManyEntries: 3,
  TooLong: 4,
  Malformed: 5,
} as const;
export type RowFault = (typeof RowFault)[keyof typeof RowFault];

/** The high word of an unreadable amount: a NaN, which no parsed amount is. */
const UNREADABLE = 0xffff_ffff;

export class MachineReader {
  idStart = 0;
  idEnd = 0;
  state = 0;
  capacityType = 0;
  pricePerHourUsd = 0;
  interruptionProbability = 0;
  instanceTypeStart = 0;
  instanceTypeEnd = 0;
  zoneStart = 0;
  zoneEnd = 0;
  hostProviderStart = 0;
  hostProviderEnd = 0;
  hostRefStart = 0;
  hostRefEnd = 0;
  clusterStart = 0;
  clusterEnd = 0;
  lastErrorStart = 0;
  lastErrorEnd = 0;
  hasAllocatable = false;
  readonly labels = new EntryList();
  readonly resources = new EntryList();
  readonly allocatable = new EntryList();
  readonly assignment: AssignmentReader;
  /** By own label key; start 0 = the machine lacks the label. */
  readonly ownLabelStart: Uint32Array;
  readonly ownLabelEnd: Uint32Array;
  fault: RowFault = RowFault.None;
  /** Of RowFault.TooLong: the text, what it is, and its limit. */
  longStart = 0;
  longEnd = 0;
  longWhat = '';
  longMax = 0;
  #entryCount = 0;
  #sawUnreadable = false;
  readonly #reader: AnswerReader;
  readonly #labelEntries: LabelEntries;
  readonly #resourceEntries: ResourceEntries;
  readonly #ownKeys: readonly Uint8Array[];
  /** By length in bytes: whether an own label key has this length. */
  readonly #isOwnKeyLength = new Uint8Array(128);

  constructor(
    reader: AnswerReader,
    strings: RangeTable,
    labelEntries: LabelEntries,
    resourceEntries: ResourceEntries,
    ownLabelKeys: readonly string[],
  ) {
    this.#reader = reader;
    this.assignment = new AssignmentReader(reader, strings);
    this.#labelEntries = labelEntries;
    this.#resourceEntries = resourceEntries;
    this.#ownKeys = ownLabelKeys.map((key) => new TextEncoder().encode(key));
    for (const key of this.#ownKeys) if (key.length < 128) this.#isOwnKeyLength[key.length] = 1;
    this.ownLabelStart = new Uint32Array(ownLabelKeys.length);
    this.ownLabelEnd = new Uint32Array(ownLabelKeys.length);
  }

  /** Resets every field to its default. */
  begin(): void {
    this.idStart = this.idEnd = 0;
    this.state = this.capacityType = 0;
    this.pricePerHourUsd = this.interruptionProbability = 0;
    this.instanceTypeStart = this.instanceTypeEnd = 0;
    this.zoneStart = this.zoneEnd = 0;
    this.hostProviderStart = this.hostProviderEnd = this.hostRefStart = this.hostRefEnd = 0;
    this.clusterStart = this.clusterEnd = 0;
    this.lastErrorStart = this.lastErrorEnd = 0;
    this.hasAllocatable = false;
    this.labels.count = this.resources.count = this.allocatable.count = 0;
    this.assignment.begin();
    for (let key = 0; key < this.ownLabelStart.length; key++) this.ownLabelStart[key] = 0;
    this.fault = RowFault.None;
    this.#entryCount = 0;
    this.#sawUnreadable = false;
  }

  /** Reads a message; call it again for each further part of the same message. */
  read(start: number, end: number): void {
    const reader = this.#reader;
    const { bytes } = reader;
    let at = start;
    while (at < end) {
      let tag = bytes[at++]!;
      if (tag >= 0x80 || tag < 8) {
        reader.at = at - 1;
        tag = reader.tag(end);
        at = reader.at;
      }
      if ((tag & 7) === WIRE_BYTES) {
        let fieldEnd: number;
        if (at < end && bytes[at]! < 0x80 && at + 1 + bytes[at]! <= end) fieldEnd = bytes[at]! + ++at;
        else {
          reader.at = at;
          fieldEnd = reader.lengthEnd(end);
          at = reader.at;
        }
        this.#takeBytes(tag >>> 3, at, fieldEnd);
        at = fieldEnd;
      } else {
        reader.at = at;
        this.#takeNumber(tag, end);
        at = reader.at;
      }
    }
  }

  /** An empty reference is no host. */
  hasHost(): boolean {
    return this.hostProviderEnd > this.hostProviderStart || this.hostRefEnd > this.hostRefStart;
  }

  /** `allocatable` if present, else `resources`; without zeros, ready for a shape. */
  capacity(): EntryList {
    const given = this.hasAllocatable ? this.allocatable : this.resources;
    given.dropZeros();
    return given;
  }

  /** Sets faults that only the whole message shows: a later entry may replace an unreadable amount, or a long text. */
  finish(): void {
    if (
      this.idEnd - this.idStart > NAME_BYTES_MAX ||
      this.instanceTypeEnd - this.instanceTypeStart > NAME_BYTES_MAX ||
      this.zoneEnd - this.zoneStart > NAME_BYTES_MAX ||
      this.clusterEnd - this.clusterStart > NAME_BYTES_MAX ||
      this.hostProviderEnd - this.hostProviderStart > HOST_BYTES_MAX ||
      this.hostRefEnd - this.hostRefStart > HOST_BYTES_MAX
    ) {
      this.#findLong();
    }
    if (!this.#sawUnreadable || this.fault !== RowFault.None) return;
    const isUnreadable = this.resources.hasHigh(UNREADABLE) || this.allocatable.hasHigh(UNREADABLE);
    if (isUnreadable) this.fault = RowFault.Quantity;
  }

  /** T3: the record has a text that is too long; the first of them is named. */
  #findLong(): void {
    this.#checkLength('the id', this.idStart, this.idEnd, NAME_BYTES_MAX);
    this.#checkLength('the instance type', this.instanceTypeStart, this.instanceTypeEnd, NAME_BYTES_MAX);
    this.#checkLength('the zone', this.zoneStart, this.zoneEnd, NAME_BYTES_MAX);
    this.#checkLength('the cluster id', this.clusterStart, this.clusterEnd, NAME_BYTES_MAX);
    this.#checkLength("the host's provider", this.hostProviderStart, this.hostProviderEnd, HOST_BYTES_MAX);
    this.#checkLength("the host's ref", this.hostRefStart, this.hostRefEnd, HOST_BYTES_MAX);
  }

  #checkLength(what: string, start: number, end: number, bytesMax: number): boolean {
    if (end - start <= bytesMax) return false;
    if (this.fault !== RowFault.None) return true; // the first fault is named
    this.fault = RowFault.TooLong;
    this.longWhat = what;
    this.longStart = start;
    this.longEnd = end;
    this.longMax = bytesMax;
    return true;
  }

  /** Whether a label entry has a text that is too long, which rejects the record. */
  #isLongLabel(start: number, end: number): boolean {
    const reader = this.#reader;
    reader.entry(start, end);
    const { keyStart, keyEnd, valueStart, valueEnd } = reader;
    return (
      this.#checkLength('a label key', keyStart, keyEnd, LABEL_KEY_BYTES_MAX) ||
      this.#checkLength('a label value', valueStart, valueEnd, LABEL_VALUE_BYTES_MAX)
    );
  }

  #isLongResource(start: number, end: number): boolean {
    const reader = this.#reader;
    reader.entry(start, end);
    return this.#checkLength('a resource name', reader.keyStart, reader.keyEnd, RESOURCE_NAME_BYTES_MAX);
  }

  #takeNumber(tag: number, end: number): void {
    const reader = this.#reader;
    if (tag === 0x10) this.state = reader.varint32(end);
    else if (tag === 0x30) this.capacityType = reader.varint32(end);
    else if (tag === 0x39 && reader.at + 8 <= end) {
      this.pricePerHourUsd = reader.view.getFloat64(reader.at, true);
      reader.at += 8;
    } else if (tag === 0x41 && reader.at + 8 <= end) {
      this.interruptionProbability = reader.view.getFloat64(reader.at, true);
      reader.at += 8;
    } else reader.skip(tag, end);
  }

  #takeBytes(field: number, start: number, end: number): void {
    switch (field) {
      case 1:
        this.idStart = start;
        this.idEnd = end;
        return;
      case 3:
        this.#takeHost(start, end);
        return;
      case 4:
        this.instanceTypeStart = start;
        this.instanceTypeEnd = end;
        return;
      case 5:
        this.zoneStart = start;
        this.zoneEnd = end;
        return;
      case 9:
        this.#takeResources(this.resources, start, end);
        return;
      case 10:
        this.#takeLabel(start, end);
        return;
      case 12:
        this.lastErrorStart = start;
        this.lastErrorEnd = end;
        return;
      case 13:
        this.hasAllocatable = true;
        this.#takeResources(this.allocatable, start, end);
        return;
      case 14:
        this.clusterStart = start;
        this.clusterEnd = end;
        return;
      case 15:
        this.assignment.take(start, end);
        return;
    }
  }

  #takeHost(start: number, end: number): void {
    const reader = this.#reader;
    reader.at = start;
    while (reader.at < end) {
      const tag = reader.tag(end);
      if (tag === 0x0a) {
        this.hostProviderEnd = reader.lengthEnd(end);
        this.hostProviderStart = reader.at;
        reader.at = this.hostProviderEnd;
      } else if (tag === 0x12) {
        this.hostRefEnd = reader.lengthEnd(end);
        this.hostRefStart = reader.at;
        reader.at = this.hostRefEnd;
      } else reader.skip(tag, end);
    }
  }

  #takeResources(into: EntryList, start: number, end: number): void {
    const reader = this.#reader;
    const entries = this.#resourceEntries;
    let at = start;
    while (at < end) {
      reader.at = at;
      const tag = reader.tag(end);
      if (tag !== 0x0a) {
        reader.skip(tag, end);
        at = reader.at;
        continue;
      }
      const entryEnd = reader.lengthEnd(end);
      const entryStart = reader.at;
      at = entryEnd;
      if (entryEnd - entryStart > ENTRY_BYTES_MAX && this.#isLongResource(entryStart, entryEnd)) continue;
      const entry = entries.intern(entryStart, entryEnd);
      if (!this.#hasRoom()) continue;
      const fault = entries.fault[entry]!;
      if (fault === EntryFault.None)
        into.put(entries.name[entry]!, entries.low[entry]!, entries.high[entry]!);
      else if (fault === EntryFault.NotText) this.fault = RowFault.NotText;
      else if (fault === EntryFault.TooLong || fault === EntryFault.Malformed)
        this.#isLongResource(entryStart, entryEnd); // throws if it is malformed
      else {
        this.#sawUnreadable = true;
        into.put(entries.name[entry]!, 0, UNREADABLE);
      }
    }
  }

  #takeLabel(start: number, end: number): void {
    if (!this.#hasRoom()) return;
    const { bytes } = this.#reader;
    if (end - start >= 4 && bytes[start] === 0x0a && this.#isOwnKeyLength[bytes[start + 1]! & 0x7f] === 1) {
      if (this.#tookOwnLabel(start, end)) return;
    }
    if (end - start > ENTRY_BYTES_MAX && this.#isLongLabel(start, end)) return;
    const entries = this.#labelEntries;
    const entry = entries.intern(start, end);
    const fault = entries.fault[entry]!;
    if (fault === EntryFault.NotText) this.fault = RowFault.NotText;
    else if (fault !== EntryFault.None)
      this.#isLongLabel(start, end); // throws if it is malformed
    else if (entries.ownKey[entry] === 0) this.labels.put(entries.key[entry]!, entries.value[entry]!, 0);
    else this.#tookOwnLabel(start, end); // an unusual encoding
  }

  /** Counts an entry. One too many rejects the record, and the rest of its entries are ignored. */
  #hasRoom(): boolean {
    if (this.#entryCount === ENTRIES_PER_MACHINE_MAX) {
      this.fault = RowFault.TooManyEntries;
      return false;
    }
    this.#entryCount++;
    return true;
  }

  /** Comes before interning: own labels all have different values, which would only fill the tables. */
  #tookOwnLabel(start: number, end: number): boolean {
    const reader = this.#reader;
    const { bytes } = reader;
    reader.entry(start, end);
    for (let index = 0; index < this.#ownKeys.length; index++) {
      const key = this.#ownKeys[index]!;
      if (reader.keyEnd - reader.keyStart !== key.length) continue;
      let at = key.length - 1;
      while (at >= 0 && bytes[reader.keyStart + at] === key[at]) at--;
      if (at >= 0) continue;
      const { valueStart, valueEnd } = reader;
      if (this.#checkLength('a label value', valueStart, valueEnd, LABEL_VALUE_BYTES_MAX)) return true;
      this.ownLabelStart[index] = valueStart;
      this.ownLabelEnd[index] = valueEnd;
      if (!isText(bytes, reader.view, valueStart, valueEnd)) this.fault = RowFault.NotText;
      return true;
    }
    return false;
  }
}
