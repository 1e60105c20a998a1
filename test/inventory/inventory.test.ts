import { describe, expect, it } from 'vitest';
import { AssertionError } from '../../src/base/assert.ts';
import { StringTable } from '../../src/base/string-table.ts';
import { InventoryColumns } from '../../src/inventory/columns.ts';
import { InventoryFullError, WrongSlotError } from '../../src/inventory/errors.ts';
import { Flag, Intent } from '../../src/inventory/intent.ts';
import { MachineRow } from '../../src/inventory/machine-row.ts';
import { MachineState as S } from '../../src/machine/state.ts';
import { ASSIGNMENT, inState, inventory, machine } from './machines.ts';

describe('slots', () => {
  it('are refused when all are in use, and reused when one is free', () => {
    const fleet = inventory({ machinesMax: 2 });
    const first = fleet.insert(machine({ id: 'a' }), 0, 1);
    fleet.insert(machine({ id: 'b' }), 0, 1);
    expect(() => fleet.insert(machine({ id: 'c' }), 0, 1)).toThrow(InventoryFullError);
    expect(fleet.find('c')).toBe(0);
    fleet.remove(first);
    expect(fleet.insert(machine({ id: 'c' }), 0, 1)).toBe(first);
    expect([...fleet.slotsById].map((slot) => fleet.idOf(slot))).toEqual(['b', 'c']);
  });

  it('have a generation that shows another machine in the slot, but not a change of the same machine', () => {
    const fleet = inventory({ machinesMax: 1 });
    const slot = fleet.insert(machine({ id: 'a' }), 0, 1);
    const generation = fleet.generationOf(slot);
    for (let price = 0; price < 70_000; price++) fleet.apply(slot, { pricePerHourUsd: price }, 1);
    expect(fleet.isCurrent(slot, generation)).toBe(true);
    fleet.remove(slot);
    expect(fleet.isCurrent(slot, generation)).toBe(false);
    expect(fleet.insert(machine({ id: 'b' }), 0, 1)).toBe(slot);
    expect(fleet.isCurrent(slot, generation)).toBe(false);
    expect(() => fleet.apply(slot, { pricePerHourUsd: 1 }, 1, { generation })).toThrow(WrongSlotError);
    expect(fleet.get(slot).pricePerHourUsd).toBe(0.77);
  });

  for (const slot of [0, 3, 64, 1_000_000, -1, 1.5, Number.NaN]) {
    it(`refuse every operation on ${slot}, which holds no machine`, () => {
      const fleet = inventory();
      fleet.insert(machine(), 0, 1);
      for (const operation of [
        () => fleet.get(slot),
        () => fleet.apply(slot, { pricePerHourUsd: 1 }, 1),
        () => fleet.move(slot, S.Deleting, 1),
        () => fleet.remove(slot),
        () => fleet.setIntent(slot, Intent.Delete),
        () => fleet.clearIntent(slot),
        () => fleet.setFlag(slot, Flag.Stuck, true),
      ]) {
        expect(operation).toThrow(WrongSlotError);
      }
      expect(fleet.count).toBe(1);
    });
  }

  it('refuse a machine when bytes run out, and change nothing', () => {
    for (const parts of [{ id: 'x'.repeat(9_000) }, { host: { provider: 'aws', ref: 'y'.repeat(9_000) } }]) {
      const fleet = inventory();
      expect(() => fleet.insert(machine(parts), 0, 1)).toThrow(InventoryFullError);
      const { tables } = fleet;
      expect([fleet.count, tables.shapes.count, tables.hosts.bytesUsed, tables.ids.arena.bytesUsed]).toEqual([
        0, 0, 0, 0,
      ]);
      expect(tables.hosts.providerCount).toBe(0);
    }
    const clusters = StringTable.create({ name: 'clusters', entriesMax: 1, bytesMax: 64 });
    const fleet = inventory({ clusters });
    fleet.insert(inState(S.Configured), 0, 1);
    const other = inState(S.Configured, { id: 'm-2', cluster: 'west' });
    expect(() => fleet.insert(other, 0, 1)).toThrow(/clusters is full/);
    expect([fleet.count, fleet.tables.groups.count]).toEqual([1, 1]);
  });
});

