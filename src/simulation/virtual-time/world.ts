/**
 * A world on one thread: simulated providers, clusters and network, and processes of the real shard. One process is current;
 * another, which was stopped and replaced, may still run. Every delay and every accident is drawn from the seed.
 */
import { ShardError } from '../../base/errors.ts';
import { Pulse } from '../../base/pulse.ts';
import { Random } from '../../base/random.ts';
import type { RollupOutcome } from '../../needs/need-table.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import { FencingTokens } from '../../provider/client/fencing.ts';
import { deriveAndCompare } from '../../shard/check/derive.ts';
import type { CheckImage } from '../../shard/check/image.ts';
import { readControls } from '../../shard/controls/control.ts';
import type { ShardOptions } from '../../shard/options.ts';
import type { CheckPort } from '../../shard/ports/check.ts';
import type { Control } from '../../shard/ports/controls.ts';
import type { NotedEvent } from '../../shard/ports/events.ts';
import type {
  AcceptedActionEnded,
  ActionRecord,
  CycleReport,
  ListingReport,
  MachineBound,
  ShardEvent,
  ShardObserver,
} from '../../shard/ports/observer.ts';
import type { ProviderAnswer, ProviderCall } from '../../shard/ports/providers.ts';
import type { WhatIfThreads } from '../../shard/ports/what-if.ts';
import { SHARD_DEFAULTS, type ShardSettings } from '../../shard/settings.ts';
import { Shard } from '../../shard/shard.ts';
import { createTables } from '../../shard/tables.ts';
import { SimulatedProvider } from '../provider/provider.ts';
import type { ProviderSettingsChange } from '../provider/settings.ts';
import { SimulatedCluster } from './clusters.ts';
import { Violation } from './invariants.ts';
import { Network } from './network.ts';
import { SimulatedOperatorsPort } from './operators-port.ts';
import { type SimulatedLink, SimulatedProviderPort } from './provider-port.ts';
import { type Life, VirtualTime } from './time.ts';

/** Checks and counts; changes nothing. */
export interface Watcher {
  started(process: Process): void;
  cycleEnded(process: Process, report: CycleReport): void;
  actionEnded(process: Process, record: ActionRecord): void;
  acceptedActionEnded(process: Process, ended: AcceptedActionEnded): void;
  listingEnded(process: Process, report: ListingReport): void;
  machineBound(process: Process, bound: MachineBound): void;
  happened(process: Process, event: ShardEvent): void;
  noted(process: Process, event: NotedEvent): void;
  /** The process hands a call to a thread. `answered` follows if the process is then still alive. */
  called(process: Process, call: ProviderCall): void;
  /** The thread sends it. */
  sent(process: Process, call: ProviderCall): void;
  answered(process: Process, call: ProviderCall, answer: ProviderAnswer): void;
  read(process: Process, machineId: string): void;
  /** The process requests a listing of the provider with this index. */
  listed(process: Process, provider: number): void;
}

export interface WorldOptions {
  readonly seed: number;
  readonly settings?: Partial<ShardSettings>;
  /** Settings of each provider; default: one provider with the defaults. */
  readonly providers?: readonly ProviderSettingsChange[];
  /** How many recent entries the ledger of each provider keeps. */
  readonly ledgerEntriesMax?: number;
  readonly clusterIds: readonly string[];
  /** Time between two roll-ups of a connected cluster. */
  readonly rollupIntervalMs?: number;
  /** Runs from-scratch checks (settings.checkEveryCycles); default: this thread. */
  readonly checker?: CheckPort;
  /** Y4: threads for what-if questions. Default: the shard answers none. */
  readonly whatIfThreads?: WhatIfThreads;
  /** T2: lets decisions throw. `clusterId` is '' if the stage is not about one cluster. */
  readonly probe?: (stage: ProbedStage, clusterId: string) => void;
  /** T1: rows of a cluster that always fit in the shared tables. Default: as in production. */
  readonly shareRowsMin?: number;
  /** T7: rows of a roll-up that one cycle takes up. Default: as in production. */
  readonly takeUpRows?: number;
  /** The delays of a machine's calls do not depend on calls for other machines. Default: they do. */
  readonly isNetworkByMachine?: boolean;
  readonly watcher?: Partial<Watcher>;
}

/**
 * A tenant with a cluster and a provider of its own. It joins a world without a trace in it: accidents do not hit it, and it
 * takes no number of the world's random stream, so the world has the same history with and without it.
 */
