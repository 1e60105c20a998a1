/**
 * Reads a question (Y4). People write it as flags of a command or as parameters of a URL, so each part is a short text. What is
 * wrong is refused with what would be right; the shard is asked nothing.
 */
import { ShardError } from '../../base/errors.ts';
import { CAPACITY_TYPE_NAMES, type CapacityType } from '../../machine/capacity-type.ts';
import { type Need, rollupRowOf } from '../../needs/need.ts';
import { Operator, WhenUnsatisfiable } from '../../needs/requirements.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import type { WhatIfLatencies, WhatIfTexts } from '../ports/what-if.ts';
import type { ShardSettings } from '../settings.ts';

/** Machines that fit every part that is given. */
export interface MachineSelector {
  readonly provider: string;
  readonly type: string;
  readonly zone: string;
  readonly capacityType: CapacityType | null;
  readonly machine: string;
}

export interface DemandChange {
  /** A cluster id; `*` stands for any characters. */
  readonly cluster: string;
  readonly factor: number;
}

export interface AddedMachines {
  readonly count: number;
  readonly like: MachineSelector;
}

export interface PriceChange {
  readonly machines: MachineSelector;
  /** Exactly one of the two is given. */
  readonly factor: number | null;
  readonly usd: number | null;
}

export interface ClusterRollup {
  readonly cluster: string;
  readonly rows: readonly RollupRow[];
}

/** The settings that a question may change: those that decide what the shard does. */
export type WhatIfSettings = Pick<
  ShardSettings,
  | 'cycleIntervalMs'
  | 'isPaused'
  | 'isDryRun'
  | 'actionsPerCycleMax'
  | 'reclaimCapFraction'
  | 'preemptionCapFraction'
  | 'idleHoldOnDemandMs'
  | 'idleHoldSpotMs'
  | 'executeConcurrency'
  | 'placement'
  | 'preemptionWeights'
  | 'tenants'
  | 'ceilings'
>;

export interface Question {
  readonly without: readonly MachineSelector[];
  readonly demand: readonly DemandChange[];
  readonly add: readonly AddedMachines[];
  readonly prices: readonly PriceChange[];
  readonly rollups: readonly ClusterRollup[];
  readonly latencies: WhatIfLatencies;
}

export class WhatIfRefusedError extends ShardError {
  readonly code = 'what_if_refused';
  readonly next = 'reject-input';
}

/** Plausible for machines of a cloud. */
export const LATENCIES: WhatIfLatencies = {
  createMs: 60_000,
  configureMs: 30_000,
  drainMs: 30_000,
  deleteMs: 10_000,
};

/** Texts of one kind in a question. */
const TEXTS_MAX = 1_000;
const FACTOR_MAX = 1_000;
const ADDED_MAX = 1_000_000;
const LATENCY_MS_MAX = 6 * 3_600_000;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const SELECTOR_KEYS = 'provider, type, zone, capacity-type, offering or machine';
const ANY: MachineSelector = { provider: '', type: '', zone: '', capacityType: null, machine: '' };

/** Throws WhatIfRefusedError. */
export function readQuestion(texts: WhatIfTexts): Question {
  for (const [name, list] of Object.entries(texts) as [string, readonly string[]][]) {
    if (list.length > TEXTS_MAX)
      refuse(`The question has ${list.length} times ${name}`, `Give at most ${TEXTS_MAX}`);
  }
  const { without, demand, add, price, set, rollups, latency } = texts;
  if ([without, demand, add, price, set, rollups].every((list) => list.length === 0))
    refuse(
      'The question changes nothing',
      'Give at least one of without, demand, rollup, add, price and set',
    );
  return {
    without: without.map((text) => readSelector('without', text)),
    demand: demand.map(readDemand),
    add: add.map(readAdded),
    prices: price.map(readPrice),
    rollups: rollups.map(readRollup),
    latencies: readLatencies(latency),
  };
}

