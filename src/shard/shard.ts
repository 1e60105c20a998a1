/**
 * The shard connects demand, machines and decisions with the outside, through ports alone. It constructs its parts, and
 * holds the state that all of them share: whether it is fenced, whether it is ready, and its rails.
 *
 *   roll-ups → needs ┐
 *                    ├→ cycle → rails → executor → providers → changes → inventory → announcements
 *   listings, reads → inventory ┘
 */
import type { Clock, Scheduler, Stopwatch, Timer } from '../base/clock.ts';
import { ShardError } from '../base/errors.ts';
import { Engine, type EngineOptions } from '../decision/engine.ts';
import { Flag } from '../inventory/intent.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { ProviderNames } from '../listing/apply/provider-names.ts';
import { isTransitional, MachineState } from '../machine/state.ts';
import type { NeedTable, RollupOutcome } from '../needs/need-table.ts';
import type { Requirement } from '../needs/requirements.ts';
import type { RollupRow } from '../needs/rollup.ts';
import { ScratchChecks } from './check/checks.ts';
import { zeroCounters } from './counters.ts';
import { Cycle } from './cycle/cycle.ts';
import { GuardedDecision } from './cycle/guarded-decision.ts';
import { CycleLoop } from './cycle/loop.ts';
import { restraintOf } from './cycle/rails.ts';
import { Suspensions } from './cycle/suspensions.ts';
import { Executor } from './execute/executor.ts';
import { FailedAttempts } from './execute/failed-attempts.ts';
import { FairSlots } from './execute/fair-slots.ts';
import type { NeedBackoffs } from './execute/need-backoff.ts';
import { ActionRunner } from './execute/runner.ts';
import { CapacityHints } from './hints/hints.ts';
import { AcceptedActions } from './machines/accepted-actions.ts';
import { Announcer } from './machines/announce.ts';
import { Backoffs } from './machines/backoff.ts';
import { BindingTimes } from './machines/binding-times.ts';
import { type MachineChanged, MachineChanges } from './machines/changes.ts';
import { Disputes } from './machines/disputes.ts';
import { FollowUpReads, READS_MIN } from './machines/reads.ts';
import { StuckMachines } from './machines/stuck.ts';
import { AwayClusters } from './operators/away-clusters.ts';
import { NO_OPERATORS } from './operators/no-operators.ts';
import { SessionBits } from './operators/session-bits.ts';
import type { CheckPort } from './ports/check.ts';
import type { CycleReport, ShardCounters, ShardGauges, ShardObserver } from './ports/observer.ts';
import type { NodeState, OperatorsPort, ShardForOperators } from './ports/operators.ts';
import type { ProviderPort } from './ports/providers.ts';
import { Reconciler } from './reconcile/reconciler.ts';
import type { Rails, ShardSettings } from './settings.ts';
import type { ShardTables } from './tables.ts';
import { Tenants } from './tenants.ts';

export interface ShardOptions {
  readonly settings: ShardSettings;
  readonly tables: ShardTables;
  /** I1: the epoch of this process is higher than that of any before it. */
  readonly epoch: number;
  readonly providers: ProviderPort;
  /** Constructed first, and told to serve this shard afterwards. Default: no cluster can connect. */
  readonly operators?: OperatorsPort;
  readonly observer: ShardObserver;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly stopwatch: Stopwatch;
  /** Derives cycles again from scratch. Default: no checks. */
  readonly checker?: CheckPort;
  /** For tests: lets decisions throw. */
  readonly probe?: NonNullable<EngineOptions['probe']>;
}

const S = MachineState;
/** O5 limits hints per second: hints that a cycle left over go out without waiting for the next cycle. */
const HINT_PACE_MS = 1_000;

export class Shard implements ShardForOperators {
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
  readonly cycle: Cycle;
  readonly sessions: SessionBits;
  readonly tenants: Tenants;
  readonly startedAtMs: number;
  readonly #options: ShardOptions;
  readonly #operators: OperatorsPort;
  readonly #announcer: Announcer;
  readonly #hints: CapacityHints;
  readonly #bindingTimes: BindingTimes;
  readonly #accepted: AcceptedActions;
  readonly #away: AwayClusters;
  readonly #checks: ScratchChecks;
  readonly #decision: GuardedDecision;
  readonly #loop: CycleLoop;
  #rails: Rails;
  #hintTimer: Timer | null = null;
  #fenced = '';
  #isStopping = false;

