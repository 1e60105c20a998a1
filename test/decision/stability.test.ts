/**
 * Nothing oscillates.
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { ActionKind } from '../../src/decision/actions.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { MachineState } from '../../src/machine/state.ts';
import { wholeGangs } from '../oracle/amounts.ts';
import { randomWorld } from '../oracle/generator.ts';
import { randomLabels, randomMachine, randomMenu } from '../oracle/generator-machines.ts';
import { fingerprintOf, foldGroupOf, matches, sameKeysOf, withoutSame } from '../oracle/profile.ts';
import { Operator, type World, type WorldMachine } from '../oracle/world.ts';
import { ClosedLoop, type LoopAction, type Pace } from './closed-loop.ts';

const RUNS = Number(process.env.FLOTILLA_RUNS ?? 300);
const FIRST = Number(process.env.FLOTILLA_SEED ?? 1);
const CYCLES = 70;
const S = MachineState;

const PACES: readonly Pace[] = [
  { beginMax: 0, createMax: 0, configureMax: 0, drainMax: 0, reclaimsMax: 1_000 },
  { beginMax: 0, createMax: 3, configureMax: 1, drainMax: 6, reclaimsMax: 1 },
  { beginMax: 2, createMax: 12, configureMax: 4, drainMax: 20, reclaimsMax: 1_000 },
];

function steadyWorld(random: Random): World {
  const world = randomWorld(random);
  for (const cluster of world.clusters) {
    cluster.needs = cluster.needs.filter(
      ({ aggregate, minUnit, requirements }) =>
        (aggregate.cpu ?? 0) <= 20_000 &&
        aggregate['example.com/nowhere'] === undefined &&
        (minUnit.cpu ?? 0) <= 4_000 &&
        requirements.every(({ operator }) => operator !== Operator.Unspecified),
    );
    for (const need of cluster.needs) need.backoff = false;
  }
  for (const machine of world.machines) machine.stuck = machine.backoff = false;
  const menu = randomMenu(random);
  for (let left = random.between(20, 80); left > 0; left--) {
    const state = random.chance(0.4) ? S.Idle : S.Speculative;
    world.machines.push(freeMachine(world, menu, `more-${left}`, state, random));
  }
  return world;
}

function freeMachine(
  world: World,
  menu: ReturnType<typeof randomMenu>,
  id: string,
  state: MachineState,
  random: Random,
): WorldMachine {
  const machine = randomMachine(world, menu, id, random);
  return {
    ...machine,
    state,
    intent: 'none',
    stamp: null,
    stuck: false,
    backoff: false,
    drainFor: null,
    foundDraining: false,
    stateSinceMs: world.nowMs,
  };
}

let serial = 0;
function disturb(loop: ClosedLoop, world: World, random: Random): boolean {
  const { inventory } = loop;
  let priced = false;
  for (const cluster of loop.clusters) {
    if (cluster.reported && random.chance(0.2)) expect(loop.repeatRollup(cluster)).toBe('unchanged');
  }
  if (random.chance(0.3)) {
    priced = true;
    const slots = [...inventory.slotsById];
    for (const slot of slots) {
      if (!random.chance(0.3)) continue;
      inventory.apply(
        slot,
        { pricePerHourUsd: random.pick([0.5, 1, 2, 3]), interruptionProbability: random.pick([0, 0.1, 0.5]) },
        loop.nowMs,
      );
    }
  }
  if (random.chance(0.2)) {
    const type = { name: 'huge', capacity: { cpu: 16_000, memory: 64 * 1_048_576, 'nvidia.com/gpu': 8_000 } };
    for (let left = random.between(1, 3); left > 0 && inventory.count < 200; left--) {
      const machine = freeMachine(
        { ...world, nowMs: loop.nowMs },
        [type],
        `huge-${serial++}`,
        random.chance(0.5) ? S.Idle : S.Speculative,
        random,
      );
      loop.add({
        ...machine,
        labels: randomLabels(random),
        capacityType: random.pick([CapacityType.BareMetal, CapacityType.Spot]),
      });
    }
  }
  if (random.chance(0.2)) {
    for (const slot of loop.freeSlots()) if (random.chance(0.3)) inventory.remove(slot);
  }
  if (random.chance(0.05)) loop.nowMs += 600_000;
  return priced;
}

const BINDING: readonly ActionKind[] = [ActionKind.Bootstrap, ActionKind.Provision, ActionKind.Preempt];
const isBinding = ({ kind }: LoopAction) => BINDING.includes(kind);

function classify(loop: ClosedLoop, world: World): string {
  const { inventory, engine } = loop;
  const { clusters, fingerprints, groups } = inventory.tables;
  let klass = '';
  for (const slot of inventory.slotsById) {
    const claim = engine.claimOf(slot);
    if (claim === null) continue;
    const group = groups.get(claim.group);
    if (!group.startsWith('fold:')) continue;
    const cluster = loop.clusters.find(({ id }) => id === clusters.get(claim.cluster))!;
    const fp = fingerprints.get(claim.fingerprint);
    const members = cluster.needs.filter(
      (need) =>
        sameKeysOf(need.requirements).length > 0 &&
        fingerprintOf({ ...need, requirements: withoutSame(need.requirements) }) === fp &&
        foldGroupOf(need.aggregate) === group,
    );
    const m = inventory.get(slot);
    const machine = { ...m, capacity: { ...m.capacity }, labels: { ...m.labels } } as unknown as WorldMachine;
    if (members.some((need) => !matches(need.requirements, machine))) klass += 'K';
    if (cluster.needs.some((need) => need.group === '' && fingerprintOf(need) === fp)) klass += 'P';
    const agg = members[0]!.aggregate;
    const whole = wholeGangs(machine.capacity, agg);
    if (
      members.length > 1 &&
      Object.keys(agg).some((d) => agg[d]! > 0 && (machine.capacity[d] ?? 0) > whole * agg[d]!)
    )
      klass += 'W';
  }
  return [...new Set(klass)].sort().join('');
}

describe('a closed loop', () => {
  it('once covered', () => {
    const counts = new Map<string, number>();
    const count = (what: string, by = 1) => counts.set(what, (counts.get(what) ?? 0) + by);
    const failures: string[] = [];
    for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
      const random = new Random(seed);
      const world = steadyWorld(random);
      const loop = new ClosedLoop(world, PACES[seed % PACES.length]!, random, [undefined, 1, 3][seed % 4]);
      let covered = -1;
      let klass = '';
      for (let cycle = 0; cycle < CYCLES; cycle++) {
        if (cycle > 15) disturb(loop, world, random);
        const actions = loop.cycle(random.chance(0.85));
        if (covered >= 0) {
          const wrong = actions.filter(isBinding);
          for (const { kind } of actions) count(`after ${kind}`);
          if (wrong.length > 0) {
            failures.push(
              `${klass} seed ${seed} covered at ${covered}, cycle ${cycle}: ${JSON.stringify(wrong)}`,
            );
            break;
          }
        } else {
          for (const { kind } of actions) count(`before ${kind}`);
          if (loop.isCovered()) {
            covered = cycle;
            klass = classify(loop, world);
            count('class ' + klass);
            count('covered');
          }
        }
      }
    }
    console.log([...counts].join('  '));
    console.log(failures.length, failures.slice(0, 15).join('\n'));
    expect(failures).toEqual([]);
  });
});
