/**
 * The assignment that a shard wrote into `shard_metadata` when it bound a machine. A restarted shard rebuilds its
 * decisions from this alone. Values are decimal strings, parsed from the bytes without making strings. A malformed value
 * skips only its own key; foreign keys are ignored.
 */

import { ASSIGNMENT_KEYS } from '../../machine/assignment-keys.ts';
import { bucketOfDollars } from '../../machine/penalty.ts';
import { equalRanges, textOf } from './ranges.ts';

/** One bit per key that is present and well-formed. */
export const AssignmentKey = {
  Priority: 1,
  InterruptionPenalty: 2,
  ReclamationPenalty: 4,
  Fingerprint: 8,
  Group: 16,
} as const;
export type AssignmentKey = (typeof AssignmentKey)[keyof typeof AssignmentKey];

export const ASSIGNMENT_KEY_NAMES: Readonly<Record<AssignmentKey, string>> = {
  [AssignmentKey.Priority]: ASSIGNMENT_KEYS.priority,
  [AssignmentKey.InterruptionPenalty]: ASSIGNMENT_KEYS.interruptionPenalty,
  [AssignmentKey.ReclamationPenalty]: ASSIGNMENT_KEYS.reclamationPenalty,
  [AssignmentKey.Fingerprint]: ASSIGNMENT_KEYS.fingerprint,
  [AssignmentKey.Group]: ASSIGNMENT_KEYS.group,
};

/** The five names differ in length, so the length selects the one name to compare with. */
const NAMES = new Uint8Array(64 * 128);
const NAMES_VIEW = new DataView(NAMES.buffer);
/** By length: the offset of the name in NAMES, 0 = no name has this length. */
const NAME_START = new Uint32Array(128);
const KEY_BY_LENGTH = new Uint8Array(128);
for (const [bit, name] of Object.entries(ASSIGNMENT_KEY_NAMES)) {
  NAME_START[name.length] = name.length * 64;
  KEY_BY_LENGTH[name.length] = Number(bit);
  NAMES.set(new TextEncoder().encode(name), NAME_START[name.length]);
}

/** 0: a foreign key. */
export function assignmentKeyOf(view: DataView, start: number, end: number): AssignmentKey | 0 {
  const length = end - start;
  const key = length < KEY_BY_LENGTH.length ? KEY_BY_LENGTH[length]! : 0;
  if (key === 0) return 0;
  return equalRanges(view, start, NAMES_VIEW, NAME_START[length]!, length) ? (key as AssignmentKey) : 0;
}

const DIGIT_0 = 0x30;
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;

/** Integers of so many digits are exact in a double. */
const EXACT_DIGITS_MAX = 15;
const INT32_DIGITS_MAX = 10;
const INT32_MAX = 2 ** 31 - 1;
const INT32_MIN = -(2 ** 31);

/** A 32-bit decimal integer; NaN for anything else. */
export function parseInt32(bytes: Uint8Array, start: number, end: number): number {
  const sign = bytes[start] === MINUS ? -1 : 1;
  let at = sign < 0 || bytes[start] === PLUS ? start + 1 : start;
  if (at >= end) return Number.NaN;
  while (at < end - 1 && bytes[at] === DIGIT_0) at++;
  if (end - at > INT32_DIGITS_MAX) return Number.NaN;
  let value = 0;
  for (; at < end; at++) {
    const digit = bytes[at]! - DIGIT_0;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  value *= sign;
  return value < INT32_MIN || value > INT32_MAX ? Number.NaN : value + 0;
}

/** The bucket of a dollar value, which may be infinite; NaN if it is not a number ≥ 0. */
export function parsePenalty(bytes: Uint8Array, start: number, end: number): number {
  const dollars = parseDollars(bytes, start, end);
  return Number.isNaN(dollars) ? dollars : bucketOfDollars(dollars);
}

function parseDollars(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > EXACT_DIGITS_MAX || start >= end) return parseUnusualDollars(bytes, start, end);
  let digits = 0;
  let scale = 0; // 10 for each digit after the point
  let digitCount = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === POINT && scale === 0) {
      scale = 1;
      continue;
    }
    const digit = byte - DIGIT_0;
    if (digit < 0 || digit > 9) return parseUnusualDollars(bytes, start, end);
    digits = digits * 10 + digit;
    scale *= 10;
    digitCount++;
  }
  if (digitCount === 0) return Number.NaN;
  return scale > 1 ? digits / scale : digits;
}

/** Exponents, signs, infinity and long fractions are rare: a string and `Number` are good enough. */
const DECIMAL = /^\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const INFINITE = /^\+?inf(inity)?$/i;
/** The shortest exact form of a double has at most 24 characters. */
const DOLLARS_TEXT_MAX = 64;

function parseUnusualDollars(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > DOLLARS_TEXT_MAX) return Number.NaN;
  const text = textOf(bytes, start, end);
  if (INFINITE.test(text)) return Number.POSITIVE_INFINITY;
  return DECIMAL.test(text) ? Number(text) : Number.NaN;
}
