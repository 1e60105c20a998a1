/**
 * Gauges over the inventory, summed at scrape time. One pass over half a million rows takes a few milliseconds every 15 s;
 * counters kept up to date would cost every transition.
 *
 *   count   ((state × 5) + capacity type) × 28 + bucket   f64, machines
 *   usd     capacity type                                 f64, dollars per hour of machines with a host
 */
import { CAPACITY_TYPE_COUNT, type CapacityType } from '../machine/capacity-type.ts';
import { PENALTY_BUCKET_COUNT } from '../machine/penalty.ts';
import { ALL_STATES, MachineState, STATE_COUNT, STATE_NAMES } from '../machine/state.ts';
import { CLUSTER_LABELS_MAX } from './cluster-labels.ts';
import type { Sample } from './families.ts';
import { ALL_CAPACITY_TYPES, BUCKET_LABELS, CAPACITY_TYPE_LABELS } from './label-values.ts';

/** The inventory columns that this module reads. */
export interface FleetColumns {
  /** Exclusive; slot 0 is no machine. */
  readonly slotLimit: number;
  readonly state: Uint8Array;
  readonly capacityType: Uint8Array;
  readonly interruptionPenalty: Uint8Array;
  readonly pricePerHourUsd: Float64Array;
  /** 0: no host, so the machine costs nothing. */
  readonly host: Uint32Array;
}

/** E7: a ceiling on what the fleet may cost, and what counts for it. */
export interface CeilingFacts {
  /** Null: of all machines. */
  readonly capacityType: CapacityType | null;
  readonly maxDollarsPerHour: number;
  readonly dollarsPerHour: number;
}

/** E8: a cluster with a minimum share of machines that are not spot, and its share. */
export interface SpotShareFacts {
  readonly clusterId: string;
  readonly minNonSpotShare: number;
  readonly nonSpotShare: number;
}

export function spotShareSamples(
  shares: readonly SpotShareFacts[] | null,
  read: (share: SpotShareFacts) => number,
): Sample[] | null {
  // Shares do not add, so clusters beyond the bound are left out.
  return (
    shares
      ?.slice(0, CLUSTER_LABELS_MAX)
      .map((share) => ({ labels: { cluster: share.clusterId }, value: read(share) })) ?? null
  );
}

export function ceilingSamples(
  ceilings: readonly CeilingFacts[] | null,
  read: (ceiling: CeilingFacts) => number,
): Sample[] | null {
  if (ceilings === null) return null;
  return ceilings.map((ceiling) => {
    const { capacityType } = ceiling;
    const label = capacityType === null ? ALL_CAPACITY_TYPES : CAPACITY_TYPE_LABELS[capacityType];
    return { labels: { capacity_type: label }, value: read(ceiling) };
  });
}

export class FleetTally {
  readonly #count = new Float64Array(STATE_COUNT * CAPACITY_TYPE_COUNT * PENALTY_BUCKET_COUNT);
  readonly #usd = new Float64Array(CAPACITY_TYPE_COUNT);
  readonly #idleUsd = new Float64Array(CAPACITY_TYPE_COUNT);

  update(columns: FleetColumns): void {
    this.#count.fill(0);
    this.#usd.fill(0);
    this.#idleUsd.fill(0);
    addRows(columns, this.#count, this.#usd, this.#idleUsd);
  }

  /** Zero counts have no sample: there are 1,120 combinations. */
  *machines(): Iterable<Sample> {
    for (const state of ALL_STATES) {
      for (let type = 0; type < CAPACITY_TYPE_COUNT; type++) {
        for (let bucket = 0; bucket < PENALTY_BUCKET_COUNT; bucket++) {
          const value = this.#count[(state * CAPACITY_TYPE_COUNT + type) * PENALTY_BUCKET_COUNT + bucket]!;
          if (value === 0) continue;
          const labels = {
            state: STATE_NAMES[state],
            capacity_type: CAPACITY_TYPE_LABELS[type as CapacityType],
            interruption_penalty_bucket: BUCKET_LABELS[bucket]!,
          };
          yield { labels, value };
        }
      }
    }
  }

  usd(): Iterable<Sample> {
    return byCapacityType(this.#usd);
  }

  idleUsd(): Iterable<Sample> {
    return byCapacityType(this.#idleUsd);
  }
}

function addRows(columns: FleetColumns, count: Float64Array, usd: Float64Array, idleUsd: Float64Array): void {
  const { state, capacityType, interruptionPenalty, pricePerHourUsd, host, slotLimit } = columns;
  for (let slot = 1; slot < slotLimit; slot++) {
    const rowState = state[slot]!;
    if (rowState === 0) continue;
    const type = capacityType[slot]!;
    count[(rowState * CAPACITY_TYPE_COUNT + type) * PENALTY_BUCKET_COUNT + interruptionPenalty[slot]!]! += 1;
    if (host[slot] === 0) continue;
    usd[type]! += pricePerHourUsd[slot]!;
    if (rowState === MachineState.Idle) idleUsd[type]! += pricePerHourUsd[slot]!;
  }
}

function* byCapacityType(usd: Float64Array): Iterable<Sample> {
  for (let type = 0; type < CAPACITY_TYPE_COUNT; type++) {
    yield { labels: { capacity_type: CAPACITY_TYPE_LABELS[type as CapacityType] }, value: usd[type]! };
  }
}
