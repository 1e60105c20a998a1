/** Parts shared by all pages: states and their colours, bars, badges, cards, tables and filters. */
import type { ApiCounts, ApiRails, ApiStatus, StateName, UnmetReasonName } from '../api/types.ts';
import { type Child, h, setText } from './dom.ts';
import { age, count, percent } from './format.ts';
import { showNotice } from './poll.ts';

/** From most to least in use: the order of every bar and legend. */
export const STATES: readonly StateName[] = [
  'Configured',
  'Configuring',
  'Creating',
  'Idle',
  'Draining',
  'Deleting',
  'Failed',
  'Speculative',
];

export const stateClass = (state: string) => `state-${state.toLowerCase()}`;

export function stateBadge(state: StateName): HTMLElement {
  return h(
    'span',
    { class: `badge ${stateClass(state)}` },
    h('span', { class: 'swatch', 'aria-hidden': 'true' }),
    state,
  );
}

export const total = (counts: ApiCounts) => STATES.reduce((sum, state) => sum + counts[state], 0);

/** Shares as a bar. Its label says the same in words, so that colour is not the only carrier. */
export function stateBar(counts: ApiCounts, label: string, scale = 1): HTMLElement {
  const all = total(counts);
  const words = STATES.filter((state) => counts[state] > 0).map(
    (state) => `${count(counts[state])} ${state}`,
  );
  const bar = h('div', {
    class: 'bar',
    role: 'img',
    'aria-label': `${label}: ${words.join(', ') || 'none'}`,
    title: words.join(' · '),
  });
  for (const state of STATES) {
    if (counts[state] === 0) continue;
    const part = h('span', { class: stateClass(state) });
    part.style.width = `${(100 * scale * counts[state]) / Math.max(1, all)}%`;
    bar.append(part);
  }
  return bar;
}

export function stateLegend(counts: ApiCounts): HTMLElement {
  const all = total(counts);
  return h(
    'ul',
    { class: 'legend' },
    ...STATES.map((state) =>
      h(
        'li',
        {},
        h(
          'a',
          { href: `/machines?state=${state}` },
          h('span', { class: `swatch ${stateClass(state)}`, 'aria-hidden': 'true' }),
          h('span', { class: 'name' }, state),
          h('span', { class: 'number' }, count(counts[state])),
          h('span', { class: 'share' }, percent(counts[state], all)),
        ),
      ),
    ),
  );
}

const REASONS: Readonly<Record<UnmetReasonName, string>> = {
  PRIORITY_STARVED: 'priority starved',
  NO_MATCHING_SUPPLY: 'no matching supply',
  TOPOLOGY_UNSATISFIABLE: 'no domain fits',
  PREEMPTION_EXHAUSTED: 'preemption exhausted',
};

/** Tooltips: one sentence for each reason. */
const REASON_SENTENCES: Readonly<Record<UnmetReasonName, string>> = {
  PRIORITY_STARVED:
    'Matching machines exist, but are held at equal or higher priority or are still being provisioned.',
  NO_MATCHING_SUPPLY: 'No machine in any state matches the requirements and is large enough.',
  TOPOLOGY_UNSATISFIABLE: 'All machines of this need must share one domain, and no domain can hold it.',
  PREEMPTION_EXHAUSTED: 'The matching machines of lower priority are too few, even if all are preempted.',
};

const PARKED_SENTENCE =
  'No domain has been able to hold this gang for eight ordinary cycles. It keeps its machines and stops asking.';

export function verdictBadge(
  satisfied: boolean,
  reason: UnmetReasonName | null,
  parked: boolean,
  limitedBy: string | null = null,
): HTMLElement {
  if (satisfied) return h('span', { class: 'verdict good' }, 'satisfied');
  if (limitedBy !== null)
    return h(
      'span',
      {
        class: 'verdict bad',
        title: `A limit of the cluster, or a ceiling of the fleet, keeps machines from this need: ${limitedBy}.`,
      },
      `limited by ${limitedBy}`,
    );
  const words = parked ? 'parked' : reason === null ? 'unmet' : REASONS[reason];
  const sentence = parked ? PARKED_SENTENCE : reason === null ? '' : REASON_SENTENCES[reason];
  const title = reason === null ? sentence : `${sentence} (${reason})`;
  return h('span', { class: 'verdict bad', title }, words);
}

