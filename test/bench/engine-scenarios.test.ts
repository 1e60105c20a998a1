/**
 * The decision's benchmarks on fleets small enough for a test. Each scenario checks its own result while it runs and
 * throws if the timed work did not happen, so running it is most of the test; no time is judged.
 */
import { describe, expect, it } from 'vitest';
import { EngineFleet } from '../../bench/catalogue/engine-fleet.ts';
import { measure, type Params, type Scenario } from '../../bench/harness.ts';
import { BenchmarkNotRealError, MeasuredRun } from '../../bench/measured-run.ts';
import { scenario as cycleBacklog } from '../../bench/scenarios/cycle-backlog.ts';
import { scenario as cycleDelta } from '../../bench/scenarios/cycle-delta.ts';
import { scenario as cycleScarce } from '../../bench/scenarios/cycle-scarce.ts';
import {
  scenario as cycleSteady,
  TypedFleet,
  timeCycle,
  timeQuietCycles,
} from '../../bench/scenarios/cycle-steady.ts';
import { scenario as phase2Burst } from '../../bench/scenarios/phase2-burst.ts';
import { scenario as phase3Shrink } from '../../bench/scenarios/phase3-shrink.ts';
import { MachineState } from '../../src/machine/state.ts';

const PHASES = ['sync', 'credit', 'acquire', 'preempt', 'reclaim', 'verdicts'] as const;

function run(scenario: Scenario, machines: number, needs: number) {
  const params: Params = { machines, needs, seconds: 1 };
  return measure(scenario, params, { node: process.version, cpus: 1 }, () => {});
}

function contextOf(machines: number): MeasuredRun {
  return new MeasuredRun('test', { machines, needs: 0, seconds: 1 }, () => {});
}

describe('each scenario of the decision, on a small fleet', () => {
  for (const [scenario, machines, needs, metrics] of [
    [cycleSteady, 2_500, 250, ['first', 'first, code not compiled', 'all bound', 'nothing changed']],
    [cycleDelta, 6_000, 500, ['delta', 'machines alone', 'roll-ups alone', 'nothing changed']],
    [phase2Burst, 5_000, 500, ['burst', 'burst in old clusters', 'burst after churn', 'nothing changed']],
    [
      phase3Shrink,
      2_000,
      200,
      ['every second need gone', 'every need halved', 'reclaims wait', 'nothing changed'],
    ],
    [cycleBacklog, 5_000, 0, ['backlog']],
    [cycleScarce, 20_000, 0, ['scarce']],
  ] as const) {
    it(`${scenario.name} passes its own checks and has a figure for every phase, CPU time and target`, async () => {
      const result = await run(scenario, machines, needs);
      for (const metric of metrics) {
        for (const part of ['', ': cpu', ...PHASES.map((phase) => `: ${phase}`)]) {
          expect(result.metrics[`${metric}${part}`], `${metric}${part}`).toMatchObject({ unit: 'ms' });
        }
      }
      expect(result.targets.map(({ name }) => name)).toEqual(scenario.targets.map(({ name }) => name));
    });
  }

  it('cycle-delta compares with half the clusters and with half of each, by the clock and by CPU time', async () => {
    const { ratios } = await run(cycleDelta, 6_000, 500);
    expect(Object.keys(ratios)).toEqual([
      'delta ÷ half the clusters',
      'delta ÷ half the clusters, by CPU time',
      'delta ÷ half of each cluster',
      'delta ÷ half of each cluster, by CPU time',
    ]);
  });

  it('phase2-burst preempts as many machines as the burst asks for', async () => {
    const { metrics } = await run(phase2Burst, 5_000, 500);
    expect(metrics['burst: needs with a deficit']!.median).toBe(100);
    expect(metrics.victims!.median).toBe(500);
  });

  it('phase3-shrink reclaims half of the fleet either way, and as much as the cap allows in each cycle', async () => {
    const { metrics } = await run(phase3Shrink, 5_000, 500);
    expect(metrics['every second need gone: reclaims']!.median).toBe(2_500);
    expect(metrics['every need halved: reclaims']!.median).toBe(2_500);
    // 5 % of the 100 machines that a cluster has, then of 95, 91, 87 and 83: 5, 4, 4, 4 and 4, in 50 clusters.
    expect(metrics['some reclaimed: reclaims left']!.median).toBe(2_500 - 50 * 21);
  });

  it('cycle-backlog decides the backlog in the first cycle and binds a share of it in each, to the end', async () => {
    const { metrics } = await run(cycleBacklog, 5_000, 0);
    expect(metrics['first cycle: needs with a deficit']!.median).toBeGreaterThan(100);
    expect(metrics['backlog: bindings that wait']!.median).toBeGreaterThan(100);
  });

  it('cycle-scarce has unmet needs of every form', async () => {
    const { metrics } = await run(cycleScarce, 20_000, 0);
    for (const form of ['plain', 'spread', 'fold', 'gang']) {
      expect(metrics[`unmet at the start: ${form}`]!.median, form).toBeGreaterThan(0);
    }
  });

  it('refuses a fleet that is too small for its needs', async () => {
    await expect(run(cycleSteady, 250, 250)).rejects.toThrow(BenchmarkNotRealError);
    await expect(run(phase2Burst, 900, 250)).rejects.toThrow(BenchmarkNotRealError);
  });
});

