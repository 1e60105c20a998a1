/**
 * Draining credit (P6): machines that drain already count as freed, so that a deficit causes its victims once, however
 * long they drain and in whatever order they end. Two passes: first every need with a deficit counts the machines that
 * drain for it, as far as they help. The machines that no owner counts (the owner is met, gone, barred or parked, or
 * unknown) form a pool, from which the remaining deficits count in their order. So a drain that its owner no longer needs
 * serves the next need, and no victim is chosen in its place (docs/adr/0036). Every cycle with a deficit counts again.
 */

import type { VectorTable } from '../../base/vectors.ts';
import type { LeavingMachines } from '../assign/leaving.ts';
import { UnmetNeeds } from '../assign/unmet.ts';
import { columnU32, widerU32 } from '../columns/columns.ts';
import { sortFew } from '../columns/sort-few.ts';
import { type EngineNeeds, Mark } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import { Limit, type Limits } from '../limits.ts';
import type { Restrictions } from '../restrictions.ts';
import type { Drains } from '../supply/drains.ts';
import { type Fleet, Role } from '../supply/fleet.ts';
import type { Matching } from './matching.ts';

export class DrainingCredit {
  readonly #fleet: Fleet;
  readonly #vectors: VectorTable;
  readonly #needs: EngineNeeds;
  readonly #matching: Matching;
  readonly #leaving: LeavingMachines;
  readonly #drains: Drains;
  readonly #restrictions: Restrictions;
  readonly #limits: Limits;
  /** Machines that their owners count in this cycle. */
  readonly #counted = new Set<number>();
  /** Machines that no owner counts, by id; shrinks as deficits count from it. */
  readonly #pool: number[] = [];
  /** By family: machines in the pool. */
  #poolIn = columnU32(64);
  #isPoolMade = false;

  constructor(
    { fleet, vectors, needs, drains, restrictions, limits }: EngineTables,
    matching: Matching,
    leaving: LeavingMachines,
  ) {
    this.#fleet = fleet;
    this.#vectors = vectors;
    this.#needs = needs;
    this.#matching = matching;
    this.#leaving = leaving;
    this.#drains = drains;
    this.#restrictions = restrictions;
    this.#limits = limits;
  }

  /** Whether phase 2 skips the need because it is parked (A7) or barred (A9): freed machines then serve other needs. */
  isBarred(need: number): boolean {
    return this.#needs.has(need, Mark.Parked) || this.#restrictions.isBarred(need);
  }

  /** Begins phase 2: `missing` is what phase 1 left open, less what leaving machines cover (H5) and what drains for the need itself. */
  countOwn(unmet: UnmetNeeds): void {
    const { width, missing, rest } = unmet;
    missing.set(rest.subarray(0, unmet.count * width));
    this.#leaving.subtractHeld(unmet);
    this.#counted.clear();
    this.#pool.length = 0;
    this.#poolIn.fill(0);
    this.#isPoolMade = false;
    if (this.#drains.isEmpty) {
      this.#isPoolMade = true;
      return;
    }
    for (let entry = 0; entry < unmet.count; entry++) this.#countOwnOf(unmet, entry);
  }

