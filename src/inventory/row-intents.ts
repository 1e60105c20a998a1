/**
 * Intents and flags on a row: the action enqueued for a machine, and what other parts of the shard noticed about it. X1: an
 * action counts in every rule from the moment it is enqueued, so enqueueing is a write like any other: consistent for other
 * threads, in the indexes and in the change log.
 */
import type { MachineState } from '../machine/state.ts';
import { MachineState as S } from '../machine/state.ts';
import { type Binding, emptyBinding, loadBinding, storeBinding } from './binding.ts';
import { IntentRefusedError } from './errors.ts';
import { Flag, INTENT_STATE, Intent, isBinding } from './intent.ts';
import { findInvalidAssignment } from './row-checks.ts';
import { beginRowWrite, endRowWrite } from './row-generation.ts';
import type { RowStore } from './row-store.ts';

const UNBOUND = emptyBinding();
const held = emptyBinding();

/**
 * Enqueues an action. X2: the machine must be in the state that it needs. Bootstrap and Provision write the binding at once.
 * `isWaiting` sets the flag of an action that waits for its turn (X3).
 */
export function enqueueIntent(
  store: RowStore,
  slot: number,
  intent: Intent,
  binding?: Binding,
  isWaiting = false,
): void {
  const { columns } = store;
  store.guardWrite();
  const state = store.stateOf(slot);
  const refuse = (why: string) => new IntentRefusedError(store.idOf(slot), why);
  if (intent === Intent.None) throw refuse('None is not an action');
  if (columns.intent[slot] !== Intent.None) throw refuse('another action is enqueued already');
  if (INTENT_STATE[intent] !== state) throw refuse(`it is not in the state that action ${intent} needs`);
  if (isBinding(intent) !== (binding !== undefined && binding.cluster !== 0)) {
    throw refuse('Bootstrap and Provision must name a cluster, and no other action may');
  }
  if (binding !== undefined) {
    const invalid = findInvalidAssignment(store.idOf(slot), binding);
    if (invalid !== null) throw invalid;
    store.tables.retainBinding(binding);
    rebind(store, slot, state, 0, binding.cluster);
  }
  beginRowWrite(columns.core, slot);
  columns.intent[slot] = intent;
  if (isWaiting) store.writeFlags(slot, columns.flags[slot]! | Flag.Waiting);
  if (binding !== undefined) storeBinding(columns, slot, binding);
  endRowWrite(columns.core, slot);
  store.changes.mark(slot);
}

/** The action has settled. If it did not bind the machine, its local assignment is cleared. */
export function settleIntent(store: RowStore, slot: number): void {
  const { columns } = store;
  store.guardWrite();
  const state = store.stateOf(slot);
  if (columns.intent[slot] === Intent.None) return;
  const cluster = columns.cluster[slot]!;
  const unbinds = cluster !== 0 && (state === S.Idle || state === S.Speculative);
  if (unbinds) {
    loadBinding(columns, slot, held);
    rebind(store, slot, state, cluster, 0);
  }
  beginRowWrite(columns.core, slot);
  columns.intent[slot] = Intent.None;
  if ((columns.flags[slot]! & Flag.Waiting) !== 0)
    store.writeFlags(slot, columns.flags[slot]! & ~Flag.Waiting);
  if (unbinds) storeBinding(columns, slot, UNBOUND);
  endRowWrite(columns.core, slot);
  if (unbinds) store.tables.releaseBinding(held);
  store.changes.mark(slot);
}

export function writeFlag(store: RowStore, slot: number, flag: Flag, on: boolean): void {
  const { flags, core } = store.columns;
  store.guardWrite();
  store.stateOf(slot);
  const before = flags[slot]!;
  const after = on ? before | flag : before & ~flag;
  if (after === before) return;
  beginRowWrite(core, slot);
  store.writeFlags(slot, after);
  endRowWrite(core, slot);
  store.changes.mark(slot);
}

/** Clocks and flags as those of a machine that is seen for the first time. P6: one that drains counts as found draining. */
export function restartRow(store: RowStore, slot: number, nowMs: number): void {
  const { columns } = store;
  store.guardWrite();
  beginRowWrite(columns.core, slot);
  columns.writeStateSinceMs(slot, nowMs);
  store.writeFlags(slot, columns.state[slot] === S.Draining ? Flag.FoundDraining : 0);
  endRowWrite(columns.core, slot);
  store.changes.mark(slot);
}

function rebind(store: RowStore, slot: number, state: MachineState, before: number, after: number): void {
  const shape = store.columns.shape[slot]!;
  store.indexes.move(slot, state, state, shape, shape, before, after);
}