describe('rows of numbers', () => {
  it('insert and change machines without an object, and the inventory takes its own references', () => {
    const fleet = inventory();
    const { tables, shapes } = fleet;
    const row = new MachineRow();
    row.state = S.Configured;
    row.pricePerHourUsd = 1.5;
    row.shape = shapes.intern('m5', 'z1', 4, { rack: 'r1' }, { cpu: 1 });
    row.hasHost = row.saysHost = true;
    row.hostProviderBytes = row.hostRefBytes = Buffer.from('awsi-77');
    row.hostProviderEnd = row.hostRefStart = 3;
    row.hostRefEnd = 7;
    row.saysCluster = true;
    row.cluster = tables.clusters.intern('east');
    row.need = tables.fingerprints.intern('p=1');
    const slot = fleet.insertRow(Buffer.from('..m-9..'), 2, 5, row, 3, 1);
    row.state = S.Draining;
    expect(fleet.applyRow(slot, row, 2)).toBe(true);
    expect(fleet.applyRow(slot, row, 3)).toBe(false);
    shapes.release(row.shape);
    tables.clusters.release(row.cluster);
    tables.fingerprints.release(row.need);
    expect(fleet.get(fleet.find('m-9'))).toMatchObject({
      state: S.Draining,
      host: { provider: 'aws', ref: 'i-77' },
      cluster: 'east',
      assignment: { fingerprint: 'p=1', group: '', priority: 0 },
    });
    expect(fleet.columns.provider[slot]).toBe(3);
    fleet.remove(slot);
    expect([shapes.count, tables.clusters.count, tables.fingerprints.count]).toEqual([0, 0, 0]);
  });

  it('keep own labels out of shapes and return them with the others', () => {
    const fleet = inventory();
    const labels = { rack: 'r1', 'kubernetes.io/hostname': 'ip-10-0-0-1' };
    const slot = fleet.insert(machine({ labels }), 0, 1);
    fleet.insert(
      machine({ id: 'm-2', labels: { ...labels, 'kubernetes.io/hostname': 'ip-10-0-0-2' } }),
      0,
      1,
    );
    expect(fleet.shapes.count).toBe(1);
    fleet.apply(slot, { zone: 'z9' }, 2);
    expect(fleet.get(slot)).toMatchObject({ labels, zone: 'z9' });
    fleet.apply(slot, { labels: { rack: 'r2' } }, 3);
    expect(fleet.get(slot).labels).toEqual({ rack: 'r2' });
  });
});

describe('X1: intents', () => {
  it('X1: Bootstrap and Provision write cluster and assignment at once, and clear them if they settle without a bind', () => {
    for (const [intent, state] of [
      [Intent.Bootstrap, S.Idle],
      [Intent.Provision, S.Speculative],
    ] as const) {
      const fleet = inventory();
      const slot = fleet.insert(inState(state), 0, 1);
      fleet.setIntent(slot, intent, 'east', ASSIGNMENT);
      const cluster = fleet.tables.clusters.find('east');
      expect(fleet.get(slot)).toMatchObject({ state, cluster: 'east', assignment: ASSIGNMENT });
      expect(fleet.indexes.countOfCluster(cluster, state)).toBe(1);
      fleet.apply(slot, { ...inState(state), pricePerHourUsd: 9 }, 2); // a record of the same state changes only facts
      expect(fleet.get(slot)).toMatchObject({ cluster: 'east', assignment: ASSIGNMENT, pricePerHourUsd: 9 });
      fleet.clearIntent(slot);
      expect(fleet.get(slot)).toMatchObject({ cluster: '', assignment: null });
      expect(fleet.indexes.countOfCluster(cluster, state)).toBe(0);
    }
  });

  it('X1: a Bootstrap that starts keeps its assignment when it settles', () => {
    const fleet = inventory();
    const slot = fleet.insert(machine(), 0, 1);
    fleet.setIntent(slot, Intent.Bootstrap, 'east', ASSIGNMENT);
    fleet.move(slot, S.Configuring, 2);
    fleet.clearIntent(slot);
    expect(fleet.get(slot)).toMatchObject({ state: S.Configuring, cluster: 'east', assignment: ASSIGNMENT });
  });

  it('X1: one action per machine at a time', () => {
    const fleet = inventory();
    const slot = fleet.insert(machine(), 0, 1);
    fleet.setIntent(slot, Intent.Delete);
    expect(() => fleet.setIntent(slot, Intent.Bootstrap, 'east', ASSIGNMENT)).toThrow(/enqueued already/);
    expect(fleet.get(slot).cluster).toBe('');
    expect(fleet.tables.clusters.count).toBe(0);
  });

  for (const [name, intent, needed] of [
    ['Bootstrap', Intent.Bootstrap, S.Idle],
    ['Provision', Intent.Provision, S.Speculative],
    ['Reclaim', Intent.Reclaim, S.Configured],
    ['Preempt', Intent.Preempt, S.Configured],
    ['Delete', Intent.Delete, S.Idle],
  ] as const) {
    it(`X2: enqueues ${name} only for a machine in the state that it needs`, () => {
      for (const state of Object.values(S)) {
        const fleet = inventory();
        const slot = fleet.insert(inState(state), 0, 1);
        const isAssigned = intent === Intent.Bootstrap || intent === Intent.Provision;
        const enqueue = () =>
          fleet.setIntent(slot, intent, isAssigned ? 'east' : '', isAssigned ? ASSIGNMENT : null);
        if (state === needed) expect(enqueue).not.toThrow();
        else expect(enqueue).toThrow(/takes no such action/);
        expect(fleet.columns.intent[slot]).toBe(state === needed ? intent : Intent.None);
      }
    });
  }

  it('X11: stuck and found-draining end with the state, back-off does not', () => {
    const fleet = inventory();
    const slot = fleet.insert(inState(S.Draining), 0, 1);
    for (const flag of Object.values(Flag)) fleet.setFlag(slot, flag, true);
    fleet.apply(slot, { pricePerHourUsd: 4 }, 2);
    expect(Object.values(Flag).filter((flag) => !fleet.hasFlag(slot, flag))).toEqual([]);
    fleet.move(slot, S.Idle, 3);
    expect([Flag.Stuck, Flag.Backoff, Flag.FoundDraining].map((flag) => fleet.hasFlag(slot, flag))).toEqual([
      false,
      true,
      false,
    ]);
  });
});

