/**
 * Tells the history what happens to machines: every beginning and end of a binding, with the need and the cause. It listens
 * where changes are applied, so it sees acks, reads, listings and removals alike; the action under way tells why.
 *
 * What an action did not achieve is told when the action settles, because only then the cause is known.
 */
import { ActionKind } from '../../decision/actions.ts';
import type { NeedRefs } from '../../decision/inspection.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { EventKind } from '../../machine/event.ts';
import { MachineState, STATE_NAMES } from '../../machine/state.ts';
import type { Action, Settlement } from '../execute/action.ts';
import type { NotedEvent } from '../ports/events.ts';
import type { ActionOutcome } from '../ports/observer.ts';
import type { MachineChanged } from './changes.ts';
import { offeringName, offeringOf } from './offerings.ts';

const S = MachineState;

/** Outcomes that are no failure: the action was done, or another part of the shard ended it. */
const NO_FAILURE: ReadonlySet<ActionOutcome> = new Set<ActionOutcome>([
  'success',
  'accepted',
  'stale_state',
  'rolled_back',
  'dropped',
  'deduped',
  'suppressed',
  'dryrun',
]);

const FAILURES: Readonly<Record<number, EventKind>> = {
  [ActionKind.Bootstrap]: 'bind_failed',
  [ActionKind.Provision]: 'create_failed',
  [ActionKind.Reclaim]: 'drain_failed',
  [ActionKind.Preempt]: 'drain_failed',
  [ActionKind.Delete]: 'release_failed',
};

/** A step that ended as Failed, or where it should not: by the state that it left. */
const FAILED_STEPS: Readonly<Record<number, EventKind>> = {
  [S.Creating]: 'create_failed',
  [S.Configuring]: 'bind_failed',
  [S.Draining]: 'drain_failed',
  [S.Deleting]: 'release_failed',
};

/** A step that the shard takes back, because its call was not sent: by the state that it leaves. */
const TAKEN_BACK: Readonly<Record<number, MachineState>> = {
  [S.Creating]: S.Speculative,
  [S.Configuring]: S.Idle,
  [S.Draining]: S.Configured,
  [S.Deleting]: S.Idle,
};

export interface MachineEventsOptions {
  readonly inventory: Inventory;
  readonly providerNames: readonly string[];
  readonly note: (event: NotedEvent) => void;
  readonly cycle: () => number;
  readonly actionOn: (slot: number) => Action | null;
  /** The need that a draining machine was preempted for. */
  readonly drainOf: (slot: number) => NeedRefs | null;
  /** C2: by provider; the first listing shows half a million machines to which nothing happened. */
  readonly hasListed: (provider: number) => boolean;
  /** F4: another replica decides, so a listing shows what happened and not why. */
  readonly isStandby: boolean;
}

export class MachineEvents {
  readonly #options: MachineEventsOptions;
  /** By slot: the state that an action's machine left when its step failed or was taken back, until the action settles. */
  readonly #left = new Map<number, number>();

  constructor(options: MachineEventsOptions) {
    this.#options = options;
  }

  /** Listens to every change of a machine. */
  changed(change: Readonly<MachineChanged>): void {
    const { slot, from, to, clusterBefore, clusterAfter } = change;
    if (this.#options.isStandby && from !== 0 && to !== 0) {
      this.#seen(change);
      return;
    }
    if (from === to) {
      // The provider bound it to another cluster: the one lost it, and the other has it.
      if (to !== S.Configured || clusterBefore === clusterAfter) return;
      if (clusterBefore !== 0) this.#note('interrupted', change, this.#lossOf(change));
      if (clusterAfter !== 0) this.#noteAfter('bound', change);
      return;
    }
    const action = change.source === 'listing' ? null : this.#options.actionOn(slot);
    if (from === 0) this.#appeared(change);
    else if (to === 0) this.#removed(change);
    else if (change.source === 'local') this.#ours(change, action);
    else this.#observed(change, action);
  }

