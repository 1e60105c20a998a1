/**
 * One history of two replicas: accidents of processes, the directory and the network to it, drawn from a seed, and then calm until one
 * replica is confirmed and every cluster has exactly what it asked for.
 */
import { Random } from '../../base/random.ts';
import type { StoreSnapshot } from '../../directory/memory/store.ts';
import { WHOLE_FLEET } from '../../shard/controls/control.ts';
import { Violation } from './invariants.ts';
import { CYCLE_MS, LEASE_MS } from './replica-process.ts';
import { type Host, PROMPT, ReplicaWorld } from './replica-world.ts';

export interface ReplicaHistoryOptions {
  readonly seed: number;
  readonly cycles: number;
  readonly trace?: (line: string) => void;
}

export interface ReplicaHistoryResult {
  readonly takeovers: number;
  readonly removals: number;
  readonly bindings: number;
  readonly accidents: Readonly<Record<string, number>>;
}

const MACHINES = 16;
const DEMAND_MAX = 6;
const ACCIDENT_MS_MEAN = 9_000;
const FIRST_MS = 30_000;
/** A hanging replica, two takeovers, listings, drains of a minute and holds. */
const CALM_CYCLES_MAX = 60;
/** No stall in an hour: then only the confirmation holds calls after a pause. */
const NO_STALLS_MS = 86_400_000;
const STALL_MS = 2_000;
const SUPERVISOR_MS = 60_000;
const COMMANDER = { who: 'simulated', why: 'drawn from the seed', via: 'simulation' };

type Accident = (world: ReplicaWorld, random: Random, state: { backup: StoreSnapshot | null }) => string;

const anyHost = (world: ReplicaWorld, random: Random): Host => random.pick(world.hosts);

function restart(world: ReplicaWorld, host: Host): void {
  if (host.process !== null) world.kill(host.process);
  world.start(host);
}

function pauseFor(world: ReplicaWorld, host: Host, forMs: number): void {
  const { process } = host;
  process?.life.stop();
  world.time.after(forMs, () => process?.life.resume());
}

const ACCIDENTS: Readonly<Record<string, Accident>> = {
  'demand changes': (world, random) => {
    const cluster = random.pick([...world.clusters.values()]);
    const count = random.below(DEMAND_MAX + 1);
    world.demand(cluster, count);
    return `${cluster.id} wants ${count}`;
  },
  'process killed': (world, random) => {
    const host = anyHost(world, random);
    if (host.process !== null) world.kill(host.process);
    world.time.after(random.below(20_000), () => world.start(host));
    return host.name;
  },
  'process paused': (world, random) => {
    const host = anyHost(world, random);
    const forMs = random.below(5 * LEASE_MS);
    pauseFor(world, host, forMs);
    return `${host.name} for ${forMs} ms`;
  },
  'process paused at a call': (world, random) => {
    const forMs = random.below(5 * LEASE_MS);
    world.stopAtCall = (process) => {
      process.life.stop();
      world.time.after(forMs, () => process.life.resume());
    };
    return `for ${forMs} ms`;
  },
  handover: (world, random) => {
    const host = world.hosts.find(({ process }) => process !== null && process === world.active);
    const process = host?.process;
    if (host === undefined || process === null || process === undefined) return 'none is active';
    void process.life.observe(process.replica.handOver(() => process.shard.stop(CYCLE_MS))).then(() => {
      world.kill(process);
      world.time.after(random.below(5_000), () => world.start(host));
    });
    return host.name;
  },
  'cut off': (world, random) => {
    const host = anyHost(world, random);
    const forMs = random.below(4 * LEASE_MS);
    const lost = random.pick(['request', 'answer'] as const);
    host.fate = () => ({ ...PROMPT, lost });
    world.time.after(forMs, () => {
      host.fate = () => PROMPT;
    });
    return `${host.name} for ${forMs} ms: every ${lost} is lost`;
  },
  'answers lost': (world, random) => {
    const host = anyHost(world, random);
    const stream = random.fork();
    host.fate = () => ({
      requestMs: stream.below(1_500),
      answerMs: stream.below(1_500),
      ...(stream.chance(0.3) ? { lost: stream.pick(['request', 'answer'] as const) } : {}),
    });
    world.time.after(random.below(6 * LEASE_MS), () => {
      host.fate = () => PROMPT;
    });
    return host.name;
  },
  'directory away': (world, random) => {
    const forMs = random.below(4 * LEASE_MS);
    for (const host of world.hosts) host.fate = () => ({ ...PROMPT, lost: 'request' });
    world.time.after(forMs, () => {
      for (const host of world.hosts) host.fate = () => PROMPT;
    });
    return `for ${forMs} ms`;
  },
  'lease lost': (world, random) => {
    const ids = world.store.leaseIds;
    if (ids.length === 0) return 'none';
    const id = random.pick(ids);
    world.store.loseLease(id);
    return String(id);
  },
  'watches break': (world) => {
    world.store.breakWatches();
    return '';
  },
  compaction: (world) => {
    world.store.compact(world.store.position.revision);
    world.store.breakWatches();
    return '';
  },
  backup: (world, _random, state) => {
    state.backup = world.store.snapshot();
    return '';
  },
  'backup restored': (world, random, state) => {
    if (state.backup === null) return 'none';
    world.store.restore(state.backup, { isNewCluster: random.chance(0.5) });
    world.restored();
    return '';
  },
  'cycles hang': (world) => {
    const host = world.hosts.find(({ process }) => process !== null && process === world.active);
    if (host === undefined || host.process === null) return 'none is active';
    const { process } = host;
    process.isHanging = true;
    host.hangingSinceMs ??= world.time.nowMs();
    // Its supervisor notices, long after another replica has taken over.
    world.time.after(SUPERVISOR_MS, () => host.process === process && restart(world, host));
    return host.name;
  },
  'kill switch': (world, random) => {
    const { active } = world;
    if (active === null || active.epoch === 0) return 'none is active';
    setControls(world, true);
    world.time.after(random.below(120_000), () => setControls(world, false));
    return active.instance;
  },
  'bindings paused': (world, random) => {
    const { active } = world;
    if (active === null || active.epoch === 0 || active.life.isStopped()) return 'none is active';
    const command = {
      pauses: ['create', 'bind'],
      scope: WHOLE_FLEET,
      forMs: random.between(20, 120) * 1_000,
    };
    void active.shard.admin.pause({ ...command, ...COMMANDER }).catch(() => {});
    world.time.after(random.below(120_000), () => liftPauses(world));
    return `${active.instance} for ${command.forMs} ms`;
  },
  'clock jumps': (world, random) => {
    const host = anyHost(world, random);
    const byMs = random.pick([-3_600_000, -5_000, 5_000, 3_600_000]);
    host.process?.life.jump(byMs);
    return `${host.name} by ${byMs} ms`;
  },
};

