/**
 * `ceilings` (E7): the most that the fleet may cost per hour. In a file it is a mapping; as a flag or variable, and in
 * --print-config, it is one text:
 *
 *   usd-per-hour=5000; spot-usd-per-hour=800
 */
import { InvalidValueError } from './setting.ts';

export const CEILING_NAMES = [
  'usd-per-hour',
  'bare-metal-usd-per-hour',
  'reserved-usd-per-hour',
  'on-demand-usd-per-hour',
  'spot-usd-per-hour',
] as const;
export type CeilingName = (typeof CEILING_NAMES)[number];

/** Dollars per hour; what is left out has no ceiling. */
export type CeilingValues = Readonly<Partial<Record<CeilingName, number>>>;

/** Sums of prices stay exact in millionths of a dollar: 2^53 ÷ 10^6 is 9 × 10^9. */
const DOLLARS_MAX = 1_000_000_000;
/** Five names of 23 characters, with a number of 20 each, are 250. */
const TEXT_CHARS_MAX = 1_024;
const EXAMPLE = 'Write it like usd-per-hour=5000; spot-usd-per-hour=800';

export function readCeilings(text: string): CeilingValues {
  if (text.length > TEXT_CHARS_MAX)
    throw new InvalidValueError(
      `a text of ${text.length} characters is longer than ${TEXT_CHARS_MAX}`,
      EXAMPLE,
    );
  const values: Partial<Record<CeilingName, number>> = {};
  const parts = text.split(';').map((part) => part.trim());
  for (const part of parts.filter((one) => one !== '')) {
    const at = part.indexOf('=');
    if (at < 0)
      throw new InvalidValueError(`${JSON.stringify(part)} is not a ceiling and its value`, EXAMPLE);
    const key = part.slice(0, at).trim();
    const name = CEILING_NAMES.find((one) => one === key);
    if (name === undefined)
      throw new InvalidValueError(
        `unknown ceiling ${JSON.stringify(key)}`,
        `Write one of ${CEILING_NAMES.join(', ')}`,
      );
    if (values[name] !== undefined)
      throw new InvalidValueError(`${name} is given twice`, 'Give each ceiling once');
    values[name] = readDollars(name, part.slice(at + 1).trim());
  }
  return values;
}

function readDollars(name: CeilingName, text: string): number {
  const dollars = /^(?:\d+(?:\.\d+)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
  if (dollars <= DOLLARS_MAX) return dollars;
  throw new InvalidValueError(
    `${name} is ${JSON.stringify(text)}, not a number of dollars`,
    `Choose 0 to ${DOLLARS_MAX}`,
  );
}

export function writeCeilings(values: CeilingValues): string {
  return CEILING_NAMES.filter((name) => values[name] !== undefined)
    .map((name) => `${name}=${decimal(values[name]!)}`)
    .join('; ');
}

/** Without an exponent, which `readDollars` refuses. */
function decimal(value: number): string {
  const text = String(value);
  return text.includes('e') ? value.toFixed(20).replace(/\.?0+$/, '') : text;
}
