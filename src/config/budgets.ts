/**
 * Entries of `disruption-budgets` (H9). In a file an entry is a mapping; as a flag, and in --print-config, it is one text:
 *
 *   nights; cluster=prod-eu-1; max=5%; window=1h; at-a-time=3; open=0 22 * * 1-5; for=6h; time-zone=Europe/Berlin
 */
import { CronSchedule } from './schedule.ts';
import { InvalidValueError } from './setting.ts';
import { formatDurationMs, parseDurationMs } from './units.ts';

export type AmountValue = { readonly count: number } | { readonly percent: number };

export interface BudgetEntry {
  readonly name: string;
  readonly cluster: string;
  readonly provider: string;
  readonly zone: string;
  readonly instanceType: string;
  readonly capacityType: string;
  /** null: no limit over time. */
  readonly max: AmountValue | null;
  /** 0 without `max`. */
  readonly windowMs: number;
  readonly atATime: AmountValue | null;
  /** A cron pattern; '': always open. */
  readonly open: string;
  /** 0 without `open`. */
  readonly forMs: number;
  readonly timeZone: string;
}

export const BUDGET_KEY = 'budget';
const KEYS = [
  'cluster',
  'provider',
  'zone',
  'instance-type',
  'capacity-type',
  'max',
  'window',
  'at-a-time',
  'open',
  'for',
  'time-zone',
] as const;
type Key = (typeof KEYS)[number];

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const EXAMPLE = 'Write it like nights; cluster=prod-eu-1; max=5%; window=1h; open=0 22 * * *; for=6h';
/** Five names of up to 512 characters, and six short texts. */
const ENTRY_CHARS_MAX = 4_096;
const COUNT_MAX = 1_000_000_000;
/** Shorter than a few cycles, a window limits nothing that R2 does not. */
const SPAN_MS_MIN = 60_000;
/** As other durations: 24 days. */
const SPAN_MS_MAX = 24 * 24 * 3_600_000;

export function readBudget(text: string): BudgetEntry {
  if (text.length > ENTRY_CHARS_MAX)
    throw new InvalidValueError(
      `an entry of ${text.length} characters is longer than ${ENTRY_CHARS_MAX}`,
      EXAMPLE,
    );
  const [first = '', ...parts] = text.split(';').map((part) => part.trim());
  const name = first.startsWith(`${BUDGET_KEY}=`) ? first.slice(BUDGET_KEY.length + 1).trim() : first;
  if (!NAME.test(name))
    throw new InvalidValueError(
      `${JSON.stringify(name)} is not a name of 1 to 64 letters, digits, dots, dashes and underscores`,
      EXAMPLE,
    );
  const values = valuesOf(name, parts);
  const refuse = (what: string, remedy: string) =>
    new InvalidValueError(`the budget ${name}: ${what}`, remedy);
  const both = (one: Key, other: Key) => {
    if (values.has(one) === values.has(other)) return;
    const [given, missing] = values.has(one) ? [one, other] : [other, one];
    throw refuse(`${given} is given without ${missing}`, `Give both, or neither. ${EXAMPLE}`);
  };
  both('max', 'window');
  both('open', 'for');
  if (!values.has('max') && !values.has('at-a-time') && !values.has('open'))
    throw refuse('it limits nothing', EXAMPLE);
  if (values.has('time-zone') && !values.has('open'))
    throw refuse('time-zone is given without open', 'Give open and for too, or leave it out');
  const textOf = (key: Key) => values.get(key) ?? '';
  const amount = (key: Key) => (values.has(key) ? readAmount(key, textOf(key), refuse) : null);
  const span = (key: Key) => (values.has(key) ? readSpan(key, textOf(key), refuse) : 0);
  const entry: BudgetEntry = {
    name,
    cluster: textOf('cluster'),
    provider: textOf('provider'),
    zone: textOf('zone'),
    instanceType: textOf('instance-type'),
    capacityType: textOf('capacity-type'),
    max: amount('max'),
    windowMs: span('window'),
    atATime: amount('at-a-time'),
    open: textOf('open'),
    forMs: span('for'),
    timeZone: values.get('time-zone') ?? 'UTC',
  };
  if (entry.open !== '') checkSchedule(entry, refuse);
  return entry;
}

type Refuse = (what: string, remedy: string) => InvalidValueError;

function valuesOf(name: string, parts: readonly string[]): Map<Key, string> {
  const values = new Map<Key, string>();
  for (const part of parts.filter((one) => one !== '')) {
    const at = part.indexOf('=');
    const key = KEYS.find((one) => one === part.slice(0, Math.max(0, at)).trim());
    if (key === undefined)
      throw new InvalidValueError(
        `the budget ${name}: ${JSON.stringify(part)} is not one of its keys and a value`,
        `Write one of ${KEYS.join(', ')}`,
      );
    if (values.has(key))
      throw new InvalidValueError(`the budget ${name}: ${key} is given twice`, 'Give each key once');
    values.set(key, part.slice(at + 1).trim());
  }
  return values;
}

function readAmount(key: Key, text: string, refuse: Refuse): AmountValue {
  const [, digits, percent] = /^(\d{1,10})(%?)$/.exec(text) ?? [];
  const number = Number(digits);
  if (percent === '%' && number <= 100) return { percent: number };
  if (percent === '' && number <= COUNT_MAX) return { count: number };
  throw refuse(
    `${key} is ${JSON.stringify(text)}, neither a number of machines nor a share`,
    'Write it like 20 or 5%',
  );
}

function readSpan(key: Key, text: string, refuse: Refuse): number {
  const spanMs = parseDurationMs(text);
  if (spanMs !== null && spanMs >= SPAN_MS_MIN && spanMs <= SPAN_MS_MAX) return spanMs;
  throw refuse(`${key} is ${JSON.stringify(text)}, not a time from 1m to 24d`, 'Write it like 1h or 7d');
}

function checkSchedule({ open, forMs, timeZone }: BudgetEntry, refuse: Refuse): void {
  let opensMs: number | null;
  try {
    const schedule = new CronSchedule(open, forMs, timeZone);
    opensMs = schedule.opensMs(0);
  } catch (error) {
    throw refuse(
      `open is ${JSON.stringify(open)} in time zone ${JSON.stringify(timeZone)}: ${(error as Error).message}`,
      'Write five cron fields and a name of the time zone database: open=0 22 * * 1-5; time-zone=Europe/Berlin',
    );
  }
  if (opensMs === null) throw refuse(`open is ${JSON.stringify(open)}, a time that never comes`, EXAMPLE);
}

export function writeBudget(entry: BudgetEntry): string {
  const parts: readonly (readonly [Key, string])[] = [
    ['cluster', entry.cluster],
    ['provider', entry.provider],
    ['zone', entry.zone],
    ['instance-type', entry.instanceType],
    ['capacity-type', entry.capacityType],
    ['max', amountText(entry.max)],
    ['window', entry.windowMs === 0 ? '' : formatDurationMs(entry.windowMs)],
    ['at-a-time', amountText(entry.atATime)],
    ['open', entry.open],
    ['for', entry.forMs === 0 ? '' : formatDurationMs(entry.forMs)],
    ['time-zone', entry.open === '' ? '' : entry.timeZone],
  ];
  const given = parts.filter(([, value]) => value !== '').map(([key, value]) => `${key}=${value}`);
  return [entry.name, ...given].join('; ');
}

function amountText(amount: AmountValue | null): string {
  if (amount === null) return '';
  return 'count' in amount ? String(amount.count) : `${amount.percent}%`;
}
