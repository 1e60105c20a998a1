/** Parses the flags of `flotilla provider`. Each mistake gives a one-line error. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { durationMs, rate, share, UsageError, wholeNumber } from '../../base/flag-words.ts';
import { CATALOGUES } from '../catalogue/catalogue.ts';
import { MACHINES_PER_CLUSTER_MAX } from '../catalogue/steady-demand.ts';
import { parseFault } from './fault-flags.ts';
import { ROWS_MAX } from './fleet.ts';
import {
  CONFIGURED_SHARE_MAX,
  DEFAULT_PLAN,
  defaultIdleShare,
  type FleetPlan,
  MEMORY_UNITS,
  type MemoryUnit,
} from './generate.ts';
import type { Latency } from './latency.ts';
import { OPERATION_NAMES, type OperationName } from './lifecycle.ts';
import {
  INTERRUPTION_OUTCOMES,
  type OperationSettings,
  type ProviderSettingsChange,
  type WeatherSettings,
} from './settings.ts';

export interface ProviderFlags {
  readonly help: boolean;
  readonly listen: string;
  readonly catalogue: string;
  readonly plan: FleetPlan;
  readonly settings: ProviderSettingsChange;
  /** Null: the provider answers at once, even if the operation finishes later. */
  readonly answerAfter: Latency | null;
  /** Null: the provider forgets everything when it ends. */
  readonly stateFile: string | null;
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string } | null;
}

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  listen: { type: 'string', default: '127.0.0.1:7790' },
  insecure: { type: 'boolean' },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'tls-ca': { type: 'string' },
  name: { type: 'string' },
  seed: { type: 'string' },
  machines: { type: 'string' },
  catalogue: { type: 'string', default: 'realistic' },
  configured: { type: 'string' },
  idle: { type: 'string' },
  clusters: { type: 'string' },
  'machines-per-cluster': { type: 'string' },
  latency: { type: 'string', multiple: true },
  'answer-after': { type: 'string' },
  fail: { type: 'string', multiple: true },
  hang: { type: 'string', multiple: true },
  'transition-timeout': { type: 'string' },
  fault: { type: 'string', multiple: true },
  silence: { type: 'string', multiple: true },
  unsupported: { type: 'string', multiple: true },
  quota: { type: 'string', multiple: true },
  'memory-in': { type: 'string' },
  state: { type: 'string' },
  'shuffle-listings': { type: 'boolean' },
  'no-cursors': { type: 'boolean' },
  'no-deleted-ids': { type: 'boolean' },
  interruptions: { type: 'string' },
  'interruption-outcome': { type: 'string' },
  'vanishing-per-hour': { type: 'string' },
  'price-changes-per-hour': { type: 'string' },
  'repair-after': { type: 'string' },
} as const satisfies ParseArgsConfig['options'];

export function parseProviderFlags(argv: readonly string[]): ProviderFlags {
  const flags = read(argv);
  const catalogue = flags.catalogue;
  if (CATALOGUES[catalogue] === undefined) {
    throw new UsageError(`--catalogue must be ${Object.keys(CATALOGUES).join(' or ')}, not "${catalogue}"`);
  }
  const seed = flags.seed === undefined ? 1 : wholeNumber('seed', flags.seed, 0);
  const plan = planOf(flags, seed);
  const tls = tlsOf(flags['tls-cert'], flags['tls-key'], flags['tls-ca']);
  checkListen(flags.listen, tls !== null || flags.insecure === true);
  return {
    help: flags.help === true,
    listen: flags.listen,
    catalogue,
    plan,
    tls,
    stateFile: stateFile(flags.state),
    answerAfter: answerAfter(flags['answer-after']),
    settings: {
      seed,
      ...(flags.name === undefined ? {} : { name: flags.name }),
      cursors: flags['no-cursors'] !== true,
      shuffledListings: flags['shuffle-listings'] === true,
      deletedIds: flags['no-deleted-ids'] !== true,
      unsupported: (flags.unsupported ?? []).map((name) => operation('unsupported', name)),
      quotas: Object.fromEntries((flags.quota ?? []).map(quota)),
      operations: operations(flags),
      faults: (flags.fault ?? []).map(parseFault),
      transitionTimeoutMs: transitionTimeoutMs(flags['transition-timeout']),
      weather: weather(flags),
    },
  };
}

function planOf(flags: Flags, seed: number): FleetPlan {
  const machineCount = wholeNumber('machines', flags.machines ?? DEFAULT_PLAN.machineCount, 0, ROWS_MAX);
  const configuredShare = share('configured', flags.configured ?? DEFAULT_PLAN.configuredShare);
  const idleShare = share('idle', flags.idle ?? defaultIdleShare(configuredShare));
  if (configuredShare + idleShare > 1) throw new UsageError('--configured plus --idle is more than 1');
  if (configuredShare > CONFIGURED_SHARE_MAX) {
    throw new UsageError(
      `--configured is at most ${CONFIGURED_SHARE_MAX}, the share of the machines that the clusters ask for, not ${configuredShare}`,
    );
  }
  if (flags.clusters !== undefined && flags['machines-per-cluster'] !== undefined) {
    throw new UsageError('--clusters and --machines-per-cluster exclude each other: give one of them');
  }
  const perCluster = wholeNumber(
    'machines-per-cluster',
    flags['machines-per-cluster'] ?? DEFAULT_PLAN.machinesPerCluster,
    1,
    MACHINES_PER_CLUSTER_MAX,
  );
  const clusterCount = wholeNumber(
    'clusters',
    flags.clusters ?? Math.max(1, Math.round(machineCount / perCluster)),
    1,
    65_534, // the shard's own limit
  );
  if (machineCount / clusterCount > MACHINES_PER_CLUSTER_MAX) {
    throw new UsageError(
      `--clusters ${clusterCount} is too few: a cluster has at most ${MACHINES_PER_CLUSTER_MAX} machines`,
    );
  }
  const plan = { seed, machineCount, configuredShare, idleShare, clusterCount };
  return flags['memory-in'] === undefined ? plan : { ...plan, memoryUnit: memoryUnit(flags['memory-in']) };
}

