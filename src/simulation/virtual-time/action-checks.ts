/** What the shard says of an action must be what its columns say of the machine (X9); and P6's mark on a first listing. */
import { Flag } from '../../inventory/intent.ts';
import { MachineState, STATE_NAMES } from '../../machine/state.ts';
import type { ActionName, ActionOutcome, ActionRecord } from '../../shard/ports/observer.ts';
import { Violation } from './invariants.ts';
import type { Process } from './world.ts';

const S = MachineState;

const TARGETS: Readonly<Record<ActionName, MachineState>> = {
  Bootstrap: S.Configured,
  Provision: S.Configured,
  Reclaim: S.Idle,
  Preempt: S.Idle,
  Delete: S.Speculative,
};

/** The provider was never called: the machine is what it was. */
const ROLLED_BACK: readonly ActionOutcome[] = ['no_session', 'blob_error', 'blob_timeout', 'rolled_back'];

export function checkOutcome({ shard }: Process, record: ActionRecord): void {
  const { kind, machineId, clusterId, outcome } = record;
  const { inventory } = shard;
  const slot = inventory.find(machineId);
  if (slot === 0)
    throw new Violation(`X9: ${kind} ${machineId} ended as ${outcome}, and the machine is not known`);
  const state = inventory.stateOf(slot);
  const bound = inventory.tables.clusters.get(inventory.columns.cluster[slot]!);
  const expected = ROLLED_BACK.includes(outcome) ? S.Idle : outcome === 'success' ? TARGETS[kind] : state;
  // A provision whose need was withdrawn meanwhile ends with an Idle machine, and well.
  const isUnwanted = kind === 'Provision' && outcome === 'success' && state === S.Idle;
  const isBound = state === S.Configured && outcome === 'success';
  if ((state !== expected && !isUnwanted) || (isBound && bound !== clusterId))
    throw new Violation(
      `X9: ${kind} ${machineId} ended as ${outcome}, and the machine is ${STATE_NAMES[state]} for '${bound}'`,
    );
}

/** P6: whom they drained for nobody knows any more; they count for the first deficit that they fit. */
export function checkFoundDraining({ shard }: Process, providerName: string): void {
  const { inventory } = shard;
  const { columns } = inventory;
  const provider = shard.reconciler.view().findIndex(({ name }) => name === providerName);
  for (let slot = 1; slot < columns.slotLimit; slot++) {
    if (columns.state[slot] !== S.Draining || columns.provider[slot] !== provider) continue;
    if (!inventory.hasFlag(slot, Flag.FoundDraining))
      throw new Violation(`P6: ${inventory.idOf(slot)} was found Draining, and is not marked`);
  }
}
