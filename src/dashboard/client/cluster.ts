/** One cluster: what it asks for, what it has, what that costs, its session, and what happened to it. */
import type { ApiClusterInFull, ApiNeeds, ApiStatus } from '../api/types.ts';
import { fill, h, replaceRows } from './dom.ts';
import { eventsPart } from './events.ts';
import { age, count, quantities, requirement, usd } from './format.ts';
import { groupLabel } from './gangs.ts';
import { notFoundPage } from './not-found.ts';
import { card, labelled, showStatus, stateBar, table, verdictBadge } from './parts.ts';
import { AskFailed, ask, Poller } from './poll.ts';

const EVERY_MS = 4_000;
const NEED_COLUMNS = [
  { name: 'Verdict' },
  { name: 'Priority', class: 'number' },
  { name: 'Need' },
  { name: 'Missing' },
  { name: 'Unmet for', class: 'number' },
] as const;

export function clusterPage(page: HTMLElement, id: string): void {
  document.title = `${id} · Flotilla`;
  const name = encodeURIComponent(id);
  const why = h('div', { class: 'why' });
  const facts = h('dl', { class: 'facts' });
  const bar = h('div', {});
  const needs = table(NEED_COLUMNS, 'Unmet needs of this cluster');
  const past = eventsPart('Events of this cluster, newest first', `cluster=${name}`);
  fill(
    page,
    h('p', { class: 'trail' }, h('a', { href: '/clusters' }, 'Clusters'), ' / '),
    h('h1', {}, id),
    h(
      'div',
      { class: 'grid' },
      card('Cluster', { class: 'span-2' }, why, bar),
      card('Properties', {}, facts),
      card('Unmet needs', { class: 'span-3' }, needs.element),
      card('History', { class: 'span-3' }, past.element),
    ),
  );
  const poller = new Poller(EVERY_MS, async (signal) => {
    const [status, found, unmet] = await Promise.all([
      ask<ApiStatus>('/api/v1/status', signal),
      inFull(signal),
      ask<ApiNeeds>(`/api/v1/needs?unmet=1&limit=20&cluster=${name}`, signal),
    ]);
    showStatus(status);
    if (found === null) {
      poller.hold(true);
      notFoundPage(
        page,
        `There is no cluster ${id}.`,
        'It has no session, no demand and no machines on this shard.',
      );
      return;
    }
    show(found);
    showNeeds(unmet);
    await past.refresh(signal);
  });
  poller.now();

  async function inFull(signal: AbortSignal): Promise<ApiClusterInFull | null> {
    try {
      return await ask<ApiClusterInFull>(`/api/v1/clusters/${name}`, signal);
    } catch (error) {
      if (error instanceof AskFailed && error.status === 404) return null;
      throw error;
    }
  }

  function show({ cluster, tenant, sentences, nowMs }: ApiClusterInFull): void {
    const [answer, ...rest] = sentences;
    fill(
      why,
      h('p', { class: 'answer' }, answer ?? ''),
      h('ul', {}, ...rest.map((sentence) => h('li', {}, sentence))),
    );
    fill(bar, cluster.machines === 0 ? '' : stateBar(cluster.byState, `Machines of ${id}`));
    const line = (label: string, value: Node | string) => [h('dt', {}, label), h('dd', {}, value)];
    const session = cluster.session;
    fill(
      facts,
      ...line('Needs', h('a', { href: `/needs?cluster=${name}` }, count(cluster.needs))),
      ...line('Gangs', h('a', { href: `/gangs?cluster=${name}` }, 'list')),
      ...line('Machines', h('a', { href: `/machines?cluster=${name}` }, count(cluster.machines))),
      ...line('Cost per hour', tenant === null ? 'unknown' : usd(tenant.costUsd)),
      ...line('Rows of its roll-up', tenant?.cluster == null ? 'none' : count(tenant.cluster.rollupRows)),
      ...line('Operator', session === null ? 'not connected' : session.peer || 'unknown address'),
      ...line(
        'Last roll-up',
        session === null || session.lastRollupAtMs === 0
          ? 'none'
          : `${age(nowMs - session.lastRollupAtMs)} ago`,
      ),
    );
  }

  function showNeeds({ needs: rows }: ApiNeeds): void {
    if (rows.length === 0) {
      replaceRows(needs.body, ['none'], String, () =>
        h('tr', {}, h('td', { class: 'empty', colspan: NEED_COLUMNS.length }, 'Every need is met.')),
      );
      return;
    }
    replaceRows(
      needs.body,
      rows,
      ({ fingerprint, group }) => `${fingerprint} ${group}`,
      (one) => {
        const row = h(
          'tr',
          {},
          h('td', {}, verdictBadge(one.satisfied, one.reason, one.parked, one.limitedBy)),
          h('td', { class: 'number' }, count(one.priority)),
          h(
            'td',
            { class: 'need' },
            groupLabel(one),
            h('span', { class: 'wish' }, one.requirements.map(requirement).join(', ') || 'any machine'),
          ),
          h('td', { class: 'missing' }, quantities(one.missing)),
          h('td', { class: 'number' }, age(one.unmetForMs)),
        );
        return labelled(row, NEED_COLUMNS);
      },
    );
  }
}
