/** The command line of `npm run bench`: names of scenarios and a handful of flags, nothing guessed. */
import { ShardError } from '../src/base/errors.ts';
import type { Params, Scenario } from './harness.ts';

/** Relative to where the command runs: npm runs it in the project's folder. */
export const RESULTS_FOLDER = 'bench/results';
export const PAGE_FILE = 'docs/results.md';
/** The slowest took 148 s with a load of 25 on two cores; twice that is a scenario that hangs. */
const LIMIT_SECONDS = 480;

export const USAGE = `Usage: npm run bench -- [scenario…] [flags]

Without a scenario: lists them. A name that ends in * runs every scenario that begins so; "all" (or --all) runs all.

  --machines N    machines of the fleet (default: each scenario's own)
  --needs N       needs of the demand, where the scenario takes a number of its own
  --seconds S     longest time one measurement goes on sampling
  --json FILE     write the results as a JSON array
  --check         exit with 1 if a target is missed
  --limit S       longest time one scenario may take before it is ended (default ${LIMIT_SECONDS})
  --report        also measure growth, keep every result, and write the page; alone: write the page from what is kept
  --results DIR   where --report keeps results (default: ${RESULTS_FOLDER})
  --page FILE     the page that --report writes (default: ${PAGE_FILE})
  --resume        with --report: leave out what has a result of these parameters already
  --help          this text

Exit: 0 fine; 1 a scenario failed, or --check found a missed target; 2 the command line is wrong.`;

export class BenchUsageError extends ShardError {
  readonly code = 'bench_usage';
  readonly next = 'reject-input';
}

export interface BenchArguments {
  readonly names: readonly string[];
  readonly overrides: Partial<Params>;
  readonly jsonFile: string | null;
  readonly check: boolean;
  readonly limitSeconds: number;
  readonly report: boolean;
  readonly resume: boolean;
  readonly resultsFolder: string;
  readonly pageFile: string;
  readonly help: boolean;
}

/** More would not fit the columns of any fleet that this project claims to hold. */
const COUNT_MAX = 10_000_000;
const SECONDS_MAX = 3_600;

export function parseArguments(argv: readonly string[]): BenchArguments {
  const names: string[] = [];
  const overrides: { -readonly [name in keyof Params]?: number } = {};
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
      if (text === undefined || text === '') throw new BenchUsageError(`${flag} needs a value. Try --help.`);
      return text;
    };
    if (flag === '--machines') overrides.machines = count(flag, value());
    else if (flag === '--needs') overrides.needs = count(flag, value());
    else if (flag === '--seconds') overrides.seconds = seconds(flag, value());
    else if (flag === '--json') jsonFile = value();
    else if (flag === '--limit') limitSeconds = seconds(flag, value());
    else if (flag === '--results') resultsFolder = value();
    else if (flag === '--page') pageFile = value();
    else if (word === '--all') names.push('all');
    else if (word === '--report') report = true;
    else if (word === '--resume') resume = true;
    else if (word === '--check') check = true;
    else if (word === '--help' || word === '-h') help = true;
    else throw new BenchUsageError(`Unknown flag ${word}. Try --help.`);
  }
  if (resume && !report) throw new BenchUsageError('--resume means something with --report only.');
  return { names, overrides, jsonFile, check, limitSeconds, report, resume, resultsFolder, pageFile, help };
}

function count(flag: string, text: string): number {
  const value = Number(text.replaceAll(/[_,]/g, ''));
  if (Number.isInteger(value) && value > 0 && value <= COUNT_MAX) return value;
  throw new BenchUsageError(
    `${flag} takes a whole number from 1 to ${COUNT_MAX}, not ${JSON.stringify(text)}.`,
  );
}

function seconds(flag: string, text: string): number {
  const value = Number(text);
  if (value > 0 && value <= SECONDS_MAX) return value;
  throw new BenchUsageError(
    `${flag} takes seconds, more than 0 and at most ${SECONDS_MAX}, not ${JSON.stringify(text)}.`,
  );
}

/** The scenarios that the names mean, in the order named, each once. */
export function chooseScenarios(all: readonly Scenario[], names: readonly string[]): Scenario[] {
  const chosen = new Set<Scenario>();
  for (const name of names) {
    const meant = all.filter((scenario) => isMeant(scenario.name, name));
    if (meant.length === 0) {
      throw new BenchUsageError(
        `Unknown scenario ${JSON.stringify(name)}. \`npm run bench\` lists what there is.`,
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
 * The parameters of one scenario: what was asked for, else its own. Needs that nobody asked for follow the machines: a
 * tenth of the fleet with all of the demand would be another question.
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

/** A flag that no chosen scenario listens to is a misunderstanding, not a wish. */
export function refuseUselessFlags(chosen: readonly Scenario[], overrides: Partial<Params>): void {
  if (overrides.needs === undefined || chosen.some((scenario) => scenario.defaults.needs !== undefined))
    return;
  const names = chosen.map((scenario) => scenario.name).join(', ');
  throw new BenchUsageError(`--needs means nothing to ${names}: its demand follows from --machines.`);
}
