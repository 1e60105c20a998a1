/**
 * Question: what does a scan of the whole fleet cost: one pass over the state column, a pass over the index of a state, a
 * copy of all columns, against a pass over plain objects? Seed by machine number; fleets built untimed.
 */
import { MachineState } from '../../src/machine/state.ts';
import type { Scenario } from '../harness.ts';
import { fullInventory, NaiveFleet } from './inventory-fleet.ts';

const S = MachineState;

export const scenario: Scenario = {
  name: 'inventory-scan',
  question: 'What does it cost to look at every machine once?',
  defaults: { machines: 500_000, seconds: 5 },
  targets: [
    { name: 'a pass over the state column', metric: 'state column', limit: 5, direction: 'below' },
    { name: 'gain over plain objects', ratio: 'gain', limit: 5, direction: 'above' },
  ],
  async run(context) {
    const { machines } = context.params;
    const inventory = fullInventory(machines);
    const { columns, indexes } = inventory;
    const { slotLimit } = columns;
    let idle = 0;
    let price = 0;
    await context.time(
      'state column',
      'ms',
      () => {
        idle = 0;
        for (let slot = 1; slot < slotLimit; slot++) if (columns.state[slot] === S.Idle) idle++;
      },
      { samples: 100, warmups: 5 },
    );
    context.check(idle === indexes.countInState(S.Idle), 'the scan and the index agree');
    await context.time(
      'price of every Idle machine, by index',
      'us',
      () => {
        price = 0;
        const slots = indexes.slotsInState(S.Idle);
        const count = indexes.countInState(S.Idle);
        for (let index = 0; index < count; index++) price += columns.pricePerHourUsd[slots[index]!]!;
      },
      { samples: 100, warmups: 5 },
    );
    context.check(price > 0, 'prices were read');
    let copied = 0;
    await context.time(
      'copy of all columns',
      'ms',
      () => (copied += inventory.snapshotCopy().buffer.byteLength),
      {
        samples: 10,
      },
    );
    context.check(copied > machines * 84, 'the copies hold every row');
    const naive = new NaiveFleet(machines);
    let naiveIdle = 0;
    await context.time(
      'naive pass',
      'ms',
      () => {
        naiveIdle = 0;
        for (const machine of naive.machines.values()) if (machine.state === S.Idle) naiveIdle++;
      },
      { samples: 30, warmups: 3 },
    );
    context.check(naiveIdle === idle, 'both sides hold the same fleet');
    context.ratio('gain', 'naive pass', 'state column');
  },
};
