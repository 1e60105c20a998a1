/** What goes wrong, and what simply happens: each drawn from the seed, each undone or outlived when accidents stop. */
import type { Random } from '../base/random.ts';
import { MachineState } from '../machine/state.ts';
import type { SimulatedCluster } from './clusters.ts';
import { GOOD_OPERATOR } from './clusters.ts';
import { QUIET_NETWORK } from './network.ts';
import { drawMachine, drawRow } from './scenery.ts';
import type { SimulatedWorld } from './world.ts';

export interface Accident {
  readonly name: string;
  readonly weight: number;
  readonly happen: (world: SimulatedWorld, random: Random) => string;
}

const ROWS_MAX = 5;

function anyCluster(world: SimulatedWorld, random: Random): SimulatedCluster {
  return random.pick([...world.clusters.values()]);
}

function anyMachine(world: SimulatedWorld, random: Random): string {
  const listed = world.provider.list();
  if (listed.kind !== 'ok' || listed.value.machines.length === 0) return '';
  return random.pick(listed.value.machines).id;
}

let nextGroup = 0;

/** Some rows go, some come, the others stay. */
export function changeDemand(world: SimulatedWorld, cluster: SimulatedCluster, random: Random): void {
  const kept = cluster.rows.filter(() => random.chance(0.7)).slice(0, ROWS_MAX);
  const added = Array.from({ length: random.below(3) }, () => drawRow(random, `g${nextGroup++ % 7}`));
  world.setDemand(cluster, random.shuffle([...kept, ...added]));
}

export const ACCIDENTS: readonly Accident[] = [
  {
    name: 'demand changes',
    weight: 12,
    happen: (world, random) => {
      const cluster = anyCluster(world, random);
      changeDemand(world, cluster, random);
      return `${cluster.id}: ${cluster.rows.length} rows`;
    },
  },
  {
    name: 'session ends',
    weight: 4,
    happen: (world, random) => {
      const cluster = anyCluster(world, random);
      world.disconnect(cluster);
      world.time.after(random.below(60_000), () => world.reconnect(cluster));
      return cluster.id;
    },
  },
  {
    name: 'operator misbehaves',
    weight: 2,
    happen: (world, random) => {
      const cluster = anyCluster(world, random);
      cluster.faults = { delayMsMean: random.below(5_000), blobError: 0.2, blobSilence: 0.2 };
      return cluster.id;
    },
  },
  {
    name: 'network gets worse',
    weight: 3,
    happen: (world, random) => {
      world.network.faults = {
        delayMsMean: random.below(3_000),
        requestLoss: random.unit() / 4,
        answerLoss: random.unit() / 4,
        noticedShare: random.unit(),
      };
      return JSON.stringify(world.network.faults);
    },
  },
  {
    name: 'network recovers',
    weight: 3,
    happen: (world) => {
      world.network.faults = QUIET_NETWORK;
      return '';
    },
  },
  {
    name: 'provider unreachable',
    weight: 2,
    happen: (world, random) => {
      world.network.isDown = true;
      const forMs = random.below(90_000);
      world.time.after(forMs, () => {
        world.network.isDown = false;
      });
      return `for ${forMs} ms`;
    },
  },
  {
    name: 'shard killed',
    weight: 2,
    happen: (world, random) => {
      world.killShard();
      const forMs = random.below(30_000);
      world.time.after(forMs, () => {
        if (world.process === null) world.startShard();
      });
      return `for ${forMs} ms`;
    },
  },
  {
    name: 'machine fails',
    weight: 3,
    happen: (world, random) => {
      const id = anyMachine(world, random);
      world.provider.world.fail(id, 'hardware (simulated)');
      world.time.after(random.below(120_000), () => world.provider.world.reset(id, 'repaired'));
      return id;
    },
  },
  {
    name: 'machine taken back',
    weight: 3,
    happen: (world, random) => {
      const id = anyMachine(world, random);
      world.provider.world.reset(id);
      return id;
    },
  },
  {
    name: 'machine vanishes',
    weight: 1,
    happen: (world, random) => {
      const id = anyMachine(world, random);
      world.provider.world.remove(id);
      return id;
    },
  },
  {
    name: 'machine appears',
    weight: 2,
    happen: (world, random) => {
      const seed = drawMachine(random, `new-${random.uint32()}`);
      world.provider.add(seed);
      return seed.id;
    },
  },
  {
    name: 'price moves',
    weight: 4,
    happen: (world, random) => {
      const id = anyMachine(world, random);
      world.provider.world.reprice(id, random.between(1, 100) / 50);
      return id;
    },
  },
  {
    name: 'listing shrinks',
    weight: 1,
    happen: (world, random) => {
      let left = random.between(1, 2);
      const empty = world.provider.list({ states: [MachineState.Deleting] });
      if (empty.kind !== 'ok') return '';
      world.link.bendListing = (bytes) => (left-- > 0 ? new Uint8Array(0) : bytes);
      return `${left} times`;
    },
  },
];

export function calm(world: SimulatedWorld): void {
  world.network.faults = QUIET_NETWORK;
  world.network.isDown = false;
  delete world.link.bendListing;
  for (const cluster of world.clusters.values()) {
    cluster.faults = GOOD_OPERATOR;
    if (world.process !== null) world.reconnect(cluster);
  }
  if (world.process === null) world.startShard();
}
