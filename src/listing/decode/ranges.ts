/**
 * Hashes and compares byte ranges of one answer in place, eight bytes a step through a DataView (unaligned loads in
 * compiled code; assembling words from single bytes costs three times as much). The hash has two independent halves,
 * because each multiplication waits for the previous one of its half. The last step overlaps the one before, so no range
 * of eight bytes or more needs a byte-wise tail.
 */
import { isUtf8 } from 'node:buffer';

const STEP_BYTES = 8;

export function hashRange(view: DataView, start: number, end: number): number {
  let left = Math.imul(end - start, 0x9e3779b1);
  let right = 0x5bd1e995;
  const lastStep = end - STEP_BYTES;
  if (lastStep < start) {
    for (let at = start; at < end; at++) left = Math.imul(left ^ view.getUint8(at), 0x2c1b3c6d);
  } else {
    for (let at = start; at < lastStep; at += STEP_BYTES) {
      left = Math.imul(left ^ view.getInt32(at, true), 0x2c1b3c6d);
      right = Math.imul(right ^ view.getInt32(at + 4, true), 0x297a2d39);
      left = (left << 13) | (left >>> 19);
      right = (right << 15) | (right >>> 17);
    }
    left = Math.imul(left ^ view.getInt32(lastStep, true), 0x2c1b3c6d);
    right = Math.imul(right ^ view.getInt32(lastStep + 4, true), 0x297a2d39);
  }
  let hash = left ^ ((right << 16) | (right >>> 16));
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * A sample of a range of at least eight bytes: two of its words, mixed. For caches that confirm a hit by comparing:
 * different strings mostly differ at the end or in the middle; where they do not, the cache only misses.
 */
export function sampleRange(view: DataView, start: number, end: number): number {
  const length = end - start;
  const middle = view.getInt32(start + (length >>> 1), true);
  return Math.imul(view.getInt32(end - 4, true) ^ Math.imul(middle, length), 0x9e3779b1);
}

/** Whether `length` bytes at `from` in one view equal those at `at` in another. */
export function equalRanges(
  left: DataView,
  from: number,
  right: DataView,
  at: number,
  length: number,
): boolean {
  const lastStep = length - STEP_BYTES;
  if (lastStep < 0) {
    for (let byte = 0; byte < length; byte++) {
      if (left.getUint8(from + byte) !== right.getUint8(at + byte)) return false;
    }
    return true;
  }
  for (let step = 0; step < lastStep; step += STEP_BYTES) {
    if (differs(left, from + step, right, at + step)) return false;
  }
  return !differs(left, from + lastStep, right, at + lastStep);
}

function differs(left: DataView, from: number, right: DataView, at: number): boolean {
  const low = left.getInt32(from, true) ^ right.getInt32(at, true);
  const high = left.getInt32(from + 4, true) ^ right.getInt32(at + 4, true);
  return (low | high) !== 0;
}

/** Whether bytes are UTF-8. Nearly all are ASCII; only the others pay for the native check. */
export function isText(bytes: Uint8Array, view: DataView, start: number, end: number): boolean {
  const lastWord = end - 4;
  let seen = 0;
  if (lastWord < start) {
    for (let at = start; at < end; at++) seen |= bytes[at]!;
  } else {
    for (let at = start; at < lastWord; at += 4) seen |= view.getInt32(at, true);
    seen |= view.getInt32(lastWord, true);
  }
  return (seen & 0x80808080) === 0 || isUtf8(bytes.subarray(start, end));
}

/** The string of a range. Not for rows: it allocates. */
export function textOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
}
