/**
 * What a need asks of a machine: requirements on its attributes and a spread over its domains. Both have
 * one normal form, so that two operators that list the same requirements in another order share a profile;
 * the fingerprint is that form as text. The shard stores it with a machine's assignment, where it survives
 * restarts, so its format is part of the protocol. Operator and mode numbers are the protocol's.
 */
import { compareBytewise } from '../base/dimensions.ts';
import type { PenaltyBucket } from '../machine/penalty.ts';

export const Operator = {
  Unspecified: 0,
  In: 1,
  NotIn: 2,
  Exists: 3,
  DoesNotExist: 4,
  Same: 5, // all machines of the need must share one value: a gang in one rack
} as const;

export const WhenUnsatisfiable = {
  Unspecified: 0,
  DoNotSchedule: 1,
  ScheduleAnyway: 2,
} as const;

export interface Requirement {
  readonly key: string;
  /** One of Operator; a plain number as it arrives, checked at the boundary (rollup.ts). */
  readonly operator: number;
  readonly values: readonly string[];
}

export interface Spread {
  readonly topologyKey: string;
  readonly maxSkew: number;
  /** One of WhenUnsatisfiable. */
  readonly whenUnsatisfiable: number;
}

/** The parts of a profile. The cluster, the group, the amounts and the arrival belong to the need. */
export interface ProfileParts {
  readonly requirements: readonly Requirement[];
  readonly spread: readonly Spread[];
  readonly priority: number;
  readonly interruptionPenalty: PenaltyBucket;
  readonly reclamationPenalty: PenaltyBucket;
}

export function isOperator(value: number): boolean {
  return Number.isInteger(value) && value >= Operator.Unspecified && value <= Operator.Same;
}

export function isWhenUnsatisfiable(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= WhenUnsatisfiable.ScheduleAnyway;
}

/** A row may list twenty thousand values, and a decision asks each of them of hundreds of families. */
const FEW_VALUES = 32;
const longLists = new WeakMap<readonly string[], ReadonlySet<string>>();

function isListed(values: readonly string[], value: string): boolean {
  if (values.length <= FEW_VALUES) return values.includes(value);
  let known = longLists.get(values);
  if (known === undefined) {
    known = new Set(values);
    longLists.set(values, known);
  }
  return known.has(value);
}

/** Whether a machine whose attribute has this value (undefined: lacks it) meets the requirement. */
export function matches(requirement: Requirement, attribute: string | undefined): boolean {
  const { operator, values } = requirement;
  switch (operator) {
    case Operator.In:
      return attribute !== undefined && isListed(values, attribute);
    case Operator.NotIn:
      return attribute === undefined || !isListed(values, attribute);
    case Operator.Exists:
      return attribute !== undefined;
    case Operator.DoesNotExist:
      return attribute === undefined;
    case Operator.Same:
      return attribute !== undefined && (values.length === 0 || isListed(values, attribute));
    default:
      return false; // unspecified: no machine can meet it
  }
}

/** By key, then operator, then values; the values are sorted too, so that the order given never matters. */
export function normalRequirements(requirements: readonly Requirement[]): readonly Requirement[] {
  return requirements
    .map(({ key, operator, values }) => ({ key, operator, values: values.toSorted(compareBytewise) }))
    .sort(
      (a, b) =>
        compareBytewise(a.key, b.key) ||
        a.operator - b.operator ||
        compareBytewise(a.values.join(','), b.values.join(',')) ||
        compareBytewise(JSON.stringify(a.values), JSON.stringify(b.values)),
    );
}

/** By key, then skew, then mode. */
export function normalSpread(spread: readonly Spread[]): readonly Spread[] {
  return spread
    .map(({ topologyKey, maxSkew, whenUnsatisfiable }) => ({ topologyKey, maxSkew, whenUnsatisfiable }))
    .sort(
      (a, b) =>
        compareBytewise(a.topologyKey, b.topologyKey) ||
        a.maxSkew - b.maxSkew ||
        a.whenUnsatisfiable - b.whenUnsatisfiable,
    );
}

/** The profile as one line of text. Takes the parts in any order. */
export function fingerprintOf(parts: ProfileParts): string {
  const requirements = normalRequirements(parts.requirements);
  return fingerprintOfNormal({ ...parts, requirements, spread: normalSpread(parts.spread) });
}

/** The same of parts in normal form: to sort those of a long row takes milliseconds. */
export function fingerprintOfNormal(parts: ProfileParts): string {
  let text = `p=${parts.priority}|ipb=${parts.interruptionPenalty}|rpb=${parts.reclamationPenalty}|reqs=`;
  for (const { key, operator, values } of parts.requirements) {
    text += `${key}:${operator}:${values.join(',')};`;
  }
  text += '|spr=';
  for (const { topologyKey, maxSkew, whenUnsatisfiable } of parts.spread) {
    text += `${topologyKey}:${maxSkew}:${whenUnsatisfiable};`;
  }
  return text;
}

/** Keys whose value all machines of the need must share, each once, in bytewise order. */
export function sameKeysOf(requirements: readonly Requirement[]): readonly string[] {
  const keys = requirements.filter(({ operator }) => operator === Operator.Same).map(({ key }) => key);
  return [...new Set(keys)].sort(compareBytewise);
}

export function withoutSameRequirements(requirements: readonly Requirement[]): readonly Requirement[] {
  return requirements.filter(({ operator }) => operator !== Operator.Same);
}
