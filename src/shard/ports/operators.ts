/**
 * The interface between the shard and the operators' edge. The edge owns streams, frames and outboxes; the shard owns
 * demand, machines and decisions. Both directions are plain calls on the main thread.
 */
import type { ResourceAmounts } from '../../machine/machine.ts';
import type { MachineState } from '../../machine/state.ts';
import type { RollupOutcome } from '../../needs/need-table.ts';
import type { Requirement } from '../../needs/requirements.ts';
import type { RollupRow } from '../../needs/rollup.ts';

/** What the shard asks of the operators' edge. */
export interface OperatorsPort {
  /** Settles by the deadline; an answer counts only on the session that was asked. */
  requestBlob(request: BlobRequest): Promise<BlobAnswer>;
  /** Returns whether the cluster had a session. */
  instructReclaim(clusterId: string, instruction: ReclaimInstruction): boolean;
  /**
   * A machine bound to the cluster changed, or became bound. The edge calls `readNode` when it can send, so a slow reader
   * gets the newest state and not a history.
   */
  nodeChanged(clusterId: string, slot: number, machineId: string): void;
  /** O3: the last state of a machine that left its cluster. O4: the edge keeps it for an operator that is away. */
  nodeLeft(node: NodeState): void;
  /** O5: hints are sent at a limited rate; a newer one with the same cluster and fingerprint replaces an unsent one. */
  hintCapacity(clusterId: string, hint: CapacityHint): void;
  /** X16: pings every session. `sessionAnswered` follows for each that answers; one that does not is ended by keepalive. */
  pingAll(): void;
  /** Ends every session with UNAVAILABLE and this text, and accepts no more. */
  endAll(reason: string): void;
}

export interface BlobRequest {
  readonly clusterId: string;
  readonly requirements: readonly Requirement[];
  readonly timeoutMs: number;
}

export type BlobAnswer =
  | { readonly kind: 'blob'; readonly userData: Uint8Array; readonly ttlSeconds: number }
  | { readonly kind: 'no_session' } // there was no session, or it ended before the answer
  | { readonly kind: 'timeout' }
  | { readonly kind: 'error'; readonly text: string };

export interface ReclaimInstruction {
  readonly instructionId: string;
  readonly nodes: readonly string[];
  readonly graceSeconds: number;
  /** 0 for a reclaim. */
  readonly preemptorPriority: number;
}

/** A machine as its cluster sees it. */
export interface NodeState {
  readonly machineId: string;
  readonly clusterId: string;
  readonly state: MachineState;
  readonly nodeName: string;
  /** The host's reference; '' without a host. */
  readonly providerId: string;
  /** '' unless Failed. */
  readonly lastError: string;
  /** The machine's labels, with instance type and zone. */
  readonly labels: Readonly<Record<string, string>>;
  /** Units of base/quantity.ts. */
  readonly resources: ResourceAmounts;
}

/** The protocol's numbers: 1 none, 3 medium (only offers match), 4 high (an Idle machine matches). */
export type HintConfidence = 1 | 3 | 4;

export interface CapacityHint {
  readonly fingerprint: string;
  readonly requirements: readonly Requirement[];
  readonly availableCount: number;
  readonly confidence: HintConfidence;
  /** Price of the cheapest machine; 0 if there is none. */
  readonly costPerHourUsd: number;
}

/** What the operators' edge asks of the shard. */
export interface ShardForOperators {
  readonly epoch: number;
  /** Why the shard accepts no sessions now; null if it does. */
  refusal(): string | null;
  /** The cluster has a new session. If it replaces one, `sessionClosed` is not called in between. */
  sessionOpened(clusterId: string): void;
  sessionClosed(clusterId: string): void;
  /** The present session of the cluster answered a ping that was sent after the last `pingAll`. */
  sessionAnswered(clusterId: string): void;
  /**
   * Replaces the cluster's demand, in steps of a millisecond or two (`NeedTable.acceptInSteps`): the edge runs the next
   * step when it has time, and calls `return()` to give up. Demand changes as a whole, in one of the steps. Throws a
   * ShardError (RollupRejectedError, …) if the roll-up is refused: it is counted, and demand stays. `digests` has two
   * words a row, low and high, and must not change until the end; `decodeRow` is called only for new rows.
   */
  acceptRollup(
    clusterId: string,
    digests: Uint32Array,
    decodeRow: (index: number) => RollupRow,
  ): Generator<void, RollupOutcome>;
  /** Counts a roll-up that the edge refused before its rows were read. */
  rejectRollup(clusterId: string, why: string): void;
  /** A copy of the slots of the machines bound to the cluster. O1: a resync sends all of them. */
  boundSlots(clusterId: string): Uint32Array;
  /** The slot's machine as this cluster sees it now; null if the machine is no longer bound to it. */
  readNode(slot: number, clusterId: string): NodeState | null;
}
