/**
 * A scan of the machines that match a need: their states, the priorities at which they are held, how many are free, and in
 * which domains. In slices, because a popular kind of machine may be most of the fleet.
 */
import { compareBytewise } from '../../../base/dimensions.ts';
import { BARRED, CORDONED, Flag, NOT_ACQUIRED } from '../../../inventory/intent.ts';
import { attributeOf } from '../../../inventory/shapes.ts';
import type { ResourceAmounts } from '../../../machine/machine.ts';
import { ALL_STATES, MachineState } from '../../../machine/state.ts';
import type { DomainFacts, Holder, ServingMachine } from '../../ports/explain.ts';
import type { ViewSources } from '../sources.ts';
import type { Matcher } from './matcher.ts';

const S = MachineState;
/**
 * About eight milliseconds. A turn of a busy shard's event loop lasts longer than a slice, so an answer takes as long as it has
 * turns: 30 for the whole fleet.
 */
const MACHINES_PER_TURN = 16_384;
/** Priorities listed, and clusters named for each. */
const HOLDERS_MAX = 8;
const TOP_CLUSTERS_MAX = 3;
const DOMAINS_MAX = 5;
/** Machines that an explanation names: more than a gang of the usual size has. */
const SERVING_MAX = 64;

/** The need in question, in refs, as its machines' assignment names it. */
export interface Asked {
  readonly cluster: number;
  readonly fingerprint: number;
  readonly group: number;
  readonly priority: number;
  readonly aggregate: ResourceAmounts;
  /** Keys whose values make a domain; empty if domains do not matter. */
  readonly domainKeys: readonly string[];
}

interface Held {
  readonly priority: number;
  readonly isUnclaimed: boolean;
  machines: number;
  /** By ref. */
  readonly byCluster: Map<number, number>;
}

interface Domain {
  own: number;
  free: number;
  readonly capacity: Map<string, number>;
}

export class Census {
  readonly matching = new Array<number>(9).fill(0);
  free = 0;
  takenByOthers = 0;
  inBackoff = 0;
  stuck = 0;
  /** H3: machines that a pause keeps from needs, and the first of them. */
  paused = 0;
  pausedSlot = 0;
  preemptible = 0;
  ownMachines = 0;
  readonly #sources: ViewSources;
  readonly #asked: Asked;
  readonly #holders = new Map<string, Held>();
  readonly #domains = new Map<string, Domain>();
  readonly #priorities = new Map<number, number>();
  readonly #serving: ServingMachine[] = [];

  private constructor(sources: ViewSources, asked: Asked) {
    this.#sources = sources;
    this.#asked = asked;
  }

  static async take(sources: ViewSources, matcher: Matcher, asked: Asked): Promise<Census> {
    const census = new Census(sources, asked);
    const { inventory } = sources;
    let scanned = 0;
    for (const shape of await matcher.shapes(() => sources.nextTurn())) {
      for (const state of ALL_STATES) {
        const start = inventory.indexes.startOfShape(state, shape);
        // A copy: the list may change in another turn of the event loop.
        const slots = inventory.indexes.shapeSlots.slice(
          start,
          start + inventory.indexes.countOfShape(state, shape),
        );
        for (const slot of slots) {
          if (++scanned % MACHINES_PER_TURN === 0) await sources.nextTurn();
          if (inventory.columns.state[slot] !== state || inventory.columns.shape[slot] !== shape) continue;
          if (matcher.isByShape || matcher.admitsSlot(slot)) census.#count(slot, state, shape);
        }
      }
    }
    return census;
  }