  #countOwnOf(unmet: UnmetNeeds, entry: number): void {
    const need = unmet.need[entry]!;
    const slots = this.#drains.sortedFor(this.#needs.assignment[need]!, this.#byId);
    if (slots.length === 0 || this.isBarred(need)) return;
    let left = this.#left(unmet, entry);
    const spreading = unmet.spreading.get(entry);
    const filter = this.#matching.filterOf(need);
    const domains = this.#matching.domainsOf(need);
    const usage = this.#limits.ownUsageOf(this.#needs.cluster[need]!);
    for (let index = 0; index < slots.length && left > 0; index++) {
      const slot = slots[index]!;
      if (!this.#isDraining(slot) || !this.#matching.suits(need, filter, domains, slot)) continue;
      if (spreading !== undefined && spreading.domains.ofSlot(slot) === 0) continue;
      if (usage !== null && usage.barredBy(slot) !== Limit.None) continue;
      const after = subtractSlot(unmet, entry, this.#fleet, this.#needs, this.#vectors, slot);
      if (after < 0) continue;
      left = after;
      usage?.take(slot);
      this.#counted.add(slot);
      spreading?.countSlot(slot);
    }
  }

  /** Whether the pool has a machine of a family that the need's filter admits. */
  hasPoolFor(need: number): boolean {
    if (!this.#isPoolMade) this.#makePool();
    if (this.#pool.length === 0) return false;
    const { families } = this.#matching.filterOf(need);
    for (let index = 0; index < families.length; index++)
      if ((this.#poolIn[families[index]!] ?? 0) > 0) return true;
    return false;
  }

  /** The need's turn to count from the pool. Returns how many dimensions it still lacks. */
  countPool(unmet: UnmetNeeds, entry: number): number {
    let left = this.#left(unmet, entry);
    const need = unmet.need[entry]!;
    if (left === 0 || !this.hasPoolFor(need)) return left;
    const pool = this.#pool;
    const spreading = unmet.spreading.get(entry);
    const filter = this.#matching.filterOf(need);
    const domains = this.#matching.domainsOf(need);
    const usage = this.#limits.ownUsageOf(this.#needs.cluster[need]!);
    if (usage?.hasAllMachines) return left; // a draining machine would be one more
    for (let place = 0; place < pool.length && left > 0; ) {
      const slot = pool[place]!;
      const isAllowed =
        this.#matching.suits(need, filter, domains, slot) &&
        (usage === null || usage.barredBy(slot) === Limit.None) &&
        (spreading === undefined || spreading.allows(spreading.domains.ofSlot(slot)));
      const after = isAllowed
        ? subtractSlot(unmet, entry, this.#fleet, this.#needs, this.#vectors, slot)
        : -1;
      if (after < 0) {
        place++;
        continue;
      }
      left = after;
      pool.splice(place, 1);
      this.#poolIn[this.#familyOf(slot)]!--;
      usage?.take(slot);
      if (spreading === undefined) continue;
      spreading.countSlot(slot);
      place = 0; // each machine changes which domains the spread allows next
    }
    return left;
  }

  #makePool(): void {
    this.#isPoolMade = true;
    for (const slot of this.#drains.slots()) {
      if (!this.#counted.has(slot) && this.#isDraining(slot)) this.#addToPool(slot);
    }
    sortFew(this.#pool, this.#byId);
  }

  #addToPool(slot: number): void {
    const family = this.#familyOf(slot);
    this.#pool.push(slot);
    this.#poolIn = widerU32(this.#poolIn, family);
    this.#poolIn[family]!++;
  }

  #familyOf(slot: number): number {
    return this.#fleet.families.familyOf[this.#fleet.shape[slot]!]!;
  }

  /** X11: a stuck machine counts no longer. H6: nor does a cordoned one, which no need gets once it is Idle. */
  #isDraining(slot: number): boolean {
    const { role, cordoned } = this.#fleet;
    return role[slot] === Role.Draining && !this.#fleet.isStuck(slot) && cordoned[slot] === 0;
  }

  #left(unmet: UnmetNeeds, entry: number): number {
    const aggregate = this.#needs.aggregate[unmet.need[entry]!]!;
    return UnmetNeeds.left(unmet.missing, entry * unmet.width, this.#vectors, aggregate);
  }

  readonly #byId = (slotA: number, slotB: number): number => {
    const { idRank } = this.#fleet.inventory.columns;
    return idRank[slotA]! - idRank[slotB]!;
  };
}

/** Subtracts the machine's capacity from what the entry is missing; the dimensions left, or -1 if the machine has none of them. */
export function subtractSlot(
  unmet: UnmetNeeds,
  entry: number,
  { families, shape }: Fleet,
  needs: EngineNeeds,
  vectors: VectorTable,
  slot: number,
): number {
  const family = families.familyOf[shape[slot]!]!;
  return needs.subtractFrom(
    unmet.missing,
    entry * unmet.width,
    unmet.need[entry]!,
    families,
    family,
    vectors,
  );
}
