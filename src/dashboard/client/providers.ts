/** Providers, and one of them: machines, listings, calls under way, back-offs and history. */
import type { ApiProvider, ApiProviderInFull, ApiProviders } from '../api/types.ts';
import { h, replaceRows } from './dom.ts';
import { age, count, usd } from './format.ts';
import { listPage, textFilter } from './list.ts';
import { field, labelled, stateBar } from './parts.ts';
import { supplyPage } from './supply.ts';

const EVERY_MS = 4_000;
const COLUMNS = [
  { name: 'Provider' },
  { name: 'Machines', class: 'number' },
  { name: 'By state', class: 'wide' },
  { name: '$/h', class: 'number' },
  { name: 'Offerings', class: 'number' },
  { name: 'Last listing', class: 'number' },
  { name: 'Calls', class: 'number' },
  { name: 'Refused', class: 'number' },
  { name: 'Notes' },
] as const;

export function providersPage(page: HTMLElement): void {
  const prefix = textFilter('prefix', 'starts with …');
  listPage<ApiProviders>(page, {
    title: 'Providers',
    path: '/providers',
    caption: 'Providers by name',
    columns: COLUMNS,
    everyMs: EVERY_MS,
    filters: [field('Name', prefix)],
    asked: () => ({ prefix: prefix.value.trim() }),
    summary: ({ matching, total }) => `${count(matching)} of ${count(total)} providers`,
    show: (body, { providers, nowMs }) => {
      if (providers.length === 0) return 'No provider matches the filters.';
      replaceRows(
        body,
        providers,
        ({ name }) => name,
        (one) => makeRow(one, nowMs),
        (one) => JSON.stringify([one, listed(one, nowMs)]),
      );
      return null;
    },
  });
}

export function providerHref(name: string): string {
  return `/providers/${encodeURIComponent(name)}`;
}

function listed({ listedAtMs }: ApiProvider, nowMs: number): string {
  return listedAtMs === 0 ? 'never' : `${age(nowMs - listedAtMs)} ago`;
}

function makeRow(of: ApiProvider, nowMs: number): Element {
  const query = `provider=${encodeURIComponent(of.name)}`;
  const notes = [
    of.refusedWholly === '' ? '' : `every row refused: ${of.refusedWholly}`,
    of.heldListing === null ? '' : `listing held: it lacks ${count(of.heldListing.missing)} machines`,
    of.listingFailure === '' ? '' : `the last listing failed: ${of.listingFailure}`,
    of.backoff === null ? '' : `in back-off: ${of.backoff.why}`,
  ].filter((text) => text !== '');
  const row = h(
    'tr',
    {},
    h('th', { scope: 'row' }, h('a', { href: providerHref(of.name) }, of.name)),
    h('td', { class: 'number' }, h('a', { href: `/machines?${query}` }, count(of.machines))),
    h('td', {}, of.machines === 0 ? '' : stateBar(of.byState, of.name)),
    h('td', { class: 'number' }, usd(of.usdPerHour)),
    h('td', { class: 'number' }, h('a', { href: `/offerings?${query}` }, count(of.offerings))),
    h('td', { class: 'number' }, listed(of, nowMs)),
    h('td', { class: 'number' }, count(of.callsInFlight + of.readsInFlight)),
    h('td', { class: 'number' }, count(of.refused)),
    h('td', { class: 'notes' }, notes.join(' · ')),
  );
  return labelled(row, COLUMNS);
}

export function providerPage(page: HTMLElement, name: string): void {
  const query = `provider=${encodeURIComponent(name)}`;
  supplyPage<ApiProviderInFull>(page, {
    name,
    what: 'provider',
    section: ['/providers', 'Providers'],
    path: `/api/v1/providers/${encodeURIComponent(name)}`,
    events: query,
    sentences: ({ sentences }) => sentences,
    byState: ({ provider }) => provider.byState,
    facts: ({ provider: of, nowMs }) => [
      ['Machines', h('a', { href: `/machines?${query}` }, count(of.machines))],
      ['Offerings', h('a', { href: `/offerings?${query}` }, count(of.offerings))],
      [
        'Offerings in back-off',
        h('a', { href: `/offerings?${query}&backoff=1` }, count(of.offeringsInBackoff)),
      ],
      ['Cost per hour', usd(of.usdPerHour)],
      ['Last complete listing', listed(of, nowMs)],
      ['Calls under way', count(of.callsInFlight)],
      ['Reads under way', `${count(of.readsInFlight)}, ${count(of.readsWaiting)} waiting`],
      ['Refused rows', count(of.refused)],
    ],
  });
}
