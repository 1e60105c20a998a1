/** Runs faults one after the other, each on a stage of its own, and says of each what was seen and whether it held. */
import type { Fault } from './faults.ts';
import { pause } from './programs.ts';
import { type AuditLine, doubleBinding, Stage } from './stage.ts';

export interface FaultReport {
  readonly name: string;
  readonly observed: string;
  /** From the end of the fault until everybody had what it wanted; null if that never came. */
  readonly recoveryMs: number | null;
  readonly machinesLost: number | null;
  readonly doubleBindings: number;
  /** Reclaims and preemptions, though demand never shrank. */
  readonly reclaims: number;
  /** What did not hold; ''. */
  readonly violation: string;
}

/** A burst has begun when so many bootstraps were asked for. */
const BURST_BOOTSTRAPS = 6;
const BURST_MS_MAX = 60_000;
/** After the recovery nothing moves any more for this long. */
const STILL_MS = 1_500;

export async function runFault(fault: Fault): Promise<FaultReport> {
  const stage = new Stage();
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
  const reclaims = takenIn(stage);
  violation ||= double;
  if (reclaims > 0) violation ||= `${reclaims} machines were taken although demand never shrank`;
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
    if (performance.now() > untilMs) throw new Error('no bootstrap was asked for');
    await pause(10);
  }
}

/**
 * Machines that were taken from somebody. Not among them: one whose Configure was never answered, while its need was given
 * another; if the call was carried out after all, one of the two is too many.
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
      return 0; // never started, or its last line was cut off by a kill
    }
  };
  return [stage.auditLog, ...stage.formerAuditLogs].reduce((sum, path) => sum + taken(path), 0);
}
