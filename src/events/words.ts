/** Events as sentences: what happened to which machine and cluster, who caused it, and why. */
import type { EventKind, FleetEvent } from '../machine/event.ts';
import { type MachineState, STATE_NAMES } from '../machine/state.ts';

type Tell = (event: FleetEvent) => string;

const TOLD: Readonly<Record<EventKind, Tell>> = {
  none: () => '',
  create_started: (event) =>
    `${machine(event)}: the shard asked its provider to create it for ${need(event)}.`,
  created: (event) => `${machine(event)}: the provider created it${forCluster(event)}.`,
  create_failed: (event) => `${machine(event)} was not created${forCluster(event)}: ${why(event)}.`,
  bind_started: (event) => `${machine(event)}: the shard began to bind it to ${need(event)}.`,
  bound: (event) => `${machine(event)} joined ${need(event)}.`,
  bind_failed: (event) => `${machine(event)} did not join ${need(event)}: ${why(event)}.`,
  bind_cancelled: (event) => `${machine(event)} is not bound to ${need(event)} after all: ${why(event)}.`,
  reclaim_started: (event) =>
    `${capital(cluster(event))} gives up ${machine(event)}: no need of it claims the machine. The drain began.`,
  preempted: (event) =>
    `${capital(cluster(event))} loses ${machine(event)}: preempted for ${preemptor(event)}. The drain began.`,
  drain_failed: (event) => `${machine(event)} was not drained from ${cluster(event)}: ${why(event)}.`,
  unbound: (event) => `${machine(event)} left ${cluster(event)}: its drain ended${thenFor(event)}.`,
  interrupted: (event) =>
    `${capital(cluster(event))} lost ${machine(event)} without a decision of the shard: ${why(event)}.`,
  failed: (event) => `${machine(event)} failed: ${why(event)}.`,
  recovered: (event) => `${machine(event)} is ${state(event.to)} again after its failure.`,
  release_started: (event) =>
    `${machine(event)}: the shard gives it back to its provider, because no need took it while it was Idle.`,
  released: (event) => `${machine(event)} was given back to its provider.`,
  release_failed: (event) => `${machine(event)} was not given back: ${why(event)}.`,
  appeared: (event) =>
    `${machine(event)} is new in the listing of its provider: ${state(event.to)}${bound(event)}.`,
  removed: (event) =>
    `${machine(event)} is gone from the listing of its provider. It was ${state(event.from)}.`,
  changed: (event) =>
    `${machine(event)}: its provider shows it ${state(event.to)} instead of ${state(event.from)}${bound(event)}.`,
  need_unmet: (event) => `${capital(need(event))} is unmet: ${why(event)}.`,
  need_met: (event) => `${capital(need(event))} is met${because(event)}.`,
  offering_backoff: (event) => `The shard leaves ${source(event)} alone: ${why(event)}.`,
  cluster_suspended: (event) => `The shard suspended ${cluster(event)}: ${why(event)}.`,
  rollup_quarantined: (event) => `The shard quarantined a roll-up of ${cluster(event)}: ${why(event)}.`,
  control: (event) => `${capital(why(event))}.`,
  takeover: (event) => `This process took over the shard: ${why(event)}.`,
  shard_started: (event) =>
    event.epoch === 0
      ? `This replica started as a standby${because(event)}.`
      : `The shard started with epoch ${event.epoch}${because(event)}.`,
  shard_stopped: (event) => `The shard stopped${because(event)}.`,
  fenced: (event) => `Another process owns the shard, and this one stopped acting: ${why(event)}.`,
  needs_changed: (event) => `${capital(why(event))}.`,
  events_lost: (event) => `Events are missing here: ${why(event)}.`,
};

export function sentenceOf(event: FleetEvent): string {
  return TOLD[event.kind](event);
}

function machine({ machineId, offering }: FleetEvent): string {
  const name = machineId === '' ? 'A machine' : machineId;
  return offering === '' ? name : `${name} (${offering})`;
}

/** X15: without an offering, the whole provider is meant. */
function source({ offering, provider }: FleetEvent): string {
  return offering === '' ? `provider ${provider}` : `offering ${offering}`;
}

function cluster({ clusterId }: FleetEvent): string {
  return clusterId === '' ? 'no cluster' : `cluster ${clusterId}`;
}

/** `need training/job-7 of cluster prod-eu-1`; without a need only the cluster. */
function need({ clusterId, fingerprint, group }: FleetEvent): string {
  return nameOfNeed(clusterId, fingerprint, group);
}

function preemptor({ forClusterId, fingerprint, group, priority }: FleetEvent): string {
  return `${nameOfNeed(forClusterId, fingerprint, group)}, priority ${priority}`;
}

/** A fingerprint alone names a need that has no group; it is long, so it stays out of the sentence. */
function nameOfNeed(clusterId: string, fingerprint: string, group: string): string {
  const of = clusterId === '' ? 'an unknown cluster' : `cluster ${clusterId}`;
  if (group !== '') return `need ${group} of ${of}`;
  return fingerprint === '' ? of : `a need of ${of}`;
}

function forCluster({ clusterId }: FleetEvent): string {
  return clusterId === '' ? '' : ` for cluster ${clusterId}`;
}

function thenFor({ forClusterId }: FleetEvent): string {
  return forClusterId === '' ? '' : `; it was preempted for cluster ${forClusterId}`;
}

function bound({ clusterId }: FleetEvent): string {
  return clusterId === '' ? '' : `, bound to cluster ${clusterId}`;
}

function state(number: number): string {
  return STATE_NAMES[number as MachineState] ?? 'unknown';
}

function why({ detail }: FleetEvent): string {
  return detail === '' ? 'no reason was given' : detail.replace(/\.$/, '');
}

function because({ detail }: FleetEvent): string {
  return detail === '' ? '' : `: ${detail.replace(/\.$/, '')}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
