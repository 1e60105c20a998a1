/**
 * If machines of withdrawn needs cover a gang in two racks, it takes no unassigned machine in either, so unassigned
 * machines must not decide between the racks: another gang of its cluster may change them because of its choice, and
 * neither gang would ever rest (docs/adr/0037).
 */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { ACTION_NAMES } from '../../src/decision/actions.ts';
import {
  assignmentFor,
  boundTo,
  cluster,
  configured,
  did,
  gang,
  idle,
  inRack,
  NOW_MS,
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

/** In each rack two machines of a withdrawn need; one machine of the second gang, one Idle one, and one that varies. */
const fleetWith = (varying: WorldMachine) => [
  configured('m-1', boundTo('alpha'), oneRack),
  configured('m-2', boundTo('alpha'), oneRack),
  configured('m-3', assignmentFor('alpha', second), oneRack),
  idle('m-4', oneRack),
  configured('m-5', boundTo('alpha'), otherRack),
  configured('m-6', boundTo('alpha'), otherRack),
  varying,
];
const whenIdle = () => world(fleetWith(idle('m-7', otherRack)), [cluster('alpha', [first, second])]);
const whenBound = () =>
  world(fleetWith(configured('m-7', assignmentFor('alpha', second), otherRack)), [
    cluster('alpha', [first, second]),
  ]);

describe.each(subjects)('$name', ({ decideWith }) => {
  it('A5: ranks racks that creditable machines cover alike by value, whatever their unassigned machines', () => {
    for (const [start, done] of [
      [whenIdle(), 'Bootstrap m-7'],
      [whenBound(), 'Reclaim m-3'],
    ] as const) {
      const result = decideWith(start);
      expect(verdictOf(result, 'alpha', first).domain).toBe('rack-1');
      expect(verdictOf(result, 'alpha', second).domain).toBe('rack-2');
      expect(did(result)).toEqual([done]);
    }
  });
});

it('A5: a gang without machines of its own rests in one of two racks that cover it, and so does the other gang', () => {
  const start = whenIdle();
  const pace = { beginMax: 0, createMax: 0, configureMax: 0, drainMax: 0, reclaimsMax: 1_000 };
  const loop = new ClosedLoop(start, pace, new Random(1));
  for (const one of start.clusters) loop.report(one);
  const doneIn = () => loop.cycle().map(({ kind, machine }) => `${ACTION_NAMES[kind]} ${machine}`);
  expect(doneIn()).toEqual(['Bootstrap m-7']);
  expect(doneIn()).toEqual(['Reclaim m-3']);
  for (let cycle = 0; cycle < 40; cycle++) expect(doneIn()).toEqual([]);
});
