import { describe, expect, it } from 'vitest';
import { Intent } from '../../../src/inventory/intent.ts';
import type { Inventory } from '../../../src/inventory/inventory.ts';
import type { Machine } from '../../../src/machine/machine.ts';
import { ALL_STATES, MachineState as S, STATE_NAMES } from '../../../src/machine/state.ts';
import { ASSIGNMENT, inState, inventory } from '../../inventory/machines.ts';
import { applyAll, Lister, machinesOf, OWN_LABEL, onWire, removedIds } from './listing-fixture.ts';

function known(machines: readonly Machine[], provider = 0): { fleet: Inventory; lister: Lister } {
  const fleet = inventory({ machinesMax: 1_024 });
  for (const each of machines) fleet.insert(each, provider, 0);
  return { fleet, lister: new Lister(fleet) };
}

const FLEET = ALL_STATES.map((state) =>
  inState(state, { id: `m-${state}`, labels: { [OWN_LABEL]: `h-${state}` } }),
);

describe('a row is unchanged', () => {
  it('S2: if state and facts are equal, in any order, in every state', () => {
    const { lister } = known(FLEET);
    for (const machines of [FLEET, [...FLEET].reverse()]) {
      const listing = lister.list(machines.map(onWire));
      expect(machinesOf(listing.rows)).toEqual([]);
      expect(listing.removed.count).toBe(0);
      expect(listing).toMatchObject({ listedCount: FLEET.length, knownCount: FLEET.length, isFull: true });
    }
  });

  it('S2: however the provider writes labels and quantities', () => {
    const { lister } = known([
      inState(S.Idle, { labels: { a: '1', b: '2' }, capacity: { memory: 1_048_576 } }),
    ]);
    const wire = onWire(inState(S.Idle, { labels: { b: '2', a: '1' } }));
    for (const memory of ['1Gi', '1073741824', '1024Mi']) {
      const listing = lister.list([{ ...wire, resources: { resources: { memory, 'nvidia.com/gpu': '0' } } }]);
      expect(listing.rows.count, memory).toBe(0);
    }
  });

  it('S3: whatever assignment it has, if the inventory holds its binding', () => {
    const { lister } = known([inState(S.Configured)]);
    const other = { ...ASSIGNMENT, priority: 7, group: 'another' };
    expect(lister.list([onWire(inState(S.Configured, { assignment: other }))]).rows.count).toBe(0);
  });

  for (const [state, intent] of [
    [S.Idle, Intent.Bootstrap],
    [S.Speculative, Intent.Provision],
  ] as const) {
    it(`X1: if a ${STATE_NAMES[state]} machine is enqueued for a cluster that the provider does not know yet`, () => {
      const { fleet, lister } = known([inState(state)]);
      fleet.setIntent(fleet.find('m-1'), intent, 'west', ASSIGNMENT);
      expect(lister.list([onWire(inState(state))]).rows.count).toBe(0);
    });
  }

  it('M3: if a machine is being created for a cluster that the provider does not know yet', () => {
    const { fleet, lister } = known([inState(S.Speculative)]);
    const slot = fleet.find('m-1');
    fleet.apply(slot, { state: S.Creating, cluster: 'west', assignment: ASSIGNMENT }, 0);
    expect(lister.list([onWire(inState(S.Creating))]).rows.count).toBe(0);
  });

  for (const state of [S.Configuring, S.Failed]) {
    it(`S3: if a ${STATE_NAMES[state]} machine keeps its binding and its provider names no cluster`, () => {
      const { lister } = known([inState(state, { cluster: 'east', assignment: ASSIGNMENT })]);
      expect(lister.list([onWire(inState(state, { cluster: '', assignment: null }))]).rows.count).toBe(0);
    });
  }

  it('V1: if a Failed machine still has no last_error and the shard has given it one', () => {
    const { fleet, lister } = known([inState(S.Configuring)]);
    const failed = { ...onWire(inState(S.Failed)), lastError: '' };
    const first = lister.list([failed]);
    expect(machinesOf(first.rows)[0]?.lastError).toContain('without last_error');
    applyAll(fleet, first);
    expect(lister.list([failed]).rows.count).toBe(0);
  });
});

