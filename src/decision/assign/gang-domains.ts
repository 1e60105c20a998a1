/** The domains of spread needs (A4) and gangs (A5), by list of topology keys; kept from cycle to cycle, as shapes are. */
import type { ProfileTable } from '../../needs/profiles.ts';
import type { EngineNeeds } from '../demand/engine-needs.ts';
import { Domains } from '../supply/domains.ts';
import type { Fleet } from '../supply/fleet.ts';
import type { SlotAttributes } from '../supply/slot-attributes.ts';

/** Lists of topology keys that no profile has, kept all the same: each has a column with a word for every shape. */
const UNUSED_LISTS_MAX = 64;

export class GangDomains {
  readonly #profiles: ProfileTable;
  readonly #needs: EngineNeeds;
  readonly #fleet: Fleet;
  readonly #attributes: SlotAttributes;
  readonly #byKeys = new Map<string, Domains>();
  /** A cache by profile; an entry is void when the ref names another profile, with other keys. */
  readonly #byProfile: ({ readonly keys: readonly string[]; readonly domains: Domains } | undefined)[] = [];

  /** Lists after the last `dropUnused`. */
  #usedCount = 0;

  constructor(profiles: ProfileTable, needs: EngineNeeds, fleet: Fleet, attributes: SlotAttributes) {
    this.#profiles = profiles;
    this.#needs = needs;
    this.#fleet = fleet;
    this.#attributes = attributes;
  }

  /** T12: whether so many domains were left behind that all shapes must be regrouped. */
  get areMostlyDead(): boolean {
    for (const domains of this.#byKeys.values()) if (domains.areMostlyDead) return true;
    return false;
  }

  /** T12: drops the lists of keys that no profile has any more. Costs a pass over the profiles, when enough may be unused. */
  dropUnused(): void {
    if (this.#byKeys.size <= 2 * this.#usedCount + UNUSED_LISTS_MAX) return;
    const used = new Set<string>();
    for (let ref = 1; ref < this.#profiles.refLimit; ref++) {
      if (this.#profiles.referenceCount(ref) === 0) continue;
      const { sameKeys, spread } = this.#profiles.get(ref);
      if (sameKeys.length > 0) used.add(JSON.stringify(sameKeys));
      for (const { topologyKey } of spread) used.add(JSON.stringify([topologyKey]));
    }
    for (const keys of this.#byKeys.keys()) if (!used.has(keys)) this.#byKeys.delete(keys);
    this.#usedCount = this.#byKeys.size;
    this.#byProfile.length = 0;
  }

  /** Families were rebuilt: which labels are fine may have changed. */
  regroup(): void {
    this.#byKeys.clear();
    this.#byProfile.length = 0;
  }

  admitShape(shape: number): void {
    for (const domains of this.#byKeys.values()) domains.admitShape(shape);
  }

  forgetShape(shape: number): void {
    for (const domains of this.#byKeys.values()) domains.forgetShape(shape);
  }

  of(keys: readonly string[]): Domains {
    const text = JSON.stringify(keys);
    let domains = this.#byKeys.get(text);
    if (domains === undefined) {
      domains = new Domains(keys, this.#fleet.inventory, this.#fleet.families, this.#attributes);
      this.#byKeys.set(text, domains);
    }
    return domains;
  }

  ofGang(need: number): Domains {
    const ref = this.#needs.profile[need]!;
    const { sameKeys } = this.#profiles.get(ref);
    const known = this.#byProfile[ref];
    if (known !== undefined && known.keys === sameKeys) return known.domains;
    const domains = this.of(sameKeys);
    this.#byProfile[ref] = { keys: sameKeys, domains };
    return domains;
  }

  /** For each list of keys, as JSON: the texts of its domains by number, as JSON. */
  texts(): [keys: string, texts: string][] {
    return [...this.#byKeys].map(([keys, domains]) => [keys, domains.textsJson()]);
  }
}
