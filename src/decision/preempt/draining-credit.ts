/**
 * Draining credit (P6): machines that drain already count as freed, so that a deficit causes its victims once, however
 * long they drain and in whatever order they end. Two passes: first every need with a deficit counts the machines that
 * drain for it, as far as they help. The machines that no owner counts (the owner is met, gone, barred or parked, or
 * unknown) form a pool, from which the remaining deficits count in their order. So a drain that its owner no longer needs
 * serves the next need, and no victim is chosen in its place (docs/adr/0036). Every cycle with a deficit counts again.
 */

import type { VectorTable } from '../../base/vectors.ts';
import type { GangDomains } from '../assign/gang-domains.ts';
import type { Spreading } from '../assign/spread.ts';
import { UnmetNeeds } from '../assign/unmet.ts';
import { sortFew } from '../columns/sort-few.ts';
import { type EngineNeeds, Mark, NeedKind } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import { Limit, type Limits } from '../limits.ts';
import type { Restrictions } from '../restrictions.ts';
import type { Domains } from '../supply/domains.ts';
import type { Drains } from '../supply/drains.ts';
import { type Filters, MatchLevel } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';

export class DrainingCredit {
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #vectors: VectorTable;
  readonly #needs: EngineNeeds;
  readonly #domains: GangDomains;
  readonly #drains: Drains;
  readonly #restrictions: Restrictions;
  readonly #limits: Limits;
  /** Machines that their owners count in this cycle. */
  readonly #counted = new Set<number>();
  /** Machines that no owner counts, by id; shrinks as deficits count from it. */
  readonly #pool: number[] = [];
  #isPoolMade = false;

  constructor({ fleet, filters, vectors, needs, domains, drains, restrictions, limits }: EngineTables) {
    this.#fleet = fleet;
    this.#filters = filters;
    this.#vectors = vectors;
    this.#needs = needs;
    this.#domains = domains;
    this.#drains = drains;
    this.#restrictions = restrictions;
    this.#limits = limits;
  }

  /** Whether phase 2 skips the need because it is parked (A7) or barred (A9): freed machines then serve other needs. */
  isBarred(need: number): boolean {
    return this.#needs.has(need, Mark.Parked) || this.#restrictions.isBarred(need);
  }

  /** Begins phase 2: `missing` is what phase 1 left open, less what drains for the need itself. */
  countOwn(unmet: UnmetNeeds): void {
    const { width, missing, rest } = unmet;
    missing.set(rest.subarray(0, unmet.count * width));
    this.#counted.clear();
    this.#pool.length = 0;
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
    const domains = this.#domainsOf(need);
    const usage = this.#limits.usageOf(this.#needs.cluster[need]!);
    for (let index = 0; index < slots.length && left > 0; index++) {
      const slot = slots[index]!;
      if (!this.#isDraining(slot) || !this.#isOfUse(need, domains, slot)) continue;
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

  /** The need's turn to count from the pool. Returns how many dimensions it still lacks. */
  countPool(unmet: UnmetNeeds, entry: number): number {
    let left = this.#left(unmet, entry);
    if (left > 0 && !this.#isPoolMade) this.#makePool();
    const pool = this.#pool;
    if (pool.length === 0) return left;
    const need = unmet.need[entry]!;
    const spreading = unmet.spreading.get(entry);
    const domains = this.#domainsOf(need);
    const usage = this.#limits.usageOf(this.#needs.cluster[need]!);
    for (let place = 0; place < pool.length && left > 0; ) {
      const slot = pool[place]!;
      const isWithin = usage === null || usage.barredBy(slot) === Limit.None;
      const after =
        isWithin && this.#isAllowed(need, domains, spreading, slot)
          ? subtractSlot(unmet, entry, this.#fleet, this.#needs, this.#vectors, slot)
          : -1;
      if (after < 0) {
        place++;
        continue;
      }
      left = after;
      pool.splice(place, 1);
      usage?.take(slot);
      if (spreading === undefined) continue;
      spreading.countSlot(slot);
      place = 0; // each machine changes which domains the spread allows next
    }
    return left;
  }

  #isAllowed(need: number, domains: Domains | null, spreading: Spreading | undefined, slot: number): boolean {
    if (!this.#isOfUse(need, domains, slot)) return false;
    return spreading === undefined || spreading.allows(spreading.domains.ofSlot(slot));
  }

  #makePool(): void {
    this.#isPoolMade = true;
    for (const slot of this.#drains.slots()) {
      if (!this.#counted.has(slot) && this.#isDraining(slot)) this.#pool.push(slot);
    }
    sortFew(this.#pool, this.#byId);
  }

  /** X11: a stuck machine counts no longer. */
  #isDraining(slot: number): boolean {
    return this.#fleet.role[slot] === Role.Draining && !this.#fleet.isStuck(slot);
  }

  /** The machine matches, covers min_unit and, for a gang, is in the chosen domain. */
  #isOfUse(need: number, domains: Domains | null, slot: number): boolean {
    if (domains !== null) {
      const domain = this.#needs.domain[need]!;
      if (domain === 0 || domains.ofSlot(slot) !== domain) return false;
    }
    const filter = this.#filters.get(this.#needs.filter[need]!);
    const { families, shape } = this.#fleet;
    if (filter.eligible[families.familyOf[shape[slot]!]!] !== 1) return false;
    return filter.matchLevel === MatchLevel.Family || this.#filters.admitsSlot(filter, slot);
  }

  #domainsOf(need: number): Domains | null {
    return this.#needs.kind[need] === NeedKind.Gang ? this.#domains.ofGang(need) : null;
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
