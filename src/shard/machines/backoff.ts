/**
 * Back-offs of machines and offerings. X12: the shard does not act on a machine for 30 s after a failed action, doubling
 * with each failure in a row; three machines in a row that fail to be created in one offering put the whole offering into
 * the same back-off, so that needs use the next best one. Machines in back-off carry Flag.Backoff; the decision reads only
 * that.
 *
 * Failed means an error that is not followed up, or a transitional state left for anything but its target. Both show as a
 * change of state, so this class needs only the changes.
 */

import { Flag } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { CapacityType } from '../../machine/capacity-type.ts';
import { MachineState, STATE_COUNT } from '../../machine/state.ts';
import type { OfferingBackoffView } from '../ports/fleet-view.ts';
import type { ShardObserver } from '../ports/observer.ts';
import { type ChangeSource, isOwnRollBack, type MachineChanged } from './changes.ts';
import { DueHeap } from './due-heap.ts';
import {
  holdOffering,
  type OfferingRefs,
  offeringKey,
  offeringName,
  offeringOf,
  releaseOffering,
  visitOffering,
} from './offerings.ts';

export const BACKOFF_MS_MIN = 30_000;
export const BACKOFF_MS_MAX = 600_000;
/** Different machines in a row whose create failed that put their offering into back-off. */
const OFFERING_FAILURES_MAX = 3;

const S = MachineState;
/** By transitional state: the state that it should end in. */
const TARGET = new Uint8Array(STATE_COUNT);
TARGET[S.Creating] = S.Idle;
TARGET[S.Configuring] = S.Configured;
TARGET[S.Draining] = S.Idle;
TARGET[S.Deleting] = S.Speculative;

/** Its refs are held by this object. */
interface Offering extends OfferingRefs {
  /** Different machines that failed in a row. */
  readonly failed: Set<number>;
  failuresInARow: number;
  backoffs: number;
  beganMs: number;
  untilMs: number;
  /** When a machine last failed, or the last back-off ended. */
  lastMs: number;
}

export interface BackoffView {
  readonly failuresInARow: number;
  readonly untilMs: number;
}

/** With the number of its provider. */
export interface OfferingView extends Omit<OfferingBackoffView, 'provider'> {
  readonly provider: number;
}

export class Backoffs {
  readonly #inventory: Inventory;
  readonly #observer: ShardObserver;
  readonly #failures = new Map<number, number>();
  readonly #until = new DueHeap();
  readonly #offerings = new Map<string, Offering>();
  /** By slot: when its Create was sent. */
  readonly #createSentMs = new Map<number, number>();

  constructor(inventory: Inventory, observer: ShardObserver) {
    this.#inventory = inventory;
    this.#observer = observer;
  }

  get machineCount(): number {
    return this.#until.size;
  }

