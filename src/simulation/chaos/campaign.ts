/** Runs each fault on its own stage and reports what was observed and whether every promise held. */
import type { Fault } from './faults.ts';
import { pause } from './programs.ts';
import { type AuditLine, doubleBinding, Stage } from './stage.ts';

export interface FaultReport {
  readonly name: string;
  readonly observed: string;
  /** From the end of the fault until every cluster had its nodes and all parts agreed; null if that never happened. */
  readonly recoveryMs: number | null;
  readonly machinesLost: number | null;
  readonly doubleBindings: number;
  /** Reclaims and preemptions, although demand never shrank. */
  readonly reclaims: number;
  /** The broken promise, or ''. */
  readonly violation: string;
}

/** A burst has begun after this many bootstrap requests. */
const BURST_BOOTSTRAPS = 6;
const BURST_MS_MAX = 60_000;
/** After the recovery the stage must stay settled for this long. */
const STILL_MS = 1_500;

export async function runFault(fault: Fault): Promise<FaultReport> {
  const stage = fault.stage?.() ?? new Stage();
  let observed = '';
  let recoveryMs: number | null = null;
  let violation = '';
  try {
    fault.prepare?.(stage);
    await stage.open(fault.provider === undefined ? null : await fault.provider());
    fault.beforeDemand?.(stage);
    await stage.demand();
    if (fault.when === 'rest') await stage.settle();
    if (fault.when === 'burst') await burst(stage);
    observed = await fault.inject(stage);
    recoveryMs = await stage.settle();
    await pause(STILL_MS);
    await stage.settle();
    violation = (await fault.check?.(stage)) ?? '';
  } catch (error) {
    violation = (error as Error).message;
  }
  const double = doubleBinding(await stage.views());
  const reclaims = fault.removes === true ? 0 : takenIn(stage);
  violation ||= double;
  if (reclaims > 0)
    violation ||= `the shard took ${reclaims} machines from clusters although demand never shrank`;
  try {
    return {
      name: fault.name,
      observed,
      recoveryMs,
      machinesLost: recoveryMs === null ? null : 0,
      doubleBindings: double === '' ? 0 : 1,
      reclaims,
      violation,
    };
  } finally {
    fault.clean?.(stage);
    await stage.close();
  }
}

async function burst(stage: Stage): Promise<void> {
  const untilMs = performance.now() + BURST_MS_MAX;
  const asked = async () =>
    (await stage.views()).reduce((sum, { bootstrapCount }) => sum + bootstrapCount, 0);
  while ((await asked()) < BURST_BOOTSTRAPS) {
    if (performance.now() > untilMs) throw new Error('the shard requested too few bootstraps');
    await pause(10);
  }
}

/**
 * Machines that the shard took from clusters. A machine whose Configure got no answer does not count: its need got another
 * machine, and if the provider carried the call out after all, the shard rightly reclaims one of the two.
 */
function takenIn(stage: Stage): number {
  const taken = (path: string) => {
    try {
      const lines = stage.audited(path);
      const open = new Set(
        lines.filter(({ outcome }) => outcome === 'timeout').map(({ machine }) => machine),
      );
      const isTaking = ({ kind, machine }: AuditLine) =>
        kind === 'Preempt' || (kind === 'Reclaim' && !open.has(machine));
      return lines.filter(isTaking).length;
    } catch {
      return 0; // the process never started, or a kill cut off its last line
    }
  };
  return [stage.auditLog, ...stage.formerAuditLogs].reduce((sum, path) => sum + taken(path), 0);
}
