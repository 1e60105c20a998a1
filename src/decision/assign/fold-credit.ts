/**
 * Which machines a fold may be credited: none that is assigned to another live need (docs/adr/0039). Folds come and go
 * with the unassigned machines; a fold that took other needs' machines would make those needs bind more, and then give
 * the machines back.
 */
import type { SlotList } from '../columns/slot-list.ts';
import type { EngineNeeds } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Fleet } from '../supply/fleet.ts';

export class FoldCredit {
  readonly #fleet: Fleet;
  readonly #needs: EngineNeeds;

  constructor({ fleet, needs }: EngineTables) {
    this.#fleet = fleet;
    this.#needs = needs;
  }

  /** Whether the machine is assigned to a live need other than the fold. */
  isAssignedElsewhere(fold: number, slot: number): boolean {
    const { assignment, assignments } = this.#fleet;
    const own = assignment[slot]!;
    if (own === 0 || own === this.#needs.assignment[fold] || own === this.#needs.plainAssignment[fold])
      return false;
    return assignments.live[own]! > 0;
  }

  /** Removes from `found` the machines that the fold may not be credited. */
  removeOthers(fold: number, found: SlotList): void {
    const { slots } = found;
    let kept = 0;
    for (let index = 0; index < found.count; index++) {
      if (!this.isAssignedElsewhere(fold, slots[index]!)) slots[kept++] = slots[index]!;
    }
    found.count = kept;
  }
}
