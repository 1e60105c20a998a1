/** A machine of the kit: what the provider stores about it, and what a shard sees of it. */
import { MachineState } from '../machine/state.ts';
import { encode } from '../wire/codec.ts';
import type { Offer, ProviderMachine, StringMap } from './cloud.ts';
import { CAPACITY_TYPES } from './offers.ts';
import type { OperationName } from './operations.ts';

export interface Operation {
  readonly name: OperationName;
  readonly id: string;
  readonly attempt: number;
  /** Of a Drain, for a second attempt; otherwise 0. */
  readonly gracePeriodSeconds: number;
}

/** What outlives the process. */
export interface MachineFacts {
  readonly offer: Offer;
  readonly state: MachineState;
  /** '' without a host. */
  readonly hostRef: string;
  readonly cluster: string;
  readonly shardMetadata: StringMap;
  readonly lastError: string;
  /** The last one, in progress or done; null if something else has changed the machine since. */
  readonly operation: Operation | null;
}

export interface MachineRecord {
  readonly id: string;
  facts: MachineFacts;
  /** Whether it is among the present offers. One that is not disappears when it is deleted. */
  isOffered: boolean;
  isRemoved: boolean;
  /** That of its last change. */
  revision: number;
  /** As a message; null after a change. Listings repeat it until then. */
  encoded: Buffer | null;
}

export const NO_METADATA: StringMap = Object.freeze({});
export const UNBOUND = { cluster: '', shardMetadata: NO_METADATA } as const;

/** A machine that has had no operation. */
export function offeredFacts(offer: Offer): MachineFacts {
  const hostRef = offer.hostRef ?? '';
  const state = hostRef === '' ? MachineState.Speculative : MachineState.Idle;
  return { offer, state, hostRef, ...UNBOUND, lastError: '', operation: null };
}

export function viewOf({ id, facts }: MachineRecord): ProviderMachine {
  return { id, offer: facts.offer, hostRef: facts.hostRef, cluster: facts.cluster };
}

export function encodedMachine(record: MachineRecord, providerName: string): Buffer {
  record.encoded ??= encodeFacts(record.id, record.facts, providerName);
  return record.encoded;
}

function encodeFacts(id: string, facts: MachineFacts, provider: string): Buffer {
  const { offer, state, hostRef, cluster, shardMetadata, lastError } = facts;
  return encode('Machine', {
    id,
    state,
    host: hostRef === '' ? null : { provider, ref: hostRef },
    instanceType: offer.instanceType,
    zone: offer.zone,
    capacityType: CAPACITY_TYPES[offer.capacityType],
    pricePerHour: offer.pricePerHourUsd,
    interruptionProbability: offer.interruptionProbability ?? 0,
    resources: { resources: offer.resources },
    labels: offer.labels ?? NO_METADATA,
    lastError,
    allocatable: offer.allocatable === undefined ? null : { resources: offer.allocatable },
    cluster,
    shardMetadata,
  });
}
