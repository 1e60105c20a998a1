/** Profiles: the fingerprint (N2), the matching of requirements with a machine (V4), and the name of a fold (A1). */
import { amountOf, wantedDimensions } from './amounts.ts';
import { compareBytes, compareNumbers, firstDifference } from './bytes.ts';
import { type Amounts, Operator, type Requirement, type Spread, type WorldMachine } from './world.ts';

export interface Profile {
  requirements: Requirement[];
  spread: Spread[];
  priority: number;
  interruptionPenalty: number;
  reclamationPenalty: number;
}

/** N2: "Requirements sorted by key then operator, values sorted, spread sorted by key". */
export function fingerprintOf(profile: Profile): string {
  const requirements = profile.requirements
    .map(({ key, operator, values }) => ({ key, operator, values: values.toSorted(compareBytes).join(',') }))
    .sort((left, right) =>
      firstDifference(
        compareBytes(left.key, right.key),
        compareNumbers(left.operator, right.operator),
        compareBytes(left.values, right.values),
      ),
    )
    .map(({ key, operator, values }) => `${key}:${operator}:${values};`);
  const spread = sortedSpread(profile.spread).map(
    ({ key, maxSkew, whenUnsatisfiable }) => `${key}:${maxSkew}:${whenUnsatisfiable};`,
  );
  return (
    `p=${profile.priority}|ipb=${profile.interruptionPenalty}|rpb=${profile.reclamationPenalty}` +
    `|reqs=${requirements.join('')}|spr=${spread.join('')}`
  );
}

export function sortedSpread(spread: readonly Spread[]): Spread[] {
  return spread.toSorted((left, right) =>
    firstDifference(
      compareBytes(left.key, right.key),
      compareNumbers(left.maxSkew, right.maxSkew),
      compareNumbers(left.whenUnsatisfiable, right.whenUnsatisfiable),
    ),
  );
}

export function withoutSame(requirements: readonly Requirement[]): Requirement[] {
  return requirements.filter(({ operator }) => operator !== Operator.Same);
}

/** The keys of the Same requirements, in bytewise order, each once. */
export function sameKeysOf(requirements: readonly Requirement[]): string[] {
  const keys = requirements.filter(({ operator }) => operator === Operator.Same).map(({ key }) => key);
  return [...new Set(keys)].sort(compareBytes);
}

/**
 * V4: "`node.kubernetes.io/instance-type` is the instance type and `topology.kubernetes.io/zone` the zone where
 * set, else the label; every other key is a label". Null: the machine lacks it.
 */
export function attributeOf(machine: WorldMachine, key: string): string | null {
  if (key === 'node.kubernetes.io/instance-type' && machine.instanceType !== '') return machine.instanceType;
  if (key === 'topology.kubernetes.io/zone' && machine.zone !== '') return machine.zone;
  return Object.hasOwn(machine.labels, key) ? machine.labels[key]! : null;
}

export function matches(requirements: readonly Requirement[], machine: WorldMachine): boolean {
  return requirements.every((requirement) => meets(requirement, attributeOf(machine, requirement.key)));
}

export function meets({ operator, values }: Requirement, attribute: string | null): boolean {
  switch (operator) {
    case Operator.In: // "has it and it is listed"
      return attribute !== null && values.includes(attribute);
    case Operator.NotIn: // "lacks it, or not listed"
      return attribute === null || !values.includes(attribute);
    case Operator.Exists:
      return attribute !== null;
    case Operator.DoesNotExist:
      return attribute === null;
    case Operator.Same: // "has it and, if values are given, it is listed"
      return attribute !== null && (values.length === 0 || values.includes(attribute));
    case Operator.Unspecified: // "no match"
      return false;
  }
}

/** The values of the keys on a machine; null if it lacks one. */
export function domainOf(machine: WorldMachine, keys: readonly string[]): string[] | null {
  const values = keys.map((key) => attributeOf(machine, key));
  return values.every((value) => value !== null) ? values : null;
}

/**
 * READING: A1's "`fold:` and the canonical aggregate of one gang" is `name=quantity` by name, bytewise, joined by `,`,
 * each quantity as V3 renders it, zeros left out: `fold:cpu=4,memory=8Gi`.
 */
export function foldGroupOf(gangAggregate: Amounts): string {
  const parts = wantedDimensions(gangAggregate).map(
    (dimension) => `${dimension}=${renderQuantity(dimension, amountOf(gangAggregate, dimension))}`,
  );
  return `fold:${parts.join(',')}`;
}

/**
 * V3: "memory, storage and hugepages with the largest binary suffix that divides exactly (`8Gi`), others decimal (`24`,
 * `500m`)". Units are KiB for memory and storage and thousandths for anything else.
 */
export function renderQuantity(dimension: string, units: number): string {
  const inKibibytes = dimension === 'memory' || dimension === 'storage' || dimension === 'ephemeral-storage';
  if (!inKibibytes && units % 1000 !== 0) return `${units}m`;
  const whole = inKibibytes ? BigInt(units) * 1024n : BigInt(units) / 1000n;
  if (!inKibibytes && !dimension.startsWith('hugepages-')) return whole.toString();
  for (const [suffix, power] of BINARY_SUFFIXES) {
    if (whole !== 0n && whole % 1024n ** power === 0n) return `${whole / 1024n ** power}${suffix}`;
  }
  return whole.toString();
}

const BINARY_SUFFIXES = [
  ['Ei', 6n],
  ['Pi', 5n],
  ['Ti', 4n],
  ['Gi', 3n],
  ['Mi', 2n],
  ['Ki', 1n],
] as const;
