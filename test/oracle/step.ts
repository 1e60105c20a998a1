/**
 * One step of a random history: some decided actions are enqueued (X1), some earlier ones settle, and the world changes by
 * itself: demand, prices, labels, states, sessions, time, a restart. Counts carry over (A7 parking, A8 cycles unmet).
 */
import type { Random } from '../../src/base/random.ts';
import { MachineState } from '../../src/machine/state.ts';
import { writtenAs } from './assigned-text.ts';
import { randomCeilings, randomLimits } from './generator-limits.ts';
import {
  MACHINES_MAX,
  randomLabels,
  randomLeaving,
  randomMachine,
  randomMenu,
  randomPauses,
  randomState,
  setState,
} from './generator-machines.ts';
import { addNeed, randomAggregate, randomMinUnit, ZONES } from './generator-needs.ts';
import { cappedPriority } from './limits.ts';
import { sameKeysOf } from './profile.ts';
import type { Assignment, OracleAction, OracleResult, World, WorldCluster, WorldMachine } from './world.ts';

const S = MachineState;

/** The world after the cycle that gave `result`; leaves `world` unchanged. */
export function step(world: World, result: OracleResult, random: Random): World {
  const next: World = {
    ...world,
    machines: world.machines.map(copyOfMachine),
    clusters: world.clusters.map(copyOfCluster),
    parking: new Map(result.parking),
    unmet: new Map(result.unmet),
  };
  next.cycle++;
  next.ordinary = random.chance(0.8);
  next.nowMs += random.pick([0, 250, 10_000, 10_000, 10_000, 60_000, 600_000]);
  for (const action of result.actions) if (random.chance(0.8)) enqueue(next, action, random);
  for (const machine of next.machines) if (random.chance(0.4)) settle(next, machine, random);
  // Often nothing else changes, so that histories also come to rest.
  const eventCount = random.chance(0.3) ? 0 : random.between(1, 4);
  for (let count = 0; count < eventCount; count++) random.pick(EVENTS)(next, random);
  if (random.chance(0.03)) restart(next);
  return next;
}

function copyOfMachine(machine: WorldMachine): WorldMachine {
  const { capacity, labels, assignment, drainFor } = machine;
  return {
    ...machine,
    capacity: { ...capacity },
    labels: { ...labels },
    assignment: assignment === null ? null : { ...assignment },
    drainFor: drainFor === null ? null : { ...drainFor },
  };
}

function copyOfCluster(cluster: WorldCluster): WorldCluster {
  const { limits, needs } = cluster;
  return {
    ...cluster,
    ...(limits === undefined ? {} : { limits: { ...limits, maxResources: { ...limits.maxResources } } }),
    needs: needs.map((need) => ({
      ...need,
      requirements: need.requirements.map((one) => ({ ...one, values: [...one.values] })),
      spread: need.spread.map((one) => ({ ...one })),
      aggregate: { ...need.aggregate },
      minUnit: { ...need.minUnit },
    })),
  };
}

/** X1: "One action per machine at a time"; X2: "the live state must fit". */
function enqueue(world: World, action: OracleAction, random: Random): void {
  const machine = world.machines.find(({ id }) => id === action.machine)!;
  const { cluster, forCluster, fingerprint, group } = action;
  machine.waiting = (action.kind === 'Bootstrap' || action.kind === 'Provision') && random.chance(0.6);
  switch (action.kind) {
    case 'Bootstrap':
      machine.intent = 'bootstrap';
      machine.assignment = assignmentFrom(world, cluster, fingerprint, group);
      return;
    case 'Provision':
      machine.intent = 'provision';
      machine.assignment = assignmentFrom(world, cluster, fingerprint, group);
      return;
    case 'Preempt':
      machine.intent = 'preempt';
      machine.drainFor = { cluster: forCluster, fingerprint, group };
      return;
    case 'Reclaim':
      machine.intent = 'reclaim';
      return;
    case 'Delete':
      machine.intent = 'delete';
      return;
    case 'Withdraw':
      machine.intent = 'none';
      machine.assignment = null;
  }
}

