/** Builds the report to the coordinator from the shard's facts. */
import { formatQuantity } from '../base/quantity.ts';
import type { ReportFacts, ShortfallView } from '../shard/ports/view.ts';
import type { ShardReportInit, ShortfallInit } from '../wire/protocol.generated.ts';
import type { Ack } from './instructions.ts';
import { SHORTFALLS_MAX } from './limits.ts';

const NANOS_PER_MS = 1e6;

export interface ReportAddresses {
  /** Where operators reach this shard. */
  readonly shardAddress: string;
  /** Where the shard reaches its providers; several are separated by commas. */
  readonly providerAddress: string;
}

export function reportOf(
  facts: ReportFacts,
  acks: readonly Ack[],
  { shardAddress, providerAddress }: ReportAddresses,
  nowMs: number,
): ShardReportInit {
  return {
    shardId: facts.shardId,
    cycle: facts.cycle,
    timestampUnixNanos: nowMs * NANOS_PER_MS,
    shardEpoch: facts.epoch,
    summary: {
      totalMachines: facts.totalMachines,
      freeMachines: facts.freeMachines,
      perInstanceTypeCounts: facts.perInstanceType,
      perZoneCounts: facts.perZone,
      providerAddress,
    },
    shortfalls: highest(facts.shortfalls).map(shortfallOf),
    instructionAcks: acks,
    shardAddress,
  };
}

/** P5: report the 100 highest shortfalls, by priority, then age. A coordinator may refuse a report with more. */
function highest(shortfalls: readonly ShortfallView[]): ShortfallView[] {
  return shortfalls
    .toSorted((a, b) => b.priority - a.priority || b.ageCycles - a.ageCycles)
    .slice(0, SHORTFALLS_MAX);
}

function shortfallOf(shortfall: ShortfallView): ShortfallInit {
  const { requirements, deficit, priority, ageCycles, interruptionPenalty } = shortfall;
  const missing = Object.entries(deficit).filter(([, units]) => units > 0);
  return {
    requirements: requirements.map(({ key, operator, values }) => ({ key, operator, values })),
    deficit: {
      resources: Object.fromEntries(
        missing.map(([dimension, units]) => [dimension, formatQuantity(dimension, units)]),
      ),
    },
    priority,
    ageCycles,
    interruptionPenaltyBucket: interruptionPenalty,
  };
}
