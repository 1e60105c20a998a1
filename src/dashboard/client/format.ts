/** Formats numbers, money and times. No DOM: the CLI uses this module too. */

const WHOLE = new Intl.NumberFormat('en-US');
const DOLLARS = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const CENTS = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const PRICE = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 4 });

export function count(value: number): string {
  return WHOLE.format(value);
}

/** `1 machine`, `2,000 machines`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** `$1,204`, `$12.30`; cents where they still matter. */
export function usd(value: number): string {
  return `$${(Math.abs(value) >= 1_000 ? DOLLARS : CENTS).format(value)}`;
}

export function price(value: number): string {
  return `$${PRICE.format(value)}`;
}

export function percent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0 %';
  const share = (100 * part) / whole;
  return share > 0 && share < 0.1 ? '< 0.1 %' : `${share < 10 ? share.toFixed(1) : Math.round(share)} %`;
}

/** `0.42 ms`, `31 ms`, `1.2 s`, `4 min`, `2 h 5 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(2)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s`;
  if (ms < 3_600_000) return pair(ms, 60_000, 'min', 1_000, 's');
  if (ms < 86_400_000) return pair(ms, 3_600_000, 'h', 60_000, 'min');
  return pair(ms, 86_400_000, 'd', 3_600_000, 'h');
}

/** The same without fractions of a second, for ages. */
export function age(ms: number): string {
  return ms < 1_000 ? '0 s' : duration(ms).replace(/^(\d+)\.\d+ s$/, '$1 s');
}

function pair(ms: number, unitMs: number, unit: string, smallMs: number, small: string): string {
  const units = Math.floor(ms / unitMs);
  const rest = Math.floor((ms % unitMs) / smallMs);
  return rest === 0 || units >= 10 ? `${units} ${unit}` : `${units} ${unit} ${rest} ${small}`;
}

export function clock(atMs: number): string {
  return new Date(atMs).toLocaleTimeString('en-GB');
}

/** `18 Nov 10:42:07`: an event may be days old. */
export function moment(atMs: number): string {
  const at = new Date(atMs);
  const day = at.toLocaleDateString('en-GB', { day: '2-digit', month: 'short' });
  return `${day} ${at.toLocaleTimeString('en-GB')}`;
}

/** `24 cpu, 8Gi memory`. */
export function quantities(of: Readonly<Record<string, string>>): string {
  const parts = Object.entries(of).map(([name, amount]) => `${quantity(amount)} ${name}`);
  return parts.length === 0 ? '–' : parts.join(', ');
}

const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** Shortens a canonical quantity: `268.8Gi` for `275251Mi`, `25.6` for `25600m`; short ones stay as they are. */
export function quantity(exact: string): string {
  const [, digits = '', suffix = ''] = /^(\d+)(\D*)$/.exec(exact) ?? [];
  if (suffix === 'm') return count(Number((Number(digits) / 1_000).toFixed(1)));
  if (digits.length <= 4 || !BINARY.includes(suffix))
    return digits.length > 4 && suffix === '' ? count(Number(digits)) : exact;
  let step = BINARY.indexOf(suffix);
  let value = Number(digits);
  for (; value >= 1_024 && step < BINARY.length - 1; step++) value /= 1_024;
  return `${value.toFixed(1)}${BINARY[step]}`;
}

const PLAIN_KEYS: Readonly<Record<string, string>> = {
  'node.kubernetes.io/instance-type': 'type',
  'topology.kubernetes.io/zone': 'zone',
};

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

/** `type m6.large or m6.xlarge`, `without gpu`, `one rack`. */
export function requirement({ key, operator, values }: Requirement): string {
  const name = PLAIN_KEYS[key] ?? key.slice(key.lastIndexOf('/') + 1);
  switch (operator) {
    case 'In':
      return `${name} ${values.join(' or ')}`;
    case 'NotIn':
      return `${name} not ${values.join(' or ')}`;
    case 'Exists':
      return `with ${name}`;
    case 'DoesNotExist':
      return `without ${name}`;
    case 'Same':
      return values.length === 0 ? `one ${name}` : `one ${name} of ${values.join(' or ')}`;
    default:
      return `${name}: unknown operator`;
  }
}

/** A round number at or above the value, for the top of an axis. */
export function niceCeiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const factor of [1, 2, 2.5, 5, 10]) if (factor * power >= value) return factor * power;
  return 10 * power;
}

/** H2: `reclaim, drain (2)`: what controls in force do; '' if none is. */
export function pausedWords(pauses: Readonly<Record<string, number>>): string {
  return Object.entries(pauses)
    .filter(([, controls]) => controls > 0)
    .map(([paused, controls]) => (controls === 1 ? paused : `${paused} (${controls})`))
    .join(', ');
}

/** S6: what a held listing lacks, how long the shard waits, and the command that ends it. */
/** Why a disruption budget lets no further machine go, and for how long; ''. */
export function budgetHolds(
  budget: {
    readonly holds: string;
    readonly opensAtMs: number | null;
    readonly givenBackAtMs: number | null;
  },
  nowMs: number,
): string {
  const within = (atMs: number | null) => (atMs === null ? '' : ` for ${age(Math.max(0, atMs - nowMs))}`);
  switch (budget.holds) {
    case 'closed':
      return `closed${within(budget.opensAtMs)}`;
    case 'used_up':
      return `used up${within(budget.givenBackAtMs)}`;
    case 'draining':
      return 'as many drain as may';
    case 'unread':
      return 'used up: its use could not be read';
    default:
      return '';
  }
}

export function heldWords(held: {
  readonly provider: string;
  readonly knownCount: number;
  readonly missingCount: number;
  readonly leftMs: number;
  readonly confirmedBy: string;
}): string {
  const { provider, knownCount, missingCount, leftMs, confirmedBy } = held;
  const lacks = `provider ${provider} lists ${count(missingCount)} of ${counted(knownCount, 'machine')} no longer, and the shard removes none`;
  if (confirmedBy !== '') return `${lacks} until its next listing; ${confirmedBy} confirmed it.`;
  return `${lacks} while that may be wrong (${age(leftMs)} more). If they are gone: flotilla confirm-removal ${provider} --why TEXT`;
}
