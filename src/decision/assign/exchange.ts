/**
 * The exchange (E9): needs that acquired by value in this cycle one after the other may be cheaper together. For two of them
 * the second chooses first, from the machines of both and those that are free, and the first chooses again from the rest. If both
 * are covered and pay less, each keeps what it chose.
 *
 * It is bounded by counts, so that a cycle in which few needs acquire costs little more, and one in which many do the same.
 *
 * Lists skip taken machines once per cycle (scan.ts), and may have moved past a machine that is given back. So all machines that
 * this stage holds stay marked as taken, and are offered to plans beside the lists, until it ends.
 */
import { marginalUsd, riskUsd } from '../../machine/cost.ts';
import { BUCKET_DOLLARS } from '../../machine/penalty.ts';
import { ActionKind, ActionList, actionNeed } from '../actions.ts';
import { columnF64 } from '../columns/columns.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Filter } from '../supply/filters.ts';
import { MatchLevel } from '../supply/filters.ts';
import { Role } from '../supply/fleet.ts';
import { UnmetNeeds } from './unmet.ts';
import type { ValuePlan } from './value-plan.ts';

/** The first needs, in the order of A3, and the machines that one of them has at most. */
const NEEDS_MAX = 32;
const MACHINES_MAX = 32;
/** A plan takes some ten microseconds: in all no more than a few milliseconds of a cycle. */
const PLANS_MAX = 256;
/** Small worlds seldom change in the second round, and never in a third. */
const ROUNDS = 2;
/** An exchange saves more than 1 % of what both needs pay, so that rounding never is a reason. */
const COST_FACTOR = 0.99;

interface Part {
  readonly entry: number;
  readonly need: number;
  /** Its actions: one for each machine that it took at its turn. */
  readonly firstAction: number;
  readonly actionCount: number;
  slots: readonly number[];
  /** What it pays for the machines that it has now, by dimension that it lacked. */
  usdPerShare: number;
  isChanged: boolean;
}

export class Exchange {
  readonly #tables: EngineTables;
  readonly #plan: ValuePlan;
  readonly #parts: Part[] = [];
  /** Free machines that stay marked as taken until the end. */
  readonly #loose = new Set<number>();
  readonly #rewritten = new ActionList();
  #plans = 0;
  #rest = columnF64(8);
  /** Filters of needs that still lack something; null: not read yet. */
  #wanted: Filter[] | null = null;

  constructor(tables: EngineTables, plan: ValuePlan) {
    this.#tables = tables;
    this.#plan = plan;
  }

  begin(): void {
    this.#parts.length = 0;
  }

