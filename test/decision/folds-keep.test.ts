/**
 * A1 folds a gang that fits one machine, depending on the unassigned machines of the moment. These tests show, each in its
 * smallest world, why a covered fold stays when a price or an unassigned machine changes (docs/adr/0039, 0040).
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { ACTION_NAMES } from '../../src/decision/actions.ts';
import {
  assignmentFor,
  cluster,
  configured,
  cpus,
  foldFingerprint,
  gang,
  idle,
  NOW_MS,
  need,
  world,
} from '../oracle/rules/worlds.ts';
import type { Assignment, WorldMachine, WorldNeed } from '../oracle/world.ts';
import { ClosedLoop, type Pace } from './closed-loop.ts';

const INSTANT: Pace = { beginMax: 0, createMax: 0, configureMax: 0, drainMax: 0, reclaimsMax: 1_000 };

function loopOf(machines: WorldMachine[], needs: WorldNeed[], pace = INSTANT): ClosedLoop {
  const start = world(machines, [cluster('alpha', needs)]);
  const loop = new ClosedLoop(start, pace, new Random(1));
  for (const one of start.clusters) loop.report(one);
  return loop;
}

/** The actions of one cycle: `Bootstrap m-1`, … */
function didIn(loop: ClosedLoop): string[] {
  return loop.cycle().map(({ kind, machine }) => `${ACTION_NAMES[kind]} ${machine}`);
}

/** Whether each of the cluster's first rows, in order N4, is satisfied. */
function satisfiedIn(loop: ClosedLoop, rowCount: number): boolean[] {
  const ref = loop.inventory.tables.clusters.find('alpha');
  return Array.from({ length: rowCount }, (_, row) => loop.engine.verdict(ref, row).satisfied);
}

function setPrice(loop: ClosedLoop, machineId: string, pricePerHourUsd: number): void {
  loop.inventory.apply(loop.inventory.find(machineId), { pricePerHourUsd }, loop.nowMs);
}

/** The assignment of the fold that this gang joins. */
function foldAssignment(job: WorldNeed, group: string): Assignment {
  return assignmentFor('alpha', job, { fingerprint: foldFingerprint(job), group });
}

