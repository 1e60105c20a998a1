/** Series of the BigFleet reference that a dashboard may ask for and that a Flotilla shard has no value for, with the reason. */

export interface AbsentSeries {
  readonly name: string;
  readonly reason: string;
}

const ONE_THREAD =
  'The reference decides with workers that propose in parallel and may conflict. The engine decides on one thread, so there are no proposals.';
const NO_ALLOCATOR =
  'It timed an allocator that the reference no longer runs. See `bigfleet_shard_cycle_phase_duration_seconds{phase="phase1"}`.';

export const ABSENT_SHARD_SERIES: readonly AbsentSeries[] = [
  { name: 'bigfleet_shard_phase1_occ_proposals_total', reason: ONE_THREAD },
  { name: 'bigfleet_shard_phase1_occ_displacements_total', reason: ONE_THREAD },
  { name: 'bigfleet_shard_phase1_occ_retries_exhausted_total', reason: ONE_THREAD },
  { name: 'bigfleet_shard_phase1_pool_build_duration_seconds', reason: NO_ALLOCATOR },
  { name: 'bigfleet_shard_phase1_take_duration_seconds', reason: NO_ALLOCATOR },
  { name: 'bigfleet_shard_phase1_calls_total', reason: NO_ALLOCATOR },
];

/** By prefix: other programs of the reference serve them. */
export const ABSENT_PREFIXES: readonly AbsentSeries[] = [
  {
    name: 'bigfleet_coordinator_…',
    reason: "The coordinator serves them; the reference's works with Flotilla.",
  },
  { name: 'bigfleet_operator_…', reason: "The operators serve them; the reference's work with Flotilla." },
  {
    name: 'bigfleet_unschedulable_pod_controller_…',
    reason: 'The controller in each cluster serves them, unchanged.',
  },
];
