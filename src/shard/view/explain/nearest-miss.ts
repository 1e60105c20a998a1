/**
 * The kinds of machine that come nearest to a need, and what each lacks. Machines with equal instance type, zone, capacity type
 * and misses are one kind, in whichever rack.
 */
import type { Inventory } from '../../../inventory/inventory.ts';
import type { Shape } from '../../../inventory/shapes.ts';
import { ALL_STATES } from '../../../machine/state.ts';
import type { Miss, NearMiss } from '../../ports/explain.ts';
import { type Matcher, MISSES_PER_TURN } from './matcher.ts';
import { total } from './words.ts';

export const NEAREST_MAX = 3;

export async function nearestMisses(
  inventory: Inventory,
  matcher: Matcher,
  nextTurn: () => Promise<void>,
): Promise<NearMiss[]> {
  const { shapes, indexes } = inventory;
  const kinds = new Map<string, NearMiss & { machines: number[] }>();
  for (let ref = 1; ref < shapes.refLimit; ref++) {
    if (ref % MISSES_PER_TURN === 0) await nextTurn();
    if (!shapes.isHeld(ref)) continue;
    const shape = shapes.get(ref);
    const counts = [0, ...ALL_STATES.map((state) => indexes.countOfShape(state, ref))];
    const misses = matcher.missesOf(shape);
    if (misses.length === 0 || total(counts) === 0) continue;
    const key = kindOf(shape, misses);
    const known = kinds.get(key);
    if (known !== undefined) {
      for (const state of ALL_STATES) known.machines[state]! += counts[state]!;
    } else {
      const { instanceType, zone, capacityType } = shape;
      kinds.set(key, { instanceType, zone, capacityType, machines: counts, misses });
    }
  }
  return [...kinds.values()].sort(compareNearness).slice(0, NEAREST_MAX);
}

function kindOf(shape: Shape, misses: readonly Miss[]): string {
  const lacks = misses.map((miss) => (miss.kind === 'requirement' ? `r ${miss.key}` : `m ${miss.dimension}`));
  return JSON.stringify([shape.instanceType, shape.zone, shape.capacityType, ...lacks]);
}

/** Fewer misses first, then the smaller lack of capacity, then more machines. */
function compareNearness(a: NearMiss, b: NearMiss): number {
  return a.misses.length - b.misses.length || lackOf(a) - lackOf(b) || total(b.machines) - total(a.machines);
}

function lackOf({ misses }: NearMiss): number {
  let lack = 0;
  for (const miss of misses) if (miss.kind === 'min_unit') lack += 1 - miss.has / miss.wanted;
  return lack;
}
