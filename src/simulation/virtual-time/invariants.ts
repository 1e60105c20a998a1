/**
 * Invariants of the inventory. Each check is slow and obvious, and its violation names the values.
 */
import { Intent } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { canBeBound, MachineState, STATE_COUNT, STATE_NAMES } from '../../machine/state.ts';

export class Violation extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'Violation';
  }
}

/** Rows, ids, indexes and counts agree. */
export function checkInventory(inventory: Inventory): void {
  const { columns, indexes, tables } = inventory;
  const counts = new Uint32Array(STATE_COUNT);
  let machines = 0;
  const byShape = new Map<string, number>();
  const byCluster = new Map<string, number>();
  for (let slot = 1; slot < columns.slotLimit; slot++) {
    const state = columns.state[slot]!;
    if (state === 0) continue;
    machines++;
    counts[state]!++;
    const id = inventory.idOf(slot);
    if (inventory.find(id) !== slot)
      throw new Violation(`${id} is in slot ${slot}, but the id index has another slot`);
    if (!tables.shapes.isHeld(columns.shape[slot]!))
      throw new Violation(`${id} has a shape that the shape table has dropped`);
    add(byShape, `${state}|${columns.shape[slot]}`);
    if (columns.cluster[slot] !== 0) add(byCluster, `${columns.cluster[slot]}|${state}`);
    checkRow(inventory, slot, id);
  }
  if (machines !== inventory.count)
    throw new Violation(`${machines} rows are in use, but the count is ${inventory.count}`);
  for (let state = 1; state < STATE_COUNT; state++) {
    if (counts[state] !== indexes.countInState(state)) {
      throw new Violation(
        `${counts[state]} machines are ${nameOf(state)}, the index has ${indexes.countInState(state)}`,
      );
    }
  }
  for (const [key, count] of byShape) {
    const [state, shape] = key.split('|').map(Number) as [number, number];
    if (indexes.countOfShape(state, shape) !== count)
      throw new Violation(`the index of state|shape ${key} has a wrong count`);
  }
  for (const [key, count] of byCluster) {
    const [cluster, state] = key.split('|').map(Number) as [number, number];
    if (indexes.countOfCluster(cluster, state) !== count)
      throw new Violation(`the index of cluster|state ${key} has a wrong count`);
  }
}

function checkRow(inventory: Inventory, slot: number, id: string): void {
  const { columns } = inventory;
  const state = columns.state[slot]! as MachineState;
  const isAssigned = columns.intent[slot] !== Intent.None || state === MachineState.Creating;
  const isBound = columns.cluster[slot] !== 0;
  if (isBound && !isAssigned && !canBeBound(state))
    throw new Violation(`${id} is ${nameOf(state)} and bound`);
  if ((state === MachineState.Configured || state === MachineState.Draining) && !isBound) {
    throw new Violation(`${id} is ${nameOf(state)} without a cluster`);
  }
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function nameOf(state: number): string {
  return STATE_NAMES[state as MachineState] ?? String(state);
}