/** By a person who asks the active replica. One that dies meanwhile has not answered. */
function liftPauses(world: ReplicaWorld): void {
  const { active } = world;
  if (active === null || active.epoch === 0 || active.life.isStopped()) return;
  if (active.shard.controls.inForce.length === 0) return;
  world.unpaused();
  const every = { id: '', pauses: [], scope: WHOLE_FLEET, isEvery: true };
  void active.shard.admin.resume({ ...every, ...COMMANDER }).catch(() => {}); // it expired meanwhile
}

/** By a person, who changes the settings of the active replica and reloads it. */
function setControls(world: ReplicaWorld, isPaused: boolean): void {
  const { active } = world;
  world.controls = { isPaused: false, isDryRun: false };
  if (active === null || active.life.isStopped() || active.epoch === 0) return;
  if (!isPaused) world.unpaused();
  active.shard.setRails({ ...active.shard.rails, isPaused });
  world.controls = { isPaused, isDryRun: false };
  active.replica.controlsChanged();
  // Another process has its own settings: what it obeys must come from the directory.
  world.controls = { isPaused: false, isDryRun: false };
}

export async function runReplicaHistory(options: ReplicaHistoryOptions): Promise<ReplicaHistoryResult> {
  const random = new Random(options.seed);
  const stallAfterMs = options.seed % 2 === 0 ? NO_STALLS_MS : STALL_MS;
  const world = new ReplicaWorld(random, MACHINES, { stallAfterMs }, options.trace ?? null);
  const state = { backup: null };
  const accidents: Record<string, number> = {};
  const names = Object.keys(ACCIDENTS);
  await world.time.advance(FIRST_MS, world.look);
  for (const cluster of world.clusters.values()) world.demand(cluster, random.between(1, DEMAND_MAX));
  const untilMs = world.time.nowMs() + options.cycles * CYCLE_MS;
  for (;;) {
    const stepMs = random.below(2 * ACCIDENT_MS_MEAN);
    if (world.time.nowMs() + stepMs >= untilMs) break;
    await world.time.advance(stepMs, world.look);
    const name = random.chance(0.3) ? 'demand changes' : random.pick(names);
    const what = ACCIDENTS[name]!(world, random.fork(), state);
    world.trace(null, () => `--- ${name}: ${what}`);
    accidents[name] = (accidents[name] ?? 0) + 1;
  }
  await settle(world);
  const { takeovers, removals, bindings } = world;
  return { takeovers, removals, bindings, accidents };
}

/** Without accidents: one replica is confirmed, and every cluster gets what it asked for. */
async function settle(world: ReplicaWorld): Promise<void> {
  world.trace(null, () => '--- calm');
  world.stopAtCall = null;
  for (const host of world.hosts) {
    host.fate = () => PROMPT;
    host.process?.life.resume();
    if (host.process?.isHanging === true) restart(world, host);
    else world.start(host);
  }
  let wrong = '';
  for (let cycle = 0; cycle < CALM_CYCLES_MAX; cycle++) {
    await world.time.advance(CYCLE_MS, world.look);
    const { active } = world;
    if (active?.shard.rails.isPaused === true) setControls(world, false);
    liftPauses(world);
    wrong = differences(world);
    if (wrong === '') return;
  }
  throw new Violation(`F4: the world does not agree after ${CALM_CYCLES_MAX} calm cycles: ${wrong}`);
}

function differences(world: ReplicaWorld): string {
  const { active } = world;
  if (active === null) return 'no replica is active';
  if (!active.isConfirmed) return `${active.instance} is active and not confirmed`;
  const { isPaused = true, pauses = '?' } = world.controlsInDirectory ?? {};
  if (isPaused || pauses !== '') return `the directory says that the shard is paused: ${isPaused} ${pauses}`;
  for (const clusterId of world.clusters.keys()) {
    const [has, wants] = [world.bound(clusterId), world.wanted(clusterId)];
    if (has !== wants) return `${clusterId} has ${has} of ${wants} machines`;
  }
  return '';
}
