/**
 * The machines that a need may acquire by value (E2), as sources: machines of one family, role and probability, in one domain
 * if domains matter. They differ in price alone, and a need gets the same from each, so the first of a source is its best for
 * every need, whatever remains. A step compares the heads of a few sources, and never machines.
 *
 * Taken machines at the head of a list are skipped once per cycle (scan.ts). Where a domain is finer than a family (one rack),
 * its few machines are collected and sorted instead.
 */
import { NOT_ACQUIRED } from '../../inventory/intent.ts';
import type { OrderedLists } from '../../inventory/ordered-lists.ts';
import { marginalUsd, riskUsd } from '../../machine/cost.ts';
import { BUCKET_DOLLARS } from '../../machine/penalty.ts';
import { type ClusterUsage, Limit } from '../limits.ts';
import type { Domains } from '../supply/domains.ts';
import { type Filter, MatchLevel } from '../supply/filters.ts';
import { Role } from '../supply/fleet.ts';
import type { ScanArrays, ScanContext } from './scan.ts';

export interface Source {
  role: number;
  family: number;
  /** 0 unless domains matter. */
  domain: number;
  /** A family's list from a position on, or … */
  lists: OrderedLists | null;
  at: number;
  /** … an array from an index on. */
  slots: readonly number[];
  /** E9: its machines are marked as taken. */
  isHeld: boolean;
  /** The head, and what it costs the need per hour. */
  slot: number;
  priceUsd: number;
  costUsd: number;
}

/** What a limit (T8, E8) says of a source. */
export const Within = {
  /** The walk may take its head. */
  Yes: 0,
  /** Not now: the head is spot, and the share of the other machines may grow. */
  NotNow: 1,
  /** The source ended. */
  Ended: 2,
} as const;
export type Within = (typeof Within)[keyof typeof Within];

/** What a walk may take. */
export interface ValueRequest {
  readonly filter: Filter;
  readonly penaltyBucket: number;
  /** need + 1 of a gang, which must not take what another gang reserved; 0 for any other need. */
  readonly gang: number;
  /** Null: domains do not matter. */
  readonly domains: Domains | null;
  /** Of a gang: its domain. 0: each source says in which domain it is. */
  readonly domain: number;
  /** T8: what bars machines; null: nothing. */
  readonly usage: ClusterUsage | null;
  /** E9: machines that are marked as taken, and that the walk may take. Without domains. */
  readonly held?: readonly number[];
}

export class ValueHeads {
  readonly #context: ScanContext;
  readonly sources: Source[] = [];
  count = 0;
  #request!: ValueRequest;

  constructor(context: ScanContext) {
    this.#context = context;
  }

  open(request: ValueRequest): void {
    this.#request = request;
    this.count = 0;
    const { filter, domains, domain } = request;
    if (domains === null || domains.matchLevel === MatchLevel.Family) this.#openLists();
    else if (domain !== 0) this.#openArrays(this.#context.collect(filter, domains, domain), domain);
    else
      for (const [one, arrays] of this.#context.collectByDomain(filter, domains))
        this.#openArrays(arrays, one);
    if (this.#request.held !== undefined) this.#openHeld(this.#request.held);
  }

  /** What a machine costs the need per hour: its marginal price and the risk (E1). */
  costOf(slot: number): number {
    const { role, inventory } = this.#context.fleet;
    const { pricePerHourUsd, capacityType, interruptionProbability } = inventory.columns;
    if (role[slot] === Role.Creating) return 0; // it is being created already
    const marginal = marginalUsd(role[slot] === Role.Idle, capacityType[slot]!, pricePerHourUsd[slot]!);
    return marginal + riskUsd(interruptionProbability[slot]!, BUCKET_DOLLARS[this.#request.penaltyBucket]!);
  }

  /** Moves past the head. False: the source ended, and the last one has its place. */
  advance(index: number): boolean {
    const source = this.sources[index]!;
    source.at = source.lists !== null ? source.lists.next(source.at) : source.at + 1;
    return this.#settle(index);
  }

  /** Takes the source out; the last one gets its place. */
  drop(index: number): void {
    this.count--;
    const last = this.sources[this.count]!;
    this.sources[this.count] = this.sources[index]!;
    this.sources[index] = last;
  }

  /**
   * T8: moves past heads that would exceed a limit. A source is in order of price, so the rest of it exceeds a limit on machines,
   * resources or dollars too. Orphans are in order of id, and some count already.
   */
  within(index: number): Within {
    const { usage } = this.#request;
    const source = this.sources[index]!;
    if (usage === null) return Within.Yes;
    for (;;) {
      const limit = usage.barsAcquiring(source.slot);
      if (limit === Limit.None) return Within.Yes;
      if (limit === Limit.NonSpotShare) return Within.NotNow;
      if (limit !== Limit.OfferingShare && source.role !== Role.Creating) {
        this.drop(index);
        return Within.Ended;
      }
      if (!this.advance(index)) return Within.Ended;
    }
  }

  #openLists(): void {
    const { fleet, priceCursors, idCursors, supply } = this.#context;
    const { families, byPrice, byId, stockList } = fleet;
    const { filter, domains, domain } = this.#request;
    for (const family of filter.families) {
      if (families.open[family]! <= supply.taken[family]!) continue;
      const inDomain = domains === null ? 0 : domains.ofFamily(family);
      if (domains !== null && (inDomain === 0 || (domain !== 0 && inDomain !== domain))) continue;
      const orphans = fleet.orphanList[family] ?? 0;
      if (orphans !== 0)
        this.#add(Role.Creating, family, inDomain, byId, idCursors.firstUntaken(byId, orphans, supply));
      for (const [role, stocks] of [
        [Role.Idle, fleet.idleOf[family]],
        [Role.Speculative, fleet.offersOf[family]],
      ] as const) {
        for (const stock of stocks ?? NONE) {
          const at = priceCursors.firstUntaken(byPrice, stockList[stock]!, supply);
          this.#add(role, family, inDomain, byPrice, at);
        }
      }
    }
  }

  #openHeld(held: readonly number[]): void {
    const { role, families, shape, inventory } = this.#context.fleet;
    const { idRank, pricePerHourUsd: price } = inventory.columns;
    const byPrice = (a: number, b: number) => price[a]! - price[b]! || idRank[a]! - idRank[b]!;
    const { eligible } = this.#request.filter;
    const fitting = held.filter((slot) => eligible[families.familyOf[shape[slot]!]!] === 1).sort(byPrice);
    for (const one of [Role.Idle, Role.Speculative])
      this.#openArray(
        one,
        fitting.filter((slot) => role[slot] === one),
        0,
        true,
      );
  }

  #openArrays({ orphans, idle, offers }: ScanArrays, domain: number): void {
    const { idRank, pricePerHourUsd: price } = this.#context.fleet.inventory.columns;
    const byId = (a: number, b: number) => idRank[a]! - idRank[b]!;
    const byPrice = (a: number, b: number) => price[a]! - price[b]! || byId(a, b);
    this.#openArray(Role.Creating, orphans.sort(byId), domain);
    this.#openArray(Role.Idle, idle.sort(byPrice), domain);
    this.#openArray(Role.Speculative, offers.sort(byPrice), domain);
  }

