import { describe, expect, it } from 'vitest';
import { ShardError } from '../../src/base/errors.ts';
import { Intent } from '../../src/inventory/intent.ts';
import type { Inventory } from '../../src/inventory/inventory.ts';
import type { Machine } from '../../src/machine/machine.ts';
import {
  ALL_STATES,
  canMove,
  type MachineState,
  MachineState as S,
  STATE_NAMES,
} from '../../src/machine/state.ts';
import { ASSIGNMENT, inState, inventory, machine } from './machines.ts';

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof ShardError) return error.code;
    throw error;
  }
  return 'ok';
}

/** Everything that a refused write must not change. */
function everything(fleet: Inventory) {
  const slots = [...fleet.slotsById];
  const { tables } = fleet;
  return {
    machines: slots.map((slot) => [slot, fleet.generationOf(slot), fleet.get(slot)]),
    states: ALL_STATES.map((state) => fleet.indexes.countInState(state)),
    tables: [tables.texts, tables.clusters, tables.fingerprints, tables.groups].map((table) => table.count),
    shapes: [tables.shapes.count, tables.shapes.version],
    bytes: [tables.hosts.bytesUsed, tables.ids.arena.bytesUsed, tables.texts.bytesUsed],
    changes: fleet.changes.count,
  };
}

describe('M1, M2: states', () => {
  for (const state of ALL_STATES) {
    it(`M1: a machine can be ${STATE_NAMES[state]} when it is first seen`, () => {
      const fleet = inventory();
      const seen = inState(state);
      const slot = fleet.insert(seen, 0, 5);
      expect(fleet.get(slot)).toEqual(seen);
      expect(fleet.columns.stateSinceMsOf(slot)).toBe(5);
    });
  }

  for (const from of ALL_STATES) {
    it(`M2: from ${STATE_NAMES[from]} move and apply make only the legal moves, unless forced`, () => {
      for (const to of ALL_STATES) {
        const target = inState(to);
        const { host, cluster, lastError } = target;
        for (const force of [false, true]) {
          const fleet = inventory();
          const slot = fleet.insert(inState(from), 0, 1);
          const before = everything(fleet);
          const change = { state: to, host, cluster, lastError };
          const code = codeOf(() => fleet.apply(slot, change, 2, { force }));
          if (from === to || canMove(from, to) || force) {
            expect([STATE_NAMES[to], code]).toEqual([STATE_NAMES[to], 'ok']);
            expect(fleet.get(slot).state).toBe(to);
            expect(fleet.columns.stateSinceMsOf(slot)).toBe(from === to ? 1 : 2);
          } else {
            expect([STATE_NAMES[to], code]).toEqual([STATE_NAMES[to], 'illegal_transition']);
            expect(everything(fleet)).toEqual(before);
            expect(codeOf(() => fleet.move(slot, to, 2))).toBe('illegal_transition');
            expect(everything(fleet)).toEqual(before);
          }
        }
      }
    });
  }

  it('M2: the same state is not a transition, and the same facts are not a change', () => {
    const fleet = inventory();
    const slot = fleet.insert(machine(), 0, 1);
    const before = everything(fleet);
    expect(fleet.apply(slot, machine(), 9)).toBe(false);
    expect(fleet.move(slot, S.Idle, 9)).toBe(false);
    expect(everything(fleet)).toEqual(before);
    expect(fleet.apply(slot, { pricePerHourUsd: 3 }, 9)).toBe(true);
    expect(fleet.columns.stateSinceMsOf(slot)).toBe(1);
  });
});

