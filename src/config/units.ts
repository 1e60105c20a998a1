/**
 * Durations and sizes as users write them: `1m30s`, `1GiB`. Parsing is exact or fails. Formatting gives a text that
 * parses to the same value, so that the output of --print-config works as a config file.
 */

const DURATION_UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

/** Largest first, each unit at most once: `1h30m`, `1m30s`, `250ms`, `1.5s`; a bare `0` needs no unit. */
const DURATION =
  /^(?=.)(?:(?<d>\d+(?:\.\d+)?)d)?(?:(?<h>\d+(?:\.\d+)?)h)?(?:(?<m>\d+(?:\.\d+)?)m(?!s))?(?:(?<s>\d+(?:\.\d+)?)s)?(?:(?<ms>\d+)ms)?$/;

/** Milliseconds; null if the text is not a duration in whole milliseconds. */
export function parseDurationMs(text: string): number | null {
  if (text === '0') return 0;
  const groups = DURATION.exec(text)?.groups;
  if (groups === undefined) return null;
  let totalMs = 0;
  for (const [unit, unitMs] of DURATION_UNITS) totalMs += Number(groups[unit] ?? 0) * unitMs;
  // 1.1 s is 1100.0000000000002 ms in floating point: round, but only over such an error.
  const wholeMs = Math.round(totalMs);
  return Math.abs(totalMs - wholeMs) < 1e-6 && Number.isSafeInteger(wholeMs) ? wholeMs : null;
}

export function formatDurationMs(valueMs: number): string {
  if (valueMs === 0) return '0s';
  let text = '';
  let restMs = valueMs;
  for (const [unit, unitMs] of DURATION_UNITS) {
    const amount = Math.floor(restMs / unitMs);
    restMs -= amount * unitMs;
    if (amount > 0) text += `${amount}${unit}`;
  }
  return text;
}

const BYTE_UNITS = [
  ['TiB', 1024 ** 4],
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
  ['TB', 1e12],
  ['GB', 1e9],
  ['MB', 1e6],
  ['kB', 1e3],
  ['B', 1],
] as const;

/** `1GiB`, `1.5MiB`, `500MB`, or a number of bytes; null for anything else and for fractions of a byte. */
export function parseBytes(text: string): number | null {
  const groups = /^(?<amount>\d+(?:\.\d+)?)(?<unit>[A-Za-z]*)$/.exec(text)?.groups;
  if (groups === undefined) return null;
  const wanted = groups.unit === '' ? 'B' : groups.unit;
  const unitBytes = BYTE_UNITS.find(([unit]) => unit === wanted)?.[1];
  if (unitBytes === undefined) return null;
  const bytes = Number(groups.amount) * unitBytes;
  return Number.isSafeInteger(bytes) ? bytes : null;
}

export function formatBytes(bytes: number): string {
  const binary = BYTE_UNITS.filter(([unit]) => unit.endsWith('iB'));
  const unit = bytes === 0 ? undefined : binary.find(([, unitBytes]) => bytes % unitBytes === 0);
  return unit === undefined ? `${bytes}B` : `${bytes / unit[1]}${unit[0]}`;
}
