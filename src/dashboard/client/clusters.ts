/** Clusters with their session, needs and machines. */
import type { ApiCluster, ApiClusters } from '../api/types.ts';
import { h, replaceRows } from './dom.ts';
import { age, count, counted } from './format.ts';
import { checkFilter, listPage, textFilter } from './list.ts';
import { field, labelled, stateBar } from './parts.ts';

const EVERY_MS = 4_000;
const COLUMNS = [
  { name: 'Cluster' },
  { name: 'Session' },
  { name: 'Last roll-up', class: 'number' },
  { name: 'Needs', class: 'number' },
  { name: 'Unmet', class: 'number' },
  { name: 'Machines', class: 'number' },
  { name: 'By state', class: 'wide' },
  { name: 'Notes' },
] as const;

export function clustersPage(page: HTMLElement): void {
  const prefix = textFilter('prefix', 'starts with …');
  const unmet = checkFilter('unmet');
  const gone = checkFilter('disconnected');
  listPage<ApiClusters>(page, {
    title: 'Clusters',
    path: '/clusters',
    caption: 'Clusters by id',
    columns: COLUMNS,
    everyMs: EVERY_MS,
    filters: [
      field('Id', prefix),
      h('label', { class: 'check' }, unmet, 'only with unmet needs'),
      h('label', { class: 'check' }, gone, 'only disconnected'),
    ],
    asked: () => ({
      prefix: prefix.value.trim(),
      unmet: unmet.checked ? 1 : 0,
      disconnected: gone.checked ? 1 : 0,
    }),
    summary: ({ matching, total }) => `${count(matching)} of ${count(total)} clusters`,
    show: (body, { clusters, nowMs }) => {
      if (clusters.length === 0) return 'No cluster matches the filters.';
      replaceRows(
        body,
        clusters,
        ({ clusterId }) => clusterId,
        (one) => makeRow(one, nowMs),
        (one) => JSON.stringify([one, since(one, nowMs), rollup(one, nowMs)]),
      );
      return null;
    },
  });
}

function since({ session }: ApiCluster, nowMs: number): string {
  if (session === null) return 'not connected since the shard started';
  const forMs = age(nowMs - session.sinceAtMs);
  return session.connected ? `connected for ${forMs}` : `disconnected for ${forMs}`;
}

function rollup({ session }: ApiCluster, nowMs: number): string {
  return session === null || session.lastRollupAtMs === 0 ? '' : `${age(nowMs - session.lastRollupAtMs)} ago`;
}

/** A large roll-up is taken up in parts. */
function waitingNote({ needs, waitingNeeds }: ApiCluster): string {
  return `${count(needs)} of ${count(needs + waitingNeeds)} needs are taken up; the others wait for their turn`;
}

function makeRow(cluster: ApiCluster, nowMs: number): Element {
  const { clusterId, session, needs, unmetNeeds, machines, byState } = cluster;
  const id = encodeURIComponent(clusterId);
  const notes = [
    session?.connected !== true && needs > 0 ? 'the shard keeps its last roll-up' : '',
    cluster.reported ? '' : 'no roll-up since the shard started, so its machines are not reclaimed',
    cluster.suspension === '' ? '' : `suspended: ${cluster.suspension}`,
    cluster.waitingNeeds > 0 ? waitingNote(cluster) : '',
    cluster.heldRollups > 0 ? counted(cluster.heldRollups, 'quarantined roll-up') : '',
    cluster.rejectedRollups > 0 ? counted(cluster.rejectedRollups, 'rejected roll-up') : '',
    session !== null && session.outboxFrames > 0 ? counted(session.outboxFrames, 'unsent frame') : '',
  ].filter((text) => text !== '');
  const level = session?.connected === true ? 'good' : 'bad';
  const row = h(
    'tr',
    {},
    h('th', { scope: 'row' }, h('a', { href: `/clusters/${id}` }, clusterId)),
    h('td', {}, h('span', { class: `verdict ${level}`, title: session?.peer ?? '' }, since(cluster, nowMs))),
    h('td', { class: 'number' }, rollup(cluster, nowMs)),
    h('td', { class: 'number' }, h('a', { href: `/needs?cluster=${id}` }, count(needs))),
    h(
      'td',
      { class: 'number' },
      unmetNeeds === 0 ? '0' : h('a', { href: `/needs?cluster=${id}&unmet=1` }, count(unmetNeeds)),
    ),
    h('td', { class: 'number' }, h('a', { href: `/machines?cluster=${id}` }, count(machines))),
    h('td', {}, machines === 0 ? '' : stateBar(byState, clusterId)),
    h('td', { class: 'notes' }, notes.join(' · ')),
  );
  return labelled(row, COLUMNS);
}
