/**
 * Speed, reliability and features of a simulated provider. The defaults describe a perfect provider (instant,
 * never failing, with cursors and deleted_ids), so that a test names only the trouble that it is about.
 */
import { ShardError } from '../../base/errors.ts';
import type { Fault } from './faults.ts';
import { type Latency, P99_TO_MEAN_MAX } from './latency.ts';
import { OPERATION_NAMES, type OperationName } from './lifecycle.ts';

export interface OperationSettings {
  /** null: the operation ends at once, and the ack shows the terminal state. */
  readonly latency: Latency | null;
  /** Chance that the operation ends in FAILED. */
  readonly failProbability: number;
  /** Chance that the operation never ends: the machine stays in its transitional state. */
  readonly hangProbability: number;
  /** Chance that the provider carries the call out but never answers it. */
  readonly silenceProbability: number;
}

/** What an interrupted spot machine becomes. Real providers do all three. */
export const INTERRUPTION_OUTCOMES = ['failed', 'speculative', 'vanished'] as const;
export type InterruptionOutcome = (typeof INTERRUPTION_OUTCOMES)[number];

/** Random events: machines change without a call. */
export interface WeatherSettings {
  /** Time between two random draws. */
  readonly intervalMs: number;
  /** A spot machine's interruption probability × this = its interruptions per hour. */
  readonly interruptionsPerHourFactor: number;
  readonly interruptionOutcome: InterruptionOutcome;
  /** Share of all machines that disappears per hour. */
  readonly vanishingPerHour: number;
  /** Price changes per hour of each offering, each up to 25 % above or below its list price. */
  readonly priceChangesPerHour: number;
  /** Time until a FAILED machine is Speculative again; null: never. */
  readonly repairAfterMs: number | null;
}

export interface ProviderSettings {
  /** Part of every host reference. */
  readonly name: string;
  readonly seed: number;
  readonly operations: Readonly<Record<OperationName, OperationSettings>>;
  /** Operations that end otherwise than they should; the first rule that applies counts. */
  readonly faults: readonly Fault[];
  /** An operation that has not ended by then ends in FAILED, and a later completion is void; null: no limit. */
  readonly transitionTimeoutMs: number | null;
  /** The provider answers these with UNIMPLEMENTED. */
  readonly unsupported: readonly OperationName[];
  /** Whether List gives a revision and honours since_revision. */
  readonly cursors: boolean;
  /** Whether a List after a cursor names the machines removed since (`deleted_ids`). */
  readonly deletedIds: boolean;
  /** Whether every listing has its machines in another order. */
  readonly shuffledListings: boolean;
  /** Limit on existing machines, by offering `type/zone/capacity-type`; other offerings have none. */
  readonly quotas: Readonly<Record<string, number>>;
  readonly weather: WeatherSettings;
}

export const DEFAULT_NAME = 'simulated';

export const INSTANT: OperationSettings = {
  latency: null,
  failProbability: 0,
  hangProbability: 0,
  silenceProbability: 0,
};

const CALM: WeatherSettings = {
  intervalMs: 1_000,
  interruptionsPerHourFactor: 0,
  interruptionOutcome: 'failed',
  vanishingPerHour: 0,
  priceChangesPerHour: 0,
  repairAfterMs: null,
};

/** Only the settings that differ from the defaults. */
export interface ProviderSettingsChange extends Partial<Omit<ProviderSettings, 'operations' | 'weather'>> {
  readonly operations?: Partial<Record<OperationName, Partial<OperationSettings>>>;
  readonly weather?: Partial<WeatherSettings>;
}

export class InvalidProviderSettingError extends ShardError {
  readonly code = 'invalid_provider_setting';
  readonly next = 'refuse-to-start';

  constructor(setting: string, value: unknown, wanted: string) {
    super(
      `Provider setting ${setting} is ${JSON.stringify(value) ?? String(value)}, but must be ${wanted}. The simulated provider did not start.`,
    );
  }
}

