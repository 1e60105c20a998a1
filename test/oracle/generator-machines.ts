/** Random machines: few types, prices and places, assigned to needs that exist, to needs that are gone, and to folds. */
import type { Random } from '../../src/base/random.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { PenaltyBucket } from '../../src/machine/penalty.ts';
import { MachineState } from '../../src/machine/state.ts';
import { writtenAs } from './assigned-text.ts';
import { CLUSTER_IDS, GIBIBYTE_UNITS, RACKS, randomNeed, TIERS, ZONES } from './generator-needs.ts';
import { fingerprintOf, foldGroupOf, sameKeysOf, withoutSame } from './profile.ts';
import type { Amounts, Assignment, IntentKind, Paused, World, WorldMachine, WorldNeed } from './world.ts';

const S = MachineState;

export const MACHINES_MAX = 40;

const CAPACITY_TYPES: readonly CapacityType[] = [
  CapacityType.Unspecified,
  CapacityType.BareMetal,
  CapacityType.Reserved,
  CapacityType.OnDemand,
  CapacityType.Spot,
];

export interface MachineType {
  name: string;
  capacity: Amounts;
}

const TYPES: readonly MachineType[] = [
  { name: 'small', capacity: { cpu: 2_000, memory: 4 * GIBIBYTE_UNITS } },
  { name: 'large', capacity: { cpu: 4_000, memory: 16 * GIBIBYTE_UNITS } },
  {
    name: 'gpu',
    capacity: { cpu: 4_000, memory: 8 * GIBIBYTE_UNITS, 'nvidia.com/gpu': 2_000 },
  },
  { name: 'bare', capacity: { cpu: 3_000 } },
];

/** The two to four machine types of one fleet. */
export function randomMenu(random: Random): MachineType[] {
  return random.shuffle([...TYPES]).slice(0, random.between(2, 4));
}

export function randomMachine(
  world: World,
  menu: readonly MachineType[],
  id: string,
  random: Random,
): WorldMachine {
  const type = random.pick(menu);
  const machine: WorldMachine = {
    id,
    state: S.Idle,
    intent: 'none',
    waiting: false,
    instanceType: random.chance(0.05) ? '' : type.name,
    zone: random.chance(0.05) ? '' : random.pick(ZONES),
    capacityType: random.pick(CAPACITY_TYPES),
    price: random.pick([1, 1, 1, 2, 0.5]),
    probability: random.pick([0, 0, 0.1, 0.5]),
    capacity: { ...type.capacity },
    labels: randomLabels(random),
    assignment: null,
    stuck: false,
    backoff: random.chance(0.05),
    stateSinceMs: world.nowMs,
    drainFor: null,
    foundDraining: false,
    ...(random.chance(0.08) ? { cordoned: true } : {}),
    ...(random.chance(0.12) ? { leaving: randomLeaving(random) } : {}),
    ...(random.chance(0.1) ? { pauses: randomPauses(random) } : {}),
  };
  setState(world, machine, randomState(random), random);
  if (random.chance(0.12)) setIntent(world, machine, random);
  return machine;
}

export function randomLeaving(random: Random): 'replaced' | 'now' {
  return random.chance(0.8) ? 'replaced' : 'now';
}

export function randomPauses(random: Random): Paused[] {
  return (['acquire', 'reclaim', 'preempt', 'release'] as const).filter(() => random.chance(0.5));
}

export function randomState(random: Random): MachineState {
  const states = [
    S.Speculative,
    S.Creating,
    S.Idle,
    S.Configuring,
    S.Configured,
    S.Draining,
    S.Deleting,
    S.Failed,
  ];
  return states[random.weighted([4, 2, 4, 2, 9, 2, 0.5, 0.7])]!;
}

export function randomLabels(random: Random): Record<string, string> {
  const labels: Record<string, string> = {};
  if (!random.chance(0.08)) labels.rack = random.pick(RACKS);
  if (random.chance(0.5)) labels.tier = random.pick(TIERS);
  return labels;
}

