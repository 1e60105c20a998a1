/** Times the cycles of a live fleet: each step, demand changes, actions end and begin, and a cycle decides. */
import type { ClusterDemand } from '../../src/simulation/operators/cluster-demand.ts';
import type { BenchContext } from '../harness.ts';
import type { LiveFleet } from './live-fleet.ts';
import type { QueuedLoop } from './queued-loop.ts';

export interface LiveCyclesPlan {
  readonly name: string;
  /** Untimed cycles before the first sample: code is compiled, and the queue fills. */
  readonly warmups: number;
  readonly cycles: number;
  /** One cycle in this many is ordinary; the others are woken. */
  readonly ordinaryEvery: number;
  /** More changes of the demand of a cluster that is about to report, and of the machines before a cycle, both untimed. */
  readonly changeDemand?: (demand: ClusterDemand) => void;
  readonly changeMachines?: () => void;
}

const PHASES = ['sync', 'credit', 'acquire', 'preempt', 'reclaim', 'verdicts'] as const;

/** Records the time of `decide` alone, by the clock and in CPU time, the share of each phase, and what a cycle had to do; returns the fewest unmet needs. */
export function timeLiveCycles(
  context: BenchContext,
  fleet: LiveFleet,
  loop: QueuedLoop,
  plan: LiveCyclesPlan,
): number {
  const { name } = plan;
  const totalMs = new Map<string, number>();
  let worstMs = 0;
  let sumMs = 0;
  let changedCycles = 0;
  let unmetMin = Number.POSITIVE_INFINITY;
  const deadline = performance.now() + context.params.seconds * 1_000;
  context.progress(`${name}: up to ${plan.cycles} cycles`);
  for (let cycle = -plan.warmups; cycle < plan.cycles; cycle++) {
    if (cycle >= 3 && performance.now() > deadline) break;
    fleet.advance(plan.changeDemand);
    loop.advance();
    plan.changeMachines?.();
    const isOrdinary = fleet.step % plan.ordinaryEvery === 0;
    const cpuBefore = process.cpuUsage();
    const before = performance.now();
    const cost = fleet.decide(fleet.engine, false, isOrdinary);
    const ms = performance.now() - before;
    const { user, system } = process.cpuUsage(cpuBefore);
    const enqueued = loop.offer();
    if (cycle < 0) continue;
    worstMs = Math.max(worstMs, ms);
    sumMs += ms;
    unmetMin = Math.min(unmetMin, cost.unmetNeeds);
    context.sample(name, 'ms', ms);
    context.sample(`${name}: cpu`, 'ms', (user + system) / 1_000);
    for (const phase of PHASES) {
      const phaseMs = fleet.phaseMs.get(phase)!;
      context.sample(`${name}: ${phase}`, 'ms', phaseMs);
      totalMs.set(phase, (totalMs.get(phase) ?? 0) + phaseMs);
    }
    context.sample(`${name}: needs with a deficit`, 'needs', cost.unmetNeeds);
    context.sample(`${name}: needs evaluated`, 'needs', cost.evaluatedNeeds);
    context.sample(`${name}: machines changed`, 'machines', cost.changedMachines);
    context.sample(`${name}: clusters changed`, 'clusters', cost.changedClusters);
    context.sample(`${name}: actions decided`, 'actions', fleet.engine.actions.count);
    context.sample(`${name}: actions enqueued`, 'actions', enqueued);
    context.sample(`${name}: bindings that wait`, 'actions', loop.waitingCount);
    if (cost.changedMachines + cost.changedClusters > 0) changedCycles++;
  }
  context.check(changedCycles > 0, `${name}: machines and clusters changed`);
  context.sample(`${name}: worst`, 'ms', worstMs);
  for (const [phase, ms] of totalMs) context.sample(`${name}: share of ${phase}`, '%', (ms * 100) / sumMs);
  return unmetMin;
}
