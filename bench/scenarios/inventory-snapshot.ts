/**
 * Question: what do a snapshot and the first ordered reads after 1,000 changes cost, against rebuilding and sorting plain
 * objects? Seed by machine number; both sides hold the same fleet and see the same changes. The timed part reads the first
 * 256 Idle machines in acquire order and all Configured machines of one cluster in keep order. The keep orders of all
 * clusters were read before, so each change makes some order stale; the timed part brings the two that it reads up to date.
 */
import { Random } from '../../src/base/random.ts';
import type { Inventory } from '../../src/inventory/inventory.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState } from '../../src/machine/state.ts';
import type { Scenario } from '../harness.ts';
import { byAcquireOrder, byKeepOrder, fullInventory, NaiveFleet, NOW_MS } from './inventory-fleet.ts';

const S = MachineState;
const CHANGES = 1_000;
const HEAD = 256;
const SNAPSHOTS = 1_000;

export const scenario: Scenario = {
  name: 'inventory-snapshot',
  question: 'What do a snapshot and its first ordered reads cost after 1,000 changes?',
  defaults: { machines: 500_000, seconds: 10 },
  targets: [
    { name: 'gain over rebuilding and sorting', ratio: 'gain', limit: 100, direction: 'above' },
    { name: 'the snapshot alone', metric: 'snapshot', limit: 10, direction: 'below' },
  ],
  growth: {
    metrics: ['ordered reads', 'naive ordered reads'],
    note: '1,000 machines change before every read, whatever the size; the naive twin rebuilds and sorts.',
  },
  async run(context) {
    const { machines } = context.params;
    const random = new Random(1);
    context.progress('building both fleets');
    const inventory = fullInventory(machines);
    const naive = new NaiveFleet(machines);
    const ids = [...naive.machines.keys()];
    const clusters = inventory.tables.clusters.count;
    for (let cluster = 1; cluster <= clusters; cluster++) inventory.orders.keepOrder(cluster, S.Configured);
    inventory.orders.acquireOrder(S.Idle);

    let cluster = 1;
    let ours = 0;
    let theirs = 0;
    const clusterId = () => inventory.tables.clusters.get(cluster);
    const change = () => {
      cluster = 1 + random.below(clusters);
      for (let count = 0; count < CHANGES; count++)
        changeOne(inventory, naive, ids[random.below(machines)]!, random);
    };
    await context.time('ordered reads', 'ms', () => (ours += readOurs(inventory, cluster)[1].length), {
      samples: 40,
      warmups: 5,
      before: change,
    });
    await context.time(
      'naive ordered reads',
      'ms',
      () => (theirs += readNaive(naive, clusterId())[1].length),
      {
        samples: 8,
        before: () => {
          change();
          context.gc();
        },
      },
    );
    context.ratio('gain', 'naive ordered reads', 'ordered reads');
    // Many per sample: a loop of single snapshots would keep a hundred million samples.
    await context.loop(
      'snapshot',
      'us',
      () => {
        for (let count = 0; count < SNAPSHOTS; count++) inventory.snapshot().close();
      },
      { operations: SNAPSHOTS },
    );

    const [idle, kept] = readOurs(inventory, cluster).map((slots) =>
      slots.map((slot) => inventory.idOf(slot)),
    );
    const [naiveIdle, naiveKept] = readNaive(naive, clusterId()).map((machines) =>
      machines.map(({ id }) => id),
    );
    context.check(
      idle!.length === HEAD && idle!.join() === naiveIdle!.join(),
      'both read the same Idle machines in the same order',
    );
    context.check(
      kept!.length > 10 && kept!.join() === naiveKept!.join(),
      'both read the same cluster in the same order',
    );
    context.check(ours > 0 && theirs > 0, 'both were read');
  },
};

/** Changes a price or a state, the same on both sides. */
function changeOne(inventory: Inventory, naive: NaiveFleet, id: string, random: Random): void {
  const slot = inventory.find(id);
  const machine = naive.machines.get(id)!;
  if (random.chance(0.5) || machine.state === S.Speculative) {
    machine.pricePerHourUsd = (100 + random.below(900)) / 1_000;
    inventory.apply(slot, { pricePerHourUsd: machine.pricePerHourUsd }, NOW_MS);
    return;
  }
  if (machine.state === S.Configured) machine.state = S.Draining;
  else if (machine.state === S.Draining) {
    machine.state = S.Idle;
    machine.cluster = '';
    machine.assignment = null;
  } else machine.state = S.Deleting;
  if (inventory.columns.state[slot] !== S.Deleting) inventory.move(slot, machine.state, NOW_MS);
}

function readOurs(inventory: Inventory, cluster: number): [number[], number[]] {
  const snapshot = inventory.snapshot();
  const { orders } = snapshot.inventory;
  const idle = [...orders.acquireOrder(S.Idle).subarray(0, HEAD)];
  const kept = [...orders.keepOrder(cluster, S.Configured)];
  snapshot.close();
  return [idle, kept];
}

function readNaive(naive: NaiveFleet, cluster: string): [Machine[], Machine[]] {
  const byState = naive.snapshot();
  const idle = byState[S.Idle]!.sort(byAcquireOrder).slice(0, HEAD);
  const kept = byState[S.Configured]!.filter((machine) => machine.cluster === cluster).sort(byKeepOrder);
  return [idle, kept];
}
