/** Clusters with their session, needs and machines. */
import type { ApiCluster, ApiClusters, ApiStatus } from '../api/types.ts';
import { fill, h, replaceRows } from './dom.ts';
import { age, count, counted } from './format.ts';
import { field, labelled, showStatus, stateBar, table } from './parts.ts';
import { ask, Poller, queryOf } from './poll.ts';

const EVERY_MS = 4_000;
const PAGE = 100;
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
  const parameters = new URLSearchParams(location.search);
  const prefix = h('input', {
    name: 'prefix',
    type: 'search',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'starts with …',
    value: parameters.get('prefix') ?? '',
  });
  const unmet = h('input', { name: 'unmet', type: 'checkbox', checked: parameters.get('unmet') === '1' });
  const gone = h('input', {
    name: 'disconnected',
    type: 'checkbox',
    checked: parameters.get('disconnected') === '1',
  });
  const summary = h('p', { class: 'summary', role: 'status' });
  const rows = table(COLUMNS, 'Clusters by id');
  const trail = [''];
  let following = '';
  const first = h('button', { type: 'button', click: () => turn('first') }, 'First');
  const back = h('button', { type: 'button', click: () => turn('back') }, 'Previous');
  const next = h('button', { type: 'button', click: () => turn('next') }, 'Next');
  const form = h(
    'form',
    {
      class: 'filters',
      submit: (event) => {
        event.preventDefault();
        filter();
      },
      change: () => filter(),
    },
    field('Id', prefix),
    h('label', { class: 'check' }, unmet, 'only with unmet needs'),
    h('label', { class: 'check' }, gone, 'only disconnected'),
    h('button', {}, 'Apply'),
  );
  fill(
    page,
    h('h1', {}, 'Clusters'),
    form,
    summary,
    rows.element,
    h('div', { class: 'pager' }, first, back, next),
  );
  const poller = new Poller(EVERY_MS, async (signal) => {
    const query = queryOf({
      prefix: prefix.value.trim(),
      unmet: unmet.checked,
      disconnected: gone.checked,
      limit: PAGE,
      after: trail.at(-1)!,
    });
    const [status, answer] = await Promise.all([
      ask<ApiStatus>('/api/v1/status', signal),
      ask<ApiClusters>(`/api/v1/clusters${query}`, signal),
    ]);
    showStatus(status);
    following = answer.next;
    first.disabled = back.disabled = trail.length === 1;
    next.disabled = answer.next === '';
    summary.textContent = `${count(answer.matching)} of ${count(answer.total)} clusters`;
    const signature = (one: ApiCluster) =>
      JSON.stringify([one, since(one, answer.nowMs), rollup(one, answer.nowMs)]);
    if (answer.clusters.length > 0)
      replaceRows(
        rows.body,
        answer.clusters,
        ({ clusterId }) => clusterId,
        (one) => makeRow(one, answer.nowMs),
        signature,
      );
    else
      replaceRows(rows.body, ['none'], String, () =>
        h('tr', {}, h('td', { class: 'empty', colspan: COLUMNS.length }, 'No cluster matches the filters.')),
      );
  });
  poller.now();

  function filter(): void {
    trail.splice(0, trail.length, '');
    const shown = {
      prefix: prefix.value.trim(),
      unmet: unmet.checked ? 1 : 0,
      disconnected: gone.checked ? 1 : 0,
    };
    history.replaceState(null, '', `/clusters${queryOf(shown)}`);
    poller.now();
  }

  function turn(where: 'first' | 'back' | 'next'): void {
    if (where === 'next') trail.push(following);
    else if (where === 'back') trail.pop();
    else trail.splice(1);
    poller.now();
  }
}

function since({ session }: ApiCluster, nowMs: number): string {
  if (session === null) return 'not connected since the shard started';
  const forMs = age(nowMs - session.sinceAtMs);
  return session.connected ? `connected for ${forMs}` : `disconnected for ${forMs}`;
}

function rollup({ session }: ApiCluster, nowMs: number): string {
  return session === null || session.lastRollupAtMs === 0 ? '' : `${age(nowMs - session.lastRollupAtMs)} ago`;
}

function makeRow(cluster: ApiCluster, nowMs: number): Element {
  const { clusterId, session, needs, unmetNeeds, machines, byState } = cluster;
  const id = encodeURIComponent(clusterId);
  const notes = [
    session?.connected !== true && needs > 0 ? 'the shard keeps its last roll-up' : '',
    cluster.reported ? '' : 'no roll-up since the shard started, so its machines are not reclaimed',
    cluster.suspension === '' ? '' : `suspended: ${cluster.suspension}`,
    cluster.heldRollups > 0 ? counted(cluster.heldRollups, 'quarantined roll-up') : '',
    cluster.rejectedRollups > 0 ? counted(cluster.rejectedRollups, 'rejected roll-up') : '',
    session !== null && session.outboxFrames > 0 ? counted(session.outboxFrames, 'unsent frame') : '',
  ].filter((text) => text !== '');
  const level = session?.connected === true ? 'good' : 'bad';
  const row = h(
    'tr',
    {},
    h('th', { scope: 'row' }, clusterId),
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