/** Adds the defaults and checks every value. */
export function providerSettings(change: ProviderSettingsChange = {}): ProviderSettings {
  const operations = {} as Record<OperationName, OperationSettings>;
  for (const name of OPERATION_NAMES) operations[name] = { ...INSTANT, ...change.operations?.[name] };
  const settings: ProviderSettings = {
    name: DEFAULT_NAME,
    seed: 1,
    faults: [],
    transitionTimeoutMs: null,
    unsupported: [],
    cursors: true,
    deletedIds: true,
    shuffledListings: false,
    quotas: {},
    ...change,
    operations,
    weather: { ...CALM, ...change.weather },
  };
  check(settings);
  return settings;
}

/** The same settings for every operation. */
export function everyOperation(
  settings: Partial<OperationSettings>,
): Record<OperationName, Partial<OperationSettings>> {
  return { create: settings, configure: settings, drain: settings, delete: settings };
}

function check(settings: ProviderSettings): void {
  if (settings.name === '') throw new InvalidProviderSettingError('name', '', 'a name');
  if (!Number.isSafeInteger(settings.seed)) {
    throw new InvalidProviderSettingError('seed', settings.seed, 'an integer');
  }
  for (const name of OPERATION_NAMES) checkOperation(name, settings.operations[name]);
  for (const [offering, limit] of Object.entries(settings.quotas)) {
    if (!Number.isSafeInteger(limit) || limit < 0) {
      throw new InvalidProviderSettingError(`quota of ${offering}`, limit, 'a whole number ≥ 0');
    }
  }
  settings.faults.forEach(checkFault);
  if (settings.transitionTimeoutMs !== null && !(settings.transitionTimeoutMs > 0)) {
    const wanted = 'above 0, or null for no limit';
    throw new InvalidProviderSettingError('transitionTimeoutMs', settings.transitionTimeoutMs, wanted);
  }
  const { weather } = settings;
  if (!(weather.intervalMs > 0)) {
    throw new InvalidProviderSettingError('weather.intervalMs', weather.intervalMs, 'above 0');
  }
  for (const rate of ['interruptionsPerHourFactor', 'vanishingPerHour', 'priceChangesPerHour'] as const) {
    if (!(weather[rate] >= 0 && Number.isFinite(weather[rate]))) {
      throw new InvalidProviderSettingError(`weather.${rate}`, weather[rate], 'a rate ≥ 0');
    }
  }
  if (weather.repairAfterMs !== null && !(weather.repairAfterMs >= 0)) {
    throw new InvalidProviderSettingError('weather.repairAfterMs', weather.repairAfterMs, '≥ 0 or null');
  }
}

function checkFault({ operation, cluster, need, share, afterMs }: Fault, index: number): void {
  const name = `faults[${index}]`;
  if (!(share >= 0 && share <= 1)) throw new InvalidProviderSettingError(`${name}.share`, share, 'in [0, 1]');
  if (afterMs !== null && !(afterMs >= 0)) {
    throw new InvalidProviderSettingError(`${name}.afterMs`, afterMs, '≥ 0, or null for the usual latency');
  }
  const isOfBound = operation === 'configure' || operation === 'drain';
  if (!isOfBound && (cluster !== null || need !== null)) {
    const wanted = 'configure or drain, because only these know a cluster and a need';
    throw new InvalidProviderSettingError(`${name}.operation`, operation, wanted);
  }
}

function checkOperation(name: OperationName, operation: OperationSettings): void {
  for (const chance of ['failProbability', 'hangProbability', 'silenceProbability'] as const) {
    if (!(operation[chance] >= 0 && operation[chance] <= 1)) {
      throw new InvalidProviderSettingError(`${name}.${chance}`, operation[chance], 'in [0, 1]');
    }
  }
  const { latency } = operation;
  if (latency === null) return;
  const { meanMs, p99Ms } = latency;
  const isDistribution =
    meanMs >= 0 && Number.isFinite(p99Ms) && p99Ms >= meanMs && p99Ms <= meanMs * P99_TO_MEAN_MAX;
  if (!isDistribution) {
    throw new InvalidProviderSettingError(
      `${name}.latency`,
      `mean ${meanMs} ms, p99 ${p99Ms} ms`,
      `a mean ≥ 0 and a p99 between the mean and ${P99_TO_MEAN_MAX} times the mean`,
    );
  }
}
