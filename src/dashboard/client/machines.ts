/** Machines in order of their ids, with filters. */
import type { ApiMachine, ApiMachines } from '../api/types.ts';
import { h, replaceRows } from './dom.ts';
import { age, count, price } from './format.ts';
import { addressValue, checkFilter, listPage, textFilter } from './list.ts';
import { field, labelled, STATES, select, stateBadge } from './parts.ts';

const EVERY_MS = 3_000;
const COLUMNS = [
  { name: 'Machine' },
  { name: 'State' },
  { name: 'In state for', class: 'number' },
  { name: 'Type' },
  { name: 'Zone' },
  { name: 'Purchase option' },
  { name: '$ per hour', class: 'number' },
  { name: 'Cluster' },
  { name: 'Priority', class: 'number' },
  { name: 'Notes' },
] as const;

export function machinesPage(page: HTMLElement): void {
  const oneOf = (name: string, values: readonly string[]) =>
    select(name, [['', 'any'], ...values.map((value) => [value, value] as const)], addressValue(name));
  const controls = {
    prefix: textFilter('prefix', 'starts with …'),
    state: oneOf('state', STATES),
    cluster: textFilter('cluster', 'any'),
    type: textFilter('type', 'any'),
    zone: textFilter('zone', 'any'),
    capacity: oneOf('capacity', ['bare-metal', 'reserved', 'on-demand', 'spot', 'unspecified']),
    provider: textFilter('provider', 'any'),
  };
  const stuck = checkFilter('stuck');
  const backoff = checkFilter('backoff');
  listPage<ApiMachines>(page, {
    title: 'Machines',
    path: '/machines',
    caption: 'Machines by id',
    columns: COLUMNS,
    everyMs: EVERY_MS,
    appliesWhileTyping: true,
    filters: [
      field('Id', controls.prefix),
      field('State', controls.state),
      field('Cluster', controls.cluster),
      field('Type', controls.type),
      field('Zone', controls.zone),
      field('Purchase option', controls.capacity),
      field('Provider', controls.provider),
      h('label', { class: 'check' }, stuck, 'only stuck'),
      h('label', { class: 'check' }, backoff, 'only in back-off'),
    ],
    asked: () => ({
      ...Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.value.trim()])),
      stuck: stuck.checked ? 1 : 0,
      backoff: backoff.checked ? 1 : 0,
    }),
    summary: ({ matching, total }) => `${count(matching)} of ${count(total)} machines`,
    show: (body, { machines }) => {
      if (machines.length === 0) return 'No machine matches the filters.';
      replaceRows(
        body,
        machines,
        ({ id }) => id,
        makeRow,
        (machine) => JSON.stringify({ ...machine, forMs: age(machine.forMs) }),
      );
      return null;
    },
  });
}

export function machineHref(id: string): string {
  return `/machines/${encodeURIComponent(id)}`;
}

function makeRow(machine: ApiMachine): Element {
  const notes = [
    machine.action === '' ? '' : `${machine.action} in flight`,
    machine.stuck ? 'stuck' : '',
    machine.backoff ? 'in back-off' : '',
    machine.order,
    machine.lastError,
  ];
  const row = h(
    'tr',
    {},
    h('th', { scope: 'row' }, h('a', { href: machineHref(machine.id) }, machine.id)),
    h('td', {}, stateBadge(machine.state)),
    h('td', { class: 'number' }, age(machine.forMs)),
    h('td', {}, machine.instanceType),
    h('td', {}, machine.zone),
    h('td', {}, machine.capacityType),
    h('td', { class: 'number' }, price(machine.pricePerHourUsd)),
    h(
      'td',
      {},
      machine.clusterId === ''
        ? ''
        : h('a', { href: `/clusters/${encodeURIComponent(machine.clusterId)}` }, machine.clusterId),
    ),
    h('td', { class: 'number' }, machine.clusterId === '' ? '' : count(machine.priority)),
    h('td', { class: 'notes' }, notes.filter((note) => note !== '').join(' · ')),
  );
  return labelled(row, COLUMNS);
}
