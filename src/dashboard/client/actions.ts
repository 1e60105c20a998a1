/** Actions in the order in which they settle, newest first. */
import type { ApiAction, ApiActions, ApiStatus } from '../api/types.ts';
import { fill, h, replaceRows } from './dom.ts';
import { clusterHref } from './events.ts';
import { clock, count, duration } from './format.ts';
import { machineHref } from './machines.ts';
import { field, labelled, select, showStatus, table } from './parts.ts';
import { ask, Poller, queryOf } from './poll.ts';

const EVERY_MS = 1_000;
const SHOWN_MAX = 300;
const KINDS = ['Bootstrap', 'Provision', 'Reclaim', 'Preempt', 'Delete'] as const;

export const ACTION_COLUMNS = [
  { name: 'Time' },
  { name: 'Action' },
  { name: 'Machine' },
  { name: 'Cluster' },
  { name: 'Outcome' },
  { name: 'Duration', class: 'number' },
  { name: 'Detail' },
] as const;

export function actionsPage(page: HTMLElement): void {
  const parameters = new URLSearchParams(location.search);
  const kind = select(
    'kind',
    [['', 'any'], ...KINDS.map((one) => [one, one] as const)],
    parameters.get('kind') ?? '',
  );
  const cluster = h('input', {
    name: 'cluster',
    type: 'search',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'any',
    value: parameters.get('cluster') ?? '',
  });
  const failedOnly = h('input', {
    name: 'failed',
    type: 'checkbox',
    checked: parameters.get('failed') === '1',
  });
  const holding = h('button', { type: 'button', 'aria-pressed': 'false', click: () => hold() }, 'Pause');
  const summary = h('p', { class: 'summary' });
  const rows = table(ACTION_COLUMNS, 'Actions, newest first');
  const form = h(
    'form',
    {
      class: 'filters',
      submit: (event) => {
        event.preventDefault();
        restart();
      },
      change: () => restart(),
    },
    field('Kind', kind),
    field('Cluster', cluster),
    h('label', { class: 'check' }, failedOnly, 'only failed'),
    holding,
  );
  fill(page, h('h1', {}, 'Actions'), form, summary, rows.element);
  let shown: ApiAction[] = [];
  let since = 0;
  let startedAtMs = 0;
  const poller = new Poller(EVERY_MS, async (signal) => {
    const query = queryOf({ since, limit: 200, kind: kind.value, cluster: cluster.value.trim() });
    const [status, answer] = await Promise.all([
      ask<ApiStatus>('/api/v1/status', signal),
      ask<ApiActions>(`/api/v1/actions${query}`, signal),
    ]);
    showStatus(status);
    if (answer.startedAtMs !== startedAtMs && startedAtMs !== 0) shown = []; // a restarted shard counts from 1 again
    startedAtMs = answer.startedAtMs;
    const isFirst = since === 0;
    since = answer.last;
    const unseen = answer.actions.filter(({ outcome }) => !failedOnly.checked || levelOf(outcome) === 'bad');
    shown = [...unseen.toReversed(), ...shown].slice(0, SHOWN_MAX);
    summary.textContent = `${count(answer.last)} actions since the shard started; showing the last ${count(shown.length)} that match`;
    if (shown.length > 0)
      replaceRows(
        rows.body,
        shown,
        ({ sequence }) => String(sequence),
        (action) => actionRow(action, !isFirst),
        ({ sequence }) => String(sequence),
      );
    else
      replaceRows(rows.body, ['none'], String, () =>
        h(
          'tr',
          {},
          h('td', { class: 'empty', colspan: ACTION_COLUMNS.length }, 'No action matches the filters.'),
        ),
      );
  });
  poller.now();

  function restart(): void {
    shown = [];
    since = 0;
    history.replaceState(
      null,
      '',
      `/actions${queryOf({ kind: kind.value, cluster: cluster.value.trim(), failed: failedOnly.checked ? 1 : 0 })}`,
    );
    poller.now();
  }

  function hold(): void {
    const isHeld = holding.getAttribute('aria-pressed') !== 'true';
    holding.setAttribute('aria-pressed', String(isHeld));
    holding.textContent = isHeld ? 'Resume' : 'Pause';
    poller.hold(isHeld);
  }
}

const GOOD = new Set(['success', 'accepted']);
const NEITHER = new Set(['stale_state', 'deduped', 'dropped', 'suppressed', 'dryrun', 'rolled_back']);

export function levelOf(outcome: string): 'good' | 'warn' | 'bad' {
  return GOOD.has(outcome) ? 'good' : NEITHER.has(outcome) ? 'warn' : 'bad';
}

export function actionRow(action: ApiAction, isNew = false): Element {
  const link = (id: string) => h('a', { href: clusterHref(id) }, id);
  const { clusterId, forClusterId } = action;
  const whose = clusterId === '' ? '' : link(clusterId);
  const forWhom = forClusterId === '' ? [] : [' for ', link(forClusterId)];
  const row = h(
    'tr',
    { class: isNew ? 'new' : '' },
    h('td', { class: 'id' }, clock(action.atMs)),
    h(
      'td',
      {},
      h(
        'span',
        { class: `kind kind-${action.kind.toLowerCase()}` },
        h('span', { class: 'swatch', 'aria-hidden': 'true' }),
        action.kind,
      ),
      h('span', { class: 'aside' }, ` ${action.reason}`),
    ),
    h('th', { scope: 'row' }, h('a', { href: machineHref(action.machineId) }, action.machineId)),
    h('td', {}, whose, ...forWhom),
    h(
      'td',
      {},
      h('span', { class: `verdict ${levelOf(action.outcome)}` }, action.outcome.replaceAll('_', ' ')),
    ),
    h('td', { class: 'number' }, action.durationMs === 0 ? '' : duration(action.durationMs)),
    h('td', { class: 'notes' }, action.detail),
  );
  return labelled(row, ACTION_COLUMNS);
}
