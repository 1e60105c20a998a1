/**
 * Leaving machines (H5): no need is credited them, so their needs look for replacements. Until Configured machines cover a need
 * without them, the need *holds* them: they count as claimed by it for R1 (reclaim) and P1 (victims), and it preempts nothing
 * for what they cover. A leaving machine that no need holds is reclaimed.
 *
 * Few machines leave at a time, so this is decided again in every cycle, for the clusters that have some. First each need holds
 * its own, in order N4; then each holds others of its cluster, which it was credited (A2) when they were not leaving.
 */
import type { VectorTable } from '../../base/vectors.ts';
import type { ClusterState } from '../cluster-state.ts';
import { columnF64 } from '../columns/columns.ts';
import { SlotList } from '../columns/slot-list.ts';
import { type EngineNeeds, Mark, NeedKind } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Domains } from '../supply/domains.ts';
import { type Filter, type Filters, MatchLevel } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';
import { FoldCredit } from './fold-credit.ts';
import type { GangDomains } from './gang-domains.ts';
import type { UnmetNeeds } from './unmet.ts';

export class LeavingMachines {
  readonly #fleet: Fleet;
  readonly #needs: EngineNeeds;
  readonly #filters: Filters;
  readonly #vectors: VectorTable;
  readonly #domains: GangDomains;
  readonly #foldCredit: FoldCredit;
  /** Machines that a need holds in this cycle, and those of the last one with the priority of the need. */
  readonly #held = new SlotList();
  #before = new Map<number, number>();
  /** By need: what it holds of its own, in its domain. */
  readonly #ownHeld = new Map<number, number[]>();
  /** What Configured machines, and those that the current need holds, leave uncovered of it. */
  #gap = columnF64(8);

  constructor(tables: EngineTables) {
    this.#fleet = tables.fleet;
    this.#needs = tables.needs;
    this.#filters = tables.filters;
    this.#vectors = tables.vectors;
    this.#domains = tables.domains;
    this.#foldCredit = new FoldCredit(tables);
  }

  /** After credit, before anything asks who claims a machine. */
  run(): void {
    const { heldFor, withLeaving } = this.#fleet;
    if (this.#held.count === 0 && withLeaving.size === 0) return;
    for (let index = 0; index < this.#held.count; index++) heldFor[this.#held.slots[index]!] = 0;
    this.#held.clear();
    this.#ownHeld.clear();
    for (const cluster of withLeaving) this.#holdIn(cluster);
    this.#noteChanges();
  }

  /** Replacements never preempt: subtracts what each need's leaving machines cover from what phase 2 would preempt for. */
  subtractHeld(unmet: UnmetNeeds): void {
    const { heldFor, families, shape } = this.#fleet;
    for (let index = 0; index < this.#held.count; index++) {
      const slot = this.#held.slots[index]!;
      const need = heldFor[slot]! - 1;
      const entry = unmet.entryFor(need);
      if (entry < 0) continue;
      const family = families.familyOf[shape[slot]!]!;
      this.#needs.subtractFrom(unmet.missing, entry * unmet.width, need, families, family, this.#vectors);
    }
  }

  #holdIn(cluster: ClusterState): void {
    const { assignment, role, heldFor, compareKeep } = this.#fleet;
    const leaving = [...cluster.apart].filter((slot) => role[slot] === Role.Leaving).sort(compareKeep);
    const byAssignment = new Map<number, number[]>();
    for (const slot of leaving) {
      const own = assignment[slot]!;
      if (own === 0) continue;
      const slots = byAssignment.get(own);
      if (slots === undefined) byAssignment.set(own, [slot]);
      else slots.push(slot);
    }
    this.#forEachNeed(cluster, (need) => {
      const own = this.#ownOf(need, byAssignment);
      if (own.length > 0) this.#holdFor(need, own, true);
    });
    const others = leaving.filter((slot) => heldFor[slot] === 0 && !this.#fleet.goesNow(slot));
    if (others.length > 0) this.#forEachNeed(cluster, (need) => this.#holdFor(need, others, false));
  }

