/**
 * One event as bytes. A record is its length and its fields; a text that the block has had already is a number, because a
 * second of a busy shard names the same cluster, offering and need many times.
 *
 *   varint   bytes that follow
 *   u8       place of the kind in EVENT_KINDS
 *   varint   ms since the record before, zigzag; FAR: an f64 follows, ms since 1970
 *   varint   cycle
 *   u8 u8    from, to: MachineState
 *   varint   priority, zigzag
 *   8 texts  machine, cluster, for cluster, fingerprint, group, provider, offering, detail; each
 *              0                   the empty text
 *              1 varint bytes      a text that is new in this block: its length and UTF-8
 *              2 varint            the number of an earlier text of this block, from 0
 *
 * Texts are inline, so the first part of a block that was cut is readable on its own.
 */
import { ByteWriter } from '../base/byte-writer.ts';
import { cutText } from '../base/cut-text.ts';
import { EVENT_KINDS, type EventKind, type FleetEvent } from '../machine/event.ts';

/** T3: a text in an event. An error message of a provider may be long; one event takes 32 KiB at most. */
export const TEXT_CHARS_MAX = 1_024;
/** The first record of a block, and one after a jump of the clock by more than twelve days. */
const FAR = 0xffff_ffff;
const NEAR_MS = 2 ** 30;
const EMPTY = 0;
const NEW = 1;
const KNOWN = 2;
const NUMBER_OF: ReadonlyMap<EventKind, number> = new Map(EVENT_KINDS.map((kind, number) => [kind, number]));

/** The texts of an event, in the order of the record. */
const TEXTS = [
  'machineId',
  'clusterId',
  'forClusterId',
  'fingerprint',
  'group',
  'provider',
  'offering',
  'detail',
] as const satisfies readonly (keyof FleetEvent)[];

export type EventFields = Omit<FleetEvent, 'epoch'>;

export interface EncodedEvents {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly count: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** Events that were lost before the first of these. */
  readonly lost: number;
}

export class EventEncoder {
  readonly #writer = new ByteWriter();
  readonly #numbers = new Map<string, number>();
  #count = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  #minMs = Number.POSITIVE_INFINITY;
  #maxMs = Number.NEGATIVE_INFINITY;

  get bytes(): number {
    return this.#writer.at;
  }

  get count(): number {
    return this.#count;
  }

  add(event: EventFields): void {
    const writer = this.#writer;
    const start = writer.openLength();
    writer.tag(NUMBER_OF.get(event.kind)!);
    this.#time(event.atMs);
    writer.varint(event.cycle >>> 0);
    writer.tag(event.from);
    writer.tag(event.to);
    writer.varint(zigzag(event.priority));
    for (const name of TEXTS) this.#text(event[name]);
    writer.closeLength(start);
    this.#count++;
    this.#minMs = Math.min(this.#minMs, event.atMs);
    this.#maxMs = Math.max(this.#maxMs, event.atMs);
  }

  /** The records so far, in memory of their own; the encoder is empty afterwards. */
  take(lost: number): EncodedEvents {
    const bytes = this.#writer.take() as Uint8Array<ArrayBuffer>;
    const taken = { bytes, count: this.#count, minMs: this.#minMs, maxMs: this.#maxMs, lost };
    this.#writer.open(bytes.length);
    this.#numbers.clear();
    this.#count = 0;
    this.#lastMs = Number.NEGATIVE_INFINITY;
    this.#minMs = Number.POSITIVE_INFINITY;
    this.#maxMs = Number.NEGATIVE_INFINITY;
    return taken;
  }

  #time(atMs: number): void {
    const sinceMs = atMs - this.#lastMs;
    this.#lastMs = atMs;
    if (Number.isInteger(sinceMs) && Math.abs(sinceMs) < NEAR_MS) {
      this.#writer.varint(zigzag(sinceMs));
      return;
    }
    this.#writer.varint(FAR);
    this.#writer.double(atMs);
  }

  #text(text: string): void {
    const writer = this.#writer;
    if (text === '') {
      writer.tag(EMPTY);
      return;
    }
    const short = text.length <= TEXT_CHARS_MAX ? text : cutText(text, TEXT_CHARS_MAX);
    const number = this.#numbers.get(short);
    if (number === undefined) {
      this.#numbers.set(short, this.#numbers.size);
      writer.text(NEW, short);
    } else {
      writer.tag(KNOWN);
      writer.varint(number);
    }
  }
}

function zigzag(value: number): number {
  return ((value << 1) ^ (value >> 31)) >>> 0;
}

function unzigzag(code: number): number {
  return (code >>> 1) ^ -(code & 1);
}

/** The bytes are not records: the rest of them tells nothing. */
class NotARecord extends Error {}

/** The events of a block, oldest first, up to the first record that is cut or damaged. */
export function eventsIn(bytes: Uint8Array, epoch: number): FleetEvent[] {
  const reader = new RecordReader(bytes);
  const events: FleetEvent[] = [];
  try {
    while (reader.hasMore) events.push(reader.next(epoch));
  } catch (error) {
    if (!(error instanceof NotARecord)) throw error;
  }
  return events;
}

class RecordReader {
  readonly #bytes: Buffer;
  readonly #texts: string[] = [];
  #lastMs = 0;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get hasMore(): boolean {
    return this.#at < this.#bytes.length;
  }

  next(epoch: number): FleetEvent {
    const length = this.#varint();
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new NotARecord();
    const kind = EVENT_KINDS[this.#byte()];
    if (kind === undefined || kind === 'none') throw new NotARecord();
    const atMs = this.#time();
    const cycle = this.#varint();
    const from = this.#byte();
    const to = this.#byte();
    const priority = unzigzag(this.#varint());
    const texts = TEXTS.map(() => this.#text());
    if (this.#at !== end) throw new NotARecord();
    return {
      kind,
      atMs,
      epoch,
      cycle,
      from,
      to,
      priority,
      machineId: texts[0]!,
      clusterId: texts[1]!,
      forClusterId: texts[2]!,
      fingerprint: texts[3]!,
      group: texts[4]!,
      provider: texts[5]!,
      offering: texts[6]!,
      detail: texts[7]!,
    };
  }

  #time(): number {
    const code = this.#varint();
    if (code !== FAR) this.#lastMs += unzigzag(code);
    else {
      this.#need(8);
      this.#lastMs = this.#bytes.readDoubleLE(this.#at);
      this.#at += 8;
    }
    return this.#lastMs;
  }

  #text(): string {
    const how = this.#byte();
    if (how === EMPTY) return '';
    const number = this.#varint();
    if (how === KNOWN) {
      const text = this.#texts[number];
      if (text === undefined) throw new NotARecord();
      return text;
    }
    if (how !== NEW) throw new NotARecord();
    this.#need(number);
    const text = this.#bytes.toString('utf8', this.#at, this.#at + number);
    this.#at += number;
    this.#texts.push(text);
    return text;
  }

  #byte(): number {
    this.#need(1);
    return this.#bytes[this.#at++]!;
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new NotARecord();
  }

  #need(bytes: number): void {
    if (this.#at + bytes > this.#bytes.length) throw new NotARecord();
  }
}
