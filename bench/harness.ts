/**
 * The benchmark harness: the interface of a scenario and how it is measured. A scenario is one question,
 * with its targets beside the measurement so that a figure and its limit stay together. It is a file in
 * bench/scenarios/ that exports `scenario` (or `scenarios`, an array):
 *
 *   // Question: what does one random transition cost at 500,000 machines? Seed 1; fleet built untimed.
 *   export const scenario: Scenario = {
 *     name: 'inventory-transition',
 *     question: 'What does one random transition cost?',
 *     defaults: { machines: 500_000, seconds: 5 },
 *     targets: [
 *       { name: 'a transition', metric: 'transition', limit: 500, direction: 'below' },          // median
 *       { name: 'its tail', metric: 'transition', statistic: 'p99', limit: 900, direction: 'below' },
 *       { name: 'gain over a scan', ratio: 'gain', limit: 100, direction: 'above' },
 *     ],
 *     async run(context) {
 *       const fleet = buildFleet(context.params.machines);              // untimed
 *       await context.time('transition', 'ns', () => moveMany(fleet, 10_000), {
 *         samples: 50,            // at most; also ends after params.seconds, but not before 3 samples
 *         operations: 10_000,     // one call does this many: the sample is the time of one
 *         before: () => pickRows(fleet),                                // untimed, before every sample
 *       });
 *       await context.time('scan', 'ms', () => scan(fleet), { samples: 20 });
 *       context.ratio('gain', 'scan', 'transition');   // slow ÷ fast: of medians, converted to one unit
 *       context.check(fleet.size === context.params.machines, 'every machine is still there');
 *     },
 *   };
 *
 * `loop` is `time` by tinybench: for short operations that can simply be repeated (it warms up, takes as
 * many samples as fit into params.seconds and prepares no state between two of them).
 * `sample` records a figure that the scenario measured itself (bytes, counts, a delay seen from outside).
 *
 * Where the size of the fleet is the question, `growth` names the figures that `--report` measures and plots for fleets of
 * 10,000 to 1,000,000 machines.
 *
 * Every scenario runs in a process of its own: neither the heap nor the compiled code of another scenario
 * affects its figures. A scenario must bound its own load and end every process that it starts.
 */
import { BenchmarkNotRealError, MeasuredRun } from './measured-run.ts';
import type { Metric, Statistic, TimeUnit } from './statistics.ts';

export interface ScenarioDefaults {
  readonly machines: number;
  /** Declared only by scenarios that scale their demand on their own; --needs has no effect on others. */
  readonly needs?: number;
  /** Maximum sampling time of one `time` or `loop`. */
  readonly seconds: number;
  /** The samples follow one running system over time: --report does not shorten it. */
  readonly isWatched?: boolean;
}

export interface Params {
  readonly machines: number;
  /** Only if it was given. */
  readonly clusters?: number;
  readonly needs: number;
  readonly seconds: number;
}

/** A limit for a metric (its median by default) or for a ratio. */
export type Target = {
  readonly name: string;
  readonly limit: number;
  /** 'below': measured ≤ limit. 'above': measured ≥ limit. */
  readonly direction: 'below' | 'above';
} & ({ readonly metric: string; readonly statistic?: Statistic } | { readonly ratio: string });

export interface TimeOptions {
  /** Most samples to take; default 30. */
  readonly samples?: number;
  /** Calls before the first sample, not counted; default 1. */
  readonly warmups?: number;
  /** How many operations one call does; default 1. */
  readonly operations?: number;
  /** Untimed, before every call, warm-ups included. */
  readonly before?: () => void | Promise<void>;
}

export interface BenchContext {
  readonly params: Params;
  /** Prints one line of progress. */
  progress(text: string): void;
  /** Times calls one by one; the time includes awaiting a promise. */
  time(name: string, unit: TimeUnit, fn: () => unknown, options?: TimeOptions): Promise<Metric>;
  /** Times a short synchronous operation repeatedly, with tinybench. */
  loop(
    name: string,
    unit: TimeUnit,
    fn: () => unknown,
    options?: Pick<TimeOptions, 'operations'>,
  ): Promise<Metric>;
  /** Records one figure that the scenario measured itself. */
  sample(name: string, unit: string, value: number): void;
  /** slow ÷ fast, each a number or the name of a metric, whose median counts. */
  ratio(name: string, slow: string | number, fast: string | number): number;
  /** Proves that the timed work really happened: a false condition fails the scenario. */
  check(condition: boolean, text: string): void;
  /** Keeps a sentence with the figures: something that a figure cannot say, such as which case was the worst. */
  note(text: string): void;
  /** Collects garbage now, so that the next sample does not pay for the last preparation. */
  gc(): void;
}

/** Sizes of the growth curves: two decades, with the size that the project claims between them. */
export const GROWTH_MACHINES = [10_000, 50_000, 100_000, 250_000, 500_000, 1_000_000] as const;

/** Which figures of a scenario to measure for fleets of growing size. */
export interface Growth {
  /** The metrics to plot, all in one kind of unit. */
  readonly metrics: readonly string[];
  /** One sentence: what stays constant while the fleet grows, and what does not. */
  readonly note: string;
}

export interface Scenario {
  /** The name on the command line: kebab-case, equal to the file's name where the file has one scenario. */
  readonly name: string;
  /** One line, shown in the list. */
  readonly question: string;
  readonly defaults: ScenarioDefaults;
  readonly targets: readonly Target[];
  readonly growth?: Growth;
  /** Runs with the process settings of a shipped shard. */
  readonly isAsShipped?: boolean;
  run(context: BenchContext): Promise<void>;
}

export interface TargetResult {
  readonly name: string;
  readonly limit: number;
  readonly direction: 'below' | 'above';
  readonly measured: number;
  readonly met: boolean;
}

/** One element of the file that --json writes. */
export interface ScenarioResult {
  readonly scenario: string;
  readonly params: Params;
  readonly metrics: Readonly<Record<string, Metric>>;
  readonly ratios: Readonly<Record<string, number>>;
  readonly targets: readonly TargetResult[];
  /** Absent in records of before. */
  readonly notes?: readonly string[];
  readonly node: string;
  readonly cpus: number;
}

/** Runs one scenario in this process. `host` describes where. */
export async function measure(
  scenario: Scenario,
  params: Params,
  host: { readonly node: string; readonly cpus: number },
  onProgress: (text: string) => void,
): Promise<ScenarioResult> {
  const run = new MeasuredRun(scenario.name, params, onProgress);
  await scenario.run(run);
  const metrics = run.metrics();
  const ratios = Object.fromEntries(run.ratios);
  const targets = scenario.targets.map((target) => judge(scenario.name, target, metrics, ratios));
  const notes = run.notes.length === 0 ? {} : { notes: run.notes };
  return { scenario: scenario.name, params, metrics, ratios, targets, ...notes, ...host };
}

function judge(
  scenario: string,
  target: Target,
  metrics: Readonly<Record<string, Metric>>,
  ratios: Readonly<Record<string, number>>,
): TargetResult {
  const measured =
    'ratio' in target ? ratios[target.ratio] : metrics[target.metric]?.[target.statistic ?? 'median'];
  if (measured === undefined || Number.isNaN(measured)) {
    throw new BenchmarkNotRealError(scenario, `there is no measurement for the target "${target.name}"`);
  }
  const { name, limit, direction } = target;
  const met = direction === 'below' ? measured <= limit : measured >= limit;
  return { name, limit, direction, measured, met };
}
