/** What if: a form asks what would happen, a line tells the progress, and the answer follows. The address holds the question. */
import type { WhatIfAnswer, WhatIfProgress } from '../../shard/ports/what-if.ts';
import type { ApiError, ApiStatus } from '../api/types.ts';
import { fill, h, setText } from './dom.ts';
import { clusterHref } from './events.ts';
import { count, counted, duration, usd } from './format.ts';
import { type Column, field, labelled, showStatus, table, tile } from './parts.ts';
import { ask, Poller } from './poll.ts';

const EVERY_MS = 5_000;
const ROWS_MAX = 50;
const FIELDS = [
  ['without', 'Without machines', 'zone=eu-north-1b'],
  ['demand', 'Demand of a cluster', 'prod-eu-1=2'],
  ['add', 'More machines', '200:zone=eu-north-1a'],
  ['price', 'Other prices', 'capacity-type=spot:x1.5'],
  ['set', 'Other settings', 'placement=value'],
] as const;

type Line = { readonly progress: WhatIfProgress } | { readonly answer: WhatIfAnswer } | ApiError;

const PRIORITIES: readonly Column[] = [
  { name: 'Priority', class: 'number' },
  { name: 'Unmet now', class: 'number' },
  { name: 'Unmet after', class: 'number' },
];
const CLUSTERS: readonly Column[] = [
  { name: 'Cluster' },
  { name: 'Machines', class: 'number' },
  { name: 'After', class: 'number' },
  { name: 'Gone', class: 'number' },
  { name: 'Preempted', class: 'number' },
  { name: 'Reclaimed', class: 'number' },
  { name: 'Created', class: 'number' },
  { name: 'Bound', class: 'number' },
];
const LOSSES: readonly Column[] = [
  { name: 'Loses machines' },
  { name: 'To' },
  { name: 'Machines', class: 'number' },
];

export function whatIfPage(page: HTMLElement): void {
  const asked = new URLSearchParams(location.search);
  const inputs = FIELDS.map(([name, label, placeholder]) => {
    const input = h('input', { name, placeholder, autocomplete: 'off', 'aria-label': label });
    input.value = asked.getAll(name).join(' ');
    return { name, input, element: field(label, input) };
  });
  const button = h('button', {}, 'Ask');
  const stop = h('button', { type: 'button', hidden: true, click: () => running.abort() }, 'Stop');
  const state = h('p', { class: 'summary', role: 'status' });
  const bar = h('progress', { hidden: true, 'aria-label': 'The shard calculates' });
  let shown: readonly HTMLElement[] = [];
  // Beside the form and not in an element of their own: tables of a page look as on other pages.
  const show = (parts: readonly HTMLElement[]): void => {
    for (const element of shown) element.remove();
    page.append(...parts);
    shown = parts;
  };
  let running = new AbortController();

  const begin = async (): Promise<void> => {
    running.abort();
    running = new AbortController();
    const { signal } = running;
    const query = new URLSearchParams();
    for (const { name, input } of inputs)
      for (const text of input.value.split(/\s+/)) if (text !== '') query.append(name, text);
    history.replaceState(null, '', `/what-if?${query}`);
    show([]);
    bar.hidden = stop.hidden = false;
    setText(state, 'The shard is asked.');
    try {
      const answer = await answerTo(query, signal, (progress) => setText(state, sentenceOf(progress)));
      setText(state, summaryOf(answer));
      show(partsOf(answer));
    } catch (error) {
      setText(state, signal.aborted ? 'Stopped.' : (error as Error).message);
    } finally {
      if (signal === running.signal) bar.hidden = stop.hidden = true;
    }
  };
  const form = h(
    'form',
    {
      class: 'filters',
      submit: (event) => {
        event.preventDefault();
        void begin();
      },
    },
    ...inputs.map(({ element }) => element),
    button,
    stop,
  );
  fill(
    page,
    h('h1', {}, 'What if'),
    h(
      'p',
      {},
      'What would happen if machines were gone, or demand, prices or settings were others? The shard decides on a copy and changes nothing. ' +
        'Several entries of one field are separated by spaces. Roll-up files: flotilla what-if --rollup.',
    ),
    form,
    state,
    bar,
  );
  const poller = new Poller(EVERY_MS, async (signal) =>
    showStatus(await ask<ApiStatus>('/api/v1/status', signal)),
  );
  poller.now();
  if (asked.size > 0) void begin();
}

