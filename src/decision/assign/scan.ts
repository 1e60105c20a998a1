/**
 * The scan of acquisition (A3): orphaned Creating machines (id), then Idle ones (price, id), then Speculative ones
 * (effective cost with the need's penalty, id), over the families that a filter admits, in the whole fleet or in one
 * domain. It merges the heads of the families' ordered lists; taken machines at the head of a list are skipped once per
 * cycle, not once per need, so that 50,000 needs of one kind cost as much as the machines they take. Where a domain is
 * finer than a family (one rack), its few machines are collected and sorted instead.
 *
 * Each list has one probability, because then price order is cost order for every penalty. (Two prices less than
 * 2 nano-dollars apart may cost the same after rounding; they keep price order.) If the penalty is infinite, every cost
 * with a probability above zero is infinite, and the id alone decides.
 */

import { NOT_ACQUIRED } from '../../inventory/intent.ts';
import type { OrderedLists } from '../../inventory/ordered-lists.ts';
import { effectiveCostUsd } from '../../machine/cost.ts';
import { BUCKET_DOLLARS } from '../../machine/penalty.ts';
import { columnU32, widerU32 } from '../columns/columns.ts';
import type { Domains } from '../supply/domains.ts';
import { type Filter, type Filters, MatchLevel } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';
import type { Supply } from '../supply/supply.ts';

/** The position of the first machine on each list that is not known to be taken in this cycle. */
class Cursors {
  #at = columnU32(256);
  #cycle = columnU32(256);

  firstUntaken(lists: OrderedLists, list: number, supply: Supply): number {
    this.#at = widerU32(this.#at, list);
    this.#cycle = widerU32(this.#cycle, list);
    let at = this.#cycle[list] === supply.cycle ? this.#at[list]! : lists.first(list);
    while (at !== 0 && supply.takenBy[lists.slotAt(at)] !== 0) at = lists.next(at);
    this.#at[list] = at;
    this.#cycle[list] = supply.cycle;
    return at;
  }
}

/** Sorted candidates: a family's list from a position on, or an array. */
interface Source {
  lists: OrderedLists | null;
  at: number;
  slots: readonly number[];
  slot: number;
  costUsd: number;
  probability: number;
}

const Stage = { Orphans: 0, Idle: 1, Offers: 2, InfiniteOffers: 3, End: 4 } as const;

export interface ScanArrays {
  readonly orphans: number[];
  readonly idle: number[];
  readonly offers: number[];
}

/** What scans share: tables, and what one scan leaves for the next in the same cycle. */
export class ScanContext {
  readonly fleet: Fleet;
  readonly filters: Filters;
  readonly supply: Supply;
  readonly priceCursors = new Cursors();
  readonly idCursors = new Cursors();
  #infiniteCycle = 0;
  readonly #infinite = new Map<Filter, number[]>();

  constructor(fleet: Fleet, filters: Filters, supply: Supply) {
    this.fleet = fleet;
    this.filters = filters;
    this.supply = supply;
  }

  /** Speculative machines with a probability above zero, of all families that a filter admits, by id: one sort per cycle. */
  infiniteOffers(filter: Filter): number[] {
    if (this.#infiniteCycle !== this.supply.cycle) this.#infinite.clear();
    this.#infiniteCycle = this.supply.cycle;
    let slots = this.#infinite.get(filter);
    if (slots === undefined) {
      slots = this.collectInfinite(filter.families);
      this.#infinite.set(filter, slots);
    }
    return slots;
  }

  collectInfinite(families: readonly number[]): number[] {
    const { byPrice, offersOf, stockList, stockProbability } = this.fleet;
    const slots: number[] = [];
    for (const family of families) {
      for (const offer of offersOf[family] ?? []) {
        if (stockProbability[offer] === 0) continue;
        for (let at = byPrice.first(stockList[offer]!); at !== 0; at = byPrice.next(at))
          slots.push(byPrice.slotAt(at));
      }
    }
    const { idRank } = this.fleet.inventory.columns;
    return slots.sort((a, b) => idRank[a]! - idRank[b]!);
  }

  /** Every open machine that a filter admits, by domain; for domains finer than families. */
  collectByDomain(filter: Filter, domains: Domains): Map<number, ScanArrays> {
    const byDomain = new Map<number, ScanArrays>();
    const put = (slot: number, domain: number): void => {
      let arrays = byDomain.get(domain);
      if (arrays === undefined) {
        arrays = { orphans: [], idle: [], offers: [] };
        byDomain.set(domain, arrays);
      }
      this.#file(slot, arrays);
    };
    this.#forEachOpen(filter, (slot) => {
      const domain = domains.ofSlot(slot);
      if (domain !== 0) put(slot, domain);
    });
    return byDomain;
  }

  /** The same for one domain alone. */
  collect(filter: Filter, domains: Domains, domain: number): ScanArrays {
    const arrays: ScanArrays = { orphans: [], idle: [], offers: [] };
    if (domains.matchLevel === MatchLevel.Shape) {
      for (const shape of domains.shapesIn(domain)) {
        if (this.fleet.families.openIn[shape] === 0 || !this.filters.admitsShape(filter, shape)) continue;
        this.fleet.forEachOpen(shape, (slot) => this.#file(slot, arrays));
      }
    } else {
      this.#forEachOpen(filter, (slot) => domains.ofSlot(slot) === domain && this.#file(slot, arrays));
    }
    return arrays;
  }

  #file(slot: number, arrays: ScanArrays): void {
    const role = this.fleet.role[slot]!;
    const array =
      role === Role.Idle ? arrays.idle : role === Role.Speculative ? arrays.offers : arrays.orphans;
    array.push(slot);
  }

  #forEachOpen(filter: Filter, visit: (slot: number) => void): void {
    const { fleet, filters } = this;
    const { families, byId, orphanList } = fleet;
    for (const family of filter.families) {
      if (families.open[family] === 0) continue;
      for (const shape of families.openShapesOf(family)) {
        if (filter.matchLevel !== MatchLevel.Family && !filters.admitsShape(filter, shape)) continue;
        fleet.forEachUnassigned(shape, (slot) => {
          if (!fleet.isBarred(slot, NOT_ACQUIRED)) visit(slot);
        });
      }
      const orphans = orphanList[family] ?? 0;
      if (orphans === 0) continue;
      for (let at = byId.first(orphans); at !== 0; at = byId.next(at)) visit(byId.slotAt(at));
    }
  }
}