function memoryUnit(text: string): MemoryUnit {
  const unit = MEMORY_UNITS.find((each) => each === text);
  if (unit === undefined) throw new UsageError(`--memory-in takes ${MEMORY_UNITS.join(', ')}, not "${text}"`);
  return unit;
}

function stateFile(text: string | undefined): string | null {
  if (text === '') throw new UsageError('--state takes the path of a file, not ""');
  return text ?? null;
}

function read(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: false }).values;
  } catch (error) {
    // Node names the unknown option first and then explains quoting; the first sentence is enough.
    throw new UsageError((error as Error).message.split('. ')[0]!);
  }
}

type Flags = ReturnType<typeof read>;

function operations(flags: Flags): Record<OperationName, Partial<OperationSettings>> {
  const settings: Record<OperationName, Partial<OperationSettings>> = {
    create: {},
    configure: {},
    drain: {},
    delete: {},
  };
  function apply<Value>(
    flag: string,
    texts: readonly string[] | undefined,
    parse: (flag: string, text: string) => Value,
    field: keyof OperationSettings,
  ) {
    for (const text of texts ?? []) {
      const at = text.indexOf('=');
      const value = parse(flag, text.slice(at + 1));
      const names = at < 0 ? OPERATION_NAMES : [operation(flag, text.slice(0, at))];
      for (const name of names) settings[name] = { ...settings[name], [field]: value };
    }
  }
  apply('latency', flags.latency, latency, 'latency');
  apply('fail', flags.fail, share, 'failProbability');
  apply('hang', flags.hang, share, 'hangProbability');
  apply('silence', flags.silence, share, 'silenceProbability');
  return settings;
}

function weather(flags: Flags): Partial<WeatherSettings> {
  const how = flags['interruption-outcome'];
  const outcome = INTERRUPTION_OUTCOMES.find((each) => each === (how ?? 'failed'));
  if (outcome === undefined) {
    throw new UsageError(
      `--interruption-outcome must be one of ${INTERRUPTION_OUTCOMES.join(', ')}, not "${how}"`,
    );
  }
  const repairAfter = flags['repair-after'];
  return {
    interruptionOutcome: outcome,
    interruptionsPerHourFactor: rate('interruptions', flags.interruptions),
    vanishingPerHour: rate('vanishing-per-hour', flags['vanishing-per-hour']),
    priceChangesPerHour: rate('price-changes-per-hour', flags['price-changes-per-hour']),
    repairAfterMs: repairAfter === undefined ? null : durationMs('repair-after', repairAfter),
  };
}

function operation(flag: string, text: string): OperationName {
  const name = OPERATION_NAMES.find((each) => each === text);
  if (name === undefined)
    throw new UsageError(`--${flag} takes one of ${OPERATION_NAMES.join(', ')}, not "${text}"`);
  return name;
}

function latency(flag: string, text: string): Latency {
  const [mean, p99] = text.split('/');
  const meanMs = durationMs(flag, mean!);
  // A healthy service has a p99 of about three times its mean.
  return { meanMs, p99Ms: p99 === undefined ? meanMs * 3 : durationMs(flag, p99) };
}

function answerAfter(text: string | undefined): Latency | null {
  if (text === undefined) return null;
  const read = latency('answer-after', text);
  if (read.p99Ms >= read.meanMs) return read;
  throw new UsageError(`--answer-after is MEAN/P99 with P99 ≥ MEAN, not "${text}"`);
}

function transitionTimeoutMs(text: string | undefined): number | null {
  if (text === undefined) return null;
  const timeoutMs = durationMs('transition-timeout', text);
  if (timeoutMs > 0) return timeoutMs;
  throw new UsageError(`--transition-timeout must be above 0, not "${text}"`);
}

function quota(text: string): [string, number] {
  const match = /^(?<offering>[^/=]+\/[^/=]+\/[^/=]+)=(?<limit>\d+)$/.exec(text);
  if (match === null) throw new UsageError(`--quota has the form TYPE/ZONE/HOW=N, not "${text}"`);
  return [match.groups!.offering!, Number(match.groups!.limit)];
}

function tlsOf(cert = '', key = '', ca = ''): ProviderFlags['tls'] {
  if (cert === '' && key === '' && ca === '') return null;
  if (cert === '' || key === '' || ca === '') {
    throw new UsageError('--tls-cert, --tls-key and --tls-ca are needed together: give all three or none');
  }
  return { cert, key, ca };
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost):\d+$/;

function checkListen(listen: string, mayBePublic: boolean): void {
  if (!/:\d{1,5}$/.test(listen)) throw new UsageError(`--listen is HOST:PORT, not "${listen}"`);
  if (LOOPBACK.test(listen) || mayBePublic) return;
  throw new UsageError(
    `--listen ${listen} is beyond loopback: give the three TLS files, or --insecure for plaintext`,
  );
}
