/**
 * Question: what does one transition of a random machine cost, with all its indexes, the change log and the marks of live
 * orders? Ordinary transitions, a quarter of the fleet each: drain, unbind, configure, configured. At the given number of
 * machines and at twice that: the instructions are the same, the caches are not. Samples are short, so that other processes
 * interrupt few of them. The naive twin changes a field of an object found by id, and pays for its indexes at every
 * snapshot (inventory-snapshot).
 */
import { Random } from '../../src/base/random.ts';
import type { Inventory } from '../../src/inventory/inventory.ts';
import { MachineState } from '../../src/machine/state.ts';
import type { BenchContext, Scenario } from '../harness.ts';
import { fullInventory, Lives, NaiveFleet, NOW_MS } from './inventory-fleet.ts';

const S = MachineState;
const OPERATIONS = 500;
const SAMPLES = 2_000;
/** The default capacity of an inventory. */
const MACHINES_MAX = 1_048_576;

export const scenario: Scenario = {
  name: 'inventory-transition',
  question: 'What does one random transition cost, with its indexes?',
  defaults: { machines: 500_000, seconds: 10 },
  targets: [
    { name: 'a transition', metric: 'transition', limit: 400, direction: 'below' },
    {
      name: 'a transition among twice as many',
      metric: 'transition, twice the fleet',
      limit: 800,
      direction: 'below',
    },
  ],
  growth: {
    metrics: ['transition', 'naive, without indexes'],
    note: 'The instructions are the same at every size, the caches are not; the naive twin keeps no index up to date.',
  },
  async run(context) {
    const { machines } = context.params;
    await measure(context, 'transition', fullInventory(machines), machines);
    context.gc();
    const twice = 2 * machines;
    const inventory = fullInventory(twice, Math.max(MACHINES_MAX, twice));
    await measure(context, 'transition, twice the fleet', inventory, twice);
    context.gc();
    await measureNaive(context, machines);
  },
};

async function measure(
  context: BenchContext,
  name: string,
  inventory: Inventory,
  machines: number,
): Promise<void> {
  const lives = new Lives(inventory);
  const random = new Random(2);
  const { orders } = inventory;
  orders.acquireOrder(S.Idle);
  for (let cluster = 1; cluster <= inventory.tables.clusters.count; cluster++)
    orders.keepOrder(cluster, S.Configured);
  for (let slot = 1; slot <= machines; slot++) {
    for (let steps = random.below(4); steps > 0 && lives.prepare(slot); steps--) lives.advance(slot, NOW_MS);
  }
  const slots = new Uint32Array(OPERATIONS);
  const taken = new Uint32Array(machines);
  let moved = 0;
  await context.time(
    name,
    'ns',
    () => {
      for (let index = 0; index < OPERATIONS; index++) if (lives.advance(slots[index]!, NOW_MS)) moved++;
    },
    {
      samples: SAMPLES,
      warmups: 100,
      operations: OPERATIONS,
      before: () => {
        const chosen = new Set<number>();
        while (chosen.size < OPERATIONS) {
          const slot = 1 + random.below(machines);
          if (!chosen.has(slot) && lives.prepare(slot)) chosen.add(slot);
        }
        slots.set([...chosen]);
        // What a cycle does between two bursts of transitions.
        inventory.changes.take(taken);
        orders.acquireOrder(S.Idle);
        orders.keepOrder(1, S.Configured);
      },
    },
  );
  context.check(moved > 0 && moved % OPERATIONS === 0, 'every transition happened');
}

async function measureNaive(context: BenchContext, machines: number): Promise<void> {
  const naive = new NaiveFleet(machines);
  const random = new Random(2);
  const ids = [...naive.machines.keys()];
  const chosen: string[] = [];
  let moved = 0;
  await context.time(
    'naive, without indexes',
    'ns',
    () => {
      for (const id of chosen) {
        const machine = naive.machines.get(id)!;
        machine.state = machine.state === S.Configured ? S.Draining : S.Configured;
        moved++;
      }
    },
    {
      samples: 50,
      operations: OPERATIONS,
      before: () => {
        chosen.length = 0;
        for (let count = 0; count < OPERATIONS; count++) chosen.push(ids[random.below(machines)]!);
      },
    },
  );
  context.check(moved > 0, 'the naive twin moved too');
}