export class Scan {
  readonly #context: ScanContext;
  #filter!: Filter;
  #penaltyUsd = 0;
  /** need + 1 of a gang, which must not take what another gang reserved; 0 for any other need. */
  #gang = 0;
  #domains: Domains | null = null;
  #domain = 0;
  #arrays: ScanArrays | null = null;
  #stage: number = Stage.Orphans;
  readonly #sources: Source[] = [];
  #sourceCount = 0;
  #best = -1;

  constructor(context: ScanContext) {
    this.#context = context;
  }

  /** Begins a scan. `domains` null: of the whole fleet. `arrays`: of these machines, collected before. */
  open(
    filter: Filter,
    penaltyBucket: number,
    gang: number,
    domains: Domains | null,
    domain: number,
    arrays: ScanArrays | null = null,
  ): this {
    this.#filter = filter;
    this.#penaltyUsd = BUCKET_DOLLARS[penaltyBucket]!;
    this.#gang = gang;
    this.#domains = domains;
    this.#domain = domain;
    this.#arrays = arrays;
    if (arrays === null && domains !== null && domains.matchLevel !== MatchLevel.Family) {
      this.#arrays = this.#context.collect(filter, domains, domain);
    }
    this.#stage = Stage.Orphans - 1;
    this.#sourceCount = 0;
    this.#best = -1;
    return this;
  }

