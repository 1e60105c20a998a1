/**
 * E2: how many needs with a deficit compete for the machines of a family. Asked only where two machines are equally good, so a
 * count is made when it is asked for, at most once per family and cycle.
 */
import { columnU32, widerU32 } from '../columns/columns.ts';
import type { EngineNeeds } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import type { Filters } from '../supply/filters.ts';
import type { UnmetNeeds } from './unmet.ts';

export class Contention {
  readonly #needs: EngineNeeds;
  readonly #filters: Filters;
  readonly #unmet: UnmetNeeds;
  /** By filter: needs with a deficit; read when the first family is asked for. */
  #needsOf = columnU32(256);
  readonly #filtersInUse: number[] = [];
  #isRead = false;
  /** By family: the count, as of cycle #countedIn. */
  #count = columnU32(64);
  #countedIn = columnU32(64);
  #cycle = 0;

  constructor({ needs, filters, unmet }: EngineTables) {
    this.#needs = needs;
    this.#filters = filters;
    this.#unmet = unmet;
  }

  beginCycle(): void {
    this.#cycle++;
    this.#isRead = false;
  }

  of(family: number): number {
    this.#count = widerU32(this.#count, family);
    this.#countedIn = widerU32(this.#countedIn, family);
    if (this.#countedIn[family] === this.#cycle) return this.#count[family]!;
    if (!this.#isRead) this.#read();
    let count = 0;
    for (const filter of this.#filtersInUse)
      if (this.#filters.competes(this.#filters.get(filter), family)) count += this.#needsOf[filter]!;
    this.#count[family] = count;
    this.#countedIn[family] = this.#cycle;
    return count;
  }

  #read(): void {
    for (const filter of this.#filtersInUse) this.#needsOf[filter] = 0;
    this.#filtersInUse.length = 0;
    const { filter } = this.#needs;
    for (let entry = 0; entry < this.#unmet.count; entry++) {
      const used = filter[this.#unmet.need[entry]!]!;
      this.#needsOf = widerU32(this.#needsOf, used);
      if (this.#needsOf[used]!++ === 0) this.#filtersInUse.push(used);
    }
    this.#isRead = true;
  }
}