/** Puts the machine into a state as an observation would, with the facts that M3 demands (host, cluster, last_error). */
export function setState(world: World, machine: WorldMachine, state: MachineState, random: Random): void {
  const isBound = state === S.Configuring || state === S.Configured || state === S.Draining;
  const isTransitional = isBound ? state !== S.Configured : state === S.Creating || state === S.Deleting;
  machine.state = state;
  machine.intent = 'none';
  machine.waiting = false;
  machine.releasing = state === S.Idle && random.chance(0.05);
  machine.stuck = isTransitional && random.chance(0.08);
  machine.stateSinceMs =
    world.nowMs - random.pick([0, 10_000, 60_000, 60_001, 120_000, 600_000, 600_001, 900_000]);
  machine.drainFor = null;
  machine.foundDraining = false;
  machine.assignment =
    isBound || (state === S.Failed && random.chance(0.5)) ? randomAssignment(world, random) : null;
  if (state === S.Creating && !random.chance(0.3)) machine.assignment = randomAssignment(world, random);
  // M3: a Configuring machine may lack a cluster.
  if (state === S.Configuring && random.chance(0.05)) machine.assignment = null;
  if (state !== S.Draining) return;
  if (random.chance(0.5)) machine.drainFor = randomTarget(world, random);
  else machine.foundDraining = random.chance(0.5);
}

/** X1: an action is enqueued for it and has not begun. */
function setIntent(world: World, machine: WorldMachine, random: Random): void {
  const possible: Partial<Record<MachineState, readonly IntentKind[]>> = {
    [S.Speculative]: ['provision'],
    [S.Idle]: ['bootstrap', 'bootstrap', 'delete'],
    [S.Configured]: ['reclaim', 'preempt'],
  };
  const intent = random.pick<IntentKind>(possible[machine.state] ?? ['none']);
  machine.intent = intent;
  const isBinding = intent === 'bootstrap' || intent === 'provision';
  if (isBinding) machine.assignment = randomAssignment(world, random);
  machine.waiting = isBinding && random.chance(0.5);
  if (intent === 'preempt') machine.drainFor = randomTarget(world, random);
}

function randomTarget(world: World, random: Random): { cluster: string; fingerprint: string; group: string } {
  const { cluster, fingerprint, group } = randomAssignment(world, random);
  return { cluster, fingerprint, group };
}

/** Assigned to a live need, to the fold it may join, to that with the empty group, to a need that is gone or unknown. */
export function randomAssignment(world: World, random: Random): Assignment {
  const cluster = world.clusters.length > 0 ? random.pick(world.clusters) : null;
  const isDead = cluster === null || cluster.needs.length === 0 || random.chance(0.15);
  const need = isDead ? randomNeed(world, random) : random.pick(cluster.needs);
  const assignment: Assignment = {
    ...assignmentOf(need, random),
    cluster: cluster === null || random.chance(0.03) ? random.pick([...CLUSTER_IDS, 'nowhere']) : cluster.id,
  };
  if (random.chance(0.08)) {
    return {
      ...assignment,
      fingerprint: '',
      group: '',
      priority: 0,
      interruptionPenalty: 0,
      reclamationPenalty: 0,
    };
  }
  // The demand may have changed since: the assignment keeps the values of its time.
  return random.chance(0.1) ? { ...assignment, priority: random.pick([0, 10, 500, 1_000]) } : assignment;
}

function assignmentOf(need: WorldNeed, random: Random): Omit<Assignment, 'cluster'> {
  const { priority, interruptionPenalty, reclamationPenalty } = need;
  const values = { priority, interruptionPenalty, reclamationPenalty };
  if (sameKeysOf(need.requirements).length === 0 || random.chance(0.6)) {
    return { ...values, ...asWritten(need, fingerprintOf(need), need.group) };
  }
  const fingerprint = fingerprintOf({ ...need, requirements: withoutSame(need.requirements) });
  return {
    ...values,
    ...asWritten(need, fingerprint, random.chance(0.7) ? foldGroupOf(need.aggregate) : ''),
  };
}

/** T4: by this shard, or by one that writes long texts whole. */
function asWritten(
  { reclamationPenalty }: WorldNeed,
  fingerprint: string,
  group: string,
): Pick<Assignment, 'fingerprint' | 'group'> {
  const isWhole = reclamationPenalty === PenaltyBucket.Unspecified; // half of all needs
  if (isWhole) return { fingerprint, group };
  return { fingerprint: writtenAs('fingerprint', fingerprint), group: writtenAs('group', group) };
}
