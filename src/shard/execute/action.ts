/** One decided action, from the queue to the provider and back. */
import { ACTION_NAMES, ACTION_REASONS, type ActionList, type ExecutedKind } from '../../decision/actions.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { Assignment } from '../../machine/machine.ts';
import type { NextRead } from '../machines/reads.ts';
import type { ActionName, ActionOutcome, ActionRecord } from '../ports/observer.ts';
import type { Turn } from './lone-call.ts';

export interface Action {
  readonly kind: ExecutedKind;
  readonly cycle: number;
  /** X16: the stretch in which it was decided (base/pulse.ts). */
  readonly stretch: number;
  readonly slot: number;
  readonly generation: number;
  readonly provider: number;
  readonly machineId: string;
  /** The cluster that the machine is bound to, or will be. '' for a release. */
  readonly clusterId: string;
  /** Refs of the need that the action serves, held until it ends; 0 = none. */
  readonly needCluster: number;
  readonly needFingerprint: number;
  readonly needGroup: number;
  /** Fingerprint and group of the need, whole; '' = none. */
  readonly fingerprint: string;
  readonly group: string;
  /** As the provider stores it. T4: a long fingerprint or group as its digest. */
  readonly assignment: Assignment;
  readonly graceSeconds: number;
  readonly enqueuedMs: number;
  blobMs: number;
  callMs: number;
  /** X16: while its call must be the only one. */
  turn: Turn | null;
}

/** How an action ended, and which read follows. */
export interface Settlement {
  readonly outcome: ActionOutcome;
  readonly detail: string;
  readonly next: NextRead;
}

export function settlement(
  outcome: ActionOutcome,
  detail = '',
  next: Settlement['next'] = 'nothing',
): Settlement {
  return { outcome, detail, next };
}

export function actionAt(
  list: ActionList,
  index: number,
  inventory: Inventory,
  cycle: number,
  stretch: number,
  nowMs: number,
): Action {
  const { clusters, fingerprints, groups } = inventory.tables;
  const slot = list.slot[index]!;
  const needCluster = list.forCluster[index]!;
  const needFingerprint = list.fingerprint[index]!;
  const needGroup = list.group[index]!;
  clusters.retain(needCluster);
  fingerprints.retain(needFingerprint);
  groups.retain(needGroup);
  return {
    kind: list.kind[index]! as ExecutedKind,
    cycle,
    stretch,
    slot,
    generation: inventory.generationOf(slot),
    provider: inventory.columns.provider[slot]!,
    machineId: inventory.idOf(slot),
    clusterId: clusters.get(list.cluster[index]!),
    needCluster,
    needFingerprint,
    needGroup,
    fingerprint: fingerprints.get(needFingerprint),
    group: groups.get(needGroup),
    assignment: {
      fingerprint: fingerprints.shortText(needFingerprint),
      group: groups.shortText(needGroup),
      priority: list.priority[index]!,
      interruptionPenalty: list.interruptionPenalty[index]!,
      reclamationPenalty: list.reclamationPenalty[index]!,
    },
    graceSeconds: list.graceSeconds[index]!,
    enqueuedMs: nowMs,
    blobMs: 0,
    callMs: 0,
    turn: null,
  };
}

/** Releases the refs that `actionAt` held. */
export function releaseAction(action: Action, inventory: Inventory): void {
  inventory.tables.releaseRefs(action.needCluster, action.needFingerprint, action.needGroup);
}

export function recordOf(
  action: Action,
  outcome: ActionOutcome,
  detail: string,
  nowMs: number,
  inventory: Inventory,
): ActionRecord {
  const isExecuted = outcome !== 'dropped' && outcome !== 'suppressed' && outcome !== 'dryrun';
  const forClusterId = inventory.tables.clusters.get(action.needCluster);
  return {
    atMs: nowMs,
    cycle: action.cycle,
    kind: ACTION_NAMES[action.kind] as ActionName,
    machineId: action.machineId,
    clusterId: action.clusterId,
    forClusterId: forClusterId === action.clusterId ? '' : forClusterId,
    fingerprint: action.fingerprint,
    group: action.group,
    reason: ACTION_REASONS[action.kind],
    graceSeconds: action.graceSeconds,
    outcome,
    detail,
    durationMs: isExecuted ? nowMs - action.enqueuedMs : 0,
    blobMs: action.blobMs,
    callMs: action.callMs,
  };
}
