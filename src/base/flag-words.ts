/**
 * Parses flag values: durations, shares, counts. A mistake gives one line that names the flag, the values it
 * takes and the value given.
 */
import { ShardError } from './errors.ts';

export class UsageError extends ShardError {
  readonly code = 'usage';
  readonly next = 'refuse-to-start';

  constructor(what: string) {
    super(`${what}. Nothing was started. Run with --help to see all flags.`);
  }
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

export function durationMs(flag: string, text: string): number {
  const match = /^(?<amount>\d+(?:\.\d+)?)(?<unit>ms|s|m|h)$/.exec(text);
  if (match === null)
    throw new UsageError(`--${flag} must be a duration such as 250ms, 2s or 5m, not "${text}"`);
  return Number(match.groups!.amount) * UNITS_MS[match.groups!.unit!]!;
}

/** `0.25` or `25%`. */
export function share(flag: string, text: string | number): number {
  const percent = /^(?<amount>\d+(?:\.\d+)?)%$/.exec(String(text))?.groups?.amount;
  const value = percent !== undefined ? Number(percent) / 100 : text === '' ? Number.NaN : Number(text);
  if (!(value >= 0 && value <= 1)) throw new UsageError(`--${flag} must be between 0 and 1, not "${text}"`);
  return value;
}

export function rate(flag: string, text = '0'): number {
  const value = text === '' ? Number.NaN : Number(text);
  if (!(value >= 0 && Number.isFinite(value)))
    throw new UsageError(`--${flag} must be a number ≥ 0, not "${text}"`);
  return value;
}

export function wholeNumber(
  flag: string,
  text: string | number,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): number {
  const value = text === '' ? Number.NaN : Number(text);
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    const upTo = max === Number.MAX_SAFE_INTEGER ? '' : ` and ≤ ${max}`;
    throw new UsageError(`--${flag} must be a whole number ≥ ${min}${upTo}, not "${text}"`);
  }
  return value;
}
