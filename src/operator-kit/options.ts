/** What the author of an operator gives to the kit and gets from it. */
import type { ShardError } from '../base/errors.ts';
import type { MachineState } from '../machine/state.ts';
import type { Quantities } from '../needs/need.ts';
import type { Requirement } from '../needs/requirements.ts';
import type { TlsFiles } from '../tls/files.ts';
import type { Taint } from '../wire/protocol.generated.ts';
import type { RollupSettings } from './rollup-sender.ts';
import type { ReconnectSettings } from './session-link.ts';

/** The newest state of one machine of the cluster. */
export interface Node {
  readonly machineId: string;
  /** The label `kubernetes.io/hostname` of the machine, else its id. */
  readonly nodeName: string;
  /** The provider's reference of the host; '' without a host. */
  readonly providerId: string;
  readonly state: MachineState;
  /** The machine no longer belongs to the cluster. */
  readonly hasLeft: boolean;
  /** '' unless Failed. */
  readonly lastError: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly resources: Quantities;
  readonly taints: readonly Taint[];
}

/** A machine is to join the cluster. */
export interface BootstrapRequest {
  readonly requestId: string;
  /** The requirements of the need that the machine is for. */
  readonly requirements: readonly Requirement[];
  /** Aborted when the session ends: the shard accepts an answer only on the session that it asked. */
  readonly signal: AbortSignal;
}

/** What a machine needs to join the cluster. It is a secret: the kit neither logs nor stores it. */
export interface BootstrapBlob {
  readonly userData: Uint8Array | string;
  /** The shard asks again for a blob that is older. 0 or left out: no limit. */
  readonly ttlSeconds?: number;
}

/** Nodes that are leaving the cluster. The provider drains their machines when the grace is over, drained or not. */
export interface Reclaim {
  readonly instructionId: string;
  readonly nodes: readonly string[];
  readonly graceSeconds: number;
  /** The priority of the need that takes the machines; 0: no need of this cluster claims them any more. */
  readonly preemptorPriority: number;
}

/** O5: a hint of what the shard could bind for one profile of the cluster's needs. */
export interface CapacityHint {
  /** `available:` and the fingerprint of the profile. */
  readonly key: string;
  readonly requirements: readonly Requirement[];
  readonly availableCount: number;
  /** The protocol's Confidence: 1 none, 2 low, 3 medium, 4 high. */
  readonly confidence: number;
  /** The price of the cheapest machine in dollars. */
  readonly costPerHour: number;
}

export interface SessionInfo {
  /** Grows with every start of the shard. */
  readonly shardEpoch: number;
  readonly coordinatorTerm: number;
}

export interface ClusterOperatorOptions {
  /** `host:port` of the shard. */
  readonly shard: string;
  /** 1 to 253 printable ASCII characters. */
  readonly clusterId: string;
  /** PEM files; the certificate's URI is `bigfleet://cluster/` and the cluster's id. Left out: plaintext. */
  readonly tls?: TlsFiles;

  /** Returns what a machine needs to join. If it throws, the shard shows the text as the reason of the unmet need. */
  readonly bootstrap: (request: BootstrapRequest) => Answer<Uint8Array | string | BootstrapBlob>;
  /**
   * Called with the newest state of a machine: one call at a time for each machine, and again after a pause if it throws.
   * It may miss states in between. After a reconnect it is called for every machine.
   */
  readonly onNode?: (node: Node) => Answer<void>;
  /** Begins to drain nodes, and returns how many; all of them if it returns nothing. Do not wait for the end of the drains. */
  readonly onReclaim?: (reclaim: Reclaim) => Answer<number | undefined> | Answer<void>;
  readonly onCapacity?: (hint: CapacityHint) => Answer<void>;

  /** A session began: the shard acked Hello. */
  readonly onConnected?: (session: SessionInfo) => void;
  /** A session ended, or an attempt failed: a SessionEndedError or a SessionRefusedError. The operator connects again by itself. */
  readonly onDisconnected?: (error: ShardError) => void;
  /** Everything else that went wrong in the background. Left out: a warning of the process. */
  readonly onError?: (error: ShardError) => void;

  readonly rollup?: Partial<RollupSettings>;
  readonly reconnect?: Partial<Omit<ReconnectSettings, 'isEnabled'>>;
  /** Calls of a handler at a time: 64 for `bootstrap`, 16 for each other handler. */
  readonly concurrency?: Partial<Record<'bootstrap' | 'onNode' | 'onReclaim', number>>;
  /** How long `close` waits for handlers: 5,000. */
  readonly closeGraceMs?: number;
}

/** A handler may be asynchronous. */
export type Answer<Value> = Value | Promise<Value>;