export interface Guest {
  readonly cluster: SimulatedCluster;
  readonly link: SimulatedLink;
}

/** One shard process. */
export interface Process {
  readonly epoch: number;
  readonly shard: Shard;
  readonly operators: SimulatedOperatorsPort;
  readonly life: Life;
  /** Clusters whose demand the process has accepted. */
  readonly reported: Set<string>;
  /** Providers that the process has listed. */
  readonly listed: Set<number>;
}

type ProbedStage = Parameters<NonNullable<ShardOptions['probe']>>[0];

const START_MS = Date.UTC(2026, 0, 1);
const MACHINES_MAX = 512;
const RECONNECT_MS = 500;
/** Longer than in production: each beat is an event of the simulation. */
const STALL_AFTER_MS = 8_000;
/** From the main thread to the thread that sends. Long enough for stops to fall into it. */
const HAND_OVER_MS = 20;
/** A thread that wakes up after the main thread. */
const LATE_THREAD_MS = 5;

const checkInPlace: CheckPort = {
  open: async (bytes) => ({
    buffer: new SharedArrayBuffer(bytes),
    run: async (image) => deriveAndCompare(image as CheckImage),
    close: () => {},
  }),
};

export class SimulatedWorld {
  readonly time = new VirtualTime(START_MS);
  readonly random: Random;
  readonly links: readonly SimulatedLink[];
  readonly clusters = new Map<string, SimulatedCluster>();
  /** With the guest, if there is one. Its link is the last. */
  allLinks: readonly SimulatedLink[];
  readonly allClusters = new Map<string, SimulatedCluster>();
  readonly settings: ShardSettings;
  /** The current process, to which operators connect. */
  process: Process | null = null;
  /** A process that was replaced while it was stopped and is not dead. */
  former: Process | null = null;
  /** Controls that were commanded and not lifted; some may have expired. */
  readonly commanded = new Map<string, Control>();
  /** Why controls cannot be stored; ''. */
  storeFailure = '';
  /** The process stops for this long as soon as it has handed over this many further calls; null: it does not. */
  stopAtCall: { calls: number; readonly stop: (process: Process) => void } | null = null;
  readonly #options: WorldOptions;
  /** As a process stored its controls last. */
  #storedControls: string | null = null;
  /** H9: as a process wrote last what its budgets used. */
  storedUsage: string | null = null;
  #epoch = 0;

  constructor(options: WorldOptions) {
    const random = new Random(options.seed);
    this.#options = options;
    this.random = random;
    this.settings = {
      ...SHARD_DEFAULTS,
      machinesMax: MACHINES_MAX,
      checkEveryCycles: 0,
      stallAfterMs: STALL_AFTER_MS,
      ...options.settings,
    };
    this.links = (options.providers ?? [{}]).map((settings, index) => ({
      name: index === 0 ? 'simulated' : `simulated-${index}`,
      network: new Network(this.time, random.fork(), options.isNetworkByMachine),
      provider: new SimulatedProvider({
        settings: { seed: random.uint32(), ...settings },
        timers: this.time.timers(),
        ...(options.ledgerEntriesMax === undefined ? {} : { ledgerEntriesMax: options.ledgerEntriesMax }),
      }),
      bend: null,
      lies: new Map(),
      latestLies: new Map(),
    }));
    this.allLinks = this.links;
    for (const id of options.clusterIds) this.#newCluster(id);
  }

  /** A cluster that was not there before connects. */
  addCluster(id: string): SimulatedCluster {
    const cluster = this.#newCluster(id);
    this.reconnect(cluster);
    return cluster;
  }

  /** The cluster disconnects and never returns. */
  removeCluster(cluster: SimulatedCluster): void {
    this.disconnect(cluster);
    this.process?.reported.delete(cluster.id);
    this.clusters.delete(cluster.id);
    this.allClusters.delete(cluster.id);
  }

  /** The first provider; most worlds have only one. */
  get link(): SimulatedLink {
    return this.links[0]!;
  }

  get provider(): SimulatedProvider {
    return this.link.provider;
  }

  get network(): Network {
    return this.link.network;
  }

  /** Before the first process starts. */
  join({ cluster, link }: Guest): void {
    this.allLinks = [...this.links, link];
    this.allClusters.set(cluster.id, cluster);
  }

