/**
 * The life of a replica: standby → active → ended. It never goes back: a replica that was replaced ends, and its process is started
 * again as a standby. So everything that a shard counts and measures begins with the process or with the takeover (F4).
 *
 *   standby   reads the fleet, stands for election
 *   active    decides and acts; adrift while it is not confirmed: removals are held (F3)
 *   ended     replaced, handed over, or failed
 *
 * It knows neither shards nor sockets nor clocks. What it does in each role is `ReplicaWork`, which a process implements with real
 * shards, and the simulator with the same shards on virtual time.
 */
import { assert } from '../base/assert.ts';
import type { Confirmation } from '../base/confirmation.ts';
import { ShardError } from '../base/errors.ts';
import { Candidacy, type CandidacyOptions } from '../directory/election/candidacy.ts';
import type { Leadership, LeadershipEnd } from '../directory/election/leadership.ts';
import { type ReplicaEvent, retryMsOf } from '../directory/election/options.ts';
import { readActive } from '../directory/election/records.ts';
import type { Mirror } from '../directory/mirror.ts';
import type { Comparison } from '../directory/port.ts';
import type { ReplicaPort, ReplicaView } from '../shard/ports/replica.ts';
import { type ActiveReplica, ActiveReplicaCopy } from './active-replica.ts';
import { type ControlsEvent, type ControlsHome, ControlsKeeper } from './controls.ts';
import { claimPartitions, type PartitionProvider } from './partitions.ts';
import { type Controls, type ReplicaRecord, readReplica, type SharedControls } from './records.ts';
import { Registration } from './registration.ts';
import { UsageKeeper } from './usage.ts';

/** How a replica begins its work as the active one. */
export interface Term {
  /** On the disk already. */
  readonly epoch: number;
  /** The switches are the stricter of this process's settings and the directory. */
  readonly controls: SharedControls;
  /** H9: what the disruption budgets used, as the last active replica wrote it; null: none did. */
  readonly usage: string | null;
}

export interface ReplicaWork {
  /** Kill switch and dry run as this process's settings have them now. */
  controls(): Controls;
  /** Whether its inventory is complete, and how old it is. */
  readiness(): { readonly isReady: boolean; readonly lagMs: number };
  /** F4: ends the standby's shard and starts a new one over its inventory. */
  activate(term: Term): Promise<void>;
  /** While this holds no cycle is expected: the active shard waits for its first listings. */
  isWaiting(): boolean;
}

export type LifeEvent =
  | ReplicaEvent
  /** `controls-taken`: the directory holds the shard back, although this process's settings do not. */
  | ControlsEvent
  | { readonly kind: 'name-taken' };

export type LifeEnd =
  | Exclude<LeadershipEnd, { kind: 'released' }>
  /** It cannot go on, and a person must act. */
  | { readonly kind: 'failed'; readonly error: unknown };

export interface ReplicaLifeOptions
  extends Omit<CandidacyOptions, 'addresses' | 'isWaiting' | 'onShardKeys' | 'onEvent'> {
  readonly confirmation: Confirmation;
  readonly version: string;
  readonly providers: readonly PartitionProvider[];
  readonly work: ReplicaWork;
  readonly controlsHome: ControlsHome;
  readonly onEvent: (event: LifeEvent) => void;
}

export class ReplicaLife {
  readonly active: ActiveReplicaCopy;
  /** Resolves when the process should end. A handover is no such end: the process ends itself then. */
  readonly ended: Promise<LifeEnd>;
  readonly #options: ReplicaLifeOptions;
  readonly #controls: ControlsKeeper;
  readonly #usage: UsageKeeper;
  #addresses: readonly string[] = [];
  #candidacy: Candidacy | null = null;
  #registration: Registration | null = null;
  #leadership: Leadership | null = null;
  #replicas: readonly ReplicaRecord[] = [];
  #isActivated = false;
  #isClosing = false;
  #hasReadKeys = false;
  #wasNameTaken = false;
  /** Of uptime: since when it is adrift. */
  #adriftSinceMs: number | null = null;
  #adriftMs = 0;
  #directoryFailures = 0;
  #lastFailure = '';
  #end: (end: LifeEnd) => void = () => {};

