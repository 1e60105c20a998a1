/** Tenants: which cluster or provider uses how much, and what the shard refused from it and why. */
import type { ApiTenant, ApiTenants } from '../api/types.ts';
import { h, replaceRows } from './dom.ts';
import { age, count, counted, usd } from './format.ts';
import { addressValue, checkFilter, listPage, textFilter } from './list.ts';
import { field, labelled, select, stateBar } from './parts.ts';

const EVERY_MS = 4_000;
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
  const kind = select(
    'kind',
    [
      ['', 'clusters and providers'],
      ['cluster', 'clusters'],
      ['provider', 'providers'],
    ],
    addressValue('kind'),
  );
  const prefix = textFilter('prefix', 'starts with …');
  const refused = checkFilter('refused');
  listPage<ApiTenants>(page, {
    title: 'Tenants',
    path: '/tenants',
    caption: 'Tenants, the one that was refused most often first',
    columns: COLUMNS,
    everyMs: EVERY_MS,
    filters: [
      field('Kind', kind),
      field('Name', prefix),
      h('label', { class: 'check' }, refused, 'only with refusals'),
    ],
    asked: () => ({ kind: kind.value, prefix: prefix.value.trim(), refused: refused.checked ? 1 : 0 }),
    summary: ({ matching, total, limits: { rollupRowsMax, rowBytesMax } }) =>
      `${count(matching)} of ${count(total)} tenants. ` +
      `A roll-up may have ${count(rollupRowsMax)} rows, a row ${count(rowBytesMax)} bytes.`,
    show: (body, answer) => {
      if (answer.tenants.length === 0) return 'No tenant matches the filters.';
      replaceRows(
        body,
        answer.tenants,
        ({ kind: of, name }) => `${of} ${name}`,
        (one) => makeRow(one, answer),
        (one) => JSON.stringify([one, seenOf(one, answer.nowMs), notesOf(one, answer.nowMs)]),
      );
      return null;
    },
  });
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
    cluster === null || cluster.waitingNeeds === 0
      ? ''
      : `${count(cluster.needs)} of ${count(cluster.needs + cluster.waitingNeeds)} needs are taken up`,
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
    h('th', { scope: 'row' }, h('a', { href: `/${kind}s/${id}` }, name)),
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
