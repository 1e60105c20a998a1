/**
 * What waiting gangs counted in their clusters: their own and other creditable machines by domain (A5: the domain that
 * those cover best wins). Hundreds of gangs may wait for many cycles in clusters where nothing changes; for those only
 * the unassigned machines are counted again.
 */

import type { ClusterState } from '../cluster-state.ts';
import { columnF64, widerF64 } from '../columns/columns.ts';
import type { DomainTally } from './domain-tally.ts';

export class GangCounts {
  /** By need: its cluster's version when it was counted and credited. */
  #version = columnF64(64);
  readonly #tallies = new Map<number, Float64Array>();

  /** Whether nothing changed in the cluster since the gang was confirmed. */
  isCurrent(cluster: ClusterState, need: number): boolean {
    return need < this.#version.length && this.#version[need] === cluster.version;
  }

  /** Keeps what was counted for the gang so far. */
  keep(need: number, tally: DomainTally): void {
    this.#tallies.set(need, tally.copyTo(this.#tallies.get(need)));
  }

  restore(need: number, tally: DomainTally): void {
    tally.copyFrom(this.#tallies.get(need)!);
  }

  /** The gang was credited with these counts; they hold until its cluster changes. */
  confirm(cluster: ClusterState, need: number): void {
    this.#version = widerF64(this.#version, need);
    this.#version[need] = cluster.version;
  }

  drop(need: number): void {
    this.#tallies.delete(need);
  }

  forget(cluster: ClusterState): void {
    if (this.#tallies.size === 0) return;
    for (let index = 0; index < cluster.needCount; index++) this.drop(cluster.needStart + index);
  }
}