export function card(title: string, attributes: Record<string, string>, ...children: Child[]): HTMLElement {
  const id = `card-${title.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`;
  return h(
    'section',
    { ...attributes, class: `card ${attributes.class ?? ''}`, 'aria-labelledby': id },
    h('h2', { id }, title),
    ...children,
  );
}

/** A tile: one number, large enough to read from across the room. */
export function tile(
  label: string,
  href = '',
): { readonly element: HTMLElement; set(value: string, aside?: string, level?: string): void } {
  const value = h('span', { class: 'value' }, '–');
  const aside = h('span', { class: 'aside' });
  const inner = [h('span', { class: 'label' }, label), value, aside];
  const element =
    href === '' ? h('div', { class: 'tile' }, ...inner) : h('a', { class: 'tile', href }, ...inner);
  return {
    element,
    set(text, asideText = '', level = '') {
      setText(value, text);
      setText(aside, asideText);
      element.dataset.level = level;
    },
  };
}

export interface Column {
  readonly name: string;
  readonly class?: string;
}

export function table(
  columns: readonly Column[],
  caption: string,
): { readonly element: HTMLElement; readonly body: HTMLElement } {
  const body = h('tbody');
  const head = columns.map((column) => h('th', { scope: 'col', class: column.class ?? '' }, column.name));
  const inner = h(
    'table',
    {},
    h('caption', { class: 'hidden' }, caption),
    h('thead', {}, h('tr', {}, ...head)),
    body,
  );
  // Focusable, so that a keyboard can scroll a table that is wider than the screen.
  return {
    element: h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption }, inner),
    body,
  };
}

/** Gives each cell the name of its column: on a phone a row is a card without column headings. */
export function labelled(row: HTMLElement, columns: readonly Column[]): HTMLElement {
  for (const [index, { name }] of columns.entries()) {
    const cell = row.children[index];
    if (cell instanceof HTMLElement && name !== '') cell.dataset.label = name;
  }
  return row;
}

export function field(label: string, control: HTMLElement): HTMLElement {
  return h('label', { class: 'field' }, h('span', {}, label), control);
}

export function select(
  name: string,
  options: readonly (readonly [value: string, text: string])[],
  value: string,
): HTMLSelectElement {
  const control = h('select', { name }, ...options.map(([one, text]) => h('option', { value: one }, text)));
  control.value = value;
  return control;
}

/** As the alert FlotillaCycleStalled: fewer are a busy host. */
const STALLED_CYCLES = 6;

/** Shows the shard's name and its safety rails at the top of every page. */
export function showStatus(status: ApiStatus): void {
  setText(document.getElementById('shard')!, status.shardId);
  const { heldBack, killSwitch, dryRun, fenced }: ApiRails = status.rails;
  const { replica } = status;
  const isStandby = replica?.role === 'standby';
  const isHeld = !fenced && !isStandby && heldBack !== '';
  showNotice('held', isHeld ? `The shard executes no actions: ${heldBack}.` : '', 'warn');
  showNotice(
    'replica',
    replica === null || replica.role === 'active' ? '' : `Replica ${replica.name} is ${replica.text}.`,
    'warn',
  );
  const sinceCycleMs = status.nowMs - status.lastCycleAtMs;
  const isStalled = sinceCycleMs > STALLED_CYCLES * status.rails.cycleIntervalMs;
  showNotice(
    'stalled',
    status.lastCycleAtMs > 0 && isStalled && !isStandby
      ? `The shard answers, but its last cycle ended ${age(sinceCycleMs)} ago.`
      : '',
  );
  showNotice(
    'fenced',
    fenced ? `The shard is fenced and executes no actions: ${status.notReadyReason || heldBack}.` : '',
  );
  showNotice(
    'kill',
    killSwitch ? 'The kill switch is on: the shard decides, but executes no actions.' : '',
    'warn',
  );
  showNotice(
    'dry',
    dryRun && !killSwitch ? 'Dry run: the shard decides, but executes no actions.' : '',
    'warn',
  );
}
