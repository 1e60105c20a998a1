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
import type { Pulse } from '../base/pulse.ts';
import { type CeilingUse, ceilingUses } from '../decision/ceilings.ts';
import { Engine, type EngineOptions } from '../decision/engine.ts';
import { Flag } from '../inventory/intent.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { ProviderNames } from '../listing/apply/provider-names.ts';
import { isTransitional, MachineState } from '../machine/state.ts';
import type { NeedTable, RollupOutcome } from '../needs/need-table.ts';
import type { Requirement } from '../needs/requirements.ts';
import type { RollupRow } from '../needs/rollup.ts';
import { ScratchChecks } from './check/checks.ts';
import { AdminCommands } from './controls/admin-commands.ts';
import { ControlBook } from './controls/control-book.ts';
import { Pauses } from './controls/pauses.ts';
import { zeroCounters } from './counters.ts';
import { Cycle } from './cycle/cycle.ts';
import { GuardedDecision } from './cycle/guarded-decision.ts';
import { CycleLoop } from './cycle/loop.ts';
import { tellNeeds } from './cycle/need-events.ts';
import { restraintOf } from './cycle/rails.ts';
import { Suspensions } from './cycle/suspensions.ts';
import { Executor } from './execute/executor.ts';
import { FailedAttempts } from './execute/failed-attempts.ts';
import { FairSlots } from './execute/fair-slots.ts';
import { LoneCall } from './execute/lone-call.ts';
import type { NeedBackoffs } from './execute/need-backoff.ts';
import { ActionRunner } from './execute/runner.ts';
import { CapacityHints } from './hints/hints.ts';
import { AcceptedActions } from './machines/accepted-actions.ts';
import { Announcer } from './machines/announce.ts';
import { Backoffs } from './machines/backoff.ts';
import { BindingTimes } from './machines/binding-times.ts';
import { type MachineChanged, MachineChanges } from './machines/changes.ts';
import { Disputes } from './machines/disputes.ts';
import { MachineEvents, type MachineEventsOptions } from './machines/machine-events.ts';
import { FollowUpReads, READS_MIN } from './machines/reads.ts';
import { StuckMachines } from './machines/stuck.ts';
import { AwayClusters } from './operators/away-clusters.ts';
import { NO_OPERATORS } from './operators/no-operators.ts';
import { SessionBits } from './operators/session-bits.ts';
import type { CheckPort } from './ports/check.ts';
import type { Control, ControlStore } from './ports/controls.ts';
import type { CycleReport, ShardCounters, ShardGauges, ShardObserver } from './ports/observer.ts';
import type { NodeState, OperatorsPort, ShardForOperators } from './ports/operators.ts';
import type { ProviderPort } from './ports/providers.ts';
import type { ReplicaPort } from './ports/replica.ts';
import { type ListingCursors, Reconciler } from './reconcile/reconciler.ts';
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
  /** X16: beaten by this shard, and read by the threads that send its calls. Default: it never stands still. */
  readonly pulse?: Pulse | null;
  /** F1–F5: the replica that this shard runs in. Default: the shard has no other replicas. */
  readonly replica?: ReplicaPort;
  /** F4: from the standby whose tables this shard goes on with. */
  readonly inherited?: Inheritance;
  /** H2: the controls that the last process stored, and where this one stores them. Default: they end with the process. */
  readonly controls?: { readonly stored: readonly Control[]; readonly store: ControlStore };
  /** Derives cycles again from scratch. Default: no checks. */
  readonly checker?: CheckPort;
  /** For tests: lets decisions throw. */
  readonly probe?: NonNullable<EngineOptions['probe']>;
}

/** F4: what a shard that becomes active takes over from the standby, besides the tables. Neither clocks nor counts are among it. */
export interface Inheritance {
  readonly cursors: ListingCursors;
  readonly resourceNames: ProviderNames;
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
  readonly pauses: Pauses;
  readonly controls: ControlBook;
  /** H1: what admins may do. */
  readonly admin: AdminCommands;
  readonly startedAtMs: number;
  readonly isStandby: boolean;
  readonly #options: ShardOptions;
  readonly #operators: OperatorsPort;
  readonly #announcer: Announcer;
  readonly #hints: CapacityHints;
  readonly #bindingTimes: BindingTimes;
  readonly #accepted: AcceptedActions;
  /** Null: no observer keeps a history. */
  readonly #events: MachineEvents | null;
  readonly #away: AwayClusters;
  readonly #checks: ScratchChecks;
  readonly #decision: GuardedDecision;
  readonly #loop: CycleLoop;
  readonly #resourceNames: ProviderNames;
  #rails: Rails;
  readonly #lone = new LoneCall();
  #hintTimer: Timer | null = null;
  #pulseTimer: Timer | null = null;
  #stoodMs = 0;
  #fenced = '';
  #isStarted = false;
  #isStopping = false;

