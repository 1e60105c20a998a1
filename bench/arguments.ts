/** The command line of `npm run bench`: names of scenarios and a few flags. An unknown word is an error. */
import { ShardError } from '../src/base/errors.ts';
import type { PlacementKind } from '../src/decision/assign/placement.ts';
import type { Params, Scenario } from './harness.ts';

/** Relative to where the command runs: npm runs it in the project's folder. */
export const RESULTS_FOLDER = 'bench/results';
export const PAGE_FILE = 'docs/results.md';
/** The slowest took 148 s with a load of 25 on two cores; a scenario that takes three times as long hangs. */
const LIMIT_SECONDS = 480;

export const USAGE = `Usage: npm run bench -- [scenario…] [flags]

Without a scenario it lists them. A name that ends in * runs every scenario with that prefix; "all" (or --all) runs all.

  --machines N    machines in the fleet (default: the scenario's own)
  --clusters N    clusters, for scenarios that run operators (default: one for 250 machines)
  --needs N       needs in the demand, for scenarios that take a number of their own
  --seconds S     maximum time to sample one measurement
  --placement P   how the engine acquires: cheapest (default) or value; not with --report
  --seed N        repeat the random worlds of an earlier run (quality)
  --json FILE     write the results as a JSON array
  --check         exit with 1 if a target is missed
  --limit S       maximum time for one scenario; a slower one is ended (default ${LIMIT_SECONDS})
  --report        also measure growth, store every result, and write the page; alone: write the page from stored results
  --results DIR   folder in which --report stores results (default: ${RESULTS_FOLDER})
  --page FILE     page that --report writes (default: ${PAGE_FILE})
  --resume        with --report: skip measurements that have a result with these parameters
  --help          this text

Exit codes: 0 success; 1 a scenario failed, or --check found a missed target; 2 the command line is wrong.`;

export class BenchUsageError extends ShardError {
  readonly code = 'bench_usage';
  readonly next = 'reject-input';
}

export interface BenchArguments {
  readonly names: readonly string[];
  readonly overrides: Partial<Params>;
  /** For the scenario's process; null: as shipped. */
  readonly placement: PlacementKind | null;
  /** Null: another one in every run. */
  readonly seed: number | null;
  readonly jsonFile: string | null;
  readonly check: boolean;
  readonly limitSeconds: number;
  readonly report: boolean;
  readonly resume: boolean;
  readonly resultsFolder: string;
  readonly pageFile: string;
  readonly help: boolean;
}

/** More than any fleet that a shard is built for. */
const COUNT_MAX = 10_000_000;
const SECONDS_MAX = 3_600;
const SEED_MAX = 2 ** 31;

export function parseArguments(argv: readonly string[]): BenchArguments {
  const names: string[] = [];
  const overrides: { -readonly [name in keyof Params]?: number } = {};
  let placement: PlacementKind | null = null;
  let seed: number | null = null;
  let jsonFile: string | null = null;
  let check = false;
  let limitSeconds = LIMIT_SECONDS;
  let report = false;
  let resume = false;
  let resultsFolder = RESULTS_FOLDER;
  let pageFile = PAGE_FILE;
  let help = false;
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index]!;
    if (!word.startsWith('-')) {
      names.push(word);
      continue;
    }
    const equals = word.indexOf('=');
    const flag = equals < 0 ? word : word.slice(0, equals);
    const value = () => {
      const text = equals < 0 ? argv[++index] : word.slice(equals + 1);
      if (text === undefined || text === '')
        throw new BenchUsageError(`${flag} needs a value. Run with --help to see all flags.`);
      return text;
    };
    if (flag === '--machines') overrides.machines = count(flag, value());
    else if (flag === '--clusters') overrides.clusters = count(flag, value());
    else if (flag === '--needs') overrides.needs = count(flag, value());
    else if (flag === '--seconds') overrides.seconds = seconds(flag, value());
    else if (flag === '--placement') placement = placementOf(value());
    else if (flag === '--seed') seed = count(flag, value(), SEED_MAX);
    else if (flag === '--json') jsonFile = value();
    else if (flag === '--limit') limitSeconds = seconds(flag, value());
    else if (flag === '--results') resultsFolder = value();
    else if (flag === '--page') pageFile = value();
    else if (word === '--all') names.push('all');
    else if (word === '--report') report = true;
    else if (word === '--resume') resume = true;
    else if (word === '--check') check = true;
    else if (word === '--help' || word === '-h') help = true;
    else throw new BenchUsageError(`Unknown flag ${word}. Run with --help to see all flags.`);
  }
  if (resume && !report) throw new BenchUsageError('--resume works only with --report. Add --report.');
  if (placement !== null && report)
    throw new BenchUsageError(
      '--placement does not work with --report, whose figures are those of the default.',
    );
  return {
    names,
    overrides,
    placement,
    seed,
    jsonFile,
    check,
    limitSeconds,
    report,
    resume,
    resultsFolder,
    pageFile,
    help,
  };
}

function count(flag: string, text: string, most = COUNT_MAX): number {
  const value = Number(text.replaceAll(/[_,]/g, ''));
  if (Number.isInteger(value) && value > 0 && value <= most) return value;
  throw new BenchUsageError(`${flag} must be a whole number from 1 to ${most}, not ${JSON.stringify(text)}.`);
}

function placementOf(text: string): PlacementKind {
  if (text === 'cheapest' || text === 'value') return text;
  throw new BenchUsageError(`--placement must be cheapest or value, not ${JSON.stringify(text)}.`);
}

function seconds(flag: string, text: string): number {
  const value = Number(text);
  if (value > 0 && value <= SECONDS_MAX) return value;
  throw new BenchUsageError(
    `${flag} must be a number of seconds above 0 and up to ${SECONDS_MAX}, not ${JSON.stringify(text)}.`,
  );
}

/** The scenarios that match the names, in the order named, each once. */
export function chooseScenarios(all: readonly Scenario[], names: readonly string[]): Scenario[] {
  const chosen = new Set<Scenario>();
  for (const name of names) {
    const meant = all.filter((scenario) => isMeant(scenario.name, name));
    if (meant.length === 0) {
      throw new BenchUsageError(
        `Unknown scenario ${JSON.stringify(name)}. \`npm run bench\` lists all scenarios.`,
      );
    }
    for (const scenario of meant) chosen.add(scenario);
  }
  return [...chosen];
}

function isMeant(scenarioName: string, name: string): boolean {
  if (name === 'all' || name === scenarioName) return true;
  return name.endsWith('*') && scenarioName.startsWith(name.slice(0, -1));
}

/**
 * The parameters of one scenario: the flags, else its own. Without --needs the needs scale with the machines: a tenth of
 * the fleet with all of the demand would be another question.
 */
export function paramsOf({ defaults }: Scenario, overrides: Partial<Params>): Params {
  const machines = overrides.machines ?? defaults.machines;
  const needsInProportion = Math.max(1, Math.round(((defaults.needs ?? 0) * machines) / defaults.machines));
  return {
    machines,
    needs: defaults.needs === undefined ? 0 : (overrides.needs ?? needsInProportion),
    seconds: overrides.seconds ?? defaults.seconds,
  };
}

/** A flag without effect on any chosen scenario is probably a mistake. */
export function refuseUselessFlags(chosen: readonly Scenario[], overrides: Partial<Params>): void {
  if (overrides.needs === undefined || chosen.some((scenario) => scenario.defaults.needs !== undefined))
    return;
  const names = chosen.map((scenario) => scenario.name).join(', ');
  throw new BenchUsageError(`--needs has no effect on ${names}: its demand follows from --machines.`);
}
