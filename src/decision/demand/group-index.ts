/**
 * The fold groups of the cluster that is being read, by remaining profile and aggregate: open addressing in one array that
 * all clusters reuse, so that 776,000 rows find their group without a map from pairs.
 *
 *   places   u32   base + index of the group; a value below the base is of an earlier cluster, so nothing is cleared
 */

import { columnU32 } from '../columns/columns.ts';
import type { FoldGroups } from './fold-groups.ts';

const PLACES_AT_START = 1_024;

export class GroupIndex {
  #places = columnU32(PLACES_AT_START);
  #base = 0;
  #added = 0;

  /** Starts a cluster with `rowCount` rows, and so at most as many groups. */
  open(rowCount: number): void {
    this.#base += this.#added + 1;
    this.#added = 0;
    const isTooSmall = rowCount * 2 > this.#places.length;
    if (!isTooSmall && this.#base + rowCount < 0xffff_ffff) return;
    let length = this.#places.length;
    while (rowCount * 2 > length) length *= 2;
    this.#places = columnU32(length);
    this.#base = 1;
  }

  /** Index of the group in `groups`; if there is none, the next index, at which the caller then adds it. */
  find(groups: FoldGroups, profile: number, aggregate: number): number {
    const places = this.#places;
    const mask = places.length - 1;
    let place = (Math.imul(profile, 0x9e3779b1) ^ Math.imul(aggregate, 0x85ebca77)) >>> 0;
    place = (place ^ (place >>> 15)) & mask;
    for (; places[place]! >= this.#base; place = (place + 1) & mask) {
      const index = places[place]! - this.#base;
      if (groups.profile(index) === profile && groups.aggregate(index) === aggregate) return index;
    }
    places[place] = this.#base + this.#added;
    return this.#added++;
  }
}
