/** `/api/v1/spending` and its CSV: what machines cost in a span of days, for what, and how that differs from the same span before. */

import { CAPACITY_TYPE_NAMES, CapacityType } from '../../machine/capacity-type.ts';
import { isCommitted } from '../../machine/cost.ts';
import type { ShardReader } from '../../shard/ports/reader.ts';
import type {
  InterruptionRow,
  SpendingPast,
  SpendingRow,
  SpendingSample,
} from '../../shard/ports/spending.ts';
import { ApiRefusal, type Query } from './query.ts';
import type { ApiInterruptions, ApiSpending, ApiSpendingPart, SpendingBy } from './types.ts';

/** Below /api/v1. */
export const CSV_NAME = 'spending.csv';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS_USUAL = 7;
/** The span and the one before it are within the 90 days that are kept. */
const DAYS_MAX = 45;
const PARTS_MAX = 100;
const POINTS_MAX = 240;
const BY: readonly SpendingBy[] = ['offering', 'cluster', 'team', 'type', 'capacity'];

interface Asked {
  readonly by: SpendingBy;
  readonly clusterId: string;
  readonly team: string;
  readonly days: number;
}

export interface SpendingContext {
  readonly view: Pick<ShardReader, 'spending'>;
  readonly past: SpendingPast | null;
  readonly nowMs: number;
}

export async function spending({ view, past, nowMs }: SpendingContext, query: Query): Promise<ApiSpending> {
  const asked = askedOf(query);
  const store = keptOf(past);
  const fromMs = nowMs - asked.days * DAY_MS;
  const isAsked = (row: SpendingRow) => isRowAsked(row, asked, store);
  const nameOf = (row: SpendingRow) => partName(row, asked.by, store);
  const span = new Span(isAsked, nameOf);
  const before = new Span(isAsked, nameOf);
  for await (const sample of store.samples(fromMs - asked.days * DAY_MS, fromMs, 'hour'))
    before.add(sample, 1);
  for await (const sample of store.samples(fromMs, nowMs + 1, 'hour'))
    span.add(sample, Math.min(1, Math.max(0, nowMs - sample.atMs) / HOUR_MS));
  const now = await view.spending();
  return {
    nowMs,
    fromMs,
    ...asked,
    usdPerHour: sumOf(now.rows.filter(isAsked), ({ usdPerHour }) => usdPerHour),
    usd: span.usd,
    usdBefore: before.usd,
    usdPerDay: span.hours === 0 ? null : (24 * span.usd) / span.hours,
    idleUsd: span.idleUsd,
    hours: span.hours,
    hoursBefore: before.hours,
    ...shares(now.rows.filter(isAsked)),
    parts: partsOf(span, before).slice(0, PARTS_MAX),
    interruptions:
      asked.clusterId === '' && asked.team === '' ? span.interruptions().slice(0, PARTS_MAX) : null,
    points: await pointsOf(store, asked, fromMs, nowMs, isAsked),
  };
}

/** One line for each hour and row, oldest first. Throws for a query that it refuses, before the first line. */
export function spendingCsv(past: SpendingPast | null, nowMs: number, query: Query): AsyncGenerator<string> {
  return linesOf(keptOf(past), nowMs, askedOf(query));
}

async function* linesOf(store: SpendingPast, nowMs: number, asked: Asked): AsyncGenerator<string> {
  yield 'hour,cluster,team,instance_type,capacity_type,machines,configured,usd_per_hour\r\n';
  for await (const { atMs, rows } of store.samples(nowMs - asked.days * DAY_MS, nowMs + 1, 'hour')) {
    const hour = new Date(atMs).toISOString();
    let lines = '';
    for (const row of rows) {
      if (!isRowAsked(row, asked, store)) continue;
      const { clusterId, instanceType, machines, configured, usdPerHour } = row;
      const texts = [clusterId, store.teamOf(clusterId), instanceType, CAPACITY_TYPE_NAMES[row.capacityType]];
      lines += `${[hour, ...texts.map(csvText), machines, configured, usdPerHour].join(',')}\r\n`;
    }
    if (lines !== '') yield lines;
  }
}

