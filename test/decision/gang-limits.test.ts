/**
 * What A5 as written does not promise, in its smallest world. A gang that other needs' machines cover in two racks ranks
 * these by their totals, in which free machines count; and what is free, another gang of its cluster may change because
 * of its choice. Histories of the simulator leave this world out (src/simulator/wandering-gangs.ts); should the rule
 * change so that it rests, its test fails here and the exception there goes with it.
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { ACTION_NAMES } from '../../src/decision/actions.ts';
import {
  boundTo,
  cluster,
  configured,
  did,
  gang,
  idle,
  inRack,
  NOW_MS,
  stampFor,
  verdictOf,
  world,
} from '../oracle/rules/worlds.ts';
import { subjects } from '../oracle/subjects.ts';
import type { WorldMachine } from '../oracle/world.ts';
import { ClosedLoop } from './closed-loop.ts';

const first = gang('job-1', 8, { arrivalMs: NOW_MS - 1 });
const second = gang('job-2', 12);
const oneRack = inRack('rack-1');
const otherRack = inRack('rack-2');

/** Two machines of a need that is gone in each rack, one of the second gang, one that is free, and one in question. */
const fleetWith = (inQuestion: WorldMachine) => [
  configured('m-1', boundTo('alpha'), oneRack),
  configured('m-2', boundTo('alpha'), oneRack),
  configured('m-3', stampFor('alpha', second), oneRack),
  idle('m-4', oneRack),
  configured('m-5', boundTo('alpha'), otherRack),
  configured('m-6', boundTo('alpha'), otherRack),
  inQuestion,
];
const whenFree = () => world(fleetWith(idle('m-7', otherRack)), [cluster('alpha', [first, second])]);
const whenBound = () =>
  world(fleetWith(configured('m-7', stampFor('alpha', second), otherRack)), [
    cluster('alpha', [first, second]),
  ]);

describe.each(subjects)('A5, as it stands, says the $name', ({ decideWith }) => {
  it('has the first gang in one rack while a machine of the other is free, and the second gang take that', () => {
    const result = decideWith(whenFree());
    expect(verdictOf(result, 'alpha', first).domain).toBe('rack-1');
    expect(verdictOf(result, 'alpha', second).domain).toBe('rack-2');
    expect(did(result)).toEqual(['Bootstrap m-7']);
  });

  it('has the first gang in the other rack once it is the second gang’s, which then gives it back', () => {
    const result = decideWith(whenBound());
    expect(verdictOf(result, 'alpha', first).domain).toBe('rack-2');
    expect(verdictOf(result, 'alpha', second).domain).toBe('rack-1');
    expect(did(result)).toEqual(['Reclaim m-7']);
  });
});

describe('A5, as it stands', () => {
  it('never rests where a gang has no machine of its own and two racks cover it with those of others', () => {
    const start = whenFree();
    const pace = { beginMax: 0, createMax: 0, configureMax: 0, drainMax: 0, reclaimsMax: 1_000 };
    const loop = new ClosedLoop(start, pace, new Random(1));
    for (const one of start.clusters) loop.report(one);
    const doneIn = () => loop.cycle().map(({ kind, machine }) => `${ACTION_NAMES[kind]} ${machine}`);
    for (let round = 0; round < 20; round++) {
      expect(doneIn()).toEqual(['Bootstrap m-7']);
      expect(doneIn()).toEqual(['Reclaim m-7']);
    }
  });
});