describe('M3: a record that breaks an invariant is refused and changes nothing', () => {
  const bad: [string, Partial<Machine>][] = [
    ['an unknown state', { state: 9 as MachineState }],
    ['no state', { state: 0 as MachineState }],
    ['half a state', { state: 2.5 as MachineState }],
    ['a price that is not a number', { pricePerHourUsd: Number.NaN }],
    ['a negative price', { pricePerHourUsd: -0.01 }],
    ['an infinite price', { pricePerHourUsd: Number.POSITIVE_INFINITY }],
    ['a probability above 1', { interruptionProbability: 1.01 }],
    ['a probability that is not a number', { interruptionProbability: Number.NaN }],
    ['Speculative with a host', { state: S.Speculative, host: { provider: 'aws', ref: 'i' } }],
    ['Creating with a host', { state: S.Creating }],
    ['Idle without a host', { host: null }],
    ['Idle with a cluster', { cluster: 'east' }],
    ['Deleting with a cluster', { state: S.Deleting, cluster: 'east' }],
    ['Configured without a cluster', { state: S.Configured }],
    ['Draining without a host', { state: S.Draining, host: null, cluster: 'east' }],
    ['Failed without an error', { state: S.Failed }],
    ['an assignment without a cluster', { state: S.Configuring, assignment: ASSIGNMENT }],
    [
      'a priority that is not an integer',
      { state: S.Configured, cluster: 'c', assignment: { ...ASSIGNMENT, priority: 1.5 } },
    ],
    [
      'an unknown penalty bucket',
      { state: S.Configured, cluster: 'c', assignment: { ...ASSIGNMENT, reclamationPenalty: 28 } },
    ],
    ['an unknown capacity type', { capacityType: 7 as Machine['capacityType'] }],
    ['a negative amount', { capacity: { cpu: -1 } }],
    ['half a unit', { capacity: { cpu: 0.5 } }],
    ['an amount that is not a number', { capacity: { cpu: Number.NaN } }],
  ];
  for (const [what, parts] of bad) {
    it(`M3: ${what}`, () => {
      const fleet = inventory();
      const slot = fleet.insert(machine({ id: 'good' }), 0, 1);
      fleet.changes.take(new Uint32Array(8));
      const before = everything(fleet);
      expect(codeOf(() => fleet.insert(machine({ id: 'bad', ...parts }), 0, 2))).toBe('invalid_machine');
      expect(codeOf(() => fleet.apply(slot, parts, 2, { force: true }))).toBe('invalid_machine');
      expect(everything(fleet)).toEqual(before);
      expect(fleet.find('bad')).toBe(0);
    });
  }

  it('M3: an empty id', () => {
    expect(codeOf(() => inventory().insert(machine({ id: '' }), 0, 1))).toBe('invalid_machine');
  });

  it('M3: a move to a state that needs facts which only the provider has', () => {
    const fleet = inventory();
    const creating = fleet.insert(inState(S.Creating), 0, 1);
    expect(codeOf(() => fleet.move(creating, S.Idle, 2))).toBe('invalid_machine');
    expect(fleet.apply(creating, { state: S.Idle, host: { provider: 'aws', ref: 'i' } }, 2)).toBe(true);
  });

  it('M3: a Creating machine keeps its local assignment when a record shows no cluster', () => {
    const fleet = inventory();
    const slot = fleet.insert(inState(S.Speculative), 0, 1);
    fleet.setIntent(slot, Intent.Provision, 'east', ASSIGNMENT);
    fleet.move(slot, S.Creating, 2);
    fleet.clearIntent(slot);
    expect(fleet.get(slot)).toMatchObject({ state: S.Creating, cluster: 'east', assignment: ASSIGNMENT });
    expect(fleet.apply(slot, { state: S.Creating, cluster: '', host: null }, 3)).toBe(false);
    expect(fleet.get(slot)).toMatchObject({ cluster: 'east', assignment: ASSIGNMENT });
  });
});