describe('A1 (ours)', () => {
  it('a fold keeps a machine without the Same key even when no other machine is unassigned', () => {
    const loop = loopOf([idle('bare', { labels: {}, price: 0.1 }), idle('racked')], [gang('job-1', 2)]);
    expect(didIn(loop)).toEqual(['Bootstrap bare']);
    expect(didIn(loop)).toEqual([]);
    expect(loop.isCovered()).toBe(true);
    loop.inventory.remove(loop.inventory.find('racked'));
    expect(didIn(loop)).toEqual([]);
    loop.add(idle('racked-2'));
    expect(didIn(loop)).toEqual([]);
    expect(satisfiedIn(loop, 1)).toEqual([true]);
  });

  it('a gang does not fold if only a machine without its Same key can hold it', () => {
    const loop = loopOf(
      [idle('bare', { labels: {} }), idle('racked', { capacity: cpus(1) })],
      [gang('job-1', 2)],
    );
    expect(didIn(loop)).toEqual(['Bootstrap racked']); // A6: the gang fills its domain as far as that allows
    expect(satisfiedIn(loop, 1)).toEqual([false]);
  });

  it('a fold does not take the machine of a plain need with its fingerprint and the empty group when that becomes cheaper', () => {
    const job = gang('job-1', 2, { arrivalMs: NOW_MS - 1 });
    const plain = need({ aggregate: cpus(4), minUnit: cpus(4) });
    const fleet = [
      configured('folded', foldAssignment(job, 'fold:cpu=2'), { capacity: cpus(2) }),
      configured('plain', assignmentFor('alpha', plain), { price: 2 }),
      idle('free', { price: 9 }),
    ];
    const loop = loopOf(fleet, [job, plain]);
    expect(didIn(loop)).toEqual([]);
    expect(loop.isCovered()).toBe(true);
    setPrice(loop, 'folded', 3);
    expect(didIn(loop)).toEqual([]);
  });

  it('without such a need, machines with the empty group are the fold’s own, as the reference assigns them', () => {
    const job = gang('job-1', 2);
    const assignment = foldAssignment(job, '');
    const loop = loopOf([configured('folded', assignment), idle('free', { price: 0.1 })], [job]);
    expect(didIn(loop)).toEqual([]);
    expect(loop.isCovered()).toBe(true);
  });

  it('decides a need with the name of a fold alike from scratch and incrementally while its machines come and go', () => {
    const jobs = ['job-1', 'job-2'].map((group) => gang(group, 2));
    const named = need({ group: 'fold:cpu=2', aggregate: cpus(16) });
    const assignment = assignmentFor('alpha', named);
    const loop = loopOf([configured('m-1', assignment)], [...jobs, named]);
    for (const id of ['m-2', 'm-3', 'm-4']) {
      expect(loop.checkedCycle(true).differences).toEqual({ actions: 0, claims: 0, verdicts: 0 });
      loop.add(configured(id, assignment));
    }
    for (const id of ['m-1', 'm-2']) {
      expect(loop.checkedCycle(true).differences).toEqual({ actions: 0, claims: 0, verdicts: 0 });
      loop.inventory.remove(loop.inventory.find(id));
    }
    expect(loop.checkedCycle(true).differences).toEqual({ actions: 0, claims: 0, verdicts: 0 });
  });

  it('a fold releases no machine that holds a whole gang, even if the others cover the sum', () => {
    const jobs = ['job-1', 'job-2', 'job-3', 'job-4'].map((group) => gang(group, 2));
    const assignment = foldAssignment(jobs[0]!, 'fold:cpu=2');
    const fleet = [
      configured('two-gangs', assignment, { capacity: cpus(5), price: 1 }),
      configured('one-gang', assignment, { capacity: cpus(2), price: 2 }),
      configured('one-and-a-half', assignment, { capacity: cpus(3), price: 3 }),
    ];
    const loop = loopOf(fleet, jobs, { ...INSTANT, drainMax: 1_000 });
    expect(didIn(loop)).toEqual([]);
    expect(loop.isCovered()).toBe(true);
    setPrice(loop, 'one-gang', 4);
    expect(didIn(loop)).toEqual([]);
    expect(satisfiedIn(loop, 4)).toEqual([true, true, true, true]);
  });

  it('a fold takes one machine for every gang that does not fit its other machines, and no more', () => {
    const jobs = ['job-1', 'job-2', 'job-3'].map((group) => gang(group, 2));
    const fleet = ['m-1', 'm-2', 'm-3', 'm-4'].map((id) => idle(id, { capacity: cpus(3) }));
    const loop = loopOf(fleet, jobs);
    expect(didIn(loop)).toEqual(['Bootstrap m-1', 'Bootstrap m-2', 'Bootstrap m-3']);
    for (let cycle = 0; cycle < 40; cycle++) expect(didIn(loop)).toEqual([]);
    expect(satisfiedIn(loop, 3)).toEqual([true, true, true]);
  });

  it('a fold is credited no machine of another gang: each has one, and both rest', () => {
    const first = gang('job-1', 4, { arrivalMs: NOW_MS - 1 });
    const second = gang('job-2', 4);
    const loop = loopOf([configured('m-1', assignmentFor('alpha', second)), idle('m-2')], [first, second]);
    // If the fold were credited m-1, the second gang would take m-2. Without an unassigned machine the first would be a
    // gang again, to which neither is creditable, and the shard would bind and drain m-2 in turn, for ever.
    expect(didIn(loop)).toEqual(['Bootstrap m-2']);
    for (let cycle = 0; cycle < 40; cycle++) expect(didIn(loop)).toEqual([]);
    expect(satisfiedIn(loop, 2)).toEqual([true, true]);
  });
});
