/** Shared by the pages that list something: filters that the address keeps, a table, and its pages. */
import type { ApiStatus } from '../api/types.ts';
import { fill, h, replaceRows } from './dom.ts';
import { type Column, showStatus, table } from './parts.ts';
import { ask, Poller, queryOf } from './poll.ts';

const ROWS_PER_PAGE = 100;
/** After the last key, before the shard is asked. */
const TYPING_MS = 300;

interface Page {
  readonly next: string;
}

export interface List<Answer extends Page> {
  readonly title: string;
  /** Of the page; the API has the same below /api/v1. */
  readonly path: string;
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly everyMs: number;
  /** The contents of the form. */
  readonly filters: readonly HTMLElement[];
  /** Filters apply while a person types, so the form needs no button. */
  readonly appliesWhileTyping?: boolean;
  /** The answer has no pages. */
  readonly isWhole?: true;
  /** What the filters ask for, by parameter. */
  readonly asked: () => Readonly<Record<string, string | number>>;
  /** The same as the API takes it, where it differs from the address of the page. */
  readonly toApi?: (
    asked: Readonly<Record<string, string | number>>,
  ) => Readonly<Record<string, string | number>>;
  readonly summary: (answer: Answer, status: ApiStatus) => string;
  /** Fills the table; returns the words for an empty one. */
  readonly show: (body: HTMLElement, answer: Answer) => string | null;
}

export function listPage<Answer extends Page>(page: HTMLElement, list: List<Answer>): void {
  const summary = h('p', { class: 'summary', role: 'status' });
  const rows = table(list.columns, list.caption);
  const trail = ['']; // cursors of this page and of all pages before it
  let following = '';
  let typing = 0;
  const first = h('button', { type: 'button', click: () => turn('first') }, 'First');
  const back = h('button', { type: 'button', click: () => turn('back') }, 'Previous');
  const next = h('button', { type: 'button', click: () => turn('next') }, 'Next');
  const events = {
    submit: (event: Event) => {
      event.preventDefault();
      filter();
    },
    change: () => filter(),
    input: () => {
      if (list.appliesWhileTyping !== true) return;
      clearTimeout(typing);
      typing = window.setTimeout(filter, TYPING_MS);
    },
  };
  const apply = list.appliesWhileTyping === true ? [] : [h('button', {}, 'Apply')];
  const form = h('form', { class: 'filters', ...events }, ...list.filters, ...apply);
  fill(
    page,
    h('h1', {}, list.title),
    form,
    summary,
    rows.element,
    list.isWhole === true ? '' : h('div', { class: 'pager' }, first, back, next),
  );
  const poller = new Poller(list.everyMs, async (signal) => {
    const asked = list.toApi?.(list.asked()) ?? list.asked();
    const paging = list.isWhole === true ? {} : { limit: ROWS_PER_PAGE, after: trail.at(-1)! };
    const query = queryOf({ ...asked, ...paging });
    const [status, answer] = await Promise.all([
      ask<ApiStatus>('/api/v1/status', signal),
      ask<Answer>(`/api/v1${list.path}${query}`, signal),
    ]);
    showStatus(status);
    following = answer.next;
    first.disabled = back.disabled = trail.length === 1;
    next.disabled = answer.next === '';
    summary.textContent = list.summary(answer, status);
    const none = list.show(rows.body, answer);
    if (none === null) return;
    replaceRows(rows.body, [none], String, () =>
      h('tr', {}, h('td', { class: 'empty', colspan: list.columns.length }, none)),
    );
  });
  poller.now();

  function filter(): void {
    clearTimeout(typing);
    trail.splice(0, trail.length, '');
    history.replaceState(null, '', `${list.path}${queryOf(list.asked())}`);
    poller.now();
  }

  function turn(where: 'first' | 'back' | 'next'): void {
    if (where === 'next') trail.push(following);
    else if (where === 'back') trail.pop();
    else trail.splice(1);
    poller.now();
    rows.element.scrollIntoView({ block: 'nearest' });
  }
}

/** A filter, with the value that the address has for it. */
export function textFilter(name: string, placeholder: string): HTMLInputElement {
  return h('input', {
    name,
    type: 'search',
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder,
    value: addressValue(name),
  });
}

export function checkFilter(name: string): HTMLInputElement {
  return h('input', { name, type: 'checkbox', value: '1', checked: addressValue(name) === '1' });
}

export function addressValue(name: string): string {
  return new URLSearchParams(location.search).get(name) ?? '';
}
