/**
 * The shard connects demand, machines and decisions with the outside, through ports alone. It constructs its parts, starts and stops
 * them, and holds what all of them share: its rails, and whether it runs. What the parts do is in their folders.
 *
 *   roll-ups → needs ┐
 *                    ├→ cycle → rails → executor → providers → changes → inventory → announcements
 *   listings, reads → inventory ┘
 */
import type { Timer } from '../base/clock.ts';
import { type CeilingUse, ceilingUses } from '../decision/ceilings.ts';
import { Engine, type EngineOptions } from '../decision/engine.ts';
import { type SpotShareUse, spotShareUses } from '../decision/spot-share.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { ProviderNames } from '../listing/apply/provider-names.ts';
import type { NeedTable } from '../needs/need-table.ts';
import { requirementsOf } from '../needs/requirements-of.ts';
import { ScratchChecks } from './check/checks.ts';
import type { AdminCommands } from './controls/admin-commands.ts';
import type { ControlBook } from './controls/control-book.ts';
import { createControls } from './controls/controls.ts';
import type { ForeignDrains } from './controls/foreign-drains.ts';
import type { Pauses } from './controls/pauses.ts';
import { RemovalConfirmations } from './controls/removal-confirmations.ts';
import type { RetiredClusters } from './controls/retired-clusters.ts';
import { zeroCounters } from './counters.ts';
import { Cycle } from './cycle/cycle.ts';
import { CycleLoop } from './cycle/loop.ts';
import { tellNeeds } from './cycle/need-events.ts';
import { Readiness } from './cycle/readiness.ts';
import { Suspensions } from './cycle/suspensions.ts';
import { bringUpToDate } from './cycle/upkeep.ts';
import { DisruptionBudgets } from './disruption/budgets.ts';
import { createExecution } from './execute/execution.ts';
import type { Executor } from './execute/executor.ts';
import { FailedAttempts } from './execute/failed-attempts.ts';
import type { Fence } from './execute/fence.ts';
import type { NeedBackoffs } from './execute/need-backoff.ts';
import type { Stalls } from './execute/stalls.ts';
import { HintRuns } from './hints/hint-runs.ts';
import { CapacityHints } from './hints/hints.ts';
import { Announcer } from './machines/announce.ts';
import { Backoffs } from './machines/backoff.ts';
import { ChangeEffects } from './machines/change-effects.ts';
import { MachineChanges } from './machines/changes.ts';
import { Disputes } from './machines/disputes.ts';
import { FollowUpReads, READS_MIN } from './machines/reads.ts';
import { StuckMachines } from './machines/stuck.ts';
import { AwayClusters } from './operators/away-clusters.ts';
import { NO_OPERATORS } from './operators/no-operators.ts';
import { OperatorCalls } from './operators/operator-calls.ts';
import { SessionBits } from './operators/session-bits.ts';
import type { Inheritance, ShardOptions } from './options.ts';
import type { NotedEvent } from './ports/events.ts';
import type { CycleReport, ShardCounters, ShardGauges } from './ports/observer.ts';
import type { ReplicaPort } from './ports/replica.ts';
import { Reconciler } from './reconcile/reconciler.ts';
import type { Rails, ShardSettings } from './settings.ts';
import { Tenants } from './tenants.ts';
import { WhatIfs } from './what-if/what-ifs.ts';

export class Shard {
  readonly settings: ShardSettings;
  readonly epoch: number;
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  readonly engine: Engine;
  readonly counters: ShardCounters = zeroCounters();
  readonly changes: MachineChanges;
  readonly reads: FollowUpReads;
  readonly backoffs: Backoffs;
  readonly disputes: Disputes;
  readonly failures: FailedAttempts;
  readonly suspensions: Suspensions;
  readonly stuck: StuckMachines;
  readonly reconciler: Reconciler;
  readonly executor: Executor;
  readonly fence: Fence;
  readonly cycle: Cycle;
  readonly loop: CycleLoop;
  readonly readiness: Readiness;
  readonly sessions: SessionBits;
  readonly away: AwayClusters;
  readonly operatorCalls: OperatorCalls;
  readonly tenants: Tenants;
  /** Y4: answers what would happen if. */
  readonly whatIf: WhatIfs;
  readonly pauses: Pauses;
  readonly controls: ControlBook;
  readonly budgets: DisruptionBudgets;
  readonly foreignDrains: ForeignDrains;
  readonly retired: RetiredClusters;
  /** H1: what admins may do. */
  readonly admin: AdminCommands;
  readonly startedAtMs: number;
  /** F4: the role and the other replicas; null if the shard has none. */
  readonly replica: ReplicaPort | null;
  readonly isStandby: boolean;
  readonly #options: ShardOptions;
  /** For the history; null: no observer keeps one, so the shard prepares no events. */
  readonly #note: ((event: NotedEvent) => void) | null;
  readonly #hintRuns: HintRuns;
  readonly #stalls: Stalls;
  readonly #checks: ScratchChecks;
  readonly #resourceNames: ProviderNames;
  #rails: Rails;
  #isStarted = false;
  #isStopping = false;

