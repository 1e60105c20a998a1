import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DimensionTable } from '../../src/base/dimensions.ts';
import { ShardError } from '../../src/base/errors.ts';
import { VectorTable } from '../../src/base/vectors.ts';
import type { Flag, Intent } from '../../src/inventory/intent.ts';
import { Inventory } from '../../src/inventory/inventory.ts';
import { ALL_STATES, type MachineState } from '../../src/machine/state.ts';
import { advance, type Step, stepArb } from './fleet-arbitraries.ts';
import { acquireOrder, byId, FleetModel, keepOrder, type Outcome } from './fleet-model.ts';

const MACHINES_MAX = 5; // fewer than there are ids, so that it fills up and slots are reused
const CLUSTERS = ['east', 'west', 'north'];

class Pair {
  readonly vectors = new VectorTable(new DimensionTable());
  readonly inventory = new Inventory({ vectors: this.vectors, machinesMax: MACHINES_MAX, guards: true });
  readonly model = new FleetModel(MACHINES_MAX);
  readonly outcomes = new Map<Outcome, number>();
  readonly touched = new Set<number>();
  /** Held, so that a cluster's orders can be read after its last machine has left. */
  readonly clusterRefs = CLUSTERS.map((cluster) => this.inventory.tables.clusters.intern(cluster));
  nowMs = 1_000;

  step(step: Step): void {
    this.nowMs += 10;
    const { inventory, model, nowMs } = this;
    if (step.kind === 'insert') {
      const slot = this.expectSame(
        () => inventory.insert(step.machine, step.provider, nowMs),
        () => model.insert(step.machine, step.provider, nowMs),
      );
      if (typeof slot === 'number') this.touched.add(slot);
      return;
    }
    if (step.kind === 'read') {
      this.readOrders(step.state, step.cluster);
      return;
    }
    const ids = model.ids().sort();
    if (ids.length === 0) return;
    const id = ids[step.at % ids.length]!;
    const slot = inventory.find(id);
    const { state } = model.machines.get(id)!;
    if (step.kind === 'apply' || step.kind === 'advance' || step.kind === 'move') {
      const force = step.kind === 'advance' ? false : step.force;
      const change =
        step.kind === 'apply'
          ? step.change
          : step.kind === 'move'
            ? { state: step.to as MachineState }
            : advance(state, step.pick, step.cluster, step.assignment);
      if (change === null) return;
      const changed = this.expectSame(
        () =>
          step.kind === 'move'
            ? inventory.move(slot, step.to as MachineState, nowMs, force)
            : inventory.apply(slot, change, nowMs, { force }),
        () => model.apply(id, change, nowMs, force),
      );
      if (changed === true) this.touched.add(slot);
    } else if (step.kind === 'intent') {
      const { intent, cluster, assignment } = step;
      const done = this.expectSame(
        () => inventory.setIntent(slot, intent as Intent, cluster, cluster === '' ? null : assignment),
        () => model.setIntent(id, intent, cluster, assignment),
      );
      if (done === undefined) this.touched.add(slot);
    } else if (step.kind === 'settle') {
      if (model.machines.get(id)!.intent !== 0) this.touched.add(slot);
      inventory.clearIntent(slot);
      model.clearIntent(id);
    } else if (step.kind === 'flag') {
      if (((model.machines.get(id)!.flags & step.flag) !== 0) !== step.on) this.touched.add(slot);
      inventory.setFlag(slot, step.flag as Flag, step.on);
      model.setFlag(id, step.flag, step.on);
    } else {
      this.touched.add(slot);
      inventory.remove(slot);
      model.remove(id);
    }
  }

  /** Both accept, or both refuse for the same reason; returns the result of the inventory. */
  expectSame(real: () => unknown, naive: () => Outcome): unknown {
    const expected = naive();
    this.outcomes.set(expected, (this.outcomes.get(expected) ?? 0) + 1);
    try {
      const result = real();
      expect(expected).toBe(result === false ? 'same' : 'ok');
      return result;
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      expect(error.code).toBe(expected);
      return null;
    }
  }

  readOrders(state: number, cluster: string): void {
    const { inventory, model } = this;
    const { orders } = inventory;
    expect(this.idsOf(orders.acquireOrder(state))).toEqual(
      model.idsInOrder((machine) => machine.state === state, acquireOrder),
    );
    const ref = inventory.tables.clusters.find(cluster);
    expect(this.idsOf(orders.keepOrder(ref, state))).toEqual(
      model.idsInOrder((machine) => machine.state === state && machine.cluster === cluster, keepOrder),
    );
  }

  idsOf(slots: Uint32Array): string[] {
    return [...slots].map((slot) => this.inventory.idOf(slot));
  }

