/**
 * Sums over the fleet. Counts come from the inventory's counts by shape; dollars are added up from the columns, half a million
 * rows in one slice, at most once a second for all readers together.
 */
import { CAPACITY_TYPE_COUNT } from '../../machine/capacity-type.ts';
import { ALL_STATES, MachineState, STATE_COUNT } from '../../machine/state.ts';
import type { ClusterCost, CountedName, FleetCost, FleetSummary } from '../ports/fleet-view.ts';
import type { ViewSources } from './sources.ts';

const KEPT_FOR_MS = 1_000;
/** Slots added up in one turn of the event loop: about two milliseconds. On a busy shard each turn waits for a cycle. */
const SLOTS_PER_TURN = 524_288;

export class FleetSummaries {
  readonly #sources: ViewSources;
  #last: FleetSummary | null = null;
  #running: Promise<FleetSummary> | null = null;

  constructor(sources: ViewSources) {
    this.#sources = sources;
  }

  /** At most a second old; a request during a computation gets its result. */
  read(): Promise<FleetSummary> {
    const last = this.#last;
    if (last !== null && this.#sources.clock.nowMs() - last.atMs < KEPT_FOR_MS) return Promise.resolve(last);
    this.#running ??= this.#make().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** By state number; the index keeps these counts. */
  stateCounts(): number[] {
    const { indexes } = this.#sources.inventory;
    return Array.from({ length: STATE_COUNT }, (_, state) => (state === 0 ? 0 : indexes.countInState(state)));
  }

  async #make(): Promise<FleetSummary> {
    const { inventory, clock } = this.#sources;
    const { counts, shapes } = inventory;
    const { cost, byProvider } = await this.#addUp();
    const summary: FleetSummary = {
      atMs: clock.nowMs(),
      machines: this.stateCounts(),
      byCapacityType: Array.from({ length: CAPACITY_TYPE_COUNT }, (_, capacityType) =>
        byState((state) => counts.ofCapacityType(state, capacityType)),
      ),
      byInstanceType: named(shapes.instanceTypes, (state, ref) => counts.ofInstanceType(state, ref)),
      byZone: named(shapes.zones, (state, ref) => counts.ofZone(state, ref)),
      byProvider,
      cost,
    };
    this.#last = summary;
    return summary;
  }

  async #addUp(): Promise<Pick<FleetSummary, 'cost' | 'byProvider'>> {
    const { inventory, providerNames } = this.#sources;
    const providerMachines = new Uint32Array(providerNames.length * STATE_COUNT);
    const providerUsd = new Float64Array(providerNames.length);
    const { clusters } = inventory.tables;
    const byState = new Float64Array(STATE_COUNT);
    const byCapacityType = new Float64Array(CAPACITY_TYPE_COUNT);
    const idleByCapacityType = new Float64Array(CAPACITY_TYPE_COUNT);
    const byCluster = new Float64Array(clusters.entriesMax + 1);
    const machines = new Uint32Array(clusters.entriesMax + 1);
    const { columns } = inventory;
    for (let from = 1; from < columns.slotLimit; from += SLOTS_PER_TURN) {
      if (from > 1) await this.#sources.nextTurn();
      const { state, host, cluster, provider, capacityType, pricePerHourUsd } = columns;
      const end = Math.min(columns.slotLimit, from + SLOTS_PER_TURN);
      for (let slot = from; slot < end; slot++) {
        providerMachines[provider[slot]! * STATE_COUNT + state[slot]!]!++;
        if (host[slot] === 0) continue;
        const usd = pricePerHourUsd[slot]!;
        byState[state[slot]!]! += usd;
        byCapacityType[capacityType[slot]!]! += usd;
        byCluster[cluster[slot]!]! += usd;
        providerUsd[provider[slot]!]! += usd;
        machines[cluster[slot]!]!++;
        if (state[slot] === MachineState.Idle) idleByCapacityType[capacityType[slot]!]! += usd;
      }
    }
    const found: ClusterCost[] = [];
    for (let ref = 1; ref < clusters.refLimit; ref++) {
      if (machines[ref] === 0) continue;
      found.push({ clusterId: clusters.get(ref), machines: machines[ref]!, usd: byCluster[ref]! });
    }
    const cost: FleetCost = {
      totalUsd: byState.reduce((sum, usd) => sum + usd, 0),
      byStateUsd: [...byState],
      byCapacityTypeUsd: [...byCapacityType],
      idleByCapacityTypeUsd: [...idleByCapacityType],
      byCluster: found.sort((a, b) => b.usd - a.usd),
    };
    const byProvider = providerNames.map((name, number) => ({
      name,
      machines: [0, ...ALL_STATES.map((each) => providerMachines[number * STATE_COUNT + each]!)],
      usd: providerUsd[number]!,
    }));
    return { cost, byProvider };
  }
}

function byState(countOf: (state: number) => number): number[] {
  return [0, ...ALL_STATES.map(countOf)];
}

function named(
  names: { readonly refLimit: number; get(ref: number): string },
  countOf: (state: number, ref: number) => number,
): CountedName[] {
  const found: (CountedName & { total: number })[] = [];
  for (let ref = 0; ref < names.refLimit; ref++) {
    const machines = byState((state) => countOf(state, ref));
    const total = machines.reduce((sum, count) => sum + count, 0);
    if (total > 0) found.push({ name: names.get(ref), machines, total });
  }
  return found.sort((a, b) => b.total - a.total).map(({ name, machines }) => ({ name, machines }));
}
