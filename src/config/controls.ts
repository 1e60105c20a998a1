/**
 * Entries of `controls` (H2): pauses that the configuration declares. In a file an entry is a mapping; as a flag or variable, and in
 * --print-config, it is one text:
 *
 *   reclaim preempt; cluster=prod-eu-1; why=migration; until=2026-12-01T06:00:00Z
 */
import { InvalidValueError } from './setting.ts';

export interface ControlEntry {
  /** Names of what is paused, as a command gives them. */
  readonly pauses: readonly string[];
  readonly cluster: string;
  readonly provider: string;
  readonly zone: string;
  readonly instanceType: string;
  readonly capacityType: string;
  readonly who: string;
  readonly why: string;
  /** null: for as long as it is declared. */
  readonly untilMs: number | null;
}

export const CONTROL_KEY = 'pause';
const KEYS = [
  'cluster',
  'provider',
  'zone',
  'instance-type',
  'capacity-type',
  'who',
  'why',
  'until',
] as const;
type Key = (typeof KEYS)[number];
const EXAMPLE = 'Write it like reclaim preempt; cluster=prod-eu-1; why=migration';
/** Five names, and eight texts of up to 1,024 characters. */
const ENTRY_CHARS_MAX = 8_192;
const DATE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/;

export function readControlEntry(text: string): ControlEntry {
  if (text.length > ENTRY_CHARS_MAX)
    throw new InvalidValueError(
      `an entry of ${text.length} characters is longer than ${ENTRY_CHARS_MAX}`,
      EXAMPLE,
    );
  const [first = '', ...parts] = text.split(';').map((part) => part.trim());
  const names = first.startsWith(`${CONTROL_KEY}=`) ? first.slice(CONTROL_KEY.length + 1) : first;
  const pauses = names.split(/[\s,]+/).filter((name) => name !== '');
  const values = new Map<Key, string>();
  for (const part of parts.filter((one) => one !== '')) {
    const at = part.indexOf('=');
    const key = KEYS.find((one) => one === part.slice(0, Math.max(0, at)).trim());
    if (key === undefined)
      throw new InvalidValueError(
        `the pause of ${names}: ${JSON.stringify(part)} is not one of its keys and a value`,
        `Write one of ${KEYS.join(', ')}`,
      );
    if (values.has(key))
      throw new InvalidValueError(`the pause of ${names}: ${key} is given twice`, 'Give each key once');
    values.set(key, part.slice(at + 1).trim());
  }
  if (!values.get('why')) throw new InvalidValueError(`the pause of ${names} does not say why`, EXAMPLE);
  const textOf = (key: Key) => values.get(key) ?? '';
  return {
    pauses,
    cluster: textOf('cluster'),
    provider: textOf('provider'),
    zone: textOf('zone'),
    instanceType: textOf('instance-type'),
    capacityType: textOf('capacity-type'),
    who: values.get('who') ?? 'configuration',
    why: textOf('why'),
    untilMs: values.has('until') ? readTime(names, textOf('until')) : null,
  };
}

function readTime(names: string, text: string): number {
  const timeMs = DATE.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(timeMs)) return timeMs;
  throw new InvalidValueError(
    `the pause of ${names}: until is ${JSON.stringify(text)}, not a time`,
    'Write it like 2026-12-01T06:00:00Z',
  );
}

export function writeControlEntry(entry: ControlEntry): string {
  const parts = [
    ['cluster', entry.cluster],
    ['provider', entry.provider],
    ['zone', entry.zone],
    ['instance-type', entry.instanceType],
    ['capacity-type', entry.capacityType],
    ['who', entry.who],
    ['why', entry.why],
    ['until', entry.untilMs === null ? '' : new Date(entry.untilMs).toISOString()],
  ] as const;
  const given = parts.filter(([, value]) => value !== '').map(([key, value]) => `${key}=${value}`);
  return [entry.pauses.join(' '), ...given].join('; ');
}
