/**
 * The explanation of a need in sentences: what is missing since when, why, what was looked for and what there is, who
 * holds it, and what would have to change.
 */

import { UnmetReason } from '../../../decision/verdicts/verdicts.ts';
import { CAPACITY_TYPE_NAMES } from '../../../machine/capacity-type.ts';
import { MachineState } from '../../../machine/state.ts';
import { WhenUnsatisfiable } from '../../../needs/requirements.ts';
import type { DomainFacts, Holder, Miss, NearMiss, NeedBar, NeedFacts } from '../../ports/explain.ts';
import type { NeedView } from '../../ports/view.ts';
import {
  amount,
  amounts,
  areOrIs,
  count,
  duration,
  list,
  machines,
  plainKey,
  quoted,
  requirement,
  states,
  total,
} from './words.ts';

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
      `One machine can hold it whole, so it is served together with the other needs of its kind (${quoted(facts.foldedAs)}).`,
    );
  }
  sentences.push(...reasonSentences(need, facts));
  return sentences;
}

function satisfiedSentences(need: NeedView, facts: NeedFacts): string[] {
  const coming = [
    need.bootstraps > 0 ? `${count(need.bootstraps)} to be bootstrapped` : '',
    need.provisions > 0 ? `${count(need.provisions)} to be provisioned` : '',
  ].filter((text) => text !== '');
  const where = need.domain === '' ? '' : ` in ${need.domain}`;
  const sentences = [
    `Satisfied: ${machines(facts.ownMachines)} ${facts.ownMachines === 1 ? 'counts' : 'count'} for it${where}${coming.length > 0 ? `, ${list(coming)}` : ''}.`,
  ];
  if (facts.foldedAs !== '') {
    sentences.push(`They serve it together with other needs of its kind (${quoted(facts.foldedAs)}).`);
  }
  return sentences;
}

function unmetSentence(need: NeedView, { cycleIntervalMs }: Moment): string {
  const cycles = need.cyclesUnmet;
  const since =
    cycles === 0
      ? 'since the last cycle'
      : `for ${count(cycles)} cycle${cycles === 1 ? '' : 's'} (about ${duration(cycles * cycleIntervalMs)})`;
  return `Unmet ${since}: ${amounts(need.deficit)} missing of ${amounts(need.aggregate)}, at priority ${count(need.priority)}.`;
}

function barSentence(bar: NeedBar, need: NeedView, { nowMs }: Moment): string {
  switch (bar.kind) {
    case 'no_session':
      return (
        `The operator of cluster ${need.clusterId} is not connected, so no machine is bootstrapped, provisioned or ` +
        'preempted for it. This ends when the operator connects to this shard.'
      );
    case 'bootstrap_backoff': {
      const { text, failures, untilMs } = bar.backoff;
      const times = failures === 1 ? 'once' : `${count(failures)} times in a row`;
      return (
        `Its bootstrap failed ${times}, last with ${quoted(text)}. It is tried again in ` +
        `${duration(Math.max(0, untilMs - nowMs))}; until then nothing is acquired for it.`
      );
    }
    case 'parked':
      return (
        `It is parked: for ${count(bar.cycles)} cycles no domain could hold all of it, so it keeps what it has and ` +
        'is tried again every 32 cycles.'
      );
    case 'nothing_executes':
      return `Nothing is executed at all: ${bar.why}.`;
  }
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

function wish(need: NeedView): string {
  const parts = need.requirements.map(requirement);
  const unit = Object.keys(need.minUnit).length > 0 ? `each with at least ${amounts(need.minUnit)}` : '';
  const wishes = [...parts, unit].filter((text) => text !== '');
  return wishes.length === 0 ? 'any machine' : `machines: ${wishes.join('; ')}`;
}

function noSupply(need: NeedView, { nearest }: NeedFacts): string[] {
  const first = `No machine in any state matches (NO_MATCHING_SUPPLY). It wants ${wish(need)}.`;
  if (nearest.length === 0) return [first, 'There are no machines at all: no provider has listed any.'];
  return [
    first,
    ...nearest.map((miss, index) => nearestSentence(miss, index === 0)),
    'It will be met when a provider offers such machines, or when the cluster asks for less.',
  ];
}

function nearestSentence(
  { instanceType, zone, capacityType, machines: counts, misses }: NearMiss,
  isFirst: boolean,
): string {
  const kind = [instanceType, zone === '' ? '' : `in ${zone}`].filter((text) => text !== '').join(' ');
  const what = `${machines(total(counts))} (${kind || 'of no type'}, ${CAPACITY_TYPE_NAMES[capacityType]})`;
  return `${isFirst ? 'Nearest' : 'Then'}: ${what}, but ${list(misses.map(missWords))}.`;
}

function missWords(miss: Miss): string {
  if (miss.kind === 'min_unit') {
    const { dimension, wanted, has } = miss;
    const found = has === 0 ? 'none' : amount(dimension, has);
    return `each has ${found} of the ${amount(dimension, wanted)} ${dimension} that one must have`;
  }
  const found = miss.has === null ? 'is not set' : `is ${miss.has}`;
  return `${plainKey(miss.key)} ${found} where the need says “${requirement(miss)}”`;
}

function topology(need: NeedView, facts: NeedFacts): string[] {
  const key = list(
    need.requirements.filter(({ operator }) => operator === 5).map((one) => plainKey(one.key)),
  );
  const sentences = [`All of it must be in one ${key}, and no ${key} can hold it (TOPOLOGY_UNSATISFIABLE).`];
  sentences.push(supplySentence(need, facts));
  const [best] = facts.domains;
  if (best === undefined) {
    sentences.push(
      `No ${key} has a machine that is free or already its own.`,
      ...holderSentences(need, facts),
    );
  } else {
    sentences.push(...facts.domains.map((domain, index) => domainSentence(domain, need, index === 0)));
    sentences.push(
      `It will be met when one ${key} has ${amounts(need.aggregate)} free at once, or when it asks for less.`,
    );
  }
  if (facts.nearest.length > 0)
    sentences.push(...facts.nearest.map((miss, at) => nearestSentence(miss, at === 0)));
  return sentences;
}

function domainSentence(
  { domain, own, free, capacity, covered }: DomainFacts,
  need: NeedView,
  isFirst: boolean,
): string {
  const who = list(
    [own > 0 ? `${count(own)} of its own` : '', free > 0 ? `${count(free)} free` : ''].filter(
      (text) => text !== '',
    ),
  );
  const offered = amounts(
    Object.fromEntries(Object.keys(need.aggregate).map((name) => [name, capacity[name] ?? 0])),
  );
  return `${isFirst ? 'Best' : 'Then'}: ${domain} with ${who}, ${offered} together: ${Math.floor(covered * 100)} % of it.`;
}

function exhausted(need: NeedView, facts: NeedFacts): string[] {
  const sentences = [
    'Machines of lower priority were preempted for it, but not enough of them exist (PREEMPTION_EXHAUSTED).',
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
      'Machines that it could use exist, but others come first or they are on their way (PRIORITY_STARVED).',
    );
  } else if (facts.free > 0) {
    sentences.push('But for what is said above it would take what is free.');
  }
  if (facts.drainingForIt > 0) sentences.push(drainSentence(facts.drainingForIt));
  if (facts.takenByOthers > 0) {
    const taken = machines(facts.takenByOthers);
    sentences.push(`${taken} that would fit ${areOrIs(facts.takenByOthers)} being taken for other needs.`);
  }
  if (isBarred && facts.free > 0) return sentences;
  if (facts.free > 0 && facts.domains.length === 0) {
    sentences.push('What is free became so after the last cycle; the next one may take it.');
  }
  return [...sentences, ...spreadSentences(need, facts), ...holderSentences(need, facts), helpSentence(need)];
}