  constructor(options: ShardOptions) {
    const { settings, tables, providers, observer, clock, scheduler, stopwatch, replica, inherited } =
      options;
    const { inventory, needs } = tables;
    const isConfirmed = () => replica?.isConfirmed() ?? true;
    this.isStandby = replica?.isStandby ?? false;
    const { counters } = this;
    this.#options = options;
    this.#operators = options.operators ?? NO_OPERATORS;
    this.#rails = settings;
    this.settings = settings;
    this.epoch = options.epoch;
    this.startedAtMs = clock.nowMs();
    this.inventory = inventory;
    this.needs = needs;
    if (inherited === undefined)
      inventory.tables.shareAmong({ providers: providers.names, reserve: settings.providerTableReserve });
    this.sessions = new SessionBits(inventory.tables.clusters);
    this.#away = new AwayClusters(inventory, needs, (cluster) => this.sessions.has(cluster));
    this.tenants = new Tenants(inventory.tables.clusters, settings.tenants, settings.ceilings);
    this.suspensions = new Suspensions(inventory.tables.clusters, needs);
    this.pauses = new Pauses(inventory, providers.names);
    this.controls = new ControlBook({
      stored: options.controls?.stored ?? [],
      declared: settings.controls,
      store: options.controls?.store ?? { write: () => Promise.resolve() },
      providerNames: providers.names,
      clock,
      scheduler,
      observer,
      onChange: (controls) => this.#controlsChanged(controls),
    });
    this.admin = new AdminCommands(this.controls, this.pauses);
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
      changeLists: {
        mayList: (provider) => this.reconciler.mayListChanges(provider),
        list: (provider) => this.reconciler.listChanges(provider),
      },
      listedMin: settings.readsListedMin,
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
    this.#events = observer.noted === undefined ? null : new MachineEvents(this.#eventSources());
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
      ...(inherited === undefined ? {} : { cursors: inherited.cursors }),
    });
    const slots = new FairSlots(settings.executeConcurrency, providers.names.length);
    const lone = this.#lone;
    const stretch = () => this.#stretch();
    const runner = new ActionRunner({
      ...options,
      ...settings,
      changes,
      slots,
      lone,
      stretch,
      counters,
      backoffs: this.backoffs,
      failures: this.failures,
      operators: this.#operators,
      restraint: () => restraintOf(this.#rails),
      isConfirmed,
      hasSession: (cluster) => this.#hasSession(cluster),
      pausedBy: (step) => this.pauses.stopping(step),
      onPaused: (control) => {
        counters.actionsPaused++;
        this.controls.noteStopped(control);
      },
      isLiveNeed: (cluster, fingerprint, group) => this.engine.isLiveNeed(cluster, fingerprint, group),
      requirementsOf: (cluster, fingerprint) => this.#requirementsOf(cluster, fingerprint),
      onFenced: (machineId, detail) => this.#fence(machineId, detail, runner.acceptedCount > 0),
      onDrain: (slot, graceSeconds) => this.stuck.drainSent(slot, graceSeconds),
    });
    this.executor = new Executor({
      ...options,
      inventory,
      runner,
      slots,
      lone,
      stretch: () => options.pulse?.stretch ?? 0,
      counters,
      reads: this.reads,
      onPreempt: (slot, cluster, fingerprint, group) =>
        this.engine.preemptionBegan(slot, cluster, fingerprint, group),
      onBind: (slot, cluster, fingerprint, group) =>
        this.#bindingTimes.begun(slot, cluster, fingerprint, group, clock.nowMs()),
      onSettled: (action, settled) => this.#events?.settled(action, settled),
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
      needs,
      counters,
      engine: this.engine,
      executor: this.executor,
      rails: () => this.#rails,
      stretch,
      beat: () => this.#beat(),
      mayRemove: isConfirmed,
      cycleIntervalMs: settings.cycleIntervalMs,
      neverDelete: runner.neverDelete,
      checks: this.#checks,
      decision: this.#decision,
      probation: this.failures.probation,
      prepare: (isOrdinary, nowMs) => this.#prepare(isOrdinary, nowMs),
      // A hint run that is due within a second serves all cycles until then.
      hint: (nowMs) => this.#hintTimer === null && this.#runHints(nowMs),
      areCountsHeld: () => this.pauses.areCountsHeld,
      barredBy: () => this.#barredBy(),
      isFleetUnread: () => this.isStandby || this.reconciler.isFirstListingUnderWay(),
    });
    this.#loop = new CycleLoop({
      intervalMs: settings.cycleIntervalMs,
      clock,
      scheduler,
      stopwatch,
      reconcile: () => this.reconciler.listAll(),
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

  /** For the live engine, and for the one that checks it. */
  engineOptions(): EngineOptions {
    const { settings, tables } = this.#options;
    return {
      ...tables,
      hasSession: (cluster) => this.#hasSession(cluster),
      inBackoff: (cluster, fingerprint, group) => this.needBackoffs.isBarred(cluster, fingerprint, group),
      limits: this.tenants,
      isPaused: (cluster) => this.pauses.isCreditOnly(cluster),
      isSuspended: (cluster) => this.suspensions.has(cluster),
      holds: { onDemandMs: settings.idleHoldOnDemandMs, spotMs: settings.idleHoldSpotMs },
      ...(this.#options.probe === undefined ? {} : { probe: this.#options.probe }),
      ...(settings.preemptionWeights === null ? {} : { weights: settings.preemptionWeights }),
      placement: settings.placement,
    };
  }

  start(): void {
    this.#options.pulse?.beat(); // the time until the start is no stall
    this.#beatOften();
    this.#isStarted = true;
    if (!this.isStandby) this.controls.begin();
    this.#loop.start();
  }

  /** I3: starts no more cycles and actions; resolves when those in flight have ended, or after the grace. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    this.#loop.stop();
    this.reconciler.stop();
    this.reads.stop();
    this.#hintTimer?.cancel();
    this.controls.stop();
    this.#pulseTimer?.cancel();
    this.#checks.stop();
    await this.executor.stop(graceMs);
  }

  /** F4: ends a standby. The shard that becomes active goes on with the tables. Listings under way are applied first, if they end in time. */
  async retire(waitMs: number): Promise<Inheritance> {
    this.#loop.stop();
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
    this.controls.declare(rails.controls);
    this.#wake();
  }

  /** E7: the ceilings, and what counts for each. Reads the whole fleet if there are any. */
  ceilingUses(): readonly CeilingUse[] {
    const { ceilings } = this.tenants;
    return ceilings === null ? [] : ceilingUses(ceilings, this.inventory);
  }

  /**
   * Why no action is emitted: a standby (F4), a provider without a first listing (C2), a newer owner of this shard id (X8), or a
   * decision that threw (T2). '' if none.
   */
  heldBack(): string {
    return this.#barredBy() || this.#decision.failure;
  }

  /** Why the shard is not ready; '' if it is. T6: a provider of which it refuses every row, although it acts for the others. */
  notReady(): string {
    if (this.isStandby && !this.#isStarted) return ''; // a cold one, which reads nothing
    const why = this.isStandby ? this.#unlisted() : this.heldBack();
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
      pauses: this.admin.counts(),
      isPaused: this.#rails.isPaused,
      isDryRun: this.#rails.isDryRun,
      isFenced: this.isFenced,
    };
  }

  /** Resolves after the next cycle. */
  nextCycle(): Promise<void> {
    return this.#loop.nextCycle();
  }

  /** F4: the role and the other replicas; null if the shard has none. */
  get replica(): ReplicaPort | null {
    return this.#options.replica ?? null;
  }

  refusal(): string | null {
    if (this.#fenced !== '') return this.#fenced;
    if (this.isStandby) return this.#options.replica!.view().text;
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

  sessionAnswered(clusterId: string): void {
    if (this.sessions.answered(clusterId)) this.#wake();
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

  #eventSources(): MachineEventsOptions {
    const { observer, providers } = this.#options;
    return {
      inventory: this.inventory,
      providerNames: providers.names,
      note: (event) => observer.noted?.(event),
      cycle: () => this.cycle.number,
      actionOn: (slot) => this.executor.actionOn(slot),
      drainOf: (slot) => this.engine.drainOf(slot),
      hasListed: (provider) => this.reconciler.hasListed(provider),
    };
  }

  #beatOften(): void {
    const { pulse = null, scheduler } = this.#options;
    if (pulse === null || this.#isStopping) return;
    this.#stretch();
    this.#pulseTimer = scheduler.after(pulse.everyMs, () => this.#beatOften());
  }

  /** Returns the present stretch. X16: everything that acts calls this first, whichever event comes first after a stall. */
  #stretch(): number {
    this.#beat();
    const forMs = this.#stoodMs;
    this.#stoodMs = 0;
    if (forMs > 0) this.#stoodStill(forMs);
    return this.#options.pulse?.stretch ?? 0;
  }

  /** Writes nothing else, so a decision may call it. */
  #beat(): void {
    this.#stoodMs = Math.max(this.#stoodMs, Math.round(this.#options.pulse?.beat() ?? 0));
  }

  /** X16: another process may have taken over meanwhile, or clusters may have left. */
  #stoodStill(forMs: number): void {
    const dropped = this.executor.unsentCount;
    this.counters.stalls++;
    this.counters.actionsOutdated += dropped;
    this.#options.observer.happened({
      kind: 'stood_still',
      level: 'warn',
      forMs,
      dropped,
      sessions: this.sessions.count,
    });
    this.#lone.begin();
    this.executor.withdrawAll();
    this.sessions.doubtAll();
    this.#operators.pingAll();
    this.#wake();
  }

  #barredBy(): string {
    if (this.#fenced !== '') return this.#fenced;
    return this.isStandby ? this.#options.replica!.view().text : this.#unlisted();
  }

  #unlisted(): string {
    const missing = this.reconciler.notListedYet();
    return missing.length === 0 ? '' : `waiting for the first listing of ${missing.join(', ')}`;
  }

  #decide(isOrdinary: boolean, reconcileMs: number): CycleReport {
    const { observer } = this.#options;
    const report = this.cycle.run(isOrdinary, reconcileMs);
    if (this.#events !== null)
      tellNeeds(this.engine, this.inventory, report.cycle, (event) => observer.noted?.(event));
    observer.cycleEnded(report);
    // A full queue would drop the surplus at once; it wakes a cycle itself when it has room.
    if ((report.deferred > 0 && report.dropped === 0) || this.cycle.hasMoreToTakeUp) this.#wake();
    return report;
  }

  /** No woken cycles before the first listings: no action may be emitted, and a large fleet arrives in a hundred slices. */
  #wake(): void {
    if (!this.isStandby && this.reconciler.notListedYet().length === 0) this.#loop.wake();
  }

  #prepare(isOrdinary: boolean, nowMs: number): void {
    this.backoffs.expire(nowMs);
    this.failures.expire(nowMs);
    for (const clusterId of this.suspensions.expire(nowMs))
      this.#options.observer.happened({ kind: 'suspension_ended', level: 'info', clusterId });
    if (this.isStandby) return;
    this.controls.expire(nowMs);
    if (isOrdinary) {
      this.stuck.scan();
      this.#away.forgetIdle();
    }
    this.pauses.beginCycle(); // after clusters were forgotten
  }

  /** H3: what waits and is paused now ends; the next cycle decides with the new controls. */
  #controlsChanged(controls: readonly Control[]): void {
    this.pauses.set(controls);
    if (controls.length > 0) this.executor.withdrawPaused();
    this.#wake();
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
    if (this.isStandby) {
      // F4: clocks, counts and announcements begin when it becomes active.
      if (to === 0) this.#forget(slot);
      return;
    }
    const nowMs = this.#options.clock.nowMs();
    this.backoffs.changed(change, nowMs);
    if (to !== 0) this.pauses.changed(slot);
    this.failures.outcomes.changed(change);
    if (this.settings.ignoresUnassignedBindings && to !== 0) this.#flagUnassigned(slot, to);
    this.#bindingTimes.changed(change, nowMs);
    this.#accepted.changed(change);
    this.#events?.changed(change);
    this.stuck.changed(change);
    this.#announcer.changed(change);
    if (to === 0) this.#forget(slot);
    if (to === from) return;
    if (!isTransitional(to as MachineState)) this.reads.finished(slot);
    const isListedBetweenCycles = source === 'listing' && !this.#loop.isListing;
    const isAnswer = source === 'ack' || source === 'read' || isListedBetweenCycles;
    if (!isAnswer || to !== S.Idle) return;
    if (from === S.Creating || (from === S.Draining && this.engine.drainOf(slot) !== null)) this.#wake();
  }

  #forget(slot: number): void {
    this.reads.forget(slot);
    this.disputes.forget(slot);
  }

  #hasSession(cluster: number): boolean {
    return this.settings.localBootstrapBlob !== null || this.sessions.isAlive(cluster);
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
  #fence(machineId: string, detail: string, wasAccepted: boolean): void {
    if (this.#fenced !== '') return;
    const { clock, observer } = this.#options;
    const owner = `another process owns shard ${this.settings.shardId} (${detail})`;
    const remedy = 'stop one of the two processes and restart the other';
    // I1: epochs count from 1. The time in seconds is higher than any that a shard has counted to.
    const minEpoch = Math.floor(clock.nowMs() / 1_000);
    const lost =
      `or the data directory was lost: no provider accepted a call of this process, whose epoch is ${this.epoch}. ` +
      `If no other process runs with this id, start it once with --min-epoch ${minEpoch}`;
    this.#fenced = `fenced: ${owner}; ${wasAccepted ? remedy : `${remedy}, ${lost}`}`;
    const next = wasAccepted ? remedy : lost;
    observer.happened({ kind: 'fenced', level: 'error', machineId, detail, next });
    void this.executor.stop(0);
    this.#operators.endAll(this.#fenced);
    this.#options.replica?.fenced();
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