  get offeringCount(): number {
    let count = 0;
    for (const { untilMs } of this.#offerings.values()) if (untilMs > 0) count++;
    return count;
  }

  /** X14, X15: whether other failures than the machine's own bar it. Set by the shard, which knows them. */
  isBarredElsewhere: (slot: number) => boolean = () => false;

  /** Flags the machine, or takes the flag away, as its back-offs are now. */
  refresh(slot: number): void {
    this.#flag(slot, this.#isBarred(slot));
  }

  /** A person ends the machine's own back-off, and that of its offering. Whether it had one. */
  retry(slot: number): boolean {
    const offering = this.#offerings.get(offeringKey(this.#inventory, slot));
    const isOfferingBarred = offering !== undefined && offering.untilMs > 0;
    const had = this.#until.has(slot) || isOfferingBarred;
    this.#until.delete(slot);
    if (isOfferingBarred) {
      offering.untilMs = 0;
      this.#flagOffering(offering, false);
    }
    this.refresh(slot);
    return had;
  }

  createSent(slot: number, nowMs: number): void {
    this.#createSentMs.set(slot, nowMs);
  }

  /** The machine's own back-off; null if it has none. */
  ofMachine(slot: number): BackoffView | null {
    const untilMs = this.#until.dueOf(slot);
    return untilMs === undefined ? null : { untilMs, failuresInARow: this.#failures.get(slot) ?? 0 };
  }

  /** The back-off of the machine's offering; null if it has none now. */
  ofOffering(slot: number): BackoffView | null {
    const offering = this.#offerings.get(offeringKey(this.#inventory, slot));
    if (offering === undefined || offering.untilMs === 0) return null;
    return { untilMs: offering.untilMs, failuresInARow: offering.failuresInARow };
  }

  /** Offerings in back-off, the one that ends first at the head. */
  offerings(): OfferingView[] {
    const { shapes, tables, columns } = this.#inventory;
    const textOf = (slot = 0) => (slot === 0 ? '' : tables.texts.get(columns.lastError[slot]!));
    return [...this.#offerings.values()]
      .filter(({ untilMs }) => untilMs > 0)
      .map(({ provider, instanceType, zone, capacityType, beganMs, untilMs, failuresInARow, failed }) => ({
        provider,
        instanceType: shapes.instanceTypes.get(instanceType),
        zone: shapes.zones.get(zone),
        capacityType: capacityType as CapacityType,
        sinceMs: beganMs,
        untilMs,
        failures: failuresInARow,
        text: textOf([...failed].at(-1)),
      }))
      .sort((a, b) => a.untilMs - b.untilMs);
  }

  /** Listens to every change of a machine. */
  changed(change: Readonly<MachineChanged>, nowMs: number): void {
    const { slot, from, to, source } = change;
    if (to === 0) this.#forget(slot);
    if (to === 0) return;
    if (from !== to) this.#moved(slot, from, to, source, nowMs);
    // The back-off of an offering or provider depends on the state, and a machine may change to another offering in one state.
    this.refresh(slot);
  }

  #moved(slot: number, from: number, to: number, source: ChangeSource, nowMs: number): void {
    const target = TARGET[from]!;
    if (target === to) this.#succeeded(slot, from);
    else if (target !== 0 && !isOwnRollBack(from, to, source)) this.#failed(slot, from, nowMs);
    if (from === S.Creating) this.#createSentMs.delete(slot);
  }

  /** Ends back-offs whose time is over. Before each cycle. */
  expire(nowMs: number): void {
    for (let slot = this.#until.takeDue(nowMs); slot !== 0; slot = this.#until.takeDue(nowMs)) {
      this.#flag(slot, this.#isBarred(slot));
    }
    for (const [key, offering] of this.#offerings) {
      if (offering.untilMs > nowMs) continue;
      if (offering.untilMs > 0) {
        offering.lastMs = offering.untilMs;
        offering.untilMs = 0;
        this.#flagOffering(offering, false);
      }
      // Offers come and go: without failed machines, an offering is kept for as long as its next back-off could last.
      if (offering.failed.size === 0 && offering.lastMs + BACKOFF_MS_MAX < nowMs) this.#drop(key, offering);
    }
  }

  #failed(slot: number, from: number, nowMs: number): void {
    const failures = (this.#failures.get(slot) ?? 0) + 1;
    this.#failures.set(slot, failures);
    this.#until.set(slot, nowMs + durationMs(failures));
    if (from === S.Creating) this.#createFailed(slot, nowMs);
  }

  #succeeded(slot: number, from: number): void {
    this.#failures.delete(slot);
    if (this.#until.has(slot)) {
      this.#until.delete(slot);
      this.#flag(slot, this.#isBarred(slot));
    }
    if (from !== S.Creating) return;
    const key = offeringKey(this.#inventory, slot);
    const offering = this.#offerings.get(key);
    if (offering === undefined) return;
    const isBarred = offering.untilMs > 0;
    offering.untilMs = 0;
    if (isBarred) this.#flagOffering(offering, false);
    this.#drop(key, offering);
  }

  #drop(key: string, offering: Offering): void {
    releaseOffering(this.#inventory, offering);
    this.#offerings.delete(key);
  }

  #createFailed(slot: number, nowMs: number): void {
    const sentMs = this.#createSentMs.get(slot);
    if (sentMs === undefined) return; // an earlier process sent it
    const offering = this.#offeringOf(slot);
    if (sentMs < offering.beganMs) return; // sent before the back-off began: no news
    offering.failed.add(slot);
    offering.lastMs = nowMs;
    offering.failuresInARow++;
    if (offering.untilMs > 0 || offering.failed.size < OFFERING_FAILURES_MAX) return;
    offering.backoffs++;
    offering.beganMs = nowMs;
    const forMs = durationMs(offering.backoffs);
    offering.untilMs = nowMs + forMs;
    this.#flagOffering(offering, true);
    const name = offeringName(this.#inventory, offering);
    this.#observer.happened({ kind: 'offering_backoff', level: 'warn', offering: name, forMs });
  }

  #offeringOf(slot: number): Offering {
    const key = offeringKey(this.#inventory, slot);
    const known = this.#offerings.get(key);
    if (known !== undefined) return known;
    const offering: Offering = {
      ...offeringOf(this.#inventory, slot),
      failed: new Set(),
      failuresInARow: 0,
      backoffs: 0,
      beganMs: Number.NEGATIVE_INFINITY,
      untilMs: 0,
      lastMs: 0,
    };
    holdOffering(this.#inventory, offering);
    this.#offerings.set(key, offering);
    return offering;
  }

  #isOfferingBarred(slot: number): boolean {
    return (
      this.#offerings.size > 0 && (this.#offerings.get(offeringKey(this.#inventory, slot))?.untilMs ?? 0) > 0
    );
  }

  #isBarred(slot: number): boolean {
    if (this.#until.has(slot) || this.isBarredElsewhere(slot)) return true;
    return this.#inventory.columns.state[slot] === S.Speculative && this.#isOfferingBarred(slot);
  }

  #flag(slot: number, on: boolean): void {
    this.#inventory.setFlag(slot, Flag.Backoff, on);
  }

  /** Flags every offer of an offering: thousands of rows, once per back-off. */
  #flagOffering(offering: Offering, on: boolean): void {
    visitOffering(this.#inventory, offering, false, S.Speculative, (slot) => {
      this.#flag(slot, on || this.#isBarred(slot));
      return false;
    });
  }

  #forget(slot: number): void {
    this.#failures.delete(slot);
    this.#until.delete(slot);
    this.#createSentMs.delete(slot);
    for (const { failed } of this.#offerings.values()) failed.delete(slot);
  }
}

/** 30 s, doubling to 10 min. */
export function durationMs(failuresInARow: number): number {
  return Math.min(BACKOFF_MS_MIN * 2 ** Math.min(failuresInARow - 1, 16), BACKOFF_MS_MAX);
}