  /** A plain need without a spread or limits has acquired; its actions begin at `firstAction`. */
  note(unmet: UnmetNeeds, entry: number, slots: readonly number[], firstAction: number): void {
    if (this.#parts.length === NEEDS_MAX || slots.length === 0 || slots.length > MACHINES_MAX) return;
    const { needs, vectors, fleet } = this.#tables;
    const need = unmet.need[entry]!;
    if (slots.some((slot) => fleet.role[slot] === Role.Creating)) return;
    if (UnmetNeeds.left(unmet.rest, entry * unmet.width, vectors, needs.aggregate[need]!) > 0) return;
    const actionCount = slots.length;
    const usdPerShare = this.#costOf(need, slots) / this.#lackedDimensions(need);
    this.#parts.push({ entry, need, firstAction, actionCount, slots, usdPerShare, isChanged: false });
  }

  run(unmet: UnmetNeeds, actions: ActionList): void {
    if (this.#parts.length < 2) return;
    this.#plans = 0;
    this.#wanted = null;
    this.#loose.clear();
    for (let round = 0, isChanged = true; round < ROUNDS && isChanged; round++) {
      isChanged = false;
      for (const giver of this.#parts)
        for (const taker of this.#parts)
          if (giver !== taker && this.#exchange(giver, taker, unmet)) isChanged = true;
    }
    for (const slot of this.#loose) this.#tables.supply.giveBack(slot);
    if (this.#parts.some(({ isChanged }) => isChanged)) this.#rewrite(unmet, actions);
  }

  #exchange(giver: Part, taker: Part, unmet: UnmetNeeds): boolean {
    const { needs, filters, supply } = this.#tables;
    const ofTaker = filters.get(needs.filter[taker.need]!);
    if (this.#plans >= PLANS_MAX) return false;
    const wantedUsd = COST_FACTOR * taker.usdPerShare;
    if (
      !giver.slots.some((slot) => this.#admits(ofTaker, slot) && this.#usdPerShare(taker, slot) < wantedUsd)
    )
      return false;
    const held = [...this.#loose, ...giver.slots, ...taker.slots];
    const first = this.#choose(taker.need, held);
    if (first === null || !first.some((slot) => giver.slots.includes(slot))) return false;
    const found = first.filter((slot) => supply.takenBy[slot] === 0);
    for (const slot of found) supply.take(slot, taker.need);
    const second = this.#choose(
      giver.need,
      held.filter((slot) => !first.includes(slot)),
    );
    if (second === null || !this.#isBetter(giver, second, taker, first, unmet)) {
      for (const slot of found) this.#loose.add(slot);
      return false;
    }
    for (const slot of second) if (supply.takenBy[slot] === 0) supply.take(slot, giver.need);
    for (const slot of [...giver.slots, ...taker.slots]) this.#loose.add(slot);
    this.#keep(giver, second);
    this.#keep(taker, first);
    return true;
  }

  #keep(part: Part, slots: readonly number[]): void {
    part.slots = slots;
    part.usdPerShare = this.#costOf(part.need, slots) / this.#lackedDimensions(part.need);
    part.isChanged = true;
    for (const slot of slots) {
      this.#loose.delete(slot);
      this.#tables.supply.takenBy[slot] = part.need + 1;
    }
  }

  /** The machines that a need takes from those that are free and those that are held; null if they do not cover it. */
  #choose(need: number, held: readonly number[]): readonly number[] | null {
    const { needs, filters, vectors } = this.#tables;
    const aggregate = needs.aggregate[need]!;
    const width = vectors.length[aggregate]!;
    if (this.#rest.length < width) this.#rest = columnF64(2 * width);
    for (let index = 0; index < width; index++)
      this.#rest[index] = needs.remaining[need * needs.width + index]!;
    this.#plans++;
    const request = {
      filter: filters.get(needs.filter[need]!),
      penaltyBucket: needs.interruptionPenalty[need]!,
      gang: 0,
      domains: null,
      domain: 0,
      usage: null,
      held,
    };
    const slots = this.#plan.make(need, request, null, this.#rest, 0);
    return UnmetNeeds.left(this.#rest, 0, vectors, aggregate) === 0 ? slots : null;
  }

  /** Whether both pay less, and no machine that would be free again fits a need that still lacks something. */
  #isBetter(
    giver: Part,
    giverSlots: readonly number[],
    taker: Part,
    takerSlots: readonly number[],
    unmet: UnmetNeeds,
  ): boolean {
    const after = this.#costOf(giver.need, giverSlots) + this.#costOf(taker.need, takerSlots);
    const before = this.#costOf(giver.need, giver.slots) + this.#costOf(taker.need, taker.slots);
    if (!(after < COST_FACTOR * before)) return false;
    return ![...giver.slots, ...taker.slots].some(
      (slot) => !giverSlots.includes(slot) && !takerSlots.includes(slot) && this.#isWanted(slot, unmet),
    );
  }

  #lackedDimensions(need: number): number {
    const { needs, vectors } = this.#tables;
    return UnmetNeeds.left(needs.remaining, need * needs.width, vectors, needs.aggregate[need]!);
  }

  /** What the need would pay for a machine, by the share of what it lacked that the machine covers (E2). */
  #usdPerShare({ need }: Part, slot: number): number {
    const { needs, fleet } = this.#tables;
    const family = fleet.families.familyOf[fleet.shape[slot]!]!;
    const share = this.#plan.shareOf(need, family, needs.remaining, need * needs.width);
    return this.#costOf(need, [slot]) / share;
  }

  #costOf(need: number, slots: readonly number[]): number {
    const { role, inventory } = this.#tables.fleet;
    const { pricePerHourUsd, capacityType, interruptionProbability } = inventory.columns;
    const penaltyUsd = BUCKET_DOLLARS[this.#tables.needs.interruptionPenalty[need]!]!;
    return slots.reduce((sum, slot) => {
      const isIdle = role[slot] === Role.Idle;
      const marginal = marginalUsd(isIdle, capacityType[slot]!, pricePerHourUsd[slot]!);
      return sum + (marginal + riskUsd(interruptionProbability[slot]!, penaltyUsd));
    }, 0);
  }

  #isWanted(slot: number, unmet: UnmetNeeds): boolean {
    if (this.#wanted === null) {
      const { needs, vectors, filters } = this.#tables;
      const ids = new Set<number>();
      for (let entry = 0; entry < unmet.count; entry++) {
        const need = unmet.need[entry]!;
        if (UnmetNeeds.left(unmet.rest, entry * unmet.width, vectors, needs.aggregate[need]!) > 0)
          ids.add(needs.filter[need]!);
      }
      this.#wanted = [...ids].map((id) => filters.get(id));
    }
    return this.#wanted.some((filter) => this.#admits(filter, slot));
  }

  #admits(filter: Filter, slot: number): boolean {
    const { families, shape } = this.#tables.fleet;
    if (filter.eligible[families.familyOf[shape[slot]!]!] !== 1) return false;
    return filter.matchLevel === MatchLevel.Family || this.#tables.filters.admitsSlot(filter, slot);
  }

  /** Replaces the actions of the needs that exchanged, in their places, and their counts. */
  #rewrite(unmet: UnmetNeeds, actions: ActionList): void {
    const rewritten = this.#rewritten;
    rewritten.clear();
    let from = 0;
    for (const part of this.#parts.filter(({ isChanged }) => isChanged)) {
      rewritten.copyFrom(actions, from, part.firstAction);
      from = part.firstAction + part.actionCount;
      this.#emit(part, unmet, rewritten);
    }
    rewritten.copyFrom(actions, from, actions.count);
    actions.clear();
    actions.copyFrom(rewritten, 0, rewritten.count);
  }

  #emit({ entry, need, slots }: Part, unmet: UnmetNeeds, actions: ActionList): void {
    const { needs, fleet } = this.#tables;
    const served = actionNeed(needs, fleet.assignments, need);
    unmet.acquired[entry] = slots.length;
    unmet.bootstraps[entry] = unmet.provisions[entry] = 0;
    for (const slot of slots) {
      const isIdle = fleet.role[slot] === Role.Idle;
      if (isIdle) unmet.bootstraps[entry]!++;
      else unmet.provisions[entry]!++;
      actions.add(isIdle ? ActionKind.Bootstrap : ActionKind.Provision, slot, served.cluster, 0, served);
    }
  }
}