describe('the typed fleet', () => {
  const bound = () => new TypedFleet({ machines: 1_350, needs: 250, machinesPerNeed: 5, isBound: true });

  it('given needs that have their machines, when a cycle is decided, then there is no action', () => {
    const fleet = bound();
    const { unmetNeeds, changedMachines } = fleet.decide();
    expect([unmetNeeds, changedMachines, fleet.engine.actions.count]).toEqual([0, 1_350, 0]);
    expect(fleet.inventory.indexes.countInState(MachineState.Configured)).toBe(1_250);
    expect(fleet.inventory.indexes.countInState(MachineState.Idle)).toBe(100);
  });

  it('given one need that asks for one more machine, then exactly one is bootstrapped', () => {
    const fleet = bound();
    fleet.decide();
    fleet.ask(7, (need) => (need === 0 ? 6 : 5));
    expect(fleet.decide().changedClusters).toBe(1);
    expect(fleet.engine.actions.count).toBe(1);
  });

  it('has priorities from 1,000 to 10,000 in every cluster, one type to a need and three zones to a type', () => {
    const { inventory } = bound();
    const priorities = new Set<number>();
    const places = new Set<string>();
    const needsByType = new Map<string, Set<string>>();
    for (const slot of inventory.slotsById) {
      const { assignment, instanceType, zone } = inventory.get(slot);
      places.add(`${instanceType} ${zone}`);
      if (assignment === null) continue;
      priorities.add(assignment.priority);
      const fingerprints = needsByType.get(instanceType) ?? new Set();
      needsByType.set(instanceType, fingerprints.add(assignment.fingerprint));
    }
    expect([...priorities].sort((a, b) => a - b)).toEqual([1_000, 3_250, 5_500, 7_750, 10_000]);
    expect(places.size).toBe(15);
    for (const [type, fingerprints] of needsByType)
      for (const one of fingerprints) expect(one).toContain(`:1:${type};`);
  });
});

describe('the timing of a cycle', () => {
  it('advances the clock by ten seconds and records clock, CPU and phases once', () => {
    const context = contextOf(10);
    const fleet = new EngineFleet(10);
    const before = fleet.nowMs;
    expect(timeCycle(context, 'empty', fleet).changedMachines).toBe(0);
    expect(fleet.nowMs).toBe(before + 10_000);
    const names = ['empty', 'empty: cpu', ...PHASES.map((phase) => `empty: ${phase}`)];
    expect(Object.keys(context.metrics()).sort()).toEqual(names.sort());
    for (const metric of Object.values(context.metrics())) expect(metric.samples).toBe(1);
  });

  it('does not accept a cycle as quiet if something changed, or if its decision differs', () => {
    const fleet = new TypedFleet({ needs: 50, machinesPerNeed: 2, isBound: true });
    expect(() => timeQuietCycles(contextOf(100), 'quiet', fleet)).toThrow('nothing changed');
    expect(() => timeQuietCycles(contextOf(100), 'quiet', fleet, 1)).toThrow('the decision is the same');
    expect(() => timeQuietCycles(contextOf(100), 'quiet', fleet)).not.toThrow();
  });
});
