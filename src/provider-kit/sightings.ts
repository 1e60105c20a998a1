/** What the cloud shows of a machine, as a change of the machine. */
import { boundedDetail } from '../base/outside-text.ts';
import { MachineState } from '../machine/state.ts';
import type { Sighting } from './cloud.ts';
import { HOST_BYTES_MAX, whyBadText } from './offers.ts';
import { STEPS } from './operations.ts';
import { type MachineFacts, UNBOUND } from './record.ts';

const S = MachineState;

const SIGHTED_AS: Readonly<Partial<Record<MachineState, Sighting['state']>>> = {
  [S.Speculative]: 'gone',
  [S.Idle]: 'idle',
  [S.Configured]: 'configured',
  [S.Failed]: 'failed',
};

export function failed(reason: string): Partial<MachineFacts> {
  return { state: S.Failed, lastError: boundedDetail(reason) || 'no reason given' };
}

/** A host of a machine that exists; a shard refuses an empty one and a long one. */
export function hosted(hostRef: string): Partial<MachineFacts> | null {
  return hostRef === '' || whyBadText(hostRef, HOST_BYTES_MAX) !== null ? null : { hostRef };
}

/** The change that brings a machine to what was sighted; null if it is as sighted. */
export function changeTo(sighting: Sighting, facts: MachineFacts): Partial<MachineFacts> | null {
  const isSame = SIGHTED_AS[facts.state] === sighting.state;
  switch (sighting.state) {
    case 'gone':
      if (isSame) return null;
      return { state: S.Speculative, hostRef: '', ...UNBOUND, lastError: '', operation: null };
    case 'idle': {
      const hostRef = sighting.hostRef ?? facts.hostRef;
      if (isSame && hostRef === facts.hostRef) return null;
      const host = hosted(hostRef);
      if (host === null)
        return failed(`the machine was sighted with an unusable host ${JSON.stringify(hostRef)}`);
      return { ...host, state: S.Idle, ...UNBOUND, lastError: '', operation: null };
    }
    case 'configured':
      if (isSame) return null;
      if (facts.cluster === '' || facts.hostRef === '')
        return failed('the machine runs as a node, but the provider knows no binding of it');
      return { state: S.Configured, lastError: '', operation: null };
    case 'failed':
      if (isSame && facts.lastError === boundedDetail(sighting.reason)) return null;
      return { ...failed(sighting.reason), operation: null };
  }
}

export type Recovery =
  | { readonly kind: 'as-it-is' }
  | { readonly kind: 'change'; readonly change: Partial<MachineFacts> }
  /** The operation was interrupted: it runs again, with the same id. */
  | { readonly kind: 'run-again' };

/** What a restarted provider does about a machine. `sighting` is null if the cloud cannot tell. */
export function recoveryOf(facts: MachineFacts, sighting: Sighting | null): Recovery {
  const { operation, state } = facts;
  const steps = operation === null ? null : STEPS[operation.name];
  const isInterrupted = steps !== null && state === steps.through;
  if (!isInterrupted) {
    const change = sighting === null ? null : changeTo(sighting, facts);
    return change === null ? { kind: 'as-it-is' } : { kind: 'change', change };
  }
  const isConfigure = operation!.name === 'configure';
  if (sighting === null || sighting.state === SIGHTED_AS[steps.from]) {
    if (!isConfigure) return { kind: 'run-again' };
    if (sighting !== null) return { kind: 'change', change: changeTo(sighting, facts)! };
    const why = 'the provider restarted during Configure, and bootstrap blobs are not stored';
    return { kind: 'change', change: failed(why) };
  }
  const change = changeTo(sighting, facts) ?? {};
  // It ended while the provider was away: the operation was carried out, and a repeat is recognised.
  return sighting.state === SIGHTED_AS[steps.to]
    ? { kind: 'change', change: { ...change, operation } }
    : { kind: 'change', change };
}
