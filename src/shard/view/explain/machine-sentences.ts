/**
 * The explanation of a machine in sentences. The first is the answer: its state, for how long, and its cluster. Then the
 * need that claims it, the action under way, failures, and what the shard will do with it.
 */
import { isDigestText } from '../../../base/digest-text.ts';
import { CAPACITY_TYPE_NAMES } from '../../../machine/capacity-type.ts';
import { isTransitional, STATE_NAMES } from '../../../machine/state.ts';
import type { MachineFacts, MachineOrder, MachineStay, NeedName } from '../../ports/explain.ts';
import type { ActionView, BackoffView, MachineView, RailsView } from '../../ports/fleet-view.ts';
import { budgetWords, count, duration, failuresWords, list, pauseWords, quoted } from './words.ts';

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
      `It was bound at priority ${count(machine.assignment.priority)}; no need of ${machine.cluster} claims it now.`,
    );
  }
  if (facts.order !== null) sentences.push(...orderSentences(facts.order, nowMs));
  if (facts.drainsFor !== null) sentences.push(`It was preempted for ${needWords(facts.drainsFor)}.`);
  if (machine.action !== null) sentences.push(actionSentence(machine.action, nowMs));
  if (machine.isStuck) {
    sentences.push(
      `It is stuck: it has been in a transitional state for longer than ${duration(rails.stuckAfterMs)}. It ` +
        'satisfies no need until its provider moves it. The shard keeps reading it; ask the provider about the operation.',
    );
  }
  if (machine.claimedBy.length > 0) {
    const providers = list([machine.provider, ...machine.claimedBy]);
    sentences.push(
      `It is in dispute: providers ${providers} all list this id, and the shard cannot know which of them owns the machine. Its ` +
        'binding counts, and the shard makes no call for it. Give the id to one of them, or set provider-id-prefix.',
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
      `It matches unmet needs of ${list([...new Set(who)])}. Explain those needs to see why they do not take it.`,
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
  // T4: the digest of a need that the cluster withdrew does not tell the priority.
  const at = isDigestText(fingerprint) ? '' : ` at priority ${count(priority)}`;
  return `a need of ${clusterId}${at} (${quoted(name)})`;
}

const STEPS: Readonly<Record<ActionView['step'], string>> = {
  queued: 'waits for an execute slot',
  bootstrap_blob: 'waits for the operator’s bootstrap data',
  provider_call: 'waits for the provider’s answer',
};

function actionSentence({ kind, step, sinceMs }: ActionView, nowMs: number): string {
  return `A ${kind} began ${duration(Math.max(0, nowMs - sinceMs))} ago and ${STEPS[step]}.`;
}

/** H5, H6, H7. */
function orderSentences({ kind, control, foreignUntilMs, waits }: MachineOrder, nowMs: number): string[] {
  if (control === null && foreignUntilMs > 0) {
    const until =
      foreignUntilMs === Number.POSITIVE_INFINITY
        ? 'while it drains and for some time after'
        : `for another ${duration(Math.max(0, foreignUntilMs - nowMs))}`;
    return [`It was drained at its provider, and not by the shard, which leaves it alone ${until}.`];
  }
  const by =
    control === null ? '' : `, by ${control.who}, because ${quoted(control.why)} (control ${control.id})`;
  const since = control === null ? '' : ` for ${duration(Math.max(0, nowMs - control.sinceMs))}`;
  const undo = control === null ? '' : ` To undo it: flotilla resume ${control.id} --why TEXT.`;
  if (kind === 'leaving') return [`Leaving${since}${by}; ${waits}${undo}`];
  if (kind === 'releasing') return ['A person gives it back: the next cycle deletes it at its provider.'];
  return [
    `Cordoned${since}${by}: no need but the one that it is assigned to has it, and the shard never releases it.${undo}`,
  ];
}

function backoffSentence(what: string, { failures, text, untilMs }: BackoffView, nowMs: number): string {
  const comma = text === '' ? '' : ',';
  return `${what} failed ${failuresWords(failures, text)}${comma} and is in back-off for another ${duration(Math.max(0, untilMs - nowMs))}.`;
}

function staySentence(stay: MachineStay, machine: MachineView, nowMs: number, rails: RailsView): string {
  switch (stay.kind) {
    case 'claimed':
      return machine.cluster === ''
        ? 'The shard is about to bind it.'
        : 'It will not be reclaimed while this need exists.';
    case 'acting':
      return machine.action === null ? 'The shard has enqueued an action for it.' : '';
    case 'waiting_for_provider':
      return isTransitional(machine.state) ? 'The shard waits for its provider to finish.' : '';
    case 'gate':
      return (
        `Cluster ${machine.cluster} has sent no roll-up since this shard started, so the shard reclaims none of its ` +
        'machines. Connect its operator.'
      );
    case 'taking_up':
      return (
        `The shard has taken up ${count(stay.needs)} of the ${count(stay.of)} needs of cluster ${machine.cluster}. It reclaims ` +
        'none of its machines until each of the others had its turn.'
      );
    case 'ordered':
    case 'disputed':
      return ''; // said above
    case 'ignored':
      return (
        'No shard assigned it, and unassigned-bindings is ignore: it counts for no need, and the shard neither reclaims nor ' +
        'preempts it.'
      );
    case 'paused':
      return `The shard leaves it as it is: ${pauseWords(stay.control, nowMs)}`;
    case 'backoff':
      return `The shard takes no action on it for another ${duration(Math.max(0, stay.untilMs - nowMs))}.`;
    case 'nothing_executes': {
      const verb = machine.cluster === '' ? 'release' : 'reclaim';
      return `Unclaimed. The shard would ${verb} it, but executes no actions: ${stay.why}.`;
    }
    case 'reclaim_queue':
      return reclaimSentence(stay.excess, stay.place, stay.perInterval, machine, rails);
    case 'budget':
      return `Unclaimed. ${budgetWords(stay.budget, nowMs)}`;
    case 'hold':
      return (
        `Unclaimed. The shard holds it for ${duration(stay.holdMs)} in case a need asks for it, and releases it in ` +
        `${duration(stay.leftMs)}.`
      );
    case 'hold_over':
      return 'Unclaimed. Its hold is over: the next cycle releases it.';
    case 'kept_forever':
      return (
        `Unclaimed. The shard never releases a machine whose capacity type is ` +
        `${CAPACITY_TYPE_NAMES[machine.capacityType]}: it is paid for whether it is used or not.`
      );
    case 'offer':
      return 'Unclaimed. It is an offer: the machine does not exist yet and costs nothing.';
    case 'failed':
      return (
        `It satisfies no need until provider ${machine.provider} reports another state: the shard cannot repair it. Repair or ` +
        'replace it at the provider; once the provider lists it as Idle or Speculative, the shard uses it again.'
      );
  }
}

function reclaimSentence(
  excess: number,
  place: number,
  perInterval: number,
  { cluster }: MachineView,
  { reclaimFraction, cycleIntervalMs }: RailsView,
): string {
  if (place <= perInterval) return 'Unclaimed. The next ordinary cycle reclaims it.';
  const cycles = Math.ceil(place / perInterval);
  return (
    `Unclaimed. The shard reclaims at most ${count(perInterval)} of ${cluster} per cycle ` +
    `(${reclaimFraction * 100} % of its machines), and this machine is number ${count(place)} of ${count(excess)}: ` +
    `about ${duration(cycles * cycleIntervalMs)}.`
  );
}
