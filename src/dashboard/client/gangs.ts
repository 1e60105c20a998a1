/** Gangs: needs whose machines must share a domain. The list, and one name in full with the machines that serve it. */
import type { ApiGangInFull, ApiGangs } from '../api/gang-types.ts';
import type { ApiNeed, ApiNeedExplanation, ApiServingMachine, ApiStatus } from '../api/types.ts';
import { fill, h, replaceRows } from './dom.ts';
import { clusterHref, eventsPart } from './events.ts';
import { age, count, quantities, requirement } from './format.ts';
import { checkFilter, listPage, textFilter } from './list.ts';
import { machineHref } from './machines.ts';
import { notFoundPage } from './not-found.ts';
import { card, field, labelled, showStatus, stateBadge, table, verdictBadge } from './parts.ts';
import { AskFailed, ask, Poller } from './poll.ts';

const EVERY_MS = 4_000;
const COLUMNS = [
  { name: 'Verdict' },
  { name: 'Priority', class: 'number' },
  { name: 'Cluster' },
  { name: 'Gang' },
  { name: 'Domain' },
  { name: 'Missing' },
  { name: 'Machines', class: 'number' },
  { name: 'Unmet for', class: 'number' },
] as const;
const MACHINE_COLUMNS = [{ name: 'Machine' }, { name: 'State' }, { name: 'Domain' }] as const;

export function gangHref({ clusterId, group }: Pick<ApiNeed, 'clusterId' | 'group'>): string {
  return `/gangs/${encodeURIComponent(`${clusterId}/${group}`)}`;
}

/** Of a gang the link to its page, of another need its group. */
export function groupLabel(need: ApiNeed): HTMLElement {
  const text = need.group || '(no group)';
  const isGang = need.requirements.some(({ operator }) => operator === 'Same');
  const attributes = { class: 'group', title: need.fingerprint };
  return isGang ? h('a', { ...attributes, href: gangHref(need) }, text) : h('span', attributes, text);
}

/** The machines that serve a need, as links; '' if none does. */
export function servingList({ machines, facts }: ApiNeedExplanation): HTMLElement | '' {
  if (machines.length === 0) return '';
  const others = Number(facts.ownMachines ?? machines.length) - machines.length;
  const links = machines.flatMap(({ id }, at) => [
    at === 0 ? '' : ', ',
    h('a', { href: machineHref(id) }, id),
  ]);
  return h('p', {}, 'Served by ', ...links, others > 0 ? ` and ${count(others)} more` : '', '.');
}

export function gangsPage(page: HTMLElement): void {
  const cluster = textFilter('cluster', 'all');
  const group = textFilter('group', 'all');
  const unmet = checkFilter('unmet');
  const spanning = checkFilter('spanning');
  listPage<ApiGangs>(page, {
    title: 'Gangs',
    path: '/gangs',
    caption: 'Gangs, highest priority first',
    columns: COLUMNS,
    everyMs: EVERY_MS,
    filters: [
      field('Cluster', cluster),
      field('Group', group),
      h('label', { class: 'check' }, unmet, 'only unmet'),
      h('label', { class: 'check' }, spanning, 'only of several machines'),
    ],
    asked: () => ({
      cluster: cluster.value.trim(),
      group: group.value.trim(),
      unmet: unmet.checked ? 1 : 0,
      spanning: spanning.checked ? 1 : 0,
    }),
    summary: (answer, { nowMs }) =>
      `${count(answer.total)} gangs, ${count(answer.unmet)} of them unmet; ${count(answer.spanning)} need several machines, ` +
      `folds serve the others · cycle ${count(answer.cycle)}, ${age(nowMs - answer.computedAtMs)} ago`,
    show: (body, { gangs }) => {
      if (gangs.length === 0) return 'No gang matches the filters.';
      replaceRows(
        body,
        gangs,
        (one) => JSON.stringify([one.clusterId, one.fingerprint, one.group]),
        (one) => labelled(makeRow(one), COLUMNS),
      );
      return null;
    },
  });
}

function makeRow(gang: ApiNeed): HTMLElement {
  return h(
    'tr',
    {},
    h('td', {}, verdictBadge(gang.satisfied, gang.reason, gang.parked, gang.limitedBy)),
    h('td', { class: 'number' }, count(gang.priority)),
    h('td', { class: 'id' }, h('a', { href: clusterHref(gang.clusterId) }, gang.clusterId)),
    h(
      'td',
      { class: 'need' },
      groupLabel(gang),
      h('span', { class: 'wish' }, gang.requirements.map(requirement).join(', ')),
    ),
    h('td', {}, gang.domain),
    h('td', { class: gang.satisfied ? '' : 'missing' }, gang.satisfied ? '' : quantities(gang.missing)),
    h('td', { class: 'number' }, gang.shared > 0 ? `shares ${count(gang.shared)}` : count(gang.claimed)),
    h('td', { class: 'number' }, gang.satisfied ? '' : age(gang.unmetForMs)),
  );
}

