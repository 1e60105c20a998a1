/**
 * The operators' edge, as the shard's parts hold it: the edge is made after the shard that it serves, and until it is
 * there, or with none at all, there are no sessions and everything else goes on.
 */
import type {
  BlobAnswer,
  BlobRequest,
  CapacityHint,
  NodeState,
  OperatorsPort,
  ReclaimInstruction,
} from '../ports/operators.ts';

export class OperatorsSwitch implements OperatorsPort {
  #port: OperatorsPort | null = null;

  connect(port: OperatorsPort): void {
    this.#port = port;
  }

  requestBlob(request: BlobRequest): Promise<BlobAnswer> {
    return this.#port?.requestBlob(request) ?? Promise.resolve({ kind: 'no_session' });
  }

  instructReclaim(clusterId: string, instruction: ReclaimInstruction): boolean {
    return this.#port?.instructReclaim(clusterId, instruction) ?? false;
  }

  nodeChanged(clusterId: string, slot: number, machineId: string): void {
    this.#port?.nodeChanged(clusterId, slot, machineId);
  }

  nodeLeft(node: NodeState): void {
    this.#port?.nodeLeft(node);
  }

  hintCapacity(clusterId: string, hint: CapacityHint): void {
    this.#port?.hintCapacity(clusterId, hint);
  }

  endAll(reason: string): void {
    this.#port?.endAll(reason);
  }
}
