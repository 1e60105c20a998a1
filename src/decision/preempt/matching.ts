/** Which machines suit a need in phase 2, whatever their tier: those that match, cover min_unit and are in a gang's chosen domain. */

import type { GangDomains } from '../assign/gang-domains.ts';
import { type EngineNeeds, NeedKind } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Domains } from '../supply/domains.ts';
import { type Filter, type Filters, MatchLevel } from '../supply/filters.ts';
import type { Fleet } from '../supply/fleet.ts';

export class Matching {
  readonly #fleet: Fleet;
  readonly #filters: Filters;
  readonly #needs: EngineNeeds;
  readonly #domains: GangDomains;

  constructor({ fleet, filters, needs, domains }: EngineTables) {
    this.#fleet = fleet;
    this.#filters = filters;
    this.#needs = needs;
    this.#domains = domains;
  }

  filterOf(need: number): Filter {
    return this.#filters.get(this.#needs.filter[need]!);
  }

  /** For `suits`; null if the need is no gang. */
  domainsOf(need: number): Domains | null {
    return this.#needs.kind[need] === NeedKind.Gang ? this.#domains.ofGang(need) : null;
  }

  /**
   * The families of machines that may suit the need. A gang takes machines of its domain alone, and a rack has machines of a few
   * families: without this each gang would look at all machines that its filter admits.
   */
  familiesOf(need: number, filter: Filter, domains: Domains | null): readonly number[] {
    if (domains === null || domains.matchLevel === MatchLevel.Machine) return filter.families;
    const domain = this.#needs.domain[need]!;
    if (domains.matchLevel === MatchLevel.Family)
      return filter.families.filter((family) => domains.ofFamily(family) === domain);
    const { familyOf } = this.#fleet.families;
    const found: number[] = [];
    for (const shape of domains.shapesIn(domain)) {
      const family = familyOf[shape]!;
      if (filter.eligible[family] === 1 && !found.includes(family)) found.push(family);
    }
    return found;
  }

  suits(need: number, filter: Filter, domains: Domains | null, slot: number): boolean {
    const { families, shape } = this.#fleet;
    if (filter.eligible[families.familyOf[shape[slot]!]!] !== 1) return false;
    if (domains !== null) {
      const domain = this.#needs.domain[need]!;
      if (domain === 0 || domains.ofSlot(slot) !== domain) return false;
    }
    return filter.matchLevel === MatchLevel.Family || this.#filters.admitsSlot(filter, slot);
  }
}