describe('M4, M5: identity and assignment', () => {
  it('M4: an id belongs to one machine until the machine is removed', () => {
    const fleet = inventory();
    const slot = fleet.insert(machine(), 0, 1);
    const before = everything(fleet);
    expect(codeOf(() => fleet.insert(machine({ pricePerHourUsd: 5 }), 1, 2))).toBe('duplicate_id');
    expect(everything(fleet)).toEqual(before);
    fleet.remove(slot);
    expect(fleet.find('m-1')).toBe(0);
    expect(fleet.get(fleet.insert(machine({ pricePerHourUsd: 5 }), 1, 2)).pricePerHourUsd).toBe(5);
  });

  const unbinding: [string, (fleet: Inventory, slot: number) => void, MachineState][] = [
    ['a drain that ends', (fleet, slot) => fleet.move(slot, S.Idle, 9), S.Draining],
    ['a drain that ends, by a record', (fleet, slot) => fleet.apply(slot, inState(S.Idle), 9), S.Draining],
    ['a roll-back', (fleet, slot) => fleet.move(slot, S.Idle, 9), S.Configuring],
    [
      'a confirmed word',
      (fleet, slot) => fleet.apply(slot, { state: S.Idle }, 9, { force: true }),
      S.Configured,
    ],
    ['a vanished machine', (fleet, slot) => fleet.move(slot, S.Speculative, 9, true), S.Configured],
    ['a deletion', (fleet, slot) => fleet.move(slot, S.Deleting, 9, true), S.Draining],
    [
      'a machine that is created again',
      (fleet, slot) => fleet.apply(slot, inState(S.Creating), 9, { force: true }),
      S.Configured,
    ],
    [
      'a provider that lost the binding',
      (fleet, slot) => fleet.apply(slot, { cluster: '' }, 9),
      S.Configuring,
    ],
  ];
  for (const [what, unbind, from] of unbinding) {
    it(`M5: binding and assignment end together with ${what}`, () => {
      const fleet = inventory();
      const slot = fleet.insert(inState(from), 0, 1);
      unbind(fleet, slot);
      expect(fleet.get(slot)).toMatchObject({ cluster: '', assignment: null });
      const { clusters, fingerprints, groups } = fleet.tables;
      expect([clusters.count, fingerprints.count, groups.count]).toEqual([0, 0, 0]);
    });
  }

  it('M5: the assignment lasts while the machine stays bound to the same cluster, and ends with another', () => {
    const fleet = inventory();
    const slot = fleet.insert(inState(S.Configured), 0, 1);
    fleet.apply(slot, { cluster: 'east', pricePerHourUsd: 2 }, 2);
    fleet.move(slot, S.Draining, 3);
    expect(fleet.get(slot).assignment).toEqual(ASSIGNMENT);
    fleet.apply(slot, { cluster: 'west' }, 4);
    expect(fleet.get(slot)).toMatchObject({ cluster: 'west', assignment: null });
  });

  it('S3: a failed machine keeps binding and assignment, and loses its error when the provider revives it', () => {
    const fleet = inventory();
    const slot = fleet.insert(inState(S.Draining), 0, 1);
    fleet.apply(slot, { state: S.Failed, lastError: 'drain failed' }, 2);
    expect(fleet.get(slot)).toMatchObject({
      cluster: 'east',
      assignment: ASSIGNMENT,
      lastError: 'drain failed',
    });
    fleet.apply(slot, { state: S.Idle }, 3, { force: true });
    expect(fleet.get(slot)).toMatchObject({ cluster: '', assignment: null, lastError: '' });
  });

  it('X7: clears the host when a machine becomes Speculative', () => {
    const fleet = inventory();
    const slot = fleet.insert(inState(S.Deleting), 0, 1);
    fleet.move(slot, S.Speculative, 2);
    expect(fleet.get(slot).host).toBeNull();
    expect(fleet.tables.hosts.bytesUsed).toBe(0);
  });

  it('X1: applies a provider’s observation although the action that bound the machine has not settled', () => {
    const fleet = inventory();
    const slot = fleet.insert(inState(S.Idle), 0, 1);
    fleet.setIntent(slot, Intent.Bootstrap, 'east', ASSIGNMENT);
    fleet.move(slot, S.Configuring, 2);
    fleet.move(slot, S.Configured, 3);
    fleet.apply(slot, { pricePerHourUsd: 7 }, 4);
    expect(fleet.get(slot)).toMatchObject({ state: S.Configured, cluster: 'east', pricePerHourUsd: 7 });
  });
});