/** `zone=eu-north-1b,type=general-16`: all parts must fit. */
function readSelector(name: string, text: string): MachineSelector {
  let selector = ANY;
  for (const part of text.split(',')) {
    const at = part.indexOf('=');
    const key = part.slice(0, Math.max(0, at)).trim();
    const value = part.slice(at + 1).trim();
    if (at < 1 || value === '')
      refuse(`${name} is ${quoted(text)}`, `Write ${SELECTOR_KEYS}, such as zone=eu-north-1b`);
    if (key === 'provider' || key === 'zone' || key === 'machine') selector = { ...selector, [key]: value };
    else if (key === 'type' || key === 'instance-type') selector = { ...selector, type: value };
    else if (key === 'capacity-type' || key === 'capacity')
      selector = { ...selector, capacityType: readCapacityType(value) };
    else if (key === 'offering') selector = { ...selector, ...readOffering(value) };
    else refuse(`${name} names ${quoted(key)}`, `It may name ${SELECTOR_KEYS}`);
  }
  return selector;
}

/** TYPE/ZONE/CAPACITY, as the history names offerings. */
function readOffering(text: string): Pick<MachineSelector, 'type' | 'zone' | 'capacityType'> {
  const [type = '', zone = '', capacity = '', ...rest] = text.split('/');
  if (type === '' || capacity === '' || rest.length > 0)
    refuse(
      `There is no offering ${quoted(text)}`,
      'Write TYPE/ZONE/CAPACITY, such as general-16/eu-north-1b/spot',
    );
  return { type, zone, capacityType: readCapacityType(capacity) };
}

function readCapacityType(text: string): CapacityType {
  const found = Object.entries(CAPACITY_TYPE_NAMES).find(([, name]) => name === text.toLowerCase());
  if (found !== undefined) return Number(found[0]) as CapacityType;
  return refuse(
    `There is no capacity type ${quoted(text)}`,
    `There are ${Object.values(CAPACITY_TYPE_NAMES).join(', ')}`,
  );
}

function readDemand(text: string): DemandChange {
  const at = text.lastIndexOf('=');
  const factor = numberOf(text.slice(at + 1).replace(/^x/, ''));
  if (at < 1 || factor === null || factor > FACTOR_MAX)
    refuse(
      `demand is ${quoted(text)}`,
      `Write CLUSTER=FACTOR with a factor from 0 to ${FACTOR_MAX}, such as prod-eu-1=2`,
    );
  return { cluster: text.slice(0, at).trim(), factor: factor! };
}

function readAdded(text: string): AddedMachines {
  const [, count, like] = /^(\d{1,7}):(.+)$/.exec(text) ?? [];
  if (like === undefined || Number(count) < 1 || Number(count) > ADDED_MAX)
    refuse(`add is ${quoted(text)}`, 'Write COUNT:MACHINES, such as 200:zone=eu-north-1a,type=general-16');
  return { count: Number(count), like: readSelector('add', like!) };
}

function readPrice(text: string): PriceChange {
  const at = text.lastIndexOf(':');
  const value = text.slice(at + 1).trim();
  const amount = numberOf(value.replace(/^x/, ''));
  if (at < 1 || amount === null)
    refuse(
      `price is ${quoted(text)}`,
      'Write MACHINES:xFACTOR or MACHINES:USD, such as capacity-type=spot:x1.5 or zone=eu-north-1b:0.25',
    );
  const machines = readSelector('price', text.slice(0, at));
  return value.startsWith('x')
    ? { machines, factor: amount, usd: null }
    : { machines, factor: null, usd: amount };
}

