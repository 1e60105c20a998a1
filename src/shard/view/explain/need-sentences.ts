/**
 * The explanation of a need in sentences. The first is the answer: what the need lacks. Then come the facts: what bars it,
 * why it is unmet, which machines match and which needs hold them. The last says what change would help.
 */

import { UnmetReason } from '../../../decision/verdicts/verdicts.ts';
import { INSTANCE_TYPE_KEY, ZONE_KEY } from '../../../inventory/shapes.ts';
import { CAPACITY_TYPE_NAMES } from '../../../machine/capacity-type.ts';
import { MachineState } from '../../../machine/state.ts';
import { Operator, WhenUnsatisfiable } from '../../../needs/requirements.ts';
import type { DomainFacts, Holder, Miss, NearMiss, NeedBar, NeedFacts } from '../../ports/explain.ts';
import type { NeedBackoffView } from '../../ports/fleet-view.ts';
import type { NeedView } from '../../ports/view.ts';
import {
  amount,
  amounts,
  areOrIs,
  count,
  duration,
  failuresWords,
  list,
  machines,
  pauseWords,
  plainKey,
  quoted,
  requirement,
  states,
  total,
} from './words.ts';

/** Types or zones that the first sentence names. */
const PLACE_VALUES_MAX = 2;
/** Machines that a sentence names; the facts have more. */
const MACHINES_NAMED_MAX = 4;

export interface Moment {
  readonly nowMs: number;
  readonly cycleIntervalMs: number;
}

export function needSentences(need: NeedView, facts: NeedFacts, moment: Moment): string[] {
  if (need.satisfied) return satisfiedSentences(need, facts);
  const sentences = [unmetSentence(need, moment)];
  for (const bar of facts.bars) sentences.push(barSentence(bar, need, moment));
  if (facts.foldedAs !== '') {
    sentences.push(
      `One machine can hold all of it, so the shard serves it in one fold with similar needs (${quoted(facts.foldedAs)}).`,
    );
  }
  sentences.push(...servingSentences(facts), ...reasonSentences(need, facts));
  return sentences;
}

function satisfiedSentences(need: NeedView, facts: NeedFacts): string[] {
  const coming = [
    need.bootstraps > 0 ? `${count(need.bootstraps)} of them to be bootstrapped` : '',
    need.provisions > 0 ? `${count(need.provisions)} of them to be provisioned` : '',
  ].filter((text) => text !== '');
  const where = need.domain === '' ? '' : ` in ${need.domain}`;
  const sentences = [
    `Satisfied: ${machines(facts.ownMachines)} ${facts.ownMachines === 1 ? 'counts' : 'count'} for it${where}${coming.length > 0 ? `, ${list(coming)}` : ''}.`,
  ];
  if (facts.foldedAs !== '') {
    sentences.push(`They serve it in one fold with similar needs (${quoted(facts.foldedAs)}).`);
  }
  return [...sentences, ...servingSentences(facts)];
}

/** Which machines count for it. */
function servingSentences({ machines: serving, ownMachines }: NeedFacts): string[] {
  if (serving.length === 0) return [];
  const named = serving.slice(0, MACHINES_NAMED_MAX).map(({ id }) => id);
  const others = ownMachines - named.length;
  const names = list(others > 0 ? [...named, `${count(others)} more`] : named);
  return [`${ownMachines === 1 ? 'Its machine is' : 'Its machines are'} ${names}.`];
}

function unmetSentence(need: NeedView, { cycleIntervalMs }: Moment): string {
  const cycles = need.cyclesUnmet;
  const since =
    cycles === 0
      ? 'since the last cycle'
      : `for ${count(cycles)} cycle${cycles === 1 ? '' : 's'} (about ${duration(cycles * cycleIntervalMs)})`;
  return (
    `Unmet: needs ${amounts(need.deficit)} more${place(need)}. It asks for ${amounts(need.aggregate)} in all, ` +
    `at priority ${count(need.priority)}, and has been unmet ${since}.`
  );
}

