/**
 * Resolves the settings of a shard: flags override the environment, the environment overrides the file, the file
 * overrides defaults. Each value is checked alone, then all together. A reload on SIGHUP applies those settings
 * whose declaration says `reload` (H11), and names the others that changed.
 */
import { availableParallelism } from 'node:os';
import { checkThereIsAProvider, crossCheck, directoryTlsOf, type TlsPaths, tlsOf } from './cross-checks.ts';
import { loadConfigText, readConfigText } from './file.ts';
import { ConfigError, type Problem } from './problems.ts';
import { flagOf, InvalidValueError, type Setting, type ValuesOf } from './setting.ts';
import { SHARD_SETTINGS } from './shard-settings.ts';
import { type FlagShape, type Given, type GivenByFlag, readEnvironment, readFlags } from './sources.ts';

export type ShardSettingValues = ValuesOf<typeof SHARD_SETTINGS>;

export interface ShardConfig extends ShardSettingValues {
  /** The three TLS files; null: plaintext. */
  readonly tls: TlsPaths | null;
  /** The same for the directory. */
  readonly directoryTls: TlsPaths | null;
}

export type ShardField = keyof ShardSettingValues;

export interface LoadedConfig {
  readonly config: ShardConfig;
  /** Where each value came from: a flag, a variable, `file:line`, or `default`. */
  readonly origins: Readonly<Record<ShardField, string>>;
  /** What the command line asks for. */
  readonly asked: 'start' | 'help' | 'print-config';
}

export interface ConfigSources {
  /** The arguments after `flotilla shard`. */
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Default: the cores that this process may use. */
  readonly coreCount?: number;
}

/** Flags that are not settings: they say what to do with the settings. */
const SWITCHES = ['help', 'print-config'] as const;
const CONFIG_FLAG = 'config';

const FIELDS = Object.entries(SHARD_SETTINGS).map(([name, setting]) => ({
  field: name as ShardField,
  flag: flagOf(name, setting),
  setting: setting as Setting<unknown>,
}));

const SETTING_SHAPES: ReadonlyMap<string, FlagShape> = new Map(
  FIELDS.map(({ flag, setting }) => [flag, setting]),
);
const WITH_CONFIG: ReadonlyMap<string, FlagShape> = new Map([
  ...SETTING_SHAPES,
  [CONFIG_FLAG, { isRepeatable: false, isSwitch: false }],
]);
const WITH_SWITCHES: ReadonlyMap<string, FlagShape> = new Map<string, FlagShape>([
  ...WITH_CONFIG,
  ...SWITCHES.map((flag) => [flag, { isRepeatable: false, isSwitch: true }] as const),
]);

/** Throws a ConfigError that lists all problems. With --help it checks no other setting. */
export function loadShardConfig(sources: ConfigSources): LoadedConfig {
  const problems: Problem[] = [];
  const argv = sources.argv.map((word) => (word === '-h' ? '--help' : word));
  const flags = readFlags(argv, WITH_SWITCHES, problems);
  if (flags.has('help')) return { ...resolve([], sources, []), asked: 'help' };
  const environment = readEnvironment(sources.environment, WITH_CONFIG, problems);
  const file = readFile(flags.get(CONFIG_FLAG) ?? environment.get(CONFIG_FLAG), problems);
  const loaded = resolve([flags, environment, file], sources, problems);
  const asked = flags.get('print-config')?.texts[0] === 'true' ? 'print-config' : 'start';
  // Cross-checks would only add noise to values that are invalid on their own.
  if (problems.length === 0) {
    problems.push(...crossCheck(loaded.config, loaded.origins));
    if (asked === 'start') problems.push(...checkThereIsAProvider(loaded.config, loaded.origins));
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return { ...loaded, asked };
}

function readFile(named: Given | undefined, problems: Problem[]): GivenByFlag {
  const path = named?.texts[0] ?? '';
  if (named === undefined || path === '') return new Map();
  return readConfigText(loadConfigText(path, named.origin), path, SETTING_SHAPES, problems);
}

function resolve(
  sources: readonly GivenByFlag[],
  { coreCount = availableParallelism() }: ConfigSources,
  problems: Problem[],
): Omit<LoadedConfig, 'asked'> {
  const values: Record<string, unknown> = {};
  const origins: Record<string, string> = {};
  for (const { field, flag, setting } of FIELDS) {
    // Overridden values are checked too: an invalid one would fail on the day that the override goes away.
    const given = sources.flatMap((source) => source.get(flag) ?? []);
    const parsed = given.map((each) => parse(setting, each, problems));
    values[field] = parsed.length === 0 ? setting.defaultValue({ coreCount }) : parsed[0];
    origins[field] = given.length === 0 ? 'default' : originOf(given[0]!);
  }
  return {
    config: freeze(values as unknown as ShardSettingValues),
    origins: origins as LoadedConfig['origins'],
  };
}

function freeze(values: ShardSettingValues): ShardConfig {
  return deepFreeze({ ...values, tls: tlsOf(values), directoryTls: directoryTlsOf(values) });
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

function parse(setting: Setting<unknown>, given: Given, problems: Problem[]): unknown {
  try {
    return setting.parse(given.texts);
  } catch (error) {
    if (!(error instanceof InvalidValueError)) throw error;
    problems.push({ key: given.key, origin: given.origin, what: error.what, remedy: error.remedy });
    return undefined;
  }
}

/** A flag or variable is found by its name, a key of a file by its line. */
function originOf({ key, origin }: Given): string {
  return origin.includes(':') ? origin : key;
}

export interface SettingChange {
  readonly flag: string;
  readonly from: string;
  readonly to: string;
}

export interface ReloadedConfig {
  readonly loaded: LoadedConfig;
  /** In force from now on. */
  readonly applied: readonly SettingChange[];
  /** Changed, but in force only after a restart. */
  readonly needRestart: readonly SettingChange[];
}

/** Reads all sources again. If it throws a ConfigError, the current settings stay in force. */
export function reloadShardConfig(current: LoadedConfig, sources: ConfigSources): ReloadedConfig {
  const reloaded = loadShardConfig(sources);
  const values: Record<string, unknown> = {};
  const origins: Record<string, string> = {};
  const applied: SettingChange[] = [];
  const needRestart: SettingChange[] = [];
  for (const { field, flag, setting } of FIELDS) {
    const from = setting.format(current.config[field]).join(', ');
    const to = setting.format(reloaded.config[field]).join(', ');
    const source = setting.isReloadable ? reloaded : current;
    values[field] = source.config[field];
    origins[field] = source.origins[field];
    if (from !== to) (setting.isReloadable ? applied : needRestart).push({ flag, from, to });
  }
  const loaded: LoadedConfig = {
    config: freeze(values as unknown as ShardSettingValues),
    origins: origins as LoadedConfig['origins'],
    asked: 'start',
  };
  return { loaded, applied, needRestart };
}
