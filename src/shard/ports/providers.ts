/**
 * What the shard asks of its providers, and what it hears back. Calls are made in worker threads; what crosses is
 * plain data, decoded and validated once on the other side. Every promise here settles, whatever a provider or a
 * thread does, and none rejects because of what either did.
 */
import type { InvalidReason, Machine } from '../../machine/machine.ts';

export interface ProviderPort {
  /** By index: what the inventory's provider column says. */
  readonly names: readonly string[];
  call(call: ProviderCall): Promise<ProviderAnswer>;
  /** `Get`; never waits behind a call. */
  read(read: ProviderRead): Promise<ProviderAnswer>;
  /** At most one at a time for each provider; has a thread of its own. */
  list(request: ListRequest): Promise<ListAnswer>;
}

export type CallKind = 'create' | 'configure' | 'drain' | 'delete';

export interface ProviderCall {
  readonly kind: CallKind;
  readonly provider: number;
  readonly machineId: string;
  /** Kept by the call itself and by a watchdog of the main thread. */
  readonly deadlineUnixMs: number;
  /** Drain only. */
  readonly graceSeconds?: number;
  /** Configure only. The blob is a secret: it is sent, and kept nowhere. */
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
  | 'unsupported' // the provider never does this
  | 'fenced' // another process owns this shard id
  | 'timeout' // deadline or cancelled: it may have been carried out
  | 'unavailable' // no connection, or one that broke: it may have been carried out
  | 'worker_lost' // the thread that made the call died: it may have been carried out
  | 'invalid' // the provider finds our request wrong
  | 'malformed' // answered, but not with what the protocol allows: it may have been carried out
  | 'other'; // any other refusal: quota, wrong state, a bug on the other side

export interface ProviderFailure {
  readonly kind: ProviderFailureKind;
  /** One bounded line for people. */
  readonly detail: string;
  /** Of a malformed record: which rule it broke. */
  readonly reason?: InvalidReason;
}

/** A valid machine record, as an ack or a `Get` brought it. `assignment` is what its shard_metadata says. */
export interface ProviderWord {
  readonly kind: 'accepted';
  readonly machine: Machine;
}

export type ProviderAnswer = ProviderWord | ProviderFailure;

export interface ListRequest {
  readonly provider: number;
  /** Empty: everything. */
  readonly sinceRevision: Uint8Array;
  readonly deadlineUnixMs: number;
}

export interface ListFailure extends ProviderFailure {
  readonly durationMs: number;
}

export type ListAnswer = Listing | ListFailure;

/**
 * What a listing says that the inventory did not know when it was compared, in the listing's thread. A large one that found
 * the inventory empty comes in parts: of each part but the last only the rows count, and the last one says the rest
 * of the whole answer.
 */
export interface Listing {
  readonly kind: 'listed';
  /** Whether everything was asked for, so that absence means something. */
  readonly isFull: boolean;
  /** The next cursor; empty: none. */
  readonly revision: Uint8Array;
  /** Valid records in the answer, unchanged ones included. */
  readonly listedCount: number;
  /** New and changed machines. */
  readonly rows: ListingRows;
  /** So many rows at the end are of ids that an earlier part showed: of an id that is listed twice the last record counts. */
  readonly repeatedCount: number;
  /** Full: machines of this provider that it does not list. After a cursor: those that it names as deleted. */
  readonly removed: SlotRefs;
  /** Machines of other providers that it lists too: refused (S1), but there to be taken when those have them no more. */
  readonly foreign: SlotRefs;
  /** Machines of this provider that the inventory held when the comparison began. */
  readonly knownCount: number;
  /** Refused records, by reason; they do not count as removed. */
  readonly rejected: Readonly<Record<InvalidReason, number>>;
  /** What was wrong with the first of them. */
  readonly rejectionTexts: readonly string[];
  readonly answerBytes: number;
  readonly durationMs: number;
  /**
   * If this is not all: asks for the next part, which is prepared while this one is applied. A failure is the whole listing's.
   * At most once.
   */
  next?(): Promise<ListAnswer>;
  /** The rows were applied and nobody looks at them any more. Without `next` before, the rest is given up. */
  release?(): void;
}

/** Machines by slot, with the generation that tells whether the slot is still theirs. */
export interface SlotRefs {
  readonly count: number;
  readonly slot: Uint32Array;
  readonly generation: Uint32Array;
}

/**
 * Rows of a listing as columns; every offset is into `bytes`.
 *
 *   per row        slot, generation         u32   0, 0: no such id was known
 *                  state, hasStamp          u8
 *                  pricePerHourUsd, interruptionProbability   f64
 *                  idStart, idEnd           u32
 *                  hostProviderStart/End, hostRefStart/End    u32; all 0: no host
 *                  ownLabelsStart/End       u32   bytes of inventory/shape-key.ts; equal: none
 *                  lastErrorStart/End       u32   equal: none
 *                  shape                    u32   index below
 *                  cluster, need, group     u32   index of a string below; 0 = ''
 *                  priority i32, interruptionPenalty, reclamationPenalty u8: of the assignment
 *   per shape      shapeKeyStart, shapeKeyEnd   u32   canonical bytes of inventory/shape-key.ts
 *   per string     stringStart, stringEnd       u32   UTF-8
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
