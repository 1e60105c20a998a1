/** The explanation of a machine in sentences: its state and since when, who has it, why it stays, what went wrong. */
import { CAPACITY_TYPE_NAMES } from '../../../machine/capacity-type.ts';
import { isTransitional, STATE_NAMES } from '../../../machine/state.ts';
import type { MachineFacts, MachineStay, NeedName } from '../../ports/explain.ts';
import type { ActionView, BackoffView, MachineView, RailsView } from '../../ports/fleet-view.ts';
import { count, duration, list, quoted } from './words.ts';

export function machineSentences(
  machine: MachineView,
  facts: MachineFacts,
  nowMs: number,
  rails: RailsView,
): string[] {
  const sentences = [stateSentence(machine)];
  if (facts.claim !== null) {
    sentences.push(`It counts for ${needWords(facts.claim)}.`);
  } else if (machine.assignment !== null && machine.cluster !== '') {
    sentences.push(
      `It was bound at priority ${count(machine.assignment.priority)}, and no need of ${machine.cluster} claims it now.`,
    );
  }
  if (facts.drainsFor !== null) sentences.push(`It was preempted for ${needWords(facts.drainsFor)}.`);
  if (machine.action !== null) sentences.push(actionSentence(machine.action, nowMs));
  if (machine.isStuck) {
    sentences.push(
      `It is stuck: longer than ${duration(rails.stuckAfterMs)} in a state that should pass. It is read again and ` +
        'again, and counts for nobody until its provider moves it.',
    );
  }
  if (machine.backoff !== null) sentences.push(backoffSentence('It', machine.backoff, nowMs));
  if (machine.offeringBackoff !== null) {
    const what = `Its offering (${machine.instanceType}, ${machine.zone}, ${CAPACITY_TYPE_NAMES[machine.capacityType]})`;
    sentences.push(backoffSentence(what, machine.offeringBackoff, nowMs));
  }
  const stay = staySentence(facts.stays, machine, nowMs, rails);
  if (stay !== '') sentences.push(stay);
  if (facts.couldServe.length > 0) {
    const who = facts.couldServe.map(
      ({ clusterId, priority }) => `${clusterId} (priority ${count(priority)})`,
    );
    sentences.push(
      `It matches unmet needs of ${list([...new Set(who)])}; their explanations say why they do not take it.`,
    );
  }
  return sentences;
}

function stateSentence({ state, forMs, cluster, lastError, provider }: MachineView): string {
  const bound = cluster === '' ? '' : `, bound to ${cluster}`;
  const error = lastError === '' ? '' : `, with the error ${quoted(lastError)}`;
  const from = provider === '' ? '' : ` (provider ${provider})`;
  return `${STATE_NAMES[state]} for ${duration(forMs)}${bound}${error}${from}.`;
}

function needWords({ clusterId, group, priority, fingerprint }: NeedName): string {
  const name = group === '' ? fingerprint : group;
  return `a need of ${clusterId} at priority ${count(priority)} (${quoted(name)})`;
}

const STEPS: Readonly<Record<ActionView['step'], string>> = {
  queued: 'waits for a free slot',
  bootstrap_blob: 'waits for the operator’s bootstrap data',
  provider_call: 'is at the provider',
};

function actionSentence({ kind, step, sinceMs }: ActionView, nowMs: number): string {
  return `A ${kind} ${STEPS[step]}, begun ${duration(Math.max(0, nowMs - sinceMs))} ago.`;
}

function backoffSentence(what: string, { failures, text, untilMs }: BackoffView, nowMs: number): string {
  const times = failures === 1 ? 'once' : `${count(failures)} times in a row`;
  const how = text === '' ? '' : `, last with ${quoted(text)},`;
  return `${what} failed ${times}${how} and is left alone for ${duration(Math.max(0, untilMs - nowMs))} more.`;
}

function staySentence(stay: MachineStay, machine: MachineView, nowMs: number, rails: RailsView): string {
  switch (stay.kind) {
    case 'claimed':
      return machine.cluster === '' ? 'So it is about to be bound.' : 'So it is kept.';
    case 'acting':
      return machine.action === null ? 'An action is enqueued for it.' : '';
    case 'waiting_for_provider':
      return isTransitional(machine.state)
        ? 'Its provider has to finish that; nothing else is done with it.'
        : '';
    case 'gate':
      return `Cluster ${machine.cluster} has not sent its demand since this shard started, so nothing of it is given back.`;
    case 'backoff':
      return `Nothing is done with it for ${duration(Math.max(0, stay.untilMs - nowMs))} more.`;
    case 'nothing_executes':
      return `It would be given back, but nothing is executed: ${stay.why}.`;
    case 'reclaim_queue':
      return reclaimSentence(stay.excess, stay.place, stay.perInterval, machine, rails);
    case 'hold':
      return (
        `Nobody needs it. It is kept for ${duration(stay.holdMs)} in case somebody does, and released in ` +
        `${duration(stay.leftMs)}.`
      );
    case 'hold_over':
      return 'Nobody needs it and its hold is over: the next cycle releases it.';
    case 'kept_forever':
      return `Nobody needs it. Machines that are ${CAPACITY_TYPE_NAMES[machine.capacityType]} are paid for anyway and never released.`;
    case 'offer':
      return 'It is an offer that nobody has taken up: nothing exists and nothing is paid.';
    case 'failed':
      return 'Failed is left only by its provider’s word; until then it counts for nobody.';
  }
}

function reclaimSentence(
  excess: number,
  place: number,
  perInterval: number,
  { cluster }: MachineView,
  { reclaimFraction, cycleIntervalMs }: RailsView,
): string {
  if (place <= perInterval) return 'Nobody claims it: the next ordinary cycle gives it back.';
  const cycles = Math.ceil(place / perInterval);
  return (
    `Nobody claims it, but no more than ${count(perInterval)} of ${cluster} are given back per cycle ` +
    `(${reclaimFraction * 100} % of its machines). It is number ${count(place)} of ${count(excess)}: about ` +
    `${duration(cycles * cycleIntervalMs)}.`
  );
}
