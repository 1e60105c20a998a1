/**
 * A hostile tenant in a simulated world: a cluster and a provider that do at random all that a tenant can do. Its machines
 * serve only its own needs, so it must be without effect on every other tenant. It has a random stream of its own.
 */
import { Random } from '../../base/random.ts';
import { Intent, isBinding } from '../../inventory/intent.ts';
import { MachineState } from '../../machine/state.ts';
import type { ListingReport } from '../../shard/ports/observer.ts';
import type { ShardSettings } from '../../shard/settings.ts';
import { type MachineListing, SimulatedProvider } from '../provider/provider.ts';
import { GOOD_OPERATOR, SimulatedCluster } from './clusters.ts';
import { INJECTED } from './faults.ts';
import { drawRollup, TABLE_SHARE } from './hostile-demand.ts';
import { drawHostileMachine, drawLie, HOSTILE_PREFIX, type ListingLie } from './hostile-listing.ts';
import { Violation } from './invariants.ts';
import { Network } from './network.ts';
import type { SimulatedLink } from './provider-port.ts';
import { HOSTILE } from './scenery.ts';
import type { Guest, Process, SimulatedWorld, WorldOptions } from './world.ts';

/** T8: few enough that the tenant reaches the limit. */
export const HOSTILE_MACHINES_MAX = 6;
/** More than its limit, and a small part of the 512 that a simulated shard holds. */
const FLEET_MAX = 24;
const ACTS_MS_MAX = 8_000;
const HOUR_MS = 3_600_000;
const FLOOD_MAX = 12;
/** T2: the shard suspends the cluster at the second throw of a cycle, and gives the cycle up at the third. */
const THROWS_PER_CYCLE_MAX = 2;
const THROW_PROBABILITY = 0.02;

const COUNTED: readonly number[] = [MachineState.Creating, MachineState.Configuring, MachineState.Configured];

/** Without these the tenant would be in the way of others as any tenant may be. The world without the tenant has them, too. */
export const NEIGHBOUR_SETTINGS: Partial<ShardSettings> = {
  tableShare: TABLE_SHARE,
  // X3 and C3 limit the actions of all clusters together, so that those of one tenant may delay those of another.
  executeConcurrency: 256,
  actionsPerCycleMax: 0,
  // X16: after a stall the call of one tenant goes alone, and all others wait for its answer. Here there is no stall in an hour.
  stallAfterMs: 86_400_000,
  // C2: the shard waits for a required provider, whatever it answers.
  optionalProviders: [HOSTILE],
  // E7: all tenants share a ceiling.
  ceilings: null,
  tenants: [
    {
      cluster: HOSTILE,
      maxPriority: 2_147_483_647,
      maxMachines: HOSTILE_MACHINES_MAX,
      maxResources: {},
      maxDollarsPerHour: Number.POSITIVE_INFINITY,
      maxOfferingShare: 1,
      minNonSpotShare: 0,
    },
  ],
};

export class HostileTenant implements Guest {
  readonly cluster: SimulatedCluster;
  readonly link: SimulatedLink;
  /** How often the shard refused a roll-up, by what was wrong with it. */
  readonly refused: Record<string, number> = {};
  readonly #world: SimulatedWorld;
  readonly #random: Random;
  readonly #hasPrefix: boolean;
  readonly #report: (violation: Error) => void;
  /** Ids of the rows that the last listing showed as they are, and when. */
  #shown: { readonly atMs: number; readonly ids: readonly string[] } = { atMs: 0, ids: [] };
  #lie: ListingLie | null = null;
  #names = 0;
  #throws = { atMs: 0, count: 0 };
  #hasLeft = false;

  constructor(world: SimulatedWorld, seed: number, hasPrefix: boolean, report: (violation: Error) => void) {
    const random = new Random(seed ^ 0xbad);
    this.#world = world;
    this.#random = random;
    this.#hasPrefix = hasPrefix;
    this.#report = report;
    this.cluster = new SimulatedCluster(HOSTILE, world.time, random.fork());
    const network = new Network(world.time, random.fork());
    // A cycle waits for all listings, one interval at most, so a slow provider would delay the others' decisions.
    network.faults = { delayMsMean: 0, requestLoss: 0, answerLoss: 0, noticedShare: 1 };
    const latency = { meanMs: 3_000, p99Ms: 9_000 };
    const operation = { latency, failProbability: 0.1, silenceProbability: 0.1 };
    this.link = {
      name: HOSTILE,
      network,
      provider: new SimulatedProvider({
        settings: {
          seed: random.uint32(),
          operations: { create: operation, configure: operation, drain: operation, delete: operation },
        },
        timers: world.time.timers(),
      }),
      // X8: a fenced answer of any provider stops a replaced process, which may then leave a machine of others alone.
      hidesFence: true,
      bend: (listing) => this.#bend(listing),
      bendListing: (bytes) => this.#framed(bytes),
      lies: new Map(),
      latestLies: new Map(),
    };
  }

