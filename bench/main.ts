/** `npm run bench`: lists the scenarios, or runs the named ones one after the other and prints what they found. */
import { access, constants, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ShardError } from '../src/base/errors.ts';
import {
  BenchUsageError,
  chooseScenarios,
  paramsOf,
  parseArguments,
  refuseUselessFlags,
  USAGE,
} from './arguments.ts';
import { discoverScenarios } from './discover.ts';
import type { Params, Scenario, ScenarioResult } from './harness.ts';
import { assignedScenario, measureAsChild, measureInChild } from './isolate.ts';
import { renderList, renderResult, renderSummary } from './report.ts';

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
  if (flags.names.length === 0) {
    console.log(renderList(scenarios));
    return broken.length > 0 ? EXIT_FAILED : 0;
  }
  const chosen = chooseScenarios(scenarios, flags.names);
  refuseUselessFlags(chosen, flags.overrides);
  if (flags.jsonFile !== null) await refuseMissingFolder(flags.jsonFile);
  const results = await runEach(chosen, flags.overrides);
  if (flags.jsonFile !== null) await writeFile(flags.jsonFile, `${JSON.stringify(results, null, 2)}\n`);
  console.log(renderSummary(chosen.length, results));
  const isMissed = results.some((result) => result.targets.some((target) => !target.met));
  const isFailed = results.length < chosen.length || broken.length > 0;
  return isFailed || (flags.check && isMissed) ? EXIT_FAILED : 0;
}

/** A scenario that fails says so and the next one runs; its result is missing from the list. */
async function runEach(chosen: readonly Scenario[], overrides: Partial<Params>): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = [];
  for (const [index, scenario] of chosen.entries()) {
    process.stderr.write(`[${index + 1}/${chosen.length}] ${scenario.name}\n`);
    const params = paramsOf(scenario, overrides);
    try {
      const result = await measureInChild(fileURLToPath(import.meta.url), scenario, params);
      console.log(renderResult(result, scenario.question, !isDefault(scenario, params)));
      results.push(result);
    } catch (error) {
      process.stderr.write(`${(error as Error).message}\n`);
    }
  }
  return results;
}

function isDefault(scenario: Scenario, params: Params): boolean {
  return params.machines === scenario.defaults.machines && params.needs === (scenario.defaults.needs ?? 0);
}

/** Asked before the run: minutes of measuring must not end in a file that cannot be written. */
async function refuseMissingFolder(file: string): Promise<void> {
  try {
    await access(dirname(file), constants.W_OK);
  } catch {
    throw new BenchUsageError(`--json ${file}: its folder does not exist or cannot be written to.`);
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
