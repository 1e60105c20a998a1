/** Random fleets in which needs compete: they exchange in many of them (E9), and the engine agrees with the oracle all the same. */
import { expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { MachineState } from '../../src/machine/state.ts';
import { Operator } from '../../src/needs/requirements.ts';
import { step } from '../oracle/generator.ts';
import { decide } from '../oracle/oracle.ts';
import { cluster, cpus, machine, need, world as worldOf, ZONE } from '../oracle/rules/worlds.ts';
import type { OracleResult, World } from '../oracle/world.ts';
import { comparable } from './comparable.ts';
import { EngineWorld } from './engine-world.ts';
import { expectSame } from './histories.ts';

const HISTORIES = 20;
const STEPS = 5;
const ZONES = ['zone-1', 'zone-2', 'zone-3'];
const { OnDemand, Reserved, Spot } = CapacityType;
const value = { offerMargin: 0.2 };

function competingNeeds(random: Random): World {
  const machines = Array.from({ length: random.between(8, 20) }, (_, index) => {
    const capacityType = random.pick([OnDemand, OnDemand, Spot, Reserved]);
    return machine(`m-${index}`, random.chance(0.2) ? MachineState.Idle : MachineState.Speculative, {
      capacity: cpus(random.pick([2, 4, 8])),
      capacityType,
      zone: random.pick(ZONES),
      price: random.between(1, 40) / 10,
      probability: capacityType === Spot ? random.pick([0, 0.1, 0.3]) : 0,
    });
  });
  const clusters = ['alpha', 'beta'].map((id) =>
    cluster(
      id,
      Array.from({ length: random.between(1, 4) }, (_, index) =>
        need({
          group: `need-${index}`,
          priority: random.pick([10, 500, 1_000]),
          interruptionPenalty: random.pick([0, 2, 4, 6]),
          aggregate: cpus(random.between(1, 12)),
          minUnit: {},
          requirements: random.chance(0.6)
            ? [
                {
                  key: ZONE,
                  operator: Operator.In,
                  values: random.shuffle([...ZONES]).slice(0, random.between(1, 2)),
                },
              ]
            : [],
        }),
      ),
    ),
  );
  return worldOf(machines, clusters, { value });
}

/** Ceilings that bar nothing still keep needs from exchanging. */
function withoutExchange(world: World): OracleResult {
  const none = Number.POSITIVE_INFINITY;
  return decide({
    ...world,
    ceilings: { maxDollarsPerHour: none, maxByCapacityType: [none, none, none, none, none] },
  });
}

const bound = ({ actions }: OracleResult) => actions.map(({ kind, machine: id }) => `${kind} ${id}`);

it('E9: engine and oracle exchange alike, from scratch and incrementally, and all that were covered stay covered', () => {
  let exchangedCount = 0;
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const random = new Random(seed);
    const live = new EngineWorld({ placement: { kind: 'value', ...value } });
    let world = competingNeeds(random);
    for (let at = 0; at < STEPS; at++) {
      const expected = decide(world);
      const right = comparable(expected);
      const where = `seed ${seed}, step ${at}`;
      expectSame(live.decideFromScratch(world), right, `${where}: from scratch`);
      expectSame(live.decide(world), right, `${where}: incremental`);
      const before = withoutExchange(world);
      if (bound(before).join() !== bound(expected).join()) exchangedCount++;
      expect(expected.verdicts.map(({ satisfied }) => satisfied)).toEqual(
        before.verdicts.map(({ satisfied }) => satisfied),
      );
      const next = step(world, expected, random);
      // A restart needs a new engine, and other events end the competition: the next step begins with new needs instead.
      world = { ...competingNeeds(random), cycle: next.cycle, nowMs: next.nowMs };
    }
  }
  expect(exchangedCount).toBeGreaterThan(20);
});
