/** A gang that its own machines do not settle is evaluated only in cycles in which something may move it. */
import { expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import {
  assignmentFor,
  boundTo,
  cluster,
  configured,
  gang,
  idle,
  inRack,
  world,
} from '../oracle/rules/worlds.ts';
import type { WorldMachine, WorldNeed } from '../oracle/world.ts';
import { ClosedLoop } from './closed-loop.ts';

const AT_ONCE = { beginMax: 0, createMax: 0, configureMax: 0, drainMax: 0, reclaimsMax: 0 };

/** One gang of cluster alpha; the test changes machines, and no action is executed. */
function start(job: WorldNeed, machines: readonly WorldMachine[]) {
  const before = world([...machines], [cluster('alpha', [job])]);
  const loop = new ClosedLoop(before, AT_ONCE, new Random(1));
  for (const one of before.clusters) loop.report(one);
  const { inventory, engine } = loop;
  /** Decides a woken cycle: how many needs were evaluated, and where the gang is. */
  const decide = () => {
    const { evaluatedNeeds } = engine.decide({ nowMs: loop.nowMs, isOrdinary: false });
    const { domain, claimed } = engine.verdict(inventory.tables.clusters.find('alpha'), 0);
    return { evaluatedNeeds, domain, claimed };
  };
  return { loop, decide };
}

it('A5: a gang that other machines of its cluster cover is evaluated when one becomes available, not when one leaves', () => {
  const { loop, decide } = start(gang('job', 8), [
    configured('m-1', boundTo('alpha'), inRack('rack-2')),
    configured('m-2', boundTo('alpha'), inRack('rack-2')),
    configured('m-3', boundTo('alpha'), inRack('rack-1')),
    configured('m-4', boundTo('alpha'), inRack('rack-3')),
  ]);
  expect(decide()).toMatchObject({ domain: 'rack-2', claimed: 2 });
  loop.inventory.remove(loop.inventory.find('m-4'));
  expect(decide()).toEqual({ evaluatedNeeds: 0, domain: 'rack-2', claimed: 2 });

  loop.add(configured('m-5', boundTo('alpha'), inRack('rack-1')));
  expect(decide()).toEqual({ evaluatedNeeds: 1, domain: 'rack-1', claimed: 2 });
  loop.inventory.remove(loop.inventory.find('m-5'));
  expect(decide()).toEqual({ evaluatedNeeds: 1, domain: 'rack-2', claimed: 2 });
});

it('A5: a gang that waits is evaluated when there is a machine that it could get', () => {
  const job = gang('job', 12);
  const { loop, decide } = start(job, [
    configured('m-1', assignmentFor('alpha', job), inRack('rack-2')),
    configured('m-2', boundTo('alpha'), inRack('rack-2')),
  ]);
  expect(decide()).toMatchObject({ evaluatedNeeds: 1, domain: 'rack-2', claimed: 2 });
  expect(decide()).toEqual({ evaluatedNeeds: 0, domain: 'rack-2', claimed: 2 });

  for (const id of ['m-3', 'm-4', 'm-5']) loop.add(idle(id, inRack('rack-1')));
  expect(decide()).toMatchObject({ evaluatedNeeds: 1, domain: 'rack-1' });
  loop.inventory.remove(loop.inventory.find('m-5'));
  expect(decide()).toMatchObject({ evaluatedNeeds: 1, domain: 'rack-2', claimed: 2 });
  for (const id of ['m-3', 'm-4']) loop.inventory.remove(loop.inventory.find(id));
  expect(decide()).toMatchObject({ evaluatedNeeds: 1, domain: 'rack-2' });
  expect(decide()).toEqual({ evaluatedNeeds: 0, domain: 'rack-2', claimed: 2 });
});