/** ` on realtime-48 in eu-north-1c`, where the need names them; longer lists stand in the requirements alone. */
function place({ requirements }: NeedView): string {
  const named = (key: string) => {
    const values = requirements.find((one) => one.key === key && one.operator === Operator.In)?.values ?? [];
    return values.length <= PLACE_VALUES_MAX ? list(values, 'or') : '';
  };
  const type = named(INSTANCE_TYPE_KEY);
  const zone = named(ZONE_KEY);
  return `${type === '' ? '' : ` on ${type}`}${zone === '' ? '' : ` in ${zone}`}`;
}

function barSentence(bar: NeedBar, need: NeedView, { nowMs }: Moment): string {
  switch (bar.kind) {
    case 'no_session':
      return (
        `The operator of cluster ${need.clusterId} is not connected, so the shard bootstraps, provisions and ` +
        'preempts no machine for this need. Connect the operator to this shard.'
      );
    case 'bootstrap_backoff': {
      const { text, failures } = bar.backoff;
      return `Its bootstrap failed ${failuresWords(failures, text)}. ${retryWords(bar.backoff, need, nowMs)}`;
    }
    case 'suspended': {
      const { reason, untilMs } = bar.suspension;
      return (
        `Cluster ${need.clusterId} is suspended: ${reason}. It keeps its machines, and the shard acquires, preempts and ` +
        `reclaims nothing for it until its demand changes, or for ${duration(Math.max(0, untilMs - nowMs))}. This is a ` +
        'bug of the shard: report it with the log event decision_threw.'
      );
    }
    case 'paused':
      return bar.machines === 0
        ? `The shard acquires and preempts nothing for cluster ${need.clusterId}: ${pauseWords(bar.control, nowMs)}`
        : `The shard leaves ${machines(bar.machines)} that match as they are: ${pauseWords(bar.control, nowMs)}`;
    case 'parked':
      return (
        `It is parked: no domain could hold all of it for ${count(bar.cycles)} cycles. It keeps its machines, and ` +
        'the shard tries again every 32 cycles.'
      );
    case 'limited':
      if (bar.limit === 'min-non-spot-share')
        return (
          `Cluster ${need.clusterId} may have no more spot machines now: ${bar.limit} is ${bar.most} (tenants entry ${quoted(bar.pattern)}). ` +
          'The shard binds machines of other capacity types for this need if there are any. ' +
          'Lower the share and reload with SIGHUP, or add machines that are not spot.'
        );
      return (
        `Cluster ${need.clusterId} has reached its limit: ${bar.limit} is ${bar.most} (tenants entry ${quoted(bar.pattern)}). ` +
        'The shard acquires and preempts for this need only what the limit allows. ' +
        'Raise the limit and reload with SIGHUP, or reduce what the cluster has.'
      );
    case 'ceiling':
      return (
        `The fleet has reached a ceiling: ${bar.ceiling} is ${bar.most}. ` +
        'The shard creates no machine for this need that would cost more. Idle machines and those of lower priority may still serve it. ' +
        'Raise the ceiling and reload with SIGHUP, or reduce what the fleet costs.'
      );
    case 'nothing_executes':
      return `The shard executes no actions: ${bar.why}.`;
  }
}

/** When the shard tries again, and what would help. */
function retryWords(
  { untilMs, probe = '', spent = null }: NeedBackoffView,
  { clusterId }: NeedView,
  nowMs: number,
): string {
  if (spent !== null) {
    return (
      `Cluster ${clusterId} has burned ${machines(spent.burned)} in the last hour, and may burn ${count(spent.limit)} ` +
      `(burn-fraction): the shard tries no machine for this need for ${duration(Math.max(0, spent.untilMs - nowMs))}. ` +
      'Repair the bootstrap. To try at once, raise burn-fraction and reload with SIGHUP.'
    );
  }
  const rest = 'Repair the bootstrap: until one succeeds, the shard tries one machine at a time.';
  if (probe !== '') return `The shard tries ${probe} now, and acquires nothing else for it. ${rest}`;
  if (untilMs <= nowMs) return `The next cycle may try one machine. ${rest}`;
  return `The shard tries again in ${duration(untilMs - nowMs)} and acquires nothing for it until then. ${rest}`;
}

function reasonSentences(need: NeedView, facts: NeedFacts): string[] {
  switch (need.reason) {
    case UnmetReason.NoMatchingSupply:
      return noSupply(need, facts);
    case UnmetReason.TopologyUnsatisfiable:
      return topology(need, facts);
    case UnmetReason.PreemptionExhausted:
      return exhausted(need, facts);
    default:
      return starved(need, facts);
  }
}

