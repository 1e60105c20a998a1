/**
 * The actions that a cycle decided, in the order of the phases (R4), as columns that every cycle reuses: a burst of
 * 50,000 actions makes no objects. Refs point into the inventory's tables.
 */
import {
  columnF64,
  columnI32,
  columnU8,
  columnU32,
  widerF64,
  widerI32,
  widerU8,
  widerU32,
} from './columns/columns.ts';
import type { EngineNeeds } from './demand/engine-needs.ts';
import type { AssignmentTable } from './supply/assignments.ts';

/** The numbers of intents, and Withdraw: it ends an action that waits for its turn (X3), so it is not an action of its own. */
export const ActionKind = {
  Bootstrap: 1,
  Provision: 2,
  Reclaim: 3,
  Preempt: 4,
  Delete: 5,
  Withdraw: 6,
} as const;
export type ActionKind = (typeof ActionKind)[keyof typeof ActionKind];
/** The kinds that machines carry as intents. */
export type ExecutedKind = Exclude<ActionKind, typeof ActionKind.Withdraw>;

export const ACTION_NAMES: Readonly<Record<ActionKind, string>> = {
  [ActionKind.Bootstrap]: 'Bootstrap',
  [ActionKind.Provision]: 'Provision',
  [ActionKind.Reclaim]: 'Reclaim',
  [ActionKind.Preempt]: 'Preempt',
  [ActionKind.Delete]: 'Delete',
  [ActionKind.Withdraw]: 'Withdraw',
};

/** What a preemption's victim is to its cluster and to the need, as bits. */
export const Victim = {
  /** P1, second tier: a need claims it. T9: it costs its cluster a token. */
  Claimed: 1,
  /** T9: the victims of a gang go all or none. */
  OfGang: 2,
} as const;

/** The reasons in the audit log. */
export const ACTION_REASONS: Readonly<Record<ActionKind, string>> = {
  [ActionKind.Bootstrap]: 'phase1.idle',
  [ActionKind.Provision]: 'phase1.speculative',
  [ActionKind.Reclaim]: 'phase3.excess',
  [ActionKind.Preempt]: 'phase2.inversion',
  [ActionKind.Delete]: 'phase3.release',
  [ActionKind.Withdraw]: 'waiting.withdrawn',
};

/** The need that an action serves. */
export interface ActionNeed {
  readonly cluster: number;
  readonly fingerprint: number;
  readonly group: number;
  readonly priority: number;
  readonly interruptionPenalty: number;
  readonly reclamationPenalty: number;
}

const NO_NEED: ActionNeed = {
  cluster: 0,
  fingerprint: 0,
  group: 0,
  priority: 0,
  interruptionPenalty: 0,
  reclamationPenalty: 0,
};

/** What the actions for a need say of it. */
export function actionNeed(needs: EngineNeeds, assignments: AssignmentTable, need: number): ActionNeed {
  const assignment = needs.assignment[need]!;
  return {
    cluster: needs.cluster[need]!,
    fingerprint: assignments.fingerprint[assignment]!,
    group: assignments.group[assignment]!,
    priority: needs.priority[need]!,
    interruptionPenalty: needs.interruptionPenalty[need]!,
    reclamationPenalty: needs.reclamationPenalty[need]!,
  };
}

export class ActionList {
  count = 0;
  kind = columnU8(256);
  slot = columnU32(256);
  /** The cluster that the machine is bound to, or will be. */
  cluster = columnU32(256);
  /** The cluster of the need that the action serves; of a preemption: the preemptor's. */
  forCluster = columnU32(256);
  fingerprint = columnU32(256);
  group = columnU32(256);
  priority = columnI32(256);
  interruptionPenalty = columnU8(256);
  reclamationPenalty = columnU8(256);
  graceSeconds = columnF64(256);
  /** Of a preemption: bits of `Victim`; else 0. */
  victim = columnU8(256);

  clear(): void {
    this.count = 0;
  }

  add(
    kind: ActionKind,
    slot: number,
    cluster: number,
    graceSeconds: number,
    need: ActionNeed = NO_NEED,
    victim = 0,
  ): void {
    const at = this.count++;
    if (at >= this.kind.length) this.#widen(at);
    this.kind[at] = kind;
    this.slot[at] = slot;
    this.cluster[at] = cluster;
    this.graceSeconds[at] = graceSeconds;
    this.victim[at] = victim;
    this.forCluster[at] = need.cluster;
    this.fingerprint[at] = need.fingerprint;
    this.group[at] = need.group;
    this.priority[at] = need.priority;
    this.interruptionPenalty[at] = need.interruptionPenalty;
    this.reclamationPenalty[at] = need.reclamationPenalty;
  }

  /** Adds actions [from, end) of another list. */
  copyFrom(other: ActionList, from: number, end: number): void {
    for (let index = from; index < end; index++) {
      this.add(
        other.kind[index]! as ActionKind,
        other.slot[index]!,
        other.cluster[index]!,
        other.graceSeconds[index]!,
        {
          cluster: other.forCluster[index]!,
          fingerprint: other.fingerprint[index]!,
          group: other.group[index]!,
          priority: other.priority[index]!,
          interruptionPenalty: other.interruptionPenalty[index]!,
          reclamationPenalty: other.reclamationPenalty[index]!,
        },
        other.victim[index]!,
      );
    }
  }

  #widen(at: number): void {
    this.kind = widerU8(this.kind, at);
    this.slot = widerU32(this.slot, at);
    this.cluster = widerU32(this.cluster, at);
    this.forCluster = widerU32(this.forCluster, at);
    this.fingerprint = widerU32(this.fingerprint, at);
    this.group = widerU32(this.group, at);
    this.priority = widerI32(this.priority, at);
    this.interruptionPenalty = widerU8(this.interruptionPenalty, at);
    this.reclamationPenalty = widerU8(this.reclamationPenalty, at);
    this.graceSeconds = widerF64(this.graceSeconds, at);
    this.victim = widerU8(this.victim, at);
  }
}