  /** The next machine, 0 at the end. */
  peek(): number {
    while (this.#best < 0) {
      if (this.#sourceCount > 0) this.#best = this.#smallest();
      else if (!this.#nextStage()) return 0;
    }
    const source = this.#sources[this.#best]!;
    if (this.#context.supply.takenBy[source.slot] === 0) return source.slot;
    this.skip(); // another scan took it meanwhile
    return this.peek();
  }

  /** Price of the machine at the head; effective cost if it is Speculative. */
  get costUsd(): number {
    return this.#sources[this.#best]!.costUsd;
  }

  /** Moves past the head. */
  skip(): void {
    this.#advance(this.#best);
    this.#best = -1;
  }

  /** Moves past every machine of the head's family on its list: the family has no dimension that remains. */
  skipFamily(): void {
    if (this.#sources[this.#best]!.lists === null) this.#advance(this.#best);
    else this.#dropSource(this.#best);
    this.#best = -1;
  }

  #smallest(): number {
    const { idRank } = this.#context.fleet.inventory.columns;
    const sources = this.#sources;
    let best = 0;
    for (let index = 1; index < this.#sourceCount; index++) {
      const one = sources[index]!;
      const other = sources[best]!;
      if (
        one.costUsd < other.costUsd ||
        (one.costUsd === other.costUsd && idRank[one.slot]! < idRank[other.slot]!)
      ) {
        best = index;
      }
    }
    return best;
  }

  #nextStage(): boolean {
    if (this.#stage === Stage.End) return false;
    this.#stage++;
    if (this.#arrays !== null) this.#loadArray(this.#arrays);
    else if (this.#stage === Stage.InfiniteOffers) this.#loadInfinite();
    else if (this.#stage < Stage.End) this.#loadLists();
    return true;
  }

  #loadLists(): void {
    const { fleet, priceCursors, idCursors, supply } = this.#context;
    const { families, byPrice, byId } = fleet;
    for (const family of this.#filter.families) {
      if (families.open[family] === 0) continue;
      if (this.#domains !== null && this.#domains.ofFamily(family) !== this.#domain) continue;
      if (this.#stage === Stage.Orphans) {
        const list = fleet.orphanList[family] ?? 0;
        if (list !== 0) this.#addSource(byId, idCursors.firstUntaken(byId, list, supply), 0);
      } else if (this.#stage === Stage.Idle) {
        for (const stock of fleet.idleOf[family] ?? [])
          this.#addSource(byPrice, priceCursors.firstUntaken(byPrice, fleet.stockList[stock]!, supply), 0);
      } else {
        for (const offer of fleet.offersOf[family] ?? []) {
          const probability = fleet.stockProbability[offer]!;
          if (this.#penaltyUsd === Number.POSITIVE_INFINITY && probability > 0) continue;
          this.#addSource(
            byPrice,
            priceCursors.firstUntaken(byPrice, fleet.stockList[offer]!, supply),
            probability,
          );
        }
      }
    }
  }

  #loadInfinite(): void {
    if (this.#penaltyUsd !== Number.POSITIVE_INFINITY) return;
    const domains = this.#domains;
    const slots =
      domains === null
        ? this.#context.infiniteOffers(this.#filter)
        : this.#context.collectInfinite(
            this.#filter.families.filter((family) => domains.ofFamily(family) === this.#domain),
          );
    this.#addSource(null, 0, 1, slots);
  }

  #loadArray(arrays: ScanArrays): void {
    const { idRank, pricePerHourUsd: price, interruptionProbability } = this.#context.fleet.inventory.columns;
    if (this.#stage === Stage.Orphans) {
      this.#addSource(
        null,
        0,
        0,
        arrays.orphans.sort((a, b) => idRank[a]! - idRank[b]!),
      );
    } else if (this.#stage === Stage.Idle) {
      const byPrice = (a: number, b: number) => price[a]! - price[b]! || idRank[a]! - idRank[b]!;
      this.#addSource(null, 0, 0, arrays.idle.sort(byPrice));
    } else if (this.#stage === Stage.Offers) {
      const costOf = (slot: number) =>
        effectiveCostUsd(price[slot]!, interruptionProbability[slot]!, this.#penaltyUsd);
      const byCost = (a: number, b: number) => {
        const costA = costOf(a);
        const costB = costOf(b);
        return costA === costB ? idRank[a]! - idRank[b]! : costA < costB ? -1 : 1;
      };
      this.#addSource(null, 0, 0, arrays.offers.sort(byCost));
    }
  }

  #addSource(
    lists: OrderedLists | null,
    at: number,
    probability: number,
    slots: readonly number[] = NO_SLOTS,
  ): void {
    let source = this.#sources[this.#sourceCount];
    if (source === undefined) {
      source = { lists, at, slots, slot: 0, costUsd: 0, probability };
      this.#sources[this.#sourceCount] = source;
    } else {
      source.lists = lists;
      source.at = at;
      source.slots = slots;
      source.probability = probability;
    }
    this.#sourceCount++;
    this.#settle(this.#sourceCount - 1);
  }

  /** Moves a source to its next machine that may be taken, starting with the current one. */
  #settle(index: number): void {
    const source = this.#sources[index]!;
    const { lists, slots } = source;
    for (;;) {
      const slot = lists !== null ? (source.at === 0 ? 0 : lists.slotAt(source.at)) : (slots[source.at] ?? 0);
      if (slot === 0) {
        this.#dropSource(index);
        return;
      }
      if (this.#mayTake(slot)) {
        source.slot = slot;
        source.costUsd = this.#costOf(slot);
        return;
      }
      source.at = lists !== null ? lists.next(source.at) : source.at + 1;
    }
  }

  #advance(index: number): void {
    const source = this.#sources[index]!;
    source.at = source.lists !== null ? source.lists.next(source.at) : source.at + 1;
    this.#settle(index);
  }

  #dropSource(index: number): void {
    this.#sourceCount--;
    const last = this.#sources[this.#sourceCount]!;
    this.#sources[this.#sourceCount] = this.#sources[index]!;
    this.#sources[index] = last;
  }

  #mayTake(slot: number): boolean {
    const { supply, filters, fleet } = this.#context;
    if (supply.takenBy[slot] !== 0) return false;
    if (this.#gang !== 0) {
      const reservedBy = supply.reservedBy[slot]!;
      if (reservedBy !== 0 && reservedBy !== this.#gang) return false;
    }
    if (this.#stage === Stage.Orphans && fleet.isBarred(slot, NOT_ACQUIRED)) return false;
    return this.#filter.matchLevel === MatchLevel.Family || filters.admitsSlot(this.#filter, slot);
  }

  #costOf(slot: number): number {
    const { pricePerHourUsd, interruptionProbability } = this.#context.fleet.inventory.columns;
    if (this.#stage === Stage.Orphans) return 0; // by id alone
    if (this.#stage === Stage.Idle) return pricePerHourUsd[slot]!;
    return effectiveCostUsd(pricePerHourUsd[slot]!, interruptionProbability[slot]!, this.#penaltyUsd);
  }
}

const NO_SLOTS: readonly number[] = [];
