/** The quality of decisions: small worlds are what they claim to be, and the solver's answers are right where they can be checked. */
import { describe, expect, it, vi } from 'vitest';
import { SEED_VARIABLE } from '../../bench/conditions.ts';
import { measure } from '../../bench/harness.ts';
import { decideWorld } from '../../bench/quality/decision.ts';
import { isFree } from '../../bench/quality/new-demand.ts';
import { compareUnmet, costUsd } from '../../bench/quality/objective.ts';
import {
  drawWorld,
  KINDS,
  MACHINES_MAX,
  NEEDS_MAX,
  type SmallWorld,
} from '../../bench/quality/small-worlds.ts';
import { loadSolver, solveWorld } from '../../bench/quality/solver.ts';
import { scenario } from '../../bench/scenarios/quality.ts';
import { Random } from '../../src/base/random.ts';
import { MachineState } from '../../src/machine/state.ts';
import { Operator } from '../../src/needs/requirements.ts';

const VALUE = { placement: { kind: 'value', offerMargin: 0.2 } } as const;

describe('small worlds', () => {
  for (const kind of KINDS) {
    it(`of kind ${kind} are small, and the same seed draws the same world`, () => {
      for (let seed = 1; seed <= 20; seed++) {
        const world = drawWorld(kind, new Random(seed));
        expect(world.machines.length).toBeLessThanOrEqual(MACHINES_MAX);
        expect(world.needs.length).toBeLessThanOrEqual(NEEDS_MAX);
        expect(drawWorld(kind, new Random(seed))).toEqual(world);
      }
    });
  }

  it('have what their kind says', () => {
    const draw = (kind: (typeof KINDS)[number]) => drawWorld(kind, new Random(3));
    const isBound = ({ machines }: SmallWorld) =>
      machines.some(({ state }) => state === MachineState.Configured);
    expect(isBound(draw('bound'))).toBe(true);
    expect(isBound(draw('plain'))).toBe(false);
    expect(draw('spread').needs.some(({ row }) => row.spread.length > 0)).toBe(true);
    const hasSame = draw('gangs').needs.some(({ row }) =>
      row.requirements.some(({ operator }) => operator === Operator.Same),
    );
    expect(hasSame).toBe(true);
  });
});

describe('the solver', () => {
  it('finds the cheapest cover of one need, as trying every set of machines does', async () => {
    const highs = await loadSolver();
    for (let seed = 1; seed <= 5; seed++) {
      const drawn = drawWorld('plain', new Random(seed));
      const world = { ...drawn, needs: drawn.needs.slice(0, 1), machines: drawn.machines.slice(0, 10) };
      const { deficits } = decideWorld(world, {});
      const solved = solveWorld(highs, world.machines.filter(isFree), deficits, 5)!;
      const tried = cheapestOfAllSets(world);
      expect(solved.unmet).toEqual([tried === null ? 1 : 0]);
      if (tried !== null) expect(solved.costUsd).toBeCloseTo(tried, 6);
    }
  });

  it('is beaten by no decision', async () => {
    const highs = await loadSolver();
    for (const kind of KINDS) {
      const world = drawWorld(kind, new Random(11));
      const judged = decideWorld(world, VALUE);
      const solved = solveWorld(highs, world.machines.filter(isFree), judged.deficits, 5)!;
      const order = compareUnmet(judged.unmet, solved.unmet);
      expect(order, kind).toBeGreaterThanOrEqual(0);
      if (order === 0) expect(judged.costUsd, kind).toBeGreaterThanOrEqual(solved.costUsd - 1e-6);
    }
  });
});

it('the scenario has a figure for each kind, placement and fleet', async () => {
  vi.stubEnv(SEED_VARIABLE, '4');
  const params = { machines: 2_000, needs: 0, seconds: 0.1 };
  const { metrics, targets } = await measure(scenario, params, { node: process.version, cpus: 1 }, () => {});
  for (const placement of ['cheapest', 'value']) {
    for (const kind of KINDS) expect(metrics[`${kind}: ${placement}: unmet needs, all worlds`]).toBeDefined();
    for (const fleet of ['small fleet', 'large fleet'])
      expect(metrics[`${fleet}: ${placement} ÷ cheapest covers`]!.median).toBeGreaterThanOrEqual(1 - 1e-9);
  }
  expect(targets.map(({ name }) => name)).toEqual(scenario.targets.map(({ name }) => name));
}, 60_000);

/** Null: no set covers the need. */
function cheapestOfAllSets({ machines, needs }: SmallWorld): number | null {
  const { deficits } = decideWorld({ kind: 'plain', machines, needs }, {});
  const { need, lacking } = deficits[0]!;
  const usable = machines.filter((machine) => fitsOne({ machines: [machine], needs: [need], kind: 'plain' }));
  let best: number | null = null;
  for (let set = 0; set < 2 ** usable.length; set++) {
    const chosen = usable.filter((_, index) => (set >> index) % 2 === 1);
    const isCovered = Object.entries(lacking).every(
      ([dimension, units]) =>
        chosen.reduce((sum, { capacity }) => sum + (capacity[dimension] ?? 0), 0) >= units,
    );
    const cost = chosen.reduce((sum, machine) => sum + costUsd(machine, need.row.interruptionBucket), 0);
    if (isCovered && (best === null || cost < best)) best = cost;
  }
  return best;
}

/** Whether the engine itself would give the machine to the need, if it is all there is. */
function fitsOne(world: SmallWorld): boolean {
  const tiny = { ...world.needs[0]!, aggregate: { cpu: 500 } };
  const row = { ...tiny.row, aggregate: { cpu: '500m' } };
  return decideWorld({ ...world, needs: [{ ...tiny, row }] }, {}).unmet[0] === 0;
}
