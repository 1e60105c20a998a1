/** Which machines count for a gang (A5), added to a tally by domain: its own, its cluster's others, and those outside. */
import type { EngineNeeds } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Drains } from '../supply/drains.ts';
import type { Families } from '../supply/families.ts';
import { type Filters, MatchLevel } from '../supply/filters.ts';
import { type Fleet, Role } from '../supply/fleet.ts';
import type { Supply } from '../supply/supply.ts';
import type { DomainTally } from './domain-tally.ts';
import type { GangCredit } from './gang-credit.ts';
import type { GangTurn } from './gang-turn.ts';

export class GangMachines {
  readonly #fleet: Fleet;
  readonly #families: Families;
  readonly #filters: Filters;
  readonly #needs: EngineNeeds;
  readonly #drains: Drains;
  readonly #supply: Supply;
  readonly #credit: GangCredit;

  constructor({ fleet, families, filters, needs, drains, supply }: EngineTables, credit: GangCredit) {
    this.#fleet = fleet;
    this.#families = families;
    this.#filters = filters;
    this.#needs = needs;
    this.#drains = drains;
    this.#supply = supply;
    this.#credit = credit;
  }

  /** H5: whether a machine of the gang is leaving, so that the gang needs a replacement. */
  hasLeaving({ cluster, need }: GangTurn): boolean {
    if (cluster.leavingCount === 0) return false;
    const { assigned, assignments, role } = this.#fleet;
    const list = assignments.list[this.#needs.assignment[need]!]!;
    for (let at = list === 0 ? 0 : assigned.first(list); at !== 0; at = assigned.next(at))
      if (role[assigned.slotAt(at)] === Role.Leaving) return true;
    return false;
  }

  /** Leaving ones (H5) count too: the gang's replacement comes from its domain. */
  tallyOwn({ index, need, filter, domains }: GangTurn, tally: DomainTally): void {
    const { assigned, assignments, shape } = this.#fleet;
    const list = assignments.list[this.#needs.assignment[need]!]!;
    if (list === 0) return;
    for (let at = assigned.first(list); at !== 0; at = assigned.next(at)) {
      const slot = assigned.slotAt(at);
      if (!this.#credit.isCreditable(slot, index, filter)) continue;
      tally.addOwn(domains.ofSlot(slot), this.#families.familyOf[shape[slot]!]!);
    }
  }

  /** The cluster's other machines, except those assigned to another gang. */
  tallyOthers(turn: GangTurn, tally: DomainTally): void {
    const { familyLists } = turn.cluster;
    for (let familyList = 0; familyList < familyLists.count; familyList++) {
      const family = familyLists.family(familyList);
      if (turn.filter.eligible[family] !== 1) continue;
      this.#tallyList(turn, tally, family, familyLists.configured(familyList));
      this.#tallyList(turn, tally, family, familyLists.configuring(familyList));
    }
  }

  #tallyList({ index, filter, domains }: GangTurn, tally: DomainTally, family: number, list: number): void {
    if (list === 0) return;
    const { keep } = this.#fleet;
    let at = keep.seek(keep.first(list), index + 1);
    for (; at !== 0; at = keep.seek(keep.next(at), index + 1)) {
      const slot = keep.slotAt(at);
      if (this.#fleet.isAssignedToGang(slot) || !this.#credit.isCreditable(slot, index, filter)) continue;
      tally.addCreditable(domains.ofSlot(slot), family);
    }
  }

  /** Whether `tallyOutside` would count anything. */
  areOutside(need: number): boolean {
    for (const family of this.#filters.get(this.#needs.filter[need]!).families)
      if (this.#families.open[family]! > 0) return true;
    return this.#drains.slotsFor(this.#needs.assignment[need]!).length > 0;
  }

  /** Machines that drain for the gang, and unassigned ones that no earlier gang reserved. */
  tallyOutside(turn: GangTurn, tally: DomainTally): void {
    this.#tallyDraining(turn, tally);
    // A covering domain with creditable machines beats every one without, so the others count only if none covers.
    const { filter, domains } = turn;
    const mayEndEarly = domains.matchLevel === MatchLevel.Shape && filter.matchLevel !== MatchLevel.Machine;
    if (mayEndEarly && this.#tallyWhereCreditable(turn, tally)) return;
    this.#tallyUnassigned(turn, tally);
  }

  #tallyDraining({ need, filter, domains }: GangTurn, tally: DomainTally): void {
    const { shape } = this.#fleet;
    for (const slot of this.#drains.slotsFor(this.#needs.assignment[need]!)) {
      const family = this.#families.familyOf[shape[slot]!]!;
      if (this.#fleet.isStuck(slot) || this.#fleet.cordoned[slot] === 1 || filter.eligible[family] !== 1)
        continue;
      if (filter.matchLevel !== MatchLevel.Family && !this.#filters.admitsSlot(filter, slot)) continue;
      tally.addUnassigned(domains.ofSlot(slot), family, 1);
    }
  }

  /** Adds the unassigned machines of domains that have creditable ones; returns whether one of those covers the gang. */
  #tallyWhereCreditable({ filter, domains }: GangTurn, tally: DomainTally): boolean {
    const families = this.#families;
    const count = tally.entryCount;
    let covers = false;
    for (let entry = 0; entry < count; entry++) {
      if (!tally.hasCreditable(entry)) continue;
      const domain = tally.domainAt(entry);
      for (const shape of domains.shapesIn(domain)) {
        const machines = families.openIn[shape]! - this.#supply.reservedIn[shape]!;
        if (machines === 0 || !this.#filters.admitsShape(filter, shape)) continue;
        tally.addUnassigned(domain, families.familyOf[shape]!, machines);
      }
      tally.markUnassignedCounted(entry);
      if (tally.covers(domain)) covers = true;
    }
    return covers;
  }

  /** Adds the unassigned machines, except in domains where they are counted already. */
  #tallyUnassigned({ filter, domains }: GangTurn, tally: DomainTally): void {
    const families = this.#families;
    const supply = this.#supply;
    for (const family of filter.families) {
      const open = families.open[family]!;
      if (open === 0) continue;
      if (domains.matchLevel === MatchLevel.Family && filter.matchLevel === MatchLevel.Family) {
        tally.addUnassigned(domains.ofFamily(family), family, open - supply.reserved[family]!);
        continue;
      }
      for (const shape of families.openShapesOf(family)) {
        if (!this.#filters.admitsShape(filter, shape)) continue;
        if (domains.matchLevel !== MatchLevel.Machine && filter.matchLevel !== MatchLevel.Machine) {
          const machines = families.openIn[shape]! - supply.reservedIn[shape]!;
          const domain = domains.ofShape(shape);
          if (!tally.hasUnassignedCounted(domain)) tally.addUnassigned(domain, family, machines);
        } else {
          this.#fleet.forEachOpen(shape, (slot) => {
            if (supply.reservedBy[slot] !== 0 || !this.#filters.admitsSlot(filter, slot)) return;
            tally.addUnassigned(domains.ofSlot(slot), family, 1);
          });
        }
      }
    }
  }
}