/** Reads priority and penalties from the fingerprint, which begins with them (N2); T8 caps the priority. */
function assignmentFrom(world: World, cluster: string, fingerprint: string, group: string): Assignment {
  const [, stated, interruptionPenalty, reclamationPenalty] = /^p=(-?\d+)\|ipb=(\d+)\|rpb=(\d+)\|/
    .exec(fingerprint)!
    .map(Number) as [number, number, number, number];
  const priority = cappedPriority(
    world.clusters.find(({ id }) => id === cluster),
    stated,
  );
  const written = { fingerprint: writtenAs('fingerprint', fingerprint), group: writtenAs('group', group) };
  return { cluster, ...written, priority, interruptionPenalty, reclamationPenalty };
}

/** One transition of M2: an enqueued action begins, or a transitional state ends. */
function settle(world: World, machine: WorldMachine, random: Random): void {
  const failed = random.chance(0.08);
  const { intent } = machine;
  if (intent !== 'none') {
    if (intent === 'bootstrap') moveTo(world, machine, failed ? S.Idle : S.Configuring);
    else if (intent === 'provision') moveTo(world, machine, S.Creating);
    else if (intent === 'delete') moveTo(world, machine, S.Deleting);
    else moveTo(world, machine, S.Draining);
    return;
  }
  const target: Partial<Record<MachineState, MachineState>> = {
    [S.Creating]: S.Idle,
    [S.Configuring]: random.chance(0.1) || machine.assignment === null ? S.Idle : S.Configured,
    [S.Draining]: S.Idle,
    [S.Deleting]: S.Speculative,
  };
  const to = target[machine.state];
  if (to !== undefined) moveTo(world, machine, failed ? S.Failed : to);
  if (failed && to !== undefined) machine.backoff = random.chance(0.7);
}

/** M5: the assignment is "cleared with the binding when it becomes Idle or Speculative, by whichever path". */
function moveTo(world: World, machine: WorldMachine, state: MachineState): void {
  machine.state = state;
  machine.intent = 'none';
  machine.waiting = false;
  machine.stuck = false;
  machine.leaving = undefined;
  machine.releasing = false;
  machine.stateSinceMs = world.nowMs;
  if (state === S.Idle || state === S.Speculative || state === S.Deleting) machine.assignment = null;
  if (state === S.Draining) return;
  machine.drainFor = null;
  machine.foundDraining = false;
}

function anyMachine(world: World, random: Random, change: (machine: WorldMachine) => void): void {
  if (world.machines.length > 0) change(random.pick(world.machines));
}

/** N1: a cluster withdraws a need by leaving it out. N3: a new need arrives now. */
function changeDemand(world: World, random: Random): void {
  const cluster = world.clusters.length > 0 ? random.pick(world.clusters) : null;
  if (cluster === null) return;
  cluster.reported = true;
  if (cluster.needs.length === 0 || random.chance(0.45)) {
    addNeed(world, random);
    return;
  }
  const need = random.pick(cluster.needs);
  switch (random.weighted([2, 3, 1, 1, 1])) {
    case 0:
      cluster.needs = cluster.needs.filter((other) => other !== need);
      return;
    case 1:
      need.aggregate = randomAggregate(sameKeysOf(need.requirements).length > 0, random);
      return;
    case 2:
      need.minUnit = randomMinUnit(random);
      return;
    case 3:
      need.backoff = !need.backoff;
      return;
    default:
      cluster.needs = random.chance(0.3) ? [] : random.shuffle(cluster.needs);
  }
}

/** One new price for an instance type, as a market does: many machines change at once, and ties stay. */
function changePrices(world: World, random: Random): void {
  const price = random.pick([0.5, 1, 2, 3]);
  const probability = random.pick([0, 0.1, 0.5]);
  anyMachine(world, random, (machine) => {
    const isWhole = random.chance(0.5);
    for (const other of world.machines) {
      if (other !== machine && !(isWhole && other.instanceType === machine.instanceType)) continue;
      other.price = price;
      other.probability = probability;
    }
  });
}

/** Adds a few machines of one type, as a provider does: in one state, or each in its own. */
function insertMachines(world: World, random: Random): void {
  const menu = randomMenu(random);
  const state = random.chance(0.6) ? randomState(random) : null;
  for (let left = random.between(1, 6); left > 0 && world.machines.length < MACHINES_MAX; left--) {
    const id = `${random.pick(['gpu', 'cpu'])}-${random.below(1_000)}`;
    if (world.machines.some((machine) => machine.id === id)) continue;
    const machine = randomMachine(world, menu, id, random);
    if (state !== null) setState(world, machine, state, random);
    world.machines.splice(random.between(0, world.machines.length), 0, machine);
  }
}

