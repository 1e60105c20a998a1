/**
 * The operators of one shard process: sessions with simulated clusters, and updates kept for disconnected ones. A process
 * that was replaced still has sessions without a peer, until it learns that they ended.
 */
import type {
  BlobAnswer,
  BlobRequest,
  CapacityHint,
  NodeState,
  OperatorsPort,
  ReclaimInstruction,
  ShardForOperators,
} from '../../shard/ports/operators.ts';
import type { SimulatedCluster } from './clusters.ts';
import type { Life } from './time.ts';

export class SimulatedOperatorsPort implements Omit<OperatorsPort, 'pingAll'> {
  readonly #clusters: ReadonlyMap<string, SimulatedCluster>;
  #shard!: ShardForOperators;
  /** By cluster: the number of the session that this process has with it. */
  readonly #sessions = new Map<string, number>();
  /** O4: the last update of each machine that left while its cluster was disconnected, by cluster and machine. */
  readonly #left = new Map<string, Map<string, NodeState>>();
  /** By cluster: when its session opened or last answered a ping, in true time. */
  readonly aliveMs = new Map<string, number>();
  #pings = 0;
  hints = 0;
  ended = '';

  constructor(clusters: ReadonlyMap<string, SimulatedCluster>) {
    this.#clusters = clusters;
  }

  /** Once, before the first session opens. */
  serve(shard: ShardForOperators): void {
    this.#shard = shard;
  }

  open(cluster: SimulatedCluster): void {
    if (this.#shard.refusal() !== null) return;
    this.#sessions.set(cluster.id, cluster.connect());
    this.aliveMs.set(cluster.id, cluster.connectedMs);
    this.#shard.sessionOpened(cluster.id);
    for (const slot of this.#shard.boundSlots(cluster.id)) {
      const node = this.#shard.readNode(slot, cluster.id);
      if (node !== null) cluster.notify(node, true);
    }
    for (const node of this.#left.get(cluster.id)?.values() ?? []) cluster.notify(node, false);
    this.#left.delete(cluster.id);
  }

  /** The process learns that this session ended. */
  closed(cluster: SimulatedCluster, session: number): void {
    if (this.#sessions.get(cluster.id) !== session) return;
    this.#sessions.delete(cluster.id);
    this.#shard.sessionClosed(cluster.id);
  }

  /** As far as the process knows. */
  hasSession(clusterId: string): boolean {
    return this.#sessions.has(clusterId);
  }

  requestBlob({ clusterId, timeoutMs }: BlobRequest): Promise<BlobAnswer> {
    return this.#reached(clusterId)?.requestBlob(timeoutMs) ?? Promise.resolve({ kind: 'no_session' });
  }

  instructReclaim(clusterId: string, instruction: ReclaimInstruction): boolean {
    const cluster = this.#reached(clusterId);
    cluster?.instruct(instruction);
    return cluster !== null;
  }

  nodeChanged(clusterId: string, slot: number, machineId: string): void {
    this.#left.get(clusterId)?.delete(machineId);
    const node = this.#shard.readNode(slot, clusterId);
    if (node !== null) this.#reached(clusterId)?.notify(node, true);
  }

  nodeLeft(node: NodeState): void {
    const { clusterId, machineId } = node;
    if (!this.#clusters.has(clusterId)) return;
    const reached = this.#reached(clusterId);
    if (reached !== null) {
      reached.notify(node, false);
      return;
    }
    const left = this.#left.get(clusterId) ?? new Map<string, NodeState>();
    left.set(machineId, node);
    this.#left.set(clusterId, left);
  }

  hintCapacity(_clusterId: string, _hint: CapacityHint): void {
    this.hints++;
  }

  /** X16: a session whose peer has left never answers. */
  pingAll(life: Life): void {
    const round = ++this.#pings;
    for (const [clusterId, session] of this.#sessions) {
      void life.observe(this.#reached(clusterId)?.ping() ?? new Promise(() => {})).then(() => {
        if (round !== this.#pings || this.#sessions.get(clusterId) !== session) return;
        this.aliveMs.set(clusterId, life.uptimeMs());
        this.#shard.sessionAnswered(clusterId);
      });
    }
  }

  endAll(reason: string): void {
    this.ended = reason;
    for (const [clusterId, session] of [...this.#sessions]) {
      const cluster = this.#clusters.get(clusterId)!;
      if (cluster.session === session) cluster.disconnect();
      this.closed(cluster, session);
    }
  }

  /** The cluster, if it is still on its session with this process; else null. */
  #reached(clusterId: string): SimulatedCluster | null {
    const cluster = this.#clusters.get(clusterId);
    if (cluster === undefined || cluster.session === 0) return null;
    return this.#sessions.get(clusterId) === cluster.session ? cluster : null;
  }
}
