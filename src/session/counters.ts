/** The counters of the operators' edge: monotonic since the start, read at each scrape. */
import { newRefusals, type RefusalReason } from './admission.ts';
import { FRAME_KINDS, type FrameKind } from './frame.ts';
import { CONNECTION_ENDS, type ConnectionEnd } from './lifetimes.ts';

export interface OperatorCounters {
  sessionsInstalled: number;
  sessionsRemoved: number;
  sessionsReplaced: number;
  /** Streams that ended before they became sessions: no Hello, an invalid one, or refused. */
  streamsRefused: number;
  identityRejections: number;
  readonly framesIn: Record<FrameKind, number>;
  framesOut: number;
  /** Frames of sessions that had been replaced or ended. */
  framesDropped: number;
  rollupsApplied: number;
  rollupsUnchanged: number;
  rollupsHeld: number;
  rollupsRejected: number;
  /** Replaced by a later roll-up before they were read. */
  rollupsSuperseded: number;
  /** Bootstrap answers without a waiting request: unknown, late, repeated, or on another session. */
  answersIgnored: number;
  inspections: number;
  /** T11, T15: what a limit refused. */
  readonly refused: Record<RefusalReason, number>;
  /** T14: connections that the shard ended. */
  readonly connectionsEnded: Record<ConnectionEnd, number>;
}

export function newCounters(): OperatorCounters {
  return {
    sessionsInstalled: 0,
    sessionsRemoved: 0,
    sessionsReplaced: 0,
    streamsRefused: 0,
    identityRejections: 0,
    framesIn: Object.fromEntries(FRAME_KINDS.map((kind) => [kind, 0])) as Record<FrameKind, number>,
    framesOut: 0,
    framesDropped: 0,
    rollupsApplied: 0,
    rollupsUnchanged: 0,
    rollupsHeld: 0,
    rollupsRejected: 0,
    rollupsSuperseded: 0,
    answersIgnored: 0,
    inspections: 0,
    refused: newRefusals(),
    connectionsEnded: Object.fromEntries(CONNECTION_ENDS.map((reason) => [reason, 0])) as Record<
      ConnectionEnd,
      number
    >,
  };
}
