/**
 * A readable shard: real inventory, needs and engine; tests set what a running shard would add (sessions, back-offs, actions
 * under way, settings). A test calls `decide` for each cycle; `carryOut` executes its actions, like a provider that finishes
 * at once.
 */
import { ManualClock } from '../../../src/base/clock.ts';
import { DimensionTable } from '../../../src/base/dimensions.ts';
import { StringTable } from '../../../src/base/string-table.ts';
import { ASSIGNED_FINGERPRINT_BYTES_MAX, ASSIGNED_GROUP_BYTES_MAX } from '../../../src/base/text-limits.ts';
import { VectorTable } from '../../../src/base/vectors.ts';
import { ActionKind } from '../../../src/decision/actions.ts';
import { type CycleCost, Engine, type PhaseListener } from '../../../src/decision/engine.ts';
import { Inventory } from '../../../src/inventory/inventory.ts';
import { CapacityType } from '../../../src/machine/capacity-type.ts';
import { MachineState } from '../../../src/machine/state.ts';
import { NeedTable } from '../../../src/needs/need-table.ts';
import type { RollupRow } from '../../../src/needs/rollup.ts';
import { TenantBook } from '../../../src/observe/tenant-book.ts';
import type {
  ActionView,
  BackoffView,
  RailsView,
  SessionView,
  SuspensionView,
} from '../../../src/shard/ports/fleet-view.ts';
import type { ShardGauges } from '../../../src/shard/ports/observer.ts';
import type { SharedFaultView } from '../../../src/shard/ports/supply.ts';
import { Tenants } from '../../../src/shard/tenants.ts';
import { ShardView } from '../../../src/shard/view/shard-view.ts';
import type { ViewSources } from '../../../src/shard/view/sources.ts';

export const START_MS = 1_700_000_000_000;

export const RAILS: RailsView = {
  isPaused: false,
  isDryRun: false,
  isFenced: false,
  heldBack: '',
  reclaimFraction: 0.05,
  preemptionFraction: 0.2,
  actionsPerCycleMax: 0,
  cycleIntervalMs: 10_000,
  holdOnDemandMs: 600_000,
  holdSpotMs: 60_000,
  stuckAfterMs: 900_000,
  concurrency: 256,
  queueMax: 512,
};

export class ViewWorld {
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  readonly engine: Engine;
  readonly tenants: Tenants;
  readonly clock: ManualClock;
  readonly view: ShardView;
  readonly sources: ViewSources;
  /** Clusters without a session. */
  readonly disconnected = new Set<string>();
  readonly sessions = new Map<string, SessionView>();
  readonly refusals: TenantBook;
  readonly suspensions = new Map<string, SuspensionView>();
  readonly needBackoffs = new Map<string, BackoffView>();
  readonly claimants = new Map<string, readonly string[]>();
  readonly machineBackoffs = new Map<string, BackoffView>();
  /** By instance type. */
  readonly offeringBackoffs = new Map<string, BackoffView>();
  readonly actions = new Map<string, ActionView>();
  sharedFaults: readonly SharedFaultView[] = [];
  rails: RailsView = RAILS;
  gauges: Partial<ShardGauges> = {};
  cycle = 0;
  lastCycleAtMs = 0;
  turns = 0;
  #waiting: (() => void)[] = [];

  constructor({ machinesMax = 4_096, startMs = START_MS } = {}) {
    const vectors = new VectorTable(new DimensionTable());
    const entriesMax = machinesMax * 16;
    const clusters = StringTable.create({ name: 'clusters', entriesMax: 8_192, bytesMax: 1 << 20 });
    const fingerprints = StringTable.create({
      name: 'fingerprints',
      entriesMax,
      bytesMax: entriesMax * 256,
      textBytesMax: ASSIGNED_FINGERPRINT_BYTES_MAX,
    });
    const groups = StringTable.create({
      name: 'groups',
      entriesMax,
      bytesMax: entriesMax * 64,
      textBytesMax: ASSIGNED_GROUP_BYTES_MAX,
    });
    this.clock = new ManualClock(startMs);
    this.refusals = new TenantBook(this.clock);
    this.inventory = new Inventory({ vectors, clusters, fingerprints, groups, machinesMax, guards: true });
    this.needs = new NeedTable({ clusters, fingerprints, groups, vectors, quarantine: false });
    const hasSession = (cluster: number) => !this.disconnected.has(clusters.get(cluster));
    this.tenants = new Tenants(clusters, []);
    this.engine = new Engine({
      inventory: this.inventory,
      needs: this.needs,
      hasSession,
      inBackoff: (cluster, _fingerprint, group) =>
        this.needBackoffs.has(`${clusters.get(cluster)}/${groups.get(group)}`),
      limits: this.tenants,
      holds: { onDemandMs: RAILS.holdOnDemandMs, spotMs: RAILS.holdSpotMs },
    });
    this.sources = this.#makeSources(hasSession);
    this.view = new ShardView(this.sources);
  }

  /** Accepts a cluster's demand; the next cycle reads it. */
  rollUp(clusterId: string, rows: readonly RollupRow[]): void {
    this.needs.accept(clusterId, rows, this.clock.nowMs(), 0);
  }

