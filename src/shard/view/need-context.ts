/**
 * The context of a verdict: what an unmet need found, for InspectNeeds. The facts are those of the explanations. A reader may
 * ask for 776,000 needs at once, so the costly parts are shared and bounded: machines are counted once for all needs with
 * the same requirements and min unit, and from the index of shapes; domains are weighed for the most urgent gangs only.
 */
import type { ResourceAmounts } from '../../machine/machine.ts';
import { MachineState } from '../../machine/state.ts';
import type { MatchingSupply, NeedContext, NeedView } from '../ports/view.ts';
import { type Asked, Census } from './explain/census.ts';
import { Matcher } from './explain/matcher.ts';
import type { ViewSources } from './sources.ts';

const S = MachineState;
/** Sets of requirements and min unit counted per reader: each matches at most 12,000 shapes, five milliseconds. */
const SUPPLIES_MAX = 1_000;
/** Gangs whose domains are weighed per reader: each looks at every machine that matches, up to 100 ms in slices. */
const GANGS_MAX = 100;
/** If labels of single machines decide, the count of a state stops here. */
const MACHINES_MAX = 1_000;

/** An unmet need as a page found it: later the row may be another need's. */
export interface Unmet {
  /** Its place in the page. */
  readonly index: number;
  readonly supplyKey: string;
  readonly victims: readonly number[];
  /** Null: the need is no gang, or is served as part of a fold. */
  readonly gang: Asked | null;
}

/** One per reader. */
export class NeedContexts {
  readonly #sources: ViewSources;
  readonly #supplies = new Map<string, MatchingSupply>();
  #gangCount = 0;

  constructor(sources: ViewSources) {
    this.#sources = sources;
  }

  /** Synchronous, while rows and verdicts are in step. */
  unmet(index: number, cluster: number, row: number, need: NeedView): Unmet {
    const { needs, engine, inventory } = this.#sources;
    const tableRow = needs.sliceStart(cluster) + row;
    const served = engine.servedAs(cluster, row);
    const { sameKeys, requirementSet } = needs.profiles.get(needs.profile[tableRow]!);
    const isOwn =
      inventory.tables.fingerprints.get(served.fingerprint) === need.fingerprint &&
      inventory.tables.groups.get(served.group) === need.group;
    return {
      index,
      supplyKey: `${requirementSet} ${needs.minUnit[tableRow]!}`,
      victims: engine.drainsFor(served.cluster, served.fingerprint, served.group),
      gang:
        isOwn && sameKeys.length > 0
          ? { ...served, priority: need.priority, aggregate: need.aggregate, domainKeys: sameKeys }
          : null,
    };
  }

  /** Adds the context to the unmet needs of a page. */
  async fill(page: NeedView[], unmet: readonly Unmet[]): Promise<void> {
    for (const one of unmet) {
      const need = page[one.index]!;
      page[one.index] = { ...need, context: await this.#contextOf(need, one) };
    }
  }

  async #contextOf(need: NeedView, { supplyKey, victims, gang }: Unmet): Promise<NeedContext> {
    const freed = this.#capacityOf(victims);
    const supply = await this.#supplyOf(need, supplyKey);
    const hasDomains = gang !== null && this.#gangCount++ < GANGS_MAX;
    const domains = hasDomains ? await this.#domainsOf(need, gang) : [];
    return { supply, victims: victims.length, freed, domains };
  }

  async #supplyOf(need: NeedView, key: string): Promise<MatchingSupply | null> {
    const known = this.#supplies.get(key);
    if (known !== undefined) return known;
    if (this.#supplies.size >= SUPPLIES_MAX) return null;
    const { inventory, nextTurn } = this.#sources;
    const matcher = new Matcher(inventory, need.requirements, need.minUnit);
    const shapes = await matcher.shapes(() => nextTurn());
    let isCapped = false;
    const count = (state: MachineState) => {
      const { indexes } = inventory;
      let machines = 0;
      for (const shape of shapes) {
        const inShape = indexes.countOfShape(state, shape);
        if (matcher.isByShape) {
          machines += inShape;
          continue;
        }
        const start = indexes.startOfShape(state, shape);
        for (let at = start; at < start + inShape; at++) {
          if (machines === MACHINES_MAX) {
            isCapped = true;
            return machines;
          }
          if (matcher.admitsSlot(indexes.shapeSlots[at]!)) machines++;
        }
      }
      return machines;
    };
    const [idle, configured, speculative] = [count(S.Idle), count(S.Configured), count(S.Speculative)];
    const supply = { idle, configured, speculative, isCapped };
    this.#supplies.set(key, supply);
    return supply;
  }

  async #domainsOf(need: NeedView, gang: Asked): Promise<NeedContext['domains']> {
    const matcher = new Matcher(this.#sources.inventory, need.requirements, need.minUnit);
    const census = await Census.take(this.#sources, matcher, gang);
    return census.domains().map(({ domain, covered }) => ({ domain, covered }));
  }

  #capacityOf(slots: readonly number[]): ResourceAmounts {
    const { columns, shapes } = this.#sources.inventory;
    const sums: Record<string, number> = {};
    for (const slot of slots) {
      const amounts = shapes.vectors.amountsOf(shapes.get(columns.shape[slot]!).capacity);
      for (const [name, units] of Object.entries(amounts)) sums[name] = (sums[name] ?? 0) + units;
    }
    return sums;
  }
}
