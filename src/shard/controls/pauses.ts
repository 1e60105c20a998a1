/**
 * Pauses on machines and clusters (H3). A pause reaches the decision in two ways: machines carry a flag for what the shard must
 * not do with them in their state, and a cluster whose create or bind is paused gets credit only (A9). So the decision does
 * nothing for a pause, and a pause that begins or ends changes the rows that it is about. The queue asks `stopping` for each
 * action, directly and not by the flags: an action that was decided before the pause must not slip through.
 */
import { ActionKind } from '../../decision/actions.ts';
import { Flag } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { MachineState } from '../../machine/state.ts';
import { isInScope, type ScopeRefs, scopeRefs } from '../disruption/machine-scope.ts';
import type { Control, ControlScope, Told } from '../ports/controls.ts';
import { ACQUIRING, CONTROLLED, cordons, flagsOf, isOfMachines } from './flags.ts';

const ALL_FLAGS = CONTROLLED.reduce((all, flag) => all | flag, 0);
/** These take machines away from needs, so the counts of needs stand still (H4). */
const HIDING: readonly Told[] = ['create', 'bind', 'preempt'];

/** A step of an action: a Provision creates, and then binds as a Bootstrap does. */
export interface PausedStep {
  readonly kind: ActionKind;
  /** Whether the machine exists already, so that only the binding is left of a Provision. */
  readonly isCreated: boolean;
  readonly slot: number;
  /** The cluster that gets the machine, or for which it is preempted; ''. */
  readonly needClusterId: string;
}

/** A part of the shard that marks machines without a control: their flags, besides those of controls. */
export interface MarkSource {
  flagsOf(slot: number): number;
}

export class Pauses {
  readonly #inventory: Inventory;
  readonly #providerNames: readonly string[];
  #controls: readonly Control[] = [];
  #areCountsHeld = false;
  /** Clusters that get credit only, by ref; read before each cycle. */
  readonly #creditOnly = new Set<number>();
  readonly #sources: MarkSource[] = [];

  constructor(inventory: Inventory, providerNames: readonly string[]) {
    this.#inventory = inventory;
    this.#providerNames = providerNames;
  }

  /** The source's flags hold from now on; it calls `refresh` when those of a machine change. */
  add(source: MarkSource): void {
    this.#sources.push(source);
  }

  refresh(slot: number): void {
    this.#flag(slot, this.#scopes());
  }

  /** H4: whether a pause in force hides machines from needs of any cluster. */
  get areCountsHeld(): boolean {
    return this.#areCountsHeld;
  }

