/** The worked examples of docs/rules.md, as they stand there: an example that is wrong teaches the wrong rule. */
import { describe, expect, it } from 'vitest';
import { subjects } from '../subjects.ts';
import type { WorldMachine, WorldNeed } from '../world.ts';
import {
  assignmentFor,
  boundTo,
  claimedBy,
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
  keyOf,
  NOW_MS,
  need,
  spreadOver,
  verdictOf,
  world,
  ZONE,
} from './worlds.ts';

describe.each(subjects)('$name: the examples of docs/rules.md', ({ decideWith }) => {
  it('A1: two machines of cpu 3 hold two gangs of cpu 2; a third machine folds the third', () => {
    const gangs = ['a', 'b', 'c'].map((name, index) => gang(name, 2, { arrivalMs: NOW_MS + index }));
    const fleet = ['m-1', 'm-2', 'm-3'].map((id) => idle(id, { capacity: cpus(3) }));
    const satisfied = (machines: WorldMachine[]) => {
      const result = decideWith(world(machines, [cluster('alpha', gangs)]));
      for (const { group, fingerprint } of result.actions) {
        expect([group, fingerprint]).toEqual(['fold:cpu=2', foldFingerprint(gangs[0]!)]);
      }
      return gangs.map((one) => verdictOf(result, 'alpha', one).satisfied);
    };
    expect(satisfied(fleet.slice(0, 2))).toEqual([true, true, false]);
    expect(satisfied(fleet)).toEqual([true, true, true]);
  });

  it('A2: a machine that has nothing of what still remains is skipped', () => {
    const wanted = need({
      aggregate: { cpu: 8_000, 'nvidia.com/gpu': 2_000 },
      minUnit: cpus(1),
    });
    const fleet = [
      configured('m1', boundTo('alpha'), { capacity: cpus(8) }),
      configured('m2', boundTo('alpha'), { capacity: cpus(8) }),
      configured('m3', boundTo('alpha'), { capacity: { cpu: 4_000, 'nvidia.com/gpu': 2_000 } }),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [wanted])]));
    expect(claimedBy(result, keyOf('alpha', wanted))).toEqual(['m1', 'm3']);
    expect(did(result)).toEqual(['Reclaim m2']);
  });

  it('A4: a zone that is used up holds the others back', () => {
    const wanted = need({ aggregate: cpus(16), spread: [spreadOver(ZONE)] });
    const fleet = [
      ...['a-1', 'a-2', 'a-3'].map((id) => idle(id, { zone: 'a' })),
      idle('b-1', { zone: 'b', price: 5 }),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [wanted])]));
    expect(did(result)).toEqual(['Bootstrap a-1', 'Bootstrap b-1', 'Bootstrap a-2']);
    expect(verdictOf(result, 'alpha', wanted).deficit).toEqual(cpus(4));
  });

  it('A5: a gang stays where its own machine is, and moves when only another rack covers it', () => {
    const job = gang('job', 16);
    const own = configured('own', assignmentFor('alpha', job), { ...inRack('r1'), capacity: cpus(8) });
    const beside = idle('beside', { ...inRack('r1'), capacity: cpus(8) });
    const elsewhere = ['e-1', 'e-2', 'e-3'].map((id) => idle(id, { ...inRack('r2'), capacity: cpus(8) }));
    const decide = (fleet: WorldMachine[]) => decideWith(world(fleet, [cluster('alpha', [job])]));
    const stays = decide([own, beside, ...elsewhere]);
    expect([verdictOf(stays, 'alpha', job).domain, did(stays)]).toEqual(['r1', ['Bootstrap beside']]);
    const moves = decide([own, ...elsewhere]);
    expect(verdictOf(moves, 'alpha', job).domain).toBe('r2');
    // A6: its own machine outside stays claimed meanwhile.
    expect(did(moves)).toEqual(['Bootstrap e-1', 'Bootstrap e-2']);
  });

  it('A7: a gang that no rack can hold is parked from the ninth cycle on, keeps what it has, and is tried at 32', () => {
    const job = gang('job', 32);
    const fleet = [1, 2, 3, 4, 5].map((index) => configured(`m-${index}`, assignmentFor('alpha', job)));
    let parking = new Map<string, number>();
    const parkedIn: number[] = [];
    for (let cycle = 1; cycle <= 34; cycle++) {
      const result = decideWith(world(fleet, [cluster('alpha', [job])], { cycle, parking }));
      if (verdictOf(result, 'alpha', job).parked) parkedIn.push(cycle);
      expect(did(result)).toEqual([]);
      parking = result.parking;
    }
    const ninthTo34 = Array.from({ length: 26 }, (_, index) => index + 9);
    expect(parkedIn).toEqual(ninthTo34.filter((cycle) => cycle !== 33));
  });

  it('P2, P3: zero penalties outweigh a gap of ten, and pinned ones weigh nothing', () => {
    const wanted = need({ priority: 1_000_500 });
    const victims = (priority: number, bucket: number) =>
      need({
        priority,
        interruptionPenalty: bucket,
        reclamationPenalty: bucket,
        group: `${priority}-${bucket}`,
      });
    const x = victims(500, 3);
    const y = victims(500, 1);
    const z = victims(490, 27);
    const fleetOf = (...served: [string, WorldNeed][]) =>
      served.map(([id, one]) => configured(id, assignmentFor('beta', one)));
    const victimOf = (...served: [string, WorldNeed][]) => {
      const clusters = [
        cluster('alpha', [wanted]),
        cluster(
          'beta',
          served.map(([, one]) => one),
        ),
      ];
      return decideWith(world(fleetOf(...served), clusters)).actions.map(({ machine, graceSeconds }) => [
        machine,
        graceSeconds,
      ]);
    };
    expect(victimOf(['x', x], ['y', y], ['z', z])).toEqual([['y', 10]]);
    expect(victimOf(['x', x], ['z', z])).toEqual([['z', 10]]);
  });

  it('P6: three needs preempt three machines, though the last one’s is drained first', () => {
    const [first, second, third] = [1, 2, 3].map((index) =>
      need({ priority: 1_000, group: `need-${index}`, arrivalMs: NOW_MS + index }),
    ) as [WorldNeed, WorldNeed, WorldNeed];
    const low = need({ priority: 1, aggregate: cpus(8) });
    const drainingFor = (id: string, one: WorldNeed) => draining(id, boundTo('beta'), drainFor('alpha', one));
    const fleet = [
      drainingFor('for-1', first),
      drainingFor('for-2', second),
      idle('was-for-3'),
      configured('b-1', assignmentFor('beta', low)),
      configured('b-2', assignmentFor('beta', low)),
    ];
    const clusters = [cluster('alpha', [first, second, third]), cluster('beta', [low])];
    const result = decideWith(world(fleet, clusters));
    expect(did(result)).toEqual(['Bootstrap was-for-3']);
    expect(claimedBy(result, keyOf('alpha', first))).toEqual(['was-for-3']);
  });
});
