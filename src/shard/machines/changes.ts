/**
 * The one place where a machine changes: by our own action, a provider's ack, a `Get` or a listing. It checks the move (M2
 * lists the legal ones), applies or doubts an observation, keeps or ends the binding (inventory/binding.ts), and reports
 * the machine before and after to every listener.
 *
 * S2: an observation that M2 does not allow in one step is doubted, and applied when a second one confirms it. So the shard
 * learns of a missed step, a vanished spot machine or a provider that lost its memory, and ignores a single wrong row.
 *
 * S4: an observation that began before our last change of the machine may be older than it. `sequence` counts changes, so
 * that listings and reads can compare.
 */
import { ShardError } from '../../base/errors.ts';
import { TableShareError } from '../../base/table-shares.ts';
import { Flag, Intent } from '../../inventory/intent.ts';
import type { Inventory, MachineChange } from '../../inventory/inventory.ts';
import type { MachineRow } from '../../inventory/machine-row.ts';
import type { ObservationOutcome } from '../../listing/apply/apply.ts';
import type { ProviderNames } from '../../listing/apply/provider-names.ts';
import { InvalidMachineError, type InvalidReason, type Machine } from '../../machine/machine.ts';
import { canMove, MachineState, STATE_COUNT } from '../../machine/state.ts';
import type { ShardCounters, ShardObserver } from '../ports/observer.ts';

export type ChangeSource = 'local' | 'ack' | 'read' | 'listing';

/** One object serves all changes: a listener copies what it keeps. */
export interface MachineChanged {
  slot: number;
  source: ChangeSource;
  /** 0: seen for the first time. */
  from: number;
  /** 0: about to be removed; the row is still readable. */
  to: number;
  /** Refs in the table of clusters, both valid during the call; 0 = none. */
  clusterBefore: number;
  clusterAfter: number;
  /** Refs of the fingerprint and the group that it was assigned to, valid during the call; 0 = none. */
  needBefore: number;
  groupBefore: number;
  /** Shape, own labels or host changed. */
  hasOtherFacts: boolean;
}

export type ChangeListener = (change: Readonly<MachineChanged>) => void;

const S = MachineState;
const BY_READING = -1;
/** By transitional state: the state before the call that was not sent. */
const ROLLED_BACK_TO = new Uint8Array(STATE_COUNT);
ROLLED_BACK_TO[S.Creating] = S.Speculative;
ROLLED_BACK_TO[S.Configuring] = S.Idle;
ROLLED_BACK_TO[S.Draining] = S.Configured;
ROLLED_BACK_TO[S.Deleting] = S.Idle;

/**
 * F4: of which listings every row counts at once, assignments included. `first`: of the first one of each provider, when the shard
 * began with the inventory of a standby.
 */
export type TrustedListings = 'none' | 'first' | 'all';

interface Doubt {
  readonly state: number;
  /** Number of the listing that showed it, or BY_READING. */
  readonly listing: number;
}

