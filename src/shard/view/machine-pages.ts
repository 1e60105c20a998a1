/**
 * Pages of machines in the order of their ids. Candidates come from the narrowest index that the query allows: an id prefix
 * is a range of the id order, a cluster or a rare state has a list; otherwise the whole fleet is scanned, in slices, so that
 * a search over half a million machines never blocks the event loop for more than about a millisecond.
 */
import { compareBytewise } from '../../base/dimensions.ts';
import { Flag, Intent } from '../../inventory/intent.ts';
import type { CapacityType } from '../../machine/capacity-type.ts';
import { ALL_STATES } from '../../machine/state.ts';
import type { MachineLine, MachinesPage, MachinesQuery } from '../ports/fleet-view.ts';
import type { ActionName } from '../ports/observer.ts';
import { orderOf } from './machine-order.ts';
import type { ViewSources } from './sources.ts';

export const MACHINES_PER_PAGE = 500;
/** Rows scanned in one turn of the event loop: some milliseconds. On a busy shard each turn waits for a cycle. */
const ROWS_PER_TURN = 524_288;
/** Rows of a list that are sorted at once. */
const LISTED_MAX = 65_536;

export const INTENT_NAMES: Readonly<Record<Intent, ActionName | ''>> = {
  [Intent.None]: '',
  [Intent.Bootstrap]: 'Bootstrap',
  [Intent.Provision]: 'Provision',
  [Intent.Reclaim]: 'Reclaim',
  [Intent.Preempt]: 'Preempt',
  [Intent.Delete]: 'Delete',
};

/** A query in refs; null if it names something that no machine has. */
interface Wanted {
  readonly state: number;
  readonly cluster: number;
  readonly instanceType: number;
  readonly zone: number;
  readonly provider: number;
  readonly capacityType: number;
  readonly flags: number;
}

const ANY = -1;

export class MachinePages {
  readonly #sources: ViewSources;

  constructor(sources: ViewSources) {
    this.#sources = sources;
  }

  /** `after` is an id: the page begins behind it, even if no such machine exists. */
  async page(query: MachinesQuery, after: string): Promise<MachinesPage> {
    const { inventory, clock } = this.#sources;
    const limit = Math.min(query.limit || MACHINES_PER_PAGE, MACHINES_PER_PAGE);
    const wanted = this.#resolve(query);
    const { slots, matching } =
      wanted === null
        ? { slots: [], matching: 0 }
        : await this.#select(wanted, query.idPrefix ?? '', after, limit + 1);
    const nowMs = clock.nowMs();
    const machines = slots.slice(0, limit).flatMap((slot) => this.#line(slot, nowMs));
    const next = slots.length > limit ? (machines.at(-1)?.id ?? '') : '';
    return { atMs: nowMs, machines, matching, total: inventory.count, next };
  }

  /** The first matching slots behind `after`, in order of ids, and how many match in all. */
  async #select(wanted: Wanted, prefix: string, after: string, limit: number) {
    const list = prefix === '' ? this.#indexed(wanted) : null;
    if (list !== null) return this.#fromList(list, wanted, after, limit);
    const slots: number[] = [];
    let matching = 0;
    let last = ''; // positions change between turns; ids do not
    let isFirst = true;
    for (;;) {
      const { slotsById } = this.#sources.inventory;
      const from = isFirst ? this.#lowerBound(slotsById, prefix) : this.#lowerBound(slotsById, `${last}\0`);
      isFirst = false;
      const end = prefix === '' ? slotsById.length : this.#upperBound(slotsById, prefix);
      const first = this.#lowerBound(slotsById, after === '' ? '' : `${after}\0`);
      const stop = Math.min(end, from + ROWS_PER_TURN);
      for (let at = from; at < stop; at++) {
        const slot = slotsById[at]!;
        if (!this.#fits(wanted, slot)) continue;
        matching++;
        if (at >= first && slots.length < limit) slots.push(slot);
      }
      if (stop >= end) return { slots, matching };
      last = this.#sources.inventory.idOf(slotsById[stop - 1]!);
      await this.#sources.nextTurn();
    }
  }

  #fromList(list: Uint32Array, wanted: Wanted, after: string, limit: number) {
    const { inventory } = this.#sources;
    const { slotsById } = inventory; // ranks all ids
    const { idRank } = inventory.columns;
    const fitting = list.filter((slot) => this.#fits(wanted, slot));
    const first = after === '' ? 0 : this.#lowerBound(slotsById, `${after}\0`);
    const rankFrom = first < slotsById.length ? idRank[slotsById[first]!]! : Number.POSITIVE_INFINITY;
    const slots = fitting
      .filter((slot) => idRank[slot]! >= rankFrom)
      .sort((a, b) => idRank[a]! - idRank[b]!)
      .slice(0, limit);
    return { slots: [...slots], matching: fitting.length };
  }

  /** A copy of the shortest list with all candidates; null if a scan of the fleet is as good. */
  #indexed({ cluster, state }: Wanted): Uint32Array | null {
    const { inventory } = this.#sources;
    const { indexes } = inventory;
    if (cluster > 0) {
      const parts = (state === ANY ? ALL_STATES : [state]).map((one) => {
        const start = indexes.startOfCluster(cluster, one);
        return indexes.clusterSlots.subarray(start, start + indexes.countOfCluster(cluster, one));
      });
      const count = parts.reduce((sum, part) => sum + part.length, 0);
      if (count > LISTED_MAX) return null;
      const slots = new Uint32Array(count);
      let at = 0;
      for (const part of parts) {
        slots.set(part, at);
        at += part.length;
      }
      return slots;
    }
    if (state === ANY || indexes.countInState(state) > LISTED_MAX) return null;
    return indexes.slotsInState(state).slice();
  }

