/**
 * Between the shard and the clusters' operators. The edge owns streams, frames and outboxes; the shard owns demand,
 * machines and decisions. Both directions are plain calls on the main thread.
 */
import type { ResourceAmounts } from '../../machine/machine.ts';
import type { MachineState } from '../../machine/state.ts';
import type { RollupOutcome } from '../../needs/need-table.ts';
import type { Requirement } from '../../needs/requirements.ts';
import type { RollupRow } from '../../needs/rollup.ts';

/** What the shard asks of the operators' edge. */
export interface OperatorsPort {
  /** Settles by the deadline at the latest; an answer counts only on the session that was asked. */
  requestBlob(request: BlobRequest): Promise<BlobAnswer>;
  /** Whether there was a session to send it to. */
  instructReclaim(clusterId: string, instruction: ReclaimInstruction): boolean;
  /**
   * A machine bound to the cluster changed, or became bound. The edge asks `readNode` when it can send: a slow reader
   * gets the newest state and not a history.
   */
  nodeChanged(clusterId: string, slot: number, machineId: string): void;
  /** The last word on a machine that left its cluster (O3), kept for an operator that is away (O4). */
  nodeLeft(node: NodeState): void;
  /** O5: sent when the pace allows; a newer one with the same cluster and fingerprint replaces it. */
  hintCapacity(clusterId: string, hint: CapacityHint): void;
  /** Ends every session with UNAVAILABLE and this text, and accepts none until the process ends. */
  endAll(reason: string): void;
}

export interface BlobRequest {
  readonly clusterId: string;
  readonly requirements: readonly Requirement[];
  readonly timeoutMs: number;
}

export type BlobAnswer =
  | { readonly kind: 'blob'; readonly userData: Uint8Array; readonly ttlSeconds: number }
  | { readonly kind: 'no_session' } // there was none, or it ended before the answer
  | { readonly kind: 'timeout' }
  | { readonly kind: 'error'; readonly text: string };

export interface ReclaimInstruction {
  readonly instructionId: string;
  readonly nodes: readonly string[];
  readonly graceSeconds: number;
  /** 0 for a reclaim. */
  readonly preemptorPriority: number;
}

/** A machine as its cluster is told of it. */
export interface NodeState {
  readonly machineId: string;
  readonly clusterId: string;
  readonly state: MachineState;
  readonly nodeName: string;
  /** The host's reference; '' without a host. */
  readonly providerId: string;
  /** '' unless Failed. */
  readonly lastError: string;
  /** The machine's, with instance type and zone. */
  readonly labels: Readonly<Record<string, string>>;
  /** Units of base/quantity.ts. */
  readonly resources: ResourceAmounts;
}

/** Numbers of the protocol: 1 none, 3 medium (only offers match), 4 high (an Idle machine matches). */
export type HintConfidence = 1 | 3 | 4;

export interface CapacityHint {
  readonly fingerprint: string;
  readonly requirements: readonly Requirement[];
  readonly availableCount: number;
  readonly confidence: HintConfidence;
  /** Of the cheapest machine; 0 if there is none. */
  readonly costPerHourUsd: number;
}

/** What the operators' edge asks of the shard. */
export interface ShardForOperators {
  readonly epoch: number;
  /** Why no session is accepted now; null if they are. */
  refusal(): string | null;
  /** The cluster has a new live session from now on; one that it replaces is not closed in between. */
  sessionOpened(clusterId: string): void;
  sessionClosed(clusterId: string): void;
  /**
   * Replaces the cluster's demand, in steps of a millisecond or two (`NeedTable.acceptInSteps`): the edge goes on with
   * the next one when it finds time, and ends it with `return()` if it gives up. Demand changes in one step, as a whole.
   * Throws a ShardError (RollupRejectedError, …) if it is refused: counted, and nothing changed. Digests are low and
   * high word a row, and stay as they are until the end; `decodeRow` is asked only for rows that are new.
   */
  acceptRollup(
    clusterId: string,
    digests: Uint32Array,
    decodeRow: (index: number) => RollupRow,
  ): Generator<void, RollupOutcome>;
  /** Counts a roll-up that was refused before its rows were read. */
  rejectRollup(clusterId: string, why: string): void;
  /** Slots of the machines bound to the cluster now (O1); a copy. */
  boundSlots(clusterId: string): Uint32Array;
  /** What the slot's machine is to this cluster now; null if it is none of its machines any more. */
  readNode(slot: number, clusterId: string): NodeState | null;
}