  constructor(options: ShardOptions) {
    const { settings, tables, providers, observer, clock, inherited, operators = NO_OPERATORS } = options;
    const { inventory, needs } = tables;
    const { clusters } = inventory.tables;
    const { counters } = this;
    const wake = () => this.#wake();
    const isStopping = () => this.#isStopping;
    const isConfirmed = () => this.replica?.isConfirmed() ?? true;
    const rails = () => this.#rails;
    const hasSession = (cluster: number) =>
      settings.localBootstrapBlob !== null || this.sessions.isAlive(cluster);
    this.#options = options;
    this.#note = observer.noted === undefined ? null : (event) => observer.noted?.(event);
    this.#rails = settings;
    this.settings = settings;
    this.epoch = options.epoch;
    this.startedAtMs = clock.nowMs();
    this.replica = options.replica ?? null;
    this.isStandby = this.replica?.isStandby ?? false;
    this.inventory = inventory;
    this.needs = needs;
    if (inherited === undefined)
      inventory.tables.shareAmong({ providers: providers.names, reserve: settings.providerTableReserve });
    this.sessions = new SessionBits(clusters);
    this.away = new AwayClusters(inventory, needs, (cluster) => this.sessions.has(cluster));
    this.tenants = new Tenants(clusters, settings.tenants, settings.ceilings);
    this.suspensions = new Suspensions(clusters, needs);
    const withdrawPaused = () => this.executor.withdrawPaused();
    const removals = new RemovalConfirmations({
      providerNames: providers.names,
      holdOf: (provider) => this.reconciler.holdOf(provider),
      list: (provider) => this.reconciler.listChanges(provider),
      clock,
      observer,
    });
    const { pauses, book, admin, foreignDrains, retired } = createControls({
      ...options,
      inventory,
      needs,
      removals,
      withdrawPaused,
      wake,
      engine: () => this.engine,
      backoffs: () => this.backoffs,
      reads: () => this.reads,
      hasSession: (cluster) => this.sessions.has(cluster),
      nextCycle: () => this.loop.nextCycle(),
      isFleetKnown: () => this.reconciler.notListedYet().length === 0,
      noteAway: (clusterId) => this.away.note(clusterId),
    });
    this.foreignDrains = foreignDrains;
    this.retired = retired;
    this.pauses = pauses;
    this.controls = book;
    this.admin = admin;
    this.budgets = new DisruptionBudgets({
      ...options,
      inventory,
      providerNames: providers.names,
      declared: settings.budgets,
      isPreempted: (slot) => this.engine.drainOf(slot) !== null,
    });
    this.backoffs = new Backoffs(inventory, observer);
    this.failures = new FailedAttempts({
      inventory,
      engine: () => this.engine,
      backoffs: this.backoffs,
      observer,
      counters,
      providerNames: providers.names,
      nowMs: () => clock.nowMs(),
      burnFraction: () => this.#rails.burnFraction,
      requirementsOf: (cluster, fingerprint) => requirementsOf(needs, cluster, fingerprint),
      withdrawFor: (cluster, fingerprint, group) => this.executor.withdrawFor(cluster, fingerprint, group),
    });
    // For the live engine, and for the one that checks it.
    const engineOptions: EngineOptions = {
      ...tables,
      hasSession,
      inBackoff: (cluster, fingerprint, group) => this.needBackoffs.isBarred(cluster, fingerprint, group),
      limits: this.tenants,
      isPaused: (cluster) => pauses.isCreditOnly(cluster),
      isSuspended: (cluster) => this.suspensions.has(cluster),
      holds: {
        get onDemandMs() {
          return rails().idleHoldOnDemandMs;
        },
        get spotMs() {
          return rails().idleHoldSpotMs;
        },
      },
      ...(options.probe === undefined ? {} : { probe: options.probe }),
      ...(settings.preemptionWeights === null ? {} : { weights: settings.preemptionWeights }),
      placement: settings.placement,
    };
    this.engine = new Engine(engineOptions);
    const resourceNames =
      inherited?.resourceNames ?? new ProviderNames(inventory.shapes.vectors.dimensions, providers.names);
    this.#resourceNames = resourceNames;
    this.changes = new MachineChanges(
      inventory,
      counters,
      observer,
      providers.names,
      resourceNames,
      this.isStandby ? 'all' : inherited === undefined ? 'none' : 'first',
    );
    const { changes } = this;
    this.reads = new FollowUpReads({
      ...options,
      changes,
      counters,
      delayMsMax: settings.cycleIntervalMs,
      get timeoutMs() {
        return rails().executeTimeoutMs;
      },
      readsMax: Math.max(READS_MIN, settings.executeConcurrency),
      changeLists: {
        mayList: (provider) => this.reconciler.mayListChanges(provider),
        list: (provider) => this.reconciler.listChanges(provider),
      },
      listedMin: settings.readsListedMin,
    });
    this.disputes = new Disputes(inventory, providers.names.length);
    this.stuck = new StuckMachines(inventory, this.reads, observer, clock, () => rails().stuckAfterMs);
    const { backoffs, failures, stuck, reads, sessions, disputes, engine, budgets } = this;
    const effects = new ChangeEffects({
      ...options,
      ...settings,
      note: this.#note,
      inventory,
      engine,
      backoffs,
      pauses,
      budgets,
      foreignDrains,
      failures,
      stuck,
      announcer: new Announcer(inventory, operators, (cluster) => sessions.has(cluster)),
      reads,
      disputes,
      isStandby: this.isStandby,
      cycle: () => this.cycle.number,
      actionOn: (slot) => this.executor.actionOn(slot),
      hasListed: (provider) => this.reconciler.hasListed(provider),
      isCycleListing: () => this.loop.isListing,
      wake,
    });
    changes.onChange((change) => effects.changed(change));
    this.reconciler = new Reconciler({
      ...options,
      ...settings,
      changes,
      counters,
      reads,
      disputes,
      resourceNames,
      onFirstListing: wake,
      get removalHoldMs() {
        return rails().removalHoldMs;
      },
      get vanishingHoldMs() {
        return rails().vanishingHoldMs;
      },
      get lossRelistMs() {
        return rails().lossRelistMs;
      },
      get fullListEveryCycles() {
        return rails().fullListEveryCycles;
      },
      ...(inherited === undefined ? {} : { cursors: inherited.cursors }),
    });
    const { executor, stalls, fence, neverDelete } = createExecution({
      ...options,
      inventory,
      needs,
      engine,
      changes,
      effects,
      counters,
      backoffs,
      failures,
      stuck,
      reads,
      pauses,
      book,
      budgets,
      sessions,
      operators,
      rails,
      isConfirmed,
      hasSession,
      isStopping,
      wake,
    });
    this.executor = executor;
    this.fence = fence;
    this.#stalls = stalls;
    const hints = new CapacityHints({
      inventory,
      needs,
      clusters,
      operators,
      intervalMs: settings.hintIntervalMs,
    });
    this.#hintRuns = new HintRuns({ ...options, hints, isStopping });
    const subject = { engine, options: engineOptions, barredNeeds: () => this.needBackoffs.barredRefs() };
    this.#checks = new ScratchChecks({
      ...subject,
      port: options.checker ?? null,
      get everyCycles() {
        return rails().checkEveryCycles;
      },
      counters,
      observer,
    });
    this.cycle = new Cycle({
      ...options,
      inventory,
      needs,
      counters,
      engine,
      executor,
      rails,
      stretch: () => stalls.stretch(),
      beat: () => stalls.beat(),
      mayRemove: isConfirmed,
      cycleIntervalMs: settings.cycleIntervalMs,
      neverDelete,
      checks: this.#checks,
      suspensions: this.suspensions,
      budgets,
      probation: failures.probation,
      prepare: (isOrdinary, nowMs) => bringUpToDate(this, observer, isOrdinary, nowMs),
      hint: (nowMs) => this.#hintRuns.run(nowMs),
      areCountsHeld: () => pauses.areCountsHeld,
      barredBy: () => this.readiness.barredBy(),
      isFleetUnread: () => this.isStandby || this.reconciler.isFirstListingUnderWay(),
    });
    const { cycle, replica, reconciler, away } = this;
    this.readiness = new Readiness({
      replica,
      fence,
      reconciler,
      decision: cycle.decision,
      isStarted: () => this.#isStarted,
      isStopping,
    });
    this.operatorCalls = new OperatorCalls({
      ...options,
      inventory,
      needs,
      counters,
      sessions,
      away,
      hints,
      cycle,
      refusal: () => this.readiness.refusal(),
      wake,
    });
    this.whatIf = new WhatIfs({
      ...options,
      ...subject,
      threads: this.isStandby ? null : (options.whatIfThreads ?? null),
      shardId: settings.shardId,
      rails: () => this.#rails,
      providerNames: providers.names,
      neverDelete: () => neverDelete,
      areCountsHeld: () => pauses.areCountsHeld,
      refusal: () => (reconciler.isFirstListingUnderWay() ? 'it has not read its providers yet' : ''),
    });
    this.loop = new CycleLoop({
      ...options,
      intervalMs: settings.cycleIntervalMs,
      reconcile: () => reconciler.listAll(),
      decide: (isOrdinary, reconcileMs) => this.#decide(isOrdinary, reconcileMs),
    });
    if (inherited === undefined) return;
    inventory.beginAgain(this.startedAtMs);
    changes.reportAll();
  }

  /** X5: needs whose bootstraps failed. */
  get needBackoffs(): NeedBackoffs {
    return this.failures.needs;
  }

  start(): void {
    this.#stalls.start();
    this.#isStarted = true;
    if (!this.isStandby) {
      this.budgets.begin();
      this.controls.begin();
    }
    this.loop.start();
  }

  /** I3: starts no more cycles and actions; resolves when those in flight have ended, or after the grace. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    this.loop.stop();
    this.reconciler.stop();
    this.reads.stop();
    this.#hintRuns.stop();
    this.controls.stop();
    this.#stalls.stop();
    this.#checks.stop();
    this.whatIf.stop();
    await this.executor.stop(graceMs);
  }

  /** F4: ends a standby. The shard that becomes active goes on with the tables. Listings under way are applied first, if they end in time. */
  async retire(waitMs: number): Promise<Inheritance> {
    this.loop.stop();
    let timer: Timer | null = null;
    const late = new Promise<void>((resolve) => {
      timer = this.#options.scheduler.after(waitMs, resolve);
    });
    await Promise.race([this.reconciler.whenIdle(), late]);
    timer!.cancel();
    await this.stop(0);
    return { cursors: this.reconciler.cursors(), resourceNames: this.#resourceNames };
  }

  get rails(): Rails {
    return this.#rails;
  }

  setRails(rails: Rails): void {
    this.#rails = rails;
    this.needs.isGuarded = rails.hasRollupGuard;
    this.tenants.set(rails.tenants);
    this.tenants.ceilings = rails.ceilings;
    this.budgets.declare(rails.budgets);
    this.controls.declare(rails.controls);
    this.#wake();
  }

  /** E7: the ceilings, and what counts for each. Reads the whole fleet if there are any. */
  ceilingUses(): readonly CeilingUse[] {
    const { ceilings } = this.tenants;
    return ceilings === null ? [] : ceilingUses(ceilings, this.inventory);
  }

  /** E8: the clusters with a minimum share of machines that are not spot, and their shares. */
  spotShareUses(): readonly SpotShareUse[] {
    return this.tenants.haveSpotShares ? spotShareUses(this.tenants, this.inventory) : [];
  }

  gauges(): ShardGauges {
    return {
      queueDepth: this.executor.queueDepth,
      actionsWaiting: this.executor.waitingCount,
      inFlight: this.executor.inFlight,
      readsWaiting: this.reads.waitingCount,
      readsInFlight: this.reads.inFlightCount,
      listingsInFlight: this.reconciler.view().filter(({ isListing }) => isListing).length,
      deferredRows: this.reads.deferredCount,
      stuckMachines: this.stuck.count,
      machinesInBackoff: this.backoffs.machineCount,
      offeringsInBackoff: this.backoffs.offeringCount,
      needsInBackoff: this.needBackoffs.barredCount,
      sharedFaults: this.failures.faults.blamedCount,
      burnedMachines: this.failures.burnedCount,
      clustersOverBurnBudget: this.failures.spentCount,
      disputedMachines: this.disputes.count,
      suspendedClusters: this.suspensions.count,
      pauses: this.admin.counts(),
      heldListings: this.reconciler.heldListings(),
      isPaused: this.#rails.isPaused,
      isDryRun: this.#rails.isDryRun,
      isFenced: this.fence.isRaised,
    };
  }

  #decide(isOrdinary: boolean, reconcileMs: number): CycleReport {
    const { observer } = this.#options;
    const report = this.cycle.run(isOrdinary, reconcileMs);
    if (this.#note !== null) tellNeeds(this.engine, this.inventory, report.cycle, this.#note);
    observer.cycleEnded(report);
    // A full queue would drop the surplus at once; it wakes a cycle itself when it has room.
    if ((report.deferred > 0 && report.dropped === 0) || this.cycle.hasMoreToTakeUp) this.#wake();
    return report;
  }

  /** No woken cycles before the first listings: no action may be emitted, and a large fleet arrives in a hundred slices. */
  #wake(): void {
    if (!this.isStandby && this.reconciler.notListedYet().length === 0) this.loop.wake();
  }
}