  /** T2: some decisions for the tenant throw. */
  readonly probe: NonNullable<WorldOptions['probe']> = (_stage, clusterId) => {
    if (clusterId !== this.cluster.id || this.#hasLeft || !this.#random.chance(THROW_PROBABILITY)) return;
    const atMs = this.#world.time.nowMs();
    if (this.#throws.atMs !== atMs) this.#throws = { atMs, count: 0 };
    if (++this.#throws.count <= THROWS_PER_CYCLE_MAX) throw new Error(INJECTED);
  };

  begin(): void {
    this.#changeFleet();
    this.#actLater();
  }

  /** Withdraws everything. */
  leave(): void {
    this.#hasLeft = true;
    this.#lie = null;
    this.cluster.faults = GOOD_OPERATOR;
    for (const id of this.#fleet()) this.link.provider.world.remove(id);
    this.#actLater();
  }

  /** T5: a row that breaks a limit hides no other. */
  listingEnded(process: Process, { provider, failure, isFull }: ListingReport): void {
    const { atMs, ids } = this.#shown;
    if (provider !== this.link.name || !isFull || failure !== '' || atMs !== this.#world.time.nowMs()) return;
    const hidden = ids.find((id) => process.shard.inventory.find(id) === 0);
    if (hidden === undefined) return;
    throw new Violation(`T5: ${hidden} is missing after a listing with lies (${this.#lie?.what})`);
  }

  /** T8: no action gives the cluster more machines than its limit. It keeps those that its provider says it has. */
  checkLimit({ shard }: Process): void {
    const { columns, tables } = shard.inventory;
    const cluster = tables.clusters.find(this.cluster.id);
    if (cluster === 0) return;
    let count = 0;
    let ordered = 0;
    for (let slot = 1; slot < columns.slotLimit; slot++) {
      if (columns.cluster[slot] !== cluster) continue;
      const isOrdered = isBinding(columns.intent[slot]!);
      const isLeaving = columns.intent[slot] !== Intent.None && !isOrdered;
      if (isOrdered) ordered++;
      if (isOrdered || (!isLeaving && COUNTED.includes(columns.state[slot]!))) count++;
    }
    const given = Math.min(ordered, count);
    if (given > HOSTILE_MACHINES_MAX)
      throw new Violation(
        `T8: the shard binds ${given} machines for ${this.cluster.id}, whose limit is ${HOSTILE_MACHINES_MAX}`,
      );
  }

  /** T12: when the tenant is gone, the shard keeps none of its texts and names. This ends the history. */
  checkGone({ shard, life }: Process): void {
    const { tables, shapes } = shard.inventory;
    const { dimensions } = shapes.vectors;
    // X5: back-offs of needs hold their texts for minutes. The engine keeps some families without machines, and the
    // vector table its last vector until the next one.
    shard.needBackoffs.expire(life.nowMs() + HOUR_MS);
    shard.engine.rebuild();
    shapes.vectors.stage();
    for (const [name, table] of Object.entries({
      clusters: tables.clusters,
      fingerprints: tables.fingerprints,
      groups: tables.groups,
    })) {
      for (let ref = 1; ref < table.refLimit; ref++) {
        if (table.referenceCount(ref) > 0 && table.get(ref).includes(`${HOSTILE}-`))
          throw new Violation(`T12: ${table.get(ref).slice(0, 80)} remains in the table of ${name}`);
      }
    }
    for (let dim = 0; dim < dimensions.count; dim++) {
      if (dimensions.isUsed(dim) && dimensions.nameOf(dim).startsWith(HOSTILE))
        throw new Violation(`T6: the resource name ${dimensions.nameOf(dim).slice(0, 80)} is not given back`);
    }
    for (let ref = 1; ref < shapes.refLimit; ref++) {
      if (shapes.isHeld(ref) && shapes.get(ref).instanceType.startsWith(HOSTILE))
        throw new Violation(`T12: a shape of ${shapes.get(ref).instanceType.slice(0, 80)} remains`);
    }
  }

  #actLater(): void {
    // Never at the moment of an accident, whose times are whole milliseconds.
    this.#world.time.after(this.#random.below(ACTS_MS_MAX) + this.#random.unit() / 2, () => {
      try {
        this.#act();
      } catch (error) {
        this.#report(error as Error);
      }
      this.#actLater();
    });
  }

  #act(): void {
    const { cluster } = this;
    if (cluster.session === 0) this.#world.connect(cluster);
    if (this.#hasLeft) {
      // N7: the shard believes a drop to nothing when three roll-ups in a row say so.
      this.#world.sendOnce(cluster, []);
      return;
    }
    [
      () => this.#sendOne(),
      () => this.#flood(),
      () => this.#world.sendOnce(cluster, []),
      () => this.#world.disconnect(cluster),
      () => this.#misbehave(),
      () => this.#changeFleet(),
      () => this.#lieAbout(),
    ][this.#random.weighted([6, 2, 1, 1, 1, 3, 6])]!();
  }

  #sendOne(): void {
    const { what, rows, mustAccept } = drawRollup(this.#random, this.#name);
    const outcome = this.#world.sendOnce(this.cluster, rows);
    if (outcome === 'unsent') return;
    const isRefused = outcome === 'refused';
    if (isRefused) this.refused[what] = (this.refused[what] ?? 0) + 1;
    if (mustAccept === null || mustAccept === !isRefused) return;
    throw new Violation(
      `T1: a roll-up of ${rows.length} rows (${what}) was ${outcome}, and must be ${mustAccept ? 'accepted' : 'refused'}`,
    );
  }

  #flood(): void {
    for (let left = this.#random.between(2, FLOOD_MAX); left > 0; left--) this.#sendOne();
  }

  #misbehave(): void {
    this.cluster.faults = {
      delayMsMean: this.#random.below(5_000),
      blobError: this.#random.unit(),
      blobSilence: this.#random.unit() / 2,
    };
  }

  #changeFleet(): void {
    const { provider } = this.link;
    const ids = this.#fleet();
    for (const id of ids) if (this.#random.chance(0.2)) provider.world.remove(id);
    for (let left = this.#random.below(FLEET_MAX - ids.length + 1); left > 0; left--) {
      provider.add(drawHostileMachine(this.#random, `${HOSTILE_PREFIX}${this.#name()}`));
    }
    if (this.#random.chance(0.2)) provider.restart(this.#random.uint32());
  }

  #lieAbout(): void {
    this.#lie = drawLie(this.#random, {
      name: this.#name,
      clusterId: this.cluster.id,
      foreignIds: this.#foreignIds(),
    });
  }

  #foreignIds(): string[] {
    return this.#world.links.flatMap(({ provider }) => idsOf(provider));
  }

