import { describe, expect, it } from 'vitest';
import { CapacityType } from '../../../src/machine/capacity-type.ts';
import { subjects } from '../subjects.ts';
import type { OracleResult, WorldCeilings, WorldMachine } from '../world.ts';
import { UnmetReason } from '../world.ts';
import {
  assignmentFor,
  claimedBy,
  cluster,
  configured,
  configuring,
  cpus,
  creating,
  did,
  draining,
  gang,
  idle,
  keyOf,
  need,
  speculative,
  verdictOf,
  world,
} from './worlds.ts';

const NONE = Number.POSITIVE_INFINITY;
const { OnDemand, Spot } = CapacityType;

const ceilings = (
  maxDollarsPerHour: number,
  byType: Partial<Record<number, number>> = {},
): WorldCeilings => ({
  maxDollarsPerHour,
  maxByCapacityType: [0, 1, 2, 3, 4].map((type) => byType[type] ?? NONE),
});

describe.each(subjects)('$name', ({ decideWith }) => {
  const web = need({ priority: 500, aggregate: cpus(20) });
  const offers = (count: number, change: Partial<WorldMachine> = {}) =>
    Array.from({ length: count }, (_, index) => speculative(`m-${index + 1}`, { price: 1, ...change }));
  const provisions = (result: OracleResult) => did(result).filter((text) => text.startsWith('Provision'));

  it('E7: creates machines as far as the ceiling allows, and what it bars is no shortfall', () => {
    const result = decideWith(world(offers(5), [cluster('alpha', [web])], { ceilings: ceilings(3) }));
    expect(did(result)).toEqual(['Provision m-1', 'Provision m-2', 'Provision m-3']);
    expect(verdictOf(result, 'alpha', web)).toMatchObject({
      satisfied: false,
      deficit: cpus(8),
      reason: UnmetReason.PriorityStarved,
      limitedBy: 'ceilings.usd-per-hour',
    });
    expect(result.shortfalls).toEqual([]);
  });

  it('E7: counts every machine that is no offer, whichever cluster has it, and enqueued Provisions', () => {
    const other = assignmentFor('beta', need({ group: 'gone' }));
    const small = { price: 1, capacity: { 'example.com/disk': 1 } };
    const fleet = [
      configured('c-1', other, small),
      configuring('c-2', other, small),
      creating('c-3', other, { ...small, stuck: true }),
      draining('c-4', other, small),
      idle('c-5', small),
      speculative('c-6', { ...small, intent: 'provision', assignment: other }),
      ...offers(3),
    ];
    const created = (most: number) =>
      provisions(
        decideWith(
          world(fleet, [cluster('alpha', [web]), cluster('beta', [])], {
            ordinary: false,
            ceilings: ceilings(most),
          }),
        ),
      );
    expect(created(6)).toEqual([]);
    expect(created(7)).toEqual(['Provision m-1']);
  });

  it('E7: bars neither Idle machines nor victims, which cost their price already', () => {
    const low = need({ priority: 10, aggregate: cpus(4) });
    const fleet = [
      idle('i-1', { price: 1 }),
      configured('v-1', assignmentFor('beta', low), { price: 1 }),
      ...offers(2),
    ];
    const wanted = need({ priority: 500, aggregate: cpus(8) });
    const result = decideWith(
      world(fleet, [cluster('alpha', [wanted]), cluster('beta', [low])], { ceilings: ceilings(0) }),
    );
    expect(did(result)).toEqual(['Bootstrap i-1', 'Preempt v-1']);
    expect(verdictOf(result, 'alpha', wanted).limitedBy).toBe('');
  });

  it('E7: takes nothing away from a fleet over its ceiling', () => {
    const own = assignmentFor('alpha', web);
    const fleet = [configured('c-1', own, { price: 1 }), configured('c-2', own, { price: 1 }), ...offers(2)];
    const result = decideWith(
      world(fleet, [cluster('alpha', [web])], { ceilings: ceilings(1, { [Spot]: 0 }) }),
    );
    expect(did(result)).toEqual([]);
    expect(claimedBy(result, keyOf('alpha', web))).toEqual(['c-1', 'c-2']);
  });

  it('E7: a ceiling of a capacity type leaves the other types', () => {
    const fleet = [
      ...offers(3, { capacityType: Spot }),
      speculative('o-1', { price: 2, capacityType: OnDemand }),
      speculative('o-2', { price: 2, capacityType: OnDemand }),
    ];
    const decide = (byType: Partial<Record<number, number>>) =>
      decideWith(world(fleet, [cluster('alpha', [web])], { ceilings: ceilings(NONE, byType) }));
    const bySpot = decide({ [Spot]: 1 });
    expect(did(bySpot)).toEqual(['Provision m-1', 'Provision o-1', 'Provision o-2']);
    expect(verdictOf(bySpot, 'alpha', web).limitedBy).toBe('ceilings.spot-usd-per-hour');
    expect(verdictOf(decide({ [OnDemand]: 3 }), 'alpha', web).limitedBy).toBe(
      'ceilings.on-demand-usd-per-hour',
    );
  });

  it('E7: gives what a ceiling leaves to needs in the order of A3, whichever cluster they are of', () => {
    const first = need({ priority: 900, aggregate: cpus(8) });
    const clusters = [cluster('alpha', [web]), cluster('beta', [first])];
    const result = decideWith(world(offers(6), clusters, { ceilings: ceilings(3) }));
    expect(result.actions.map(({ cluster: id }) => id)).toEqual(['beta', 'beta', 'alpha']);
    expect(verdictOf(result, 'beta', first).satisfied).toBe(true);
  });

  it('E7: names the limit of the cluster (T8) before the ceiling', () => {
    const limits = {
      maxPriority: NONE,
      maxMachines: 1,
      maxResources: {},
      maxDollarsPerHour: NONE,
      maxOfferingShare: NONE,
      minNonSpotShare: 0,
    };
    const result = decideWith(
      world(offers(3), [cluster('alpha', [web], { limits })], { ceilings: ceilings(1) }),
    );
    expect(did(result)).toEqual(['Provision m-1']);
    expect(verdictOf(result, 'alpha', web).limitedBy).toBe('max-machines');
  });

  it('E7: a machine without a price exceeds no ceiling', () => {
    const result = decideWith(
      world(offers(2, { price: 0 }), [cluster('alpha', [web])], { ceilings: ceilings(0) }),
    );
    expect(did(result)).toEqual(['Provision m-1', 'Provision m-2']);
  });

  it('E7: a gang that does not fit whole acquires nothing, reserves nothing and is not parked', () => {
    const job = gang('job', 16);
    const plain = need({ priority: 1, aggregate: cpus(8) });
    const decide = (most: number) =>
      decideWith(
        world(offers(4), [cluster('alpha', [job]), cluster('beta', [plain])], { ceilings: ceilings(most) }),
      );
    const barred = decide(3);
    expect(barred.actions.map(({ cluster: id }) => id)).toEqual(['beta', 'beta']);
    expect(verdictOf(barred, 'alpha', job)).toMatchObject({
      claimed: 0,
      reason: UnmetReason.PriorityStarved,
      limitedBy: 'ceilings.usd-per-hour',
    });
    expect([...barred.parking]).toEqual([]);
    expect(decide(4).actions.map(({ cluster: id }) => id)).toEqual(['alpha', 'alpha', 'alpha', 'alpha']);
  });
});
