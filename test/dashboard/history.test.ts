/** The ring buffers of cycles and actions: bounded, in order, one sample per second. */
import { describe, expect, it } from 'vitest';
import { ACTIONS_MAX, SAMPLES_MAX, ShardHistory } from '../../src/dashboard/history.ts';
import type { ActionRecord, CycleReport } from '../../src/shard/ports/observer.ts';

const NONE = { Bootstrap: 0, Provision: 0, Reclaim: 0, Preempt: 0, Delete: 0 };

function report(cycle: number, atMs: number, facts: Partial<CycleReport> = {}): CycleReport {
  return {
    cycle,
    atMs,
    isOrdinary: true,
    durationMs: 1,
    phaseMs: { reconcile: 0, snapread: 0, phase1: 1, phase2: 0, phase3: 0, emit: 0, execute: 0 },
    decided: NONE,
    enqueued: { ...NONE, Bootstrap: 2 },
    suppressed: NONE,
    dryRun: NONE,
    capped: 0,
    preemptionsCapped: 0,
    deferred: 0,
    dropped: 0,
    deduped: 0,
    withdrawn: 0,
    changedMachines: 3,
    changedClusters: 0,
    evaluatedNeeds: 0,
    unmetNeeds: 5,
    heldBack: '',
    ...facts,
  };
}

function action(machineId: string): ActionRecord {
  return {
    atMs: 0,
    cycle: 1,
    kind: 'Bootstrap',
    machineId,
    clusterId: 'alpha',
    forClusterId: '',
    fingerprint: '',
    group: '',
    reason: 'phase1.idle',
    graceSeconds: 0,
    outcome: 'success',
    detail: '',
    durationMs: 1,
    blobMs: 0,
    callMs: 0,
  };
}

describe('the history', () => {
  it('keeps the last 720 samples', () => {
    const history = new ShardHistory();
    for (let cycle = 1; cycle <= SAMPLES_MAX + 25; cycle++) history.cycleEnded(report(cycle, cycle * 10_000));
    const samples = history.samples(0);
    expect(samples).toHaveLength(SAMPLES_MAX);
    expect(samples.map(({ cycle }) => cycle)).toEqual(
      Array.from({ length: SAMPLES_MAX }, (_, index) => 26 + index),
    );
  });

  it('merges cycles within a second: counts add up, phases are those of the slowest', () => {
    const history = new ShardHistory();
    history.cycleEnded(report(1, 10_000, { isOrdinary: false }));
    history.cycleEnded(report(2, 10_300, { durationMs: 9, unmetNeeds: 1 }));
    history.cycleEnded(report(3, 10_900, { isOrdinary: false }));
    history.cycleEnded(report(4, 11_000));
    const [first, second] = history.samples(0);
    expect(first).toMatchObject({ cycle: 3, cycles: 3, durationMs: 9, isOrdinary: true, changedMachines: 9 });
    expect(first!.enqueued.Bootstrap).toBe(6);
    expect(second).toMatchObject({ cycle: 4, cycles: 1 });
  });

  it('still merges when the buffer is full', () => {
    const history = new ShardHistory();
    for (let cycle = 1; cycle <= SAMPLES_MAX + 3; cycle++) history.cycleEnded(report(cycle, cycle * 10_000));
    const lastMs = (SAMPLES_MAX + 3) * 10_000;
    history.cycleEnded(report(9_999, lastMs + 1));
    const samples = history.samples(0);
    expect(samples).toHaveLength(SAMPLES_MAX);
    expect(samples.at(-1)).toMatchObject({ cycle: 9_999, cycles: 2, atMs: lastMs });
  });

  it('numbers actions from one, keeps the last 4,096 and knows the oldest of them', () => {
    const history = new ShardHistory();
    expect(history.actions(0, 10)).toEqual([]);
    for (let index = 1; index <= ACTIONS_MAX + 10; index++) history.actionEnded(action(`m-${index}`));
    expect(history.firstAction).toBe(11);
    const last = history.actions(0, 3);
    expect(last.map(({ record }) => record.machineId)).toEqual(
      [-2, -1, 0].map((offset) => `m-${ACTIONS_MAX + 10 + offset}`),
    );
    expect(history.actions(ACTIONS_MAX + 8, 100)).toHaveLength(2);
    expect(history.actions(0, 100_000)).toHaveLength(ACTIONS_MAX);
    expect(history.actions(0, 5, ({ machineId }) => machineId === 'm-3000')).toMatchObject([
      { sequence: 3_000 },
    ]);
  });
});