  constructor(options: ShardOptions) {
    const { settings, tables, providers, observer, clock, scheduler, stopwatch } = options;
    const { inventory, needs } = tables;
    const { counters } = this;
    this.#options = options;
    this.#operators = options.operators ?? NO_OPERATORS;
    this.#rails = settings;
    this.settings = settings;
    this.epoch = options.epoch;
    this.startedAtMs = clock.nowMs();
    this.inventory = inventory;
    this.needs = needs;
    inventory.tables.shareAmong({ providers: providers.names, reserve: settings.providerTableReserve });
    this.sessions = new SessionBits(inventory.tables.clusters);
    this.#away = new AwayClusters(inventory, needs, (cluster) => this.sessions.has(cluster));
    this.tenants = new Tenants(inventory.tables.clusters, settings.tenants);
    this.suspensions = new Suspensions(inventory.tables.clusters, needs);
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
      requirementsOf: (cluster, fingerprint) => this.#requirementsOf(cluster, fingerprint),
      withdrawFor: (cluster, fingerprint, group) => this.executor.withdrawFor(cluster, fingerprint, group),
    });
    this.engine = new Engine(this.engineOptions());
    const resourceNames = new ProviderNames(inventory.shapes.vectors.dimensions, providers.names);
    this.changes = new MachineChanges(inventory, counters, observer, providers.names, resourceNames);
    const { changes } = this;
    this.reads = new FollowUpReads({
      changes,
      providers,
      clock,
      scheduler,
      stopwatch,
      counters,
      observer,
      delayMsMax: settings.cycleIntervalMs,
      timeoutMs: settings.executeTimeoutMs,
      readsMax: Math.max(READS_MIN, settings.executeConcurrency),
    });
    this.disputes = new Disputes(inventory, providers.names.length);
    this.stuck = new StuckMachines(inventory, this.reads, observer, clock, settings.stuckAfterMs);
    this.#announcer = new Announcer(inventory, this.#operators, (cluster) => this.sessions.has(cluster));
    this.#bindingTimes = new BindingTimes({
      inventory,
      lackOf: (cluster, fingerprint, group) => this.engine.lackOf(cluster, fingerprint, group),
      isPreempted: (slot) => this.engine.drainOf(slot) !== null,
      onBound: (bound) => observer.machineBound?.(bound),
    });
    this.#accepted = new AcceptedActions(inventory, (ended) => observer.acceptedActionEnded?.(ended));
    this.#hints = new CapacityHints({
      inventory,
      needs,
      clusters: inventory.tables.clusters,
      operators: this.#operators,
      intervalMs: settings.hintIntervalMs,
    });
    changes.onChange((change) => this.#changed(change));
    this.reconciler = new Reconciler({
      ...options,
      ...settings,
      changes,
      counters,
      reads: this.reads,
      disputes: this.disputes,
      resourceNames,
      onFirstListing: () => this.#wake(),
    });
    const slots = new FairSlots(settings.executeConcurrency, providers.names.length);
    const runner = new ActionRunner({
      ...options,
      ...settings,
      changes,
      slots,
      counters,
      backoffs: this.backoffs,
      failures: this.failures,
      operators: this.#operators,
      restraint: () => restraintOf(this.#rails),
      isLiveNeed: (cluster, fingerprint, group) => this.engine.isLiveNeed(cluster, fingerprint, group),
      requirementsOf: (cluster, fingerprint) => this.#requirementsOf(cluster, fingerprint),
      onFenced: (machineId, detail) => this.#fence(machineId, detail),
      onDrain: (slot, graceSeconds) => this.stuck.drainSent(slot, graceSeconds),
    });
    this.executor = new Executor({
      ...options,
      inventory,
      runner,
      slots,
      counters,
      reads: this.reads,
      onPreempt: (slot, cluster, fingerprint, group) =>
        this.engine.preemptionBegan(slot, cluster, fingerprint, group),
      onBind: (slot, cluster, fingerprint, group) =>
        this.#bindingTimes.begun(slot, cluster, fingerprint, group, clock.nowMs()),
      onAbandoned: (slot) => this.#bindingTimes.abandoned(slot),
      onAccepted: (slot, kind) => this.#accepted.accepted(slot, kind),
      onRoom: () => this.#wake(),
      providerCount: providers.names.length,
    });
    changes.withdrawAction = (slot) => this.executor.withdraw(slot);
    this.#checks = new ScratchChecks({
      engine: this.engine,
      options: this.engineOptions(),
      barredNeeds: () => this.needBackoffs.barredRefs(),
      port: options.checker ?? null,
      everyCycles: settings.checkEveryCycles,
      counters,
      observer,
    });
    this.#decision = new GuardedDecision({
      engine: this.engine,
      inventory,
      suspensions: this.suspensions,
      counters,
      observer,
    });
    this.cycle = new Cycle({
      ...options,
      inventory,
      counters,
      engine: this.engine,
      executor: this.executor,
      rails: () => this.#rails,
      cycleIntervalMs: settings.cycleIntervalMs,
      neverDelete: runner.neverDelete,
      checks: this.#checks,
      decision: this.#decision,
      probation: this.failures.probation,
      prepare: (isOrdinary, nowMs) => this.#prepare(isOrdinary, nowMs),
      // A hint run that is due within a second serves all cycles until then.
      hint: (nowMs) => this.#hintTimer === null && this.#runHints(nowMs),
      barredBy: () => this.#barredBy(),
      isFleetUnread: () => this.reconciler.isFirstListingUnderWay(),
    });
    this.#loop = new CycleLoop({
      intervalMs: settings.cycleIntervalMs,
      clock,
      scheduler,
      stopwatch,
      reconcile: () => this.reconciler.listAll(),
      decide: (isOrdinary, reconcileMs) => this.#decide(isOrdinary, reconcileMs),
    });
  }

  /** X5: needs whose bootstraps failed. */
  get needBackoffs(): NeedBackoffs {
    return this.failures.needs;
  }

  /** For the live engine, and for the one that checks it. */
  engineOptions(): EngineOptions {
    const { settings, tables } = this.#options;
    const isLocal = settings.localBootstrapBlob !== null;
    return {
      ...tables,
      hasSession: (cluster) => isLocal || this.sessions.has(cluster),
      inBackoff: (cluster, fingerprint, group) => this.needBackoffs.isBarred(cluster, fingerprint, group),
      limits: this.tenants,
      isSuspended: (cluster) => this.suspensions.has(cluster),
      holds: { onDemandMs: settings.idleHoldOnDemandMs, spotMs: settings.idleHoldSpotMs },
      ...(this.#options.probe === undefined ? {} : { probe: this.#options.probe }),
      ...(settings.preemptionWeights === null ? {} : { weights: settings.preemptionWeights }),
    };
  }

  start(): void {
    this.#loop.start();
  }

  /** I3: starts no more cycles and actions; resolves when those in flight have ended, or after the grace. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    this.#loop.stop();
    this.reconciler.stop();
    this.reads.stop();
    this.#hintTimer?.cancel();
    this.#checks.stop();
    await this.executor.stop(graceMs);
  }

  get rails(): Rails {
    return this.#rails;
  }

  setRails(rails: Rails): void {
    this.#rails = rails;
    this.needs.isGuarded = rails.hasRollupGuard;
    this.tenants.set(rails.tenants);
    this.#wake();
  }

  /** Why no action is emitted: a provider without a first listing (C2), a newer owner of this shard id (X8), or a decision that threw (T2). '' if none. */
  heldBack(): string {
    return this.#barredBy() || this.#decision.failure;
  }

  /** Why the shard is not ready; '' if it is. T6: a provider of which it refuses every row, although it acts for the others. */
  notReady(): string {
    const why = this.heldBack();
    return why === '' ? this.reconciler.refusedWholly().join('; ') : why;
  }

  get isFenced(): boolean {
    return this.#fenced !== '';
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
      isPaused: this.#rails.isPaused,
      isDryRun: this.#rails.isDryRun,
      isFenced: this.isFenced,
    };
  }

  /** Resolves after the next cycle. */
  nextCycle(): Promise<void> {
    return this.#loop.nextCycle();
  }

  refusal(): string | null {
    if (this.#fenced !== '') return this.#fenced;
    return this.#isStopping ? 'the shard is stopping' : null;
  }

  sessionOpened(clusterId: string): void {
    this.#hints.sessionOpened(clusterId);
    if (this.sessions.open(clusterId)) this.#wake();
  }

  sessionClosed(clusterId: string): void {
    this.#hints.sessionClosed(clusterId);
    this.sessions.close(clusterId);
    this.#away.note(clusterId);
  }

  *acceptRollup(
    clusterId: string,
    digests: Uint32Array,
    decodeRow: (index: number) => RollupRow,
  ): Generator<void, RollupOutcome> {
    const { observer, clock } = this.#options;
    const cluster = this.inventory.tables.clusters.find(clusterId);
    const bound = cluster === 0 ? 0 : this.#announcer.boundCount(cluster);
    const nowMs = clock.nowMs();
    try {
      const outcome = yield* this.needs.acceptInSteps(clusterId, digests, decodeRow, nowMs, bound);
      if (outcome === 'unchanged') this.counters.rollupsUnchanged++;
      else if (outcome === 'applied') {
        this.counters.rollupsAccepted++;
        this.cycle.noteDemand(this.inventory.tables.clusters.find(clusterId), nowMs);
        this.#wake();
      } else this.#reportQuarantined(clusterId);
      return outcome;
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      observer.happened({ kind: 'rollup_rejected', level: 'warn', clusterId, detail: error.message });
      throw error;
    } finally {
      this.#away.note(clusterId);
    }
  }

  rejectRollup(clusterId: string, why: string): void {
    // An unknown cluster has no count of its own, and the table of clusters may have no room for one.
    if (this.inventory.tables.clusters.find(clusterId) !== 0) this.needs.reject(clusterId);
    this.#away.note(clusterId);
    this.#options.observer.happened({ kind: 'rollup_rejected', level: 'warn', clusterId, detail: why });
  }

  boundSlots(clusterId: string): Uint32Array {
    return this.#announcer.boundSlots(clusterId);
  }

  readNode(slot: number, clusterId: string): NodeState | null {
    return this.#announcer.readNode(slot, clusterId);
  }

  #barredBy(): string {
    if (this.#fenced !== '') return this.#fenced;
    const missing = this.reconciler.notListedYet();
    return missing.length === 0 ? '' : `waiting for the first listing of ${missing.join(', ')}`;
  }

  #decide(isOrdinary: boolean, reconcileMs: number): CycleReport {
    const report = this.cycle.run(isOrdinary, reconcileMs);
    this.#options.observer.cycleEnded(report);
    // A full queue would drop the surplus at once; it wakes a cycle itself when it has room.
    if (report.deferred > 0 && report.dropped === 0) this.#wake();
    return report;
  }

  /** No woken cycles before the first listings: no action may be emitted, and a large fleet arrives in a hundred slices. */
  #wake(): void {
    if (this.reconciler.notListedYet().length === 0) this.#loop.wake();
  }

  #prepare(isOrdinary: boolean, nowMs: number): void {
    this.backoffs.expire(nowMs);
    this.failures.expire(nowMs);
    for (const clusterId of this.suspensions.expire(nowMs))
      this.#options.observer.happened({ kind: 'suspension_ended', level: 'info', clusterId });
    if (!isOrdinary) return;
    this.stuck.scan();
    this.#away.forgetIdle();
  }

  #runHints(nowMs: number): void {
    const { scheduler, clock } = this.#options;
    if (!this.#hints.run(nowMs) || this.#hintTimer !== null || this.#isStopping) return;
    this.#hintTimer = scheduler.after(HINT_PACE_MS, () => {
      this.#hintTimer = null;
      this.#runHints(clock.nowMs());
    });
  }

  #changed(change: Readonly<MachineChanged>): void {
    const { slot, from, to, source } = change;
    const nowMs = this.#options.clock.nowMs();
    this.backoffs.changed(change, nowMs);
    this.failures.outcomes.changed(change);
    if (this.settings.ignoresUnassignedBindings && to !== 0) this.#flagUnassigned(slot, to);
    this.#bindingTimes.changed(change, nowMs);
    this.#accepted.changed(change);
    this.stuck.changed(change);
    this.#announcer.changed(change);
    if (to === 0) {
      this.reads.forget(slot);
      this.disputes.forget(slot);
    }
    if (to === from) return;
    if (!isTransitional(to as MachineState)) this.reads.finished(slot);
    const isAnswer = source === 'ack' || source === 'read';
    if (!isAnswer || to !== S.Idle) return;
    if (from === S.Creating || (from === S.Draining && this.engine.drainOf(slot) !== null)) this.#wake();
  }

  /** T10: the decision leaves out bindings that no shard assigned, if it is told to ignore them. */
  #flagUnassigned(slot: number, state: number): void {
    const { cluster, need } = this.inventory.columns;
    const isBound = state === S.Configuring || state === S.Configured;
    this.inventory.setFlag(slot, Flag.Ignored, isBound && cluster[slot] !== 0 && need[slot] === 0);
  }

  #reportQuarantined(clusterId: string): void {
    const inARow = this.needs.quarantinedRollups(this.inventory.tables.clusters.find(clusterId));
    this.#options.observer.happened({ kind: 'rollup_quarantined', level: 'warn', clusterId, inARow });
  }

  /** X8: a fenced shard stops executing, ends its sessions and accepts none. */
  #fence(machineId: string, detail: string): void {
    if (this.#fenced !== '') return;
    const owner = `another process owns shard ${this.settings.shardId} (${detail})`;
    this.#fenced = `fenced: ${owner}; stop one of the two processes and restart the other`;
    this.#options.observer.happened({ kind: 'fenced', level: 'error', machineId, detail });
    void this.executor.stop(0);
    this.#operators.endAll(this.#fenced);
  }

  /** A1: a fold has the fingerprint of its members' profile without Same requirements. */
  #requirementsOf(cluster: number, fingerprint: number): readonly Requirement[] {
    const { needs } = this;
    const { profiles } = needs;
    const start = needs.sliceStart(cluster);
    for (let row = start + needs.sliceCount(cluster) - 1; row >= start; row--) {
      const profile = profiles.get(needs.profile[row]!);
      if (profile.fingerprintRef === fingerprint) return profile.requirements;
      if (profile.sameKeys.length === 0) continue;
      const remaining = profiles.get(profiles.withoutSame(profile.ref));
      if (remaining.fingerprintRef === fingerprint) return remaining.requirements;
    }
    return [];
  }
}
