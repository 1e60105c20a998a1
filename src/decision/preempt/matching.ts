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
