/**
 * A soak with names and amounts that drift (T12: everything that is interned is given back). In every cycle each machine has
 * other labels, capacity, price, type, zone and rack, and a resource that no machine had before; each need has another group,
 * topology key and resource; and a cluster that was never seen joins, while an old one leaves.
 *
 * The world comes to rest before and after: the same machines under the same names, and no demand. What the shard then holds
 * must be the same too, table by table, and its memory nearly so.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { DIMENSIONS_MAX } from '../../base/dimensions.ts';
import { CapacityType } from '../../machine/capacity-type.ts';
import { MachineState } from '../../machine/state.ts';
import { Operator, WhenUnsatisfiable } from '../../needs/requirements.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import type { Shard } from '../../shard/shard.ts';
import type { Machine } from '../../wire/protocol.generated.ts';
import type { MachineListing } from '../provider/provider.ts';
import type { SimulatedCluster } from './clusters.ts';
import { RACK_KEY } from './scenery.ts';
import { SimulatedWorld } from './world.ts';

export interface DriftOptions {
  readonly seed: number;
  /** Cycles between the two measurements. */
  readonly cycles: number;
  readonly machines: number;
}

/** What a process holds at rest. */
export interface Held {
  readonly heapBytes: number;
  /** Buffers outside of the heap. */
  readonly bufferBytes: number;
  /** Entries of every table that interns. */
  readonly entries: Readonly<Record<string, number>>;
}

export interface DriftResult {
  /** Before the first drift. */
  readonly fresh: Held;
  /** After some drift, when code is compiled and tables have their usual size. */
  readonly warm: Held;
  readonly last: Held;
  /** Machines bound and decisions derived from scratch between `warm` and `last`, to show that something happened. */
  readonly bindings: number;
  readonly checks: number;
  /** Empty if the shard accepted everything and gave it back. */
  readonly faults: readonly string[];
}

/** The soak ends within 10 % of the memory where it began. */
const GROWTH_MAX = 1.1;

const INTERVAL_MS = 10_000;
const WARM_CYCLES = 120;
/** Three agreeing empty roll-ups (N7), the drains, and the longest hold of an Idle machine (R3). */
const REST_CYCLES = 150;
/** A cluster has demand for this many cycles, then none, and leaves when its machines are drained. */
const DEMAND_CYCLES = 4;
const CLUSTER_CYCLES = 24;
/** T6 and T1 leave room for everything that drifts here, and the engine must agree with one from scratch. */
const FAULTS: ReadonlySet<string> = new Set([
  'record_rejected',
  'rollup_rejected',
  'inventory_full',
  'check_differs',
  'check_failed',
  'decision_threw',
]);

export async function runDrift({ seed, cycles, machines }: DriftOptions): Promise<DriftResult> {
  const faults = new Set<string>();
  let bindings = 0;
  const world = new SimulatedWorld({
    seed,
    clusterIds: [RESIDENT],
    ledgerEntriesMax: 0,
    settings: { reclaimCapFraction: 0, checkEveryCycles: 20 },
    watcher: {
      machineBound: () => {
        bindings++;
      },
      happened: (_process, event) => {
        if (FAULTS.has(event.kind)) faults.add(JSON.stringify(event));
      },
    },
  });
  for (let index = 0; index < machines; index++) world.provider.add(seedMachine(index));
  const drift = new Drift(world);
  const { shard } = world.startShard();
  await drift.rest();
  const fresh = heldBy(shard);
  await drift.run(WARM_CYCLES);
  await drift.rest();
  const warm = heldBy(shard);
  const [boundBefore, checksBefore] = [bindings, shard.counters.checksRun];
  await drift.run(cycles);
  await drift.rest();
  const last = heldBy(shard);
  return {
    fresh,
    warm,
    last,
    bindings: bindings - boundBefore,
    checks: shard.counters.checksRun - checksBefore,
    faults: [...faults, ...growth(fresh, warm, last)],
  };
}

const RESIDENT = 'resident';

class Drift {
  readonly #world: SimulatedWorld;
  readonly #guests: { readonly cluster: SimulatedCluster; readonly since: number }[] = [];
  /** Never repeats; 0 at rest. */
  #generation = 0;
  #latest = 0;

