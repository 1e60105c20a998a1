/**
 * T12: names that differ in every listing and every roll-up. What the engine and the tables keep of them must not grow:
 * memory after collection stays where it was, and decisions stay those of an engine from scratch.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { EngineFleet } from '../../bench/catalogue/engine-fleet.ts';
import { decideChecked } from '../../src/decision/check.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState } from '../../src/machine/state.ts';
import { Operator, WhenUnsatisfiable } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const MACHINES = 400;
const WARM_CYCLES = 40;
const CYCLES = 160;
const HOLDS = { onDemandMs: 600_000, spotMs: 60_000 };

/** Every name but the id is new in every generation. */
function drifting(index: number, generation: number): Machine {
  const name = `${generation}-${index}`;
  return {
    id: `m-${index}`,
    state: MachineState.Idle,
    host: { provider: 'p', ref: `h-${index}` },
    instanceType: `type-${generation % 7}-${index % 5}`,
    zone: `zone-${generation}`,
    capacityType: CapacityType.BareMetal,
    pricePerHourUsd: 1 + (index % 10),
    interruptionProbability: 0,
    labels: { rack: `rack-${name}`, [`key-${generation}`]: `value-${index % 3}`, [`key-${name}`]: '' },
    capacity: { cpu: 4000 + generation },
    cluster: '',
    assignment: null,
    lastError: '',
  };
}

/** A gang over a key that is new in every generation, and a plain need for what every machine has. */
function demandOf(generation: number): RollupRow[] {
  const row = {
    minUnit: { cpu: '1' },
    priority: 0,
    spread: [],
    interruptionBucket: 0,
    reclamationBucket: 0,
  };
  const same = { key: `key-${generation}`, operator: Operator.Same, values: [] };
  return [
    { ...row, requirements: [same], aggregate: { cpu: '40' }, group: `job-${generation}` },
    {
      ...row,
      requirements: [],
      aggregate: { cpu: '8' },
      group: 'web',
      spread: [
        {
          topologyKey: `key-${generation}`,
          maxSkew: 1,
          whenUnsatisfiable: WhenUnsatisfiable.DoNotSchedule,
        },
      ],
    },
  ];
}

function heapBytes(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('labels, types, zones, capacities, groups and topology keys that drift', () => {
  it('T12: leave no memory behind, and every decision is the one from scratch', () => {
    const fleet = new EngineFleet(1_024);
    const options = { inventory: fleet.inventory, needs: fleet.needs, hasSession: () => true, holds: HOLDS };
    for (let index = 0; index < MACHINES; index++) fleet.insert(drifting(index, 0));
    let warmBytes = 0;
    for (let generation = 1; generation <= CYCLES; generation++) {
      fleet.nowMs += 10_000;
      for (let index = 0; index < MACHINES; index++) fleet.apply(drifting(index, generation));
      fleet.rollUp('alpha', demandOf(generation));
      if (generation % 16 !== 0) fleet.decide();
      else {
        const input = { nowMs: fleet.nowMs, isOrdinary: true };
        const { differences } = decideChecked(fleet.engine, options, input);
        expect(differences, `generation ${generation}`).toEqual({ actions: 0, claims: 0, verdicts: 0 });
        expect(fleet.engine.actions.count).toBeGreaterThan(5);
      }
      if (generation === WARM_CYCLES) warmBytes = heapBytes();
    }
    expect(heapBytes()).toBeLessThan(1.1 * warmBytes + 2 ** 20);
    expect(fleet.inventory.shapes.count).toBe(MACHINES);
  });
});
