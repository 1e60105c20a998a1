/** Converts values of the shard to those of the API: names for numbers, canonical quantities, no infinities. */
import { formatQuantity } from '../../base/quantity.ts';
import { CAPACITY_TYPE_NAMES, type CapacityType } from '../../machine/capacity-type.ts';
import type { ResourceAmounts } from '../../machine/machine.ts';
import { BUCKET_DOLLARS } from '../../machine/penalty.ts';
import { ALL_STATES, type MachineState, STATE_NAMES } from '../../machine/state.ts';
import type { OfferingBackoffView } from '../../shard/ports/fleet-view.ts';
import type { ShardReader } from '../../shard/ports/reader.ts';
import type { NeedView, ShortfallView } from '../../shard/ports/view.ts';
import type {
  ApiCounts,
  ApiNeed,
  ApiOffering,
  ApiPenalty,
  ApiQuantities,
  ApiQueue,
  ApiRails,
  ApiRequirement,
  ApiShortfall,
  ApiSpread,
  CapacityTypeName,
  OperatorName,
  StateName,
  UnmetReasonName,
} from './types.ts';

export function stateName(state: MachineState): StateName {
  return STATE_NAMES[state] as StateName;
}

export function capacityTypeName(capacityType: CapacityType): CapacityTypeName {
  return CAPACITY_TYPE_NAMES[capacityType] as CapacityTypeName;
}

/** An object with a value for every state, from values by state number. */
export function byState(values: readonly number[]): ApiCounts {
  return Object.fromEntries(ALL_STATES.map((state) => [stateName(state), values[state] ?? 0])) as ApiCounts;
}

export function byCapacityType<T>(values: readonly T[]): Record<CapacityTypeName, T> {
  const entries = values.map((value, type) => [capacityTypeName(type as CapacityType), value]);
  return Object.fromEntries(entries) as Record<CapacityTypeName, T>;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function quantities(amounts: ResourceAmounts): ApiQuantities {
  const entries = Object.entries(amounts).filter(([, units]) => units !== 0);
  return Object.fromEntries(entries.map(([name, units]) => [name, formatQuantity(name, units)]));
}

const OPERATORS: readonly OperatorName[] = ['Unspecified', 'In', 'NotIn', 'Exists', 'DoesNotExist', 'Same'];
const MODES: readonly ApiSpread['mode'][] = ['Unspecified', 'DoNotSchedule', 'ScheduleAnyway'];
/** Names by number of the protocol's UnmetReason. */
const REASONS: readonly (UnmetReasonName | null)[] = [
  null,
  'PRIORITY_STARVED',
  'NO_MATCHING_SUPPLY',
  'TOPOLOGY_UNSATISFIABLE',
  'PREEMPTION_EXHAUSTED',
];

export function requirement(of: NeedView['requirements'][number]): ApiRequirement {
  return { key: of.key, operator: OPERATORS[of.operator] ?? 'Unspecified', values: of.values };
}

export function penalty(bucket: number): ApiPenalty {
  const usd = BUCKET_DOLLARS[bucket] ?? 0;
  return { bucket, usd: Number.isFinite(usd) ? usd : null };
}

export function need(of: NeedView, cycleIntervalMs: number): ApiNeed {
  return {
    clusterId: of.clusterId,
    group: of.group,
    fingerprint: of.fingerprint,
    priority: of.priority,
    interruptionPenalty: penalty(of.interruptionPenalty),
    reclamationPenalty: penalty(of.reclamationPenalty),
    requirements: of.requirements.map(requirement),
    spread: of.spread.map(({ topologyKey, maxSkew, whenUnsatisfiable }) => ({
      topologyKey,
      maxSkew,
      mode: MODES[whenUnsatisfiable] ?? 'Unspecified',
    })),
    aggregate: quantities(of.aggregate),
    minUnit: quantities(of.minUnit),
    arrivalAtMs: of.arrivalMs,
    satisfied: of.satisfied,
    missing: quantities(of.deficit),
    claimed: of.claimed,
    shared: of.shared ?? 0,
    bootstraps: of.bootstraps,
    provisions: of.provisions,
    domain: of.domain,
    satisfiable: of.satisfiable,
    parked: of.parked,
    parkedCycles: of.parkedCycles,
    cyclesUnmet: of.cyclesUnmet,
    unmetForMs: of.cyclesUnmet * cycleIntervalMs,
    reason: REASONS[of.reason] ?? null,
    limitedBy: of.limitedBy === '' ? null : of.limitedBy,
  };
}

export function shortfall(of: ShortfallView, cycleIntervalMs: number): ApiShortfall {
  return {
    fingerprint: of.fingerprint,
    requirements: of.requirements.map(requirement),
    missing: quantities(of.deficit),
    priority: of.priority,
    ageCycles: of.ageCycles,
    forMs: of.ageCycles * cycleIntervalMs,
  };
}

export function offering(of: OfferingBackoffView): ApiOffering {
  return {
    provider: of.provider,
    instanceType: of.instanceType,
    zone: of.zone,
    capacityType: capacityTypeName(of.capacityType),
    sinceAtMs: of.sinceMs,
    untilMs: of.untilMs,
    failures: of.failures,
  };
}

export function rails(view: ShardReader): ApiRails {
  const of = view.rails();
  return {
    killSwitch: of.isPaused,
    dryRun: of.isDryRun,
    fenced: of.isFenced,
    heldBack: of.heldBack,
    reclaimFraction: of.reclaimFraction,
    preemptionFraction: of.preemptionFraction,
    actionsPerCycleMax: of.actionsPerCycleMax,
    cycleIntervalMs: of.cycleIntervalMs,
    holdOnDemandMs: of.holdOnDemandMs,
    holdSpotMs: of.holdSpotMs,
    stuckAfterMs: of.stuckAfterMs,
  };
}

export function queue(view: ShardReader): ApiQueue {
  const { queueMax, concurrency } = view.rails();
  const gauges = view.gauges();
  return {
    queued: gauges.queueDepth,
    waiting: gauges.actionsWaiting,
    queueMax,
    inFlight: gauges.inFlight,
    concurrency,
    readsWaiting: gauges.readsWaiting,
    readsInFlight: gauges.readsInFlight,
    parkedRows: gauges.deferredRows,
    stuckMachines: gauges.stuckMachines,
    machinesInBackoff: gauges.machinesInBackoff,
    suspendedClusters: gauges.suspendedClusters,
    pauses: gauges.pauses,
    heldListings: gauges.heldListings,
    offeringsInBackoff: gauges.offeringsInBackoff,
    needsInBackoff: gauges.needsInBackoff,
    sharedFaults: gauges.sharedFaults,
    burnedMachines: gauges.burnedMachines,
    clustersOverBurnBudget: gauges.clustersOverBurnBudget,
  };
}
