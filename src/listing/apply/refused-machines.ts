/**
 * Machines that a provider lists although another provider owns them. S1: the shard rejects an id known from another
 * provider. Once the owner no longer has the machine the shard would accept it, but a listing after a cursor does not name
 * it again, so the next listing must be full.
 */
import type { Inventory } from '../../inventory/inventory.ts';

/** More of them are a configuration mistake, and wait for the next full listing. */
const KEPT_MAX = 1024;

export class RefusedMachines {
  readonly #generations = new Map<number, number>();

  /** `generation` is the slot's while the owner has the machine. */
  add(slot: number, generation: number): void {
    if (this.#generations.size < KEPT_MAX) this.#generations.set(slot, generation);
  }

  clear(): void {
    this.#generations.clear();
  }

  get isAny(): boolean {
    return this.#generations.size > 0;
  }

  /** Whether an owner no longer has one of them. */
  isAnyGone(inventory: Inventory): boolean {
    for (const [slot, generation] of this.#generations) {
      if (!inventory.isCurrent(slot, generation)) return true;
    }
    return false;
  }
}
