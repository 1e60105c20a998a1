/** The history: what happened, the newest first; for one machine, need, cluster or offering, or for all. */
import type { ApiEvent, ApiEvents } from '../api/types.ts';
import { h, replaceRows } from './dom.ts';
import { age, count, moment } from './format.ts';
import { addressValue, listPage, textFilter } from './list.ts';
import { machineHref } from './machines.ts';
import { field, labelled, select, table } from './parts.ts';
import { ask } from './poll.ts';

const EVERY_MS = 4_000;
export const EVENT_COLUMNS = [
  { name: 'Time' },
  { name: 'Event' },
  { name: 'What happened', class: 'wide' },
  { name: 'Machine' },
  { name: 'Cluster' },
  { name: 'Cycle', class: 'number' },
] as const;

const SPANS = [
  ['', 'everything'],
  ['600000', 'last 10 minutes'],
  ['3600000', 'last hour'],
  ['43200000', 'last 12 hours'],
  ['86400000', 'last day'],
] as const;

const KINDS = [
  ['', 'any'],
  ['bound', 'bound'],
  ['unbound,interrupted,preempted,reclaim_started', 'lost by a cluster'],
  ['preempted', 'preempted'],
  ['interrupted', 'interrupted'],
  ['failed,create_failed,bind_failed,drain_failed,release_failed', 'failures'],
  ['need_unmet,need_met', 'needs unmet and met'],
  ['shard_started,shard_stopped,fenced,takeover,control,events_lost', 'the shard itself'],
] as const;

export function eventsPage(page: HTMLElement): void {
  const machine = textFilter('machine', 'any');
  const cluster = textFilter('cluster', 'any');
  const group = textFilter('group', 'any');
  const offering = textFilter('offering', 'type/zone/capacity');
  const provider = textFilter('provider', 'any');
  const kind = select('kind', KINDS, addressValue('kind'));
  const span = select('span', SPANS, addressValue('span'));
  listPage<ApiEvents>(page, {
    title: 'History',
    path: '/events',
    caption: 'Events, newest first',
    columns: EVENT_COLUMNS,
    everyMs: EVERY_MS,
    filters: [
      field('Time', span),
      field('Kind', kind),
      field('Machine', machine),
      field('Cluster', cluster),
      field('Group', group),
      field('Offering', offering),
      field('Provider', provider),
    ],
    asked: () => ({
      machine: machine.value.trim(),
      cluster: cluster.value.trim(),
      group: group.value.trim(),
      offering: offering.value.trim(),
      provider: provider.value.trim(),
      kind: kind.value,
      span: span.value,
    }),
    toApi: ({ span: spanMs, ...others }) => ({
      ...others,
      since: spanMs === '' ? '' : Date.now() - Number(spanMs),
    }),
    summary: summaryOf,
    show: (body, { events }) => {
      if (events.length === 0) return 'No event matches the filters.';
      showEvents(body, events);
      return null;
    },
  });
}

function summaryOf({ beginsAtMs, wholeSinceAtMs, gaps, nowMs }: ApiEvents): string {
  if (beginsAtMs === 0) return 'The history is empty.';
  const begins = `The history begins ${age(nowMs - beginsAtMs)} ago`;
  const [gap] = gaps;
  if (gap === undefined) return `${begins} and is whole since then.`;
  return `${begins} and is whole since ${moment(wholeSinceAtMs)}; before that: ${gap.why}.`;
}

/** A table of events for the page of a machine or a cluster; `refresh` reads them again. */
export function eventsPart(
  caption: string,
  query: string,
): { readonly element: HTMLElement; refresh(signal: AbortSignal): Promise<void> } {
  const rows = table(EVENT_COLUMNS, caption);
  const more = h('p', { class: 'aside' }, h('a', { href: `/events?${query}` }, 'Show the whole history'));
  const none = (text: string) =>
    replaceRows(rows.body, [text], String, () =>
      h('tr', {}, h('td', { class: 'empty', colspan: EVENT_COLUMNS.length }, text)),
    );
  return {
    element: h('div', {}, rows.element, more),
    refresh: async (signal) => {
      const answer = await ask<ApiEvents>(`/api/v1/events?limit=20&${query}`, signal).catch((error) => {
        if (signal.aborted) throw error;
        none((error as Error).message); // the rest of the page does not depend on the history
        return null;
      });
      if (answer === null) return;
      if (answer.events.length > 0) showEvents(rows.body, answer.events);
      else none('Nothing happened since the history began.');
    },
  };
}

function showEvents(body: HTMLElement, events: readonly ApiEvent[]): void {
  const seen = new Map<string, number>();
  const keyed = events.toReversed().map((event) => {
    const name = `${event.epoch} ${event.atMs} ${event.kind} ${event.machineId} ${event.clusterId}`;
    const number = (seen.get(name) ?? 0) + 1;
    seen.set(name, number);
    return { event, key: `${name} ${number}` };
  });
  replaceRows(
    body,
    keyed.reverse(),
    ({ key }) => key,
    ({ event }) => eventRow(event),
    ({ key }) => key,
  );
}

const BAD = new Set([
  'interrupted',
  'failed',
  'bind_failed',
  'create_failed',
  'drain_failed',
  'release_failed',
  'need_unmet',
  'events_lost',
  'fenced',
  'cluster_suspended',
]);
const GOOD = new Set(['bound', 'need_met', 'recovered', 'created', 'released']);

function eventRow(event: ApiEvent): Element {
  const level = BAD.has(event.kind) ? 'bad' : GOOD.has(event.kind) ? 'good' : 'warn';
  const { machineId, clusterId } = event;
  const row = h(
    'tr',
    {},
    h('td', { class: 'id' }, moment(event.atMs)),
    h('td', {}, h('span', { class: `verdict ${level}` }, event.kind.replaceAll('_', ' '))),
    h('td', {}, event.sentence),
    h('td', {}, machineId === '' ? '' : h('a', { href: machineHref(machineId) }, machineId)),
    h('td', {}, clusterId === '' ? '' : h('a', { href: clusterHref(clusterId) }, clusterId)),
    h(
      'td',
      { class: 'number', title: `epoch ${event.epoch}` },
      event.epoch === 0 ? 'standby' : count(event.cycle),
    ),
  );
  return labelled(row, EVENT_COLUMNS);
}

export function clusterHref(clusterId: string): string {
  return `/clusters/${encodeURIComponent(clusterId)}`;
}
