/**
 * The one place where a machine changes, whichever path brought the change: an action of ours, a provider's ack, a
 * `Get`, a listing. It checks the move (M2), takes a provider's word or doubts it (S2), keeps or ends the binding (S3, by
 * inventory/binding.ts), and tells every listener what the machine was and what it is now.
 *
 * A state that M2 does not allow in one step is doubted: it is taken when a second reading says the same. So a step that
 * was missed, a spot machine that vanished or a provider that lost its memory are all learned, and a single wrong
 * row is not.
 *
 * `sequence` counts changes. A listing or a read that began before a machine's last one may show an older machine:
 * whoever applies it compares (S4).
 */
import { ShardError } from '../../base/errors.ts';
import type { Inventory, MachineChange } from '../../inventory/inventory.ts';
import type { MachineRow } from '../../inventory/machine-row.ts';
import type { ObservationOutcome } from '../../listing/apply/apply.ts';
import { InvalidMachineError, type InvalidReason, type Machine } from '../../machine/machine.ts';
import { canMove, MachineState } from '../../machine/state.ts';
import type { ShardCounters, ShardObserver } from '../ports/observer.ts';

export type ChangeSource = 'local' | 'ack' | 'read' | 'listing';

/** One object for all changes: a listener that keeps anything of it copies it. */
export interface MachineChanged {
  slot: number;
  source: ChangeSource;
  /** 0: seen for the first time. */
  from: number;
  /** 0: about to be removed; the row can still be read. */
  to: number;
  /** Refs in the table of clusters, both still valid; 0 = none. */
  clusterBefore: number;
  clusterAfter: number;
  /** Shape, own labels or host are others now. */
  hasOtherFacts: boolean;
}

export type ChangeListener = (change: Readonly<MachineChanged>) => void;

const S = MachineState;
const BY_READING = -1;

interface Doubt {
  readonly state: number;
  /** Number of the listing that said it; BY_READING. */
  readonly listing: number;
}

