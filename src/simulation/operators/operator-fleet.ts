/**
 * Many operators in one process: every cluster of a catalogue's demand with a session of its own, changing
 * demand, and bursts and shrinkage now and then. Clusters are made and connected one after the other over the
 * ramp, so that the shard and we are not busy with all of them at once.
 */
import { Random } from '../../base/random.ts';
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
import type { OperatorBehaviour, ReconnectSettings } from './settings.ts';

export interface FleetSettings {
  /** `host:port` of the shard. */
  readonly address: string;
  readonly tls: TlsFiles | undefined;
  /** Connections that all clusters share; 0: one each. */
  readonly connectionCount: number;
  readonly catalogue: Catalogue;
  readonly clusterCount: number;
  /** Of the whole fleet, as the provider has it: the clusters ask for 97 % of them. */
  readonly machineCount: number;
  readonly seed: number;
  /** Of a cluster's rows, replaced, added or removed with each roll-up. */
  readonly churnShare: number;
  readonly rampMs: number;
  readonly weather: WeatherSettings;
  readonly behaviour: OperatorBehaviour;
  readonly reconnect: ReconnectSettings;
}

/** Between two batches of clusters that are made and connected. */
const RAMP_STEP_MS = 20;

export class OperatorFleet {
  readonly settings: FleetSettings;
  readonly binds = new BindTotals();
  readonly nodes = new NodeTotals();
  readonly counters = new OperatorCounters();
  readonly acks = new LatencyHistogram();
  readonly clusters: FleetCluster[] = [];
  /** Called whenever a session begins or ends to stand. */
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
    // Its own numbers: churn must not depend on how many clusters there are.
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
