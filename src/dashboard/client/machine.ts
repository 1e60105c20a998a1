/** One machine: its explanation, its properties, and recent actions on it. */
import type { ApiAction, ApiActions, ApiMachineInFull, ApiStatus } from '../api/types.ts';
import { ACTION_COLUMNS, actionRow } from './actions.ts';
import { fill, h, replaceRows } from './dom.ts';
import { age, clock, count, price, quantities } from './format.ts';
import { card, showStatus, stateBadge, table } from './parts.ts';
import { ask, Poller } from './poll.ts';

const EVERY_MS = 2_000;

export function machinePage(page: HTMLElement, id: string): void {
  document.title = `${id} · Flotilla`;
  const heading = h('h1', {}, id);
  const why = h('div', { class: 'why' });
  const facts = h('dl', { class: 'facts' });
  const labels = h('dl', { class: 'facts' });
  const log = table(ACTION_COLUMNS, 'Actions on this machine, newest first');
  fill(
    page,
    h('p', { class: 'trail' }, h('a', { href: '/machines' }, 'Machines'), ' / '),
    heading,
    h(
      'div',
      { class: 'grid' },
      card('Explanation', { class: 'span-3' }, why),
      card('Properties', { class: 'span-2' }, facts),
      card('Labels', {}, labels),
      card('Recent events', { class: 'span-3' }, log.element),
    ),
  );
  new Poller(EVERY_MS, async (signal) => {
    const [status, found, actions] = await Promise.all([
      ask<ApiStatus>('/api/v1/status', signal),
      ask<ApiMachineInFull>(`/api/v1/machines/${encodeURIComponent(id)}`, signal),
      ask<ApiActions>(`/api/v1/actions?limit=50&machine=${encodeURIComponent(id)}`, signal),
    ]);
    showStatus(status);
    show(found);
    showActions(actions.actions);
  }).now();

  function show({ machine, sentences, cycle }: ApiMachineInFull): void {
    fill(heading, id, ' ', stateBadge(machine.state));
    const [answer, ...rest] = sentences;
    fill(
      why,
      h('p', { class: 'answer' }, answer ?? ''),
      h('ul', {}, ...rest.map((sentence) => h('li', {}, sentence))),
      h('p', { class: 'aside' }, `Cycle ${count(cycle)}`),
    );
    const line = (name: string, value: string) =>
      value === '' ? [] : [h('dt', {}, name), h('dd', {}, value)];
    const { assignment, host } = machine;
    fill(
      facts,
      ...line('State', `${machine.state} since ${clock(machine.stateSinceAtMs)} (${age(machine.forMs)})`),
      ...line('Provider', machine.provider),
      ...line('Host', host === null ? 'none' : `${host.provider} ${host.ref}`),
      ...line('Type', machine.instanceType),
      ...line('Zone', machine.zone),
      ...line('Purchase option', machine.capacityType),
      ...line('Price', `${price(machine.pricePerHourUsd)} per hour`),
      ...line('Interruption probability', `${(100 * machine.interruptionProbability).toFixed(1)} %`),
      ...line('Capacity', quantities(machine.capacity)),
      ...line('Cluster', machine.clusterId),
      ...line('Assigned at priority', assignment === null ? '' : count(assignment.priority)),
      ...line('Assigned group', assignment?.group ?? ''),
      ...line('Assigned profile', assignment?.fingerprint ?? ''),
      ...line('Last error', machine.lastError),
    );
    const entries = Object.entries(machine.labels);
    if (entries.length === 0) fill(labels, h('dd', { class: 'empty' }, 'none'));
    else fill(labels, ...entries.flatMap(([key, value]) => [h('dt', {}, key), h('dd', {}, value)]));
  }

  function showActions(actions: readonly ApiAction[]): void {
    const newest = actions.toReversed();
    if (newest.length > 0)
      replaceRows(
        log.body,
        newest,
        ({ sequence }) => String(sequence),
        (action) => actionRow(action),
      );
    else
      replaceRows(log.body, ['none'], String, () =>
        h(
          'tr',
          {},
          h('td', { class: 'empty', colspan: ACTION_COLUMNS.length }, 'No recent actions on this machine.'),
        ),
      );
  }
}
