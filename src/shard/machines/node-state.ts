/** A machine as its cluster sees it. O3: state, labels, resources, host and last error. */
import type { Inventory } from '../../inventory/inventory.ts';
import { INSTANCE_TYPE_KEY, ZONE_KEY } from '../../inventory/shapes.ts';
import { canBeBound, MachineState } from '../../machine/state.ts';
import type { NodeState } from '../ports/operators.ts';

const NODE_NAME_LABEL = 'kubernetes.io/hostname';
const REMOVED_TEXT = 'removed by provider';

/** The node's name in its cluster: the host name label if the provider sets it, else the machine's id. */
export function nodeNameOf(inventory: Inventory, slot: number): string {
  return inventory.labelsOf(slot)[NODE_NAME_LABEL] ?? inventory.idOf(slot);
}

export function nodeStateOf(inventory: Inventory, slot: number, clusterId: string): NodeState {
  const { columns, tables } = inventory;
  const shape = tables.shapes.get(columns.shape[slot]!);
  const labels = inventory.labelsOf(slot);
  const machineId = inventory.idOf(slot);
  const nodeName = labels[NODE_NAME_LABEL] ?? machineId;
  if (shape.instanceType !== '') labels[INSTANCE_TYPE_KEY] = shape.instanceType;
  if (shape.zone !== '') labels[ZONE_KEY] = shape.zone;
  const state = columns.state[slot]! as MachineState;
  return {
    machineId,
    clusterId,
    state,
    nodeName,
    providerId: tables.hosts.get(columns.host[slot]!)?.ref ?? '',
    lastError: state === MachineState.Failed ? tables.texts.get(columns.lastError[slot]!) : '',
    labels,
    resources: tables.shapes.vectors.amountsOf(shape.capacity),
  };
}

/**
 * The last state of a machine that left its cluster. S5: a machine that its provider removed (`to` is 0) is announced as
 * Failed. One that another cluster has now is shown as Idle: its real state would mean that it is still bound here.
 */
export function leftNodeState(inventory: Inventory, slot: number, to: number, clusterId: string): NodeState {
  const node = nodeStateOf(inventory, slot, clusterId);
  if (to === 0) return { ...node, state: MachineState.Failed, lastError: REMOVED_TEXT };
  return canBeBound(node.state) ? { ...node, state: MachineState.Idle, lastError: '' } : node;
}
