/**
 * Requests and answers of a provider without gRPC, so that the state machine runs in a test as it does behind
 * a server. Requests have the field names of the wire. Epoch and sequence may be bigint, because the fence
 * compares all 64 bits and a decoded message rounds above 2^53.
 */
import type { Machine } from '../../wire/protocol.generated.ts';
import type { Token } from './fence.ts';
import type { StringMap } from './kinds.ts';

interface Fenced {
  readonly machineId: string;
  /** If all three are left out, the call has no token. */
  readonly shardId?: string;
  readonly shardEpoch?: number | bigint;
  readonly sequenceNumber?: number | bigint;
}

export type CreateCall = Fenced;
export type DeleteCall = Fenced;

export interface ConfigureCall extends Fenced {
  readonly clusterId: string;
  readonly bootstrapBlob?: Uint8Array;
  readonly shardMetadata?: StringMap;
}

export interface DrainCall extends Fenced {
  readonly gracePeriodSeconds?: number;
}

export interface ListCall {
  /** Empty or left out: all states. */
  readonly states?: readonly number[];
  /** 0 or left out: no limit. */
  readonly maxResults?: number;
  readonly sinceRevision?: Uint8Array;
}

export interface Ack {
  readonly operationId: string;
  readonly machine: Machine;
}

/** gRPC status names in lower case; server.ts has their numbers. */
export type RefusalCode =
  | 'not_found'
  | 'invalid_argument'
  | 'unimplemented'
  | 'failed_precondition' // only the fence
  | 'aborted' // not allowed in the machine's state
  | 'resource_exhausted'; // quota

export type Answer<Value> =
  | { readonly kind: 'ok'; readonly value: Value }
  | { readonly kind: 'refused'; readonly code: RefusalCode; readonly detail: string }
  /** Carried out, but the caller gets no answer. */
  | { readonly kind: 'silent' };

export function tokenOf(call: Fenced): Token {
  return {
    shardId: call.shardId ?? '',
    epoch: BigInt(call.shardEpoch ?? 0),
    sequence: BigInt(call.sequenceNumber ?? 0),
  };
}

export function ok<Value>(value: Value): Answer<Value> {
  return { kind: 'ok', value };
}

export function refused(code: RefusalCode, detail: string): Answer<never> {
  return { kind: 'refused', code, detail };
}