export class MachineChanges {
  readonly inventory: Inventory;
  readonly #counters: ShardCounters;
  readonly #observer: ShardObserver;
  readonly #providerNames: readonly string[];
  readonly #resourceNames: ProviderNames;
  readonly #listeners: ChangeListener[] = [];
  readonly #doubts = new Map<number, Doubt>();
  readonly #changedAt: Float64Array;
  readonly #trusted: TrustedListings;
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
    needBefore: 0,
    groupBefore: 0,
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
    resourceNames: ProviderNames,
    trusted: TrustedListings = 'none',
  ) {
    this.inventory = inventory;
    this.#counters = counters;
    this.#observer = observer;
    this.#providerNames = providerNames;
    this.#resourceNames = resourceNames;
    this.#trusted = trusted;
    this.#changedAt = new Float64Array(inventory.columns.rowCapacity);
  }

  /** X3: ends an action that waits for its turn; returns whether there was one. Set by the shard, which has the queue. */
  withdrawAction: (slot: number) => boolean = () => false;

  /**
   * Frees the machine for an observation: withdraws an action that only waits for its turn, so that the next cycle decides on
   * the machine as it is by then. False: an action of the shard is changing it now.
   */
  freeForObservation(slot: number): boolean {
    if (this.inventory.columns.intent[slot] === Intent.None) return true;
    return this.inventory.hasFlag(slot, Flag.Waiting) && this.withdrawAction(slot);
  }

  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  /** Keep it when a listing or a read begins, and pass it to `changedSince` when it ends. */
  get sequence(): number {
    return this.#sequence;
  }

  changedSince(slot: number, sequence: number): boolean {
    return this.#changedAt[slot]! > sequence;
  }

  get doubtCount(): number {
    return this.#doubts.size;
  }

  /** Records and errors refused because a table was full. */
  get capacityExhaustedCount(): number {
    return this.#capacityExhaustedCount;
  }

  /** Full listing number `listing` did not repeat the doubted observation of an earlier one. */
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

  /** Our own change. Throws what the inventory throws: an illegal move is a defect. */
  move(slot: number, change: MachineChange, nowMs: number): void {
    this.#begin(slot, 'local');
    try {
      this.inventory.apply(slot, change, nowMs);
    } finally {
      this.#end();
    }
  }

  /** Undoes our own change, of which the provider was never told. */
  takeBack(slot: number, nowMs: number): void {
    const state = ROLLED_BACK_TO[this.inventory.columns.state[slot]!]! as MachineState;
    this.#begin(slot, 'local');
    try {
      this.inventory.apply(slot, { state }, nowMs, { force: true });
    } finally {
      this.#end();
    }
  }

  /** F4: reports every machine that the inventory has as seen for the first time. Before the first listing. */
  reportAll(): void {
    const { columns } = this.inventory;
    const change = this.#change;
    for (let slot = 1; slot < columns.slotLimit; slot++) {
      if (columns.state[slot] === 0) continue;
      change.slot = slot;
      change.source = 'listing';
      change.from = 0;
      change.to = columns.state[slot]!;
      change.clusterBefore = 0;
      change.clusterAfter = columns.cluster[slot]!;
      change.hasOtherFacts = true;
      for (const listener of this.#listeners) listener(change);
    }
  }

  /** F4: whether the rows of this listing of a provider count at once. */
  trusts(listing: number): boolean {
    return this.#trusted === 'all' || (this.#trusted === 'first' && listing === 1);
  }

  /** X8: a provider's error makes the machine Failed. False if a full table has no room for the error: reported, no change. */
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

  /** One event for all refusals since the last one: a full inventory can refuse a whole listing. */
  reportCapacityExhausted(): void {
    if (this.#capacityExhaustedDetail === '') return;
    this.#observer.happened({
      kind: 'inventory_full',
      level: 'error',
      detail: this.#capacityExhaustedDetail,
    });
    this.#capacityExhaustedDetail = '';
  }

  /** Counts a record that was refused because a table is full. */
  noteCapacityExhausted(error: ShardError): void {
    this.#capacityExhaustedCount++;
    this.#capacityExhaustedDetail = error.message;
  }

  /** Applies or doubts the machine in an ack or a `Get`. */
  observe(slot: number, machine: Machine, source: 'ack' | 'read', nowMs: number): ObservationOutcome {
    const judged = this.#judge(slot, machine.state, BY_READING);
    if (judged === 'doubted') return judged;
    this.#begin(slot, source);
    try {
      this.#resourceNames.admit(this.inventory.columns.provider[slot]!, Object.keys(machine.capacity));
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

  /** The same for a row of listing number `listing`; `fillBinding` has prepared the row for this machine. */
  observeRow(slot: number, row: MachineRow, listing: number, nowMs: number): ObservationOutcome {
    const judged = this.#judge(slot, row.state, listing);
    return judged === 'doubted' ? judged : this.#applyRow(slot, row, judged, nowMs);
  }

  /**
   * Replaces a row that the same listing showed before, as if this one had been inserted: it is no change of the machine, so
   * it is never doubted and not later than the listing.
   */
  replaceRow(slot: number, row: MachineRow, nowMs: number): ObservationOutcome {
    const fate = this.#applyRow(slot, row, 'confirmed', nowMs);
    this.#changedAt[slot] = 0;
    return fate;
  }

  /** Inserts a machine that a listing shows for the first time. Returns its slot; 0 if it was refused. Throws a TableShareError. */
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
      if (error instanceof TableShareError) throw error; // the listing counts these
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
    change.needBefore = change.groupBefore = 0;
    change.hasOtherFacts = true;
    for (const listener of this.#listeners) listener(change);
    return slot;
  }

  /** Calls the listeners while the row is still readable, then removes the machine. */
  remove(slot: number, source: 'read' | 'listing'): void {
    const { columns } = this.inventory;
    const change = this.#change;
    change.slot = slot;
    change.source = source;
    change.from = columns.state[slot]!;
    change.to = 0;
    change.clusterBefore = columns.cluster[slot]!;
    change.clusterAfter = 0;
    change.needBefore = columns.need[slot]!;
    change.groupBefore = columns.group[slot]!;
    change.hasOtherFacts = false;
    for (const listener of this.#listeners) listener(change);
    this.#doubts.delete(slot);
    this.inventory.remove(slot);
    this.#counters.rowsRemoved++;
  }

  /**
   * Decides which parts of a row's binding apply. S3: the local assignment survives while the machine stays bound to the same
   * cluster. X10: the provider's copy counts only for a binding that the shard does not hold.
   */
  fillBinding(slot: number, row: MachineRow, listing: number): void {
    const isTrusted = this.trusts(listing);
    const held = this.inventory.columns.cluster[slot]!;
    const isSilent = row.cluster === 0 && mayBeSilent(row.state);
    row.saysCluster = isTrusted || !isSilent;
    row.saysAssignment = isTrusted || (row.cluster !== 0 && row.cluster !== held);
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
      if (error instanceof TableShareError) throw error; // the listing counts these
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
    if (listing !== BY_READING && this.trusts(listing)) return 'confirmed';
    const doubt = this.#doubts.get(slot);
    // The listing in between did not repeat an older doubt, so that doubt is over.
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
    change.needBefore = columns.need[slot]!;
    change.groupBefore = columns.group[slot]!;
    // Listeners may still look them up.
    tables.clusters.retain(change.clusterBefore);
    tables.fingerprints.retain(change.needBefore);
    tables.groups.retain(change.groupBefore);
    this.#shapeBefore = columns.shape[slot]!;
    this.#ownLabelsBefore = columns.ownLabels[slot]!;
    this.#hostBefore = columns.host[slot]!;
  }

  #end(): void {
    const { columns, tables } = this.inventory;
    const change = this.#change;
    const { slot, from, clusterBefore, needBefore, groupBefore } = change;
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
    tables.releaseRefs(clusterBefore, needBefore, groupBefore);
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
    if (!(error instanceof InvalidMachineError || error instanceof TableShareError)) {
      this.noteCapacityExhausted(error);
      return 'refused';
    }
    const reason: InvalidReason = error instanceof InvalidMachineError ? error.reason : 'structural';
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
 * M2 allows Configuring → Idle as our own roll-back before the call. A provider that shows it may have been read before a
 * delayed call arrived: applied at once, the need would be served twice. So it is doubted.
 */
function isTakenBack(from: MachineState, to: number): boolean {
  return from === S.Configuring && to === S.Idle;
}

/** States in which a record without a cluster does not end a binding that the shard holds. */
function mayBeSilent(state: number): boolean {
  return state === S.Failed || state === S.Configuring;
}

/** Our own roll-back is no failure: the provider was never called. */
export function isOwnRollBack(from: number, to: number, source: ChangeSource): boolean {
  return source === 'local' && ROLLED_BACK_TO[from] === to;
}