  constructor(world: SimulatedWorld) {
    this.#world = world;
    world.link.bend = (listing) => drifted(listing, this.#generation);
  }

  async run(cycles: number): Promise<void> {
    const world = this.#world;
    for (let cycle = 0; cycle < cycles; cycle++) {
      const generation = ++this.#latest;
      this.#generation = generation;
      world.setDemand(world.clusters.get(RESIDENT)!, demandOf(generation, RESIDENT));
      this.#guests.push({ cluster: world.addCluster(`cluster-${generation}`), since: generation });
      for (const { cluster, since } of this.#guests) {
        const hasDemand = generation - since < DEMAND_CYCLES;
        world.setDemand(cluster, hasDemand ? demandOf(generation, cluster.id) : []);
      }
      while (this.#guests[0] !== undefined && generation - this.#guests[0].since >= CLUSTER_CYCLES) {
        world.removeCluster(this.#guests.shift()!.cluster);
      }
      await world.time.advance(INTERVAL_MS);
    }
  }

  /** The first names again, and no demand. */
  async rest(): Promise<void> {
    const world = this.#world;
    this.#generation = 0;
    for (const cluster of world.clusters.values()) world.setDemand(cluster, []);
    await world.time.advance((REST_CYCLES / 2) * INTERVAL_MS);
    for (const { cluster } of this.#guests.splice(0)) world.removeCluster(cluster);
    await world.time.advance((REST_CYCLES / 2) * INTERVAL_MS);
  }
}

function seedMachine(index: number) {
  return {
    id: `m-${index}`,
    kind: {
      instanceType: 'small',
      zone: 'a',
      capacityType: index % 2 === 0 ? CapacityType.OnDemand : CapacityType.Spot,
      labels: { [RACK_KEY]: `rack-${index % 4}` },
      resources: { cpu: '4', memory: '16Gi' },
      allocatable: null,
    },
    pricePerHourUsd: 1,
    interruptionProbability: 0,
    state: MachineState.Speculative,
  };
}

/** The listing with the names and amounts of a generation; itself in generation 0. */
function drifted(listing: MachineListing, generation: number): MachineListing {
  if (generation === 0) return listing;
  return {
    ...listing,
    machines: listing.machines.map((machine, index) => driftedMachine(machine, index, generation)),
  };
}

function driftedMachine(machine: Machine, index: number, generation: number): Machine {
  return {
    ...machine,
    instanceType: `type-${generation}-${index % 3}`,
    zone: `zone-${generation}-${index % 2}`,
    pricePerHour: 1 + generation / 1_000 + index / 100_000,
    labels: {
      [RACK_KEY]: `rack-${generation}-${index % 4}`,
      [topologyKey(generation)]: `value-${index % 3}`,
      [BUILD_KEY]: `${generation}-${index}`,
    },
    resources: {
      resources: {
        cpu: `${4_000 + (generation % 1_000)}m`,
        memory: `${16_384 + generation}Mi`,
        [resourceName(generation)]: '8',
      },
    },
  };
}

const BUILD_KEY = 'example.com/build';

function topologyKey(generation: number): string {
  return `example.com/key-${generation}`;
}

function resourceName(generation: number): string {
  return `example.com/resource-${generation}`;
}

/** A plain need for what every machine has, one for a new resource, a spread need and a gang over a new topology key. */
function demandOf(generation: number, clusterId: string): RollupRow[] {
  const row = {
    requirements: [],
    minUnit: { cpu: '1' },
    aggregate: { cpu: '6' },
    priority: generation % 5,
    spread: [],
    interruptionBucket: 0,
    reclamationBucket: 0,
  };
  const group = `${clusterId}-job-${generation}`;
  const key = topologyKey(generation);
  const notFirst = { key: BUILD_KEY, operator: Operator.NotIn, values: [`${generation}-0`] };
  return [
    { ...row, group },
    {
      ...row,
      requirements: [notFirst],
      minUnit: { [resourceName(generation)]: '2' },
      aggregate: { [resourceName(generation)]: '2' },
      group: `${group}-resource`,
    },
    {
      ...row,
      spread: [{ topologyKey: key, maxSkew: 1, whenUnsatisfiable: WhenUnsatisfiable.DoNotSchedule }],
      group: `${group}-spread`,
    },
    { ...row, requirements: [{ key, operator: Operator.Same, values: [] }], group: `${group}-gang` },
  ];
}

function heldBy(shard: Shard): Held {
  const { inventory, needs } = shard;
  const { tables, shapes } = inventory;
  const { vectors } = shapes;
  collect();
  return {
    heapBytes: heapBytes(),
    bufferBytes: process.memoryUsage().external,
    entries: {
      machines: inventory.count,
      clusters: tables.clusters.count,
      fingerprints: tables.fingerprints.count,
      groups: tables.groups.count,
      'errors and own labels': tables.texts.count,
      'host providers': tables.hosts.providerCount,
      shapes: shapes.count,
      'instance types': shapes.instanceTypes.count,
      zones: shapes.zones.count,
      vectors: vectors.count,
      'resource names': DIMENSIONS_MAX - vectors.dimensions.room,
      profiles: needs.profiles.count,
      'requirement sets': needs.profiles.requirementSets.count,
      needs: needs.count,
      ...shard.engine.entryCounts(),
    },
  };
}

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

/** Twice: what the first collection finalises, such as a buffer, the second one frees. */
function collect(): void {
  gc();
  gc();
}

/** Without compiled code: V8 compiles what is hot, for minutes, whatever the shard holds. */
function heapBytes(): number {
  let bytes = 0;
  for (const { space_name, space_used_size } of getHeapSpaceStatistics()) {
    if (!space_name.startsWith('code')) bytes += space_used_size;
  }
  return bytes;
}

function growth(fresh: Held, warm: Held, last: Held): string[] {
  const found: string[] = [];
  for (const [name, count] of Object.entries(last.entries)) {
    if (count !== fresh.entries[name]) found.push(`${name}: ${fresh.entries[name]} before, ${count} after`);
  }
  for (const part of ['heapBytes', 'bufferBytes'] as const) {
    if (last[part] > GROWTH_MAX * warm[part])
      found.push(`${part}: ${warm[part]} before, ${last[part]} after`);
  }
  return found;
}
