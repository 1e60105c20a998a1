/** One machine: its explanation, its properties, and recent actions on it. */
import type { ApiAction, ApiActions, ApiMachineInFull, ApiStatus } from '../api/types.ts';
import { ACTION_COLUMNS, actionRow } from './actions.ts';
import { fill, h, replaceRows } from './dom.ts';
import { clusterHref, eventsPart } from './events.ts';
import { age, clock, count, price, quantities } from './format.ts';
import { offeringHref } from './offerings.ts';
import { card, showStatus, stateBadge, table } from './parts.ts';
import { AskFailed, ask, Poller } from './poll.ts';
import { providerHref } from './providers.ts';

const EVERY_MS = 2_000;

export function machinePage(page: HTMLElement, id: string): void {
  document.title = `${id} · Flotilla`;
  const heading = h('h1', {}, id);
  const why = h('div', { class: 'why' });
  const facts = h('dl', { class: 'facts' });
  const labels = h('dl', { class: 'facts' });
  const past = eventsPart('Events of this machine, newest first', `machine=${encodeURIComponent(id)}`);
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
      card('History', { class: 'span-3' }, past.element),
      card('Recent actions', { class: 'span-3' }, log.element),
    ),
  );
  new Poller(EVERY_MS, async (signal) => {
    const [status, machine, actions] = await Promise.all([
      ask<ApiStatus>('/api/v1/status', signal),
      found(signal),
      ask<ApiActions>(`/api/v1/actions?limit=50&machine=${encodeURIComponent(id)}`, signal),
    ]);
    showStatus(status);
    if (machine === null) showGone();
    else show(machine);
    showActions(actions.actions);
    await past.refresh(signal);
  }).now();

  /** Null if no provider lists it. Its history may still tell what became of it. */
  async function found(signal: AbortSignal): Promise<ApiMachineInFull | null> {
    try {
      return await ask<ApiMachineInFull>(`/api/v1/machines/${encodeURIComponent(id)}`, signal);
    } catch (error) {
      if (error instanceof AskFailed && error.status === 404) return null;
      throw error;
    }
  }

  function showGone(): void {
    fill(heading, id, ' ', h('span', { class: 'verdict bad' }, 'not found'));
    fill(
      why,
      h('p', { class: 'answer' }, 'No provider of this shard lists this machine.'),
      h('p', {}, 'If it ever was part of the fleet, its history below tells what became of it.'),
    );
    fill(facts);
    fill(labels);
  }

  function show({ machine, sentences, cycle }: ApiMachineInFull): void {
    fill(heading, id, ' ', stateBadge(machine.state));
    const [answer, ...rest] = sentences;
    fill(
      why,
      h('p', { class: 'answer' }, answer ?? ''),
      h('ul', {}, ...rest.map((sentence) => h('li', {}, sentence))),
      h('p', { class: 'aside' }, `Cycle ${count(cycle)}`),
    );
    const line = (name: string, value: Node | string) =>
      value === '' ? [] : [h('dt', {}, name), h('dd', {}, value)];
    const { assignment, host } = machine;
    const offering = [machine.provider, machine.instanceType, machine.zone, machine.capacityType].join('/');
    fill(
      facts,
      ...line('State', `${machine.state} since ${clock(machine.stateSinceAtMs)} (${age(machine.forMs)})`),
      ...line('Provider', h('a', { href: providerHref(machine.provider) }, machine.provider)),
      ...line(
        'Offering',
        h('a', { href: offeringHref(offering) }, offering.slice(machine.provider.length + 1)),
      ),
      ...line('Host', host === null ? 'none' : `${host.provider} ${host.ref}`),
      ...line('Type', machine.instanceType),
      ...line('Zone', machine.zone),
      ...line('Purchase option', machine.capacityType),
      ...line('Price', `${price(machine.pricePerHourUsd)} per hour`),
      ...line('Interruption probability', `${(100 * machine.interruptionProbability).toFixed(1)} %`),
      ...line('Capacity', quantities(machine.capacity)),
      ...line(
        'Cluster',
        machine.clusterId === '' ? '' : h('a', { href: clusterHref(machine.clusterId) }, machine.clusterId),
      ),
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
