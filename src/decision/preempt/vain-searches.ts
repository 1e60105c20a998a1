/**
 * Needs that found no victim in the last cycle, and what they asked for. Such a need searches again only if it asks for
 * something else, or if a machine that suits it may be taken now and could not be before: in scarcity nearly every unmet
 * need searches in vain, in every cycle, and only a few machines change.
 *
 * Exact, because the machines that a need may take change in two ways only: a machine joins a list or is read again
 * (`gainedOf`), or a reason that the lists do not show passes, and then the search is not noted at all. What a need asked for is
 * compared with the cycle before: since then the engine holds the refs that are compared, so none of them was reused.
 */

import type { UnmetNeeds } from '../assign/unmet.ts';
import type { EngineNeeds } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Filter } from '../supply/filters.ts';
import type { Matching } from './matching.ts';
import type { VictimLists } from './victim-lists.ts';

interface Vain {
  readonly kind: number;
  readonly filter: Filter;
  readonly aggregate: number;
  readonly priority: number;
  /** Of a gang. */
  readonly domain: number;
  readonly missing: Float64Array;
}

export class VainSearches {
  readonly #needs: EngineNeeds;
  readonly #lists: VictimLists;
  readonly #matching: Matching;
  /** By assignment: of the last cycle, and of this one. */
  #before = new Map<number, Vain>();
  #now = new Map<number, Vain>();

  constructor({ needs }: EngineTables, lists: VictimLists, matching: Matching) {
    this.#needs = needs;
    this.#lists = lists;
    this.#matching = matching;
  }

  /** Families are about to be rebuilt. */
  regroup(): void {
    this.#before.clear();
    this.#now.clear();
  }

  beginCycle(): void {
    const before = this.#before;
    before.clear();
    this.#before = this.#now;
    this.#now = before;
  }

  /** Whether the need's last search was in vain and another one would be too. */
  isStillVain(unmet: UnmetNeeds, entry: number): boolean {
    if (this.#before.size === 0) return false;
    const need = unmet.need[entry]!;
    const assignment = this.#needs.assignment[need]!;
    const vain = this.#before.get(assignment);
    if (vain === undefined || !this.#asksTheSame(vain, unmet, entry)) return false;
    this.#lists.settle();
    if (this.#isHelped(need, vain)) return false;
    this.#now.set(assignment, vain);
    return true;
  }

  /** The need searched in vain, and no machine that suits it was left out for a reason that may pass. */
  note(unmet: UnmetNeeds, entry: number): void {
    const { kind, aggregate, priority, domain, assignment } = this.#needs;
    const need = unmet.need[entry]!;
    const row = entry * unmet.width;
    this.#now.set(assignment[need]!, {
      kind: kind[need]!,
      filter: this.#matching.filterOf(need),
      aggregate: aggregate[need]!,
      priority: priority[need]!,
      domain: domain[need]!,
      missing: unmet.missing.slice(row, row + unmet.width),
    });
  }

  #asksTheSame(vain: Vain, unmet: UnmetNeeds, entry: number): boolean {
    const { kind, aggregate, priority, domain } = this.#needs;
    const need = unmet.need[entry]!;
    if (vain.kind !== kind[need] || vain.filter !== this.#matching.filterOf(need)) return false;
    if (vain.aggregate !== aggregate[need] || vain.priority !== priority[need]) return false;
    if (vain.domain !== domain[need] || vain.missing.length !== unmet.width) return false;
    const row = entry * unmet.width;
    for (let index = 0; index < unmet.width; index++)
      if (vain.missing[index] !== unmet.missing[row + index]) return false;
    return true;
  }

  #isHelped(need: number, { filter, priority }: Vain): boolean {
    if (this.#lists.hasGainedMany) return true;
    const domains = this.#matching.domainsOf(need);
    for (let index = 0; index < filter.families.length; index++) {
      const gained = this.#lists.gainedOf(filter.families[index]!);
      for (let place = 0; place < gained.length; place++) {
        const slot = gained[place]!;
        if (this.#lists.mayTake(slot, priority) && this.#matching.suits(need, filter, domains, slot))
          return true;
      }
    }
    return false;
  }
}