/** `name` is CLUSTER/GROUP. */
export function gangPage(page: HTMLElement, name: string): void {
  document.title = `${name} · Flotilla`;
  const why = h('div', { class: 'why' });
  const facts = h('dl', { class: 'facts' });
  const serving = table(MACHINE_COLUMNS, 'Machines that serve this gang');
  const past = h('div', {});
  let events: ReturnType<typeof eventsPart> | null = null;
  let eventsOf = '';
  fill(
    page,
    h('p', { class: 'trail' }, h('a', { href: '/gangs' }, 'Gangs'), ' / '),
    h('h1', {}, name),
    h(
      'div',
      { class: 'grid' },
      card('Gang', { class: 'span-2' }, why),
      card('Properties', {}, facts),
      card('Machines that serve it', { class: 'span-3' }, serving.element),
      card('History', { class: 'span-3' }, past),
    ),
  );
  const poller = new Poller(EVERY_MS, async (signal) => {
    const [status, answer] = await Promise.all([ask<ApiStatus>('/api/v1/status', signal), found(signal)]);
    showStatus(status);
    if (answer === null) {
      poller.hold(true);
      notFoundPage(page, `There is no gang ${name}.`, 'Its cluster may have withdrawn it.');
      return;
    }
    show(answer);
    await events?.refresh(signal);
  });
  poller.now();

  async function found(signal: AbortSignal): Promise<ApiGangInFull | null> {
    try {
      return await ask<ApiGangInFull>(`/api/v1/gangs/${encodeURIComponent(name)}`, signal);
    } catch (error) {
      if (error instanceof AskFailed && error.status === 404) return null;
      throw error;
    }
  }

  function show({ clusterId, group, gangs }: ApiGangInFull): void {
    fill(why, ...gangs.flatMap(({ need, sentences }) => explained(need, sentences, gangs.length > 1)));
    const [first] = gangs as readonly [ApiNeedExplanation];
    fill(facts, ...factsOf(first).flatMap(([label, value]) => [h('dt', {}, label), h('dd', {}, value)]));
    const machines = gangs.flatMap((one) => one.machines);
    if (machines.length > 0)
      replaceRows(
        serving.body,
        machines,
        ({ id }) => id,
        (one) => labelled(machineRow(one), MACHINE_COLUMNS),
      );
    else
      replaceRows(serving.body, ['none'], String, () =>
        h(
          'tr',
          {},
          h('td', { class: 'empty', colspan: MACHINE_COLUMNS.length }, 'No machine serves it now.'),
        ),
      );
    const query = new URLSearchParams({ cluster: clusterId, group: first.foldedAs || group }).toString();
    if (query === eventsOf) return;
    eventsOf = query;
    events = eventsPart('Events of this gang, newest first', query);
    fill(past, events.element);
  }
}

function explained(need: ApiNeed, sentences: readonly string[], isOneOfMany: boolean): HTMLElement[] {
  const [answer, ...rest] = sentences;
  return [
    ...(isOneOfMany ? [h('p', { class: 'aside' }, h('code', {}, need.fingerprint))] : []),
    h('p', { class: 'answer' }, answer ?? ''),
    h('ul', {}, ...rest.map((sentence) => h('li', {}, sentence))),
  ];
}

function factsOf({ need, foldedAs }: ApiNeedExplanation): (readonly [label: string, value: Node | string])[] {
  const keys = need.requirements.filter(({ operator }) => operator === 'Same').map(({ key }) => key);
  const all: (readonly [string, Node | string])[] = [
    ['Cluster', h('a', { href: clusterHref(need.clusterId) }, need.clusterId)],
    ['Priority', count(need.priority)],
    ['Shares one', keys.join(', ')],
    ['Domain', need.domain],
    ['Served in the fold', foldedAs],
    ['Requested', quantities(need.aggregate)],
    ['Smallest machine', quantities(need.minUnit)],
    ['Missing', need.satisfied ? '' : quantities(need.missing)],
    ['Requirements', need.requirements.map(requirement).join(', ')],
    ['Profile', need.fingerprint],
  ];
  return all.filter(([, value]) => value !== '');
}

function machineRow({ id, state, domain }: ApiServingMachine): HTMLElement {
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, h('a', { href: machineHref(id) }, id)),
    h('td', {}, stateBadge(state)),
    h('td', {}, domain),
  );
}
