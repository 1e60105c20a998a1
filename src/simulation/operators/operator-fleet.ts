/**
 * Many operators in one process: each cluster of a catalogue's demand has its own session and changing demand;
 * some clusters burst or shrink at times. The clusters connect one after the other during the ramp, so that
 * neither the shard nor this process handles all of them at once.
 */
import { Random } from '../../base/random.ts';
import type { ReconnectSettings } from '../../operator-kit/session-link.ts';
import type { TlsFiles } from '../../tls/files.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { SteadyDemand } from '../catalogue/steady-demand.ts';
import { BindTotals } from './bind-tickets.ts';
import { ShardChannels } from './channels.ts';
import { ClusterDemand } from './cluster-demand.ts';
import { OperatorCounters } from './counters.ts';
import { DemandWeather, type WeatherSettings } from './demand-weather.ts';
import { EncodedParts } from './encoded-parts.ts';
import { FleetCluster, type FleetShare } from './fleet-cluster.ts';
import { LatencyHistogram } from './latency-histogram.ts';
import { NodeTotals } from './node-book.ts';
import type { OperatorBehaviour } from './settings.ts';

export interface FleetSettings {
  /** `host:port` of the shard. */
  readonly address: string;
  readonly tls: TlsFiles | undefined;
  /** Number of connections that the clusters share; 0: one for each cluster. */
  readonly connectionCount: number;
  readonly catalogue: Catalogue;
  readonly clusterCount: number;
  /** Machines of the provider's whole fleet; the clusters ask for 97 % of them. */
  readonly machineCount: number;
  readonly seed: number;
  /** Share of a cluster's rows that each roll-up replaces, adds or removes. */
  readonly churnShare: number;
  readonly rampMs: number;
  readonly weather: WeatherSettings;
  readonly behaviour: OperatorBehaviour;
  readonly reconnect: ReconnectSettings;
}

/** Time between two batches of new clusters. */
const RAMP_STEP_MS = 20;

export class OperatorFleet {
  readonly settings: FleetSettings;
  readonly binds = new BindTotals();
  readonly nodes = new NodeTotals();
  readonly counters = new OperatorCounters();
  readonly acks = new LatencyHistogram();
  readonly clusters: FleetCluster[] = [];
  /** Called whenever a session opens or ends. */
  onSessionChange: () => void = () => {};
  readonly #channels: ShardChannels;
  readonly #demand: SteadyDemand;
  readonly #random: Random;
  readonly #parts = new EncodedParts();
  readonly #share: FleetShare;
  readonly #weather: DemandWeather;
  #startedMs = 0;
  #ramp: NodeJS.Timeout | null = null;

  constructor(settings: FleetSettings) {
    this.settings = settings;
    const { address, tls, connectionCount, catalogue, seed } = settings;
    this.#channels = new ShardChannels({ address, tls, connectionCount });
    this.#demand = new SteadyDemand(settings, new Random(seed));
    // A separate seed: churn must not depend on the number of clusters.
    this.#random = new Random(seed + 1);
    const { types } = catalogue.parts;
    this.#share = {
      typeIndexes: new Map(types.map(({ name }, index) => [name, index])),
      binds: this.binds,
      nodes: this.nodes,
      counters: this.counters,
      acks: this.acks,
      behaviour: settings.behaviour,
      reconnect: settings.reconnect,
      churnShare: settings.churnShare,
      onSessionChange: () => this.onSessionChange(),
    };
    this.#weather = new DemandWeather(this.clusters, types, settings.weather, this.#random.fork());
  }

  get standingCount(): number {
    let count = 0;
    for (const { session } of this.clusters) if (session.isStanding) count++;
    return count;
  }

  /** Machines that the clusters ask for now. */
  get wantedCount(): number {
    let count = 0;
    for (const { demand } of this.clusters) count += demand.wantedCount;
    return count;
  }

  /** The first cluster connects at once; throws if its TLS files cannot be used. */
  start(): void {
    this.#startedMs = Date.now();
    this.#addCluster();
    this.#rampUp();
    this.#weather.start();
  }

  async close(): Promise<void> {
    if (this.#ramp !== null) clearTimeout(this.#ramp);
    this.#weather.stop();
    await Promise.all(this.clusters.map(({ session }) => session.close()));
    this.#channels.close();
  }

  #rampUp(): void {
    const { clusterCount, rampMs } = this.settings;
    const share = rampMs === 0 ? 1 : (Date.now() - this.#startedMs) / rampMs;
    const dueCount = Math.min(clusterCount, Math.ceil(clusterCount * share));
    while (this.clusters.length < dueCount) this.#addCluster();
    this.#ramp = this.clusters.length < clusterCount ? setTimeout(() => this.#rampUp(), RAMP_STEP_MS) : null;
  }

  #addCluster(): void {
    const number = this.clusters.length;
    const demand = new ClusterDemand(this.#demand, number, this.#parts, this.#random.fork());
    const openStream = () => this.#channels.open(demand.clusterId, number);
    const cluster = new FleetCluster(demand, openStream, this.#share, this.#random.fork());
    this.clusters.push(cluster);
    cluster.session.start();
  }
}
