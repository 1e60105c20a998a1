/**
 * A shard process that is one of several replicas: its data directory, its connection to the fleet's directory, and the two shards of
 * its life. Loaded only with --directory, and everything of etcd with it.
 */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { systemClock, systemScheduler, systemUptime } from '../base/clock.ts';
import { Confirmation } from '../base/confirmation.ts';
import { ShardError } from '../base/errors.ts';
import { Pulse } from '../base/pulse.ts';
import { Random } from '../base/random.ts';
import type { ShardConfig } from '../config/shard-config.ts';
import { EtcdDirectory } from '../directory/etcd/directory.ts';
import { FleetKeys } from '../directory/keys.ts';
import { openReplicaDirectory } from '../identity/replica-directory.ts';
import type { Readiness } from '../observe/http.ts';
import { logEvent } from '../observe/observers.ts';
import { FencingTokens } from '../provider/client/fencing.ts';
import { HOLD_BEYOND_LEASE_MS } from '../relay/limits.ts';
import { Relay } from '../relay/relay.ts';
import { type LifeEnd, type LifeEvent, ReplicaLife, type Term } from '../replica/life.ts';
import type { Controls } from '../replica/records.ts';
import { readControls } from '../shard/controls/control.ts';
import type { Control } from '../shard/ports/controls.ts';
import type { ShardObserver } from '../shard/ports/observer.ts';
import type { ShardTables } from '../shard/tables.ts';
import type { AdminHome } from './shard-admin.ts';
import { FleetMember } from './shard-fleet.ts';
import type { Closer, ProcessParts, ServiceOptions } from './shard-parts.ts';
import { railsOf } from './shard-rails.ts';
import { createTerm, type ShardTerm } from './shard-term.ts';

/** F2: clocks of two machines run at different speeds, and a call that was checked is sent a moment later. */
const MARGIN_MS = 1_000;
/** F2: a replica whose ordinary cycles do not end for so many intervals, and a lease, gives its lease up. */
const CYCLES_MAX = 2;

/** One line a minute about a directory that does not answer; the others are for --log-level debug. */
const FAILURE_LOG_MS = 60_000;

const CONTROLS_NOT_SHARED =
  'The directory does not have the present controls yet, because it has not answered. This replica goes on writing them. ' +
  'If another one takes over first, it does not know of the last change: give the command again there.';

const LEVELS: { readonly [Kind in LifeEvent['kind']]?: 'warn' | 'error' } = {
  adrift: 'warn',
  stuck: 'error',
  'lease-lost': 'warn',
  restored: 'error',
  'directory-failed': 'warn',
  'controls-taken': 'warn',
  'controls-not-kept': 'error',
  'name-taken': 'error',
};

export class ReplicaProcess {
  readonly fencing: FencingTokens;
  /** Its data directory. */
  readonly data: AdminHome;
  readonly life: ReplicaLife;
  /** F6: takes the operators' streams until this replica is active. */
  readonly relay: Relay;
  /** F7: takes part in the fleet of several shards. */
  readonly fleet: FleetMember;
  /** Listens to every shard of the process. */
  readonly observer: Partial<ShardObserver>;
  readonly #options: ServiceOptions;
  /** By provider: when its last listing succeeded, of uptime. */
  readonly #listedMs = new Map<string, number>();
  #failureLoggedMs = Number.NEGATIVE_INFINITY;
  #config: ShardConfig;
  #parts: ProcessParts | null = null;
  #term: ShardTerm | null = null;
  #addresses: readonly string[] = [];
  #onActive: (term: ShardTerm) => void = () => {};
  /** F6: a standby that was ready stays ready while it takes over, at most until this time, of uptime. */
  #readyUntilMs = 0;

  /** Rejects with a ShardError if the data directory or the TLS files cannot be used. The directory need not answer yet. */
  static async open(options: ServiceOptions, closers: Closer[]): Promise<ReplicaProcess> {
    const { config } = options;
    const marks = await openReplicaDirectory(config.dataDir, systemUptime, config.minEpoch);
    closers.push(() => marks.close());
    const { leaseMs } = config;
    const directory = new EtcdDirectory({
      addresses: config.directory!.members,
      tls: config.directoryTls ?? undefined,
      clock: systemClock,
      scheduler: systemScheduler,
      random: new Random(randomBytes(4).readUInt32LE()),
      reconnectMsMax: leaseMs / 4,
      callTimeoutMs: leaseMs / 3,
      silenceMsMax: leaseMs,
    });
    closers.push(() => directory.close());
    return new ReplicaProcess(options, directory, marks);
  }

