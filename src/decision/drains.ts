/**
 * Machines that drain for somebody (P6). A preempted machine counts as freed for the need that it was
 * preempted for until it is Idle; one that was found Draining after a start, or whose need is gone, counts
 * for the first need that can use it. Few at a time: maps, not columns.
 */
import type { StringTable } from '../base/string-table.ts';
import type { StampTable } from './stamps.ts';

const NONE: readonly number[] = [];

export class Drains {
  readonly #stamps: StampTable;
  readonly #clusters: StringTable;
  readonly #stampOf = new Map<number, number>();
  readonly #slotsOf = new Map<number, number[]>();
  /** Draining machines that nobody is known to have asked for. */
  readonly found = new Set<number>();

  constructor(stamps: StampTable, clusters: StringTable) {
    this.#stamps = stamps;
    this.#clusters = clusters;
  }

  /** The machine drains for this need from now on; returns its stamp, to which it holds a reference. */
  begin(slot: number, cluster: number, fingerprint: number, group: number): number {
    this.end(slot);
    const stamp = this.#stamps.intern(cluster, fingerprint, group);
    this.#stamps.held[stamp]!++;
    this.#clusters.retain(cluster); // it may outlive the cluster's demand and machines
    this.#stampOf.set(slot, stamp);
    const slots = this.#slotsOf.get(stamp);
    if (slots === undefined) this.#slotsOf.set(stamp, [slot]);
    else slots.push(slot);
    return stamp;
  }

  /** It drains no more. */
  end(slot: number): void {
    this.found.delete(slot);
    const stamp = this.#stampOf.get(slot);
    if (stamp === undefined) return;
    this.#stampOf.delete(slot);
    const slots = this.#slotsOf.get(stamp)!.filter((other) => other !== slot);
    if (slots.length > 0) this.#slotsOf.set(stamp, slots);
    else this.#slotsOf.delete(stamp);
    this.#stamps.held[stamp]!--;
    this.#clusters.release(this.#stamps.cluster[stamp]!);
    this.#stamps.release(stamp);
  }

  /** 0 = for nobody known. */
  stampOf(slot: number): number {
    return this.#stampOf.get(slot) ?? 0;
  }

  slotsFor(stamp: number): readonly number[] {
    return this.#slotsOf.get(stamp) ?? NONE;
  }

  /** Slots that drain for a stamp without a live need, and those found draining. */
  forAnybody(): number[] {
    const slots = [...this.found].filter((slot) => !this.#stampOf.has(slot));
    for (const [slot, stamp] of this.#stampOf) if (this.#stamps.carriers[stamp] === 0) slots.push(slot);
    return slots;
  }

  *[Symbol.iterator](): IterableIterator<[slot: number, stamp: number]> {
    yield* this.#stampOf;
  }
}
