/**
 * Question: what does it cost to generate the fleet that the other scenarios use? Seed 1. It bounds the time
 * that a benchmark prepares, and shows that the records are cheap enough to feed a listing.
 */
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import type { Scenario } from '../harness.ts';

export const scenario: Scenario = {
  name: 'catalogue',
  question: 'What does it cost to make up a steady fleet and its demand?',
  defaults: { machines: 500_000, seconds: 10 },
  targets: [
    { name: 'the fleet is built', metric: 'build', limit: 10, direction: 'below' },
    { name: 'heap per machine, columns and stamps', metric: 'heap', limit: 256, direction: 'below' },
  ],
  async run(context) {
    const { machines } = context.params;
    let fleet: SteadyFleet | null = null;
    context.gc();
    const heapBefore = memoryBytes();
    await context.time('build', 's', () => (fleet = new SteadyFleet(machines)), { samples: 3, warmups: 0 });
    context.gc();
    const built = fleet as SteadyFleet | null;
    context.check(built !== null && built.machineCount === machines, 'the fleet has every machine');
    if (built === null) return;
    context.sample('heap', 'B/machine', (memoryBytes() - heapBefore) / machines);

    let recordCount = 0;
    await context.time(
      'record',
      'us',
      () => {
        for (const machine of built.machines()) recordCount += machine.id.length > 0 ? 1 : 0;
      },
      { samples: 5, operations: machines },
    );
    context.check(recordCount >= machines, 'every machine became a record');

    let rowCount = 0;
    await context.time(
      'rollup',
      'us',
      () => {
        rowCount = 0;
        for (const rollup of built.rollups()) rowCount += rollup.rows.length;
      },
      { samples: 3, operations: built.clusterCount },
    );
    context.sample('rows', 'rows/cluster', rowCount / built.clusterCount);
  },
};

function memoryBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
