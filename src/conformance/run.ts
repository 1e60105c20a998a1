/**
 * Runs the suite: connects, takes the census, runs check after check, puts every machine back, and judges
 * what was seen in passing. A run always ends: every wait in it has a limit, and a provider that falls
 * silent is not asked for the rest.
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
  /** Machines that the suite named in a call. */
  readonly touchedCount: number;
  /** False: stopped, or the provider fell silent, so that nothing is known about the rest. */
  readonly isComplete: boolean;
  readonly results: readonly CheckResult[];
}

/** Longer, and a mistyped address would look like a slow one. */
const CONNECT_TIMEOUT_MS_MAX = 10_000;
/** So many calls in a row without an answer: the provider is gone. */
const UNANSWERED_CALLS_MAX = 3;

export interface RunHooks {
  /** Called as each result comes in. */
  onResult?(result: CheckResult): void;
  /** Aborted: no further check begins, and the machines are put back. */
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
    throw new TargetUnreachableError(target, 'nothing there speaks gRPC without TLS');
  }
  const reply = await client.list();
  if (reply.ok) {
    custody.takeCensus(reply.value);
    pool.stock(reply.value);
  } else if (isUnanswered(reply.code)) {
    throw new TargetUnreachableError(target, `List was not answered (${codeName(reply.code)})`);
  } else if (reply.code === UNIMPLEMENTED) {
    throw new TargetUnreachableError(target, 'it does not serve bigfleet.v1alpha1.CapacityProvider/List');
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
      if (hasStoppedAnswering(rig)) add(skipped(check, 'the provider answers no more'));
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

/** Not asked again then: each further question would cost a whole deadline. */
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
