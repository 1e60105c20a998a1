/** The operators as one shard process has them: sessions of simulated clusters, and what it remembers for those away. */
import type {
  BlobAnswer,
  BlobRequest,
  CapacityHint,
  NodeState,
  OperatorsPort,
  ReclaimInstruction,
  ShardForOperators,
} from '../shard/ports/operators.ts';
import type { SimulatedCluster } from './clusters.ts';

export class SimulatedOperatorsPort implements OperatorsPort {
  readonly #clusters: ReadonlyMap<string, SimulatedCluster>;
  readonly #shard: ShardForOperators;
  /** By cluster and machine: the last word on machines that left while the cluster was away (O4). */
  readonly #left = new Map<string, Map<string, NodeState>>();
  hints = 0;
  ended = '';

  constructor(clusters: ReadonlyMap<string, SimulatedCluster>, shard: ShardForOperators) {
    this.#clusters = clusters;
    this.#shard = shard;
  }

  open(cluster: SimulatedCluster): void {
    if (this.#shard.refusal() !== null) return;
    cluster.connect();
    this.#shard.sessionOpened(cluster.id);
    for (const slot of this.#shard.boundSlots(cluster.id)) {
      const node = this.#shard.readNode(slot, cluster.id);
      if (node !== null) cluster.tell(node, true);
    }
    for (const node of this.#left.get(cluster.id)?.values() ?? []) cluster.tell(node, false);
    this.#left.delete(cluster.id);
  }

  close(cluster: SimulatedCluster): void {
    if (cluster.session === 0) return;
    cluster.disconnect();
    this.#shard.sessionClosed(cluster.id);
  }

  requestBlob({ clusterId, timeoutMs }: BlobRequest): Promise<BlobAnswer> {
    return this.#clusters.get(clusterId)?.requestBlob(timeoutMs) ?? Promise.resolve({ kind: 'no_session' });
  }

  instructReclaim(clusterId: string, instruction: ReclaimInstruction): boolean {
    const cluster = this.#clusters.get(clusterId);
    if (cluster === undefined || cluster.session === 0) return false;
    cluster.instruct(instruction);
    return true;
  }

  nodeChanged(clusterId: string, slot: number, machineId: string): void {
    const cluster = this.#clusters.get(clusterId);
    this.#left.get(clusterId)?.delete(machineId);
    const node = this.#shard.readNode(slot, clusterId);
    if (node !== null) cluster?.tell(node, true);
  }

  nodeLeft(node: NodeState): void {
    const cluster = this.#clusters.get(node.clusterId);
    if (cluster === undefined) return;
    if (cluster.session !== 0) {
      cluster.tell(node, false);
      return;
    }
    const left = this.#left.get(cluster.id) ?? new Map<string, NodeState>();
    left.set(node.machineId, node);
    this.#left.set(cluster.id, left);
  }

  hintCapacity(_clusterId: string, _hint: CapacityHint): void {
    this.hints++;
  }

  endAll(reason: string): void {
    this.ended = reason;
    for (const cluster of this.#clusters.values()) this.close(cluster);
  }
}
