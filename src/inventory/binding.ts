/**
 * What a machine is bound to, and when a binding ends. M3: the state decides whether a machine may have a cluster. M5: the
 * assignment is set at the bind and cleared when the machine is unbound. S3: it survives while the machine stays bound to
 * the same cluster. All changes, from whatever source, go through one function, so that no machine without a cluster
 * keeps an assignment.
 */
import type { PenaltyBucket } from '../machine/penalty.ts';
import { MachineState } from '../machine/state.ts';
import type { InventoryColumns } from './columns.ts';
import type { MachineRow } from './machine-row.ts';

/** A bound machine's cluster and assignment, as refs and numbers. */
export interface Binding {
  cluster: number;
  /** Ref of the fingerprint. */
  need: number;
  group: number;
  priority: number;
  interruptionPenalty: PenaltyBucket;
  reclamationPenalty: PenaltyBucket;
}

const S = MachineState;

export function emptyBinding(): Binding {
  return { cluster: 0, need: 0, group: 0, priority: 0, interruptionPenalty: 0, reclamationPenalty: 0 };
}

export function clearBinding(binding: Binding): void {
  binding.cluster = 0;
  clearAssignment(binding);
}

export function hasAssignment(binding: Binding): boolean {
  return (
    binding.need !== 0 ||
    binding.group !== 0 ||
    binding.priority !== 0 ||
    binding.interruptionPenalty !== 0 ||
    binding.reclamationPenalty !== 0
  );
}

export function isSameBinding(a: Binding, b: Binding): boolean {
  return (
    a.cluster === b.cluster &&
    a.need === b.need &&
    a.group === b.group &&
    a.priority === b.priority &&
    a.interruptionPenalty === b.interruptionPenalty &&
    a.reclamationPenalty === b.reclamationPenalty
  );
}

export function copyBinding(to: Binding, from: Binding): void {
  to.cluster = from.cluster;
  copyAssignment(to, from);
}

export function loadBinding(columns: InventoryColumns, slot: number, binding: Binding): void {
  binding.cluster = columns.cluster[slot]!;
  binding.need = columns.need[slot]!;
  binding.group = columns.group[slot]!;
  binding.priority = columns.priority[slot]!;
  binding.interruptionPenalty = columns.interruptionPenalty[slot]!;
  binding.reclamationPenalty = columns.reclamationPenalty[slot]!;
}

export function storeBinding(columns: InventoryColumns, slot: number, binding: Binding): void {
  columns.writeCluster(slot, binding.cluster);
  columns.need[slot] = binding.need;
  columns.group[slot] = binding.group;
  columns.priority[slot] = binding.priority;
  columns.interruptionPenalty[slot] = binding.interruptionPenalty;
  columns.reclamationPenalty[slot] = binding.reclamationPenalty;
}

/** M5: whether the move ends the binding when the change itself does not mention it. */
export function endsBinding(from: MachineState, to: MachineState): boolean {
  if (to === S.Idle || to === S.Speculative) return from !== to;
  // Only the shard knows what a Creating machine is for. From any other state the move was not ours: no need waits for it.
  if (to === S.Creating) return from !== S.Speculative && from !== S.Creating;
  return to === S.Deleting;
}

/**
 * The binding after a change. A provider does not know the cluster for which a machine is being created or has an action
 * enqueued: in states that allow only a local assignment, a record without cluster and assignment changes nothing.
 */
export function resolveBinding(
  next: Binding,
  held: Binding,
  row: MachineRow,
  from: MachineState,
  to: MachineState,
): void {
  const allowsAssignmentOnly = to === S.Creating || to === S.Idle || to === S.Speculative;
  const saysCluster = row.saysCluster && !(allowsAssignmentOnly && row.cluster === 0);
  if (saysCluster) next.cluster = row.cluster;
  else next.cluster = endsBinding(from, to) ? 0 : held.cluster;
  const isNoNews = row.saysCluster && !saysCluster && !hasAssignment(row);
  if (row.saysAssignment && !isNoNews) copyAssignment(next, row);
  else if (next.cluster !== 0 && next.cluster === held.cluster) copyAssignment(next, held);
  else clearAssignment(next);
}

function copyAssignment(to: Binding, from: Binding): void {
  to.need = from.need;
  to.group = from.group;
  to.priority = from.priority;
  to.interruptionPenalty = from.interruptionPenalty;
  to.reclamationPenalty = from.reclamationPenalty;
}

function clearAssignment(binding: Binding): void {
  binding.need = binding.group = binding.priority = 0;
  binding.interruptionPenalty = binding.reclamationPenalty = 0;
}