  /** The machines of each family and probability, in the order of `slots`. */
  #openArray(role: number, slots: readonly number[], domain: number, isHeld = false): void {
    const { fleet } = this.#context;
    const { interruptionProbability } = fleet.inventory.columns;
    const groups: { family: number; probability: number; slots: number[] }[] = [];
    for (const slot of slots) {
      const family = fleet.families.familyOf[fleet.shape[slot]!]!;
      const probability = role === Role.Creating ? 0 : interruptionProbability[slot]!;
      let group = groups.find((one) => one.family === family && one.probability === probability);
      if (group === undefined) {
        group = { family, probability, slots: [] };
        groups.push(group);
      }
      group.slots.push(slot);
    }
    for (const group of groups) this.#add(role, group.family, domain, null, 0, group.slots, isHeld);
  }

  #add(
    role: number,
    family: number,
    domain: number,
    lists: OrderedLists | null,
    at: number,
    slots: readonly number[] = NONE,
    isHeld = false,
  ): void {
    const source = this.sources[this.count];
    if (source === undefined)
      this.sources[this.count] = {
        ...{ role, family, domain, lists, at, slots, isHeld },
        ...{ slot: 0, priceUsd: 0, costUsd: 0 },
      };
    else {
      source.role = role;
      source.family = family;
      source.domain = domain;
      source.lists = lists;
      source.at = at;
      source.slots = slots;
      source.isHeld = isHeld;
    }
    this.#settle(this.count++);
  }

  /** Moves a source to its next machine that may be taken, from the current one on. False: there is none. */
  #settle(index: number): boolean {
    const source = this.sources[index]!;
    const { lists, slots } = source;
    for (;;) {
      const slot = lists !== null ? (source.at === 0 ? 0 : lists.slotAt(source.at)) : (slots[source.at] ?? 0);
      if (slot === 0) {
        this.drop(index);
        return false;
      }
      if (this.#mayTake(slot, source)) {
        source.slot = slot;
        source.priceUsd = this.#context.fleet.inventory.columns.pricePerHourUsd[slot]!;
        source.costUsd = this.costOf(slot);
        return true;
      }
      source.at = lists !== null ? lists.next(source.at) : source.at + 1;
    }
  }

  #mayTake(slot: number, { role, isHeld }: Source): boolean {
    const { supply, filters, fleet } = this.#context;
    const { filter, gang } = this.#request;
    if (supply.takenBy[slot] !== 0 && !isHeld) return false;
    if (gang !== 0 && supply.reservedBy[slot] !== 0 && supply.reservedBy[slot] !== gang) return false;
    if (role === Role.Creating && fleet.isBarred(slot, NOT_ACQUIRED)) return false;
    return filter.matchLevel === MatchLevel.Family || filters.admitsSlot(filter, slot);
  }
}

const NONE: readonly number[] = [];
