/** How many free machines a need could try. Labels of single machines are left out: the shape decides. */
import type { Inventory } from '../../inventory/inventory.ts';
import { attributeOf } from '../../inventory/shapes.ts';
import { MachineState } from '../../machine/state.ts';
import { matches, type Requirement } from '../../needs/requirements.ts';

const FREE = [MachineState.Idle, MachineState.Speculative] as const;

export function matchingFree(inventory: Inventory, requirements: readonly Requirement[]): number {
  const { shapes, indexes, tables } = inventory;
  const ofShape = requirements.filter(({ key }) => !tables.ownLabelKeys.includes(key));
  let free = 0;
  for (let ref = 1; ref < shapes.refLimit; ref++) {
    if (!shapes.isHeld(ref)) continue;
    const machines = FREE.reduce((sum, state) => sum + indexes.countOfShape(state, ref), 0);
    if (machines === 0) continue;
    const shape = shapes.get(ref);
    if (ofShape.every((one) => matches(one, attributeOf(shape, one.key)))) free += machines;
  }
  return free;
}