  /**
   * T10: with a prefix the tenant may claim any id. Without one an id belongs to the provider that listed it first, so a
   * machine that the shard does not know would become the tenant's.
   */
  #mayClaim(id: string): boolean {
    if (this.#hasPrefix || id.startsWith(HOSTILE_PREFIX)) return true;
    return [this.#world.process, this.#world.former].every(
      (process) => process === null || (!process.life.isStopped() && process.shard.inventory.find(id) !== 0),
    );
  }

  #bend(listing: MachineListing): MachineListing {
    const lie = this.#lie;
    const atMs = this.#world.time.nowMs();
    if (lie === null) {
      this.#shown = { atMs, ids: listing.machines.map(({ id }) => id) };
      return listing;
    }
    const machines =
      lie.isEmpty === true ? [] : listing.machines.map((machine) => lie.change?.(machine) ?? machine);
    const ids = machines.filter((machine) => listing.machines.includes(machine)).map(({ id }) => id);
    this.#shown = { atMs, ids };
    const added = lie.added.filter(({ id }) => this.#mayClaim(id));
    return { ...listing, machines: this.#random.shuffle([...machines, ...added]) };
  }

  #framed(bytes: Uint8Array): Uint8Array {
    const { head = [], tail = [] } = this.#lie ?? {};
    return head.length + tail.length === 0 ? bytes : Uint8Array.of(...head, ...bytes, ...tail);
  }

  #fleet(): string[] {
    return idsOf(this.link.provider);
  }

  readonly #name = (): string => `${HOSTILE}-${++this.#names}`;
}

function idsOf({ world: { fleet } }: SimulatedProvider): string[] {
  return Array.from(fleet.rowsInPlace(), (row) => fleet.ids[row]!);
}
