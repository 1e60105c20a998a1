/**
 * Question: how much memory does a machine take, with its id, host, indexes and strings, against a plain object in a Map?
 * Ours is measured in two ways: every touched page of every table plus the growth of the heap (`inventory`), and the growth
 * of the process (`resident growth`, which includes memory that the allocator keeps after loading). The naive twin is
 * measured by its heap alone, after a collection, which favours the twin.
 */
import { memoryOf } from '../../src/inventory/memory.ts';
import { MachineState } from '../../src/machine/state.ts';
import type { Scenario } from '../harness.ts';
import { fullInventory, machineAt, NaiveFleet } from './inventory-fleet.ts';

const S = MachineState;
/** Enough to compile the code and to grow the heap to the size that building needs, before the measurement. */
const WARM_UP_MACHINES = 60_000;

export const scenario: Scenario = {
  name: 'inventory-memory',
  question: 'How much memory does a machine take?',
  defaults: { machines: 500_000, seconds: 5 },
  targets: [
    { name: 'bytes a machine', metric: 'inventory', limit: 180, direction: 'below' },
    { name: 'share of the naive twin', ratio: 'share', limit: 0.4, direction: 'below' },
  ],
  async run(context) {
    const { machines } = context.params;
    fullInventory(WARM_UP_MACHINES, WARM_UP_MACHINES);
    // The records that fill the inventory are garbage of this benchmark: let the heap grow for them first.
    let idBytes = 0;
    for (let index = 0; index < machines; index++) idBytes += machineAt(index, machines).id.length;
    context.check(idBytes > 0, 'records were made');
    const settle = async () => {
      for (let pass = 0; pass < 4; pass++) {
        context.gc();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    await settle();
    const residentBefore = process.memoryUsage().rss;
    const heapAtStart = process.memoryUsage().heapUsed;
    const inventory = fullInventory(machines);
    await settle();
    const perMachine = (name: string, bytes: number) => context.sample(name, 'B/machine', bytes / machines);
    perMachine('resident growth', process.memoryUsage().rss - residentBefore);
    const heapBytes = process.memoryUsage().heapUsed - heapAtStart;
    const memory = memoryOf(inventory);
    perMachine('inventory', memory.totalBytes + heapBytes);
    perMachine('of it columns', memory.columnBytes);
    perMachine('of it ids', memory.idBytes);
    perMachine('of it hosts', memory.hostBytes);
    perMachine('of it indexes', memory.indexBytes);
    perMachine('of it strings', memory.stringBytes);
    perMachine('of it heap (shapes)', heapBytes);
    context.check(inventory.count === machines, 'the inventory holds every machine');

    inventory.orders.acquireOrder(S.Configured);
    await settle();
    perMachine(
      'resident growth, with the order of its largest state',
      process.memoryUsage().rss - residentBefore,
    );

    const heapBefore = process.memoryUsage().heapUsed;
    const naive = new NaiveFleet(machines);
    await settle();
    const naiveBytes = process.memoryUsage().heapUsed - heapBefore;
    perMachine('naive', naiveBytes);
    context.check(naive.machines.size === inventory.count, 'both sides hold the same fleet');
    context.ratio('share', memory.totalBytes + heapBytes, naiveBytes);
  },
};