const EVENTS: readonly ((world: World, random: Random) => void)[] = [
  changeDemand,
  changeDemand,
  changePrices,
  insertMachines,
  insertMachines,
  (world, random) =>
    anyMachine(world, random, (gone) => {
      world.machines = world.machines.filter((machine) => machine !== gone);
    }),
  (world, random) =>
    anyMachine(world, random, (machine) => {
      machine.labels = randomLabels(random);
      if (random.chance(0.3)) machine.zone = random.pick(ZONES);
    }),
  // S2: a confirmed observation overrides the transitions of M2.
  (world, random) =>
    anyMachine(world, random, (machine) => setState(world, machine, randomState(random), random)),
  (world, random) =>
    anyMachine(world, random, (machine) => {
      const { state, intent } = machine;
      const isMoving = state === S.Creating || state === S.Configuring || state === S.Draining;
      if (isMoving && intent === 'none') machine.stuck = !machine.stuck;
    }),
  (world, random) =>
    anyMachine(world, random, (machine) => {
      machine.backoff = !machine.backoff;
    }),
  (world, random) => {
    if (world.clusters.length === 0) return;
    const cluster = random.pick(world.clusters);
    cluster.hasSession = !cluster.hasSession;
  },
  // H3: a pause appears or ends: for a machine, for all machines of a type, for a cluster; H4: or counts stand still.
  (world, random) =>
    anyMachine(world, random, (machine) => {
      const isWhole = random.chance(0.5);
      const pauses = random.chance(0.5) ? randomPauses(random) : [];
      for (const other of world.machines)
        if (other === machine || (isWhole && other.instanceType === machine.instanceType))
          other.pauses = pauses;
    }),
  // H5, H6: a machine, or all machines of a type, are to leave, or to stay; they are cordoned, or no longer.
  (world, random) =>
    anyMachine(world, random, (machine) => {
      const isWhole = random.chance(0.3);
      const leaving = random.chance(0.6) ? randomLeaving(random) : undefined;
      const cordoned = random.chance(0.4);
      const isCordon = random.chance(0.5);
      for (const other of world.machines) {
        if (other !== machine && !(isWhole && other.instanceType === machine.instanceType)) continue;
        if (isCordon) {
          other.cordoned = cordoned;
          other.releasing = other.state === S.Idle && random.chance(0.3);
        } else other.leaving = leaving;
      }
    }),
  (world, random) => {
    if (world.clusters.length === 0) return;
    const cluster = random.pick(world.clusters);
    cluster.paused = cluster.paused !== true;
  },
  (world) => {
    world.countsHeld = world.countsHeld !== true;
  },
  // T8: a reload of the limits.
  (world, random) => {
    if (world.clusters.length > 0 && random.chance(0.3)) randomLimits(random.pick(world.clusters), random);
  },
  // E7: a reload of the ceilings.
  (world, random) => {
    if (random.chance(0.3)) randomCeilings(world, random);
  },
];

/**
 * I2: "everything is rebuilt from List and shard_metadata". The restart loses local knowledge: enqueued actions, the needs
 * that machines are created or drained for, back-off, counts, the idle clock, and demand until clusters report again.
 */
function restart(world: World): void {
  for (const machine of world.machines) {
    if (machine.intent !== 'none' && machine.state !== S.Configured) machine.assignment = null;
    if (machine.state === S.Creating) machine.assignment = null;
    machine.intent = 'none';
    machine.waiting = false;
    machine.stuck = false;
    machine.backoff = false;
    machine.drainFor = null;
    machine.foundDraining = machine.state === S.Draining;
    machine.stateSinceMs = world.nowMs;
  }
  world.parking.clear();
  world.unmet.clear();
  for (const [index, cluster] of world.clusters.entries()) {
    for (const need of cluster.needs) need.backoff = false;
    for (const need of cluster.needs) need.arrivalMs = world.nowMs;
    // Clusters report again one after the other; the last one has not yet.
    if (index < world.clusters.length - 1) continue;
    cluster.reported = false;
    cluster.hasSession = false;
    cluster.needs = [];
  }
}
