/**
 * The history on disk: files of blocks in one folder, the newest of which grows. When all of them together would exceed the
 * limit, the oldest file goes. It runs in a thread of its own, where it may wait for the disk.
 *
 *   events/00000041.events     oldest
 *   events/00000042.events
 *   events/00000043.events     newest, appended to
 */
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { HistoryGap } from '../shard/ports/events.ts';
import { type BlockHeader, headerOf } from './block.ts';
import { indexOf, type SegmentIndex } from './segment.ts';

const OWNER_ONLY = 0o700;
const OWNER_FILE = 0o600;
/** The limit is kept by whole files: this many, so 1/64 of the history goes at a time. */
const SEGMENTS = 64;
const SEGMENT_BYTES_MIN = 4_096;
const NAME = /^(\d{8,})\.events$/;
/** Gaps that an answer lists. A shard that restarts every hour has that many in a day. */
const GAPS_MAX = 24;

export interface Segment {
  readonly number: number;
  readonly path: string;
  readonly index: SegmentIndex;
}

export class EventStore {
  readonly #folder: string;
  readonly #bytesMax: number;
  readonly #segmentBytes: number;
  /** Oldest first. */
  readonly #segments: Segment[] = [];
  #fd = -1;

  /** Throws the system's error. */
  constructor(folder: string, bytesMax: number) {
    this.#folder = folder;
    this.#bytesMax = bytesMax;
    this.#segmentBytes = Math.max(SEGMENT_BYTES_MIN, Math.floor(bytesMax / SEGMENTS));
    mkdirSync(folder, { recursive: true, mode: OWNER_ONLY });
    const numbers = readdirSync(folder).flatMap((name) => NAME.exec(name)?.[1] ?? []);
    for (const number of numbers.map(Number).sort((a, b) => a - b)) {
      const path = this.#pathOf(number);
      this.#segments.push({ number, path, index: indexOf(path) });
    }
  }

  get bytes(): number {
    return this.#segments.reduce((sum, { index }) => sum + index.bytes, 0);
  }

  get segments(): readonly Segment[] {
    return this.#segments;
  }

  /** The earliest event of the oldest file; 0 if there is none. */
  get beginsAtMs(): number {
    return this.#firstHeader()?.minMs ?? 0;
  }

  /** Throws the system's error; then the block is not in the history, and the next one may be appended. */
  append(block: Buffer): void {
    const header = headerOf(block)!;
    this.#makeRoom(block.length);
    const { index } = this.#newest(block.length);
    const at = index.bytes;
    try {
      for (let written = 0; written < block.length; )
        written += writeSync(this.#fd, block, written, block.length - written, at + written);
    } catch (error) {
      this.#undo(at);
      throw error;
    }
    index.blocks.push({ at, header, isCut: false });
    index.bytes = index.wholeBytes = at + block.length;
  }

  /** Times in which events may be missing, the newest first, and since when none is. */
  gaps(): { readonly gaps: HistoryGap[]; readonly wholeSinceMs: number } {
    const gaps: HistoryGap[] = [];
    let before: BlockHeader | null = null;
    for (const { index } of this.#segments) {
      for (const { header } of index.blocks) {
        const why = before === null ? '' : whyMissing(before, header);
        if (why !== '') gaps.push({ fromMs: before!.maxMs, toMs: header.minMs, why });
        before = header;
      }
    }
    gaps.reverse();
    const wholeSinceMs = gaps[0]?.toMs ?? this.beginsAtMs;
    return { gaps: gaps.slice(0, GAPS_MAX), wholeSinceMs };
  }

  close(): void {
    if (this.#fd === -1) return;
    closeSync(this.#fd);
    this.#fd = -1;
  }

  #firstHeader(): BlockHeader | undefined {
    return this.#segments.flatMap(({ index }) => index.blocks.slice(0, 1))[0]?.header;
  }

  #pathOf(number: number): string {
    return join(this.#folder, `${String(number).padStart(8, '0')}.events`);
  }

  /** The file that takes the next block: the newest one if it is whole and has room, else a new one. */
  #newest(blockBytes: number): Segment {
    const last = this.#segments.at(-1);
    if (last !== undefined) {
      const { bytes, wholeBytes } = last.index;
      if (bytes === wholeBytes && bytes + blockBytes <= this.#segmentBytes) {
        if (this.#fd === -1) this.#fd = openSync(last.path, 'r+');
        return last;
      }
    }
    if (this.#fd !== -1) fsyncSync(this.#fd);
    this.close();
    const number = (last?.number ?? 0) + 1;
    const path = this.#pathOf(number);
    this.#fd = openSync(path, 'wx', OWNER_FILE);
    const segment = { number, path, index: { blocks: [], bytes: 0, wholeBytes: 0 } };
    this.#segments.push(segment);
    return segment;
  }

  #makeRoom(bytes: number): void {
    while (this.#segments.length > 1 && this.bytes + bytes > this.#bytesMax) {
      unlinkSync(this.#segments[0]!.path);
      this.#segments.shift();
    }
  }

  /** Part of a block may be in the file: without it, the file ends with a whole block again. */
  #undo(at: number): void {
    const { index } = this.#segments.at(-1)!;
    try {
      ftruncateSync(this.#fd, at);
    } catch {
      index.bytes = at + 1; // not whole: the next block begins a new file
    }
  }
}

function whyMissing(before: BlockHeader, after: BlockHeader): string {
  if (after.lost > 0) return `${after.lost} events were not written, because the disk was slow or full`;
  if (after.epoch !== before.epoch) return 'the shard did not run, or its last second was not written';
  return '';
}
