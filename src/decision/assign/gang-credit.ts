/** Credits a gang as A2 does, inside its domain, and keeps what it has elsewhere until it has enough there (A6). */
import type { VectorTable } from '../../base/vectors.ts';
import { columnF64 } from '../columns/columns.ts';
import { type EngineNeeds, Mark, ScanPart, subtractCapacity } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Families } from '../supply/families.ts';
import { type Filter, type Filters, MatchLevel } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';
import type { Claims } from './claims.ts';
import type { GangTurn } from './gang-turn.ts';

export class GangCredit {
  readonly #fleet: Fleet;
  readonly #families: Families;
  readonly #vectors: VectorTable;
  readonly #filters: Filters;
  readonly #needs: EngineNeeds;
  readonly #claims: Claims;
  readonly #candidates: number[] = [];
  #uncovered = columnF64(8);

  constructor({ fleet, families, vectors, filters, needs, claims }: EngineTables) {
    this.#fleet = fleet;
    this.#families = families;
    this.#vectors = vectors;
    this.#filters = filters;
    this.#needs = needs;
    this.#claims = claims;
  }

  /** Whether the need at `index` may be credited the machine, other gangs aside. */
  isCreditable(slot: number, index: number, filter: Filter): boolean {
    if (!this.#claims.isAvailable(slot, index)) return false;
    if (this.#fleet.role[slot] !== Role.Configured && this.#fleet.isStuck(slot)) return false;
    if (filter.eligible[this.#families.familyOf[this.#fleet.shape[slot]!]!] !== 1) return false;
    return filter.matchLevel === MatchLevel.Family || this.#filters.admitsSlot(filter, slot);
  }

  /** An empty gang takes nothing. */
  creditNothing({ cluster, index, need }: GangTurn): void {
    const needs = this.#needs;
    this.#claims.beginScan();
    this.#claims.endScan(cluster, index);
    needs.creditCount[need] = 0;
    needs.setMarks(need, Mark.Satisfiable);
    needs.domain[need] = 0;
  }

  /** Own machines, then the cluster's other Configured, then its other Configuring ones; domain 0: none. */
  credit(turn: GangTurn, domain: number, satisfiable: boolean): void {
    const needs = this.#needs;
    const { cluster, index, need } = turn;
    this.#claims.beginScan();
    let left = needs.beginScan(need, this.#vectors);
    needs.domain[need] = domain;
    needs.lastTaken[need] = 0;
    if (domain !== 0) {
      left = this.#scanOwn(turn, left);
      if (left > 0) left = this.#scanOthers(turn, left, ScanPart.Configured);
      if (left > 0) left = this.#scanOthers(turn, left, ScanPart.Configuring);
    }
    needs.endScan(need, this.#vectors);
    needs.creditCount[need] = this.#claims.heldCount;
    needs.setMarks(
      need,
      Mark.Unsettled | (left > 0 ? Mark.Deficit : 0) | (satisfiable ? Mark.Satisfiable : 0),
    );
    if (satisfiable && !this.#configuredCover(need)) this.#keepOwnOutside(turn);
    this.#claims.endScan(cluster, index);
  }

  #scanOwn(turn: GangTurn, wanted: number): number {
    const { assigned, assignments, role } = this.#fleet;
    const list = assignments.list[this.#needs.assignment[turn.need]!]!;
    let left = wanted;
    if (list === 0) return left;
    for (let at = assigned.first(list); at !== 0 && left > 0; at = assigned.next(at)) {
      const slot = assigned.slotAt(at);
      if (role[slot] === Role.Leaving) break; // H5: no need is credited those, and they are last
      left = this.#offer(turn, slot, Role.Configured - role[slot]!, left);
    }
    return left;
  }

  #scanOthers(turn: GangTurn, wanted: number, part: number): number {
    const { cluster, index, need, filter, domains } = turn;
    if (part === ScanPart.Configuring && cluster.configuringCount === 0) return wanted;
    const { keep, compareKeep } = this.#fleet;
    const { familyLists } = cluster;
    const domain = this.#needs.domain[need];
    const candidates = this.#candidates;
    candidates.length = 0;
    for (let familyList = 0; familyList < familyLists.count; familyList++) {
      if (filter.eligible[familyLists.family(familyList)] !== 1) continue;
      const list =
        part === ScanPart.Configured
          ? familyLists.configured(familyList)
          : familyLists.configuring(familyList);
      if (list === 0) continue;
      let at = keep.seek(keep.first(list), index + 1);
      for (; at !== 0; at = keep.seek(keep.next(at), index + 1)) {
        const slot = keep.slotAt(at);
        if (!this.#fleet.isAssignedToGang(slot) && domains.ofSlot(slot) === domain) candidates.push(slot);
      }
    }
    candidates.sort(compareKeep);
    let left = wanted;
    for (const slot of candidates) {
      if (left === 0) break;
      left = this.#offer(turn, slot, part, left);
    }
    return left;
  }

  #offer(
    { cluster, index, need, filter, domains }: GangTurn,
    slot: number,
    part: number,
    left: number,
  ): number {
    const needs = this.#needs;
    if (this.#claims.isHeld(slot) || !this.isCreditable(slot, index, filter)) return left;
    if (domains.ofSlot(slot) !== needs.domain[need]) return left;
    const family = this.#families.familyOf[this.#fleet.shape[slot]!]!;
    const after = needs.subtract(need, this.#families, family, this.#vectors);
    if (after < 0) return left;
    this.#claims.hold(cluster, index, slot);
    needs.lastTaken[need] = slot;
    needs.lastPart[need] = part;
    return after;
  }

  /** Whether the Configured machines among its credited ones cover the whole gang. */
  #configuredCover(need: number): boolean {
    const { role, shape, nextClaim } = this.#fleet;
    const { start, length, units } = this.#vectors;
    const aggregate = this.#needs.aggregate[need]!;
    const width = length[aggregate]!;
    if (this.#uncovered.length < width) this.#uncovered = columnF64(2 * width);
    const uncovered = this.#uncovered;
    for (let index = 0; index < width; index++) uncovered[index] = units[start[aggregate]! + index]!;
    let remaining: number = width;
    for (let slot = this.#needs.firstClaim[need]!; slot !== 0 && remaining > 0; slot = nextClaim[slot]!) {
      if (role[slot] !== Role.Configured || !this.#claims.isHeld(slot)) continue;
      const family = this.#families.familyOf[shape[slot]!]!;
      const after = subtractCapacity(uncovered, 0, this.#vectors, aggregate, this.#families, family);
      if (after >= 0) remaining = after;
    }
    return remaining === 0;
  }

  /** A6, make before break: the gang keeps its machines elsewhere until those in the chosen domain cover it. */
  #keepOwnOutside({ cluster, index, need, domains }: GangTurn): void {
    const { assigned, assignments, role } = this.#fleet;
    const domain = this.#needs.domain[need];
    const list = assignments.list[this.#needs.assignment[need]!]!;
    if (list === 0) return;
    for (let at = assigned.first(list); at !== 0; at = assigned.next(at)) {
      const slot = assigned.slotAt(at);
      if (role[slot] === Role.Leaving) break; // leaving.ts keeps those
      if (role[slot] !== Role.Configured && this.#fleet.isStuck(slot)) continue;
      if (domains.ofSlot(slot) === domain || this.#claims.isHeld(slot)) continue;
      if (this.#claims.isAvailable(slot, index)) this.#claims.hold(cluster, index, slot);
    }
  }
}
