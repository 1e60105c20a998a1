/**
 * Which machines a need acquires by value (E1–E4). It walks: each step takes the machine that covers most of what remains per
 * dollar. Then it gives back what it does not need. On the way it notes where one machine would have covered all the rest, and
 * takes that end instead if the whole is cheaper: a walk that nears its end sees shares, and not that one larger machine is
 * less than three small ones.
 *
 * A need that one machine covers, as most do, costs one comparison of heads.
 */
import type { VectorTable } from '../../base/vectors.ts';
import { columnF64 } from '../columns/columns.ts';
import { type EngineNeeds, NeedKind } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import { type Fleet, Role } from '../supply/fleet.ts';
import type { Contention } from './contention.ts';
import type { Spreading } from './spread.ts';
import { type Source, ValueHeads, type ValueRequest, Within } from './value-heads.ts';

export class ValuePlan {
  readonly #fleet: Fleet;
  readonly #vectors: VectorTable;
  readonly #needs: EngineNeeds;
  readonly #heads: ValueHeads;
  /** Null: equally good machines go by id. */
  readonly #contention: Contention | null;
  /** E2: an offer is taken if it costs less than this share of the best Idle machine. */
  readonly #offerFactor: number;
  #need = 0;
  #request!: ValueRequest;
  #spreading: Spreading | null = null;
  /** What the need lacked before the walk, by wanted dimension, and what a set of machines has. */
  #wanted = columnF64(8);
  #has = columnF64(8);
  #walk: number[] = [];
  readonly #closing = { totalUsd: 0, listUsd: 0, steps: 0, slot: 0 };

  constructor(tables: EngineTables, contention: Contention | null) {
    this.#fleet = tables.fleet;
    this.#vectors = tables.vectors;
    this.#needs = tables.needs;
    this.#heads = new ValueHeads(tables.scans);
    this.#contention = contention;
    this.#offerFactor = 1 - tables.placement.offerMargin;
  }

  /**
   * The machines for a need, in the order in which it takes them. Subtracts them from its row of units in `rest`, and counts
   * them in `spreading`.
   */
  make(
    need: number,
    request: ValueRequest,
    spreading: Spreading | null,
    rest: Float64Array,
    row: number,
  ): readonly number[] {
    const width = this.#vectors.length[this.#needs.aggregate[need]!]!;
    if (this.#wanted.length < width) {
      this.#wanted = columnF64(2 * width);
      this.#has = columnF64(2 * width);
    }
    for (let index = 0; index < width; index++) this.#wanted[index] = rest[row + index]!;
    this.#need = need;
    this.#request = request;
    this.#spreading = spreading;
    this.#walk = [];
    this.#closing.slot = 0;
    this.#heads.open(request);
    const left = this.#takeAll(rest, row, width);
    if (this.#walk.length < 2) return this.#walk;
    const whole = this.#trim(this.#walk);
    return left === 0 && this.#closing.slot !== 0 ? this.#cheaper(whole) : whole;
  }

  #takeAll(rest: Float64Array, row: number, width: number): number {
    const { families } = this.#fleet;
    let spentUsd = 0;
    let listUsd = 0;
    let left = 0;
    for (let index = 0; index < width; index++) if (rest[row + index]! > 0) left++;
    while (left > 0) {
      const at = this.#bestSource(rest, row, left, spentUsd, listUsd);
      if (at < 0) break;
      const { slot, family, domain, role, costUsd, priceUsd } = this.#heads.sources[at]!;
      left = this.#needs.subtractFrom(rest, row, this.#need, families, family, this.#vectors);
      this.#walk.push(slot);
      this.#spreading?.count(domain);
      this.#request.usage?.take(slot);
      if (role !== Role.Creating) {
        spentUsd += costUsd;
        listUsd += priceUsd;
      }
      this.#heads.advance(at);
    }
    return left;
  }

