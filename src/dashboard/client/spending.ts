/** Spending: what machines cost in a span of days, for what, and why that is more or less than in the span before. */
import type { ApiInterruptions, ApiSpending, ApiSpendingPart, ApiStatus } from '../api/types.ts';
import { Chart } from './chart.ts';
import { fill, h, replaceRows, setText } from './dom.ts';
import { count, percent, usd } from './format.ts';
import { addressValue, textFilter } from './list.ts';
import { field, labelled, select, showStatus, table } from './parts.ts';
import { ask, Poller, queryOf } from './poll.ts';

const EVERY_MS = 60_000;
/** Parts that the sentence names. */
const NAMED_MAX = 3;
const COLUMNS = [
  { name: 'What' },
  { name: 'Cost', class: 'number' },
  { name: 'Before', class: 'number' },
  { name: 'Change', class: 'number' },
  { name: 'Machine-hours', class: 'number' },
  { name: 'Before, machine-hours', class: 'number' },
] as const;

const INTERRUPTION_COLUMNS = [
  { name: 'Offering' },
  { name: 'Provider' },
  { name: 'Machine-hours', class: 'number' },
  { name: 'Declared', class: 'number' },
  { name: 'Observed', class: 'number' },
] as const;

export function spendingPage(page: HTMLElement): void {
  const by = select(
    'by',
    [
      ['offering', 'type and purchase option'],
      ['cluster', 'cluster'],
      ['team', 'team'],
      ['type', 'instance type'],
      ['capacity', 'purchase option'],
    ],
    addressValue('by') || 'offering',
  );
  const days = select(
    'days',
    [
      ['1', 'last day'],
      ['7', 'last 7 days'],
      ['30', 'last 30 days'],
    ],
    addressValue('days') || '7',
  );
  const cluster = textFilter('cluster', 'all clusters');
  const team = textFilter('team', 'all teams');
  const answer = h('p', { class: 'summary', role: 'status' });
  const facts = h('p', { class: 'facts' });
  const csv = h('a', { href: '/api/v1/spending.csv', download: 'spending.csv' }, 'CSV');
  const chart = new Chart({
    label: 'Dollars per hour over the span',
    kind: 'lines',
    series: [{ name: '$/h', class: 'series-1' }],
    format: usd,
  });
  const empty = h(
    'p',
    { class: 'empty', hidden: true },
    'There are no samples of this span yet. One is taken each minute.',
  );
  const rows = table(COLUMNS, 'Parts of the cost, the largest change first');
  const interrupted = table(
    INTERRUPTION_COLUMNS,
    'Interruptions by offering, the largest difference from what its provider declares first',
  );
  const interruptions = [
    h('h2', {}, 'Interruptions'),
    h(
      'p',
      {},
      'Machines that clusters lost without a decision of the shard, and as many as the interruption probabilities of the offerings let expect.',
    ),
    interrupted.element,
  ];
  const asked = () => ({
    by: by.value,
    days: days.value,
    cluster: cluster.value.trim(),
    team: team.value.trim(),
  });
  const apply = (event: Event): void => {
    event.preventDefault();
    history.replaceState(null, '', `/spending${queryOf(asked())}`);
    poller.now();
  };
  const form = h(
    'form',
    { class: 'filters', submit: apply, change: apply },
    field('Span', days),
    field('By', by),
    field('Cluster', cluster),
    field('Team', team),
    h('button', {}, 'Apply'),
  );
  fill(
    page,
    h('h1', {}, 'Spending'),
    form,
    answer,
    facts,
    chart.element,
    rows.element,
    empty,
    h('p', {}, csv),
    ...interruptions,
  );
  const poller = new Poller(EVERY_MS, async (signal) => {
    const query = asked();
    csv.setAttribute('href', `/api/v1/spending.csv${queryOf({ ...query, by: '' })}`);
    const [found, status] = await Promise.all([
      ask<ApiSpending>(`/api/v1/spending${queryOf(query)}`, signal),
      ask<ApiStatus>('/api/v1/status', signal),
    ]);
    showStatus(status);
    setText(answer, sentenceOf(found));
    setText(facts, factsOf(found));
    chart.update(
      found.points.map(({ atMs, usdPerHour }) => ({ atMs, values: [usdPerHour] })),
      found.nowMs,
    );
    empty.hidden = found.parts.length > 0;
    replaceRows(rows.body, found.parts, ({ name }) => name, makeRow);
    const offerings = found.interruptions ?? [];
    for (const element of interruptions) element.hidden = offerings.length === 0;
    replaceRows(
      interrupted.body,
      offerings,
      ({ provider, offering }) => `${provider} ${offering}`,
      interruptionRow,
    );
  });
  poller.now();
}

