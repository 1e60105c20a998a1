/** Checks of single actions and of machines that a first listing shows Draining. */
import { ASSIGNED_FINGERPRINT_BYTES_MAX, ASSIGNED_GROUP_BYTES_MAX, fits } from '../../base/text-limits.ts';
import { Flag } from '../../inventory/intent.ts';
import { ASSIGNMENT_KEYS } from '../../machine/assignment-keys.ts';
import { MachineState, STATE_NAMES } from '../../machine/state.ts';
import type { ActionName, ActionOutcome, ActionRecord } from '../../shard/ports/observer.ts';
import type { ProviderCall } from '../../shard/ports/providers.ts';
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

/** The shard did not call the provider, so the machine is unchanged. */
const ROLLED_BACK: readonly ActionOutcome[] = ['no_session', 'blob_error', 'blob_timeout', 'rolled_back'];

/** X9: the reported outcome of an action agrees with the state of its machine. */
export function checkOutcome({ shard }: Process, record: ActionRecord): void {
  const { kind, machineId, clusterId, outcome } = record;
  const { inventory } = shard;
  const slot = inventory.find(machineId);
  if (slot === 0)
    throw new Violation(`X9: ${kind} ${machineId} ended with ${outcome}, but the shard has no such machine`);
  const state = inventory.stateOf(slot);
  const bound = inventory.tables.clusters.get(inventory.columns.cluster[slot]!);
  const expected = ROLLED_BACK.includes(outcome) ? S.Idle : outcome === 'success' ? TARGETS[kind] : state;
  // A Provision whose need was withdrawn meanwhile rightly ends with an Idle machine.
  const isUnwanted = kind === 'Provision' && outcome === 'success' && state === S.Idle;
  const isBound = state === S.Configured && outcome === 'success';
  if ((state !== expected && !isUnwanted) || (isBound && bound !== clusterId))
    throw new Violation(
      `X9: ${kind} ${machineId} for '${clusterId}' ended with ${outcome}, but the machine is ${STATE_NAMES[state]} for '${bound}'`,
    );
}

/** T4: the assignment of a Configure is short, and names the need that the machine is bound for. */
export function checkAssignment({ shard }: Process, { machineId, shardMetadata }: ProviderCall): void {
  if (shardMetadata === undefined) return;
  const { tables } = shard.inventory;
  const { needFingerprint, needGroup } = shard.executor.actionOn(shard.inventory.find(machineId))!;
  for (const [key, bytesMax, table, ref] of [
    [ASSIGNMENT_KEYS.fingerprint, ASSIGNED_FINGERPRINT_BYTES_MAX, tables.fingerprints, needFingerprint],
    [ASSIGNMENT_KEYS.group, ASSIGNED_GROUP_BYTES_MAX, tables.groups, needGroup],
  ] as const) {
    const written = shardMetadata[key]!;
    if (!fits(written, bytesMax))
      throw new Violation(`T4: the shard writes ${key} with ${written.length} characters on ${machineId}`);
    if (table.find(written) !== ref)
      throw new Violation(
        `T4: ${key} on ${machineId} does not name the need that it is bound for: ${written}`,
      );
  }
}

/** P6: a new process marks machines that it finds Draining; they count for the first deficit that they match. */
export function checkFoundDraining({ shard }: Process, providerName: string): void {
  const { inventory } = shard;
  const { columns } = inventory;
  const provider = shard.reconciler.view().findIndex(({ name }) => name === providerName);
  for (let slot = 1; slot < columns.slotLimit; slot++) {
    if (columns.state[slot] !== S.Draining || columns.provider[slot] !== provider) continue;
    if (!inventory.hasFlag(slot, Flag.FoundDraining))
      throw new Violation(
        `P6: the first listing shows ${inventory.idOf(slot)} Draining, but the shard did not mark it`,
      );
  }
}
