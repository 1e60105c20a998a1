/** Shared by the pages of one provider, of one offering and of the shard: explanation, properties and history. */
import type { ApiCounts, ApiStatus } from '../api/types.ts';
import { fill, h } from './dom.ts';
import { eventsPart } from './events.ts';
import { notFoundPage } from './not-found.ts';
import { card, showStatus, stateBar, total } from './parts.ts';
import { AskFailed, ask, Poller } from './poll.ts';

const EVERY_MS = 4_000;

export interface SupplyPage<Answer> {
  readonly name: string;
  readonly what: 'provider' | 'offering' | 'shard';
  /** The list that it is part of: path and title. */
  readonly section: readonly [path: string, title: string];
  /** Of the API. */
  readonly path: string;
  /** The query of its history. */
  readonly events: string;
  readonly sentences: (answer: Answer) => readonly string[];
  readonly byState: (answer: Answer) => ApiCounts;
  readonly facts: (answer: Answer) => readonly (readonly [label: string, value: Node | string])[];
}

export function supplyPage<Answer>(page: HTMLElement, of: SupplyPage<Answer>): void {
  document.title = `${of.name} · Flotilla`;
  const why = h('div', { class: 'why' });
  const bar = h('div', {});
  const facts = h('dl', { class: 'facts' });
  const past = eventsPart(`Events of this ${of.what}, newest first`, of.events);
  const [href, title] = of.section;
  fill(
    page,
    h('p', { class: 'trail' }, h('a', { href }, title), ' / '),
    h('h1', {}, of.name),
    h(
      'div',
      { class: 'grid' },
      card(`${of.what[0]!.toUpperCase()}${of.what.slice(1)}`, { class: 'span-2' }, why, bar),
      card('Properties', {}, facts),
      card('History', { class: 'span-3' }, past.element),
    ),
  );
  const poller = new Poller(EVERY_MS, async (signal) => {
    const [status, answer] = await Promise.all([ask<ApiStatus>('/api/v1/status', signal), found(signal)]);
    showStatus(status);
    if (answer === null) {
      poller.hold(true);
      notFoundPage(page, `There is no ${of.what} ${of.name}.`, 'Its history may tell what became of it.');
      return;
    }
    const [first, ...rest] = of.sentences(answer);
    fill(
      why,
      h('p', { class: 'answer' }, first ?? ''),
      h('ul', {}, ...rest.map((sentence) => h('li', {}, sentence))),
    );
    const counts = of.byState(answer);
    fill(bar, total(counts) === 0 ? '' : stateBar(counts, `Machines of ${of.name}`));
    fill(facts, ...of.facts(answer).flatMap(([label, value]) => [h('dt', {}, label), h('dd', {}, value)]));
    await past.refresh(signal);
  });
  poller.now();

  async function found(signal: AbortSignal): Promise<Answer | null> {
    try {
      return await ask<Answer>(of.path, signal);
    } catch (error) {
      if (error instanceof AskFailed && error.status === 404) return null;
      throw error;
    }
  }
}
