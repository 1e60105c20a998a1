/**
 * The interface between the shard and its providers. Worker threads make the calls, and return plain data that they have
 * decoded and validated. Every promise here settles, whatever a provider or a thread does, and none rejects for that
 * reason.
 */
import type { InvalidReason, Machine } from '../../machine/machine.ts';

export interface ProviderPort {
  /** By the number in the inventory's provider column. */
  readonly names: readonly string[];
  call(call: ProviderCall): Promise<ProviderAnswer>;
  /** `Get`; never waits behind a call. */
  read(read: ProviderRead): Promise<ProviderAnswer>;
  /** At most one at a time per provider; listings have their own thread. */
  list(request: ListRequest): Promise<ListAnswer>;
}

export type CallKind = 'create' | 'configure' | 'drain' | 'delete';

export interface ProviderCall {
  readonly kind: CallKind;
  readonly provider: number;
  readonly machineId: string;
  /** The call itself and a watchdog on the main thread enforce it. */
  readonly deadlineUnixMs: number;
  /** X16: the stretch in which the call was decided (base/pulse.ts). The thread sends it in no other. */
  readonly stretch?: number;
  /** Drain only. */
  readonly graceSeconds?: number;
  /** Configure only. The blob is a secret: the shard sends it and does not store it. */
  readonly clusterId?: string;
  readonly bootstrapBlob?: Uint8Array;
  readonly shardMetadata?: Readonly<Record<string, string>>;
}

export interface ProviderRead {
  readonly provider: number;
  readonly machineId: string;
  readonly deadlineUnixMs: number;
}

export type ProviderFailureKind =
  | 'not_found'
  | 'unsupported' // the provider does not offer this call
  | 'fenced' // another process owns this shard id
  | 'timeout' // deadline or cancelled: the provider may have executed it
  | 'unavailable' // no connection, or a broken one: the provider may have executed it
  | 'worker_lost' // the calling thread died: the provider may have executed it
  | 'invalid' // the provider rejects our request as invalid
  | 'malformed' // the answer breaks the protocol: the provider may have executed the call
  | 'held' // F2, X16: not sent, because this process may not make the call now
  | 'other'; // any other refusal: quota, wrong state, a bug on the other side

export interface ProviderFailure {
  readonly kind: ProviderFailureKind;
  /** One bounded line for people. */
  readonly detail: string;
  /** Of a malformed record: which rule it broke. */
  readonly reason?: InvalidReason;
}

/** A valid machine record from an ack or a `Get`. `assignment` is decoded from its shard_metadata. */
export interface ProviderObservation {
  readonly kind: 'accepted';
  readonly machine: Machine;
}

export type ProviderAnswer = ProviderObservation | ProviderFailure;

export interface ListRequest {
  readonly provider: number;
  /** Empty: everything. */
  readonly sinceRevision: Uint8Array;
  /** S1: list everything if the connection was lost since the last full listing. `Listing.isFull` says whether that was so. */
  readonly isFullAfterLoss?: boolean;
  /** F4: hand over every row of a listing after a cursor, since the reader wants assignments too. They are not compared. */
  readonly wantsAllRows?: boolean;
  readonly deadlineUnixMs: number;
}

export interface ListFailure extends ProviderFailure {
  readonly durationMs: number;
}

export type ListAnswer = Listing | ListFailure;

/**
 * The differences between a listing and the inventory, found in the listing's thread. A large listing into an empty inventory
 * comes in parts: only the rows of the earlier parts count, and the last part has the other fields for the whole answer.
 */
export interface Listing {
  readonly kind: 'listed';
  /** Whether the provider was asked for all machines, so that a missing one counts as removed. */
  readonly isFull: boolean;
  /** The next cursor; empty: none. */
  readonly revision: Uint8Array;
  /** Valid records in the answer, unchanged ones included. */
  readonly listedCount: number;
  /** New and changed machines. */
  readonly rows: ListingRows;
  /** So many rows at the end repeat ids of an earlier part; the last record of an id counts. */
  readonly repeatedCount: number;
  /** Full: known machines of this provider that it does not list. After a cursor: those that it names as deleted. */
  readonly removed: SlotRefs;
  /** S1: listed machines that belong to another provider are rejected. Kept to notice when that provider drops them. */
  readonly foreign: SlotRefs;
  /** Machines of this provider that the inventory held when the comparison began. */
  readonly knownCount: number;
  /** Rejected records, by reason; they do not count as removed. */
  readonly rejected: Readonly<Record<InvalidReason, number>>;
  /** Those of them whose id could not be read: any known machine may be one of them. */
  readonly unnamedCount: number;
  /** The errors of the first few. */
  readonly rejectionTexts: readonly string[];
  readonly answerBytes: number;
  readonly durationMs: number;
  /**
   * Present if there are more parts: requests the next one, which is prepared while this one is applied. Its failure fails
   * the whole listing. Call it at most once.
   */
  next?(): Promise<ListAnswer>;
  /** Frees the rows after they were applied. Without `next` before it, the remaining parts are dropped. */
  release?(): void;
}

/** Machines by slot, with the generation that shows whether the slot still holds the same machine. */
export interface SlotRefs {
  readonly count: number;
  readonly slot: Uint32Array;
  readonly generation: Uint32Array;
}

/**
 * Rows of a listing as columns; every offset is into `bytes`.
 *
 *   per row        slot, generation                           u32   0, 0: unknown id
 *                  state, hasAssignment                       u8
 *                  pricePerHourUsd, interruptionProbability   f64
 *                  idStart, idEnd                             u32
 *                  hostProviderStart/End, hostRefStart/End    u32   all 0: no host
 *                  ownLabelsStart/End                         u32   bytes of inventory/shape-key.ts; equal: none
 *                  lastErrorStart/End                         u32   equal: none
 *                  shape                                      u32   index below
 *                  cluster, need, group                       u32   index of a string below; 0 = ''
 *                  priority                                   i32   of the assignment
 *                  interruptionPenalty, reclamationPenalty    u8    buckets of the assignment
 *   per shape      shapeKeyStart, shapeKeyEnd                 u32   canonical bytes of inventory/shape-key.ts
 *   per string     stringStart, stringEnd                     u32   UTF-8
 */
export interface ListingRows {
  readonly count: number;
  readonly bytes: Uint8Array;
  readonly slot: Uint32Array;
  readonly generation: Uint32Array;
  readonly state: Uint8Array;
  readonly hasAssignment: Uint8Array;
  readonly pricePerHourUsd: Float64Array;
  readonly interruptionProbability: Float64Array;
  readonly idStart: Uint32Array;
  readonly idEnd: Uint32Array;
  readonly hostProviderStart: Uint32Array;
  readonly hostProviderEnd: Uint32Array;
  readonly hostRefStart: Uint32Array;
  readonly hostRefEnd: Uint32Array;
  readonly ownLabelsStart: Uint32Array;
  readonly ownLabelsEnd: Uint32Array;
  readonly lastErrorStart: Uint32Array;
  readonly lastErrorEnd: Uint32Array;
  readonly shape: Uint32Array;
  readonly cluster: Uint32Array;
  readonly need: Uint32Array;
  readonly group: Uint32Array;
  readonly priority: Int32Array;
  readonly interruptionPenalty: Uint8Array;
  readonly reclamationPenalty: Uint8Array;
  readonly shapeCount: number;
  readonly shapeKeyStart: Uint32Array;
  readonly shapeKeyEnd: Uint32Array;
  readonly stringCount: number;
  readonly stringStart: Uint32Array;
  readonly stringEnd: Uint32Array;
}
