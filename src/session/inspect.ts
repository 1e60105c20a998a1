/**
 * ShardRead.InspectNeeds: needs with verdicts, streamed page by page at the reader's pace. A slow reader takes minutes for
 * 776,000 needs; the shard keeps only the current page for it.
 */
import { type ServerWritableStream, status } from '@grpc/grpc-js';
import { ShardError } from '../base/errors.ts';
import type { MatchingSupply, NeedsReader, NeedView } from '../shard/ports/view.ts';
import type { InspectNeedsRequest, InspectNeedsResponseInit } from '../wire/protocol.generated.ts';
import { quantities } from './encode.ts';

export type InspectStream = ServerWritableStream<InspectNeedsRequest, InspectNeedsResponseInit>;

/** int64 nanoseconds are encoded from the nearest double: off by at most 128 ns in this century. */
const NANOS_PER_MS = 1e6;

/** T15: a reader that does not read holds one of few places. */
export class ReaderTooSlowError extends ShardError {
  readonly code = 'reader_too_slow';
  readonly next = 'reject-input';

  constructor(waitedMs: number) {
    super(
      `The reader took no needs for ${waitedMs} ms. The shard ended the stream to make room for other readers. ` +
        'Read without pauses, or ask for fewer needs.',
    );
  }
}

/** Rejects with ReaderTooSlowError if the stream takes nothing for `writeMs`. */
export async function inspectNeeds(
  stream: InspectStream,
  reader: Pick<NeedsReader, 'inspectNeeds'>,
  writeMs: number,
): Promise<void> {
  const { clusterId, limit } = stream.request;
  if (limit < 0) {
    stream.emit('error', {
      code: status.INVALID_ARGUMENT,
      details: `The limit is ${limit}; it must be 0 (no limit) or more.`,
    });
    return;
  }
  const { header, pages } = await reader.inspectNeeds({ clusterId, limit });
  const { cycle, computedAtMs, totalNeeds } = header;
  stream.write({ header: { cycle, computedAtUnixNanos: computedAtMs * NANOS_PER_MS, totalNeeds } });
  for await (const page of pages) {
    for (const view of page) {
      if (stream.cancelled || stream.destroyed) return;
      if (!stream.write({ need: responseOf(view) })) await drained(stream, writeMs);
    }
  }
  stream.end();
}

/** Resolves when the stream takes more, and also when it has ended. */
function drained(stream: InspectStream, writeMs: number): Promise<void> {
  if (stream.cancelled || stream.destroyed) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const done = () => {
      clearTimeout(timer);
      for (const event of EVENTS) stream.removeListener(event, done);
      resolve();
    };
    const timer = setTimeout(() => {
      reject(new ReaderTooSlowError(writeMs));
      done();
    }, writeMs);
    for (const event of EVENTS) stream.once(event, done);
  });
}

const EVENTS = ['drain', 'cancelled', 'close'] as const;

function responseOf(view: NeedView): NonNullable<InspectNeedsResponseInit['need']> {
  return {
    need: {
      requirements: view.requirements,
      aggregateResources: quantities(view.aggregate),
      priority: view.priority,
      spread: view.spread,
      interruptionPenaltyBucket: view.interruptionPenalty,
      reclamationPenaltyBucket: view.reclamationPenalty,
      minUnit: quantities(view.minUnit),
      group: view.group,
    },
    clusterId: view.clusterId,
    arrivalUnixNanos: view.arrivalMs * NANOS_PER_MS,
    profileFingerprint: view.fingerprint,
    satisfied: view.satisfied,
    residualDeficit: { resources: quantities(view.deficit) },
    claimedMachineCount: view.claimed,
    bootstrapCount: view.bootstraps,
    provisionCount: view.provisions,
    sameDomain: view.domain,
    sameSatisfiable: view.satisfiable,
    acquisitionParked: view.parked,
    parkedAgeCycles: view.parkedCycles,
    ageCyclesUnmet: view.cyclesUnmet,
    unmetReason: view.reason,
    ...contextOf(view.context),
  };
}

function supplyOf({ idle, configured, speculative, isCapped }: MatchingSupply) {
  return { idle, configured, speculative, capped: isCapped };
}

function contextOf(context: NeedView['context']): Partial<NonNullable<InspectNeedsResponseInit['need']>> {
  if (context === undefined) return {};
  const { supply, victims, freed, domains } = context;
  return {
    ...(supply === null ? {} : { matchingSupply: supplyOf(supply) }),
    ...(victims === 0
      ? {}
      : { preemption: { victimsFound: victims, capacityFreed: { resources: quantities(freed) } } }),
    sameCandidates: domains.map(({ domain, covered }) => ({
      domain,
      coveragePerMille: Math.floor(covered * 1_000),
      satisfiable: covered >= 1,
    })),
  };
}
