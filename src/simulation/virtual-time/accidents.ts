/** Accidents and ordinary events, drawn from the seed. Each ends by itself or when `calm` is called. */
import type { Random } from '../../base/random.ts';
import { GOOD_OPERATOR, type SimulatedCluster } from './clusters.ts';
import { Violation } from './invariants.ts';
import { LIES } from './lies.ts';
import { QUIET_NETWORK } from './network.ts';
import type { SimulatedLink } from './provider-port.ts';
import { drawGarbage, drawMachine, drawRow } from './scenery.ts';
import { controlAtRandom, liftAtRandom, liftEvery } from './steering.ts';
import type { SimulatedWorld } from './world.ts';

/** Causes the accident and returns a description for the trace. */
export type Accident = (world: SimulatedWorld, random: Random) => string;

const ROWS_MAX = 5;
/** Keepalive ends the sessions of a process that is stopped for longer. */
const KEEPALIVE_MS = 30_000;
const HOUR_MS = 3_600_000;
const GROUP_KEY = 'bigfleet.lucy.sh/assigned-group';

export const ACCIDENTS = {
  'demand changes': (world, random) => {
    const cluster = anyCluster(world, random);
    changeDemand(world, cluster, random);
    return `${cluster.id}: ${cluster.rows.length} rows`;
  },
  'demand withdrawn': (world, random) => {
    const cluster = anyCluster(world, random);
    world.setDemand(cluster, []);
    return cluster.id;
  },
  'garbage roll-up': (world, random) => {
    const cluster = anyCluster(world, random);
    const outcome = world.sendOnce(cluster, drawGarbage(random));
    if (outcome !== 'refused' && outcome !== 'unsent')
      throw new Violation('V2: the shard accepted an invalid roll-up');
    return cluster.id;
  },
  'session ends': (world, random) => {
    const cluster = anyCluster(world, random);
    world.disconnect(cluster);
    world.time.after(random.below(60_000), () => world.reconnect(cluster));
    return cluster.id;
  },
  'operator misbehaves': (world, random) => {
    const cluster = anyCluster(world, random);
    cluster.faults = { delayMsMean: random.below(5_000), blobError: 0.2, blobSilence: 0.2 };
    return cluster.id;
  },
  'network gets worse': (world, random) => {
    const { network } = anyLink(world, random);
    network.faults = {
      delayMsMean: random.below(3_000),
      requestLoss: random.unit() / 4,
      answerLoss: random.unit() / 4,
      noticedShare: random.unit(),
    };
    return JSON.stringify(network.faults);
  },
  'network recovers': (world, random) => {
    anyLink(world, random).network.faults = QUIET_NETWORK;
    return '';
  },
  'provider unreachable': (world, random) => {
    const { network, name } = anyLink(world, random);
    network.isDown = true;
    const forMs = random.below(90_000);
    world.time.after(forMs, () => {
      network.isDown = false;
    });
    return `${name} for ${forMs} ms`;
  },
  /** The new process does not recognise earlier cursors. It may also have lost some machines with their bindings. */
  'provider restarts': (world, random) => {
    const { provider, name } = anyLink(world, random);
    provider.restart(random.uint32());
    const forgets = random.chance(0.2);
    if (!forgets) return name;
    for (const id of machinesOf(provider)) if (random.chance(0.3)) provider.world.reset(id);
    return `${name}, which has lost machines`;
  },
  'shard killed': (world, random) => {
    world.killShard();
    const forMs = random.below(30_000);
    world.time.after(forMs, () => {
      if (world.process === null) world.startShard();
    });
    return `for ${forMs} ms`;
  },
  'shard stopped': (world, random) => {
    const { process } = world;
    const forMs = random.below(2 * KEEPALIVE_MS);
    if (process === null) return 'none';
    process.life.stop();
    world.time.after(Math.min(forMs, KEEPALIVE_MS), () => {
      if (forMs < KEEPALIVE_MS || world.process !== process) return;
      for (const cluster of world.clusters.values()) world.disconnect(cluster);
    });
    world.time.after(forMs, () => {
      process.life.resume();
      for (const cluster of world.clusters.values()) world.reconnect(cluster);
    });
    return `for ${forMs} ms`;
  },
  /** The old process is stopped, replaced and woken: it does not know that another process has taken over. */
  'shard replaced and woken': (world, random) => {
    world.replaceStopped();
    const { former } = world;
    const afterMs = random.below(60_000);
    const forMs = random.between(1_000, 60_000);
    world.time.after(afterMs, () => former?.life.resume());
    world.time.after(afterMs + forMs, () => former?.life.end());
    return `woken after ${afterMs} ms, for ${forMs} ms`;
  },
  /** Between the hand-over of a call to its thread and the moment in which the thread sends it. */
  'shard stands still at a call': (world, random) => {
    const calls = random.between(1, 6);
    const forMs = random.below(KEEPALIVE_MS);
    const isReplaced = random.chance(0.5);
    world.stopAtCall = {
      calls,
      stop: (process) => {
        process.life.stop();
        if (isReplaced) world.time.after(0, () => world.process === process && world.replaceStopped());
        world.time.after(forMs, () => {
          process.life.resume();
          if (world.process === process)
            for (const cluster of world.clusters.values()) world.reconnect(cluster);
        });
        if (isReplaced)
          world.time.after(forMs + KEEPALIVE_MS, () => world.process === process || process.life.end());
      },
    };
    return `after ${calls} calls, for ${forMs} ms${isReplaced ? ', replaced meanwhile' : ''}`;
  },
  'clock jumps': (world, random) => {
    const byMs = random.pick([-1, 1]) * random.pick([1_000, 30_000, 600_000, HOUR_MS]);
    world.process?.life.jump(byMs);
    return `by ${byMs} ms`;
  },
  'kill switch': (world, random) => {
    const { process } = world;
    if (process === null) return 'none';
    process.shard.setRails({ ...process.shard.rails, isPaused: true });
    world.time.after(random.below(60_000), () =>
      process.life.receive(() => process.shard.setRails({ ...process.shard.rails, isPaused: false })),
    );
    return '';
  },
  'machine fails': (world, random) => {
    const { provider } = anyLink(world, random);
    const id = anyMachine(provider, random);
    provider.world.fail(id, 'hardware (simulated)');
    world.time.after(random.below(120_000), () => provider.world.reset(id, 'repaired'));
    return id;
  },
  'machine flaps': (world, random) => {
    const { provider } = anyLink(world, random);
    const id = anyMachine(provider, random);
    const times = random.between(2, 5);
    for (let at = 0; at < times; at++) {
      world.time.after(random.below(20_000), () => provider.world.fail(id, 'flapping (simulated)'));
      world.time.after(random.below(20_000), () => provider.world.reset(id, 'repaired'));
    }
    world.time.after(20_000, () => provider.world.reset(id, 'repaired'));
    return `${id} ${times} times`;
  },
  'machine taken back': (world, random) => {
    const { provider } = anyLink(world, random);
    const id = anyMachine(provider, random);
    provider.world.reset(id);
    return id;
  },
  'machine vanishes': (world, random) => {
    const { provider } = anyLink(world, random);
    const id = anyMachine(provider, random);
    provider.world.remove(id);
    return id;
  },
  'machine appears': (world, random) => {
    const { provider } = anyLink(world, random);
    const seed = drawMachine(random, `new-${random.uint32()}`);
    provider.add(seed);
    return seed.id;
  },
  'price moves': (world, random) => {
    const { provider } = anyLink(world, random);
    const id = anyMachine(provider, random);
    provider.world.reprice(id, random.between(1, 100) / 50);
    return id;
  },
  ...LIES,
  /** The provider accepts each Configure for a cluster, or for one group of it, and fails it later. */
  'bootstraps break': (world, random) => {
    const cluster = anyCluster(world, random);
    const group = cluster.rows.length > 0 && random.chance(0.5) ? random.pick(cluster.rows).group : undefined;
    const afterMs = random.below(15_000);
    breakFor(world, random, ({ kind, clusterId, shardMetadata }) => {
      const isMeant = kind === 'configure' && clusterId === cluster.id;
      if (!isMeant || (group !== undefined && shardMetadata?.[GROUP_KEY] !== group)) return null;
      return { error: 'the bootstrap script ended with 1 (simulated)', afterMs };
    });
    return `${cluster.id} ${group ?? ''}`;
  },
  'drains break': (world, random) => {
    const afterMs = random.below(15_000);
    breakFor(world, random, ({ kind }) =>
      kind === 'drain' ? { error: 'the drain hook ended with 1 (simulated)', afterMs } : null,
    );
    return '';
  },
  'control appears': controlAtRandom,
  'control lifted': liftAtRandom,
} as const satisfies Readonly<Record<string, Accident>>;