  /** Starts a new process with a new epoch and empty tables. */
  startShard(): Process {
    const life = this.time.life();
    const { watcher = {}, probe, shareRowsMin, takeUpRows, whatIfThreads } = this.#options;
    const tables = createTables({
      ...this.settings,
      guards: true,
      entriesMin: MACHINES_MAX,
      ...(shareRowsMin === undefined ? {} : { shareRowsMin }),
      ...(takeUpRows === undefined ? {} : { takeUpRows }),
    });
    const { clusters } = tables.inventory.tables;
    const epoch = ++this.#epoch;
    const clocks = { wall: life, uptime: life.uptimeMs };
    const pulse = Pulse.create(this.settings.stallAfterMs, clocks);
    const { shared } = FencingTokens.create(this.settings.shardId, epoch, pulse);
    const port = new SimulatedProviderPort({
      links: this.allLinks,
      inventory: tables.inventory.share(),
      tokens: FencingTokens.open(shared, clocks),
      handOver: () => this.#handOver(life),
      onSent: (call) => watcher.sent?.(process, call),
      clock: life,
    });
    const listed = new Set<number>();
    const observer: ShardObserver = {
      audits: false,
      cycleEnded: (report) => watcher.cycleEnded?.(process, report),
      actionEnded: (record) => watcher.actionEnded?.(process, record),
      acceptedActionEnded: (ended) => watcher.acceptedActionEnded?.(process, ended),
      listingEnded: (report) => watcher.listingEnded?.(process, report),
      machineBound: (bound) => watcher.machineBound?.(process, bound),
      happened: (event) => watcher.happened?.(process, event),
      noted: (event) => watcher.noted?.(process, event),
    };
    const operators = new SimulatedOperatorsPort(this.allClusters);
    const shard = new Shard({
      settings: this.settings,
      tables,
      epoch,
      providers: {
        names: port.names,
        call: async (call) => {
          watcher.called?.(process, call);
          this.#countCall(process, call);
          const answer = await life.observe(port.call(call));
          watcher.answered?.(process, call, answer);
          return answer;
        },
        read: (read) => {
          watcher.read?.(process, read.machineId);
          return life.observe(port.read(read));
        },
        list: async (request) => {
          watcher.listed?.(process, request.provider);
          const answer = await life.observe(port.list(request));
          if (answer.kind === 'listed') listed.add(request.provider);
          return answer;
        },
      },
      operators: {
        requestBlob: (request) => life.observe(operators.requestBlob(request)),
        instructReclaim: (cluster, instruction) => operators.instructReclaim(cluster, instruction),
        nodeChanged: (cluster, slot, machineId) => operators.nodeChanged(cluster, slot, machineId),
        nodeLeft: (node) => operators.nodeLeft(node),
        hintCapacity: (cluster, hint) => operators.hintCapacity(cluster, hint),
        pingAll: () => operators.pingAll(life),
        endAll: (reason) => operators.endAll(reason),
      },
      observer,
      pulse,
      clock: life,
      scheduler: life,
      stopwatch: () => this.time.nowMs(),
      checker: this.#options.checker ?? checkInPlace,
      ...(whatIfThreads === undefined ? {} : { whatIfThreads }),
      controls: {
        stored: this.#storedControls === null ? [] : readControls(this.#storedControls),
        store: {
          write: async (text) => {
            if (this.storeFailure !== '') throw new Error(this.storeFailure);
            if (!life.isOver() && this.process === process) this.#storedControls = text;
          },
        },
      },
      usage: {
        read: () => this.storedUsage,
        store: {
          write: async (text) => {
            if (this.storeFailure !== '' || this.process !== process)
              throw new Error(this.storeFailure || 'another process has the data directory');
            if (!life.isOver()) this.storedUsage = text;
          },
        },
      },
      ...(probe === undefined
        ? {}
        : { probe: (stage, ref) => probe(stage, ref === 0 ? '' : clusters.get(ref)) }),
    });
    operators.serve(shard.operatorCalls);
    const process: Process = { epoch, shard, operators, life, reported: new Set(), listed };
    this.process = process;
    watcher.started?.(process);
    shard.start();
    for (const cluster of this.clusters.values()) this.reconnect(cluster);
    return process;
  }

  /** Like kill -9: the process finishes nothing and sends nothing. */
  killShard(): void {
    this.process?.life.end();
    this.process = null;
    for (const cluster of this.allClusters.values()) cluster.disconnect();
  }

