/**
 * Collects the assignment of one machine from its `shard_metadata` entries. Reused for every machine.
 *
 * Priorities, penalties and most fingerprints repeat often. The reader caches what an entry means under a sample of its
 * bytes, with the offset where it last occurred. A repeated entry costs one comparison with bytes that are still in the
 * CPU's cache; its key and value are not parsed again.
 *
 *   by sample, 256 places   meaning
 *   recentStart, …Length    u32, where the entry last occurred and how long it is, 0 = empty place
 *   recentKey               u8, its AssignmentKey, 0 = a foreign key; with MALFORMED if the value is malformed
 *   recentValue             i32, priority, bucket or string ref; 0 if malformed
 */

import type { AnswerReader } from './answer-reader.ts';
import { AssignmentKey, assignmentKeyOf, parseInt32, parsePenalty } from './assignment.ts';
import type { RangeTable } from './range-table.ts';
import { equalRanges, sampleRange } from './ranges.ts';
import { FINGERPRINT_BYTES_MAX, GROUP_BYTES_MAX } from './text-limits.ts';

const MALFORMED = 0x80;
const RECENT_BITS = 8;
/** The shortest entry that can be sampled; entries of an assignment are longer. */
const RECENT_LENGTH_MIN = 8;

export class AssignmentReader {
  /** Bits of AssignmentKey: present and well-formed. */
  keys = 0;
  priority = 0;
  interruptionPenalty = 0;
  reclamationPenalty = 0;
  /** String refs. */
  need = 0;
  group = 0;
  readonly #reader: AnswerReader;
  readonly #strings: RangeTable;
  readonly #recentStart = new Uint32Array(1 << RECENT_BITS);
  readonly #recentLength = new Uint32Array(1 << RECENT_BITS);
  readonly #recentKey = new Uint8Array(1 << RECENT_BITS);
  readonly #recentValue = new Int32Array(1 << RECENT_BITS);

  constructor(reader: AnswerReader, strings: RangeTable) {
    this.#reader = reader;
    this.#strings = strings;
  }

  /** Before another answer. */
  reset(): void {
    this.#recentLength.fill(0);
  }

  begin(): void {
    this.keys = 0;
    this.priority = this.interruptionPenalty = this.reclamationPenalty = 0;
    this.need = this.group = 0;
  }

  /** Takes one entry. A repeated key replaces the earlier one, even if it is malformed. */
  take(start: number, end: number): void {
    const length = end - start;
    if (length < RECENT_LENGTH_MIN) {
      this.#reader.entry(start, end); // too short for our keys, but it must be a valid entry
      return;
    }
    const { view } = this.#reader;
    const place = sampleRange(view, start, end) >>> (32 - RECENT_BITS);
    if (
      this.#recentLength[place] !== length ||
      !equalRanges(view, start, view, this.#recentStart[place]!, length)
    ) {
      this.#read(place, start, end);
    }
    this.#recentStart[place] = start;
    const key = this.#recentKey[place]!;
    if (key !== 0) this.#set(key, this.#recentValue[place]!);
  }

  #read(place: number, start: number, end: number): void {
    const reader = this.#reader;
    this.#recentLength[place] = 0; // in case `entry` throws
    reader.entry(start, end);
    const { bytes, valueStart, valueEnd } = reader;
    const key = assignmentKeyOf(reader.view, reader.keyStart, reader.keyEnd);
    let value = 0;
    if (key === AssignmentKey.Priority) value = parseInt32(bytes, valueStart, valueEnd);
    else if (key === AssignmentKey.InterruptionPenalty || key === AssignmentKey.ReclamationPenalty) {
      value = parsePenalty(bytes, valueStart, valueEnd);
    } else if (key !== 0) {
      const bytesMax = key === AssignmentKey.Group ? GROUP_BYTES_MAX : FINGERPRINT_BYTES_MAX;
      value = valueEnd - valueStart > bytesMax ? Number.NaN : this.#strings.intern(valueStart, valueEnd);
      if (this.#strings.text[value] === 0) value = Number.NaN; // NaN has no entry there
    }
    this.#recentLength[place] = end - start;
    this.#recentKey[place] = Number.isNaN(value) ? key | MALFORMED : key;
    this.#recentValue[place] = value; // NaN is stored as 0
  }

  #set(keyAndFault: number, value: number): void {
    const key = keyAndFault & ~MALFORMED;
    if (key === AssignmentKey.Priority) this.priority = value;
    else if (key === AssignmentKey.InterruptionPenalty) this.interruptionPenalty = value;
    else if (key === AssignmentKey.ReclamationPenalty) this.reclamationPenalty = value;
    else if (key === AssignmentKey.Fingerprint) this.need = value;
    else this.group = value;
    this.keys = key === keyAndFault ? this.keys | key : this.keys & ~key;
  }
}