export type AccidentName = keyof typeof ACCIDENTS;

function breakFor(world: SimulatedWorld, random: Random, breaks: NonNullable<SimulatedLink['breaks']>): void {
  for (const link of world.links) link.breaks = breaks;
  world.time.after(random.between(60_000, 400_000), () => {
    for (const link of world.links) if (link.breaks === breaks) link.breaks = null;
  });
}

function anyCluster(world: SimulatedWorld, random: Random): SimulatedCluster {
  return random.pick([...world.clusters.values()]);
}

function anyLink(world: SimulatedWorld, random: Random): SimulatedLink {
  return random.pick(world.links);
}

function machinesOf({ world }: SimulatedLink['provider']): string[] {
  return Array.from(world.fleet.rowsInPlace(), (row) => world.fleet.ids[row]!);
}

/** '' if the provider has no machine. */
function anyMachine(provider: SimulatedLink['provider'], random: Random): string {
  const ids = machinesOf(provider);
  return ids.length === 0 ? '' : random.pick(ids);
}

/** Removes some rows and adds others. */
export function changeDemand(world: SimulatedWorld, cluster: SimulatedCluster, random: Random): void {
  const kept = cluster.rows.filter(() => random.chance(0.7)).slice(0, ROWS_MAX);
  const added = Array.from({ length: random.below(3) }, () => drawRow(random));
  world.setDemand(cluster, random.shuffle([...kept, ...added]));
}

/** Ends all faults. Operations in progress end by themselves. */
export function calm(world: SimulatedWorld): void {
  for (const link of world.links) {
    link.network.faults = QUIET_NETWORK;
    link.network.isDown = false;
    link.bend = null;
    link.breaks = null;
  }
  world.stopAtCall = null;
  world.former?.life.end();
  world.former = null;
  world.process?.life.resume();
  if (world.process === null || world.process.shard.fence.isRaised) {
    world.killShard();
    world.startShard();
  }
  const { shard } = world.process!;
  shard.setRails({ ...shard.rails, isPaused: false });
  liftEvery(world);
  for (const cluster of world.clusters.values()) {
    cluster.faults = GOOD_OPERATOR;
    world.reconnect(cluster);
  }
}
