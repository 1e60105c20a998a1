/**
 * Kubernetes quantities, read exactly into integer units of their dimension and written canonically. Units
 * are chosen so that a whole fleet adds up below 2^53, where doubles are exact: 500,000 machines of 768Gi
 * are 4·10^14 KiB, a twentieth of the limit. Inside the shard a quantity is always such a number.
 *
 *   dimension                                          unit
 *   memory, storage, ephemeral-storage, hugepages-*    KiB    also as the last dotted part of a longer name
 *                                                             (requests.memory, gold.example/requests.storage)
 *   everything else, cpu and vendor/memory included    milli  a vendor's unit is unknown: read as bytes, small
 *                                                             counts would round down to zero
 *
 * Demand rounds up and supply rounds down, per value, before anything is added: rounding may cost a
 * fraction of a unit, but never promises capacity that does not exist. Nearly every quantity is a short
 * integer with a suffix; a few multiplications that are exact in doubles read it. All others
 * (fractions, exponents, values near the limit) go through BigInt.
 */
import { compareBytewise } from './dimensions.ts';
import { ShardError } from './errors.ts';
import { KEY_BYTES_MAX } from './text-limits.ts';

/** 2^53 − 1: the last integer up to which every sum of units is exact. */
export const UNITS_MAX = Number.MAX_SAFE_INTEGER;

/** Longer than any meaningful quantity; bounds the work of BigInt. */
const TEXT_LENGTH_MAX = 128;

/** T3. Longer names are refused first of all: names are kept, compared and matched, and one of a megabyte would cost minutes. */
export const NAME_LENGTH_MAX = KEY_BYTES_MAX;

export type QuantityFault = 'unparseable' | 'negative' | 'too large' | 'named too long';

export class InvalidQuantityError extends ShardError {
  readonly code = 'invalid_quantity';
  readonly next = 'reject-input';
  readonly dimension: string;
  readonly fault: QuantityFault;

  constructor(dimension: string, text: string, fault: QuantityFault) {
    const shown = JSON.stringify(text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text);
    const name = JSON.stringify(dimension.slice(0, NAME_LENGTH_MAX));
    super(
      `Quantity ${shown} of ${name} is ${fault}: ${FAULT_MEANS[fault]}. ` +
        'The shard refused the message that carried it; the last good value stays.',
    );
    this.dimension = dimension;
    this.fault = fault;
  }
}

const FAULT_MEANS: Readonly<Record<QuantityFault, string>> = {
  unparseable: 'a Kubernetes quantity is a number such as 96, 1.5, 500m, 1e3 or 768Gi',
  negative: 'demand and capacity cannot be below zero',
  'named too long': `a resource's name has at most ${NAME_LENGTH_MAX} characters`,
  'too large': 'the limit is 2^53 − 1 units (milli, or KiB for memory and storage)',
};

/** Units of a demanded quantity, rounded up. Throws above 2^53 − 1 units. */
export function parseDemand(dimension: string, text: string): number {
  const units = parseUnits(dimension, text, true);
  if (units > UNITS_MAX) throw new InvalidQuantityError(dimension, text, 'too large');
  return units;
}

/** Units of an offered quantity, rounded down. Above 2^53 − 1 units it counts as that many. */
export function parseSupply(dimension: string, text: string): number {
  return Math.min(UNITS_MAX, parseUnits(dimension, text, false));
}

/** The canonical text: bytes with the largest binary suffix that divides them exactly, other dimensions decimal. */
export function formatQuantity(dimension: string, units: number): string {
  if (!isInKib(dimension)) return units % 1000 === 0 ? String(units / 1000) : `${units}m`;
  if (units === 0) return '0';
  let step = 0;
  let scaled = units;
  while (step < BINARY_SUFFIXES.length - 1 && scaled % 1024 === 0) {
    scaled /= 1024;
    step++;
  }
  return `${scaled}${BINARY_SUFFIXES[step]}`;
}

/** A whole vector, zeros left out, names in bytewise order: `cpu=24,memory=8Gi`. */
export function formatAmounts(amounts: Readonly<Record<string, number>>): string {
  const names = Object.keys(amounts).filter((name) => amounts[name] !== 0);
  return names
    .sort(compareBytewise)
    .map((name) => `${name}=${formatQuantity(name, amounts[name]!)}`)
    .join(',');
}

const BYTES_NAME = /(^|\.)(memory|storage|ephemeral-storage|hugepages-[^/]*)$/;

/** Names come from outside, so the memory for them is bounded; a fleet has about ten. */
const NAMES_REMEMBERED_MAX = 1024;
const inKibByName = new Map<string, boolean>();