  /** The highest priority first. */
  holders(): Holder[] {
    const { clusters } = this.#sources.inventory.tables;
    return [...this.#holders.values()]
      .sort((a, b) => b.priority - a.priority || b.machines - a.machines)
      .slice(0, HOLDERS_MAX)
      .map(({ priority, isUnclaimed, machines, byCluster }) => ({
        priority,
        isUnclaimed,
        machines,
        clusters: byCluster.size,
        topClusters: [...byCluster]
          .sort((a, b) => b[1] - a[1])
          .slice(0, TOP_CLUSTERS_MAX)
          .map(([cluster, held]) => ({ clusterId: clusters.get(cluster), machines: held })),
      }));
  }

  /** Machines that count for the need, by id. */
  serving(): readonly ServingMachine[] {
    return this.#serving.sort((a, b) => compareBytewise(a.id, b.id));
  }

  /** The domains that cover most of the need, best first. */
  domains(): DomainFacts[] {
    const { aggregate } = this.#asked;
    return [...this.#domains]
      .map(([domain, { own, free, capacity }]) => {
        const covered = Object.entries(aggregate).map(([name, wanted]) =>
          Math.min(1, (capacity.get(name) ?? 0) / wanted),
        );
        return {
          domain,
          own,
          free,
          capacity: Object.fromEntries(capacity),
          covered: covered.length === 0 ? 1 : Math.min(...covered),
        };
      })
      .sort(
        (a, b) => b.covered - a.covered || b.own + b.free - a.own - a.free || (a.domain < b.domain ? -1 : 1),
      )
      .slice(0, DOMAINS_MAX);
  }

  #count(slot: number, state: MachineState, shape: number): void {
    const { inventory, engine } = this.#sources;
    this.matching[state]!++;
    const flags = inventory.columns.flags[slot]!;
    if ((flags & Flag.Backoff) !== 0) this.inBackoff++;
    if ((flags & Flag.Stuck) !== 0) this.stuck++;
    const claim = engine.claimOf(slot);
    const isOwn =
      claim !== null &&
      claim.cluster === this.#asked.cluster &&
      claim.fingerprint === this.#asked.fingerprint &&
      claim.group === this.#asked.group;
    if (isOwn) {
      this.ownMachines++;
      const domain = this.#domainOf(slot, shape) ?? '';
      if (this.#serving.length < SERVING_MAX) this.#serving.push({ id: inventory.idOf(slot), state, domain });
    }
    const isOffered = state === S.Idle || state === S.Speculative;
    const isKept = (flags & Flag.NotAcquired) !== 0 || (isOffered && (flags & CORDONED) !== 0);
    if (isKept && this.paused++ === 0) this.pausedSlot = slot;
    const isFree =
      isOffered &&
      claim === null &&
      inventory.columns.intent[slot] === 0 &&
      (flags & (BARRED | NOT_ACQUIRED)) === 0;
    if (isFree) this.free++;
    if (isOffered && !isOwn && (claim !== null || inventory.columns.intent[slot] !== 0)) this.takenByOthers++;
    if (state === S.Configured && !isOwn) this.#hold(slot, claim);
    if ((isOwn || isFree) && this.#asked.domainKeys.length > 0) this.#addToDomain(slot, shape, isOwn);
  }

  #hold(slot: number, claim: { cluster: number; fingerprint: number } | null): void {
    const { inventory, needs } = this.#sources;
    const { cluster, priority: assigned, flags } = inventory.columns;
    const owner = claim?.cluster ?? cluster[slot]!;
    const priority = claim === null ? assigned[slot]! : this.#priorityOf(claim.fingerprint);
    const isUnclaimed = claim === null;
    const key = `${priority} ${isUnclaimed}`;
    let held = this.#holders.get(key);
    if (held === undefined) {
      held = { priority, isUnclaimed, machines: 0, byCluster: new Map() };
      this.#holders.set(key, held);
    }
    held.machines++;
    held.byCluster.set(owner, (held.byCluster.get(owner) ?? 0) + 1);
    const mayLose = needs.hasReported(owner) && !needs.isTakingUp(owner);
    const isBelow = isUnclaimed ? mayLose : priority < this.#asked.priority;
    if (isBelow && (flags[slot]! & BARRED) === 0) this.preemptible++;
  }

  /** N2: a fingerprint begins with the priority. */
  #priorityOf(fingerprint: number): number {
    const known = this.#priorities.get(fingerprint);
    if (known !== undefined) return known;
    const priority = priorityIn(this.#sources.inventory.tables.fingerprints.get(fingerprint));
    this.#priorities.set(fingerprint, priority);
    return priority;
  }

  #addToDomain(slot: number, shape: number, isOwn: boolean): void {
    const { inventory } = this.#sources;
    const known = inventory.shapes.get(shape);
    const name = this.#domainOf(slot, shape);
    if (name === null) return;
    let domain = this.#domains.get(name);
    if (domain === undefined) {
      domain = { own: 0, free: 0, capacity: new Map() };
      this.#domains.set(name, domain);
    }
    if (isOwn) domain.own++;
    else domain.free++;
    const { vectors } = inventory.shapes;
    for (const dimension of Object.keys(this.#asked.aggregate)) {
      const dim = vectors.dimensions.find(dimension);
      const units = dim < 0 ? 0 : vectors.unitsOf(known.capacity, dim);
      domain.capacity.set(dimension, (domain.capacity.get(dimension) ?? 0) + units);
    }
  }

  /** Null: the machine lacks a key. */
  #domainOf(slot: number, shape: number): string | null {
    const { inventory } = this.#sources;
    const known = inventory.shapes.get(shape);
    const values = this.#asked.domainKeys.map(
      (key) => attributeOf(known, key) ?? inventory.labelsOf(slot)[key] ?? null,
    );
    return values.includes(null) ? null : values.join(',');
  }
}

export function priorityIn(fingerprint: string): number {
  return Number(/^p=(-?\d+)\|/.exec(fingerprint)?.[1] ?? 0);
}
