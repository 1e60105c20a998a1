import { describe, expect, it } from 'vitest';
import { subjects } from '../subjects.ts';
import type { WorldMachine, WorldNeed } from '../world.ts';
import {
  assignmentFor,
  boundTo,
  cluster,
  configured,
  cpus,
  did,
  drainFor,
  draining,
  foldFingerprint,
  gang,
  idle,
  inRack,
  isIn,
  keyOf,
  need,
  RACK,
  spreadOver,
  world,
} from './worlds.ts';

describe.each(subjects)('$name', ({ decideWith }) => {
  const low = need({ priority: 10, aggregate: cpus(100) });
  const ofLow = assignmentFor('beta', low);
  const wanting = need({ priority: 1_000, aggregate: cpus(8) });
  const found = { foundDraining: true };

  const decideFor = (needs: WorldNeed[], fleet: WorldMachine[]) =>
    decideWith(world(fleet, [cluster('alpha', needs), cluster('beta', [low], { hasSession: false })]));
  const victimsOf = (needs: WorldNeed[], fleet: WorldMachine[]) => did(decideFor(needs, fleet));
  const victims = ['v-1', 'v-2', 'v-3'].map((id) => configured(id, ofLow));

  it('P4: demand that neither acquisition nor preemption covers is a shortfall', () => {
    expect(decideFor([wanting], [idle('m-1', { capacity: cpus(1) }), victims[0]!]).shortfalls[0]).toEqual({
      fingerprint: 'p=1000|ipb=0|rpb=0|reqs=|spr=',
      deficit: cpus(3),
      priority: 1_000,
    });
    expect(decideWith(world([idle('m-1'), idle('m-2')], [cluster('alpha', [wanting])])).shortfalls).toEqual(
      [],
    );
  });

  it('P5: sums shortfalls per fingerprint over clusters and groups, the highest priority first', () => {
    const gold = need({ requirements: [isIn('tier', 'gold')], aggregate: { cpu: 1_000, memory: 5 } });
    const result = decideWith(
      world(
        [],
        [
          cluster('alpha', [need({ group: 'a' }), need({ group: 'b' }), gold]),
          cluster('beta', [need(), need({ priority: 200, aggregate: cpus(1) })]),
        ],
      ),
    );
    expect(result.shortfalls).toEqual([
      { fingerprint: 'p=200|ipb=0|rpb=0|reqs=|spr=', deficit: cpus(1), priority: 200 },
      {
        fingerprint: 'p=100|ipb=0|rpb=0|reqs=tier:1:gold;|spr=',
        deficit: { cpu: 1_000, memory: 5 },
        priority: 100,
      },
      { fingerprint: 'p=100|ipb=0|rpb=0|reqs=|spr=', deficit: cpus(12), priority: 100 },
    ]);
  });

  it('P6: a machine that drains for the need counts as freed, from the enqueue on', () => {
    expect(victimsOf([wanting], victims)).toEqual(['Preempt v-1', 'Preempt v-2']);
    const one = draining('m-1', ofLow, drainFor('alpha', wanting));
    const enqueued = configured('m-2', ofLow, { intent: 'preempt', ...drainFor('alpha', wanting) });
    expect(victimsOf([wanting], [one, ...victims])).toEqual(['Preempt v-1']);
    expect(victimsOf([wanting], [enqueued, ...victims])).toEqual(['Preempt v-1']);
    const both = decideFor([wanting], [one, enqueued, ...victims]);
    expect(did(both)).toEqual([]);
    expect(both.shortfalls.map(({ priority }) => priority)).toEqual([10]);
  });

  it('P6: a machine that drains for another need that lacks it, or by a reclaim, does not count for this one', () => {
    const other = need({ priority: 500, group: 'other' });
    const fleet = [draining('m-1', ofLow, drainFor('alpha', other)), draining('m-2', ofLow), ...victims];
    expect(victimsOf([wanting, other], fleet)).toEqual(['Preempt v-1', 'Preempt v-2']);
  });

  it('P6: of three needs with one victim each, the first takes the machine that is drained first, and no further victim follows', () => {
    const [one, two, three] = ['1', '2', '3'].map((group) => need({ priority: 1_000, group })) as [
      WorldNeed,
      WorldNeed,
      WorldNeed,
    ];
    const drains = [
      draining('m-1', ofLow, drainFor('alpha', one)),
      draining('m-2', ofLow, drainFor('alpha', two)),
    ];
    expect(victimsOf([one, two, three], [...drains, idle('m-3'), ...victims])).toEqual(['Bootstrap m-3']);
    // The first need is met, so its drain counts for the third; m-2 still counts for the second.
    const bound = configured('m-3', assignmentFor('alpha', one));
    const later = decideFor([one, two, three], [...drains, bound, ...victims]);
    expect(did(later)).toEqual([]);
    expect(later.shortfalls.map(({ priority }) => priority)).toEqual([10]);
    // A fourth need gets a victim of its own.
    const four = need({ priority: 1_000, group: '4' });
    expect(victimsOf([one, two, three, four], [...drains, bound, ...victims])).toEqual(['Preempt v-1']);
  });

  it('P6: a need counts its own drains by id as far as it lacks them; the rest count for the next deficit, once', () => {
    const second = need({ priority: 500, group: 'second' });
    const third = need({ priority: 400, group: 'third' });
    const fleet = [
      ...['m-1', 'm-2', 'm-3'].map((id) => draining(id, ofLow, drainFor('alpha', wanting))),
      ...victims,
    ];
    expect(victimsOf([wanting], fleet)).toEqual([]);
    expect(victimsOf([wanting, second], fleet)).toEqual([]);
    const result = decideFor([wanting, second, third], fleet);
    expect(result.actions.map(({ machine, group }) => `${machine} ${group}`)).toEqual(['v-1 third']);
  });

  it('P6: own drains that no longer match or cover min_unit count for another need', () => {
    const gold = { tier: 'gold' };
    const picky = need({ priority: 2_000, group: 'picky', requirements: [isIn('tier', 'gold')] });
    const large = need({ priority: 2_000, group: 'large', minUnit: cpus(5) });
    for (const owner of [picky, large]) {
      const fleet = [
        draining('m-1', ofLow, drainFor('alpha', owner)),
        configured('v-1', ofLow, { labels: gold, capacity: cpus(5) }),
        configured('v-2', ofLow),
        configured('v-3', ofLow),
      ];
      const result = decideFor([owner, wanting], fleet);
      expect(result.actions.map(({ machine, group }) => `${machine} ${group}`)).toEqual([
        `v-1 ${owner.group}`,
        'v-2 ',
      ]);
    }
  });

  it('P6: a need barred by A9 counts no drain: its drains count for another need meanwhile, and for it again afterwards', () => {
    const away = need({ priority: 2_000, group: 'away' });
    const fleet = [draining('m-1', ofLow, drainFor('gamma', away)), ...victims];
    const decideWhen = (hasSession: boolean, backoff: boolean) =>
      decideWith(
        world(fleet, [
          cluster('alpha', [wanting]),
          cluster('beta', [low], { hasSession: false }),
          cluster('gamma', [{ ...away, backoff }], { hasSession }),
        ]),
      );
    expect(did(decideWhen(true, false))).toEqual(['Preempt v-1', 'Preempt v-2']);
    for (const barred of [decideWhen(false, false), decideWhen(true, true)]) {
      expect(did(barred)).toEqual(['Preempt v-1']);
      expect(barred.shortfalls.map(({ priority }) => priority)).toEqual([2_000, 10]);
    }
  });

  it('P6: a parked gang counts no drain either', () => {
    const job = gang('job-1', 80, { priority: 2_000 });
    const fleet = [
      configured('m-0', assignmentFor('alpha', job)),
      draining('m-1', ofLow, drainFor('alpha', job)),
      ...victims,
    ];
    const parking = new Map([[keyOf('alpha', job), 8]]);
    const clusters = [cluster('alpha', [job, wanting]), cluster('beta', [low], { hasSession: false })];
    expect(did(decideWith(world(fleet, clusters, { parking })))).toEqual(['Preempt v-1']);
    expect(did(decideWith(world(fleet, clusters)))).toEqual(['Preempt v-1', 'Preempt v-2']);
  });

  it('P6: a need under A4 counts unowned drains only in domains where it may take a machine, and never without the key', () => {
    const spread = { ...wanting, spread: [spreadOver(RACK)] };
    const held = configured('m-0', assignmentFor('alpha', spread), inRack('rack-1'));
    const next = need({ priority: 500, group: 'next' });
    const fleet = (facts: Partial<WorldMachine>) => [
      held,
      idle('m-9', { ...inRack('rack-2'), capacity: cpus(1) }),
      draining('m-1', ofLow, { ...facts, ...found }),
      configured('v-1', ofLow, inRack('rack-2')),
    ];
    const wide = { ...spread, minUnit: cpus(1), aggregate: cpus(10) };
    const decideOn = (facts: Partial<WorldMachine>) => did(decideFor([wide, next], fleet(facts)));
    // m-9 makes rack-2 as full as rack-1, after which either may follow.
    expect(decideOn(inRack('rack-1'))).toEqual(['Bootstrap m-9', 'Preempt v-1']);
    expect(decideOn({ labels: {} })).toEqual(['Bootstrap m-9', 'Preempt v-1']);
    const uneven = { ...spread, aggregate: cpus(8) };
    const inSecond = [
      held,
      idle('m-9', { ...inRack('rack-2'), backoff: true }),
      draining('m-1', ofLow, { ...inRack('rack-1'), ...found }),
      configured('v-1', ofLow, inRack('rack-2')),
    ];
    // rack-2 is empty, so m-1 in rack-1 counts not for the spread need but for the next one.
    const result = decideFor([uneven, next], inSecond);
    expect(result.actions.map(({ machine, group }) => `${machine} ${group}`)).toEqual(['v-1 ']);
  });

  it('P6: a machine found draining after a start, or draining for a need that is gone, counts for the first deficit it fits', () => {
    const gone = need({ group: 'gone' });
    for (const facts of [found, drainFor('alpha', gone)]) {
      const first = need({ priority: 2_000, group: 'first' });
      const fleet = [draining('m-1', boundTo('nobody'), facts), ...victims];
      const result = decideFor([wanting, first], fleet);
      expect(result.actions.map(({ machine, group }) => `${machine} ${group}`)).toEqual(['v-1 ', 'v-2 ']);
    }
  });

  it('P6: a found machine that does not match, cover min_unit or have a missing dimension counts for the next deficit', () => {
    const gold = need({
      priority: 3_000,
      group: 'gold',
      requirements: [isIn('tier', 'gold')],
      aggregate: cpus(1),
    });
    const large = need({ priority: 2_500, group: 'large', minUnit: cpus(5), aggregate: cpus(1) });
    const memory = need({ priority: 2_000, group: 'memory', aggregate: { memory: 1 } });
    const fleet = [draining('m-1', ofLow, found), victims[0]!, victims[1]!];
    expect(victimsOf([gold, large, memory, wanting], fleet)).toEqual(['Preempt v-1']);
  });

  it('P6: a need’s own drains count before found ones, which are then left to others', () => {
    const second = need({ priority: 500, group: 'second' });
    const fleet = [
      draining('m-1', ofLow, { ...drainFor('alpha', wanting), capacity: cpus(8) }),
      draining('m-0', ofLow, found),
      ...victims,
    ];
    expect(victimsOf([wanting, second], fleet)).toEqual([]);
  });

  it('P6: a stuck drain does not count (X11)', () => {
    const fleet = [
      draining('m-1', ofLow, { ...drainFor('alpha', wanting), stuck: true }),
      draining('m-2', ofLow, { ...found, stuck: true }),
      ...victims,
    ];
    expect(victimsOf([wanting], fleet)).toEqual(['Preempt v-1', 'Preempt v-2']);
  });

  it('P6: only drains in its chosen rack count for a gang', () => {
    const job = gang('job-1', 12, { priority: 1_000 });
    const rack = (name: string) => ({ ...inRack(name), ...drainFor('alpha', job) });
    const fleet = [
      idle('m-1', inRack('rack-1')),
      idle('m-2', inRack('rack-1')),
      configured('v-1', ofLow, inRack('rack-1')),
    ];
    expect(victimsOf([job], [...fleet, draining('m-3', ofLow, rack('rack-1'))])).toEqual([
      'Bootstrap m-1',
      'Bootstrap m-2',
    ]);
    expect(victimsOf([job], [...fleet, draining('m-3', ofLow, rack('rack-2'))])).toEqual([
      'Bootstrap m-1',
      'Bootstrap m-2',
      'Preempt v-1',
    ]);
    expect(victimsOf([job], [...fleet, draining('m-3', ofLow, { ...inRack('rack-2'), ...found })])).toContain(
      'Preempt v-1',
    );
  });

  it('P6: drains count in the racks of a need under A4', () => {
    const spread = { ...wanting, aggregate: cpus(12), spread: [spreadOver(RACK)] };
    const fleet = [
      idle('m-1', inRack('rack-1')),
      draining('m-2', ofLow, { ...inRack('rack-2'), ...drainFor('alpha', spread) }),
      configured('v-1', ofLow, inRack('rack-3')),
      configured('v-2', ofLow, inRack('rack-1')),
    ];
    // One in rack-1, one draining in rack-2: the third may come from anywhere; by id it is v-1.
    expect(victimsOf([spread], fleet)).toEqual(['Bootstrap m-1', 'Preempt v-1']);
    const again = [
      ...fleet.slice(0, 2),
      draining('m-3', ofLow, { ...inRack('rack-2'), ...drainFor('alpha', spread) }),
    ];
    const wider = { ...spread, aggregate: cpus(16) };
    const more = [
      ...again,
      configured('v-0', ofLow, inRack('rack-2')),
      configured('v-9', ofLow, inRack('rack-1')),
    ];
    // Two drain in rack-2 and one is in rack-1: only rack-1 may take another.
    expect(victimsOf([wider], more)).toEqual(['Bootstrap m-1', 'Preempt v-9']);
  });

  it('P6: a machine that drains for a fold counts for the fold', () => {
    const gangs = [gang('job-1', 4, { priority: 1_000 }), gang('job-2', 4, { priority: 1_000 })];
    const fold = { cluster: 'alpha', fingerprint: foldFingerprint(gangs[0]!), group: 'fold:cpu=4' };
    const rival = need({ priority: 5_000 });
    const fleet = [idle('m-1'), idle('m-2'), draining('m-3', ofLow, { drainFor: fold }), ...victims];
    expect(victimsOf([...gangs, rival], fleet)).toEqual(['Bootstrap m-1', 'Bootstrap m-2']);
    expect(
      victimsOf(
        [...gangs, rival],
        fleet.filter(({ id }) => id !== 'm-3'),
      ),
    ).toContain('Preempt v-1');
  });
});