  /** Every look-up, index and counter. */
  compare(): void {
    const { inventory, model } = this;
    const { columns, indexes, counts, tables } = inventory;
    expect(inventory.count).toBe(model.machines.size);
    for (const [id, { provider, intent, flags, sinceMs, ...machine }] of model.machines) {
      const slot = inventory.find(id);
      expect(inventory.get(slot)).toEqual(machine);
      expect([columns.provider[slot], columns.intent[slot], columns.flags[slot]]).toEqual([
        provider,
        intent,
        flags,
      ]);
      expect(columns.stateSinceMsOf(slot)).toBe(sinceMs);
      expect(columns.capacityType[slot]).toBe(machine.capacityType);
      expect(tables.shapes.instanceTypes.get(columns.instanceType[slot]!)).toBe(machine.instanceType);
    }
    for (const state of ALL_STATES) {
      const inState = [...indexes.slotsInState(state).subarray(0, indexes.countInState(state))];
      expect(this.sortedIds(inState)).toEqual(model.ids((machine) => machine.state === state).sort());
      let inShapes = 0;
      for (let shape = 1; shape < inventory.shapes.refLimit; shape++) {
        const start = indexes.startOfShape(state, shape);
        const slots = [...indexes.shapeSlots.subarray(start, start + indexes.countOfShape(state, shape))];
        for (const slot of slots) expect([columns.shape[slot], columns.state[slot]]).toEqual([shape, state]);
        inShapes += new Set(slots).size;
      }
      expect(inShapes).toBe(inState.length);
      for (const cluster of CLUSTERS) {
        const ref = tables.clusters.find(cluster);
        const start = indexes.startOfCluster(ref, state);
        const count = indexes.countOfCluster(ref, state);
        const wanted = model.ids((machine) => machine.cluster === cluster && machine.state === state);
        expect(this.sortedIds([...indexes.clusterSlots.subarray(start, start + count)])).toEqual(
          wanted.sort(),
        );
      }
      for (const type of ['', 'm5', 'p4']) {
        const wanted = model.ids(
          (machine) => machine.instanceType === type && machine.state === state,
        ).length;
        const ref = tables.shapes.instanceTypes.find(type);
        expect(type !== '' && ref === 0 ? 0 : counts.ofInstanceType(state, ref)).toBe(wanted);
      }
      for (const zone of ['', 'z1', 'z2']) {
        const wanted = model.ids((machine) => machine.zone === zone && machine.state === state).length;
        const ref = tables.shapes.zones.find(zone);
        expect(zone !== '' && ref === 0 ? 0 : counts.ofZone(state, ref)).toBe(wanted);
      }
      for (const type of [0, 3, 4]) {
        const wanted = model.ids(
          (machine) => machine.capacityType === type && machine.state === state,
        ).length;
        expect(counts.ofCapacityType(state, type)).toBe(wanted);
      }
    }
    const inOrder = [...inventory.slotsById].map((slot) => inventory.idOf(slot));
    expect(inOrder).toEqual(model.idsInOrder(() => true, byId));
    const out = new Uint32Array(MACHINES_MAX + 1);
    expect(new Set(out.subarray(0, inventory.changes.take(out)))).toEqual(this.touched);
    this.touched.clear();
  }

  sortedIds(slots: number[]): string[] {
    return slots.map((slot) => this.inventory.idOf(slot)).sort();
  }

  /** When every machine is removed, no table holds an entry. */
  expectEmptyAfterRemoval(): void {
    const { inventory, model, vectors } = this;
    for (const ref of this.clusterRefs) inventory.tables.clusters.release(ref);
    for (const id of model.ids()) {
      inventory.remove(inventory.find(id));
      model.remove(id);
    }
    const { tables } = inventory;
    const { shapes, clusters, fingerprints, groups, texts } = tables;
    for (const table of [shapes.instanceTypes, shapes.zones, clusters, fingerprints, groups, texts]) {
      expect([table.name, table.count, table.bytesUsed]).toEqual([table.name, 0, 0]);
    }
    expect([shapes.count, shapes.keyBytesUsed, vectors.count]).toEqual([0, 0, 0]);
    expect([tables.hosts.bytesUsed, tables.hosts.providerCount, tables.ids.arena.bytesUsed]).toEqual([
      0, 0, 0,
    ]);
  }
}

describe('the inventory', () => {
  it('agrees with a map of plain objects on every look-up, index, counter and order, whatever happens to it', () => {
    const outcomes = new Map<Outcome, number>();
    fc.assert(
      fc.property(fc.array(stepArb, { maxLength: 60, size: 'max' }), (steps) => {
        const pair = new Pair();
        steps.forEach((step, index) => {
          pair.step(step);
          if (index % 4 === 0) pair.compare();
        });
        pair.compare();
        for (const state of ALL_STATES) for (const cluster of CLUSTERS) pair.readOrders(state, cluster);
        pair.expectEmptyAfterRemoval();
        for (const [outcome, count] of pair.outcomes) {
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + count);
        }
      }),
      { numRuns: 120 },
    );
    for (const outcome of ['ok', 'same', 'duplicate_id', 'inventory_full', 'invalid_machine']) {
      expect([outcome, outcomes.get(outcome)! > 0]).toEqual([outcome, true]); // another seed gives other counts, but never zero
    }
    expect(outcomes.get('illegal_transition')).toBeGreaterThan(0);
    expect(outcomes.get('intent_refused')).toBeGreaterThan(0);
  });
});