  /** The controls in force changed: flags every machine that one of them is about, and no other. */
  set(controls: readonly Control[]): void {
    if (controls.length === 0 && this.#controls.length === 0) return;
    this.#controls = controls;
    this.#areCountsHeld = controls.some(hidesMachines);
    this.beginCycle();
    const { columns } = this.#inventory;
    const scopes = this.#scopes();
    for (let slot = 1; slot < columns.slotLimit; slot++)
      if (columns.state[slot] !== 0) this.#flag(slot, scopes);
  }

  /** Refs of clusters are given back and reused between cycles. */
  beginCycle(): void {
    this.#creditOnly.clear();
    for (const { pauses, scope } of this.#controls) {
      if (scope.cluster === '' || !pauses.some((one) => ACQUIRING.includes(one))) continue;
      const ref = this.#inventory.tables.clusters.find(scope.cluster);
      if (ref !== 0) this.#creditOnly.add(ref);
    }
  }

  /** A9: the cluster gets credit only. */
  isCreditOnly(cluster: number): boolean {
    return this.#creditOnly.size > 0 && this.#creditOnly.has(cluster);
  }

  /** Listens to every change of a machine: flags depend on its state and its cluster. */
  changed(slot: number): void {
    if (this.#controls.length > 0 || this.#sources.length > 0) this.#flag(slot, this.#scopes());
  }

  /** The first control that forbids this step now; null if none does. */
  stopping(step: PausedStep): Control | null {
    for (const control of this.#controls) if (this.#stops(control, step)) return control;
    return null;
  }

  /** The control that keeps the shard from this; null if none does. */
  keeping(slot: number, flags: number): Control | null {
    const state = this.#inventory.columns.state[slot]! as MachineState;
    for (const control of this.#controls) {
      if ((flagsOf(control, state) & flags) !== 0 && this.#matches(this.#refsOf(control.scope), slot))
        return control;
    }
    return null;
  }

  /** The control by which the cluster gets credit only; null if there is none. */
  ofCluster(clusterId: string): Control | null {
    return (
      this.#controls.find(
        ({ pauses, scope }) =>
          scope.cluster === clusterId && clusterId !== '' && pauses.some((one) => ACQUIRING.includes(one)),
      ) ?? null
    );
  }

  /** Slots of the machines in this place. Visits the fleet, unless it is one machine. */
  machinesIn(scope: ControlScope): number[] {
    const { columns } = this.#inventory;
    const refs = this.#refsOf(scope);
    const found: number[] = [];
    if (refs.machine !== -1) {
      if (refs.machine > 0 && this.#matches(refs, refs.machine)) found.push(refs.machine);
      return found;
    }
    for (let slot = 1; slot < columns.slotLimit; slot++)
      if (columns.state[slot] !== 0 && this.#matches(refs, slot)) found.push(slot);
    return found;
  }

  /** Machines that the control keeps from something now. Visits the fleet. */
  holding(control: Control): number {
    const { columns } = this.#inventory;
    const refs = this.#refsOf(control.scope);
    let count = 0;
    for (let slot = 1; slot < columns.slotLimit; slot++) {
      const state = columns.state[slot]!;
      if (state === 0 || flagsOf(control, state as MachineState) === 0) continue;
      if (this.#matches(refs, slot)) count++;
    }
    return count;
  }

  #scopes(): (readonly [Control, ScopeRefs])[] {
    return this.#controls.map((control) => [control, this.#refsOf(control.scope)]);
  }

  #flag(slot: number, scopes: readonly (readonly [Control, ScopeRefs])[]): void {
    const { columns } = this.#inventory;
    const state = columns.state[slot]! as MachineState;
    let wanted = 0;
    for (const [control, refs] of scopes) {
      const flags = flagsOf(control, state);
      if ((flags & ~wanted) !== 0 && this.#matches(refs, slot)) wanted |= flags;
    }
    for (const source of this.#sources) wanted |= source.flagsOf(slot);
    const before = columns.flags[slot]! & ALL_FLAGS;
    if (before === wanted) return;
    for (const flag of CONTROLLED)
      if (((before ^ wanted) & flag) !== 0) this.#inventory.setFlag(slot, flag, (wanted & flag) !== 0);
  }

  #stops(control: Control, { kind, isCreated, slot, needClusterId }: PausedStep): boolean {
    const { scope } = control;
    const isPaused = (one: Told) => control.pauses.includes(one);
    if (cordons(control)) return this.#isCordonedFor(kind, slot) && this.#matches(this.#refsOf(scope), slot);
    const isForNeed =
      kind === ActionKind.Bootstrap || kind === ActionKind.Provision || kind === ActionKind.Preempt;
    if (isForNeed && scope.cluster !== '' && scope.cluster === needClusterId && ACQUIRING.some(isPaused))
      return true;
    const paused =
      kind === ActionKind.Reclaim
        ? isPaused('reclaim')
        : kind === ActionKind.Delete
          ? isPaused('release')
          : kind === ActionKind.Preempt
            ? isPaused('preempt') || (isPaused('bind') && scope.cluster === '')
            : scope.cluster === '' &&
              (isPaused('bind') || (isPaused('create') && kind === ActionKind.Provision && !isCreated));
    return paused && this.#matches(this.#refsOf(scope), slot);
  }

  /** H6: no need gets a cordoned machine. The shard releases it if a person gives it back. */
  #isCordonedFor(kind: ActionKind, slot: number): boolean {
    if (kind === ActionKind.Delete) return !this.#inventory.hasFlag(slot, Flag.Releasing);
    return kind !== ActionKind.Reclaim;
  }

  #refsOf(scope: ControlScope): ScopeRefs {
    return scopeRefs(this.#inventory, this.#providerNames, scope);
  }

  #matches(refs: ScopeRefs, slot: number): boolean {
    return isInScope(this.#inventory, refs, slot);
  }
}

function hidesMachines(control: Control): boolean {
  return control.pauses.some((one) => HIDING.includes(one) && isOfMachines(control, one));
}