/** `It accepts machines where zone is zone-7; each has at least 4 cpu.` */
function wishSentence(need: NeedView): string {
  const parts = need.requirements.map(requirement);
  if (Object.keys(need.minUnit).length > 0) parts.push(`each has at least ${amounts(need.minUnit)}`);
  return parts.length === 0 ? 'It accepts any machine.' : `It accepts machines where ${parts.join('; ')}.`;
}

function noSupply(need: NeedView, { nearest }: NeedFacts): string[] {
  const first = `No machine in any state matches (NO_MATCHING_SUPPLY). ${wishSentence(need)}`;
  if (nearest.length === 0) return [first, 'The inventory is empty: no provider has listed a machine.'];
  return [
    first,
    ...nearest.map((miss, index) => nearestSentence(miss, index === 0)),
    'To meet it, have a provider offer such machines, or relax its requirements.',
  ];
}

function nearestSentence(
  { instanceType, zone, capacityType, machines: counts, misses }: NearMiss,
  isFirst: boolean,
): string {
  const kind = [instanceType, zone === '' ? '' : `in ${zone}`].filter((text) => text !== '').join(' ');
  const what = `${machines(total(counts))} (${kind || 'no instance type'}, ${CAPACITY_TYPE_NAMES[capacityType]})`;
  return `${isFirst ? 'Nearest match' : 'Next'}: ${what}, but ${list(misses.map(missWords))}.`;
}

function missWords(miss: Miss): string {
  if (miss.kind === 'min_unit') {
    const { dimension, wanted, has } = miss;
    const found = has === 0 ? 'no' : amount(dimension, has);
    return `each has ${found} ${dimension} where the need requires at least ${amount(dimension, wanted)}`;
  }
  const found = miss.has === null ? 'is not set' : `is ${miss.has}`;
  return `${plainKey(miss.key)} ${found} where the need requires “${requirement(miss)}”`;
}

function topology(need: NeedView, facts: NeedFacts): string[] {
  const key = list(
    need.requirements.filter(({ operator }) => operator === Operator.Same).map((one) => plainKey(one.key)),
  );
  const sentences = [
    `All its machines must share one ${key}, and no ${key} can hold them (TOPOLOGY_UNSATISFIABLE).`,
    supplySentence(need, facts),
    ...facts.nearest.map((miss, at) => nearestSentence(miss, at === 0)),
  ];
  if (facts.domains.length === 0) {
    sentences.push(
      `No ${key} has a free machine that matches, or one that already counts for it.`,
      ...holderSentences(need, facts),
    );
  }
  return [
    ...sentences,
    ...facts.domains.map((domain, index) => domainSentence(domain, need, index === 0)),
    `It will be met when one ${key} has ${amounts(need.aggregate)} in matching machines, free or its own, or when it asks for less.`,
  ];
}

function domainSentence(
  { domain, own, free, capacity, covered }: DomainFacts,
  need: NeedView,
  isFirst: boolean,
): string {
  const which = list(
    [
      own > 0 ? `${machines(own)} of its own` : '',
      free > 0 ? `${count(free)} free machine${free === 1 ? '' : 's'}` : '',
    ].filter((text) => text !== ''),
  );
  const offered = amounts(
    Object.fromEntries(Object.keys(need.aggregate).map((name) => [name, capacity[name] ?? 0])),
  );
  return `${isFirst ? 'Best' : 'Next'}: ${domain} has ${offered} (${which}), ${Math.floor(covered * 100)} % of what it asks for.`;
}

function exhausted(need: NeedView, facts: NeedFacts): string[] {
  const sentences = [
    'The matching machines of lower priority are too few, even if the shard preempts all of them (PREEMPTION_EXHAUSTED).',
    supplySentence(need, facts),
  ];
  if (facts.drainingForIt > 0) sentences.push(drainSentence(facts.drainingForIt));
  return [...sentences, ...holderSentences(need, facts), helpSentence(need)];
}