describe('a row has changed', () => {
  const base = inState(S.Configured, { labels: { rack: 'r1', [OWN_LABEL]: 'h' } });
  for (const [what, change] of [
    ['state', { state: S.Draining }],
    ['price', { pricePerHourUsd: 0.78 }],
    ['probability', { interruptionProbability: 0.5 }],
    ['instance type', { instanceType: 'm6' }],
    ['zone', { zone: 'use1b' }],
    ['capacity type', { capacityType: 4 }],
    ['capacity', { capacity: { cpu: 15_000, memory: 67_108_864 } }],
    ['label', { labels: { rack: 'r2', [OWN_LABEL]: 'h' } }],
    ['own label', { labels: { rack: 'r1', [OWN_LABEL]: 'i' } }],
    ['own label that is gone', { labels: { rack: 'r1' } }],
    ['host', { host: { provider: 'aws', ref: 'i-0124' } }],
    ['provider of the host', { host: { provider: 'gcp', ref: 'i-0123' } }],
    ['cluster', { cluster: 'west' }],
    ['last_error', { lastError: 'warm' }],
  ] as const) {
    it(`S2: with another ${what}, and is unchanged once that is applied`, () => {
      const { fleet, lister } = known([base]);
      const changed: Machine = { ...base, ...change };
      const listing = lister.list([onWire(changed)]);
      expect(machinesOf(listing.rows)).toEqual([changed]);
      expect(listing.rows.slot[0]).toBe(fleet.find('m-1'));
      expect(listing.rows.generation[0]).toBe(fleet.generationOf(fleet.find('m-1')));
      applyAll(fleet, listing);
      expect(lister.list([onWire(changed)]).rows.count).toBe(0);
    });
  }

  it('X10: with a binding that the inventory does not hold; its assignment comes along', () => {
    const { lister } = known([inState(S.Idle)]);
    const bound = inState(S.Configured);
    expect(machinesOf(lister.list([onWire(bound)]).rows)).toEqual([bound]);
  });

  it('without a slot, if the machine is unknown', () => {
    const { lister } = known([]);
    const listing = lister.list(FLEET.map(onWire));
    expect(machinesOf(listing.rows)).toEqual(FLEET);
    expect([...listing.rows.slot, ...listing.rows.generation].every((word) => word === 0)).toBe(true);
    expect(listing.knownCount).toBe(0);
  });

  it('and the result has each shape and each string once', () => {
    const { lister } = known([]);
    const machines = Array.from({ length: 100 }, (_, index) => inState(S.Configured, { id: `m-${index}` }));
    const { rows } = lister.list(machines.map(onWire));
    expect(rows).toMatchObject({ count: 100, shapeCount: 1, stringCount: 4 }); // '', cluster, need, group
  });
});

describe('removals', () => {
  it('S1: are the machines of this provider that a full listing lacks', () => {
    const { fleet, lister } = known(FLEET.slice(0, 4));
    for (const each of FLEET.slice(4)) fleet.insert(each, 1, 0);
    const listing = lister.list(FLEET.slice(0, 2).map(onWire));
    expect(removedIds(fleet, listing)).toEqual(['m-3', 'm-4']);
    expect(listing.removed.generation[0]).toBe(fleet.generationOf(listing.removed.slot[0]!));
    expect(listing.knownCount).toBe(4);
  });

  it('V1: never include a machine whose record was rejected', () => {
    const { fleet, lister } = known(FLEET);
    const listing = lister.list(FLEET.map((each) => ({ ...onWire(each), pricePerHour: Number.NaN })));
    expect(removedIds(fleet, listing)).toEqual([]);
    expect(listing.rejected).toEqual({ price: FLEET.length, interruption_probability: 0, structural: 0 });
    expect(listing.rejectionTexts.length).toBe(FLEET.length);
    expect(listing.listedCount).toBe(0);
  });

  it('S5: of an incremental listing are the deleted ids that are known, not listed and not rejected', () => {
    const { fleet, lister } = known(FLEET.slice(0, 6));
    fleet.insert({ ...FLEET[6]!, id: 'theirs' }, 1, 0);
    const refused = { ...onWire(FLEET[1]!), pricePerHour: -1 };
    const deletedIds = ['m-1', 'm-2', 'm-3', 'm-3', 'ghost', 'theirs'];
    const listing = lister.list([onWire(FLEET[0]!), refused], { deletedIds, isFull: false });
    expect(removedIds(fleet, listing)).toEqual(['m-3']);
    expect(listing).toMatchObject({ isFull: false, knownCount: 6, listedCount: 1 });
  });

  it('S1: an id of another provider is rejected and explained, neither applied nor removed', () => {
    const { fleet, lister } = known(FLEET.slice(0, 2));
    fleet.insert(inState(S.Idle, { id: 'theirs' }), 1, 0);
    const listing = lister.list([...FLEET.slice(0, 2), inState(S.Idle, { id: 'theirs' })].map(onWire));
    expect(listing.rows.count).toBe(0);
    expect(listing.rejected.structural).toBe(1);
    expect(listing.rejectionTexts[0]).toMatch(/"theirs".*provider p1/);
    expect(listing.listedCount).toBe(2);
    expect(removedIds(fleet, listing)).toEqual([]);
  });
});

describe('the result', () => {
  it('S1: has the next cursor', () => {
    const { lister } = known([]);
    expect(lister.list([], { revision: Buffer.from('r-7') }).revision).toEqual(
      new Uint8Array(Buffer.from('r-7')),
    );
    expect(lister.list([]).revision.length).toBe(0);
  });

  it('does not change while the next listing is compared', () => {
    const { lister } = known([]);
    const first = lister.list(FLEET.map(onWire));
    lister.list(FLEET.map((each) => onWire({ ...each, id: `x-${each.id}`, pricePerHourUsd: 9 })));
    expect(machinesOf(first.rows)).toEqual(FLEET);
  });
});
