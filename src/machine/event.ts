/**
 * What can happen to a machine, a need or the shard itself, as one name each. Files store the number of a name, its place in
 * this list: names are added at the end and never removed. The API and the dashboard show the names.
 */
export const EVENT_KINDS = [
  'none', // 0 marks no event
  'create_started',
  'created',
  'create_failed',
  'bind_started',
  'bound',
  'bind_failed',
  'bind_cancelled',
  'reclaim_started',
  'preempted',
  'drain_failed',
  'unbound',
  'interrupted',
  'failed',
  'recovered',
  'release_started',
  'released',
  'release_failed',
  'appeared',
  'removed',
  'changed',
  'need_unmet',
  'need_met',
  'offering_backoff',
  'cluster_suspended',
  'rollup_quarantined',
  'control',
  'takeover',
  'shard_started',
  'shard_stopped',
  'fenced',
  'events_lost',
  'needs_changed',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** Texts are '' and numbers 0 where they do not apply. */
export interface FleetEvent {
  readonly kind: EventKind;
  /** Wall-clock time. */
  readonly atMs: number;
  /** I1: with the epoch of the process, the number of a cycle is unambiguous. */
  readonly epoch: number;
  readonly cycle: number;
  readonly machineId: string;
  /** The cluster that the machine is bound to, will be, or was. */
  readonly clusterId: string;
  /** The need, as its machine carries it. Of a preemption: the need that it serves. T4: a long text as its digest. */
  readonly fingerprint: string;
  readonly group: string;
  /** The cluster that a preemption serves. */
  readonly forClusterId: string;
  readonly priority: number;
  readonly provider: string;
  /** `general-16/zone-a/spot` */
  readonly offering: string;
  /** MachineState; 0: unknown or gone. */
  readonly from: number;
  readonly to: number;
  /** What the provider, the operator or the person who acted said. */
  readonly detail: string;
}

/** The event that says nothing yet: callers overwrite what they know. */
export const NO_EVENT: FleetEvent = {
  kind: 'none',
  atMs: 0,
  epoch: 0,
  cycle: 0,
  machineId: '',
  clusterId: '',
  fingerprint: '',
  group: '',
  forClusterId: '',
  priority: 0,
  provider: '',
  offering: '',
  from: 0,
  to: 0,
  detail: '',
};