function starved(need: NeedView, facts: NeedFacts): string[] {
  const isBarred = facts.bars.some(({ kind }) => kind !== 'parked');
  const sentences = [supplySentence(need, facts)];
  if (!isBarred) {
    sentences.unshift(
      'Matching machines exist, but are held at equal or higher priority or are still being provisioned (PRIORITY_STARVED).',
    );
  } else if (facts.free > 0) {
    sentences.push('It will use the free machines once the conditions above clear.');
  }
  if (facts.drainingForIt > 0) sentences.push(drainSentence(facts.drainingForIt));
  if (facts.takenByOthers > 0) {
    const taken = facts.takenByOthers;
    sentences.push(`Other needs are taking ${count(taken)} matching machine${taken === 1 ? '' : 's'}.`);
  }
  if (isBarred && facts.free > 0) return sentences;
  if (facts.free > 0 && facts.domains.length === 0) {
    sentences.push('The free machines became free after the last cycle; the next cycle may take them.');
  }
  return [...sentences, ...spreadSentences(need, facts), ...holderSentences(need, facts), helpSentence(need)];
}

function drainSentence(draining: number): string {
  const which = draining === 1 ? 'the machine' : 'the machines';
  return (
    `${machines(draining)} ${areOrIs(draining)} draining for this need. ` +
    `When the drain ends, this need or one with precedence over it takes ${which}.`
  );
}

function supplySentence(
  need: NeedView,
  { matching, free, inBackoff, stuck, ownMachines }: NeedFacts,
): string {
  const all = total(matching);
  if (all === 0) return `No machine in any state matches. ${wishSentence(need)}`;
  const offered = (matching[MachineState.Idle] ?? 0) + (matching[MachineState.Speculative] ?? 0);
  const asides = [
    free > 0
      ? `${count(free)} ${areOrIs(free)} free (Idle or Speculative, and unclaimed)`
      : offered > 0
        ? 'none of the Idle and Speculative ones is free'
        : 'none is Idle or Speculative',
    inBackoff > 0 ? `${count(inBackoff)} ${areOrIs(inBackoff)} in back-off after failures` : '',
    stuck > 0 ? `${count(stuck)} ${areOrIs(stuck)} stuck` : '',
    ownMachines > 0 ? `${count(ownMachines)} ${ownMachines === 1 ? 'counts' : 'count'} for this need` : '',
  ].filter((text) => text !== '');
  return `${wishSentence(need)} ${machines(all)} ${all === 1 ? 'matches' : 'match'} (${states(matching)}): ${list(asides)}.`;
}

function spreadSentences(need: NeedView, { domains, free }: NeedFacts): string[] {
  const spread = need.spread.find(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === WhenUnsatisfiable.DoNotSchedule,
  );
  if (spread === undefined || domains.length === 0) return [];
  const each = domains.map(
    ({ domain, own, free: left }) => `${domain} has ${count(own)} of its machines and ${count(left)} free`,
  );
  return [
    `It must spread over ${plainKey(spread.topologyKey)} with a skew of at most ${Math.max(1, spread.maxSkew)}: ${each.join('; ')}.` +
      (free > 0 ? ' The free machines are in domains that are already at the maximum skew.' : ''),
  ];
}

function holderSentences(need: NeedView, { holders, preemptible }: NeedFacts): string[] {
  if (holders.length === 0) return [];
  const own = `This need has priority ${count(need.priority)}`;
  return [
    `The other matching Configured machines are taken: ${list(holders.map(holderWords))}. ` +
      (preemptible === 0
        ? `${own} and can preempt none of them: preemption takes only machines of lower priority that are not in back-off.`
        : `${own} and can preempt ${count(preemptible)} of them.`),
  ];
}

function holderWords({ priority, isUnclaimed, machines: held, clusters, topClusters }: Holder): string {
  const others = clusters - topClusters.length;
  const names = topClusters.map(({ clusterId }) => clusterId);
  const who = list(others > 0 ? [...names, `${count(others)} more`] : names);
  const at = isUnclaimed
    ? `unclaimed, bound at priority ${count(priority)}`
    : `at priority ${count(priority)}`;
  return `${count(held)} ${at} (${who})`;
}

function helpSentence(need: NeedView): string {
  return (
    'To meet it, have a provider offer more matching machines, reduce needs of equal or higher priority, or raise its ' +
    `priority above ${count(need.priority)}.`
  );
}