export class MachineChanges {
  readonly inventory: Inventory;
  readonly #counters: ShardCounters;
  readonly #observer: ShardObserver;
  readonly #providerNames: readonly string[];
  readonly #listeners: ChangeListener[] = [];
  readonly #doubts = new Map<number, Doubt>();
  readonly #changedAt: Float64Array;
  #sequence = 0;
  #capacityExhaustedCount = 0;
  #capacityExhaustedDetail = '';
  readonly #change: MachineChanged = {
    slot: 0,
    source: 'local',
    from: 0,
    to: 0,
    clusterBefore: 0,
    clusterAfter: 0,
    hasOtherFacts: false,
  };
  #shapeBefore = 0;
  #ownLabelsBefore = 0;
  #hostBefore = 0;

  /** `providerNames` by index. */
  constructor(
    inventory: Inventory,
    counters: ShardCounters,
    observer: ShardObserver,
    providerNames: readonly string[],
  ) {
    this.inventory = inventory;
    this.#counters = counters;
    this.#observer = observer;
    this.#providerNames = providerNames;
    this.#changedAt = new Float64Array(inventory.columns.rowCapacity);
  }

  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  /** To be kept when a listing or a read begins, and shown to `changedSince` when it ends. */
  get sequence(): number {
    return this.#sequence;
  }

  changedSince(slot: number, sequence: number): boolean {
    return this.#changedAt[slot]! > sequence;
  }

  get doubtCount(): number {
    return this.#doubts.size;
  }

  /** Records and errors that a full table had no room for. */
  get capacityExhaustedCount(): number {
    return this.#capacityExhaustedCount;
  }

  /** S2: listing number `listing`, a full one, did not repeat what an earlier one said of this machine. */
  dropDoubt(slot: number, listing: number): void {
    const doubt = this.#doubts.get(slot);
    if (doubt === undefined || doubt.listing === BY_READING || doubt.listing >= listing) return;
    this.#doubts.delete(slot);
    this.#reportDoubt(
      'observation_discarded',
      slot,
      this.inventory.stateOf(slot),
      doubt.state as MachineState,
    );
  }

  /** A change of ours. Throws what the inventory throws: an illegal one is our mistake. */
  move(slot: number, change: MachineChange, nowMs: number): void {
    this.#begin(slot, 'local');
    try {
      this.inventory.apply(slot, change, nowMs);
    } finally {
      this.#end();
    }
  }

  /** X8: the provider refused. False if there is no room for what it said: told, and the machine is as it was. */
  fail(slot: number, lastError: string, nowMs: number): boolean {
    try {
      this.move(slot, { state: S.Failed, lastError }, nowMs);
      return true;
    } catch (error) {
      this.#refuse(error, this.inventory.columns.provider[slot]!);
      this.reportCapacityExhausted();
      return false;
    }
  }

  /** Of those since it was last told: a full inventory refuses a whole listing, and that is one line in a log. */
  reportCapacityExhausted(): void {
    if (this.#capacityExhaustedDetail === '') return;
    this.#observer.happened({
      kind: 'inventory_full',
      level: 'error',
      detail: this.#capacityExhaustedDetail,
    });
    this.#capacityExhaustedDetail = '';
  }

  /** A table is full: what was said is refused, and counted. */
  noteCapacityExhausted(error: ShardError): void {
    this.#capacityExhaustedCount++;
    this.#capacityExhaustedDetail = error.message;
  }

  /** The provider's word in an ack or a `Get`. */
  observe(slot: number, machine: Machine, source: 'ack' | 'read', nowMs: number): ObservationOutcome {
    const judged = this.#judge(slot, machine.state, BY_READING);
    if (judged === 'doubted') return judged;
    this.#begin(slot, source);
    try {
      const options = { force: judged === 'confirmed' };
      const hasChanged = this.inventory.apply(slot, this.#changeOf(slot, machine), nowMs, options);
      return hasChanged ? judged : 'same';
    } catch (error) {
      this.#refuse(error, this.inventory.columns.provider[slot]!);
      this.reportCapacityExhausted();
      return 'refused';
    } finally {
      this.#end();
    }
  }

  /** The same in a row of listing number `listing`; the row is filled for this machine (`fillBinding`). */
  observeRow(slot: number, row: MachineRow, listing: number, nowMs: number): ObservationOutcome {
    const judged = this.#judge(slot, row.state, listing);
    return judged === 'doubted' ? judged : this.#applyRow(slot, row, judged, nowMs);
  }

  /**
   * A row that takes the place of one that the same listing showed before, as if it had been inserted so: no change of the
   * machine, so never doubted, and not later than the listing.
   */
  replaceRow(slot: number, row: MachineRow, nowMs: number): ObservationOutcome {
    const fate = this.#applyRow(slot, row, 'confirmed', nowMs);
    this.#changedAt[slot] = 0;
    return fate;
  }

  /** A machine that a listing shows for the first time. Returns its slot, 0 if it was refused. */
  insertRow(
    bytes: Uint8Array,
    idStart: number,
    idEnd: number,
    row: MachineRow,
    provider: number,
    nowMs: number,
  ): number {
    let slot: number;
    try {
      slot = this.inventory.insertRow(bytes, idStart, idEnd, row, provider, nowMs);
    } catch (error) {
      this.#refuse(error, provider);
      return 0;
    }
    this.#changedAt[slot] = 0;
    const change = this.#change;
    change.slot = slot;
    change.source = 'listing';
    change.from = 0;
    change.to = row.state;
    change.clusterBefore = 0;
    change.clusterAfter = row.cluster;
    change.hasOtherFacts = true;
    for (const listener of this.#listeners) listener(change);
    return slot;
  }

  /** Tells the listeners while the row is still there, then forgets the machine. */
  remove(slot: number, source: 'read' | 'listing'): void {
    const { columns } = this.inventory;
    const change = this.#change;
    change.slot = slot;
    change.source = source;
    change.from = columns.state[slot]!;
    change.to = 0;
    change.clusterBefore = columns.cluster[slot]!;
    change.clusterAfter = 0;
    change.hasOtherFacts = false;
    for (const listener of this.#listeners) listener(change);
    this.#doubts.delete(slot);
    this.inventory.remove(slot);
    this.#counters.rowsRemoved++;
  }

  /**
   * What a row says of its binding to this machine: nothing where the provider cannot know better than we do (S3, X10),
   * so that a local assignment survives while the machine stays bound to the same cluster.
   */
  fillBinding(slot: number, row: MachineRow): void {
    const held = this.inventory.columns.cluster[slot]!;
    const isSilent = row.cluster === 0 && mayBeSilent(row.state);
    row.saysCluster = !isSilent;
    row.saysAssignment = row.cluster !== 0 && row.cluster !== held;
  }

  #applyRow(
    slot: number,
    row: MachineRow,
    judged: 'applied' | 'confirmed',
    nowMs: number,
  ): ObservationOutcome {
    this.#begin(slot, 'listing');
    try {
      return this.inventory.applyRow(slot, row, nowMs, judged === 'confirmed') ? judged : 'same';
    } catch (error) {
      return this.#refuse(error, this.inventory.columns.provider[slot]!);
    } finally {
      this.#end();
    }
  }

  #changeOf(slot: number, machine: Machine): MachineChange {
    const { clusters } = this.inventory.tables;
    const held = this.inventory.columns.cluster[slot]!;
    const { cluster, assignment } = machine;
    const isSilent = cluster === '' && mayBeSilent(machine.state);
    const isHeld = cluster === '' || (held !== 0 && clusters.get(held) === cluster);
    return {
      state: machine.state,
      host: machine.host,
      instanceType: machine.instanceType,
      zone: machine.zone,
      capacityType: machine.capacityType,
      pricePerHourUsd: machine.pricePerHourUsd,
      interruptionProbability: machine.interruptionProbability,
      capacity: machine.capacity,
      labels: machine.labels,
      lastError: machine.lastError,
      ...(isSilent ? {} : { cluster }),
      ...(isHeld ? {} : { assignment }),
    };
  }

  #judge(slot: number, to: number, listing: number): 'applied' | 'confirmed' | 'doubted' {
    const from = this.inventory.stateOf(slot);
    if (to === from) this.#settleDoubt(slot, from, to);
    if (to === from || (canMove(from, to as MachineState) && !isTakenBack(from, to))) return 'applied';
    const doubt = this.#doubts.get(slot);
    // A doubt of an earlier listing than the last one was answered by the silence of the last.
    const isAgain = doubt?.state === to && (doubt.listing === BY_READING || listing <= doubt.listing + 1);
    const kind = isAgain ? 'observation_confirmed' : doubt === undefined ? null : 'observation_discarded';
    if (kind !== null) this.#reportDoubt(kind, slot, from, (isAgain ? to : doubt!.state) as MachineState);
    if (isAgain) return 'confirmed';
    this.#doubts.set(slot, { state: to, listing });
    return 'doubted';
  }

  #reportDoubt(
    kind: 'observation_confirmed' | 'observation_discarded',
    slot: number,
    from: MachineState,
    to: MachineState,
  ): void {
    if (kind === 'observation_confirmed') this.#counters.observationsConfirmed++;
    else this.#counters.observationsDiscarded++;
    this.#observer.happened({ kind, level: 'warn', machineId: this.inventory.idOf(slot), from, to });
  }

  #begin(slot: number, source: ChangeSource): void {
    const { columns, tables } = this.inventory;
    const change = this.#change;
    change.slot = slot;
    change.source = source;
    change.from = columns.state[slot]!;
    change.clusterBefore = columns.cluster[slot]!;
    tables.clusters.retain(change.clusterBefore); // listeners may still look it up
    this.#shapeBefore = columns.shape[slot]!;
    this.#ownLabelsBefore = columns.ownLabels[slot]!;
    this.#hostBefore = columns.host[slot]!;
  }

  #end(): void {
    const { columns, tables } = this.inventory;
    const change = this.#change;
    const { slot, from, clusterBefore } = change;
    this.#changedAt[slot] = ++this.#sequence;
    change.to = columns.state[slot]!;
    change.clusterAfter = columns.cluster[slot]!;
    change.hasOtherFacts =
      columns.shape[slot] !== this.#shapeBefore ||
      columns.ownLabels[slot] !== this.#ownLabelsBefore ||
      columns.host[slot] !== this.#hostBefore;
    if (change.to !== from) this.#settleDoubt(slot, from as MachineState, change.to);
    if (change.to !== from || change.hasOtherFacts || change.clusterAfter !== clusterBefore) {
      for (const listener of this.#listeners) listener(change);
    }
    tables.clusters.release(clusterBefore);
  }

  #settleDoubt(slot: number, from: MachineState, to: number): void {
    const doubt = this.#doubts.get(slot);
    if (doubt === undefined) return;
    this.#doubts.delete(slot);
    if (doubt.state !== to)
      this.#reportDoubt('observation_discarded', slot, from, doubt.state as MachineState);
  }

  #refuse(error: unknown, provider: number): 'refused' {
    if (!(error instanceof ShardError)) throw error;
    if (!(error instanceof InvalidMachineError)) {
      this.noteCapacityExhausted(error);
      return 'refused';
    }
    const reason: InvalidReason = error.reason;
    this.#counters.rejected[reason]++;
    const detail = error.message;
    this.#observer.happened({
      kind: 'record_rejected',
      level: 'warn',
      provider: this.#providerNames[provider]!,
      reason,
      detail,
    });
    return 'refused';
  }
}

/**
 * M2 lets Configuring go back to Idle where the provider was never called. A provider that says so after it was called may have
 * been read before a call that is late on its way: taken at once, its need would be served twice.
 */
function isTakenBack(from: MachineState, to: number): boolean {
  return from === S.Configuring && to === S.Idle;
}

/** States in which a provider that names no cluster does not thereby end a binding that we hold. */
function mayBeSilent(state: number): boolean {
  return state === S.Failed || state === S.Configuring;
}
