/** Random needs with profiles from a small set, so that clusters share fingerprints and needs fold, tie and compete. */
import type { Random } from '../../src/base/random.ts';
import { PenaltyBucket } from '../../src/machine/penalty.ts';
import { fingerprintOf, sameKeysOf, withoutSame } from './profile.ts';
import {
  type Amounts,
  Operator,
  type Requirement,
  type Spread,
  WhenUnsatisfiable,
  type World,
  type WorldNeed,
} from './world.ts';

export const CLUSTER_IDS = ['alpha', 'beta', 'beta-2', 'gamma'] as const;
export const NEEDS_MAX = 12;

export const ZONE_KEY = 'topology.kubernetes.io/zone';
export const TYPE_KEY = 'node.kubernetes.io/instance-type';
export const RACK_KEY = 'rack';
export const TIER_KEY = 'tier';
export const ZONES = ['zone-1', 'zone-10', 'zone-2'] as const;
export const RACKS = ['rack-a', 'rack-b', 'rack-c', 'rack-é'] as const;
export const TIERS = ['gold', 'silver'] as const;
export const GIBIBYTE_UNITS = 1_048_576; // KiB

const { Unspecified, Zero, HalfDollar, Pinned } = PenaltyBucket;
/** T4: too long to be written on machines. Among the short ones in order, its digest would not be. */
const LONG_GROUP = `job-10${'/long'.repeat(60)}`;
const GANG_GROUPS = ['job-1', LONG_GROUP, 'job-2', 'job-3', 'job-4', ''] as const;
/** No machine has it: it makes a fingerprint long and matches nothing. */
const LONG_VALUE = 'x'.repeat(512);
const PRIORITIES = [0, 10, 10, 1_000, 1_000, 200_000, 700_000, 1_200_000, 2_000_000, -5] as const;
const BUCKETS = [Unspecified, Zero, Zero, HalfDollar, 5, 12, Pinned] as const;

export function randomNeed(world: World, random: Random): WorldNeed {
  const isGang = random.chance(0.5);
  const requirements = [...randomSelectors(random), ...(isGang ? randomSame(random) : [])];
  return {
    requirements: random.shuffle(requirements),
    spread: random.chance(isGang ? 0.15 : 0.35) ? randomSpread(random) : [],
    priority: random.pick(PRIORITIES),
    interruptionPenalty: random.chance(0.5) ? Unspecified : random.pick(BUCKETS),
    reclamationPenalty: random.chance(0.5) ? Unspecified : random.pick(BUCKETS),
    aggregate: randomAggregate(isGang, random),
    minUnit: randomMinUnit(random),
    group: isGang ? random.pick(GANG_GROUPS) : random.pick(['', '', `web${'/long'.repeat(60)}`]),
    // Equal arrivals are common, because one roll-up contains many needs.
    arrivalMs: world.nowMs - random.pick([0, 0, 10_000, 20_000]),
    backoff: random.chance(0.06),
  };
}

/** A need for a cluster that has reported; none if its (fingerprint, group) exists already (N3: such rows merge). */
export function addNeed(world: World, random: Random): void {
  const reported = world.clusters.filter((cluster) => cluster.reported);
  const needCount = world.clusters.reduce((count, cluster) => count + cluster.needs.length, 0);
  if (reported.length === 0 || needCount >= NEEDS_MAX) return;
  const cluster = random.pick(reported);
  const need = random.chance(0.5) ? randomNeed(world, random) : randomSibling(world, random);
  const isNew = cluster.needs.every(
    (other) => other.group !== need.group || fingerprintOf(other) !== fingerprintOf(need),
  );
  if (isNew) cluster.needs.push(need);
}