  /** Stops the process, moves its operators to a new one, and keeps it as `former`, which may be woken later. */
  replaceStopped(): void {
    const { process } = this;
    if (process === null) return;
    this.former?.life.end();
    this.former = process;
    process.life.stop();
    for (const cluster of this.allClusters.values()) this.#lose(process, cluster);
    this.startShard();
  }

  /** Ends a session; its process learns of it now or when it resumes. */
  disconnect(cluster: SimulatedCluster): void {
    if (this.process !== null) this.#lose(this.process, cluster);
  }

  /** Reconnects after a short random time, as a real operator would. */
  reconnect(cluster: SimulatedCluster): void {
    this.time.after(this.random.below(RECONNECT_MS), () => {
      if (this.allClusters.get(cluster.id) !== cluster) return; // it was removed
      if (this.connect(cluster)) this.#report(cluster);
    });
  }

  /** Opens a session now. Returns whether it could. */
  connect(cluster: SimulatedCluster): boolean {
    const { process } = this;
    if (process === null || cluster.session !== 0 || process.life.isStopped()) return false;
    process.operators.open(cluster);
    return true;
  }

  setDemand(cluster: SimulatedCluster, rows: SimulatedCluster['rows']): void {
    cluster.rows = rows;
    this.#report(cluster);
  }

  /** Sends a roll-up once. V2: the shard rejects one with an invalid row as a whole; checks that demand then stays. */
  sendOnce(cluster: SimulatedCluster, rows: readonly RollupRow[]): RollupOutcome | 'refused' | 'unsent' {
    const { process } = this;
    if (process === null || cluster.session === 0 || process.life.isStopped()) return 'unsent';
    const demand = () => {
      const { needs, inventory } = process.shard;
      const ref = inventory.tables.clusters.find(cluster.id);
      return `${needs.sliceCount(ref)} needs in version ${needs.versionOf(ref)}`;
    };
    const before = demand();
    try {
      return this.#accept(process, cluster, rows);
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
    }
    if (demand() === before) return 'refused';
    throw new Violation(
      `V2: the demand of ${cluster.id} was ${before}, and is ${demand()} after a roll-up that the shard refused`,
    );
  }

  /** Threads stop and wake with their process, before its main thread or after it. */
  #handOver(life: Life): Promise<void> {
    return new Promise((resolve) => {
      this.time.after(HAND_OVER_MS, () => {
        const isLate = life.isStopped() && life.stopCount() % 2 === 0;
        life.receive(isLate ? () => this.time.after(LATE_THREAD_MS, () => life.receive(resolve)) : resolve);
      });
    });
  }

  /** Calls for a guest do not count: it leaves no trace in the world. */
  #countCall(process: Process, { provider }: ProviderCall): void {
    const { stopAtCall } = this;
    if (stopAtCall === null || process !== this.process || provider >= this.links.length) return;
    if (--stopAtCall.calls > 0) return;
    this.stopAtCall = null;
    stopAtCall.stop(process);
  }

  #newCluster(id: string): SimulatedCluster {
    const cluster = new SimulatedCluster(id, this.time, this.random.fork());
    this.clusters.set(id, cluster);
    this.allClusters.set(id, cluster);
    this.#reportOften(cluster);
    return cluster;
  }

  #lose(process: Process, cluster: SimulatedCluster): void {
    const { session } = cluster;
    if (session === 0) return;
    cluster.disconnect();
    process.life.receive(() => process.operators.closed(cluster, session));
  }

  #reportOften(cluster: SimulatedCluster): void {
    const everyMs = this.#options.rollupIntervalMs ?? 10_000;
    const report = () => {
      if (this.clusters.get(cluster.id) !== cluster) return; // it was removed
      this.#report(cluster);
      this.time.after(everyMs, report);
    };
    this.time.after(this.random.below(everyMs), report);
  }

  #report(cluster: SimulatedCluster): void {
    const { process } = this;
    const { rows, session } = cluster;
    if (process === null || session === 0) return;
    process.life.receive(() => {
      if (cluster.session === session) this.#accept(process, cluster, rows);
    });
  }

  #accept(process: Process, cluster: SimulatedCluster, rows: readonly RollupRow[]): RollupOutcome {
    const steps = process.shard.operatorCalls.acceptRollup(
      cluster.id,
      cluster.digestsOf(rows),
      (index) => rows[index]!,
    );
    let step = steps.next();
    while (!step.done) step = steps.next();
    if (step.value !== 'quarantined') process.reported.add(cluster.id);
    return step.value;
  }
}
