/** `npm run bench`: lists the scenarios, or runs the named ones one after the other and prints their results. */
import { access, constants, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ShardError } from '../src/base/errors.ts';
import {
  type BenchArguments,
  BenchUsageError,
  chooseScenarios,
  PAGE_FILE,
  paramsOf,
  parseArguments,
  refuseUselessFlags,
  USAGE,
} from './arguments.ts';
import { PLACEMENT_VARIABLE, SEED_VARIABLE } from './conditions.ts';
import { discoverScenarios } from './discover.ts';
import type { Params, Scenario, ScenarioResult } from './harness.ts';
import { assignedScenario, measureAsChild, measureInChild } from './isolate.ts';
import { renderHighlights, writeHighlights } from './report/highlights.ts';
import { renderPage, writePage } from './report/page.ts';
import { readGenerated, readRecords } from './report/record.ts';
import { planMeasurements, runMeasurements } from './report/run.ts';
import { measuredOf } from './report/sections.ts';
import { describeVersion } from './report/version.ts';
import { SOAK_FILE, type SoakRecord } from './soak/section.ts';
import { renderList, renderResult, renderSummary } from './terminal.ts';

const PROGRAM = fileURLToPath(import.meta.url);
const README_FILE = 'README.md';
const SCENARIOS_FOLDER = new URL('./scenarios/', import.meta.url);
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

async function main(argv: readonly string[]): Promise<number> {
  const flags = parseArguments(argv);
  if (flags.help) {
    console.log(USAGE);
    return 0;
  }
  const { scenarios, broken } = await discoverScenarios(SCENARIOS_FOLDER);
  for (const line of broken) process.stderr.write(`${line}\n`);
  if (flags.names.length === 0 && flags.report) return publish(flags);
  if (flags.names.length === 0) {
    console.log(renderList(scenarios));
    return broken.length > 0 ? EXIT_FAILED : 0;
  }
  const chosen = chooseScenarios(scenarios, flags.names);
  refuseUselessFlags(chosen, flags.overrides);
  if (flags.jsonFile !== null) await refuseMissingFolder(flags.jsonFile);
  if (flags.placement !== null) process.env[PLACEMENT_VARIABLE] = flags.placement;
  if (flags.seed !== null) process.env[SEED_VARIABLE] = String(flags.seed);
  const results = flags.report ? await runForPage(chosen, flags) : await runEach(chosen, flags);
  if (flags.jsonFile !== null) await writeFile(flags.jsonFile, `${JSON.stringify(results, null, 2)}\n`);
  console.log(renderSummary(chosen.length, results));
  const isMissed = results.some((result) => result.targets.some((target) => !target.met));
  const isFailed = results.length < chosen.length || broken.length > 0;
  return isFailed || (flags.check && isMissed) ? EXIT_FAILED : 0;
}

/** When a scenario fails, it prints the error, leaves out the result and runs the next scenario. */
async function runEach(
  chosen: readonly Scenario[],
  { overrides, limitSeconds }: BenchArguments,
): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = [];
  for (const [index, scenario] of chosen.entries()) {
    process.stderr.write(`[${index + 1}/${chosen.length}] ${scenario.name}\n`);
    const params = paramsOf(scenario, overrides);
    try {
      const result = await measureInChild(PROGRAM, scenario, params, limitSeconds);
      console.log(renderResult(result, scenario.question, !isDefault(scenario, params)));
      results.push(result);
    } catch (error) {
      process.stderr.write(`${(error as Error).message}\n`);
    }
  }
  return results;
}

/** Measures, stores the results and writes the page; returns the new results, without growth. */
async function runForPage(chosen: readonly Scenario[], flags: BenchArguments): Promise<ScenarioResult[]> {
  const plans = planMeasurements(chosen, flags.overrides);
  const records = await runMeasurements(plans, {
    programPath: PROGRAM,
    folder: flags.resultsFolder,
    limitSeconds: flags.limitSeconds,
    resume: flags.resume,
    version: describeVersion(),
    say: (line) => process.stderr.write(`${line}\n`),
  });
  const questions = new Map(chosen.map(({ name, question }) => [name, question]));
  const whole = measuredOf(records).filter(({ record }) => !record.isGrowth);
  for (const { record, result } of whole) {
    console.log(renderResult(result, questions.get(result.scenario) ?? '', !record.isDefault));
  }
  await publish(flags);
  return whole.map(({ result }) => result);
}

/** Writes the page from the stored results, and the figures in the README if the page is the project's own. */
async function publish({ resultsFolder, pageFile }: BenchArguments): Promise<number> {
  const records = await readRecords(resultsFolder);
  const soak = await readGenerated<SoakRecord>(resultsFolder, SOAK_FILE);
  if (records.length === 0) {
    throw new BenchUsageError(
      `There are no results in ${resultsFolder}. Run \`npm run bench -- --all --report\` to measure first.`,
    );
  }
  await writePage(pageFile, renderPage(records, soak));
  if (pageFile === PAGE_FILE) await writeHighlights(README_FILE, renderHighlights(records, soak));
  process.stderr.write(`${pageFile}: ${records.length} measurements of ${resultsFolder}\n`);
  return 0;
}

function isDefault(scenario: Scenario, params: Params): boolean {
  return params.machines === scenario.defaults.machines && params.needs === (scenario.defaults.needs ?? 0);
}

/** Checked before the run, so that minutes of measuring do not end in a file that cannot be written. */
async function refuseMissingFolder(file: string): Promise<void> {
  try {
    await access(dirname(file), constants.W_OK);
  } catch {
    throw new BenchUsageError(`--json ${file}: the folder does not exist or cannot be written to.`);
  }
}

const assignment = assignedScenario();
if (assignment !== null) {
  const { scenarios } = await discoverScenarios(SCENARIOS_FOLDER);
  await measureAsChild(scenarios, assignment);
} else {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof ShardError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = EXIT_USAGE;
  }
}
