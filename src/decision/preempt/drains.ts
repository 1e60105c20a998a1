/**
 * Machines that drain for somebody (P6): for the need that they were preempted for, or found Draining after a start and
 * for nobody known. Who counts them is decided in every cycle (draining-credit.ts). Few at a time: maps, not columns.
 */
import type { StringTable } from '../../base/string-table.ts';
import { sortFew } from '../columns/sort-few.ts';
import type { StampTable } from '../supply/assignments.ts';

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

  /** The same in this order, which the list keeps. */
  sortedFor(stamp: number, compare: (slotA: number, slotB: number) => number): readonly number[] {
    const slots = this.#slotsOf.get(stamp);
    if (slots === undefined) return NONE;
    sortFew(slots, compare);
    return slots;
  }

  get isEmpty(): boolean {
    return this.#stampOf.size === 0 && this.found.size === 0;
  }

  /** All of them, each once. */
  *slots(): IterableIterator<number> {
    yield* this.#stampOf.keys();
    for (const slot of this.found) if (!this.#stampOf.has(slot)) yield slot;
  }

  *[Symbol.iterator](): IterableIterator<[slot: number, stamp: number]> {
    yield* this.#stampOf;
  }
}
