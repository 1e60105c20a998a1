import { describe, expect, it } from 'vitest';
import { subjects } from '../subjects.ts';
import { WhenUnsatisfiable } from '../world.ts';
import {
  boundTo,
  claimedBy,
  cluster,
  configured,
  cpus,
  creating,
  did,
  idle,
  inRack,
  keyOf,
  need,
  RACK,
  speculative,
  spreadOver,
  verdictOf,
  world,
  ZONE,
} from './worlds.ts';

/** A need for `machineCount` machines, with no rack more than `skew` ahead of another. */
const spreadNeed = (machineCount: number, skew = 1) =>
  need({ aggregate: cpus(4 * machineCount), spread: [spreadOver(RACK, skew)] });

describe.each(subjects)('$name', ({ decideWith }) => {
  it('A4: takes machines one by one from the racks that are behind; an exhausted rack limits the others', () => {
    const fleet = [
      idle('m-1', inRack('rack-1')),
      idle('m-2', inRack('rack-1')),
      idle('m-3', inRack('rack-1')),
      idle('m-4', { ...inRack('rack-2'), price: 5 }),
    ];
    const web = spreadNeed(4);
    const result = decideWith(world(fleet, [cluster('alpha', [web])]));
    expect(did(result)).toEqual(['Bootstrap m-1', 'Bootstrap m-4', 'Bootstrap m-2']);
    expect(verdictOf(result, 'alpha', web)).toMatchObject({ satisfied: false, deficit: cpus(4) });
    expect(did(decideWith(world(fleet, [cluster('alpha', [spreadNeed(4, 2)])])))).toEqual([
      'Bootstrap m-1',
      'Bootstrap m-2',
      'Bootstrap m-4',
      'Bootstrap m-3',
    ]);
  });

  it('A4: at equal price takes from the smaller domain first, although its machine has the greater id', () => {
    const fleet = [idle('m-1', inRack('rack-2')), idle('m-9', inRack('rack-10'))];
    expect(did(decideWith(world(fleet, [cluster('alpha', [spreadNeed(1)])])))).toEqual(['Bootstrap m-9']);
    const offers = [speculative('m-1', inRack('rack-2')), speculative('m-9', inRack('rack-10'))];
    expect(did(decideWith(world(offers, [cluster('alpha', [spreadNeed(1)])])))).toEqual(['Provision m-9']);
  });

  it('A4: counts credited machines, so the next one comes from the other rack although it costs more', () => {
    const fleet = [
      configured('m-1', boundTo('alpha'), inRack('rack-1')),
      idle('m-2', inRack('rack-1')),
      idle('m-3', { ...inRack('rack-2'), price: 5 }),
    ];
    const web = spreadNeed(2);
    const result = decideWith(world(fleet, [cluster('alpha', [web])]));
    expect(claimedBy(result, keyOf('alpha', web))).toEqual(['m-1', 'm-3']);
  });

  it('A4: a rack with only credited machines of the need counts for the minimum', () => {
    const fleet = [
      configured('m-0', boundTo('alpha'), inRack('rack-3')),
      ...['m-1', 'm-2', 'm-3'].map((id) => idle(id, inRack('rack-1'))),
    ];
    // The need has one machine in rack-3, so rack-1 may have two.
    expect(did(decideWith(world(fleet, [cluster('alpha', [spreadNeed(4)])])))).toEqual([
      'Bootstrap m-1',
      'Bootstrap m-2',
    ]);
  });

  it('A4: does not count another need’s machines in a rack', () => {
    const other = need({ priority: 500 });
    const fleet = [
      configured('m-1', boundTo('alpha'), inRack('rack-1')),
      idle('m-2', inRack('rack-1')),
      idle('m-3', { ...inRack('rack-2'), price: 5 }),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [other, spreadNeed(1)])]));
    expect(did(result)).toEqual(['Bootstrap m-2']);
  });

  it('A4: spread does not limit credit: the need keeps its machines', () => {
    const fleet = ['m-1', 'm-2', 'm-3'].map((id) => configured(id, boundTo('alpha'), inRack('rack-1')));
    const result = decideWith(
      world([...fleet, idle('m-4', inRack('rack-2'))], [cluster('alpha', [spreadNeed(3)])]),
    );
    expect(result.actions).toEqual([]);
    expect(result.claims.size).toBe(3);
  });

  it('A4: takes Idle heads before Speculative ones, but only in racks that may take one', () => {
    const fleet = [
      idle('m-1', inRack('rack-1')),
      idle('m-2', inRack('rack-1')),
      speculative('m-3', { ...inRack('rack-2'), price: 9 }),
      speculative('m-4', inRack('rack-2')),
    ];
    expect(did(decideWith(world(fleet, [cluster('alpha', [spreadNeed(3)])])))).toEqual([
      'Bootstrap m-1',
      'Provision m-4',
      'Bootstrap m-2',
    ]);
  });

  it('A4: takes orphan Creating machines before the Idle head, by id', () => {
    const fleet = [
      idle('m-1', inRack('rack-1')),
      creating('m-3', null, { ...inRack('rack-2'), price: 1 }),
      creating('m-20', null, { ...inRack('rack-2'), price: 9 }),
    ];
    const web = spreadNeed(2);
    const result = decideWith(world(fleet, [cluster('alpha', [web])]));
    expect(did(result)).toEqual(['Bootstrap m-1']);
    expect(claimedBy(result, keyOf('alpha', web))).toEqual(['m-1', 'm-20']);
  });

  it('A4: takes no machine without the key', () => {
    const fleet = [idle('m-1', { labels: {} }), idle('m-2', inRack('rack-1'))];
    const result = decideWith(world(fleet, [cluster('alpha', [spreadNeed(2)])]));
    expect(did(result)).toEqual(['Bootstrap m-2']);
  });

  it('A4: a rack in which no machine matches and covers min_unit does not limit the others', () => {
    const fleet = [
      idle('m-1', inRack('rack-1')),
      idle('m-2', inRack('rack-1')),
      idle('m-3', { ...inRack('rack-2'), capacity: cpus(1) }),
    ];
    const web = { ...spreadNeed(2), minUnit: cpus(2) };
    expect(did(decideWith(world(fleet, [cluster('alpha', [web])])))).toEqual([
      'Bootstrap m-1',
      'Bootstrap m-2',
    ]);
  });

  it('A4: a rack whose machines an earlier need took does not limit the others', () => {
    const urgent = need({ priority: 500 });
    const fleet = [
      idle('m-1', { ...inRack('rack-2'), price: 0.5 }),
      idle('m-2', inRack('rack-1')),
      idle('m-3', inRack('rack-1')),
    ];
    const result = decideWith(world(fleet, [cluster('alpha', [urgent, spreadNeed(2)])]));
    expect(did(result)).toEqual(['Bootstrap m-1', 'Bootstrap m-2', 'Bootstrap m-3']);
  });

  it('A4: a skew of 0 counts as 1; SCHEDULE_ANYWAY does not constrain', () => {
    const fleet = [idle('m-1'), idle('m-2'), idle('m-3', { ...inRack('rack-2'), price: 5 })];
    expect(did(decideWith(world(fleet, [cluster('alpha', [spreadNeed(2, 0)])])))).toEqual([
      'Bootstrap m-1',
      'Bootstrap m-3',
    ]);
    const anyway = need({
      aggregate: cpus(8),
      spread: [{ ...spreadOver(RACK), whenUnsatisfiable: WhenUnsatisfiable.ScheduleAnyway }],
    });
    expect(did(decideWith(world(fleet, [cluster('alpha', [anyway])])))).toEqual([
      'Bootstrap m-1',
      'Bootstrap m-2',
    ]);
  });

  it('A4: applies the first DO_NOT_SCHEDULE constraint, by key', () => {
    const fleet = [
      idle('m-1', { zone: 'zone-1', ...inRack('rack-1') }),
      idle('m-2', { zone: 'zone-1', ...inRack('rack-2') }),
      idle('m-3', { zone: 'zone-2', ...inRack('rack-1'), price: 5 }),
    ];
    const anyway = { ...spreadOver(RACK), whenUnsatisfiable: WhenUnsatisfiable.ScheduleAnyway };
    const order = (spread: ReturnType<typeof spreadOver>[]) =>
      did(decideWith(world(fleet, [cluster('alpha', [need({ aggregate: cpus(8), spread })])])));
    // `rack` sorts before `topology…`: over racks m-2 is as good as a new zone, and cheaper.
    expect(order([spreadOver(ZONE), spreadOver(RACK)])).toEqual(['Bootstrap m-1', 'Bootstrap m-2']);
    expect(order([anyway, spreadOver(ZONE)])).toEqual(['Bootstrap m-1', 'Bootstrap m-3']);
  });
});
