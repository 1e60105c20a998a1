import { describe, expect, it } from 'vitest';
import { subjects } from '../subjects.ts';
import type { WorldCluster, WorldLimits, WorldMachine, WorldNeed } from '../world.ts';
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
  spreadOver,
  verdictOf,
  world,
  ZONE,
} from './worlds.ts';

const NONE = Number.POSITIVE_INFINITY;

describe.each(subjects)('$name', ({ decideWith }) => {
  const limited = (needs: WorldNeed[], limits: Partial<WorldLimits>): WorldCluster =>
    cluster('alpha', needs, {
      limits: {
        maxPriority: NONE,
        maxMachines: NONE,
        maxResources: {},
        maxDollarsPerHour: NONE,
        maxOfferingShare: NONE,
        minNonSpotShare: 0,
        ...limits,
      },
    });
  const web = need({ aggregate: cpus(20) });
  const idles = (count: number) => Array.from({ length: count }, (_, index) => idle(`m-${index + 1}`));
  const low = need({ priority: 10, aggregate: cpus(100) });
  const ofLow = assignmentFor('beta', low);
  const victims = (count: number) =>
    Array.from({ length: count }, (_, index) => configured(`v-${index + 1}`, ofLow));

  it('T8: takes machines one by one as far as max-machines allows', () => {
    const result = decideWith(world(idles(5), [limited([web], { maxMachines: 2 })]));
    expect(did(result)).toEqual(['Bootstrap m-1', 'Bootstrap m-2']);
    expect(verdictOf(result, 'alpha', web)).toMatchObject({
      satisfied: false,
      deficit: cpus(12),
      reason: UnmetReason.PriorityStarved,
      limitedBy: 'max-machines',
    });
  });

  it('T8: counts Creating, Configuring, Configured and enqueued machines, whatever need they are for', () => {
    const other = assignmentFor('alpha', need({ group: 'gone' }));
    const fleet = [
      configured('c-1', other, { capacity: { 'example.com/disk': 1 } }),
      configuring('c-2', other, { capacity: { 'example.com/disk': 1 } }),
      creating('c-3', other, { capacity: { 'example.com/disk': 1 }, stuck: true }),
      idle('c-4', { intent: 'bootstrap', assignment: other, capacity: { 'example.com/disk': 1 } }),
      draining('c-5', other, { capacity: { 'example.com/disk': 1 } }),
      ...idles(3),
    ];
    const taken = (maxMachines: number) =>
      did(decideWith(world(fleet, [limited([web], { maxMachines })], { ordinary: false })));
    expect(taken(4)).toEqual([]);
    expect(taken(5)).toEqual(['Bootstrap m-1']);
  });

  it('T8: never touches credit: a cluster over its limits keeps what it has', () => {
    const own = assignmentFor('alpha', web);
    const fleet = [configured('c-1', own), configured('c-2', own), configured('c-3', own), ...idles(2)];
    const limits = { maxMachines: 1, maxDollarsPerHour: 1, maxResources: cpus(1) };
    const result = decideWith(world(fleet, [limited([web], limits)]));
    expect(did(result)).toEqual([]);
    expect(claimedBy(result, keyOf('alpha', web))).toEqual(['c-1', 'c-2', 'c-3']);
  });

  it('T8: claims an unassigned Creating machine that counts already', () => {
    const fleet = [creating('c-1', assignmentFor('alpha', need({ group: 'gone' }))), ...idles(2)];
    const result = decideWith(world(fleet, [limited([web], { maxMachines: 1 })]));
    expect(did(result)).toEqual([]);
    expect(claimedBy(result, keyOf('alpha', web))).toEqual(['c-1']);
  });

  it('T8: skips a machine that would exceed a limit, and goes on with smaller and cheaper ones', () => {
    const large = { capacity: cpus(8), price: 1 };
    const small = { capacity: cpus(2), price: 5 };
    const fleet = [idle('m-1', large), idle('m-2', small), idle('m-3', small), speculative('m-4', small)];
    const byResources = decideWith(world(fleet, [limited([web], { maxResources: cpus(6) })]));
    expect(did(byResources)).toEqual(['Bootstrap m-2', 'Bootstrap m-3', 'Provision m-4']);
    expect(verdictOf(byResources, 'alpha', web).limitedBy).toBe('max-resources');
    const byDollars = decideWith(world(fleet, [limited([web], { maxDollarsPerHour: 6 })]));
    expect(did(byDollars)).toEqual(['Bootstrap m-1', 'Bootstrap m-2']);
    expect(verdictOf(byDollars, 'alpha', web).limitedBy).toBe('max-dollars-per-hour');
  });

  it('T8: a limit on a resource does not bar machines that have none of it', () => {
    const wanting = need({ aggregate: { cpu: 4_000, 'nvidia.com/gpu': 1_000 } });
    const fleet = [idle('m-1', { capacity: { cpu: 4_000, 'nvidia.com/gpu': 1_000 } }), idle('m-2')];
    const limits = { maxResources: { 'nvidia.com/gpu': 0 } };
    expect(did(decideWith(world(fleet, [limited([wanting], limits)])))).toEqual(['Bootstrap m-2']);
  });

  it('T8: takes no more than its share of the machines of an offering, but always one', () => {
    const others = idles(6).map((one) => ({ ...one, zone: 'zone-2', price: 3, id: `z${one.id}` }));
    const fleet = [...idles(4), ...others];
    const shares = (maxOfferingShare: number) =>
      did(decideWith(world(fleet, [limited([need({ aggregate: cpus(40) })], { maxOfferingShare })])));
    expect(shares(0.5)).toEqual(
      [1, 2].map((n) => `Bootstrap m-${n}`).concat(['zm-1', 'zm-2', 'zm-3'].map((id) => `Bootstrap ${id}`)),
    );
    expect(shares(0.1)).toEqual(['Bootstrap m-1', 'Bootstrap zm-1']);
  });

  it('T8: serves the needs of a cluster in the order of A3', () => {
    const first = need({ priority: 500, aggregate: cpus(8), group: 'first' });
    const result = decideWith(world(idles(5), [limited([web, first], { maxMachines: 3 })]));
    expect(verdictOf(result, 'alpha', first)).toMatchObject({ satisfied: true, limitedBy: '' });
    expect(verdictOf(result, 'alpha', web)).toMatchObject({ claimed: 1, limitedBy: 'max-machines' });
  });

  it('T8: leaves what it bars to other clusters', () => {
    const result = decideWith(
      world(idles(3), [limited([web], { maxMachines: 1 }), cluster('beta', [need({ aggregate: cpus(8) })])]),
    );
    expect(result.actions.map(({ cluster: id }) => id)).toEqual(['alpha', 'beta', 'beta']);
  });

  it('T8: stays within its limits under a spread', () => {
    const spread = need({ aggregate: cpus(20), spread: [spreadOver(ZONE)] });
    const fleet = [...idles(3), idle('z-1', { zone: 'zone-2' }), idle('z-2', { zone: 'zone-2' })];
    const result = decideWith(world(fleet, [limited([spread], { maxMachines: 3 })]));
    expect(did(result)).toEqual(['Bootstrap m-1', 'Bootstrap z-1', 'Bootstrap m-2']);
    expect(verdictOf(result, 'alpha', spread).limitedBy).toBe('max-machines');
  });

  it('T8: a gang that does not fit whole acquires nothing, reserves nothing and is not parked', () => {
    const job = gang('job', 16);
    const theirs = gang('theirs', 16, { arrivalMs: 2_000_000_000 });
    const decide = (maxMachines: number) =>
      decideWith(world(idles(4), [limited([job], { maxMachines }), cluster('beta', [theirs])]));
    const barred = decide(3);
    expect(barred.actions.map(({ cluster: id }) => id)).toEqual(['beta', 'beta', 'beta', 'beta']);
    expect(verdictOf(barred, 'alpha', job)).toMatchObject({
      claimed: 0,
      reason: UnmetReason.PriorityStarved,
      limitedBy: 'max-machines',
    });
    expect(decide(4).actions.map(({ cluster: id }) => id)).toEqual(['alpha', 'alpha', 'alpha', 'alpha']);
  });

  it('T8: a gang that a limit barred when it would have reserved does not take what others leave', () => {
    const job = gang('job', 16);
    const theirs = gang('theirs', 16, { arrivalMs: 2_000_000_000 });
    const clusters = [limited([job], { maxMachines: 3 }), cluster('beta', [theirs])];
    const result = decideWith(world(idles(5), clusters));
    expect(new Set(result.actions.map(({ cluster: id }) => id))).toEqual(new Set(['beta']));
  });

  it('T8: a gang that is larger than its rack does not fill the rack if a limit bars the rest', () => {
    const job = gang('job', 16);
    const key = keyOf('alpha', job);
    const decide = (maxMachines: number) =>
      decideWith(world(idles(3), [limited([job], { maxMachines })], { parking: new Map([[key, 3]]) }));
    expect(did(decide(3))).toEqual([]);
    expect(decide(3).parking.get(key) ?? 0).toBe(0);
    expect(did(decide(4))).toHaveLength(3);
  });

  it('T8: preempts only what it may bind, and no victim beyond that', () => {
    const urgent = need({ priority: 1_000, aggregate: cpus(12) });
    const decide = (limits: Partial<WorldLimits>) =>
      decideWith(
        world(victims(4), [limited([urgent], limits), cluster('beta', [low], { hasSession: false })]),
      );
    const result = decide({ maxMachines: 2 });
    expect(did(result)).toEqual(['Preempt v-1', 'Preempt v-2']);
    expect(verdictOf(result, 'alpha', urgent)).toMatchObject({
      reason: UnmetReason.PriorityStarved,
      limitedBy: 'max-machines',
    });
    expect(did(decide({ maxDollarsPerHour: 0.5 }))).toEqual([]);
    expect(verdictOf(decide({ maxDollarsPerHour: 0.5 }), 'alpha', urgent).limitedBy).toBe(
      'max-dollars-per-hour',
    );
  });

  it('T8: counts what drains for the cluster before it chooses victims', () => {
    const urgent = need({ priority: 1_000, aggregate: cpus(12) });
    const drainFor = { cluster: 'alpha', fingerprint: 'p=1000|ipb=0|rpb=0|reqs=|spr=', group: '' };
    const fleet = [draining('d-1', ofLow, { drainFor }), ...victims(4)];
    const clusters = [limited([urgent], { maxMachines: 2 }), cluster('beta', [low], { hasSession: false })];
    expect(did(decideWith(world(fleet, clusters)))).toEqual(['Preempt v-1']);
  });

  it('T8: a gang of a cluster at its limit may preempt machines of that cluster, and no others', () => {
    const own = gang('low', 8, { priority: 10 });
    const urgent = gang('job', 8, { priority: 1_000 });
    const fleet = [
      configured('a-1', ofLow),
      configured('a-2', ofLow),
      idle('m-1'),
      configured('o-1', assignmentFor('alpha', own)),
      configured('o-2', assignmentFor('alpha', own)),
    ];
    const decide = (maxMachines: number) => {
      const alpha = limited([own, urgent], { maxMachines });
      return did(decideWith(world(fleet, [alpha, cluster('beta', [low], { hasSession: false })])));
    };
    expect(decide(2)).toEqual(['Preempt o-1', 'Preempt o-2']);
    expect(decide(4)).toEqual(['Bootstrap m-1', 'Preempt a-1']);
  });

  it('T8: what a limit bars is no shortfall', () => {
    const shortfalls = (limits: Partial<WorldLimits>, fleet: WorldMachine[]) =>
      decideWith(world(fleet, [limited([web], limits)])).shortfalls.map(({ deficit }) => deficit);
    expect(shortfalls({}, idles(2))).toEqual([cpus(12)]);
    expect(shortfalls({ maxMachines: 2 }, idles(2))).toEqual([]);
    expect(shortfalls({ maxMachines: 3 }, idles(2))).toEqual([cpus(12)]);
    expect(shortfalls({ maxResources: cpus(8) }, idles(2))).toEqual([]);
    expect(shortfalls({ maxDollarsPerHour: 2.5 }, idles(3))).toEqual([]);
  });

  it('T8: decides a higher priority at the maximum, and keeps the fingerprint', () => {
    const loud = need({ priority: 2_000_000, arrivalMs: 2_000_000_000 });
    const modest = need({ priority: 500 });
    const decide = (limits: Partial<WorldLimits>) =>
      decideWith(world(idles(1), [limited([loud], limits), cluster('beta', [modest])]));
    expect(decide({}).actions[0]?.cluster).toBe('alpha');
    expect(decide({ maxPriority: 500 }).actions[0]?.cluster).toBe('beta');
    expect(decide({ maxPriority: 501 }).actions[0]).toMatchObject({
      cluster: 'alpha',
      fingerprint: 'p=2000000|ipb=0|rpb=0|reqs=|spr=',
    });
  });

  it('T8: needs of one cluster that are capped alike go by arrival', () => {
    const loudest = need({ priority: 2_000_000, arrivalMs: 2_000 });
    const loud = need({ priority: 1_000_000, arrivalMs: 1_000 });
    const equal = need({ priority: 500, arrivalMs: 3_000 });
    const result = decideWith(world(idles(2), [limited([equal, loudest, loud], { maxPriority: 500 })]));
    expect(result.actions.map(({ fingerprint }) => fingerprint.split('|')[0])).toEqual([
      'p=1000000',
      'p=2000000',
    ]);
  });

  it('T8: preempts, and is preempted, at the capped priority', () => {
    const loud = need({ priority: 2_000_000 });
    const decide = (maxPriority: number) =>
      decideWith(
        world(victims(1), [limited([loud], { maxPriority }), cluster('beta', [low], { hasSession: false })]),
      );
    expect(did(decide(10))).toEqual([]);
    expect(decide(11).actions[0]).toMatchObject({ kind: 'Preempt', graceSeconds: 600 });
    const held = configured('c-1', assignmentFor('alpha', loud));
    const theirs = cluster('beta', [need({ priority: 1_000 })]);
    const against = (maxPriority: number) =>
      did(decideWith(world([held], [limited([loud], { maxPriority }), theirs])));
    expect(against(1_000)).toEqual([]);
    expect(against(999)).toEqual(['Preempt c-1']);
  });
});