  #forEachNeed(cluster: ClusterState, visit: (need: number) => void): void {
    const { kind } = this.#needs;
    const end = cluster.needStart + cluster.needSpan;
    for (let need = cluster.needStart; need < end; need++) if (kind[need] !== NeedKind.None) visit(need);
  }

  /** In keep order; a fold has two assignments. */
  #ownOf(need: number, byAssignment: ReadonlyMap<number, number[]>): readonly number[] {
    const own = byAssignment.get(this.#needs.assignment[need]!) ?? [];
    const plain = this.#needs.plainAssignment[need]!;
    const more = plain === 0 ? undefined : byAssignment.get(plain);
    return more === undefined ? own : [...own, ...more].sort(this.#fleet.compareKeep);
  }

  #holdFor(need: number, slots: readonly number[], areOwn: boolean): void {
    const { heldFor } = this.#fleet;
    const needs = this.#needs;
    const isGang = needs.kind[need] === NeedKind.Gang;
    const domain = needs.domain[need]!;
    if (isGang && domain === 0) return;
    const domains = isGang ? this.#domains.ofGang(need) : null;
    let left = this.#measureGap(need, domains);
    if (left === 0) return;
    if (isGang && areOwn && needs.has(need, Mark.Satisfiable)) {
      // A6, make before break: it keeps its machines elsewhere until those in its domain cover it.
      for (const slot of slots) if (domains!.ofSlot(slot) !== domain) this.#hold(slot, need);
    }
    if (!areOwn) left = this.#subtractOwn(need, left);
    const filter = this.#filters.get(needs.filter[need]!);
    for (const slot of slots) {
      if (left === 0) return;
      if (heldFor[slot] !== 0 || (!areOwn && this.#isOfAnother(need, slot))) continue;
      if (!this.#suits(filter, domains, domain, slot)) continue;
      const after = this.#subtract(need, slot);
      if (after < 0) continue;
      left = after;
      this.#hold(slot, need);
      if (areOwn) this.#noteOwn(need, slot);
    }
  }

  #noteOwn(need: number, slot: number): void {
    const slots = this.#ownHeld.get(need);
    if (slots === undefined) this.#ownHeld.set(need, [slot]);
    else slots.push(slot);
  }

  #subtractOwn(need: number, gap: number): number {
    let left = gap;
    for (const slot of this.#ownHeld.get(need) ?? []) {
      const after = this.#subtract(need, slot);
      if (after >= 0) left = after;
    }
    return left;
  }

  #hold(slot: number, need: number): void {
    this.#fleet.heldFor[slot] = need + 1;
    this.#held.push(slot);
  }

  /** Writes what the Configured machines that are credited to the need leave uncovered; returns how many dimensions. */
  #measureGap(need: number, domains: Domains | null): number {
    const needs = this.#needs;
    const { role, nextClaim } = this.#fleet;
    const { start, length, units } = this.#vectors;
    const aggregate = needs.aggregate[need]!;
    const width = length[aggregate]!;
    if (this.#gap.length < width) this.#gap = columnF64(2 * width);
    for (let index = 0; index < width; index++)
      this.#gap[index] = needs.multiplier[need]! * units[start[aggregate]! + index]!;
    let left: number = width;
    for (let slot = needs.firstClaim[need]!; slot !== 0 && left > 0; slot = nextClaim[slot]!) {
      if (role[slot] !== Role.Configured) continue;
      if (domains !== null && domains.ofSlot(slot) !== needs.domain[need]) continue; // A6 keeps it there
      const after = this.#subtract(need, slot);
      if (after >= 0) left = after;
    }
    return left;
  }

  #subtract(need: number, slot: number): number {
    const { families, shape } = this.#fleet;
    const family = families.familyOf[shape[slot]!]!;
    return this.#needs.subtractFrom(this.#gap, 0, need, families, family, this.#vectors);
  }

  #suits(filter: Filter, domains: Domains | null, domain: number, slot: number): boolean {
    const { families, shape } = this.#fleet;
    if (filter.eligible[families.familyOf[shape[slot]!]!] !== 1) return false;
    if (domains !== null && domains.ofSlot(slot) !== domain) return false;
    return filter.matchLevel === MatchLevel.Family || this.#filters.admitsSlot(filter, slot);
  }

  /** A5, A1: a gang is credited no machine of another gang, a fold none of another live need. */
  #isOfAnother(need: number, slot: number): boolean {
    const kind = this.#needs.kind[need];
    if (kind === NeedKind.Fold) return this.#foldCredit.isAssignedElsewhere(need, slot);
    return kind === NeedKind.Gang && this.#fleet.isAssignedToGang(slot);
  }

  /** Victims are listed by whether a need claims them, and by its priority. */
  #noteChanges(): void {
    const { heldFor, victims, role } = this.#fleet;
    for (const slot of this.#before.keys())
      if (heldFor[slot] === 0 && role[slot] === Role.Leaving) victims.mark(slot);
    const before = this.#before;
    this.#before = new Map();
    for (let index = 0; index < this.#held.count; index++) {
      const slot = this.#held.slots[index]!;
      const priority = this.#needs.priority[heldFor[slot]! - 1]!;
      if (before.get(slot) !== priority) victims.mark(slot);
      this.#before.set(slot, priority);
    }
  }
}