  /** An action has ended; its machine still carries what it had. */
  settled(action: Action, { outcome, detail }: Settlement): void {
    const { slot } = action;
    const { inventory, note } = this.#options;
    const left = this.#left.get(slot);
    this.#left.delete(slot);
    const isFailure = !NO_FAILURE.has(outcome);
    if (!isFailure && left === undefined) return;
    const state = inventory.columns.state[slot]!;
    // A Provision goes on as a bootstrap, so the step says what failed, and not the action.
    const failure = FAILED_STEPS[left ?? state] ?? FAILURES[action.kind]!;
    const words = detail === '' ? outcome.replaceAll('_', ' ') : detail;
    note({
      kind: isFailure ? failure : 'bind_cancelled',
      cycle: action.cycle,
      machineId: action.machineId,
      clusterId: action.clusterId,
      // A preemption's need is the preemptor's, and the machine is its cluster's.
      ...(action.kind === ActionKind.Preempt
        ? { forClusterId: inventory.tables.clusters.get(action.needCluster) }
        : { fingerprint: action.assignment.fingerprint, group: action.assignment.group }),
      ...this.#place(slot),
      ...(left === undefined ? {} : { from: left, to: state }),
      detail: words,
    });
  }

  /** A standby does not know who decided: a machine that goes from Configured to Idle has been drained, as far as it can tell. */
  #seen(change: Readonly<MachineChanged>): void {
    const { from, to, clusterBefore, clusterAfter } = change;
    const wasBound = clusterBefore !== 0 && (from === S.Configured || from === S.Draining);
    const left = to === S.Failed || from === S.Failed ? false : wasBound && clusterBefore !== clusterAfter;
    if (from === to && !left && (to !== S.Configured || clusterBefore === clusterAfter)) return;
    if (left) this.#note('unbound', change);
    if (to === S.Configured) this.#noteAfter('bound', change);
    else if (from === S.Configured && to === S.Draining) this.#noteAfter('changed', change);
    else if (!left) this.#observed(change, null);
  }

  /** The shard moved the machine itself. */
  #ours(change: Readonly<MachineChanged>, action: Action | null): void {
    const { from, to, slot } = change;
    // `settled` tells what failed or was taken back, with the cause.
    if (to === S.Failed || TAKEN_BACK[from] === to) this.#left.set(slot, from);
    else if (to === S.Creating) this.#noteAfter('create_started', change);
    else if (to === S.Configuring) this.#noteAfter('bind_started', change);
    else if (to === S.Deleting) this.#note('release_started', change);
    else if (to === S.Draining) this.#drainBegan(change, action);
  }

  #drainBegan(change: Readonly<MachineChanged>, action: Action | null): void {
    if (action?.kind !== ActionKind.Preempt) {
      this.#note('reclaim_started', change);
      return;
    }
    const { clusters } = this.#options.inventory.tables;
    this.#note('preempted', change, '', {
      forClusterId: clusters.get(action.needCluster),
      fingerprint: action.assignment.fingerprint,
      group: action.assignment.group,
      priority: action.assignment.priority,
    });
  }

  /** An ack, a read or a listing shows the machine in another state. */
  #observed(change: Readonly<MachineChanged>, action: Action | null): void {
    const { from, to, clusterBefore } = change;
    const isBound = clusterBefore !== 0 && (from === S.Configured || from === S.Configuring);
    if (to === S.Configured) this.#noteAfter('bound', change);
    else if (from === S.Draining && to === S.Idle) this.#unbound(change);
    else if (from === S.Creating && to === S.Idle) this.#noteAfter('created', change);
    else if (from === S.Deleting && to === S.Speculative) this.#note('released', change);
    else if (isStep(from, to)) this.#noteAfter('changed', change);
    else if (FAILED_STEPS[from] !== undefined) {
      if (action === null) this.#note(FAILED_STEPS[from]!, change, this.#lossOf(change));
      else this.#left.set(change.slot, from);
    } else if (isBound) this.#note('interrupted', change, this.#lossOf(change));
    else if (to === S.Failed) this.#note('failed', change, this.#lossOf(change));
    else if (from === S.Failed) this.#note('recovered', change);
    else this.#noteAfter('changed', change);
  }

  #unbound(change: Readonly<MachineChanged>): void {
    const preemptor = this.#options.drainOf(change.slot);
    const { clusters } = this.#options.inventory.tables;
    const forClusterId = preemptor === null ? '' : clusters.get(preemptor.cluster);
    this.#note('unbound', change, '', { forClusterId });
  }

  #appeared(change: Readonly<MachineChanged>): void {
    if (change.to === S.Speculative) return; // an offer, not a machine
    const { inventory, hasListed } = this.#options;
    if (hasListed(inventory.columns.provider[change.slot]!)) this.#noteAfter('appeared', change);
  }

  #removed(change: Readonly<MachineChanged>): void {
    const { from, clusterBefore } = change;
    if (from === S.Speculative) return;
    if (from === S.Deleting) this.#note('released', change);
    else if (from === S.Draining) this.#unbound(change);
    else if (clusterBefore !== 0 && from === S.Configured)
      this.#note('interrupted', change, this.#lossOf(change));
    else if (FAILED_STEPS[from] !== undefined) this.#note(FAILED_STEPS[from]!, change, this.#lossOf(change));
    else this.#note('removed', change);
  }

  /** Why a cluster lost the machine, or a step failed: what the provider says. */
  #lossOf({ slot, to, clusterAfter, from }: Readonly<MachineChanged>): string {
    const { columns, tables } = this.#options.inventory;
    if (to === 0) return 'its provider no longer lists it';
    if (to === S.Failed) {
      const said = tables.texts.get(columns.lastError[slot]!);
      return said === '' ? 'its provider shows it Failed' : `its provider shows it Failed: ${said}`;
    }
    if (to === from)
      return `its provider bound it to cluster ${tables.clusters.get(clusterAfter) || '(none)'}`;
    return `its provider shows it ${STATE_NAMES[to as MachineState]}`;
  }

  /** With the cluster and the need that the machine had before. */
  #note(
    kind: EventKind,
    change: Readonly<MachineChanged>,
    detail = '',
    more: Partial<NotedEvent> = {},
  ): void {
    const { clusters, fingerprints, groups } = this.#options.inventory.tables;
    this.#tell(kind, change, {
      clusterId: clusters.get(change.clusterBefore),
      fingerprint: fingerprints.shortText(change.needBefore),
      group: groups.shortText(change.groupBefore),
      detail,
      ...more,
    });
  }

  /** With the cluster and the need that the machine has now. */
  #noteAfter(kind: EventKind, change: Readonly<MachineChanged>): void {
    const { columns, tables } = this.#options.inventory;
    this.#tell(kind, change, {
      clusterId: tables.clusters.get(change.clusterAfter),
      fingerprint: tables.fingerprints.shortText(columns.need[change.slot]!),
      group: tables.groups.shortText(columns.group[change.slot]!),
      priority: columns.priority[change.slot]!,
    });
  }

  #tell(kind: EventKind, { slot, from, to }: Readonly<MachineChanged>, facts: Partial<NotedEvent>): void {
    const { inventory, note, cycle } = this.#options;
    note({ kind, cycle: cycle(), machineId: inventory.idOf(slot), ...this.#place(slot), from, to, ...facts });
  }

  #place(slot: number): Pick<Required<NotedEvent>, 'provider' | 'offering'> {
    const { inventory, providerNames } = this.#options;
    return {
      provider: providerNames[inventory.columns.provider[slot]!] ?? '',
      offering: offeringName(inventory, offeringOf(inventory, slot)),
    };
  }
}

/** The provider began the step that the shard asked for, or one that the shard did not ask for on an unbound machine. */
function isStep(from: number, to: number): boolean {
  return (
    (to === S.Creating && from === S.Speculative) ||
    (to === S.Configuring && from === S.Idle) ||
    (to === S.Deleting && from === S.Idle)
  );
}