  #resolve(query: MachinesQuery): Wanted | null {
    const { inventory, providerNames } = this.#sources;
    const { shapes, tables } = inventory;
    const refOf = (table: { find(text: string): number }, text = '') =>
      text === '' ? ANY : table.find(text) || null;
    const cluster = refOf(tables.clusters, query.clusterId);
    const instanceType = refOf(shapes.instanceTypes, query.instanceType);
    const zone = refOf(shapes.zones, query.zone);
    const provider = (query.provider ?? '') === '' ? ANY : providerNames.indexOf(query.provider!);
    const isUnknownProvider = provider === ANY && (query.provider ?? '') !== '';
    if (cluster === null || instanceType === null || zone === null || isUnknownProvider) return null;
    return {
      state: query.state ?? ANY,
      cluster,
      instanceType,
      zone,
      provider,
      capacityType: query.capacityType ?? ANY,
      flags: (query.stuckOnly ? Flag.Stuck : 0) | (query.backoffOnly ? Flag.Backoff : 0),
    };
  }

  #fits(wanted: Wanted, slot: number): boolean {
    const { columns, shapes } = this.#sources.inventory;
    const { state } = columns;
    return (
      state[slot] !== 0 &&
      (wanted.state === ANY || state[slot] === wanted.state) &&
      (wanted.cluster === ANY || columns.cluster[slot] === wanted.cluster) &&
      (wanted.capacityType === ANY || columns.capacityType[slot] === wanted.capacityType) &&
      (wanted.instanceType === ANY || columns.instanceType[slot] === wanted.instanceType) &&
      (wanted.provider === ANY || columns.provider[slot] === wanted.provider) &&
      (columns.flags[slot]! & wanted.flags) === wanted.flags &&
      (wanted.zone === ANY || shapes.zoneOf[columns.shape[slot]!] === wanted.zone)
    );
  }

  /** Empty if the machine was removed after it was selected. */
  #line(slot: number, nowMs: number): MachineLine[] {
    const { inventory, providerNames } = this.#sources;
    const { columns, tables } = inventory;
    if (columns.state[slot] === 0) return [];
    const shape = inventory.shapes.get(columns.shape[slot]!);
    return [
      {
        id: inventory.idOf(slot),
        state: inventory.stateOf(slot),
        forMs: Math.max(0, nowMs - columns.stateSinceMsOf(slot)),
        instanceType: shape.instanceType,
        zone: shape.zone,
        capacityType: columns.capacityType[slot] as CapacityType,
        provider: providerNames[columns.provider[slot]!] ?? '',
        pricePerHourUsd: columns.pricePerHourUsd[slot]!,
        clusterId: tables.clusters.get(columns.cluster[slot]!),
        priority: columns.priority[slot]!,
        action: INTENT_NAMES[columns.intent[slot] as Intent],
        isStuck: inventory.hasFlag(slot, Flag.Stuck),
        isInBackoff: inventory.hasFlag(slot, Flag.Backoff),
        order: orderOf(inventory, slot),
        lastError: tables.texts.get(columns.lastError[slot]!),
      },
    ];
  }

  /** The first position whose id is not before `id`. */
  #lowerBound(slotsById: Uint32Array, id: string): number {
    return this.#search(slotsById, (other) => compareBytewise(other, id) < 0);
  }

  /** The first position after the ids that begin with `prefix`. */
  #upperBound(slotsById: Uint32Array, prefix: string): number {
    return this.#search(slotsById, (other) => other.startsWith(prefix) || compareBytewise(other, prefix) < 0);
  }

  #search(slotsById: Uint32Array, isBefore: (id: string) => boolean): number {
    const { inventory } = this.#sources;
    let low = 0;
    let high = slotsById.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(inventory.idOf(slotsById[middle]!))) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