  constructor(options: ReplicaLifeOptions) {
    this.#options = options;
    this.active = new ActiveReplicaCopy(options.instance);
    this.#controls = new ControlsKeeper(options, (event) => options.onEvent(event));
    this.#usage = new UsageKeeper(options);
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /**
   * Begins as a standby that others reach at these addresses. Rejects with PartitionTakenError if a provider belongs to another shard;
   * a directory that does not answer is no failure of the start.
   */
  async start(addresses: readonly string[]): Promise<void> {
    this.#addresses = addresses;
    if (await this.#claimPartitions()) this.#stand();
    else this.#claimLater();
  }

  /** Whether the directory was read once: who is active, if any, is known from then on. */
  get hasReadKeys(): boolean {
    return this.#hasReadKeys;
  }

  get isConfirmed(): boolean {
    return this.#leadership?.isConfirmed ?? false;
  }

  /** What a transaction compares that must fail once another replica is active; null while this one is not. */
  get guard(): Comparison | null {
    return this.#leadership?.guard() ?? null;
  }

  /** For the shard of one of the two roles. */
  port(isStandby: boolean): ReplicaPort {
    return {
      isStandby,
      isConfirmed: () => !isStandby && this.isConfirmed,
      view: () => this.view(),
      fenced: () => void this.#leadership?.fenced(),
    };
  }

  /** After every ordinary cycle of the active shard. */
  cycleEnded(): void {
    this.#noteAdrift();
    this.#leadership?.cycleEnded();
  }

  /** C4: this process's settings changed. If it is active, they count from now on, for every replica. */
  controlsChanged(): void {
    if (this.#leadership !== null) this.#controls.switched(this.#leadership, this.#options.work.controls());
  }

  /**
   * H2: a command changed the pauses of the active shard. Rejects, and changes nothing, if this replica cannot keep them. The directory gets
   * them as soon as it answers: `areControlsShared`.
   */
  async pausesChanged(pauses: string): Promise<void> {
    assert(this.#leadership !== null, 'only the active replica takes commands');
    await this.#controls.pausesChanged(this.#leadership, pauses);
  }

  /** Whether the replica that takes over next would begin with the controls that are in force here. */
  get areControlsShared(): boolean {
    return this.#controls.areShared;
  }

  /** H9: rejects with a ShardError if the directory does not have it. */
  writeUsage(text: string): Promise<void> {
    return this.#usage.write(this.#leadership, text);
  }

  /** The readiness changed, so others should see it soon. */
  readinessChanged(): void {
    this.#registration?.update();
  }

  view(): ReplicaView {
    const { replica } = this.#options;
    const current = this.active.current();
    const isStandby = this.#leadership === null;
    return {
      name: replica,
      role: isStandby ? 'standby' : this.isConfirmed ? 'active' : 'adrift',
      text: isStandby ? this.#standbyText(current) : this.#activeText(),
      activeReplica: current?.replica ?? '',
      activeAddress: current?.addresses[0] ?? '',
      replicas: this.#replicas
        .map((record) => ({
          name: record.replica,
          role: record.role,
          address: record.addresses[0] ?? '',
          isReady: record.isReady,
          version: record.version,
          lagMs: 1_000 * record.lagSeconds,
        }))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    };
  }

  /** The running replicas of the shard, this one included, as far as the directory was read. */
  get replicas(): readonly ReplicaRecord[] {
    return this.#replicas;
  }

  gauges() {
    this.#noteAdrift();
    const { uptime } = this.#options.clocks;
    return {
      isActive: this.#leadership !== null,
      isConfirmed: this.isConfirmed,
      epoch: this.#leadership?.epoch ?? this.#options.marks.epoch,
      sightingAgeMs: this.#leadership?.sightingAgeMs ?? 0,
      adriftMs: this.#adriftMs + (this.#adriftSinceMs === null ? 0 : uptime() - this.#adriftSinceMs),
      takeovers: this.#isActivated ? 1 : 0,
      directoryFailures: this.#directoryFailures,
      lagMs: this.#options.work.readiness().lagMs,
    };
  }

  /**
   * F5: the handover. `stopActions` starts no more actions and resolves when those in flight have ended; until then the lease is
   * renewed. Then another replica can take over at once, and `beforeClose` may still see which one does.
   */
  async handOver(stopActions: () => Promise<void>, beforeClose = () => Promise.resolve()): Promise<void> {
    this.#isClosing = true;
    if (this.#leadership === null) this.#candidacy?.close();
    await stopActions();
    await this.#leadership?.release();
    await beforeClose();
    await this.close();
  }

  /** Ends its timers and removes its entry; the lease of an active replica expires by itself. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#candidacy?.close();
    this.#controls.close();
    await this.#registration?.close();
  }

  /** false: the directory did not answer. */
  async #claimPartitions(): Promise<boolean> {
    const { directory, keys, shard, providers } = this.#options;
    try {
      await claimPartitions(directory, keys, shard, providers);
      return true;
    } catch (error) {
      if (!(error instanceof ShardError) || error.next === 'refuse-to-start') throw error;
      this.#note({ kind: 'directory-failed', detail: error.message });
      return false;
    }
  }

  #claimLater(): void {
    const { scheduler, leaseMs } = this.#options;
    scheduler.after(retryMsOf(leaseMs), () => {
      if (this.#isClosing) return;
      this.#claimPartitions().then(
        (isDone) => (isDone ? this.#stand() : this.#claimLater()),
        (error: unknown) => this.#end({ kind: 'failed', error }),
      );
    });
  }

  #stand(): void {
    if (this.#isClosing) return;
    const options = this.#options;
    const { directory, keys, shard, replica, instance, leaseMs, scheduler, clocks } = options;
    this.#registration = new Registration({
      directory,
      key: keys.replica(shard, replica),
      instance,
      leaseMs,
      scheduler,
      uptime: clocks.uptime,
      record: () => this.#record(),
      onNameTaken: () => this.#noteNameTaken(),
    });
    this.#candidacy = new Candidacy({
      ...options,
      addresses: this.#addresses,
      isWaiting: () => !this.#isActivated || this.#isClosing || options.work.isWaiting(),
      onShardKeys: (copy) => this.#readKeys(copy),
      onEvent: (event) => this.#note(event),
    });
    this.#candidacy.whenActive.then(
      (leadership) => this.#lead(leadership),
      (error: unknown) => this.#end({ kind: 'failed', error }),
    );
  }

  async #lead(leadership: Leadership): Promise<void> {
    const { work } = this.#options;
    if (this.#isClosing) {
      await leadership.release();
      return;
    }
    this.#leadership = leadership;
    this.#noteAdrift();
    leadership.ended.then((end) => {
      if (end.kind !== 'released') this.#end(end);
    });
    // C4: before the first cycle, whatever time the directory takes to answer.
    const controls = await this.#controls.takeOver(leadership, () => work.controls());
    if (controls === null || this.#isClosing) return;
    const usage = await this.#usage.takeOver(leadership, { isClosed: () => this.#isClosing });
    if (usage === null || this.#isClosing) return;
    await work.activate({ epoch: leadership.epoch, controls, usage: usage.text });
    this.#isActivated = true;
    this.#registration?.update();
  }

  #readKeys(copy: Pick<Mirror, 'get' | 'entries'>): void {
    const { keys, shard } = this.#options;
    this.#hasReadKeys = true;
    const prefix = keys.replica(shard, ' ').slice(0, -'%20'.length);
    this.#replicas = copy.entries
      .filter(({ key }) => key.startsWith(prefix))
      .map(({ value }) => readReplica(value))
      .filter((record) => record !== null);
    const controls = copy.get(keys.controls(shard));
    if (controls !== null && this.#leadership === null) this.#controls.follow(controls.value);
    const entry = copy.get(keys.active(shard));
    this.active.note(entry === null ? null : readActive(entry.value));
  }

  #record(): ReplicaRecord {
    const { replica, instance, version, work } = this.#options;
    const { isReady, lagMs } = work.readiness();
    return {
      replica,
      instance,
      addresses: this.#addresses,
      role: this.#leadership === null ? 'standby' : 'active',
      isReady,
      version,
      lagSeconds: Math.round(lagMs / 1_000),
    };
  }

  #standbyText(current: ActiveReplica | null): string {
    if (!this.#hasReadKeys) {
      const why = this.#lastFailure === '' ? '' : ` (${this.#lastFailure})`;
      return `standby: the directory has not been read yet${why}`;
    }
    if (current === null) return `standby: no replica of shard ${this.#options.shard} is active now`;
    const where = current.addresses.length === 0 ? '' : ` at ${current.addresses[0]}`;
    return `standby: replica ${current.replica} is active${where} with epoch ${current.epoch}`;
  }

  #activeText(): string {
    const { epoch } = this.#leadership!;
    if (this.isConfirmed) return `active with epoch ${epoch}`;
    const forSeconds = Math.round(this.gauges().adriftMs / 1_000);
    const why = this.#lastFailure === '' ? 'it was not active for a whole lease yet' : this.#lastFailure;
    return `adrift with epoch ${epoch} for ${forSeconds} s: bindings go on, removals are held (${why})`;
  }

  #note(event: ReplicaEvent): void {
    if (event.kind === 'directory-failed') {
      this.#directoryFailures++;
      this.#lastFailure = event.detail;
    } else if (event.kind === 'confirmed' || event.kind === 'standby') this.#lastFailure = '';
    if ((event.kind === 'restored' || event.kind === 'resumed') && this.#leadership !== null)
      this.#controls.writeAgain(this.#leadership);
    this.#noteAdrift();
    this.#options.onEvent(event);
  }

  #noteAdrift(): void {
    const nowMs = this.#options.clocks.uptime();
    const isAdrift = this.#leadership !== null && !this.isConfirmed;
    if (isAdrift) this.#adriftSinceMs ??= nowMs;
    else if (this.#adriftSinceMs !== null) {
      this.#adriftMs += nowMs - this.#adriftSinceMs;
      this.#adriftSinceMs = null;
    }
  }

  #noteNameTaken(): void {
    if (this.#wasNameTaken) return;
    this.#wasNameTaken = true;
    this.#options.onEvent({ kind: 'name-taken' });
  }
}