  private constructor(
    options: ServiceOptions,
    directory: EtcdDirectory,
    marks: Awaited<ReturnType<typeof openReplicaDirectory>>,
  ) {
    const { config, version, log } = options;
    const keys = new FleetKeys(config.fleet);
    const replica = replicaNameOf(config);
    const instance = randomBytes(16).toString('hex');
    const confirmation = Confirmation.create();
    this.#options = options;
    this.#config = config;
    this.data = marks;
    this.fencing = FencingTokens.createStandby(config.id, confirmation, Pulse.create(config.stallAfterMs));
    this.life = new ReplicaLife({
      directory,
      keys,
      shard: config.id,
      replica,
      instance,
      leaseMs: config.leaseMs,
      marginMs: MARGIN_MS,
      marks,
      confirmation,
      clocks: { wall: systemClock, uptime: systemUptime },
      scheduler: systemScheduler,
      cycleMsMax: CYCLES_MAX * config.cycleIntervalMs,
      version,
      providers: config.providers,
      controlsHome: marks,
      work: {
        controls: () => controlsOf(this.#config),
        readiness: () => ({ isReady: this.readiness().isReady, lagMs: this.#lagMs() }),
        activate: (term) => this.#activate(term),
        isWaiting: () => (this.#term?.shard.reconciler.notListedYet().length ?? 0) > 0,
      },
      onEvent: (event) => this.#log(event),
    });
    this.relay = new Relay({
      active: this.life.active,
      holdMs: config.leaseMs + HOLD_BEYOND_LEASE_MS,
      tls: config.tls ?? undefined,
      deadPeerMs: config.keepaliveTimeoutMs,
      onEvent: (event) => logEvent(options.log, event.kind === 'relay_holds' ? 'warn' : 'info', event),
    });
    this.fleet = new FleetMember({
      ...{ config, directory, keys, log },
      tables: () => this.#listedTables(),
      guard: () => this.life.guard,
      ...{ replica, instance },
      addresses: () => this.#addresses,
    });
    this.observer = {
      cycleEnded: ({ isOrdinary }) => {
        if (isOrdinary) this.life.cycleEnded();
        if (isOrdinary) this.fleet.look();
      },
      listingEnded: ({ provider, failure }) => {
        if (failure !== '') return;
        this.#listedMs.set(provider, systemUptime());
        this.fleet.look();
      },
    };
  }

  gauges() {
    const { counters, relayedCount, heldCount } = this.relay;
    const others = this.fleet.gauges();
    const ended: Record<string, number> = { ...counters.ended };
    for (const [end, count] of Object.entries(others.ended)) ended[end] = (ended[end] ?? 0) + count;
    const relay = { relayed: relayedCount + others.relayed, held: heldCount + others.held, ended };
    const { shardsNotAdopted, coordinatorTerm } = others;
    return { ...this.life.gauges(), relay, shardsNotAdopted, coordinatorTerm };
  }

  /** Ends everything that relays. */
  async close(): Promise<void> {
    this.relay.close();
    await this.fleet.close();
  }

  /** For admins; '' = nothing. */
  controlsWarning(): string {
    return this.life.areControlsShared ? '' : CONTROLS_NOT_SHARED;
  }

  get ended(): Promise<LifeEnd> {
    return this.life.ended;
  }

  /** F4: it lists by cursor where the provider has one, whatever the active shard does. */
  standbyTerm(parts: ProcessParts): ShardTerm {
    const replica = this.life.port(true);
    this.#parts = parts;
    this.#term = createTerm(parts, { epoch: 0, replica, settings: { isIncremental: true } });
    return this.#term;
  }

  /** Call it when the operators' server listens. `onActive` gets the shard of the active replica before its first cycle. */
  async begin(onActive: (term: ShardTerm) => void): Promise<void> {
    const { config, operators } = this.#parts!;
    this.#onActive = onActive;
    this.#addresses = [config.advertiseAddr || operators.address];
    await this.life.start(this.#addresses);
    const { shard } = this.#term!;
    if (config.standby === 'warm' && shard.isStandby) shard.start();
  }

  reload(config: ShardConfig): void {
    this.#config = config;
    this.life.controlsChanged();
  }

  readiness(): Readiness {
    const { shard } = this.#term!;
    const reason = shard.readiness.notReady();
    // Its port serves sessions already: a balancer that looked now would have no replica left.
    const isTakingOver = !shard.isStandby && !shard.fence.isRaised && systemUptime() < this.#readyUntilMs;
    if (reason !== '' && isTakingOver) return { isReady: true, reason: 'taking over' };
    if (!shard.isStandby || reason !== '') return readinessOf(reason);
    // The relay can hold a session until it knows an active replica, if the directory answers at all.
    if (!this.life.hasReadKeys) return readinessOf(this.life.view().text);
    const whyNot = this.relay.notReady();
    return whyNot === '' ? { isReady: true, reason: 'standby' } : readinessOf(whyNot);
  }

  /** F4: becoming active is a start, over the inventory that the standby has read. */
  async #activate({ epoch, controls, usage }: Term): Promise<void> {
    const parts = this.#parts!;
    if (this.readiness().isReady)
      this.#readyUntilMs = systemUptime() + this.#config.leaseMs + HOLD_BEYOND_LEASE_MS;
    const inherited = await this.#term!.shard.retire(this.#config.cycleIntervalMs);
    parts.events?.flush(); // what happened before has no epoch
    this.fencing.setEpoch(epoch);
    const detail = `replica ${this.life.view().name} is active with epoch ${epoch}`;
    parts.events?.note({ kind: 'takeover', detail });
    const { stored, isUnreadable } = this.#pausesIn(controls.pauses);
    const rails = railsOf(this.#config);
    const term = createTerm(parts, {
      epoch,
      replica: this.life.port(false),
      inherited,
      settings: {
        ...rails,
        // The settings may have been reloaded while the standby's shard ended.
        isPaused: controls.isPaused || rails.isPaused || isUnreadable,
        isDryRun: controls.isDryRun || rails.isDryRun,
      },
      controls: { stored, store: { write: (text) => this.life.pausesChanged(text) } },
      usage: { read: () => usage, store: { write: (text) => this.life.writeUsage(text) } },
    });
    this.#term = term;
    this.#onActive(term);
    term.shard.start();
  }

  /** H2: a record that cannot be read may have stopped anything, so the replica stops everything. */
  #pausesIn(text: string): { stored: readonly Control[]; isUnreadable: boolean } {
    try {
      return { stored: text === '' ? [] : readControls(text), isUnreadable: false };
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      const next = 'the kill switch is on: look at the key controls in the directory, then send SIGHUP';
      this.#options.log.error('replica_controls_unreadable', { detail: error.message, next });
      return { stored: [], isUnreadable: true };
    }
  }

  /** F7: an active shard knows its clusters once its providers are listed. */
  #listedTables(): ShardTables | null {
    const shard = this.#term?.shard;
    const isListed = shard !== undefined && !shard.isStandby && shard.reconciler.notListedYet().length === 0;
    return isListed ? this.#parts!.tables : null;
  }

  #lagMs(): number {
    const nowMs = systemUptime();
    return Math.max(0, ...[...this.#listedMs.values()].map((listedMs) => nowMs - listedMs));
  }

  #log(event: LifeEvent): void {
    const kind = `replica_${event.kind.replaceAll('-', '_')}`;
    logEvent(this.#options.log, this.#isOldNews(event) ? 'debug' : (LEVELS[event.kind] ?? 'info'), {
      ...event,
      kind,
    });
  }

  /** A directory that is away fails every second. */
  #isOldNews({ kind }: LifeEvent): boolean {
    if (kind !== 'directory-failed') return false;
    const nowMs = systemUptime();
    const isOld = nowMs - this.#failureLoggedMs < FAILURE_LOG_MS;
    if (!isOld) this.#failureLoggedMs = nowMs;
    return isOld;
  }
}

/** Stable over restarts, and different for replicas on one host. */
function replicaNameOf({ replica, listen }: ShardConfig): string {
  return replica === '' ? `${hostname()}-${listen.port}` : replica;
}

function controlsOf({ actuationPaused, dryRun }: ShardConfig): Controls {
  return { isPaused: actuationPaused, isDryRun: dryRun };
}

function readinessOf(reason: string): Readiness {
  return { isReady: reason === '', reason };
}