describe('the change log', () => {
  it('returns each slot once, in order, in portions of any size', () => {
    const fleet = inventory({ machinesMax: 2_000 });
    for (let index = 1; index <= 1_500; index++) fleet.insert(machine({ id: `m-${index}` }), 0, 1);
    const out = new Uint32Array(1_000);
    expect(fleet.changes.count).toBe(1_500);
    expect(fleet.changes.take(out)).toBe(1_000);
    expect([out[0], out[999]]).toEqual([1, 1_000]);
    fleet.move(1_200, S.Deleting, 2);
    fleet.move(7, S.Deleting, 2);
    fleet.setFlag(7, Flag.Backoff, true);
    expect(fleet.changes.take(out)).toBe(501);
    expect([out[0], out[1], out[500]]).toEqual([7, 1_001, 1_500]);
    expect(fleet.changes.take(out)).toBe(0);
    fleet.setIntent(3, Intent.Delete);
    expect([fleet.changes.take(out), out[0]]).toEqual([1, 3]);
  });

  it('returns a slot that was removed and reused once, with the new machine in it', () => {
    const fleet = inventory({ machinesMax: 1 });
    const out = new Uint32Array(4);
    const slot = fleet.insert(machine({ id: 'old' }), 0, 1);
    const generation = fleet.generationOf(slot);
    fleet.changes.take(out);
    fleet.remove(slot);
    expect(fleet.insert(machine({ id: 'new' }), 0, 1)).toBe(slot);
    expect([fleet.changes.take(out), out[0]]).toEqual([1, slot]);
    expect(fleet.isCurrent(slot, generation)).toBe(false);
    fleet.remove(slot);
    expect([fleet.changes.take(out), fleet.columns.state[slot]]).toEqual([1, 0]);
  });
});

describe('snapshots', () => {
  it('forbid writing while they are open', () => {
    const fleet = inventory();
    const slot = fleet.insert(machine(), 0, 1);
    const snapshot = fleet.snapshot();
    for (const write of [
      () => fleet.insert(machine({ id: 'm-2' }), 0, 1),
      () => fleet.apply(slot, { pricePerHourUsd: 2 }, 1),
      () => fleet.move(slot, S.Deleting, 1),
      () => fleet.remove(slot),
      () => fleet.setIntent(slot, Intent.Delete),
      () => fleet.clearIntent(slot),
      () => fleet.setFlag(slot, Flag.Stuck, true),
    ]) {
      expect(write).toThrow(AssertionError);
    }
    const { orders } = snapshot.inventory;
    expect(orders.acquireOrder(S.Idle).length).toBe(1);
    snapshot.close();
    snapshot.close();
    fleet.remove(slot);
    expect(fleet.count).toBe(0);
  });

  it('do not change with the fleet when copied', () => {
    const fleet = inventory();
    const slot = fleet.insert(machine(), 0, 1);
    const copy = structuredClone(fleet.snapshotCopy());
    fleet.remove(slot);
    const columns = InventoryColumns.open(copy.buffer);
    expect([columns.slotLimit, columns.state[slot], columns.pricePerHourUsd[slot]]).toEqual([
      slot + 1,
      S.Idle,
      0.77,
    ]);
    expect(columns.idRank[slot]).toBeGreaterThan(0);
    const [shape] = copy.shapes;
    expect(shape).toMatchObject({
      ref: columns.shape[slot],
      instanceType: 'm5.4xlarge',
      labels: new Map([['rack', 'r1']]),
    });
    expect(copy.capacities.get(shape!.capacity)).toEqual({ cpu: 16_000, memory: 67_108_864 });
  });

  it('refuse a buffer that is not an inventory', () => {
    expect(() => InventoryColumns.open(new SharedArrayBuffer(64))).toThrow(AssertionError);
  });
});
