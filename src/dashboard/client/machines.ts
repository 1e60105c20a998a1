/** Machines in order of their ids, with filters. */
import type { ApiMachine, ApiMachines, ApiStatus } from '../api/types.ts';
import { fill, h, replaceRows } from './dom.ts';
import { age, count, price } from './format.ts';
import { field, labelled, STATES, select, showStatus, stateBadge, table } from './parts.ts';
import { ask, Poller, queryOf } from './poll.ts';

const EVERY_MS = 3_000;
const PAGE = 100;
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
  const parameters = new URLSearchParams(location.search);
  const text = (name: string, placeholder: string) =>
    h('input', {
      name,
      type: 'search',
      autocomplete: 'off',
      spellcheck: 'false',
      value: parameters.get(name) ?? '',
      placeholder,
    });
  const flag = (name: string) =>
    h('input', { name, type: 'checkbox', value: '1', checked: parameters.get(name) === '1' });
  const controls = {
    prefix: text('prefix', 'starts with …'),
    state: select(
      'state',
      [['', 'any'], ...STATES.map((state) => [state, state] as const)],
      parameters.get('state') ?? '',
    ),
    cluster: text('cluster', 'any'),
    type: text('type', 'any'),
    zone: text('zone', 'any'),
    capacity: select(
      'capacity',
      [
        ['', 'any'],
        ...['bare-metal', 'reserved', 'on-demand', 'spot', 'unspecified'].map(
          (type) => [type, type] as const,
        ),
      ],
      parameters.get('capacity') ?? '',
    ),
    provider: text('provider', 'any'),
  };
  const stuck = flag('stuck');
  const backoff = flag('backoff');
  const trail = [''];
  let following = '';
  let waiting = 0;
  const summary = h('p', { class: 'summary', role: 'status' });
  const rows = table(COLUMNS, 'Machines by id');
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
      input: () => {
        clearTimeout(waiting);
        waiting = window.setTimeout(filter, 300);
      },
    },
    field('Id', controls.prefix),
    field('State', controls.state),
    field('Cluster', controls.cluster),
    field('Type', controls.type),
    field('Zone', controls.zone),
    field('Purchase option', controls.capacity),
    field('Provider', controls.provider),
    h('label', { class: 'check' }, stuck, 'only stuck'),
    h('label', { class: 'check' }, backoff, 'only in back-off'),
  );
  fill(
    page,
    h('h1', {}, 'Machines'),
    form,
    summary,
    rows.element,
    h('div', { class: 'pager' }, first, back, next),
  );

  const asked = () => ({
    ...Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.value.trim()])),
    stuck: stuck.checked ? 1 : 0,
    backoff: backoff.checked ? 1 : 0,
  });
  const poller = new Poller(EVERY_MS, async (signal) => {
    const query = queryOf({ ...asked(), limit: PAGE, after: trail.at(-1)! });
    const [status, answer] = await Promise.all([
      ask<ApiStatus>('/api/v1/status', signal),
      ask<ApiMachines>(`/api/v1/machines${query}`, signal),
    ]);
    showStatus(status);
    show(answer);
  });
  poller.now();

  function filter(): void {
    clearTimeout(waiting);
    trail.splice(0, trail.length, '');
    history.replaceState(null, '', `/machines${queryOf(asked())}`);
    poller.now();
  }

  function turn(where: 'first' | 'back' | 'next'): void {
    if (where === 'next') trail.push(following);
    else if (where === 'back') trail.pop();
    else trail.splice(1);
    poller.now();
    rows.element.scrollIntoView({ block: 'nearest' });
  }

  function show(answer: ApiMachines): void {
    following = answer.next;
    first.disabled = back.disabled = trail.length === 1;
    next.disabled = answer.next === '';
    summary.textContent = `${count(answer.matching)} of ${count(answer.total)} machines`;
    if (answer.machines.length === 0) {
      replaceRows(rows.body, ['none'], String, () =>
        h('tr', {}, h('td', { colspan: COLUMNS.length, class: 'empty' }, 'No machine matches the filters.')),
      );
      return;
    }
    replaceRows(
      rows.body,
      answer.machines,
      ({ id }) => id,
      makeRow,
      (machine) => JSON.stringify({ ...machine, forMs: age(machine.forMs) }),
    );
  }
}

export function machineHref(id: string): string {
  return `/machines/${encodeURIComponent(id)}`;
}

function makeRow(machine: ApiMachine): Element {
  const notes = [
    machine.action === '' ? '' : `${machine.action} in flight`,
    machine.stuck ? 'stuck' : '',
    machine.backoff ? 'in back-off' : '',
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
        : h('a', { href: `/clusters?prefix=${encodeURIComponent(machine.clusterId)}` }, machine.clusterId),
    ),
    h('td', { class: 'number' }, machine.clusterId === '' ? '' : count(machine.priority)),
    h('td', { class: 'notes' }, notes.filter((note) => note !== '').join(' · ')),
  );
  return labelled(row, COLUMNS);
}