  /** The source whose head the need takes next; -1: none. Notes the best head that would cover all the rest. */
  #bestSource(rest: Float64Array, row: number, left: number, spentUsd: number, listUsd: number): number {
    const heads = this.#heads;
    const { sources } = heads;
    const { idRank } = this.#fleet.inventory.columns;
    const spreading = this.#spreading;
    const countMax = spreading?.countMax() ?? 0;
    let orphan = -1;
    let idle = -1;
    let idleShare = 0;
    let offer = -1;
    let offerShare = 0;
    let closing: Source | null = null;
    for (let index = 0; index < heads.count; ) {
      const source = sources[index]!;
      if (spreading !== null && spreading.countIn(source.domain) > countMax) {
        index++;
        continue;
      }
      const share = this.shareOf(this.#need, source.family, rest, row);
      if (share === 0) {
        heads.drop(index); // what remains only shrinks
        continue;
      }
      const within = heads.within(index);
      if (within === Within.NotNow) index++;
      if (within !== Within.Yes) continue;
      if (source.role === Role.Creating) {
        if (orphan < 0 || idRank[source.slot]! < idRank[sources[orphan]!.slot]!) orphan = index;
      } else if (source.role === Role.Idle) {
        if (idle < 0 || this.#isBetter(source, share, sources[idle]!, idleShare)) {
          idle = index;
          idleShare = share;
        }
      } else if (offer < 0 || this.#isBetter(source, share, sources[offer]!, offerShare)) {
        offer = index;
        offerShare = share;
      }
      // Each dimension counts for at most 1, so this share is that of a machine that covers all of them.
      if (
        share === left &&
        source.role !== Role.Creating &&
        (closing === null || this.#isCheaper(source, closing))
      )
        closing = source;
      index++;
    }
    if (orphan >= 0) return orphan;
    if (closing !== null) this.#noteClosing(closing, spentUsd, listUsd);
    if (idle < 0 || offer < 0) return Math.max(idle, offer);
    const idleUsd = sources[idle]!.costUsd / idleShare;
    return sources[offer]!.costUsd / offerShare < this.#offerFactor * idleUsd ? offer : idle;
  }

  /** The part of what remains that a machine of the family covers: the sum over dimensions, each at most 1. */
  shareOf(need: number, family: number, rest: Float64Array, row: number): number {
    const { families } = this.#fleet;
    const { start, length, dims, units } = this.#vectors;
    const aggregate = this.#needs.aggregate[need]!;
    const first = start[aggregate]!;
    const isFold = this.#needs.kind[need] === NeedKind.Fold;
    const gangs = isFold ? families.gangsPerMachine(family, aggregate) : 0;
    let share = 0;
    for (let index = 0; index < length[aggregate]!; index++) {
      const remaining = rest[row + index]!;
      if (remaining === 0) continue;
      const has = isFold ? gangs * units[first + index]! : families.unitsOf(family, dims[first + index]!);
      share += Math.min(1, has / remaining);
    }
    return share;
  }

  #isBetter(one: Source, share: number, other: Source, otherShare: number): boolean {
    const cost = one.costUsd / share;
    const otherCost = other.costUsd / otherShare;
    if (cost !== otherCost) return cost < otherCost;
    const price = one.priceUsd / share;
    const otherPrice = other.priceUsd / otherShare;
    if (price !== otherPrice) return price < otherPrice;
    const needs =
      this.#contention === null ? 0 : this.#contention.of(one.family) - this.#contention.of(other.family);
    if (needs !== 0) return needs < 0;
    const { idRank } = this.#fleet.inventory.columns;
    return idRank[one.slot]! < idRank[other.slot]!;
  }