/** Another gang of an existing job, or the same profile in another cluster: folds, ties and sums take several needs. */
function randomSibling(world: World, random: Random): WorldNeed {
  const needs = world.clusters.flatMap((cluster) => cluster.needs);
  if (needs.length === 0) return randomNeed(world, random);
  const sibling = structuredClone(random.pick(needs));
  const isGang = sameKeysOf(sibling.requirements).length > 0;
  const fresh = randomNeed(world, random);
  sibling.group = isGang ? random.pick(GANG_GROUPS) : fresh.group;
  sibling.arrivalMs = fresh.arrivalMs;
  if (random.chance(0.2)) sibling.aggregate = randomAggregate(isGang, random);
  if (random.chance(0.2)) sibling.minUnit = fresh.minUnit;
  // With the profile of its fold: with other Same keys, or as a plain need with the same assignments.
  if (isGang && random.chance(0.2)) {
    const isPlain = random.chance(0.5);
    sibling.requirements = [...withoutSame(sibling.requirements), ...(isPlain ? [] : randomSame(random))];
    if (isPlain) sibling.group = '';
  }
  return sibling;
}

function randomSelectors(random: Random): Requirement[] {
  const selectors: Requirement[] = [];
  if (random.chance(0.15)) {
    const operator = random.pick([Operator.In, Operator.NotIn] as const);
    selectors.push({ key: ZONE_KEY, operator, values: random.shuffle(ZONES.slice(0, random.between(1, 2))) });
  }
  if (random.chance(0.15)) {
    const operator = random.pick([
      Operator.In,
      Operator.NotIn,
      Operator.Exists,
      Operator.DoesNotExist,
    ] as const);
    const isListing = operator === Operator.In || operator === Operator.NotIn;
    selectors.push({ key: TIER_KEY, operator, values: isListing ? [random.pick(TIERS)] : [] });
  }
  if (random.chance(0.08)) {
    selectors.push({ key: TYPE_KEY, operator: Operator.In, values: ['small', 'large', LONG_VALUE] });
  }
  if (random.chance(0.02)) selectors.push({ key: TIER_KEY, operator: Operator.Unspecified, values: [] });
  return selectors;
}

function randomSame(random: Random): Requirement[] {
  const same = (key: string, values: string[]): Requirement => ({ key, operator: Operator.Same, values });
  switch (random.weighted([5, 3, 2, 1])) {
    case 0:
      return [same(RACK_KEY, [])];
    case 1:
      return [same(ZONE_KEY, [])];
    case 2:
      return [same(RACK_KEY, random.shuffle(['rack-c', 'rack-a']))];
    default:
      return [same(ZONE_KEY, []), same(RACK_KEY, [])];
  }
}

function randomSpread(random: Random): Spread[] {
  const keys = random.shuffle([ZONE_KEY, RACK_KEY, TIER_KEY]).slice(0, random.between(1, 2));
  return keys.map((key) => ({
    key,
    maxSkew: random.pick([0, 1, 1, 2, 3]),
    whenUnsatisfiable: random.chance(0.75)
      ? WhenUnsatisfiable.DoNotSchedule
      : WhenUnsatisfiable.ScheduleAnyway,
  }));
}

/** In units of the smallest machine: a gang of 1 folds, one of 6 spans machines, one of 60 exceeds the fleet. */
export function randomAggregate(isGang: boolean, random: Random): Amounts {
  if (random.chance(0.04)) return random.chance(0.5) ? {} : { cpu: 0, memory: 0 };
  const cpuCount = random.pick(isGang ? [1, 2, 2, 3, 6, 6, 10] : [1, 2, 4, 5, 8, 12, 60]);
  const aggregate: Amounts = {};
  if (!random.chance(0.15)) aggregate.cpu = cpuCount * 1_000;
  if (random.chance(0.7)) aggregate.memory = cpuCount * random.pick([1, 2, 4]) * GIBIBYTE_UNITS;
  if (random.chance(0.15)) aggregate['nvidia.com/gpu'] = random.pick([1, 2, 4]) * 1_000;
  if (random.chance(0.02)) aggregate['example.com/nowhere'] = 500;
  if (random.chance(0.1)) aggregate.cpu = (aggregate.cpu ?? 0) + 500;
  return aggregate;
}

export function randomMinUnit(random: Random): Amounts {
  if (random.chance(0.4)) return {};
  if (random.chance(0.05)) return { cpu: 1_000_000 }; // larger than any machine
  const minUnit: Amounts = { cpu: random.pick([0, 500, 1_000, 2_000, 4_000]) };
  if (random.chance(0.2)) minUnit.memory = random.pick([1, 8]) * GIBIBYTE_UNITS;
  return minUnit;
}