function readLatencies(texts: readonly string[]): WhatIfLatencies {
  let latencies = LATENCIES;
  for (const text of texts) {
    const [, step, amount, unit] = /^(create|configure|drain|delete)=(\d{1,9})(ms|s|m|h)$/.exec(text) ?? [];
    const ms = Number(amount) * (UNIT_MS[unit ?? ''] ?? Number.NaN);
    if (step === undefined || !(ms <= LATENCY_MS_MAX))
      refuse(
        `latency is ${quoted(text)}`,
        'Write create, configure, drain or delete and a time of at most 6h, such as create=2m',
      );
    latencies = { ...latencies, [`${step}Ms`]: ms };
  }
  return latencies;
}

/** `{"cluster": "prod-eu-1", "needs": [{"aggregate": {"cpu": "4"}, …}]}`, needs as in `Need`. */
function readRollup(text: string): ClusterRollup {
  const advice =
    'A file has {"cluster": "prod-eu-1", "needs": [{"aggregate": {"cpu": "4"}, "minUnit": {"cpu": "1"}, "priority": 100}]}';
  let content: { readonly cluster?: unknown; readonly needs?: unknown } | null = null;
  try {
    content = JSON.parse(text) as typeof content;
  } catch {
    refuse('A roll-up file is not JSON', advice);
  }
  const { cluster, needs } = content ?? { cluster: null, needs: null };
  if (typeof cluster !== 'string' || cluster === '' || !Array.isArray(needs))
    refuse('A roll-up file has no cluster or no list of needs', advice);
  return {
    cluster: cluster as string,
    rows: (needs as unknown[]).map((need, index) => readNeed(need, index, advice)),
  };
}

/** Checks the types alone; the table checks the rest, as for a roll-up of an operator. */
function readNeed(need: unknown, index: number, advice: string): RollupRow {
  const row = typeof need === 'object' && need !== null ? rollupRowOf(withNumbers(need as Need)) : null;
  const isSound =
    row !== null &&
    isTexts(row.aggregate) &&
    isTexts(row.minUnit) &&
    typeof row.group === 'string' &&
    [row.priority, row.interruptionBucket, row.reclamationBucket].every(Number.isInteger) &&
    Array.isArray(row.requirements) &&
    row.requirements.every(isRequirement) &&
    Array.isArray(row.spread) &&
    row.spread.every(isSpread);
  if (!isSound) refuse(`Need ${index} of a roll-up file has a missing or wrong field`, advice);
  return row!;
}

/** Operators and modes may be written by their names. */
function withNumbers(need: Need): Need {
  const { requirements = [], spread = [] } = need;
  if (!Array.isArray(requirements) || !Array.isArray(spread)) return need;
  return {
    ...need,
    requirements: requirements.map((one) => ({
      ...one,
      operator: numberIn(Operator, one?.operator),
      values: one?.values ?? [],
    })),
    spread: spread.map((one) => ({
      ...one,
      whenUnsatisfiable: numberIn(WhenUnsatisfiable, one?.whenUnsatisfiable),
    })),
  };
}

function numberIn(names: Readonly<Record<string, number>>, value: unknown): number {
  return typeof value === 'string' && Object.hasOwn(names, value) ? names[value]! : (value as number);
}

function isTexts(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((text) => typeof text === 'string')
  );
}

function isRequirement(value: unknown): boolean {
  const { key, operator, values } = (value ?? {}) as Record<string, unknown>;
  return (
    typeof key === 'string' &&
    Number.isInteger(operator) &&
    Array.isArray(values) &&
    values.every((one) => typeof one === 'string')
  );
}

function isSpread(value: unknown): boolean {
  const { topologyKey, maxSkew, whenUnsatisfiable } = (value ?? {}) as Record<string, unknown>;
  return typeof topologyKey === 'string' && Number.isInteger(maxSkew) && Number.isInteger(whenUnsatisfiable);
}

/** Null: not a number of at least 0. */
function numberOf(text: string): number | null {
  return /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : null;
}

export function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

export function refuse(what: string, advice: string): never {
  throw new WhatIfRefusedError(`${what}. The shard calculated nothing. ${advice}.`);
}
