/**
 * A gang that fits no rack fills the best one, is parked, and causes no more actions; once enough machines appear, the
 * engine serves it. A closed loop by seed, at every pace.
 */
import { expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { ActionKind } from '../../src/decision/actions.ts';
import { MachineState } from '../../src/machine/state.ts';
import { cluster, cpus, gang, idle, inRack, machine, need, world } from '../oracle/rules/worlds.ts';
import type { WorldMachine } from '../oracle/world.ts';
import { ClosedLoop, type Pace } from './closed-loop.ts';

const RUNS = 60;
const CPUS_A_MACHINE = 4;
const TRIED_WITHIN_CYCLES = 32;
/** More than a create, a configure and a drain take at the slowest pace, twice. */
const DONE_WITHIN_CYCLES = 80;
const { Reclaim } = ActionKind;

const PACES: readonly Pace[] = [
  { beginMax: 0, createMax: 0, configureMax: 0, drainMax: 0, reclaimsMax: 1_000 },
  { beginMax: 1, createMax: 6, configureMax: 2, drainMax: 10, reclaimsMax: 1 },
];

function unassignedMachines(rack: string, count: number, random: Random): WorldMachine[] {
  return Array.from({ length: count }, (_, index) => {
    const state = random.chance(0.5) ? MachineState.Idle : MachineState.Speculative;
    return machine(`${rack}-${random.uint32()}-${index}`, state, inRack(rack));
  });
}

/** A gang that is larger than each of a few racks, beside a small need that can be met. */
function cramped(random: Random) {
  const racks = Array.from({ length: random.between(1, 4) }, (_, index) => ({
    name: `rack-${index}`,
    size: random.between(1, 3),
  }));
  const largest = Math.max(...racks.map(({ size }) => size));
  const machineCount = largest + random.between(1, 3);
  const job = gang('job', machineCount * CPUS_A_MACHINE, { minUnit: cpus(random.between(0, 4)) });
  const web = need({ aggregate: cpus(1), priority: 500 });
  const fleet = racks.flatMap(({ name, size }) => unassignedMachines(name, size, random));
  fleet.push(idle('web-1', { labels: {}, price: 0.1 })); // in no rack: the gang cannot use it
  return { racks, machineCount, job, start: world(fleet, [cluster('alpha', [job, web])]) };
}

it(`A7: parks a gang that fits no rack, and uses new machines for it within ${TRIED_WITHIN_CYCLES} cycles`, () => {
  let movedCount = 0;
  for (let seed = 1; seed <= RUNS; seed++) {
    const random = new Random(seed);
    const { racks, machineCount, start } = cramped(random);
    const loop = new ClosedLoop(start, PACES[seed % 2]!, random);
    for (const one of start.clusters) loop.report(one);
    const ref = loop.inventory.tables.clusters.find('alpha');
    const verdict = () => loop.engine.verdict(ref, 1); // in order N4 the other need comes first
    let cycle = 0;
    while (!verdictAfter(loop, verdict).parked) expect(cycle++, `seed ${seed} is parked`).toBeLessThan(60);

    const filled = verdict().domain;
    for (let quiet = random.between(1, 80); quiet > 0; quiet--) {
      expect(loop.cycle(), `seed ${seed} stays quiet`).toEqual([]);
      expect(verdict()).toMatchObject({ satisfied: false, domain: filled });
    }

    const target = random.chance(0.4) ? { name: 'rack-new', size: 0 } : random.pick(racks);
    for (const one of unassignedMachines(target.name, machineCount - target.size, random)) loop.add(one);
    let waited = 0;
    while (loop.cycle().length === 0)
      expect(waited++, `seed ${seed} is tried`).toBeLessThan(TRIED_WITHIN_CYCLES);
    expect(verdict()).toMatchObject({ parked: false, domain: target.name, satisfiable: true });

    let reclaims = 0;
    for (let settling = 0; settling < DONE_WITHIN_CYCLES; settling++) {
      for (const { kind } of loop.cycle()) if (kind === Reclaim) reclaims++;
    }
    expect(verdict(), `seed ${seed}`).toMatchObject({
      satisfied: true,
      claimed: machineCount,
      domain: target.name,
    });
    if (target.name !== filled) {
      movedCount++; // A6: it releases its machines elsewhere once the new rack covers it
      expect(reclaims).toBeGreaterThan(0);
    }
    expect(loop.cycle(), `seed ${seed} rests`).toEqual([]);
  }
  expect(movedCount).toBeGreaterThan(RUNS * 0.3);
});

function verdictAfter(
  loop: ClosedLoop,
  verdict: () => { readonly parked: boolean },
): { readonly parked: boolean } {
  loop.cycle();
  return verdict();
}
