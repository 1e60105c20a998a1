/** InspectNeeds gives unmet needs the context of their verdict, from the facts of the explanations. */
import { expect, it } from 'vitest';
import type { NeedsReader, NeedView } from '../../../src/shard/ports/view.ts';
import {
  assignmentFor,
  cluster,
  configured,
  cpus,
  gang,
  idle,
  inRack,
  isIn,
  need,
  speculative,
  world,
  ZONE,
} from '../../oracle/rules/worlds.ts';
import { drainVictim, viewOf } from './from-world.ts';

async function inspected(reader: NeedsReader): Promise<ReadonlyMap<string, NeedView>> {
  const { pages } = await reader.inspectNeeds({});
  const byGroup = new Map<string, NeedView>();
  for await (const page of pages) for (const one of page) byGroup.set(one.group, one);
  return byGroup;
}

it('counts the machines that match an unmet need, and leaves satisfied needs without a context', async () => {
  const met = need({ group: 'met' });
  const large = need({ group: 'large', aggregate: cpus(400), priority: 50 });
  const nowhere = need({ group: 'nowhere', requirements: [isIn(ZONE, 'zone-7')] });
  const fleet = [idle('m-1'), idle('m-2'), speculative('m-3', { zone: 'zone-2' })];
  const needs = await inspected(viewOf(world(fleet, [cluster('alpha', [met, large, nowhere])])).view);
  expect(needs.get('met')).toMatchObject({ satisfied: true });
  expect(needs.get('met')!.context).toBeUndefined();
  const none = { victims: 0, freed: {}, domains: [] };
  expect(needs.get('large')!.context).toEqual({
    supply: { idle: 2, configured: 0, speculative: 1, isCapped: false },
    ...none,
  });
  expect(needs.get('nowhere')!.context).toEqual({
    supply: { idle: 0, configured: 0, speculative: 0, isCapped: false },
    ...none,
  });
});

it('weighs the domains of a gang that no domain can hold, the best one first', async () => {
  const job = gang('job', 16, { minUnit: cpus(4) });
  const fleet = [
    ...['a', 'b', 'c'].map((id) => idle(`r1-${id}`, inRack('rack-1'))),
    idle('r2-a', inRack('rack-2')),
  ];
  const needs = await inspected(viewOf(world(fleet, [cluster('alpha', [job])])).view);
  expect(needs.get('job')!.context).toMatchObject({
    supply: { idle: 4 },
    domains: [
      { domain: 'rack-1', covered: 0.75 },
      { domain: 'rack-2', covered: 0.25 },
    ],
  });
});

it('sums the machines that drain for an unmet need', async () => {
  const high = need({ group: 'high', priority: 1_000, aggregate: cpus(8) });
  const low = need({ group: 'low', priority: 10, aggregate: cpus(8) });
  const fleet = [
    configured('m-1', assignmentFor('beta', low)),
    configured('m-2', assignmentFor('beta', low)),
  ];
  const shard = viewOf(world(fleet, [cluster('alpha', [high]), cluster('beta', [low])]));
  drainVictim(shard, 'm-1');
  const needs = await inspected(shard.view);
  expect(needs.get('high')!.context).toMatchObject({ victims: 1, freed: { cpu: 4_000 } });
});