/** Reads the lines as they come. */
async function answerTo(
  query: URLSearchParams,
  signal: AbortSignal,
  onProgress: (progress: WhatIfProgress) => void,
): Promise<WhatIfAnswer> {
  const response = await fetch(`/api/v1/what-if?${query}`, { signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? '')).split('\n');
    rest = done ? '' : lines.pop()!;
    for (const text of lines) {
      if (text === '') continue;
      const line = JSON.parse(text) as Line;
      if ('error' in line) throw new Error([line.error.what, line.error.why].join(' ').trim());
      if ('answer' in line) return line.answer;
      onProgress(line.progress);
    }
    if (done) throw new Error('The shard ended before it had answered. Ask again.');
  }
}

const PHASES: Readonly<Record<WhatIfProgress['phase'], string>> = {
  copying: 'The shard copies its tables',
  restoring: 'A thread restores the copy',
  deciding: 'The thread decides the first cycle',
  running: 'Virtual time passes',
};

function sentenceOf({ phase, virtualMs, cycles, actions, inFlight, elapsedMs }: WhatIfProgress): string {
  const run =
    phase === 'running'
      ? `: ${duration(virtualMs)}, ${counted(cycles, 'cycle')}, ${counted(actions, 'action')}, ${count(inFlight)} under way`
      : '';
  return `${PHASES[phase]}${run}. ${duration(elapsedMs)} so far.`;
}

function summaryOf({ question, isAtRest, settleMs, cycles, elapsedMs }: WhatIfAnswer): string {
  const settled = isAtRest
    ? `settles within ${duration(settleMs)} of virtual time, in ${counted(cycles, 'cycle')}`
    : `is not settled after ${counted(cycles, 'cycle')}`;
  return `What if: ${question.join('; ')}. The fleet ${settled}. Answered in ${duration(elapsedMs)}.`;
}

function partsOf(answer: WhatIfAnswer): HTMLElement[] {
  const { actions, clusters, losses, priorities } = answer;
  const tiles = [
    made('Unmet needs', count(answer.unmetAfter), `${count(answer.unmetBefore)} now`),
    made('Cost', `${usd(answer.usdPerHourAfter)}/h`, `${usd(answer.usdPerHourBefore)}/h now`),
    made('Machines and offers gone', count(answer.machinesGone), `${count(answer.machinesAdded)} added`),
    ...Object.entries(actions).map(([kind, times]) => made(kind, count(times), 'actions')),
  ];
  return [
    h('div', { class: 'tiles' }, ...tiles),
    ...rowsOf(
      'Unmet needs by priority',
      PRIORITIES,
      priorities.length,
      priorities.map((one) => [String(one.priority), count(one.unmetBefore), count(one.unmetAfter)]),
    ),
    ...rowsOf(
      'Clusters that change, those that lose most first',
      CLUSTERS,
      clusters.length,
      clusters.map(
        ({
          clusterId,
          machinesBefore,
          machinesAfter,
          gone,
          actions: { Preempt, Reclaim, Provision, Bootstrap },
        }) => [
          h('a', { href: clusterHref(clusterId) }, clusterId),
          ...[machinesBefore, machinesAfter, gone, Preempt, Reclaim, Provision, Bootstrap].map(count),
        ],
      ),
    ),
    ...rowsOf(
      'Who loses machines to whom',
      LOSSES,
      losses.length + answer.lossesLeftOut,
      losses.map(({ from, to, machines }) => [
        h('a', { href: clusterHref(from) }, from),
        h('a', { href: clusterHref(to) }, to),
        count(machines),
      ]),
    ),
    h('p', { class: 'aside' }, answer.notes.join(' ')),
  ];
}

function made(label: string, value: string, aside: string): HTMLElement {
  const one = tile(label);
  one.set(value, aside);
  return one.element;
}

function rowsOf(
  title: string,
  columns: readonly Column[],
  all: number,
  rows: readonly (readonly (string | HTMLElement)[])[],
): HTMLElement[] {
  if (rows.length === 0) return [];
  const { element, body } = table(columns, title);
  for (const cells of rows.slice(0, ROWS_MAX)) {
    const row = h('tr', {}, ...cells.map((cell, at) => h('td', { class: columns[at]!.class ?? '' }, cell)));
    body.append(labelled(row, columns));
  }
  const more = all - Math.min(rows.length, ROWS_MAX);
  const left = more === 0 ? [] : [h('p', { class: 'aside' }, `and ${count(more)} more; the API has them`)];
  return [h('h2', {}, title), element, ...left];
}
