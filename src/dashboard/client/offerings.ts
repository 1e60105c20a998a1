/** Offerings, and one of them: machines by state, price, interruption probability, back-off and history. */
import type { ApiOfferingInFull, ApiOfferingLine, ApiOfferings } from '../api/types.ts';
import { h, replaceRows } from './dom.ts';
import { age, count, price, usd } from './format.ts';
import { addressValue, checkFilter, listPage, textFilter } from './list.ts';
import { field, labelled, select, stateBar } from './parts.ts';
import { queryOf } from './poll.ts';
import { providerHref } from './providers.ts';
import { supplyPage } from './supply.ts';

const EVERY_MS = 4_000;
const COLUMNS = [
  { name: 'Offering' },
  { name: 'Provider' },
  { name: 'Machines', class: 'number' },
  { name: 'By state', class: 'wide' },
  { name: 'Price per hour', class: 'number' },
  { name: 'Interruption', class: 'number' },
  { name: '$/h', class: 'number' },
  { name: 'Back-off' },
] as const;
const CAPACITIES = ['bare-metal', 'reserved', 'on-demand', 'spot', 'unspecified'] as const;

export function offeringsPage(page: HTMLElement): void {
  const provider = textFilter('provider', 'any');
  const type = textFilter('type', 'any');
  const zone = textFilter('zone', 'any');
  const capacity = select(
    'capacity',
    [['', 'any'], ...CAPACITIES.map((one) => [one, one] as const)],
    addressValue('capacity'),
  );
  const backoff = checkFilter('backoff');
  listPage<ApiOfferings>(page, {
    title: 'Offerings',
    path: '/offerings',
    caption: 'Offerings by name',
    columns: COLUMNS,
    everyMs: EVERY_MS,
    filters: [
      field('Provider', provider),
      field('Type', type),
      field('Zone', zone),
      field('Purchase option', capacity),
      h('label', { class: 'check' }, backoff, 'only in back-off'),
    ],
    asked: () => ({
      provider: provider.value.trim(),
      type: type.value.trim(),
      zone: zone.value.trim(),
      capacity: capacity.value,
      backoff: backoff.checked ? 1 : 0,
    }),
    summary: ({ matching, total }) => `${count(matching)} of ${count(total)} offerings`,
    show: (body, { offerings, nowMs }) => {
      if (offerings.length === 0) return 'No offering matches the filters.';
      replaceRows(
        body,
        offerings,
        ({ name }) => name,
        (one) => makeRow(one, nowMs),
        (one) => JSON.stringify([one, backoffWords(one, nowMs)]),
      );
      return null;
    },
  });
}

export function offeringHref(name: string): string {
  return `/offerings/${encodeURIComponent(name)}`;
}

/** As events name it: without the provider. */
function shortName({ instanceType, zone, capacityType }: ApiOfferingLine): string {
  return `${instanceType}/${zone}/${capacityType}`;
}

function machinesHref({ provider, instanceType: type, zone, capacityType: capacity }: ApiOfferingLine) {
  return `/machines${queryOf({ provider, type, zone, capacity })}`;
}

function backoffWords({ untilMs, why }: ApiOfferingLine, nowMs: number): string {
  return untilMs === 0 ? '' : `${age(untilMs - nowMs)} more: ${why}`;
}

function prices({ pricePerHourUsd, pricePerHourMaxUsd }: ApiOfferingLine): string {
  return pricePerHourUsd === pricePerHourMaxUsd
    ? price(pricePerHourUsd)
    : `${price(pricePerHourUsd)} – ${price(pricePerHourMaxUsd)}`;
}

function makeRow(of: ApiOfferingLine, nowMs: number): Element {
  const row = h(
    'tr',
    {},
    h('th', { scope: 'row' }, h('a', { href: offeringHref(of.name) }, shortName(of))),
    h('td', {}, h('a', { href: providerHref(of.provider) }, of.provider)),
    h('td', { class: 'number' }, h('a', { href: machinesHref(of) }, count(of.machines))),
    h('td', {}, of.machines === 0 ? '' : stateBar(of.byState, of.name)),
    h('td', { class: 'number' }, prices(of)),
    h('td', { class: 'number' }, `${(100 * of.interruptionProbability).toFixed(1)} %`),
    h('td', { class: 'number' }, usd(of.usdPerHour)),
    h('td', { class: 'notes' }, backoffWords(of, nowMs)),
  );
  return labelled(row, COLUMNS);
}

export function offeringPage(page: HTMLElement, name: string): void {
  // The history names an offering without its provider.
  const short = name.split('/').slice(-3).join('/');
  supplyPage<ApiOfferingInFull>(page, {
    name,
    what: 'offering',
    section: ['/offerings', 'Offerings'],
    path: `/api/v1/offerings/${encodeURIComponent(name)}`,
    events: `offering=${encodeURIComponent(short)}`,
    sentences: ({ sentences }) => sentences,
    byState: ({ offering }) => offering.byState,
    facts: ({ offering: of, nowMs }) => [
      ['Provider', h('a', { href: providerHref(of.provider) }, of.provider)],
      ['Machines', h('a', { href: machinesHref(of) }, count(of.machines))],
      ['Price per hour', prices(of)],
      ['Interruption probability', `${(100 * of.interruptionProbability).toFixed(1)} %`],
      ['Cost per hour', usd(of.usdPerHour)],
      ['Back-off', backoffWords(of, nowMs) || 'none'],
    ],
  });
}
