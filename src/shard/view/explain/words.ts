/** Facts in words: amounts, times, requirements and counts read the same in every sentence. */
import { compareBytewise } from '../../../base/dimensions.ts';
import { formatQuantity, isInKib } from '../../../base/quantity.ts';
import { INSTANCE_TYPE_KEY } from '../../../inventory/shapes.ts';
import type { ResourceAmounts } from '../../../machine/machine.ts';
import { ALL_STATES, STATE_NAMES } from '../../../machine/state.ts';
import { Operator, type Requirement } from '../../../needs/requirements.ts';
import { subjectOf } from '../../controls/control.ts';
import { isPause } from '../../controls/flags.ts';
import type { BudgetView } from '../../ports/budgets.ts';
import type { Control } from '../../ports/controls.ts';
import type { StateCounts } from '../../ports/fleet-view.ts';

/** `1,203` in every locale. */
export function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** `1 machine`, `2 machines`. */
export function machines(value: number): string {
  return `${count(value)} machine${value === 1 ? '' : 's'}`;
}

export function areOrIs(value: number): string {
  return value === 1 ? 'is' : 'are';
}

/** `24 cpu and 8Gi memory`. */
export function amounts(of: ResourceAmounts): string {
  const names = Object.keys(of).filter((name) => of[name] !== 0);
  if (names.length === 0) return 'nothing';
  return list(names.sort(compareBytewise).map((name) => `${amount(name, of[name]!)} ${name}`));
}

const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi'] as const;
/** An exact amount with more digits than this is rounded. */
const EXACT_LENGTH_MAX = 4;

/** `24`, `8Gi`, and `268.8Gi` for `275251Mi`. */
export function amount(dimension: string, units: number): string {
  const exact = formatQuantity(dimension, units);
  if (exact.replace(/\D/g, '').length <= EXACT_LENGTH_MAX) return exact;
  if (!isInKib(dimension)) return count(Number((units / 1_000).toFixed(1)));
  const step = Math.min(BINARY.length - 1, Math.floor(Math.log2(units) / 10));
  return `${(units / 1024 ** step).toFixed(1)}${BINARY[step]}`;
}

/** `a`, `a and b`, `a, b and c`. */
export function list(words: readonly string[], last = 'and'): string {
  if (words.length <= 1) return words[0] ?? '';
  return `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The two largest units: `45 s`, `2 min 10 s`, `3 h 5 min`, `4 d`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < MINUTE_MS) return `${Math.floor(ms / 1_000)} s`;
  if (ms < HOUR_MS) return two(ms, MINUTE_MS, 'min', 1_000, 's');
  if (ms < DAY_MS) return two(ms, HOUR_MS, 'h', MINUTE_MS, 'min');
  return two(ms, DAY_MS, 'd', HOUR_MS, 'h');
}

function two(ms: number, unitMs: number, unit: string, smallMs: number, small: string): string {
  const rest = Math.floor((ms % unitMs) / smallMs);
  return rest === 0
    ? `${Math.floor(ms / unitMs)} ${unit}`
    : `${Math.floor(ms / unitMs)} ${unit} ${rest} ${small}`;
}

/** `zone is eu-1a or eu-1b`. */
export function requirement({ key, operator, values }: Requirement): string {
  const name = plainKey(key);
  switch (operator) {
    case Operator.In:
      return values.length === 0 ? `${name} is one of an empty list` : `${name} is ${list(values, 'or')}`;
    case Operator.NotIn:
      return `${name} is not ${list(values, 'or')}`;
    case Operator.Exists:
      return `${name} is set`;
    case Operator.DoesNotExist:
      return `${name} is not set`;
    case Operator.Same:
      return values.length === 0
        ? `all share one ${name}`
        : `all share one ${name}, which is ${list(values, 'or')}`;
    default:
      return `${name} has an unknown operator, which matches no machine`;
  }
}

const TOPOLOGY = 'topology.kubernetes.io/';

/** `zone` for topology.kubernetes.io/zone; other keys as they are, since their prefix may matter. */
export function plainKey(key: string): string {
  if (key === INSTANCE_TYPE_KEY) return 'instance type';
  return key.startsWith(TOPOLOGY) ? key.slice(TOPOLOGY.length) : key;
}

/** `4 Idle and 12 Configured`. */
export function states(counts: StateCounts): string {
  return list(
    ALL_STATES.filter((state) => (counts[state] ?? 0) > 0).map(
      (state) => `${count(counts[state]!)} ${STATE_NAMES[state]}`,
    ),
  );
}

export function total(counts: StateCounts): number {
  return counts.reduce((sum, one) => sum + one, 0);
}

/** For texts from outside: the quotes keep their punctuation apart from the sentence's. */
export function quoted(text: string): string {
  return `“${text}”`;
}

/** `once, with “no token”`, `3 times in a row, last with “no token”`; the text is the other side's own. */
export function failuresWords(failures: number, text: string): string {
  const times = failures === 1 ? 'once' : `${count(failures)} times in a row`;
  if (text === '') return times;
  return `${times}, ${failures === 1 ? '' : 'last '}with ${quoted(text)}`;
}

/** `The shard keeps it: budget nights is used up (5 of 5 in 1 h), and gives the first back in 12 min.` */
export function budgetWords(budget: BudgetView, nowMs: number): string {
  const { name, holds, used, most, windowMs, givenBackMs, draining, drainingMost, opensMs } = budget;
  const inTime = (atMs: number) => duration(Math.max(0, atMs - nowMs));
  const keeps = 'The shard keeps it with its cluster:';
  switch (holds) {
    case 'closed':
      return `${keeps} disruption budget ${name} is closed${opensMs === null ? '' : `, and opens in ${inTime(opensMs)}`}.`;
    case 'used_up':
      return (
        `${keeps} disruption budget ${name} is used up (${count(used)} of ${count(most ?? 0)} machines in ${duration(windowMs ?? 0)})` +
        `${givenBackMs === null ? '' : `. The first of them counts for another ${inTime(givenBackMs)}`}.`
      );
    case 'draining':
      return `${keeps} ${count(draining)} machines of disruption budget ${name} drain now, and it allows ${count(drainingMost ?? 0)} at a time.`;
    case 'unread':
      return (
        `${keeps} the shard could not read what disruption budget ${name} had used when it started, so it counts as used up for ` +
        `${duration(windowMs ?? 0)} from then on.`
      );
    case '':
      return '';
  }
}

/** `control c7 of ann pauses bind of zone a for another 2 h (reason).` */
export function pauseWords(control: Control, nowMs: number): string {
  const { id, who, why, via, untilMs } = control;
  const does = control.pauses.every(isPause) ? 'pauses' : 'orders';
  const end =
    untilMs === null ? 'until it is lifted' : `for another ${duration(Math.max(0, untilMs - nowMs))}`;
  return (
    `control ${id} of ${who} ${does} ${subjectOf(control)} ${end} (${why}). ` +
    (via === 'file' ? 'Remove it from the configuration to end it.' : `To end it: flotilla resume ${id}.`)
  );
}
