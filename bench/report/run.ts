/**
 * Measures for the page: each scenario once, then the sizes of its growth curve, each in a process of its own with a time
 * limit. The outcome of each is stored, also a failure, and the next one runs.
 */
import { paramsOf } from '../arguments.ts';
import { GROWTH_MACHINES, type Params, type Scenario } from '../harness.ts';
import { measureInChild, ScenarioTimedOutError } from '../isolate.ts';
import { describeHost, LoadWatch } from './host.ts';
import { FORMAT, type Outcome, type RunRecord, readRecords, writeRecord } from './record.ts';

export interface Measurement {
  readonly scenario: Scenario;
  readonly params: Params;
  readonly isDefault: boolean;
  readonly isGrowth: boolean;
}

export interface RunOptions {
  readonly programPath: string;
  readonly folder: string;
  readonly limitSeconds: number;
  readonly version: string;
  readonly resume: boolean;
  say(line: string): void;
}

/** Maximum for a measurement of the page, except for watched scenarios: thirty of them must fit into half an hour. */
const SECONDS_MAX = 10;
/** The same for one of the six points of a curve. */
const GROWTH_SECONDS_MAX = 3;

/** All measurements, growth last: it matters least if the run is cut short. */
export function planMeasurements(scenarios: readonly Scenario[], overrides: Partial<Params>): Measurement[] {
  const plans: Measurement[] = [];
  for (const scenario of scenarios) {
    const params = paramsOf(scenario, overrides);
    const { machines, needs = 0, isWatched = false } = scenario.defaults;
    const secondsMax = isWatched ? params.seconds : SECONDS_MAX;
    plans.push({
      scenario,
      params: { ...params, seconds: overrides.seconds ?? Math.min(params.seconds, secondsMax) },
      isDefault: params.machines === machines && params.needs === needs,
      isGrowth: false,
    });
  }
  // Small fleets first: a run that is cut short still has the beginning of every curve.
  const growing = plans.filter(({ scenario }) => scenario.growth !== undefined);
  for (const machines of GROWTH_MACHINES) {
    for (const { scenario, params, isDefault } of growing) {
      if (machines === params.machines || (!isDefault && machines > params.machines)) continue;
      const seconds = overrides.seconds ?? Math.min(params.seconds, GROWTH_SECONDS_MAX);
      const pointParams = { ...paramsOf(scenario, { machines }), seconds };
      plans.push({ scenario, params: pointParams, isDefault: false, isGrowth: true });
    }
  }
  return plans;
}

/** Resolves with the records that are new. */
export async function runMeasurements(
  plans: readonly Measurement[],
  options: RunOptions,
): Promise<RunRecord[]> {
  const kept = options.resume ? await readRecords(options.folder) : [];
  const records: RunRecord[] = [];
  for (const [index, plan] of plans.entries()) {
    const name = `[${index + 1}/${plans.length}] ${nameOf(plan)}`;
    if (kept.some((record) => isResultOf(record, plan))) {
      options.say(`${name}: measured before`);
      continue;
    }
    options.say(name);
    const record = await runOne(plan, options);
    const { outcome, tookSeconds } = record;
    options.say(
      `${name}: ${outcome.kind} in ${tookSeconds} s${outcome.kind === 'measured' ? '' : `: ${outcome.message}`}`,
    );
    await writeRecord(options.folder, record);
    records.push(record);
  }
  return records;
}

function nameOf({ scenario, params, isGrowth }: Measurement): string {
  return isGrowth ? `${scenario.name} at ${params.machines.toLocaleString('en-US')} machines` : scenario.name;
}

function isResultOf(record: RunRecord, { scenario, params, isGrowth }: Measurement): boolean {
  return (
    record.outcome.kind === 'measured' &&
    record.scenario === scenario.name &&
    record.isGrowth === isGrowth &&
    record.params.machines === params.machines &&
    record.params.needs === params.needs
  );
}

async function runOne(plan: Measurement, options: RunOptions): Promise<RunRecord> {
  const { scenario, params, isDefault, isGrowth } = plan;
  const startedMs = performance.now();
  const startedAt = new Date().toISOString();
  const watch = new LoadWatch();
  let outcome: Outcome;
  try {
    const result = await measureInChild(options.programPath, scenario, params, options.limitSeconds);
    outcome = { kind: 'measured', result };
  } catch (error) {
    const kind = error instanceof ScenarioTimedOutError ? 'timed out' : 'failed';
    outcome = { kind, message: (error as Error).message.split('\n')[0]! };
  }
  return {
    format: FORMAT,
    scenario: scenario.name,
    question: scenario.question,
    params,
    isDefault,
    isGrowth,
    growth: scenario.growth ?? null,
    command: commandOf(plan),
    version: options.version,
    startedAt,
    tookSeconds: Math.round((performance.now() - startedMs) / 100) / 10,
    host: describeHost(),
    load: watch.end(),
    outcome,
  };
}

/** The command that repeats this measurement. */
function commandOf({ scenario, params, isDefault }: Measurement): string {
  const size = isDefault ? [] : ['--machines', `${params.machines}`];
  const needs = isDefault || params.needs === 0 ? [] : ['--needs', `${params.needs}`];
  return ['npm run bench --', scenario.name, ...size, ...needs, '--seconds', `${params.seconds}`].join(' ');
}
