/**
 * Runs the suite: connects, records the state of every machine, runs the checks one by one, puts every
 * machine back, and then judges the rules that hold for all answers. A run always ends: every wait has a
 * limit, and once the provider stops answering the suite skips the remaining checks.
 */
import { type Check, CheckFailedError, CheckSkippedError, type Finding } from './check.ts';
import { ProviderClient } from './client.ts';
import { codeName, isUnanswered, UNIMPLEMENTED } from './codes.ts';
import { Custody } from './custody.ts';
import { Driver } from './driver.ts';
import { TargetUnreachableError } from './errors.ts';
import { MachinePool } from './machine-pool.ts';
import { leftBehind, putBack } from './put-back.ts';
import { type Rig, USUAL_BINDING } from './rig.ts';
import type { Settings } from './settings.ts';
import { Sightings } from './sightings.ts';
import { CHECKS, CLOSING_CHECKS } from './suite.ts';

export type CheckResult = {
  readonly id: string;
  readonly contract: string;
  readonly durationMs: number;
} & (
  | { readonly outcome: 'passed'; readonly note: string }
  | { readonly outcome: 'failed'; readonly finding: Finding }
  | { readonly outcome: 'skipped'; readonly reason: string }
);

export interface Report {
  readonly target: string;
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly machineCount: number;
  /** Machines that the suite called. */
  readonly touchedCount: number;
  /** False: the run was stopped or the provider stopped answering, so some checks did not run. */
  readonly isComplete: boolean;
  readonly results: readonly CheckResult[];
}

/** With a longer wait, a mistyped address would look like a slow provider. */
const CONNECT_TIMEOUT_MS_MAX = 10_000;
/** After this many unanswered calls in a row the provider is taken to be gone. */
const UNANSWERED_CALLS_MAX = 3;

export interface RunHooks {
  /** Called after each check. */
  onResult?(result: CheckResult): void;
  /** When it is aborted, no further check begins and the suite puts the machines back. */
  readonly signal?: AbortSignal;
}

export async function runConformance(settings: Settings, hooks: RunHooks = {}): Promise<Report> {
  const startedAtMs = Date.now();
  const sightings = new Sightings();
  const client = new ProviderClient(settings.target, settings.callTimeoutMs, sightings);
  try {
    const custody = new Custody(settings.allowDelete);
    const driver = new Driver(client, custody, sightings, settings);
    const pool = new MachinePool(driver, custody, settings, USUAL_BINDING);
    const rig: Rig = { settings, client, driver, pool, custody, sightings, strays: [] };
    await takeCensus(rig);
    const results = await runChecks(rig, hooks);
    return {
      target: settings.target,
      startedAtMs,
      durationMs: Date.now() - startedAtMs,
      machineCount: custody.machineCount,
      touchedCount: custody.touchedIds.size,
      isComplete: hooks.signal?.aborted !== true && !hasStoppedAnswering(rig),
      results,
    };
  } finally {
    client.close();
  }
}

async function takeCensus({ settings, client, custody, pool }: Rig): Promise<void> {
  const { target } = settings;
  try {
    await client.connect(Math.min(settings.callTimeoutMs, CONNECT_TIMEOUT_MS_MAX));
  } catch {
    throw new TargetUnreachableError(target, 'no plaintext gRPC server accepts connections there');
  }
  const reply = await client.list();
  if (reply.ok) {
    custody.takeCensus(reply.value);
    pool.stock(reply.value);
  } else if (isUnanswered(reply.code)) {
    throw new TargetUnreachableError(target, `List got no answer (${codeName(reply.code)})`);
  } else if (reply.code === UNIMPLEMENTED) {
    throw new TargetUnreachableError(
      target,
      'the server does not serve bigfleet.v1alpha1.CapacityProvider/List',
    );
  }
}

async function runChecks(rig: Rig, hooks: RunHooks): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  const add = (result: CheckResult) => {
    results.push(result);
    hooks.onResult?.(result);
  };
  const wanted = (check: Check) => isWanted(check, rig.settings.only);
  try {
    for (const check of CHECKS.filter(wanted)) {
      if (hasStoppedAnswering(rig)) add(skipped(check, 'the provider no longer answers'));
      else if (hooks.signal?.aborted === true) add(skipped(check, 'the run was stopped'));
      else add(await runCheck(check, rig));
      if (!hasStoppedAnswering(rig)) await rig.pool.settle();
    }
  } finally {
    const strays = hasStoppedAnswering(rig)
      ? leftBehind(rig.pool, rig.custody)
      : await putBack(rig.driver, rig.custody);
    rig.strays.push(...strays);
  }
  for (const check of CLOSING_CHECKS.filter(wanted)) add(await runCheck(check, rig));
  return results;
}

/** Each further call would cost a whole deadline. */
function hasStoppedAnswering({ sightings }: Rig): boolean {
  return sightings.unansweredCalls >= UNANSWERED_CALLS_MAX;
}

async function runCheck(check: Check, rig: Rig): Promise<CheckResult> {
  const startedMs = performance.now();
  const about = () => ({
    id: check.id,
    contract: check.contract,
    durationMs: performance.now() - startedMs,
  });
  try {
    const note = await check.run(rig);
    return { ...about(), outcome: 'passed', note: note ?? '' };
  } catch (error) {
    if (error instanceof CheckSkippedError) return { ...about(), outcome: 'skipped', reason: error.reason };
    if (error instanceof CheckFailedError) return { ...about(), outcome: 'failed', finding: error.finding };
    throw error;
  }
}

function skipped(check: Check, reason: string): CheckResult {
  return { id: check.id, contract: check.contract, durationMs: 0, outcome: 'skipped', reason };
}

function isWanted(check: Check, only: readonly string[]): boolean {
  return only.length === 0 || only.some((name) => check.id === name || check.id.startsWith(`${name}/`));
}