/** The question in one look: what did it cost, is that more than before, and what made the difference. */
export function sentenceOf({
  clusterId,
  team,
  days,
  usd: cost,
  usdBefore,
  hours,
  hoursBefore,
  parts,
}: ApiSpending): string {
  const subject = clusterId !== '' ? clusterId : team !== '' ? `Team ${team}` : 'The fleet';
  const span = days === 1 ? 'day' : `${days} days`;
  const known = `${subject} cost ${usd(cost)} in the last ${span}`;
  if (hoursBefore < hours / 2)
    return `${known}. Of the ${span} before there are samples of ${count(Math.round(hoursBefore))} hours, too few to compare.`;
  const change = cost - usdBefore;
  const compared = `${usd(Math.abs(change))} ${change < 0 ? 'less' : 'more'} than in the ${span} before (${usd(usdBefore)})`;
  const named = parts
    .filter((part) => Math.abs(part.usd - part.usdBefore) >= 0.01)
    .slice(0, NAMED_MAX)
    .map((part) => `${changeText(part.usd - part.usdBefore)} ${part.name} (${why(part)})`);
  return `${known}, ${compared}${named.length === 0 ? '' : `: ${named.join('; ')}`}.`;
}

/** More machines, or a higher price of each. */
function why({ usd: cost, usdBefore, machineHours, machineHoursBefore }: ApiSpendingPart): string {
  if (machineHoursBefore === 0) return 'new';
  if (machineHours === 0) return 'gone';
  const price = cost / machineHours / (usdBefore / machineHoursBefore) - 1;
  const texts = [`${changePercent(machineHours / machineHoursBefore - 1)} machine-hours`];
  if (Math.abs(price) >= 0.01) texts.push(`price ${changePercent(price)}`);
  return texts.join(', ');
}

function factsOf(found: ApiSpending): string {
  const { usdPerHour, usdPerDay, idleUsd, commitmentUse, spotShare, hours } = found;
  const texts = [`${usd(usdPerHour)} per hour now`];
  if (usdPerDay !== null) texts.push(`${usd(usdPerDay)} per day`);
  if (idleUsd > 0) texts.push(`${usd(idleUsd)} for machines of no cluster`);
  if (commitmentUse !== null)
    texts.push(`${percent(commitmentUse, 1)} of reserved and bare-metal machines are in use`);
  if (spotShare !== null) texts.push(`${percent(spotShare, 1)} of machines are spot`);
  texts.push(`samples of ${count(Math.round(hours))} hours`);
  return texts.join(' · ');
}

function changeText(change: number): string {
  return `${change < 0 ? '−' : '+'}${usd(Math.abs(change))}`;
}

function changePercent(change: number): string {
  return `${change < 0 ? '−' : '+'}${percent(Math.abs(change), 1)}`;
}

function makeRow(part: ApiSpendingPart): Element {
  const change = part.usd - part.usdBefore;
  const row = h(
    'tr',
    {},
    h('th', { scope: 'row' }, part.name),
    h('td', { class: 'number' }, usd(part.usd)),
    h('td', { class: 'number' }, usd(part.usdBefore)),
    h('td', { class: 'number' }, changeText(change)),
    h('td', { class: 'number' }, count(Math.round(part.machineHours))),
    h('td', { class: 'number' }, count(Math.round(part.machineHoursBefore))),
  );
  return labelled(row, COLUMNS);
}

function interruptionRow({
  provider,
  offering,
  machineHours,
  declared,
  observed,
}: ApiInterruptions): Element {
  const row = h(
    'tr',
    {},
    h('th', { scope: 'row' }, offering),
    h('td', {}, provider),
    h('td', { class: 'number' }, count(Math.round(machineHours))),
    h('td', { class: 'number' }, declared.toFixed(1)),
    h('td', { class: 'number' }, count(observed)),
  );
  return labelled(row, INTERRUPTION_COLUMNS);
}