function drainSentence(draining: number): string {
  return draining === 1
    ? '1 machine drains for it now and will be free for it, or for whoever comes first then.'
    : `${machines(draining)} drain for it now and will be free for it, or for whoever comes first then.`;
}

function supplySentence(
  need: NeedView,
  { matching, free, inBackoff, stuck, ownMachines }: NeedFacts,
): string {
  const all = total(matching);
  const offered = (matching[MachineState.Idle] ?? 0) + (matching[MachineState.Speculative] ?? 0);
  const asides = [
    free > 0
      ? `${count(free)} of the Idle and Speculative ones ${areOrIs(free)} free`
      : offered > 0
        ? 'none of the Idle and Speculative ones is free'
        : 'none is Idle or Speculative',
    inBackoff > 0 ? `${count(inBackoff)} ${areOrIs(inBackoff)} in back-off after failures` : '',
    stuck > 0 ? `${count(stuck)} ${areOrIs(stuck)} stuck` : '',
    ownMachines > 0 ? `${count(ownMachines)} ${ownMachines === 1 ? 'counts' : 'count'} for this need` : '',
  ].filter((text) => text !== '');
  return `It wants ${wish(need)}. ${machines(all)} ${all === 1 ? 'matches' : 'match'}: ${states(matching)}; ${list(asides)}.`;
}

function spreadSentences(need: NeedView, { domains, free }: NeedFacts): string[] {
  const spread = need.spread.find(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === WhenUnsatisfiable.DoNotSchedule,
  );
  if (spread === undefined || domains.length === 0) return [];
  const each = domains.map(
    ({ domain, own, free: left }) => `${domain} has ${count(own)} of its own and ${count(left)} free`,
  );
  return [
    `It must spread over ${plainKey(spread.topologyKey)} with a skew of at most ${Math.max(1, spread.maxSkew)}: ${list(each)}.` +
      (free > 0 ? ' What is free lies where the skew forbids more.' : ''),
  ];
}

function holderSentences(need: NeedView, { holders, preemptible }: NeedFacts): string[] {
  if (holders.length === 0) return [];
  const below =
    preemptible === 0
      ? `none of them is held below its own priority ${count(need.priority)}, so none may be preempted`
      : `${count(preemptible)} of them may be preempted for it, at its own priority ${count(need.priority)}`;
  return [`Configured machines that fit are held ${list(holders.map(holderWords))}; ${below}.`];
}

function holderWords({ priority, isUnclaimed, machines: held, clusters, topClusters }: Holder): string {
  const others = clusters - topClusters.length;
  const names = topClusters.map(({ clusterId }) => clusterId);
  const who = list(others > 0 ? [...names, `${count(others)} more`] : names);
  const at = isUnclaimed ? `by no need (assigned ${count(priority)})` : `at priority ${count(priority)}`;
  return `${at}: ${count(held)} of ${who}`;
}

function helpSentence(need: NeedView): string {
  return (
    'It will be met when matching machines become free or are offered, when needs of higher or equal priority shrink, ' +
    `or when its priority is raised above ${count(need.priority)}.`
  );
}
