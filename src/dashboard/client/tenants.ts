/** Tenants: which cluster or provider uses how much, and what the shard refused from it and why. */
import type { ApiStatus, ApiTenant, ApiTenants } from '../api/types.ts';
import { fill, h, replaceRows } from './dom.ts';
import { age, count, counted, usd } from './format.ts';
import { field, labelled, showStatus, stateBar, table } from './parts.ts';
import { ask, Poller, queryOf } from './poll.ts';

const EVERY_MS = 4_000;
const PAGE = 100;
const COLUMNS = [
  { name: 'Tenant' },
  { name: 'Kind' },
  { name: 'Refused', class: 'number' },
  { name: 'Machines', class: 'number' },
  { name: '$/h', class: 'number' },
  { name: 'By state' },
  { name: 'Rows', class: 'number' },
  { name: 'Needs', class: 'number' },
  { name: 'Profiles', class: 'number' },
  { name: 'Session or listing' },
  { name: 'Notes', class: 'wide' },
] as const;

export function tenantsPage(page: HTMLElement): void {
  const parameters = new URLSearchParams(location.search);
  const kind = h(
    'select',
    { name: 'kind' },
    ...['', 'cluster', 'provider'].map((value) =>
      h(
        'option',
        { value, selected: value === (parameters.get('kind') ?? '') },
        value === '' ? 'clusters and providers' : `${value}s`,
      ),
    ),
  );
  const prefix = h('input', {
    name: 'prefix',
    type: 'search',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: 'starts with …',
    value: parameters.get('prefix') ?? '',
  });
  const refused = h('input', {
    name: 'refused',
    type: 'checkbox',
    checked: parameters.get('refused') === '1',
  });
  const summary = h('p', { class: 'summary', role: 'status' });
  const rows = table(COLUMNS, 'Tenants, the one that was refused most often first');
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
    field('Kind', kind),
    field('Name', prefix),
    h('label', { class: 'check' }, refused, 'only with refusals'),
    h('button', {}, 'Apply'),
  );
  fill(
    page,
    h('h1', {}, 'Tenants'),
    form,
    summary,
    rows.element,
    h('div', { class: 'pager' }, first, back, next),
  );
  const poller = new Poller(EVERY_MS, async (signal) => {
    const query = queryOf({
      kind: kind.value,
      prefix: prefix.value.trim(),
      refused: refused.checked,
      limit: PAGE,
      after: trail.at(-1)!,
    });
    const [status, answer] = await Promise.all([
      ask<ApiStatus>('/api/v1/status', signal),
      ask<ApiTenants>(`/api/v1/tenants${query}`, signal),
    ]);
    showStatus(status);
    following = answer.next;
    first.disabled = back.disabled = trail.length === 1;
    next.disabled = answer.next === '';
    const { rollupRowsMax, rowBytesMax } = answer.limits;
    summary.textContent =
      `${count(answer.matching)} of ${count(answer.total)} tenants. ` +
      `A roll-up may have ${count(rollupRowsMax)} rows, a row ${count(rowBytesMax)} bytes.`;
    if (answer.tenants.length > 0)
      replaceRows(
        rows.body,
        answer.tenants,
        ({ kind: of, name }) => `${of} ${name}`,
        (one) => makeRow(one, answer),
        (one) => JSON.stringify([one, seenOf(one, answer.nowMs), notesOf(one, answer.nowMs)]),
      );
    else
      replaceRows(rows.body, ['none'], String, () =>
        h('tr', {}, h('td', { class: 'empty', colspan: COLUMNS.length }, 'No tenant matches the filters.')),
      );
  });
  poller.now();

  function filter(): void {
    trail.splice(0, trail.length, '');
    const shown = { kind: kind.value, prefix: prefix.value.trim(), refused: refused.checked ? 1 : 0 };
    history.replaceState(null, '', `/tenants${queryOf(shown)}`);
    poller.now();
  }

  function turn(where: 'first' | 'back' | 'next'): void {
    if (where === 'next') trail.push(following);
    else if (where === 'back') trail.pop();
    else trail.splice(1);
    poller.now();
  }
}

function reasonOf({ lastReason, lastRefusedAtMs }: ApiTenant, nowMs: number): string {
  return lastReason === '' ? '' : `refused ${age(nowMs - lastRefusedAtMs)} ago: ${lastReason}`;
}

function seenOf({ cluster, provider }: ApiTenant, nowMs: number): string {
  if (cluster !== null)
    return cluster.connected ? `connected for ${age(nowMs - cluster.sinceAtMs)}` : 'not connected';
  const listedAtMs = provider?.listedAtMs ?? 0;
  return listedAtMs === 0 ? 'not listed yet' : `listed ${age(nowMs - listedAtMs)} ago`;
}

function notesOf(tenant: ApiTenant, nowMs: number): string {
  const { cluster, provider } = tenant;
  const notes = [
    cluster === null ? '' : cluster.suspended,
    cluster === null || cluster.heldRollups === 0 ? '' : counted(cluster.heldRollups, 'quarantined roll-up'),
    provider === null || provider.listingFailure === ''
      ? ''
      : `the last listing failed: ${provider.listingFailure}`,
    provider === null || provider.foreignIds === 0
      ? ''
      : `${count(provider.foreignIds)} ids of other providers refused`,
    reasonOf(tenant, nowMs),
  ];
  return notes.filter((text) => text !== '').join(' · ');
}

function makeRow(tenant: ApiTenant, { nowMs }: ApiTenants): Element {
  const { kind, name, refused, machines, costUsd, byState, cluster } = tenant;
  const id = encodeURIComponent(name);
  const isSuspended = cluster !== null && cluster.suspended !== '';
  const row = h(
    'tr',
    {},
    h('th', { scope: 'row' }, name),
    h('td', {}, kind),
    h('td', { class: 'number' }, refused === 0 ? '0' : h('span', { class: 'verdict bad' }, count(refused))),
    h('td', { class: 'number' }, h('a', { href: `/machines?${kind}=${id}` }, count(machines))),
    h('td', { class: 'number' }, usd(costUsd)),
    h('td', {}, machines === 0 ? '' : stateBar(byState, name)),
    h('td', { class: 'number' }, cluster === null ? '' : count(cluster.rollupRows)),
    h(
      'td',
      { class: 'number' },
      cluster === null ? '' : h('a', { href: `/needs?cluster=${id}` }, count(cluster.needs)),
    ),
    h('td', { class: 'number' }, cluster === null ? '' : count(cluster.profiles)),
    h('td', {}, seenOf(tenant, nowMs)),
    h(
      'td',
      { class: 'notes' },
      isSuspended ? h('span', { class: 'verdict bad' }, 'suspended') : '',
      isSuspended ? ' ' : '',
      notesOf(tenant, nowMs),
    ),
  );
  return labelled(row, COLUMNS);
}
