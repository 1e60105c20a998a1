/** Needs with their verdicts. Each row opens to an explanation. */
import type { ApiNeed, ApiNeedExplanations, ApiNeeds, ApiStatus } from '../api/types.ts';
import { fill, h, replaceRows } from './dom.ts';
import { age, count, cycles, quantities, requirement } from './format.ts';
import { field, labelled, showStatus, table, verdictBadge } from './parts.ts';
import { ask, Poller, queryOf } from './poll.ts';

const EVERY_MS = 4_000;
const PAGE = 100;
const COLUMNS = [
  { name: 'Verdict' },
  { name: 'Priority', class: 'number' },
  { name: 'Cluster' },
  { name: 'Need' },
  { name: 'Requested' },
  { name: 'Missing' },
  { name: 'Machines', class: 'number' },
  { name: 'Unmet for', class: 'number' },
  { name: '' },
] as const;

const keyOf = ({ clusterId, fingerprint, group }: ApiNeed) => JSON.stringify([clusterId, fingerprint, group]);

export function needsPage(page: HTMLElement): void {
  const parameters = new URLSearchParams(location.search);
  const trail = ['']; // cursors of this page and of all pages before it
  const cluster = h('input', {
    name: 'cluster',
    type: 'search',
    autocomplete: 'off',
    spellcheck: 'false',
    value: parameters.get('cluster') ?? '',
    placeholder: 'all',
  });
  const group = h('input', {
    name: 'group',
    type: 'search',
    autocomplete: 'off',
    spellcheck: 'false',
    value: parameters.get('group') ?? '',
    placeholder: 'all',
  });
  const unmet = h('input', {
    name: 'unmet',
    type: 'checkbox',
    value: '1',
    checked: parameters.get('unmet') === '1',
  });
  const summary = h('p', { class: 'summary', role: 'status' });
  const rows = table(COLUMNS, 'Needs, highest priority first');
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
    field('Cluster', cluster),
    field('Group', group),
    h('label', { class: 'check' }, unmet, 'only unmet'),
    h('button', {}, 'Apply'),
  );
  const opened = new Map<string, HTMLElement>();
  let following = '';
  fill(
    page,
    h('h1', {}, 'Needs'),
    form,
    summary,
    rows.element,
    h('div', { class: 'pager' }, first, back, next),
  );

  const poller = new Poller(EVERY_MS, async (signal) => {
    const query = queryOf({
      cluster: cluster.value.trim(),
      group: group.value.trim(),
      unmet: unmet.checked,
      limit: PAGE,
      after: trail.at(-1)!,
    });
    const [status, answer] = await Promise.all([
      ask<ApiStatus>('/api/v1/status', signal),
      ask<ApiNeeds>(`/api/v1/needs${query}`, signal),
    ]);
    showStatus(status);
    show(answer, status.nowMs);
  });
  poller.now();

  function filter(): void {
    trail.splice(0, trail.length, '');
    history.replaceState(
      null,
      '',
      `/needs${queryOf({ cluster: cluster.value.trim(), group: group.value.trim(), unmet: unmet.checked ? 1 : 0 })}`,
    );
    poller.now();
  }

  function turn(where: 'first' | 'back' | 'next'): void {
    if (where === 'next') trail.push(following);
    else if (where === 'back') trail.pop();
    else trail.splice(1);
    poller.now();
    rows.element.scrollIntoView({ block: 'nearest' });
  }

  function show(answer: ApiNeeds, nowMs: number): void {
    following = answer.next;
    first.disabled = back.disabled = trail.length === 1;
    next.disabled = answer.next === '';
    const of = unmet.checked
      ? `${count(answer.unmet)} of ${count(answer.total)} needs are unmet`
      : `${count(answer.total)} needs, ${count(answer.unmet)} of them unmet`;
    summary.textContent = `${of} · cycle ${count(answer.cycle)}, ${age(nowMs - answer.computedAtMs)} ago`;
    if (answer.needs.length === 0) {
      const words =
        unmet.checked && answer.total > 0 ? 'Every need is satisfied.' : 'No need matches the filters.';
      replaceRows(rows.body, [words], String, () =>
        h('tr', {}, h('td', { colspan: COLUMNS.length, class: 'empty' }, words)),
      );
      return;
    }
    replaceRows(rows.body, answer.needs, keyOf, makeRow);
    const shown = new Set(answer.needs.map(keyOf));
    for (const key of opened.keys()) if (!shown.has(key)) opened.delete(key);
  }

  function makeRow(need: ApiNeed): Element[] {
    const key = keyOf(need);
    const known = opened.get(key);
    const detail = h(
      'tr',
      { class: 'detail', hidden: known === undefined },
      h('td', { colspan: COLUMNS.length }, known ?? h('div', {})),
    );
    const button = h(
      'button',
      {
        type: 'button',
        class: 'quiet',
        'aria-expanded': String(known !== undefined),
        click: () => void toggle(need, button, detail),
      },
      'Why?',
    );
    const claims = [
      count(need.claimed),
      need.bootstraps > 0 ? `+${need.bootstraps} bootstrap` : '',
      need.provisions > 0 ? `+${need.provisions} provision` : '',
    ];
    const line = h(
      'tr',
      {},
      h('td', {}, verdictBadge(need.satisfied, need.reason, need.parked)),
      h('td', { class: 'number' }, count(need.priority)),
      h(
        'td',
        { class: 'id' },
        h('a', { href: `/clusters?prefix=${encodeURIComponent(need.clusterId)}` }, need.clusterId),
      ),
      h(
        'td',
        { class: 'need' },
        h('span', { class: 'group', title: need.fingerprint }, need.group || '(no group)'),
        h('span', { class: 'wish' }, need.requirements.map(requirement).join(', ') || 'any machine'),
      ),
      h('td', {}, quantities(need.aggregate)),
      h('td', { class: need.satisfied ? '' : 'missing' }, need.satisfied ? '' : quantities(need.missing)),
      h(
        'td',
        { class: 'number', title: need.domain === '' ? '' : `Domain: ${need.domain}` },
        claims.filter((text) => text !== '').join(' '),
      ),
      h('td', { class: 'number' }, need.satisfied ? '' : cycles(need.cyclesUnmet)),
      h('td', { class: 'end' }, button),
    );
    return [labelled(line, COLUMNS), detail];
  }

  async function toggle(need: ApiNeed, button: HTMLElement, detail: HTMLElement): Promise<void> {
    const key = keyOf(need);
    const isOpen = detail.hidden;
    detail.hidden = !isOpen;
    button.setAttribute('aria-expanded', String(isOpen));
    if (!isOpen) {
      opened.delete(key);
      return;
    }
    const box = h('div', { class: 'why', role: 'status' }, h('p', {}, 'Loading…'));
    fill(detail.firstElementChild!, box);
    opened.set(key, box);
    try {
      // Always pass both: an empty group is a group too.
      const query = new URLSearchParams({
        cluster: need.clusterId,
        fingerprint: need.fingerprint,
        group: need.group,
      });
      const answer = await ask<ApiNeedExplanations>(
        `/api/v1/needs/explain?${query}`,
        new AbortController().signal,
      );
      fill(box, ...explanation(answer));
    } catch (error) {
      fill(box, h('p', { class: 'missing' }, (error as Error).message));
    }
  }
}

function explanation({ explanations, cycle }: ApiNeedExplanations): HTMLElement[] {
  const [found] = explanations;
  if (found === undefined) return [h('p', {}, 'This need no longer exists: its cluster has withdrawn it.')];
  const [answer, ...rest] = found.sentences;
  return [
    h('p', { class: 'answer' }, answer ?? ''),
    h('ul', {}, ...rest.map((sentence) => h('li', {}, sentence))),
    h('p', { class: 'aside' }, `Cycle ${count(cycle)} · `, h('code', {}, found.need.fingerprint)),
  ];
}
