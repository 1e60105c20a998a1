/**
 * Every value that a label of our metrics can have. A dashboard that asks for `capacity_type="Spot"` shows zero, and no error,
 * if the metric spells it otherwise. So the values are part of the interface: docs/ops/metrics.md lists them, and a test
 * compares them with a file and with what a scrape shows.
 */
import { CAPACITY_TYPE_COUNT, CapacityType } from '../machine/capacity-type.ts';
import { BUCKET_DOLLARS, PENALTY_BUCKET_COUNT, PenaltyBucket } from '../machine/penalty.ts';
import { ALL_STATES, STATE_NAMES } from '../machine/state.ts';
import type { Told } from '../shard/ports/controls.ts';
import type { ActionName, ActionOutcome, BindingPath, CyclePhase } from '../shard/ports/observer.ts';
import type { ReplicaRole } from '../shard/ports/replica.ts';
import { HTTP_REFUSALS } from './http-limits.ts';

export const KINDS = [
  'Bootstrap',
  'Provision',
  'Reclaim',
  'Preempt',
  'Delete',
] as const satisfies readonly ActionName[];

/** X9: every executed action ends with exactly one of these outcomes. */
export const OUTCOMES = [
  'success',
  'no_session',
  'blob_error',
  'blob_timeout',
  'provider_error',
  'timeout',
  'fenced',
  'stale_state',
  'rolled_back',
  'ack_rejected',
  'worker_lost',
  'held',
] as const satisfies readonly ActionOutcome[];

/** How a need got its machine; the dashboard and the soak show each on its own. */
export const PATHS = [
  'idle',
  'created',
  'drained',
  'preempted',
  'waited',
] as const satisfies readonly BindingPath[];

/** F3: of a replica. */
export const REPLICA_ROLES = ['standby', 'active', 'adrift'] as const satisfies readonly ReplicaRole[];

/** H3: what a pause may name. */
const PAUSED = [
  ...(['create', 'bind', 'reclaim', 'preempt', 'release'] as const),
  ...(['cordon', 'drain', 'drain-now', 'retire'] as const),
] as const satisfies readonly Told[];

const PHASES = [
  'reconcile',
  'snapread',
  'phase1',
  'phase2',
  'phase3',
  'emit',
  'execute',
] as const satisfies readonly CyclePhase[];

/** As the reference's dashboards spell them. The API and the protocol have names of their own. */
export const CAPACITY_TYPE_LABELS: Readonly<Record<CapacityType, string>> = {
  [CapacityType.Unspecified]: 'Unspecified',
  [CapacityType.BareMetal]: 'BareMetal',
  [CapacityType.Reserved]: 'Reserved',
  [CapacityType.OnDemand]: 'OnDemand',
  [CapacityType.Spot]: 'Spot',
};

/** Of a ceiling over all machines. */
export const ALL_CAPACITY_TYPES = 'All';

/** E7: a ceiling is over all machines, or over those of a type that has a price of its own. */
const CEILING_TYPES: LabelDomain = [ALL_CAPACITY_TYPES, 'BareMetal', 'Reserved', 'OnDemand', 'Spot'];

/** Label of each penalty bucket: its upper bound in dollars. */
export const BUCKET_LABELS: readonly string[] = Array.from({ length: PENALTY_BUCKET_COUNT }, (_, bucket) => {
  if (bucket === PenaltyBucket.Unspecified) return 'unspecified';
  return bucket === PenaltyBucket.Pinned ? 'pinned' : String(BUCKET_DOLLARS[bucket]);
});

/** Of shortfalls by age: each bucket with its least number of unmet cycles. */
export const AGES = [
  ['1-9', 1],
  ['10-59', 10],
  ['60-299', 60],
  ['300+', 300],
] as const;

/** Of shortfalls by priority: each class with its least priority. */
export const PRIORITY_CLASSES = [
  ['critical', 1_000_000],
  ['service', 1_000],
  ['batch', 100],
  ['other', Number.NEGATIVE_INFINITY],
] as const;

/** All values in order, or, for an open set, a phrase that says what they are. */
export type LabelDomain = readonly string[] | string;

/** Labels that mean the same wherever they occur. */
const COMMON: Readonly<Record<string, LabelDomain>> = {
  kind: KINDS,
  outcome: OUTCOMES,
  path: PATHS,
  pauses: PAUSED,
  phase: PHASES,
  state: ALL_STATES.map((state) => STATE_NAMES[state]),
  capacity_type: Array.from(
    { length: CAPACITY_TYPE_COUNT },
    (_, type) => CAPACITY_TYPE_LABELS[type as CapacityType],
  ),
  interruption_penalty_bucket: BUCKET_LABELS,
  bucket: AGES.map(([age]) => age),
  priority_class: PRIORITY_CLASSES.map(([name]) => name),
  event: ['installed', 'removed', 'replaced'],
  trigger: ['ordinary', 'woken'],
  result: ['changed', 'unchanged'],
  fate: ['new', 'changed', 'removed', 'parked', 'confirmed', 'dropped'],
  quantile: ['0.5', '0.99', '1'],
  file: ['certificate', 'ca'],
  role: REPLICA_ROLES,
  cluster: 'the ids of clusters, at most 2,048; all further clusters share one value',
  provider: 'the names of providers in the settings',
  budget: 'the names of disruption budgets in the settings',
  version: 'the version of Flotilla',
  node: 'the version of Node.js',
};

/** `reason` has other values in each metric. */
const REASONS: Readonly<Record<string, LabelDomain>> = {
  bigfleet_shard_machines_rejected_total: ['price', 'interruption_probability', 'structural'],
  flotilla_http_refused_total: HTTP_REFUSALS,
  flotilla_relay_ended_total: [
    'client',
    'active',
    'active_changed',
    'takeover',
    'connection_lost',
    'keepalive',
    'held_too_long',
    'relayed_twice',
    'identity',
    'client_connection',
    'unplaced',
    'shutdown',
  ],
  flotilla_connections_ended_total: ['age', 'expired', 'untrusted', 'denied'],
  flotilla_session_refused_total: [
    ...['connection', 'handshake', 'stream', 'opening', 'reader'].flatMap((what) =>
      ['total', 'address', 'identity', 'connection'].map((scope) => `${what}_${scope}`),
    ),
    'handshake_timeout',
    'opening_timeout',
    'opening_bytes',
    'reader_timeout',
  ],
};

/** Undefined if the label is not declared: a test finds that. */
export function labelDomain(metric: string, label: string): LabelDomain | undefined {
  if (label === 'capacity_type' && metric.startsWith('flotilla_ceiling_')) return CEILING_TYPES;
  return label === 'reason' ? REASONS[metric] : COMMON[label];
}
