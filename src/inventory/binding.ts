/**
 * What a machine is bound to, and the rules by which a binding lasts (M3, M5, S3). One function decides, whichever
 * path a change comes by, so that an assignment is never left on a machine that has lost its cluster.
 */
import type { PenaltyBucket } from '../machine/penalty.ts';
import { MachineState } from '../machine/state.ts';
import type { InventoryColumns } from './columns.ts';
import type { MachineRow } from './machine-row.ts';

/** A bound machine's cluster and, of its need, fingerprint, group, priority and penalties. Refs and numbers. */
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

/** M5: whether the move ends a binding that the change itself says nothing about. */
export function endsBinding(from: MachineState, to: MachineState): boolean {
  if (to === S.Idle || to === S.Speculative) return from !== to;
  // A Creating machine carries, locally, what it is created for; coming from elsewhere it is created for nobody.
  if (to === S.Creating) return from !== S.Speculative && from !== S.Creating;
  return to === S.Deleting;
}

/**
 * The binding after a change. A provider knows nothing of a cluster that a machine is still created for, or enqueued
 * for: where the state allows a local assignment only, "no cluster, no assignment" is not news.
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
