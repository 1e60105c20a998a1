/** Wrappers around the calls of a conforming provider that change requests or answers. */

import type { Settings } from '../../../src/conformance/settings.ts';
import type { MachineListing, SimulatedProvider } from '../../../src/simulation/provider/provider.ts';
import type { Ack, Answer, ConfigureCall, ListCall } from '../../../src/simulation/provider/requests.ts';
import type { ProviderCalls } from '../../../src/simulation/provider/server.ts';
import type { ProviderSettingsChange } from '../../../src/simulation/provider/settings.ts';
import type { Machine } from '../../../src/wire/protocol.generated.ts';
import type { Population } from '../subject.ts';

export type Operation = 'create' | 'configure' | 'drain' | 'delete';
export const OPERATIONS: readonly Operation[] = ['create', 'configure', 'drain', 'delete'];

export interface Mutant {
  /** What is wrong with it. */
  readonly name: string;
  /** The check that must find it. */
  readonly breaks: string;
  /** Part of the finding's `came`: proof that the check failed for this reason and no other. */
  readonly says: string;
  readonly bend: (calls: ProviderCalls, provider: SimulatedProvider) => ProviderCalls;
  readonly settings?: ProviderSettingsChange;
  readonly population?: Population;
  readonly run?: Partial<Settings>;
}

/** A call as the provider receives it, with all fields and an exact token. */
export type AnyCall = ConfigureCall;
export type AckAnswer = Answer<Ack>;

/** The provider's own calls, unchanged. */
export function callsOf(provider: SimulatedProvider): ProviderCalls {
  return {
    create: (call) => provider.create(call),
    configure: (call) => provider.configure(call),
    drain: (call) => provider.drain(call),
    delete: (call) => provider.delete(call),
    get: (call) => provider.get(call),
    list: (call) => provider.list(call),
  };
}

/** Replaces one or all of the mutating calls. */
export function withMutations(
  calls: ProviderCalls,
  change: (call: AnyCall, operation: Operation, next: (call: AnyCall) => AckAnswer) => AckAnswer,
  operations: readonly Operation[] = OPERATIONS,
): ProviderCalls {
  const changed = { ...calls };
  for (const operation of operations) {
    const original = calls[operation];
    changed[operation] = (call: object) =>
      change(call as AnyCall, operation, original as (call: AnyCall) => AckAnswer);
  }
  return changed;
}

export function withAcks(
  calls: ProviderCalls,
  change: (ack: Ack, call: AnyCall, operation: Operation) => Ack,
  operations: readonly Operation[] = OPERATIONS,
): ProviderCalls {
  return withMutations(
    calls,
    (call, operation, next) => {
      const answer = next(call);
      return answer.kind === 'ok' ? { kind: 'ok', value: change(answer.value, call, operation) } : answer;
    },
    operations,
  );
}

export function withGet(calls: ProviderCalls, change: (machine: Machine) => Machine): ProviderCalls {
  return {
    ...calls,
    get(call) {
      const answer = calls.get(call);
      return answer.kind === 'ok' ? { kind: 'ok', value: change(answer.value) } : answer;
    },
  };
}

export function withList(
  calls: ProviderCalls,
  change: (listing: MachineListing, call: ListCall) => MachineListing,
): ProviderCalls {
  return {
    ...calls,
    list(call) {
      const answer = calls.list(call);
      return answer.kind === 'ok' ? { kind: 'ok', value: change(answer.value, call) } : answer;
    },
  };
}

/** Changes every snapshot: in acks, in Get and in List. */
export function withMachines(calls: ProviderCalls, change: (machine: Machine) => Machine): ProviderCalls {
  const acks = withAcks(calls, (ack) => ({ ...ack, machine: change(ack.machine) }));
  return withList(withGet(acks, change), (listing) => ({
    ...listing,
    machines: listing.machines.map(change),
  }));
}

/** A call with changed fields. Fields of a request may sit on its prototype, so a spread would lose them. */
export function altered(call: AnyCall, change: Partial<AnyCall>): AnyCall {
  return Object.assign(Object.create(call), change);
}

export function sameCursor(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  return Buffer.compare(left ?? Buffer.alloc(0), right ?? Buffer.alloc(0)) === 0;
}

export function hasCursor(call: ListCall): boolean {
  return (call.sinceRevision?.byteLength ?? 0) > 0;
}
