/**
 * What A1 as written does not promise, each in its smallest world. These are the worlds that stability.test.ts leaves
 * out; should a rule change so that one of them rests, its test fails here and the exception there goes with it.
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { ACTION_NAMES } from '../../src/decision/actions.ts';
import {
  cluster,
  configured,
  cpus,
  foldFingerprint,
  gang,
  idle,
  NOW_MS,
  need,
  stampFor,
  world,
} from '../oracle/rules/worlds.ts';
import type { Stamp, WorldMachine, WorldNeed } from '../oracle/world.ts';
import { ClosedLoop, type Pace } from './closed-loop.ts';
import { hasLooseFold } from './fold-limits.ts';

const INSTANT: Pace = { beginMax: 0, createMax: 0, configureMax: 0, drainMax: 0, reclaimsMax: 1_000 };

function loopOf(machines: WorldMachine[], needs: WorldNeed[], pace = INSTANT): ClosedLoop {
  const start = world(machines, [cluster('alpha', needs)]);
  const loop = new ClosedLoop(start, pace, new Random(1));
  for (const one of start.clusters) loop.report(one);
  return loop;
}

/** What one cycle does: `Bootstrap m-1`, … */
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

/** The stamp of the fold that this gang joins. */
function foldStamp(job: WorldNeed, group: string): Stamp {
  return stampFor('alpha', job, { fingerprint: foldFingerprint(job), group });
}

describe('A1, as it stands', () => {
  it('may put a gang on a machine without its Same key, and takes it back when nothing else is free', () => {
    const loop = loopOf([idle('bare', { labels: {}, price: 0.1 }), idle('racked')], [gang('job-1', 2)]);
    expect(didIn(loop)).toEqual(['Bootstrap bare']);
    expect(didIn(loop)).toEqual([]);
    expect(loop.isCovered()).toBe(true);
    expect(hasLooseFold(loop)).toBe(true);
    loop.inventory.remove(loop.inventory.find('racked'));
    expect(didIn(loop)).toEqual(['Reclaim bare']);
    loop.add(idle('racked-2'));
    expect(didIn(loop)).toEqual(['Bootstrap bare']);
  });

  it('gives a fold the machine of a plain need with the empty group, when that becomes the cheaper one', () => {
    const job = gang('job-1', 2, { arrivalMs: NOW_MS - 1 });
    const plain = need({ aggregate: cpus(4), minUnit: cpus(4) });
    const fleet = [
      configured('folded', foldStamp(job, 'fold:cpu=2'), { capacity: cpus(2) }),
      configured('plain', stampFor('alpha', plain), { price: 2 }),
      idle('free', { price: 9 }),
    ];
    const loop = loopOf(fleet, [job, plain]);
    expect(didIn(loop)).toEqual([]);
    expect(loop.isCovered()).toBe(true);
    expect(hasLooseFold(loop)).toBe(true);
    setPrice(loop, 'folded', 3);
    expect(didIn(loop)).toEqual(['Bootstrap free', 'Reclaim folded']);
  });

  it('gives up a machine that held a whole gang once the others cover the sum, and then lacks it', () => {
    const jobs = ['job-1', 'job-2', 'job-3', 'job-4'].map((group) => gang(group, 2));
    const stamp = foldStamp(jobs[0]!, 'fold:cpu=2');
    const fleet = [
      configured('two-gangs', stamp, { capacity: cpus(5), price: 1 }),
      configured('one-gang', stamp, { capacity: cpus(2), price: 2 }),
      configured('one-and-a-half', stamp, { capacity: cpus(3), price: 3 }),
    ];
    const loop = loopOf(fleet, jobs, { ...INSTANT, drainMax: 1_000 });
    expect(didIn(loop)).toEqual([]);
    expect(loop.isCovered()).toBe(true);
    expect(hasLooseFold(loop)).toBe(true);
    setPrice(loop, 'one-gang', 4);
    expect(didIn(loop)).toEqual(['Reclaim one-gang']);
    expect(didIn(loop)).toEqual([]);
    expect(satisfiedIn(loop, 4)).toEqual([true, false, false, true]); // the fourth, a gang now, goes before the fold
  });

  it('leaves a gang without a machine for good, though one is free, once the fold’s sum is covered', () => {
    const jobs = ['job-1', 'job-2', 'job-3'].map((group) => gang(group, 2));
    const fleet = ['m-1', 'm-2', 'm-3'].map((id) => idle(id, { capacity: cpus(3) }));
    const loop = loopOf(fleet, jobs);
    expect(didIn(loop)).toEqual(['Bootstrap m-1', 'Bootstrap m-2']);
    for (let cycle = 0; cycle < 40; cycle++) expect(didIn(loop)).toEqual([]);
    expect(satisfiedIn(loop, 3)).toEqual([true, true, false]);
  });
});

describe('A1 (ours)', () => {
  it('a fold is credited no machine of another gang: both have one, and rest', () => {
    const first = gang('job-1', 4, { arrivalMs: NOW_MS - 1 });
    const second = gang('job-2', 4);
    const loop = loopOf([configured('m-1', stampFor('alpha', second)), idle('m-2')], [first, second]);
    // Were the fold given m-1, the second gang would take m-2; with nothing free the first would be a gang again, to which
    // neither is creditable, and m-2 one too many: bound and drained in turn, for ever.
    expect(didIn(loop)).toEqual(['Bootstrap m-2']);
    for (let cycle = 0; cycle < 40; cycle++) expect(didIn(loop)).toEqual([]);
    expect(satisfiedIn(loop, 2)).toEqual([true, true]);
  });
});