  decide(isOrdinary = true, onPhase?: PhaseListener): CycleCost {
    const cost = this.engine.decide({ nowMs: this.clock.nowMs(), isOrdinary }, onPhase);
    this.cycle++;
    this.lastCycleAtMs = this.clock.nowMs();
    for (const resume of this.#waiting.splice(0)) resume();
    return cost;
  }

  /** Executes the first actions of the last cycle at once. Returns how many. */
  carryOut(actionsMax = Number.POSITIVE_INFINITY): number {
    const { engine, inventory } = this;
    const { clusters, fingerprints, groups } = inventory.tables;
    const { actions } = engine;
    const count = Math.min(actions.count, actionsMax);
    for (let index = 0; index < count; index++) {
      const slot = actions.slot[index]!;
      const kind = actions.kind[index];
      if (kind === ActionKind.Bootstrap || kind === ActionKind.Provision) {
        const assignment = {
          fingerprint: fingerprints.get(actions.fingerprint[index]!),
          group: groups.get(actions.group[index]!),
          priority: actions.priority[index]!,
          interruptionPenalty: actions.interruptionPenalty[index]!,
          reclamationPenalty: actions.reclamationPenalty[index]!,
        };
        const host = { provider: 'test', ref: `host-${slot}` };
        const cluster = clusters.get(actions.cluster[index]!);
        const change = { state: MachineState.Configured, host, cluster, assignment };
        inventory.apply(slot, change, this.clock.nowMs(), { force: true });
      } else {
        const state = kind === ActionKind.Delete ? MachineState.Speculative : MachineState.Idle;
        inventory.move(slot, state, this.clock.nowMs(), true);
      }
    }
    return count;
  }

  #makeSources(hasSession: (cluster: number) => boolean): ViewSources {
    const { clusters, groups } = this.inventory.tables;
    return {
      inventory: this.inventory,
      needs: this.needs,
      engine: this.engine,
      clock: this.clock,
      budgets: () => [],
      machineBudget: () => null,
      providerNames: ['test', 'other'],
      refusals: this.refusals,
      rollupLimits: { rollupRowsMax: 131_072, rowBytesMax: 65_536 },
      nextCycle: () => new Promise((resolve) => this.#waiting.push(resolve)),
      nextTurn: () =>
        new Promise((resolve) => {
          this.turns++;
          setImmediate(resolve);
        }),
      cycle: () => this.cycle,
      status: () => ({
        shardId: 'shard-test',
        epoch: 7,
        startedAtMs: START_MS,
        cycle: this.cycle,
        lastCycleAtMs: this.lastCycleAtMs,
        isReady: true,
        notReadyReason: '',
        replica: null,
        isFenced: this.rails.isFenced,
        machines: this.inventory.count,
        needs: this.needs.count,
        clusters: [...this.needs.clusterRefs()].length,
      }),
      rails: () => this.rails,
      gauges: () => ({
        queueDepth: 0,
        actionsWaiting: 0,
        inFlight: this.actions.size,
        readsWaiting: 0,
        readsInFlight: 0,
        listingsInFlight: 0,
        deferredRows: 0,
        stuckMachines: 0,
        machinesInBackoff: this.machineBackoffs.size,
        offeringsInBackoff: this.offeringBackoffs.size,
        needsInBackoff: this.needBackoffs.size,
        sharedFaults: 0,
        burnedMachines: 0,
        clustersOverBurnBudget: 0,
        disputedMachines: 0,
        pauses: {
          create: 0,
          bind: 0,
          reclaim: 0,
          preempt: 0,
          release: 0,
          cordon: 0,
          drain: 0,
          'drain-now': 0,
          retire: 0,
        },
        heldListings: [],
        suspendedClusters: this.suspensions.size,
        isPaused: this.rails.isPaused,
        isDryRun: this.rails.isDryRun,
        isFenced: this.rails.isFenced,
        ...this.gauges,
      }),
      hasSession,
      limitsOf: (cluster) => this.tenants.of(cluster),
      ceilings: () => this.tenants.ceilings,
      sessions: () => [...this.sessions.values()],
      clusterPause: () => null,
      machinePause: () => null,
      foreignDrainUntil: () => 0,
      suspension: (cluster) => this.suspensions.get(this.inventory.tables.clusters.get(cluster)) ?? null,
      needBackoff: (cluster, _fingerprint, group) =>
        this.needBackoffs.get(`${clusters.get(cluster)}/${groups.get(group)}`) ?? null,
      claimantsOf: (slot) => this.claimants.get(this.inventory.idOf(slot)) ?? [],
      machineBackoff: (slot) => this.machineBackoffs.get(this.inventory.idOf(slot)) ?? null,
      offeringsInBackoff: () =>
        [...this.offeringBackoffs].map(([instanceType, { untilMs, failures, text }]) => ({
          ...{ provider: 'test', instanceType, zone: 'zone-1', capacityType: CapacityType.OnDemand },
          ...{ sinceMs: START_MS, untilMs, failures, text },
        })),
      offeringBackoff: (slot) => this.offeringBackoffs.get(this.inventory.get(slot).instanceType) ?? null,
      sharedFaults: () => this.sharedFaults,
      providerWork: () => ({
        ...{ isOptional: false, isListing: false, refusal: '' },
        ...{ callsInFlight: this.actions.size, readsInFlight: 0, readsWaiting: 0 },
      }),
      actionOf: (slot) => this.actions.get(this.inventory.idOf(slot)) ?? null,
    };
  }
}
