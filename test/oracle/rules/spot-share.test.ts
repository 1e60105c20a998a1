import { describe, expect, it } from 'vitest';
import { CapacityType } from '../../../src/machine/capacity-type.ts';
import { tenantLimits } from '../../../src/shard/tenants.ts';
import { subjects } from '../subjects.ts';
import type { WorldCluster, WorldMachine, WorldNeed } from '../world.ts';
import { UnmetReason } from '../world.ts';
import {
  assignmentFor,
  claimedBy,
  cluster,
  configured,
  cpus,
  creating,
  did,
  drainFor,
  draining,
  gang,
  idle,
  inRack,
  keyOf,
  need,
  speculative,
  spreadOver,
  verdictOf,
  world,
  ZONE,
} from './worlds.ts';

describe.each(subjects)('$name', ({ decideWith }) => {
  const withShare = (minNonSpotShare: number, needs: WorldNeed[]): WorldCluster =>
    cluster('alpha', needs, { limits: tenantLimits({ cluster: 'alpha', minNonSpotShare }) });
  const web = need({ aggregate: cpus(16) });
  const spot = { capacityType: CapacityType.Spot, price: 1 };
  const other = { capacityType: CapacityType.OnDemand, price: 3 };
  const some = (count: number, name: string, of: (id: string) => WorldMachine) =>
    Array.from({ length: count }, (_, index) => of(`${name}-${index + 1}`));
  const idles = (spots: number, others: number) => [
    ...some(spots, 's', (id) => idle(id, spot)),
    ...some(others, 'o', (id) => idle(id, other)),
  ];
  const byValue = { value: { offerMargin: 0.2 } };

  it('E8: binds a spot machine for each other one when half must not be spot, by either placement', () => {
    const of = world(idles(4, 4), [withShare(0.5, [web])]);
    const expected = ['Bootstrap o-1', 'Bootstrap s-1', 'Bootstrap o-2', 'Bootstrap s-2'];
    expect(did(decideWith(of))).toEqual(expected);
    expect(did(decideWith({ ...of, ...byValue }))).toEqual(expected);
  });

  it('E8: without a share the need takes spot machines alone', () => {
    expect(did(decideWith(world(idles(4, 4), [withShare(0, [web])])))).toEqual(
      [1, 2, 3, 4].map((n) => `Bootstrap s-${n}`),
    );
  });

  it('E8: a need that only spot machines match is limited, and names the share', () => {
    const result = decideWith(world(idles(4, 1), [withShare(0.5, [web])]));
    expect(did(result)).toEqual(['Bootstrap o-1', 'Bootstrap s-1']);
    expect(verdictOf(result, 'alpha', web)).toMatchObject({
      satisfied: false,
      deficit: cpus(8),
      reason: UnmetReason.PriorityStarved,
      limitedBy: 'min-non-spot-share',
    });
  });

  it('E8: counts what the cluster has, whatever need it is for, and offers as well as Idle machines', () => {
    const held = assignmentFor('alpha', need({ group: 'gone' }));
    const fleet = [
      ...some(3, 'h', (id) => configured(id, held, { ...other, capacity: { 'example.com/disk': 1 } })),
      ...some(4, 'p', (id) => speculative(id, spot)),
    ];
    const of = world(fleet, [withShare(0.75, [web])], { ordinary: false });
    expect(did(decideWith(of))).toEqual(['Provision p-1']);
  });

  it('E8: never touches credit: a cluster below its share keeps its spot machines', () => {
    const own = assignmentFor('alpha', web);
    const fleet = some(4, 'c', (id) => configured(id, own, spot));
    const result = decideWith(world(fleet, [withShare(1, [web])]));
    expect(did(result)).toEqual([]);
    expect(claimedBy(result, keyOf('alpha', web))).toHaveLength(4);
  });

  it('E8: shares are exact: three of ten machines are 0.3', () => {
    const large = need({ aggregate: cpus(40) });
    const result = decideWith(world(idles(10, 10), [withShare(0.3, [large])]));
    expect(did(result).filter((action) => action.includes('s-'))).toHaveLength(7);
  });

  it('E8: a need with a spread looks again at the domains whose spot machines it skipped', () => {
    const wide = need({ aggregate: cpus(16), spread: [spreadOver(ZONE, 1)] });
    const fleet = [
      ...some(2, 's', (id) => idle(id, { ...spot, zone: 'zone-1' })),
      ...some(2, 'o', (id) => idle(id, { ...other, zone: 'zone-2' })),
    ];
    for (const more of [{}, byValue]) {
      const result = decideWith(world(fleet, [withShare(0.5, [wide])], more));
      expect(did(result).sort()).toEqual(['o-1', 'o-2', 's-1', 's-2'].map((id) => `Bootstrap ${id}`));
    }
  });

  it('E8: judges the machines of a gang together, and bars the gang whole', () => {
    const together = gang('g', 16);
    const rack = inRack('r1');
    const fleet = (spots: number) => [
      ...some(spots, 's', (id) => idle(id, { ...spot, ...rack })),
      ...some(4 - spots, 'o', (id) => idle(id, { ...other, ...rack })),
    ];
    expect(did(decideWith(world(fleet(2), [withShare(0.5, [together])])))).toHaveLength(4);
    const barred = decideWith(world(fleet(3), [withShare(0.5, [together])]));
    expect(did(barred)).toEqual([]);
    expect(verdictOf(barred, 'alpha', together).limitedBy).toBe('min-non-spot-share');
  });

  it('E8: claims an unassigned Creating spot machine, which is bound later', () => {
    const fleet = [creating('c-1', assignmentFor('alpha', need({ group: 'gone' })), spot)];
    const result = decideWith(world(fleet, [withShare(1, [need({ aggregate: cpus(4) })])]));
    expect(result.claims.size).toBe(1);
  });

  it('E8: takes no spot victim beyond the share, and counts none that drains for it', () => {
    const low = assignmentFor('beta', need({ priority: 10, aggregate: cpus(100) }));
    const high = need({ priority: 500, aggregate: cpus(8) });
    const beta = cluster('beta', [need({ priority: 10, aggregate: cpus(100) })]);
    const victims = [
      configured('v-1', low, spot),
      configured('v-2', low, other),
      configured('v-3', low, other),
    ];
    const result = decideWith(world(victims, [withShare(0.5, [high]), beta]));
    expect(did(result).filter((action) => action.startsWith('Preempt'))).toEqual([
      'Preempt v-2',
      'Preempt v-3',
    ]);
    const drains = draining('v-1', low, { ...spot, ...drainFor('alpha', high) });
    const later = decideWith(world([drains, ...victims.slice(1)], [withShare(0.5, [high]), beta]));
    expect(did(later).filter((action) => action.startsWith('Preempt'))).toEqual([
      'Preempt v-2',
      'Preempt v-3',
    ]);
  });

  it('E8: by value, the trim keeps a machine without which the spot machines would be too many', () => {
    const disks = need({ aggregate: { cpu: 4_000, 'example.com/disk': 1_000 } });
    const fleet = [
      idle('o-1', { ...other, price: 0.1, capacity: { cpu: 1_000 } }),
      idle('s-1', { ...spot, capacity: { cpu: 4_000, 'example.com/disk': 1_000 } }),
    ];
    const of = (share: number) => world(fleet, [withShare(share, [disks])], byValue);
    expect(did(decideWith(of(0.5)))).toEqual(['Bootstrap o-1', 'Bootstrap s-1']);
    expect(did(decideWith(of(0)))).toEqual(['Bootstrap s-1']);
  });
});