/** A text that a table program would take for a formula is given a quote before it. */
function csvText(text: string): string {
  const safe = /^[=+\-@\t]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function askedOf(query: Query): Asked {
  const by = query.oneOf('by', BY);
  const clusterId = query.text('cluster');
  const team = query.text('team');
  const days = query.integer('days', DAYS_USUAL, DAYS_MAX);
  query.end();
  return { by: by === '' ? 'offering' : by, clusterId, team, days: Math.max(1, days) };
}

function keptOf(past: SpendingPast | null): SpendingPast {
  if (past !== null) return past;
  throw new ApiRefusal(
    404,
    'no_spending_history',
    'This shard keeps no history of spending.',
    '--spending-history is off.',
    'Turn it on and start the shard again.',
  );
}

function isRowAsked({ clusterId }: SpendingRow, asked: Asked, store: SpendingPast): boolean {
  if (asked.clusterId !== '' && clusterId !== asked.clusterId) return false;
  return asked.team === '' || store.teamOf(clusterId) === asked.team;
}

function partName(
  { clusterId, instanceType, capacityType }: SpendingRow,
  by: SpendingBy,
  store: SpendingPast,
): string {
  if (by === 'cluster') return clusterId === '' ? 'no cluster' : clusterId;
  if (by === 'team') return clusterId === '' ? 'no cluster' : store.teamOf(clusterId) || 'no team';
  const capacity = CAPACITY_TYPE_NAMES[capacityType];
  if (by === 'capacity') return capacity;
  return by === 'type' ? instanceType : `${instanceType} ${capacity}`;
}

/** The sums of a span of hours, by part. */
class Span {
  readonly #isAsked: (row: SpendingRow) => boolean;
  readonly #nameOf: (row: SpendingRow) => string;
  readonly parts = new Map<string, { usd: number; machineHours: number }>();
  readonly #interruptions = new Map<
    string,
    { -readonly [field in keyof ApiInterruptions]: ApiInterruptions[field] }
  >();
  usd = 0;
  /** Of machines of no cluster. */
  idleUsd = 0;
  hours = 0;

  constructor(isAsked: (row: SpendingRow) => boolean, nameOf: (row: SpendingRow) => string) {
    this.#isAsked = isAsked;
    this.#nameOf = nameOf;
  }

  add({ rows, interruptions = [] }: SpendingSample, hours: number): void {
    this.hours += hours;
    for (const row of interruptions) this.#addInterruptions(row, hours);
    for (const row of rows) {
      if (!this.#isAsked(row)) continue;
      const name = this.#nameOf(row);
      const part = this.parts.get(name) ?? { usd: 0, machineHours: 0 };
      part.usd += row.usdPerHour * hours;
      part.machineHours += row.machines * hours;
      this.parts.set(name, part);
      this.usd += row.usdPerHour * hours;
      if (row.clusterId === '') this.idleUsd += row.usdPerHour * hours;
    }
  }

  #addInterruptions({ provider, offering, ...row }: InterruptionRow, hours: number): void {
    const key = `${provider.length} ${provider} ${offering}`;
    let sums = this.#interruptions.get(key);
    if (sums === undefined) {
      sums = { provider, offering, machineHours: 0, declared: 0, observed: 0 };
      this.#interruptions.set(key, sums);
    }
    sums.machineHours += row.configured * hours;
    sums.declared += row.declaredPerHour * hours;
    sums.observed += row.observed;
  }

  /** E6: what differs most from what its provider declares comes first. */
  interruptions(): ApiInterruptions[] {
    const difference = ({ declared, observed }: ApiInterruptions) => Math.abs(observed - declared);
    return [...this.#interruptions.values()].sort(
      (a, b) => difference(b) - difference(a) || (a.offering < b.offering ? -1 : 1),
    );
  }
}

/** What changed most comes first: it is what a reader asks about. */
function partsOf(span: Span, before: Span): ApiSpendingPart[] {
  const nothing = { usd: 0, machineHours: 0 };
  const parts = [...new Set([...span.parts.keys(), ...before.parts.keys()])].map((name) => {
    const now = span.parts.get(name) ?? nothing;
    const then = before.parts.get(name) ?? nothing;
    return {
      name,
      usd: now.usd,
      usdBefore: then.usd,
      machineHours: now.machineHours,
      machineHoursBefore: then.machineHours,
    };
  });
  const change = ({ usd, usdBefore }: ApiSpendingPart) => Math.abs(usd - usdBefore);
  return parts.sort((a, b) => change(b) - change(a) || b.usd - a.usd || (a.name < b.name ? -1 : 1));
}

/** E6: commitment use is the share of reserved and bare-metal machines that are Configured; null without any. */
function shares(rows: readonly SpendingRow[]): Pick<ApiSpending, 'commitmentUse' | 'spotShare'> {
  const committed = rows.filter(({ capacityType }) => isCommitted(capacityType));
  const spot = rows.filter(({ capacityType }) => capacityType === CapacityType.Spot);
  const machines = (some: readonly SpendingRow[]) => sumOf(some, (row) => row.machines);
  const share = (part: number, whole: number) => (whole === 0 ? null : part / whole);
  return {
    commitmentUse: share(
      sumOf(committed, ({ configured }) => configured),
      machines(committed),
    ),
    spotShare: share(machines(spot), machines(rows)),
  };
}

/** Dollars per hour over the span, by minutes for one day and by hours else; neighbours are averaged where there are many. */
async function pointsOf(
  store: SpendingPast,
  { days }: Asked,
  fromMs: number,
  nowMs: number,
  isAsked: (row: SpendingRow) => boolean,
): Promise<ApiSpending['points']> {
  const stepMs = (nowMs - fromMs) / POINTS_MAX;
  const steps = new Map<number, { usd: number; count: number; atMs: number }>();
  for await (const { atMs, rows } of store.samples(fromMs, nowMs + 1, days === 1 ? 'minute' : 'hour')) {
    const step = Math.floor((atMs - fromMs) / stepMs);
    const sums = steps.get(step) ?? { usd: 0, count: 0, atMs };
    sums.usd += sumOf(rows.filter(isAsked), ({ usdPerHour }) => usdPerHour);
    sums.count++;
    steps.set(step, sums);
  }
  return [...steps.values()].map(({ usd, count, atMs }) => ({ atMs, usdPerHour: usd / count }));
}

function sumOf(rows: readonly SpendingRow[], of: (row: SpendingRow) => number): number {
  return rows.reduce((sum, row) => sum + of(row), 0);
}
