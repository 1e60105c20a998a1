/**
 * Machines that a provider lists although another one owns them (S1). As long as it does, they are refused. When the owner has
 * them no more, they would be taken, but after a cursor nobody mentions them again: then everything has to be listed.
 */
import type { Inventory } from '../../inventory/inventory.ts';

/** More of them are somebody's mistake, and wait for the next full listing. */
const KEPT_MAX = 1024;

export class RefusedMachines {
  readonly #generations = new Map<number, number>();

  /** `generation` is the slot's while it was the owner's. */
  add(slot: number, generation: number): void {
    if (this.#generations.size < KEPT_MAX) this.#generations.set(slot, generation);
  }

  clear(): void {
    this.#generations.clear();
  }

  /** Whether one of them is no longer what it was refused for. */
  isAnyGone(inventory: Inventory): boolean {
    for (const [slot, generation] of this.#generations) {
      if (!inventory.isCurrent(slot, generation)) return true;
    }
    return false;
  }
}
