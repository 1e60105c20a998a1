/**
 * A realistic fleet with clusters whose demand changes as simulated operators change it: the fleet of `flotilla up` and of
 * the soak, without their processes. Each cluster reports every ten seconds; one step of the fleet is a tenth of a second,
 * so each step brings the roll-ups of a hundredth of the clusters. Roll-ups pass through the bytes of the wire: rows that
 * did not change keep their digest, as they do in a shard.
 */
import { ByteWriter } from '../../src/base/byte-writer.ts';
import { Random } from '../../src/base/random.ts';
import { RollupScan } from '../../src/session/rollup-scan.ts';
import { RowDecoder } from '../../src/session/row-decoder.ts';
import type { MachineType } from '../../src/simulation/catalogue/hardware.ts';
import type { SteadyDemand } from '../../src/simulation/catalogue/steady-demand.ts';
import { ClusterDemand } from '../../src/simulation/operators/cluster-demand.ts';
import { EncodedParts } from '../../src/simulation/operators/encoded-parts.ts';
import { EngineFleet } from './engine-fleet.ts';

/** A woken cycle every tenth of a second: less rest than a shard takes after a cycle of 50 ms, which is the slowest allowed. */
export const STEP_MS = 100;
/** Operators report every ten seconds. */
const STEPS_PER_ROLLUP = 100;

export class LiveFleet extends EngineFleet {
  readonly clusters: readonly ClusterDemand[];
  readonly types: readonly MachineType[];
  readonly random: Random;
  /** Steps since the start; the first is 1. */
  step = 0;
  readonly #churnShare: number;
  readonly #writer = new ByteWriter();
  readonly #scan = new RollupScan();
  readonly #decoder = new RowDecoder();

  constructor(machinesMax: number, demand: SteadyDemand, churnShare: number, seed = 5) {
    super(machinesMax);
    this.types = demand.catalogue.parts.types;
    this.#churnShare = churnShare;
    this.random = new Random(seed);
    const parts = new EncodedParts();
    this.clusters = Array.from(
      { length: demand.clusterCount },
      (_, cluster) => new ClusterDemand(demand, cluster, parts, this.random.fork()),
    );
  }

  /** Every cluster sends its demand as it is. */
  reportAll(): void {
    for (const [cluster, demand] of this.clusters.entries()) {
      this.nowMs += cluster % 40 === 0 ? 1 : 0;
      this.#report(demand);
    }
  }

  /** A tenth of a second passes: the clusters whose turn it is change their demand, also by `change`, and report it. */
  advance(change: (demand: ClusterDemand) => void = () => {}): void {
    this.step++;
    this.nowMs += STEP_MS;
    const { length } = this.clusters;
    const turn = this.step % STEPS_PER_ROLLUP;
    const end = Math.floor(((turn + 1) * length) / STEPS_PER_ROLLUP);
    for (let cluster = Math.floor((turn * length) / STEPS_PER_ROLLUP); cluster < end; cluster++) {
      const demand = this.clusters[cluster]!;
      demand.churn(this.#churnShare);
      change(demand);
      this.#report(demand);
    }
  }

  #report(demand: ClusterDemand): void {
    const { clusterId } = demand;
    const writer = this.#writer;
    writer.rewind();
    writer.text(0x0a, clusterId); // ClusterCapacityNeeds.cluster_id; the rows follow
    demand.writeRows(writer);
    const bytes = writer.take();
    const scan = this.#scan;
    for (const _ of scan.read(bytes, clusterId)); // a generator, so that a shard can pause
    this.#decoder.open(bytes);
    const decodeRow = (row: number) => this.#decoder.decode(scan.startOf(row), scan.endOf(row));
    this.needs.acceptDigested(clusterId, scan.digests, decodeRow, this.nowMs, 0);
    scan.close();
    this.#decoder.close();
  }
}
