/**
 * A whole world on one thread: providers, clusters, a network between them, and one shard process at a time, which is the
 * real shard. Every delay and every accident is drawn from the seed.
 */
import { Random } from '../base/random.ts';
import { SimulatedProvider } from '../provider/simulated/provider.ts';
import type { ProviderSettingsChange } from '../provider/simulated/settings.ts';
import { deriveAndCompare } from '../shard/check/derive.ts';
import type { CheckImage } from '../shard/check/image.ts';
import type { CheckPort } from '../shard/ports/check.ts';
import type { ActionRecord, CycleReport, ShardEvent, ShardObserver } from '../shard/ports/observer.ts';
import { SHARD_DEFAULTS, type ShardSettings } from '../shard/settings.ts';
import { Shard } from '../shard/shard.ts';
import { createTables } from '../shard/tables.ts';
import { SimulatedCluster } from './clusters.ts';
import { Network } from './network.ts';
import { SimulatedOperatorsPort } from './operators-port.ts';
import { type SimulatedLink, SimulatedProviderPort } from './provider-port.ts';
import { type Life, VirtualTime } from './time.ts';

export interface WorldOptions {
  readonly seed: number;
  readonly settings?: Partial<ShardSettings>;
  readonly provider?: ProviderSettingsChange;
  readonly clusterIds: readonly string[];
  /** A roll-up from every connected cluster this often. */
  readonly rollupIntervalMs?: number;
  /** Who makes from-scratch checks (settings.checkEveryCycles); this thread, unless given. */
  readonly checker?: CheckPort;
  readonly onCycle?: (report: CycleReport) => void;
  readonly onAction?: (record: ActionRecord) => void;
  readonly onEvent?: (event: ShardEvent) => void;
  readonly onBound?: (latencyMs: number) => void;
}

/** One shard process. */
export interface Process {
  readonly shard: Shard;
  readonly operators: SimulatedOperatorsPort;
  readonly life: Life;
  readonly inFlight: Map<string, number>;
  /** Clusters that have reported to it. */
  readonly reported: Set<string>;
}

const START_MS = Date.UTC(2026, 0, 1);
const MACHINES_MAX = 512;
const RECONNECT_MS = 500;

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
  readonly provider: SimulatedProvider;
  readonly network: Network;
  readonly clusters = new Map<string, SimulatedCluster>();
  readonly link: SimulatedLink;
  readonly settings: ShardSettings;
  process: Process | null = null;
  readonly #options: WorldOptions;
  #epoch = 0;

  constructor(options: WorldOptions) {
    const random = new Random(options.seed);
    this.#options = options;
    this.random = random;
    this.settings = {
      ...SHARD_DEFAULTS,
      machinesMax: MACHINES_MAX,
      checkEveryCycles: 0,
      ...options.settings,
    };
    this.network = new Network(this.time, random.fork());
    this.provider = new SimulatedProvider({
      settings: { seed: random.uint32(), ...options.provider },
      timers: this.time.timers(),
    });
    this.link = { name: 'simulated', provider: this.provider, network: this.network };
    for (const id of options.clusterIds) {
      const cluster = new SimulatedCluster(id, this.time, random.fork());
      this.clusters.set(id, cluster);
      this.#reportOften(cluster);
    }
  }

  /** A new process, with an epoch of its own and no memory of the one before. */
  startShard(): Process {
    const life = this.time.life();
    const tables = createTables({ ...this.settings, guards: true });
    const inFlight = new Map<string, number>();
    const epoch = ++this.#epoch;
    const port = new SimulatedProviderPort({
      links: [this.link],
      inventory: tables.inventory.share(),
      shardId: this.settings.shardId,
      epoch,
      inFlight,
    });
    const { onCycle, onAction, onEvent, onBound } = this.#options;
    const observer: ShardObserver = {
      audits: false,
      cycleEnded: (report) => onCycle?.(report),
      actionEnded: (record) => onAction?.(record),
      listingEnded: () => {},
      machineBound: (latencyMs) => onBound?.(latencyMs),
      happened: (event) => onEvent?.(event),
    };
    const shard = new Shard({
      settings: this.settings,
      tables,
      epoch,
      providers: {
        names: port.names,
        call: (call) => life.hear(port.call(call)),
        read: (read) => life.hear(port.read(read)),
        list: (request) => life.hear(port.list(request)),
      },
      observer,
      clock: life,
      scheduler: life,
      stopwatch: () => this.time.nowMs(),
      checker: this.#options.checker ?? checkInPlace,
    });
    const operators = new SimulatedOperatorsPort(this.clusters, shard);
    shard.connectOperators({
      requestBlob: (request) => life.hear(operators.requestBlob(request)),
      instructReclaim: (cluster, instruction) => operators.instructReclaim(cluster, instruction),
      nodeChanged: (cluster, slot, machineId) => operators.nodeChanged(cluster, slot, machineId),
      nodeLeft: (node) => operators.nodeLeft(node),
      hintCapacity: (cluster, hint) => operators.hintCapacity(cluster, hint),
      endAll: (reason) => operators.endAll(reason),
    });
    const process = { shard, operators, life, inFlight, reported: new Set<string>() };
    this.process = process;
    shard.start();
    for (const cluster of this.clusters.values()) this.reconnect(cluster);
    return process;
  }

  /** As by kill -9: nothing is finished, nothing is said. */
  killShard(): void {
    this.process?.life.end();
    this.process = null;
    for (const cluster of this.clusters.values()) cluster.disconnect();
  }

  disconnect(cluster: SimulatedCluster): void {
    this.process?.operators.close(cluster);
  }

  /** After a moment, as a real one would. */
  reconnect(cluster: SimulatedCluster): void {
    this.time.after(this.random.below(RECONNECT_MS), () => {
      const { process } = this;
      if (process === null || cluster.session !== 0) return;
      process.operators.open(cluster);
      this.#report(cluster);
    });
  }

  setDemand(cluster: SimulatedCluster, rows: SimulatedCluster['rows']): void {
    cluster.rows = rows;
    this.#report(cluster);
  }

  #reportOften(cluster: SimulatedCluster): void {
    const everyMs = this.#options.rollupIntervalMs ?? 10_000;
    const report = () => {
      this.#report(cluster);
      this.time.after(everyMs, report);
    };
    this.time.after(this.random.below(everyMs), report);
  }

  #report(cluster: SimulatedCluster): void {
    const { process } = this;
    if (process === null || cluster.session === 0) return;
    const { rows } = cluster;
    const steps = process.shard.acceptRollup(
      cluster.id,
      new Uint32Array(2 * rows.length),
      (index) => rows[index]!,
    );
    for (let step = steps.next(); !step.done; step = steps.next());
    process.reported.add(cluster.id);
  }
}