/** Whether a dimension counts bytes (unit KiB) rather than things (unit milli). */
export function isInKib(dimension: string): boolean {
  const known = inKibByName.get(dimension);
  if (known !== undefined) return known;
  if (inKibByName.size === NAMES_REMEMBERED_MAX) inKibByName.clear();
  const inKib = BYTES_NAME.test(dimension);
  inKibByName.set(dimension, inKib);
  return inKib;
}

const BINARY_SUFFIXES = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;

/** Powers of ten and of two that a suffix stands for. */
const SUFFIX_POWERS = new Map<string, { readonly ten: number; readonly two: number }>();
for (const [step, suffix] of ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].entries()) {
  SUFFIX_POWERS.set(suffix, { ten: 3 * (step - 3), two: 0 });
}
for (const [step, suffix] of BINARY_SUFFIXES.entries()) {
  SUFFIX_POWERS.set(suffix, { ten: 0, two: 10 * (step + 1) });
}

/**
 * Whole factors from a suffixed number to milli, and to bytes or KiB. A binary suffix leads to KiB at
 * once; any other leads to bytes, and the division by 1024 comes last. `n` and `u` have no whole factor
 * and `m` none to bytes: those take the exact path.
 */
const MILLI_FACTORS = new Map<string, number>();
const BYTE_FACTORS = new Map<string, number>();
const KIB_FACTORS = new Map<string, number>();
for (const [suffix, { ten, two }] of SUFFIX_POWERS) {
  if (ten >= -3) MILLI_FACTORS.set(suffix, 10 ** (ten + 3) * 2 ** two);
  if (two > 0) KIB_FACTORS.set(suffix, 2 ** (two - 10));
  else if (ten >= 0) BYTE_FACTORS.set(suffix, 10 ** ten);
}

/** Every integer of this many digits is exact in a double. */
const FAST_DIGITS_MAX = 15;
const NOT_FAST = -1;

function parseUnits(dimension: string, text: string, roundUp: boolean): number {
  if (dimension.length > NAME_LENGTH_MAX) throw new InvalidQuantityError(dimension, text, 'named too long');
  const inKib = isInKib(dimension);
  const units = readFast(text, inKib, roundUp);
  return units === NOT_FAST ? readExactly(dimension, text, inKib, roundUp) : units;
}

function readFast(text: string, inKib: boolean, roundUp: boolean): number {
  let value = 0;
  let at = 0;
  for (; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  if (at === 0 || at > FAST_DIGITS_MAX) return NOT_FAST;
  const suffix = at === text.length ? '' : text.slice(at);
  const factor = (inKib ? KIB_FACTORS : MILLI_FACTORS).get(suffix);
  if (factor !== undefined) return value * factor; // exact up to the limit; beyond it never rounds below it
  const byteFactor = inKib ? BYTE_FACTORS.get(suffix) : undefined;
  if (byteFactor === undefined) return NOT_FAST;
  const bytes = value * byteFactor;
  if (bytes > UNITS_MAX) return NOT_FAST;
  return roundUp ? Math.ceil(bytes / 1024) : Math.floor(bytes / 1024);
}

const QUANTITY = /^([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+)|([EPTGMKknum]i?|))$/;

/**
 * Beyond 10^±64 the answer needs no arithmetic: more than any limit, or less than one unit. (There are at most
 * TEXT_LENGTH_MAX digits, and a suffix shifts by at most 10^±21.)
 */
const MAGNITUDE_MAX = 64;

function readExactly(dimension: string, text: string, inKib: boolean, roundUp: boolean): number {
  const parts = text.length <= TEXT_LENGTH_MAX ? QUANTITY.exec(text) : null;
  const powers = parts === null ? undefined : SUFFIX_POWERS.get(parts[5] ?? '');
  if (parts === null || powers === undefined) throw new InvalidQuantityError(dimension, text, 'unparseable');
  const fraction = parts[3] ?? '';
  const digits = (parts[2]! + fraction).replace(/^0+/, '');
  if (digits === '') return 0;
  if (parts[1] === '-') throw new InvalidQuantityError(dimension, text, 'negative');
  const ten = Number(parts[4] ?? 0) + powers.ten - fraction.length + (inKib ? 0 : 3);
  const two = powers.two - (inKib ? 10 : 0);
  if (digits.length + ten > MAGNITUDE_MAX) return Number.POSITIVE_INFINITY;
  if (digits.length + ten < -MAGNITUDE_MAX) return roundUp ? 1 : 0;
  const above = BigInt(digits) * 10n ** BigInt(Math.max(0, ten)) * 2n ** BigInt(Math.max(0, two));
  const below = 10n ** BigInt(Math.max(0, -ten)) * 2n ** BigInt(Math.max(0, -two));
  return Number(roundUp ? (above + below - 1n) / below : above / below);
}
