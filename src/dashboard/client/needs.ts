/** Needs with their verdicts. Each row opens to an explanation. */
import type { ApiNeed, ApiNeedExplanations, ApiNeeds } from '../api/types.ts';
import { fill, h, replaceRows } from './dom.ts';
import { clusterHref } from './events.ts';
import { age, count, quantities, requirement } from './format.ts';
import { groupLabel, servingList } from './gangs.ts';
import { checkFilter, listPage, textFilter } from './list.ts';
import { field, labelled, verdictBadge } from './parts.ts';
import { ask } from './poll.ts';

const EVERY_MS = 4_000;
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
  const cluster = textFilter('cluster', 'all');
  const group = textFilter('group', 'all');
  const unmet = checkFilter('unmet');
  const opened = new Map<string, HTMLElement>();
  listPage<ApiNeeds>(page, {
    title: 'Needs',
    path: '/needs',
    caption: 'Needs, highest priority first',
    columns: COLUMNS,
    everyMs: EVERY_MS,
    filters: [
      field('Cluster', cluster),
      field('Group', group),
      h('label', { class: 'check' }, unmet, 'only unmet'),
    ],
    asked: () => ({
      cluster: cluster.value.trim(),
      group: group.value.trim(),
      unmet: unmet.checked ? 1 : 0,
    }),
    summary: (answer, { nowMs }) => {
      const of = unmet.checked
        ? `${count(answer.unmet)} of ${count(answer.total)} needs are unmet`
        : `${count(answer.total)} needs, ${count(answer.unmet)} of them unmet`;
      return `${of} · cycle ${count(answer.cycle)}, ${age(nowMs - answer.computedAtMs)} ago`;
    },
    show: (body, { needs, total }) => {
      if (needs.length === 0)
        return unmet.checked && total > 0 ? 'Every need is satisfied.' : 'No need matches the filters.';
      replaceRows(body, needs, keyOf, makeRow);
      const shown = new Set(needs.map(keyOf));
      for (const key of opened.keys()) if (!shown.has(key)) opened.delete(key);
      return null;
    },
  });

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
      need.shared > 0 ? `shares ${count(need.shared)}` : count(need.claimed),
      need.bootstraps > 0 ? `+${need.bootstraps} bootstrap` : '',
      need.provisions > 0 ? `+${need.provisions} provision` : '',
    ];
    const line = h(
      'tr',
      {},
      h('td', {}, verdictBadge(need.satisfied, need.reason, need.parked, need.limitedBy)),
      h('td', { class: 'number' }, count(need.priority)),
      h('td', { class: 'id' }, h('a', { href: clusterHref(need.clusterId) }, need.clusterId)),
      h(
        'td',
        { class: 'need' },
        groupLabel(need),
        h('span', { class: 'wish' }, need.requirements.map(requirement).join(', ') || 'any machine'),
      ),
      h('td', {}, quantities(need.aggregate)),
      h('td', { class: need.satisfied ? '' : 'missing' }, need.satisfied ? '' : quantities(need.missing)),
      h(
        'td',
        { class: 'number', title: need.domain === '' ? '' : `Domain: ${need.domain}` },
        claims.filter((text) => text !== '').join(' '),
      ),
      h('td', { class: 'number' }, need.satisfied ? '' : age(need.unmetForMs)),
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
    ...[servingList(found)].filter((part) => part !== ''),
    h('p', { class: 'aside' }, `Cycle ${count(cycle)} · `, h('code', {}, found.need.fingerprint)),
  ];
}
