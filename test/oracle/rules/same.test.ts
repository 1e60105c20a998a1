import { describe, expect, it } from 'vitest';
import { subjects } from '../subjects.ts';
import type { WorldMachine, WorldNeed } from '../world.ts';
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
  drainFor,
  draining,
  gang,
  idle,
  inRack,
  keyOf,
  NOW_MS,
  need,
  RACK,
  same,
  speculative,
  spreadOver,
  verdictOf,
  world,
  ZONE,
} from './worlds.ts';

describe.each(subjects)('$name', ({ decideWith }) => {
  /** The domain that a gang of two machines (8 cpu) of cluster alpha chooses, alone in the world. */
  const domainOf = (fleet: WorldMachine[], job: WorldNeed = gang('job-1', 8)) =>
    verdictOf(decideWith(world(fleet, [cluster('alpha', [job])])), 'alpha', job).domain;
  const job = gang('job-1', 8);
  const own = assignmentFor('alpha', job);

  it('A5: a rack that covers the gang beats one that does not, even if the gang has a machine of its own there', () => {
    const fleet = [
      configured('m-1', own, inRack('rack-1')),
      idle('m-2', { ...inRack('rack-2'), price: 9 }),
      speculative('m-3', { ...inRack('rack-2'), price: 9 }),
    ];
    expect(domainOf(fleet)).toBe('rack-2');
    expect(did(decideWith(world(fleet, [cluster('alpha', [job])])))).toEqual([
      'Bootstrap m-2',
      'Provision m-3',
    ]);
  });

  it('A5: among racks that cover, more creditable capacity wins, then more of the gang’s own', () => {
    const rest = [idle('m-8', inRack('rack-1')), idle('m-9', inRack('rack-2'))];
    const bound = configured('m-2', boundTo('alpha'), inRack('rack-2'));
    expect(domainOf([...rest, idle('m-7', inRack('rack-1')), bound])).toBe('rack-2');
    const foreign = configured('m-1', boundTo('alpha'), inRack('rack-1'));
    const mine = configured('m-2', own, inRack('rack-2'));
    expect(domainOf([...rest, foreign, mine])).toBe('rack-2');
  });

  it('A5: among racks that cover alike, the smaller total wins, then more machines, then the smaller value', () => {
    const inOne = (rack: string, ...sizes: number[]) =>
      sizes.map((size, index) => idle(`${rack}-${index}`, { ...inRack(rack), capacity: cpus(size) }));
    expect(domainOf([...inOne('rack-1', 4, 4, 4), ...inOne('rack-2', 4, 4)])).toBe('rack-2');
    expect(domainOf([...inOne('rack-1', 4, 4), ...inOne('rack-2', 4, 2, 2)])).toBe('rack-2');
    expect(domainOf([...inOne('rack-2', 4, 4), ...inOne('rack-10', 4, 4)])).toBe('rack-10');
  });

  it('A5: ratios above 1 count in the total, but not in coverage', () => {
    const mixed = gang('job-1', 8, { aggregate: { cpu: 8_000, memory: 100 } });
    const fleet = [
      idle('m-1', { ...inRack('rack-1'), capacity: { cpu: 8_000, memory: 500 } }),
      idle('m-2', { ...inRack('rack-2'), capacity: { cpu: 12_000, memory: 100 } }),
      // A machine of its own elsewhere keeps the gang from folding.
      configured('m-3', assignmentFor('alpha', mixed), { labels: {} }),
    ];
    // rack-1: 1 + 5 = 6; rack-2: 1.5 + 1 = 2.5.
    expect(domainOf(fleet, mixed)).toBe('rack-2');
  });

  it('A5: among racks that do not cover, the gang’s own machines decide, then the total, then creditable machines', () => {
    const large = gang('job-1', 16);
    const mine = assignmentFor('alpha', large);
    const free = (id: string, rack: string) => idle(id, inRack(rack));
    expect(
      domainOf(
        [configured('m-1', mine, inRack('rack-1')), free('m-2', 'rack-2'), free('m-3', 'rack-2')],
        large,
      ),
    ).toBe('rack-1');
    expect(domainOf([free('m-1', 'rack-1'), free('m-2', 'rack-2'), free('m-3', 'rack-2')], large)).toBe(
      'rack-2',
    );
    const small = ['m-5', 'm-6'].map((id) => idle(id, { ...inRack('rack-1'), capacity: cpus(2) }));
    expect(domainOf([...small, idle('m-7', { ...inRack('rack-2'), capacity: cpus(8) })], large)).toBe(
      'rack-2',
    );
    const bound = configured('m-1', boundTo('alpha'), inRack('rack-2'));
    expect(domainOf([bound, free('m-2', 'rack-1')], large)).toBe('rack-2');
    expect(domainOf([free('m-1', 'rack-2'), free('m-2', 'rack-10')], large)).toBe('rack-10');
    // With equal totals more machines win.
    const halves = ['m-3', 'm-4'].map((id) => idle(id, { ...inRack('rack-2'), capacity: cpus(2) }));
    expect(domainOf([free('m-2', 'rack-1'), ...halves], large)).toBe('rack-2');
  });

  it('A5: a gang larger than any rack fills the best one and takes no machine elsewhere', () => {
    const large = gang('job-1', 16);
    const fleet = [idle('m-1'), idle('m-2'), idle('m-3', inRack('rack-2')), idle('m-4', { labels: {} })];
    const result = decideWith(world(fleet, [cluster('alpha', [large])]));
    expect(did(result)).toEqual(['Bootstrap m-1', 'Bootstrap m-2']);
    expect(verdictOf(result, 'alpha', large)).toMatchObject({
      satisfied: false,
      satisfiable: false,
      deficit: cpus(8),
      domain: 'rack-1',
    });
  });

  it('A5: a machine that drains for the gang counts in its rack, so the gang waits there', () => {
    const fleet = [
      draining('m-1', boundTo('beta'), { ...inRack('rack-2'), ...drainFor('alpha', job) }),
      idle('m-2', inRack('rack-2')),
      idle('m-3', inRack('rack-1')),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [job]), cluster('beta', [])]));
    expect(verdictOf(result, 'alpha', job)).toMatchObject({ domain: 'rack-2', satisfiable: true });
    expect(did(result)).toEqual(['Bootstrap m-2']);
  });

  it('A5: a machine that drains for the gang but no longer fits it does not count', () => {
    const picky = gang('job-1', 8, { minUnit: cpus(3) });
    const fleet = [
      idle('m-1', { ...inRack('rack-1'), capacity: cpus(6) }),
      draining('m-2', boundTo('beta'), {
        ...inRack('rack-1'),
        ...drainFor('alpha', picky),
        capacity: cpus(2),
      }),
      idle('m-3', inRack('rack-2')),
      idle('m-4', inRack('rack-2')),
    ];
    expect(domainOf(fleet, picky)).toBe('rack-2');
  });

  it('A5: a gang that acquires first by penalty leaves what an earlier gang reserved in its rack', () => {
    const first = gang('job-1', 8);
    const dear = gang('job-2', 12, { interruptionPenalty: 9, arrivalMs: NOW_MS + 1 });
    const fleet = [idle('m-1'), idle('m-2'), idle('m-3', { price: 9 })];
    const result = decideWith(world(fleet, [cluster('alpha', [first, dear])]));
    expect(claimedBy(result, keyOf('alpha', dear))).toEqual(['m-3']);
    expect(claimedBy(result, keyOf('alpha', first))).toEqual(['m-1', 'm-2']);
  });

  it('A5: a later gang does not count what an earlier gang of any cluster will take', () => {
    const first = gang('job-1', 8);
    const later = gang('job-1', 8, { arrivalMs: NOW_MS + 1 });
    const fleet = ['m-1', 'm-2', 'm-3', 'm-4'].map((id, index) =>
      idle(id, inRack(index < 2 ? 'rack-1' : 'rack-2')),
    );
    const result = decideWith(world(fleet, [cluster('alpha', [later]), cluster('beta', [first])]));
    expect(claimedBy(result, keyOf('beta', first))).toEqual(['m-1', 'm-2']);
    expect(claimedBy(result, keyOf('alpha', later))).toEqual(['m-3', 'm-4']);
  });

  it('A5: gangs reserve in order N4 although they acquire by penalty, and no other gang takes a reserved machine', () => {
    const first = gang('job-1', 8);
    const dear = gang('job-2', 8, { interruptionPenalty: 9, arrivalMs: NOW_MS + 1 });
    const fleet = [idle('m-1'), idle('m-2')];
    const result = decideWith(world(fleet, [cluster('alpha', [first, dear])]));
    expect(claimedBy(result, keyOf('alpha', first))).toEqual(['m-1', 'm-2']);
    expect(verdictOf(result, 'alpha', dear)).toMatchObject({ satisfied: false, domain: '', claimed: 0 });
  });

  it('A5: a gang reserves the cheapest machines of its rack and leaves the rest to the next gang', () => {
    const first = gang('job-1', 8, { priority: 200 });
    const second = gang('job-2', 8);
    const fleet = [
      idle('m-1', { price: 3 }),
      speculative('m-2', { price: 0.1 }),
      idle('m-3'),
      creating('m-4', null, { price: 9 }),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [first, second])]));
    expect(claimedBy(result, keyOf('alpha', first))).toEqual(['m-3', 'm-4']);
    expect(claimedBy(result, keyOf('alpha', second))).toEqual(['m-1', 'm-2']);
  });

  it('A5: a plain need may acquire a machine that a gang reserved', () => {
    const urgent = need({ priority: 500 });
    const result = decideWith(world([idle('m-1'), idle('m-2')], [cluster('alpha', [job, urgent])]));
    expect(result.claims.get('m-1')).toBe(keyOf('alpha', urgent));
    expect(verdictOf(result, 'alpha', job)).toMatchObject({
      satisfiable: true,
      satisfied: false,
      claimed: 1,
    });
  });

  it('A5: a machine assigned to another live gang is not creditable; one assigned to a gang that is gone is', () => {
    const other = gang('job-2', 8, { priority: 50 });
    const fleet = [configured('m-1', assignmentFor('alpha', other)), configured('m-2', own)];
    const both = decideWith(world(fleet, [cluster('alpha', [job, other])]));
    expect(claimedBy(both, keyOf('alpha', job))).toEqual(['m-2']);
    expect(claimedBy(both, keyOf('alpha', other))).toEqual(['m-1']);
    const alone = decideWith(world(fleet, [cluster('alpha', [job])]));
    expect(claimedBy(alone, keyOf('alpha', job))).toEqual(['m-1', 'm-2']);
  });

  it('A5: with two Same keys the domain is the tuple of their values', () => {
    const both = gang('job-1', 8, { requirements: [same(ZONE), same(RACK)] });
    const fleet = [
      idle('m-1', { zone: 'zone-1', ...inRack('rack-1') }),
      idle('m-2', { zone: 'zone-2', ...inRack('rack-1') }),
      idle('m-3', { zone: 'zone-2', ...inRack('rack-2') }),
      idle('m-4', { zone: 'zone-2', ...inRack('rack-2') }),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [both])]));
    expect(did(result)).toEqual(['Bootstrap m-3', 'Bootstrap m-4']);
    expect(verdictOf(result, 'alpha', both).domain).toBe('rack-2,zone-2');
  });

  it('A5: Same with values allows only those values; a machine without the key is in no domain', () => {
    const picky = gang('job-1', 8, { requirements: [same(RACK, 'rack-2', 'rack-3')] });
    const fleet = [
      idle('m-1'),
      idle('m-2'),
      idle('m-3', inRack('rack-3')),
      idle('m-4', inRack('rack-3')),
      idle('m-5', { labels: {} }),
    ];
    expect(domainOf(fleet, picky)).toBe('rack-3');
  });

  it('A5: Same wins over spread', () => {
    const both = gang('job-1', 8, { spread: [spreadOver(ZONE)] });
    const fleet = [idle('m-1'), idle('m-2'), idle('m-3', { zone: 'zone-2', ...inRack('rack-2') })];
    expect(did(decideWith(world(fleet, [cluster('alpha', [both])])))).toEqual([
      'Bootstrap m-1',
      'Bootstrap m-2',
    ]);
  });

  it('A5: machines in back-off are not acquirable and do not make their rack cover the gang', () => {
    const fleet = [
      idle('m-1'),
      idle('m-2', { backoff: true }),
      idle('m-3', { ...inRack('rack-2'), price: 9 }),
      idle('m-4', { ...inRack('rack-2'), price: 9 }),
    ];
    expect(domainOf(fleet)).toBe('rack-2');
  });

  it('A6: a gang that moves keeps its old machines until the new ones are Configured', () => {
    const old = configured('m-1', own, inRack('rack-1'));
    const newOnes = ['m-2', 'm-3'];
    const free = [old, ...newOnes.map((id) => idle(id, inRack('rack-2')))];
    const moving = decideWith(world(free, [cluster('alpha', [job])]));
    expect(did(moving)).toEqual(['Bootstrap m-2', 'Bootstrap m-3']);
    expect(claimedBy(moving, keyOf('alpha', job))).toEqual(['m-1', 'm-2', 'm-3']);
    // The old machine does not count.
    expect(verdictOf(moving, 'alpha', job)).toMatchObject({ satisfied: true, claimed: 2 });

    const arriving = [
      old,
      configured('m-2', own, inRack('rack-2')),
      configuring('m-3', own, inRack('rack-2')),
    ];
    expect(did(decideWith(world(arriving, [cluster('alpha', [job])])))).toEqual([]);

    const arrived = [old, ...newOnes.map((id) => configured(id, own, inRack('rack-2')))];
    expect(did(decideWith(world(arrived, [cluster('alpha', [job])])))).toEqual(['Reclaim m-1']);
  });

  it('A6: while no rack covers the gang, its own machines outside the best rack are left to R1', () => {
    const large = gang('job-1', 16);
    const mine = assignmentFor('alpha', large);
    const fleet = [
      configured('m-1', mine, inRack('rack-1')),
      configured('m-2', mine, inRack('rack-2')),
      configured('m-3', mine, inRack('rack-2')),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [large])]));
    expect(did(result)).toEqual(['Reclaim m-1']);
  });

  it('A6: machines that a moving gang still holds outside are not credited to a later need and have the gang’s priority', () => {
    const later = need({ priority: 50, group: 'later' });
    const higher = need({ priority: 101, group: 'higher', aggregate: cpus(4) });
    const fleet = [
      configured('m-1', own, { ...inRack('rack-1') }),
      idle('m-2', inRack('rack-2')),
      idle('m-3', inRack('rack-2')),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [job, later])]));
    expect(result.claims.get('m-1')).toBe(keyOf('alpha', job));
    expect(verdictOf(result, 'alpha', later).satisfied).toBe(false);
    const bare = fleet.map((one) =>
      one.id === 'm-1' ? { ...one, labels: { rack: 'rack-1', old: '' } } : one,
    );
    const wanting = { ...higher, requirements: [{ key: 'old', operator: 3 as const, values: [] }] };
    const preempted = decideWith(world(bare, [cluster('alpha', [job]), cluster('beta', [wanting])]));
    expect(did(preempted)).toContain('Preempt m-1');
    const equal = { ...wanting, priority: 100 };
    const spared = decideWith(world(bare, [cluster('alpha', [job]), cluster('beta', [equal])]));
    expect(did(spared)).not.toContain('Preempt m-1');
  });
});