  #isCheaper(one: Source, other: Source): boolean {
    const { idRank } = this.#fleet.inventory.columns;
    if (one.costUsd !== other.costUsd) return one.costUsd < other.costUsd;
    return one.priceUsd === other.priceUsd
      ? idRank[one.slot]! < idRank[other.slot]!
      : one.priceUsd < other.priceUsd;
  }

  /** E4: keeps the machine if it ends the walk cheaper than those of earlier steps would have ended it. */
  #noteClosing({ slot, costUsd, priceUsd }: Source, spentUsd: number, listUsd: number): void {
    const closing = this.#closing;
    const totalUsd = spentUsd + costUsd;
    const totalListUsd = listUsd + priceUsd;
    const isBetter =
      closing.slot === 0 ||
      totalUsd < closing.totalUsd ||
      (totalUsd === closing.totalUsd && totalListUsd < closing.listUsd);
    if (!isBetter) return;
    closing.totalUsd = totalUsd;
    closing.listUsd = totalListUsd;
    closing.steps = this.#walk.length;
    closing.slot = slot;
  }

  /** The noted end with what comes before it, trimmed, if that costs less than the walk; else the walk. */
  #cheaper(whole: readonly number[]): readonly number[] {
    const { steps, slot } = this.#closing;
    const closed = [...this.#walk.slice(0, steps), slot];
    this.#recount(whole, closed);
    const trimmed = this.#trim(closed);
    const isByOffer =
      this.#fleet.role[slot] !== Role.Idle && this.#idleCount(trimmed) < this.#idleCount(whole);
    const factor = isByOffer ? this.#offerFactor : 1;
    if (this.#costOfAll(trimmed) < factor * this.#costOfAll(whole)) return trimmed;
    this.#recount(trimmed, whole);
    return whole;
  }

  #recount(before: readonly number[], after: readonly number[]): void {
    this.#request.usage?.countInShare(before, -1);
    this.#request.usage?.countInShare(after, 1);
    if (this.#spreading === null) return;
    for (const slot of before) this.#spreading.uncount(this.#spreading.domains.ofSlot(slot));
    for (const slot of after) this.#spreading.count(this.#spreading.domains.ofSlot(slot));
  }

  /** E3: without the machines that the need does not need, most expensive first, then by id from the last. */
  #trim(slots: readonly number[]): readonly number[] {
    this.#has.fill(0);
    for (const slot of slots) this.#addUnits(slot, 1);
    const { role, inventory } = this.#fleet;
    const { idRank, pricePerHourUsd: price } = inventory.columns;
    const expensiveFirst = (a: number, b: number): number => {
      const costA = this.#heads.costOf(a);
      const costB = this.#heads.costOf(b);
      if (costA !== costB) return costA > costB ? -1 : 1;
      return price[b]! - price[a]! || idRank[b]! - idRank[a]!;
    };
    const dropped = new Set<number>();
    for (const slot of slots.filter((one) => role[one] !== Role.Creating).sort(expensiveFirst)) {
      if (this.#isNeeded(slot)) continue;
      const domain = this.#spreading?.domains.ofSlot(slot) ?? 0;
      if (this.#spreading !== null && !this.#spreading.mayLose(domain)) continue;
      if (this.#isNeededForShare(slot, slots, dropped)) continue;
      this.#spreading?.uncount(domain);
      this.#request.usage?.countInShare([slot], -1);
      this.#addUnits(slot, -1);
      dropped.add(slot);
    }
    return dropped.size === 0 ? slots : slots.filter((slot) => !dropped.has(slot));
  }

  /** Whether what is covered without the machine is less in any dimension. */
  #isNeeded(slot: number): boolean {
    const width = this.#vectors.length[this.#needs.aggregate[this.#need]!]!;
    for (let index = 0; index < width; index++) {
      const wanted = this.#wanted[index]!;
      const has = this.#has[index]!;
      if (Math.min(wanted, has - this.#unitsOf(slot, index)) < Math.min(wanted, has)) return true;
    }
    return false;
  }

  /** E8: whether the plan keeps a spot machine that it may have only with this one, which is not spot. */
  #isNeededForShare(slot: number, slots: readonly number[], dropped: ReadonlySet<number>): boolean {
    const { usage } = this.#request;
    if (usage === null || !usage.isNeededForShare(slot)) return false;
    return slots.some((one) => usage.isSpot(one) && !dropped.has(one));
  }

  #addUnits(slot: number, sign: 1 | -1): void {
    const width = this.#vectors.length[this.#needs.aggregate[this.#need]!]!;
    for (let index = 0; index < width; index++) this.#has[index]! += sign * this.#unitsOf(slot, index);
  }

  /** What the need counts of a machine, by wanted dimension. A fold counts whole gangs (docs/adr/0040). */
  #unitsOf(slot: number, index: number): number {
    const { families, shape } = this.#fleet;
    const { start, dims, units } = this.#vectors;
    const aggregate = this.#needs.aggregate[this.#need]!;
    const family = families.familyOf[shape[slot]!]!;
    if (this.#needs.kind[this.#need] !== NeedKind.Fold)
      return families.unitsOf(family, dims[start[aggregate]! + index]!);
    return families.gangsPerMachine(family, aggregate) * units[start[aggregate]! + index]!;
  }

  #idleCount(slots: readonly number[]): number {
    return slots.filter((slot) => this.#fleet.role[slot] === Role.Idle).length;
  }

  #costOfAll(slots: readonly number[]): number {
    return slots.reduce((sum, slot) => sum + this.#heads.costOf(slot), 0);
  }
}
