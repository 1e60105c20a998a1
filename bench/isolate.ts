/**
 * One scenario, one process: the parent forks this same program for each scenario, passes its name and parameters in
 * an environment variable, and receives the result as one message. `fork` passes on node's flags (--expose-gc).
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { ShardError } from '../src/base/errors.ts';
import { PROCESS_SETTINGS } from '../src/cli/process-settings.ts';
import { measure, type Params, type Scenario, type ScenarioResult } from './harness.ts';

const KILL_AFTER_MS = 5_000;
const ASSIGNMENT_VARIABLE = 'FLOTILLA_BENCH_ASSIGNMENT';

interface Assignment {
  readonly name: string;
  readonly params: Params;
}

type Outcome = { readonly result: ScenarioResult } | { readonly failure: string };

export class ScenarioFailedError extends ShardError {
  readonly code = 'scenario_failed';
  readonly next = 'stop';
}

export class ScenarioTimedOutError extends ShardError {
  readonly code = 'scenario_timed_out';
  readonly next = 'stop';

  constructor(scenario: string, limitSeconds: number) {
    super(
      `Scenario ${scenario} took longer than its limit of ${limitSeconds} s and was ended. It has no figures; ` +
        'the next scenario runs. Raise --limit if the machine is slow.',
    );
  }
}

/** In the parent: runs the scenario in a child and returns its result. Ends a child that exceeds the limit. */
export function measureInChild(
  programPath: string,
  scenario: Pick<Scenario, 'name' | 'isAsShipped'>,
  params: Params,
  limitSeconds: number,
): Promise<ScenarioResult> {
  const assignment: Assignment = { name: scenario.name, params };
  const settings = scenario.isAsShipped ? PROCESS_SETTINGS : {};
  const child = fork(programPath, [], {
    env: { ...settings, ...process.env, [ASSIGNMENT_VARIABLE]: JSON.stringify(assignment) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true, // a process group of its own: ending it ends the processes that it started
  });
  return new Promise((resolve, reject) => {
    let outcome: Outcome | null = null;
    let isTimedOut = false;
    // A child that loses its channel ends its processes, then itself. One with a blocked thread does not, and is killed.
    const timer = setTimeout(() => {
      isTimedOut = true;
      child.disconnect();
      killTimer = setTimeout(() => killGroup(child.pid!), KILL_AFTER_MS);
    }, limitSeconds * 1_000);
    let killTimer: NodeJS.Timeout | undefined;
    child.on('exit', () => {
      if (!isTimedOut) return;
      clearTimeout(killTimer);
      killGroup(child.pid!);
      reject(new ScenarioTimedOutError(scenario.name, limitSeconds));
    });
    child.on('message', (message) => {
      outcome = message as Outcome;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (outcome === null) {
        const end = signal === null ? `exit code ${code}` : `signal ${signal}`;
        reject(
          new ScenarioFailedError(
            `Scenario ${scenario.name} ended without a result (${end}). It has no figures.`,
          ),
        );
      } else if ('failure' in outcome) {
        reject(new ScenarioFailedError(outcome.failure));
      } else {
        resolve(outcome.result);
      }
    });
  });
}

/** Ends the child and every process that it started. */
function killGroup(leaderPid: number): void {
  try {
    process.kill(-leaderPid, 'SIGKILL');
  } catch {
    // the whole group has ended already
  }
}

/** In the child: the scenario that it runs; null in the parent. */
export function assignedScenario(): Assignment | null {
  const text = process.env[ASSIGNMENT_VARIABLE];
  return text === undefined ? null : (JSON.parse(text) as Assignment);
}

/** In the child: measures and reports, then ends the process, which an open handle would keep alive. */
export async function measureAsChild(scenarios: readonly Scenario[], assignment: Assignment): Promise<void> {
  const scenario = scenarios.find((candidate) => candidate.name === assignment.name);
  process.on('disconnect', () => process.exit(1)); // the parent ended: no process waits for the result
  let outcome: Outcome;
  try {
    if (scenario === undefined) throw new ScenarioFailedError(`There is no scenario ${assignment.name}.`);
    const host = { node: process.version, cpus: availableParallelism() };
    const result = await measure(scenario, assignment.params, host, (text) => {
      process.stderr.write(`  ${assignment.name}: ${text}\n`);
    });
    outcome = { result };
  } catch (error) {
    outcome = {
      failure: error instanceof ShardError ? error.message : String((error as Error)?.stack ?? error),
    };
  }
  process.send!(outcome, () => process.exit('failure' in outcome ? 1 : 0));
}
