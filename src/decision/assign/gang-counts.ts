/**
 * What waiting gangs counted in their clusters: their own and other creditable machines by domain (A5: the domain that
 * those cover best wins). Hundreds of gangs may wait for many cycles in clusters where nothing changes; for those only
 * the unassigned machines are counted again.
 */

import type { ClusterState } from '../cluster-state.ts';
import { columnF64, columnU8, widerF64, widerU8 } from '../columns/columns.ts';
import type { DomainTally } from './domain-tally.ts';

export class GangCounts {
  /** By need: its cluster's version when it was counted and credited. */
  #version = columnF64(64);
  /** By need: 1 = only machines that it may be credited counted for it. */
  #wasAlone = columnU8(64);
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

  /** Whether the gang chose by these counts alone when it was confirmed. */
  wasAlone(need: number): boolean {
    return this.#wasAlone[need] === 1;
  }

  /** The gang was credited with these counts; they hold until its cluster changes. */
  confirm(cluster: ClusterState, need: number, isAlone: boolean): void {
    this.#version = widerF64(this.#version, need);
    this.#wasAlone = widerU8(this.#wasAlone, need);
    this.#wasAlone[need] = isAlone ? 1 : 0;
    this.#version[need] = cluster.version;
  }

  drop(need: number): void {
    this.#tallies.delete(need);
  }
}
