import { describe, expect, it } from 'vitest';
import { PenaltyBucket } from '../../../src/machine/penalty.ts';
import { MachineState } from '../../../src/machine/state.ts';
import { subjects } from '../subjects.ts';
import { Operator } from '../world.ts';
import {
  assignmentFor,
  boundTo,
  claimedBy,
  cluster,
  configured,
  configuring,
  cpus,
  creating,
  did,
  draining,
  idle,
  isIn,
  keyOf,
  machine,
  need,
  speculative,
  verdictOf,
  world,
} from './worlds.ts';

describe.each(subjects)('$name', ({ decideWith }) => {
  it('A0: a machine that fits many needs serves the first one alone, slack included', () => {
    const first = need({ aggregate: cpus(1), priority: 20 });
    const second = need({ aggregate: cpus(1), priority: 10 });
    const result = decideWith(world([idle('m-1')], [cluster('alpha', [second, first])]));
    expect(claimedBy(result, keyOf('alpha', first))).toEqual(['m-1']);
    expect(verdictOf(result, 'alpha', second)).toMatchObject({
      satisfied: false,
      deficit: cpus(1),
      claimed: 0,
    });
  });

  it('A0: compares ids bytewise: gpu-10 comes before gpu-2', () => {
    const result = decideWith(world([idle('gpu-2'), idle('gpu-10')], [cluster('alpha', [need()])]));
    expect(did(result)).toEqual(['Bootstrap gpu-10']);
  });

  it('A0: compares ids by UTF-8 bytes: U+FFFD comes before U+10000', () => {
    const result = decideWith(world([idle('m-\u{10000}'), idle('m-\u{fffd}')], [cluster('alpha', [need()])]));
    expect(did(result)).toEqual(['Bootstrap m-\u{fffd}']);
  });

  it('A2: decides no action for an empty fleet without demand', () => {
    const result = decideWith(world([], []));
    expect(result.actions).toEqual([]);
    expect(result.verdicts).toEqual([]);
    expect(decideWith(world([], [cluster('alpha', [])])).actions).toEqual([]);
  });

  it('A2: a need for nothing is satisfied, claims no machine and leaves its machines to R1', () => {
    for (const aggregate of [{}, { cpu: 0 }]) {
      const nothing = need({ aggregate });
      const result = decideWith(
        world([configured('m-1', assignmentFor('alpha', nothing))], [cluster('alpha', [nothing])]),
      );
      expect(did(result)).toEqual(['Reclaim m-1']);
      expect(verdictOf(result, 'alpha', nothing)).toMatchObject({ satisfied: true, claimed: 0, deficit: {} });
    }
  });

  it('A2: a need larger than the fleet takes all of it and reports the rest as its deficit', () => {
    const large = need({ aggregate: cpus(20) });
    const fleet = [configured('m-1', boundTo('alpha')), idle('m-2'), speculative('m-3')];
    const result = decideWith(world(fleet, [cluster('alpha', [large])]));
    expect(claimedBy(result, keyOf('alpha', large))).toEqual(['m-1', 'm-2', 'm-3']);
    expect(verdictOf(result, 'alpha', large)).toMatchObject({
      satisfied: false,
      deficit: cpus(8),
      claimed: 3,
      bootstraps: 1,
      provisions: 1,
    });
  });

  it('A2: keeps machines in the order price asc, assigned reclamation penalty desc, id asc', () => {
    const two = need({ aggregate: cpus(8) });
    const fleet = [
      configured('m-1', boundTo('alpha'), { price: 2 }),
      configured('m-2', boundTo('alpha')),
      configured('m-3', boundTo('alpha', { reclamationPenalty: 5 })),
      configured('m-10', boundTo('alpha')),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [two])]));
    expect(claimedBy(result, keyOf('alpha', two))).toEqual(['m-10', 'm-3']);
    expect(did(result)).toEqual(['Reclaim m-2', 'Reclaim m-1']);
  });

  it('A2: counts an unspecified and a zero penalty as $0 in keep order, and keeps a pinned machine first', () => {
    const fleet = [
      configured('m-1', boundTo('alpha', { reclamationPenalty: PenaltyBucket.Unspecified })),
      configured('m-2', boundTo('alpha', { reclamationPenalty: PenaltyBucket.Zero })),
      configured('m-3', boundTo('alpha', { reclamationPenalty: PenaltyBucket.Pinned })),
      configured('m-4', boundTo('alpha', { reclamationPenalty: PenaltyBucket.Pinned })),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [])]));
    expect(did(result)).toEqual(['Reclaim m-3', 'Reclaim m-4', 'Reclaim m-1', 'Reclaim m-2']);
  });

  it('A2: a need keeps the machine assigned to it although its cluster has a cheaper one', () => {
    const web = need({ group: 'web' });
    const fleet = [
      configured('m-1', boundTo('alpha'), { price: 0.5 }),
      configured('m-2', assignmentFor('alpha', web), { price: 3 }),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [web])]));
    expect(claimedBy(result, keyOf('alpha', web))).toEqual(['m-2']);
    expect(did(result)).toEqual(['Reclaim m-1']);
  });

  it('A2: a machine assigned to another group, fingerprint or cluster is not the need’s own', () => {
    const web = need({ group: 'web' });
    const assignment = assignmentFor('alpha', web);
    const fleet = [
      configured('m-1', { ...assignment, group: 'other' }, { price: 2 }),
      configured('m-2', { ...assignment, fingerprint: 'p=1' }, { price: 2 }),
      configured('m-3', { ...assignment, cluster: 'beta' }),
      configured('m-4', boundTo('alpha')),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [web]), cluster('beta', [])]));
    expect(claimedBy(result, keyOf('alpha', web))).toEqual(['m-4']);
  });

  it('A2: scans own Configured, own Configuring, own Creating and enqueued, other Configured, other Configuring', () => {
    const web = need({ group: 'web' });
    const own = assignmentFor('alpha', web);
    const walk = [
      configured('m-9', own, { price: 9 }),
      configuring('m-8', own, { price: 8 }),
      // Creating and enqueued are one part, in keep order.
      creating('m-7', own, { price: 6 }),
      idle('m-6', { intent: 'bootstrap', assignment: own, price: 7 }),
      configured('m-5', boundTo('alpha'), { price: 2 }),
      configuring('m-4', boundTo('alpha')),
    ];
    for (let takenCount = 1; takenCount <= walk.length; takenCount++) {
      const sized = { ...web, aggregate: cpus(4 * takenCount) };
      const result = decideWith(world(walk.toReversed(), [cluster('alpha', [sized])]));
      const expected = walk.slice(0, takenCount).map(({ id }) => id);
      expect(claimedBy(result, keyOf('alpha', sized))).toEqual(expected.sort());
    }
  });

  it('A2: takes no machine that does not match, does not cover min_unit, or has no dimension that still remains', () => {
    const web = need({
      aggregate: { cpu: 4_000, memory: 100 },
      minUnit: { cpu: 2_000 },
      requirements: [isIn('tier', 'gold')],
    });
    const gold = { labels: { tier: 'gold' } };
    const fleet = [
      configured('m-1', boundTo('alpha')),
      configured('m-2', boundTo('alpha'), { ...gold, capacity: cpus(1) }),
      configured('m-3', boundTo('alpha'), { ...gold, capacity: cpus(4) }),
      configured('m-4', boundTo('alpha'), { ...gold, capacity: cpus(8) }),
      configured('m-5', boundTo('alpha'), { ...gold, capacity: { cpu: 2_000, memory: 100 } }),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [web])]));
    expect(claimedBy(result, keyOf('alpha', web))).toEqual(['m-3', 'm-5']);
  });

  it('A2: a min_unit larger than any machine takes nothing', () => {
    const web = need({ minUnit: cpus(5) });
    const fleet = [configured('m-1', assignmentFor('alpha', web)), idle('m-2'), speculative('m-3')];
    const result = decideWith(world(fleet, [cluster('alpha', [web])]));
    expect(did(result)).toEqual(['Reclaim m-1']);
    expect(verdictOf(result, 'alpha', web).deficit).toEqual(cpus(4));
  });

  it('A2: credits needs in the order priority, arrival, cluster, fingerprint, group', () => {
    const only = [configured('m-1', boundTo('alpha'))];
    const late = need({ group: 'a' });
    const early = need({ group: 'b', arrivalMs: late.arrivalMs - 1 });
    const urgent = need({ group: 'c', priority: 101, arrivalMs: late.arrivalMs + 1 });
    const winner = (...needs: (typeof late)[]) => {
      const result = decideWith(world(only, [cluster('alpha', needs, { hasSession: false })]));
      return result.claims.get('m-1');
    };
    expect(winner(late, early)).toBe(keyOf('alpha', early));
    expect(winner(early, urgent)).toBe(keyOf('alpha', urgent));
    expect(winner(late, need({ group: 'aa' }))).toBe(keyOf('alpha', late));
    const byFingerprint = need({ group: 'z', interruptionPenalty: 1 });
    expect(winner(need({ interruptionPenalty: 2 }), byFingerprint)).toBe(keyOf('alpha', byFingerprint));
  });

  it('A2: credits no machine that is Draining, Failed, Deleting or bound to another cluster', () => {
    const web = need({ group: 'web' });
    const own = assignmentFor('alpha', web);
    const fleet = [
      draining('m-1', own),
      machine('m-2', MachineState.Failed, { assignment: own }),
      machine('m-3', MachineState.Deleting),
      configured('m-4', own, { intent: 'reclaim' }),
      configured('m-5', own, { intent: 'preempt' }),
      configured('m-6', assignmentFor('beta', web)),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [web])]));
    expect(result.claims.size).toBe(0);
  });

  it('A2: does not count a stuck machine (X11), so the need acquires another', () => {
    const web = need({ group: 'web' });
    const own = assignmentFor('alpha', web);
    const fleet = [
      configuring('m-1', own, { stuck: true }),
      creating('m-2', own, { stuck: true }),
      idle('m-3'),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [web])]));
    expect(did(result)).toEqual(['Bootstrap m-3']);
    expect([...result.claims.keys()]).toEqual(['m-3']);
  });

  it('A2: matches as V4 says: zone and instance type where set, else the label; an unspecified operator never matches', () => {
    const zone = 'topology.kubernetes.io/zone';
    const type = 'node.kubernetes.io/instance-type';
    const fleet = [
      idle('m-1', { zone: 'zone-1', instanceType: 'small', labels: { [zone]: 'zone-2', [type]: 'large' } }),
      idle('m-2', { zone: '', instanceType: '', labels: { [zone]: 'zone-2', [type]: 'large', tier: '' } }),
    ];
    const chosen = (key: string, operator: Operator, ...values: string[]) => {
      const web = need({ requirements: [{ key, operator, values }], aggregate: cpus(8) });
      return claimedBy(decideWith(world(fleet, [cluster('alpha', [web])])), keyOf('alpha', web));
    };
    expect(chosen(zone, Operator.In, 'zone-1')).toEqual(['m-1']);
    expect(chosen(zone, Operator.In, 'zone-2')).toEqual(['m-2']);
    expect(chosen(type, Operator.NotIn, 'small', 'medium')).toEqual(['m-2']);
    expect(chosen('tier', Operator.Exists)).toEqual(['m-2']);
    expect(chosen('tier', Operator.DoesNotExist)).toEqual(['m-1']);
    expect(chosen('tier', Operator.NotIn, 'gold')).toEqual(['m-1', 'm-2']);
    expect(chosen('tier', Operator.Unspecified)).toEqual([]);
  });
});
