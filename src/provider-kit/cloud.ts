/**
 * What the author of a provider writes: a list of offers and four functions. The kit does the rest. A function may take
 * minutes; the kit acks the shard's call before and shows the end in listings.
 */

export type StringMap = Readonly<Record<string, string>>;

export type CapacityTypeName = 'bare-metal' | 'reserved' | 'on-demand' | 'spot' | 'unspecified';

/** A machine that can be had: what it is, where, and at what price. */
export interface Offer {
  /** Unique, and the same for ever. */
  readonly id: string;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityTypeName;
  readonly pricePerHourUsd: number;
  /** Per hour, from 0 to 1. Default: 0. */
  readonly interruptionProbability?: number;
  /** Kubernetes quantities by resource name. */
  readonly resources: StringMap;
  /** The part that pods can use. Default: all resources. */
  readonly allocatable?: StringMap;
  readonly labels?: StringMap;
  /** Of a machine that exists already, such as a server in a rack: it begins Idle, with this host. */
  readonly hostRef?: string;
}

export interface ProviderMachine {
  readonly id: string;
  readonly offer: Offer;
  /** What `create` returned; '' before. */
  readonly hostRef: string;
  /** '' if the machine is not bound. */
  readonly cluster: string;
}

/** One operation on one machine. */
export interface Order {
  readonly machine: ProviderMachine;
  /** Unique. It is the same when the operation runs again after a restart: give it to the cloud as the idempotency key. */
  readonly operationId: string;
  /** 1; more after restarts of the provider in the middle of the operation. */
  readonly attempt: number;
  /** Aborted when the time of the operation is up, or the provider closes. */
  readonly signal: AbortSignal;
}

export interface ConfigureOrder extends Order {
  readonly cluster: string;
  /** A secret of the cluster: hand it to the machine, and neither log nor store it. */
  readonly bootstrapBlob: Uint8Array;
}

export interface DrainOrder extends Order {
  /** The time that pods have to leave. */
  readonly gracePeriodSeconds: number;
}

/** What the cloud shows of a machine. */
export type Sighting =
  /** There is no such machine: interrupted, deleted by hand. It becomes an offer again. */
  | { readonly state: 'gone' }
  /** It runs and belongs to no cluster. `hostRef` if it is another host than before. */
  | { readonly state: 'idle'; readonly hostRef?: string }
  /** It runs as the node that the last Configure made of it. */
  | { readonly state: 'configured' }
  /** It is broken. Only a later sighting ends that. */
  | { readonly state: 'failed'; readonly reason: string };

/**
 * Each function resolves when the cloud has done it. If it throws a `Refused`, nothing was done and the machine goes back to
 * the state before. If it throws anything else, or takes too long, the machine is Failed and shows the message.
 */
export interface Cloud {
  /** Resolves with the host, by which operators match nodes to machines. Left out: Create is UNIMPLEMENTED. */
  create?(order: Order): Promise<string>;
  configure(order: ConfigureOrder): Promise<void>;
  drain(order: DrainOrder): Promise<void>;
  /** Left out: Delete is UNIMPLEMENTED. */
  delete?(order: Order): Promise<void>;
  /**
   * Asked for every machine that exists when the provider starts. Without it the kit trusts its own state, runs interrupted
   * operations again, and fails interrupted Configures, whose blob it did not store.
   */
  inspect?(machine: ProviderMachine): Promise<Sighting>;
}

/** Codes for a function that declines. FAILED_PRECONDITION is not among them: it means the fence and nothing else. */
export type RefusedCode = 'resource_exhausted' | 'unavailable' | 'aborted' | 'permission_denied';

/** Thrown by a function that did nothing: no stock, no quota, the cloud does not answer. */
export class Refused extends Error {
  readonly code: RefusedCode;

  constructor(code: RefusedCode, message: string) {
    super(message);
    this.name = 'Refused';
    this.code = code;
  }
}
