/**
 * Finds the assignment of a triple. Every cluster has its own hash table, all of them in one array: a cycle reads machines
 * and rows cluster by cluster, so its look-ups stay in the nearest cache. One table for the whole fleet missed the cache
 * in each of 870,000 look-ups, a tenth of a first cycle.
 *
 *   by cluster   start                    u32   first place of its table; 0 = no table (place 0 is always empty)
 *                mask                     u32   places of its table, a power of two, minus one
 *                used                     u32   assignments in it: at most half of its places
 *   by place     tag << 24 | assignment   u32   open addressing, linear probing; 0 = empty. The tag, eight bits of the
 *                                               hash, avoids nearly every vain read of the assignment's columns
 *
 * A full table moves to one of twice its size; the next table of the old size reuses its places.
 */
import { assert } from '../../base/assert.ts';
import { columnU32, widerU32 } from '../columns/columns.ts';

/** Cluster refs are u16 in the machine columns. */
const CLUSTER_REFS = 65_536;
const ASSIGNMENT_BITS = 24;
const ASSIGNMENT_MASK = (1 << ASSIGNMENT_BITS) - 1;
const PLACES_AT_LEAST = 8;

/** The names of assignments, within a cluster. */
export interface AssignmentNames {
  readonly fingerprint: Uint32Array;
  readonly group: Uint32Array;
}

export class AssignmentIndex {
  readonly #names: AssignmentNames;
  readonly #start = columnU32(CLUSTER_REFS);
  readonly #mask = columnU32(CLUSTER_REFS);
  readonly #used = columnU32(CLUSTER_REFS);
  #places = columnU32(64);
  #end = 1;
  /** Unused tables, by number of places. */
  readonly #free = new Map<number, number[]>();

  constructor(names: AssignmentNames) {
    this.#names = names;
  }

  /** Makes room for `count` assignments at once. */
  reserve(count: number): void {
    this.#places = widerU32(this.#places, 2 * count);
  }

  /** 0 = there is none. */
  find(cluster: number, fingerprint: number, group: number): number {
    const hash = hashOf(fingerprint, group);
    const tag = hash >>> ASSIGNMENT_BITS;
    const { fingerprint: fingerprintOf, group: groupOf } = this.#names;
    const places = this.#places;
    const start = this.#start[cluster]!;
    const mask = this.#mask[cluster]!;
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const word = places[start + place]!;
      if (word === 0) return 0;
      if (word >>> ASSIGNMENT_BITS !== tag) continue;
      const assignment = word & ASSIGNMENT_MASK;
      if (fingerprintOf[assignment] === fingerprint && groupOf[assignment] === group) return assignment;
    }
  }

  /** Adds a new assignment, whose names are written already. */
  add(cluster: number, assignment: number): void {
    assert(assignment > 0 && assignment <= ASSIGNMENT_MASK, 'assignments are numbers of 24 bits');
    const room = this.#start[cluster] === 0 ? 0 : this.#mask[cluster]! + 1;
    if (++this.#used[cluster]! * 2 > room) this.#enlarge(cluster, room);
    this.#put(this.#start[cluster]!, this.#mask[cluster]!, assignment);
  }

  /** Moves later entries of the run back into the hole: without tombstones, probes stay short. */
  remove(cluster: number, assignment: number): void {
    const places = this.#places;
    const start = this.#start[cluster]!;
    const mask = this.#mask[cluster]!;
    let hole = this.#hashOf(assignment) & mask;
    while ((places[start + hole]! & ASSIGNMENT_MASK) !== assignment) hole = (hole + 1) & mask;
    for (let next = (hole + 1) & mask; places[start + next] !== 0; next = (next + 1) & mask) {
      const home = this.#hashOf(places[start + next]! & ASSIGNMENT_MASK) & mask;
      if (((next - home) & mask) < ((next - hole) & mask)) continue;
      places[start + hole] = places[start + next]!;
      hole = next;
    }
    places[start + hole] = 0;
    if (--this.#used[cluster]! > 0) return;
    this.#giveBack(start, mask + 1);
    this.#start[cluster] = this.#mask[cluster] = 0;
  }

  #hashOf(assignment: number): number {
    return hashOf(this.#names.fingerprint[assignment]!, this.#names.group[assignment]!);
  }

  #put(start: number, mask: number, assignment: number): void {
    const hash = this.#hashOf(assignment);
    let place = hash & mask;
    while (this.#places[start + place] !== 0) place = (place + 1) & mask;
    this.#places[start + place] = ((hash >>> ASSIGNMENT_BITS) << ASSIGNMENT_BITS) | assignment;
  }

  #enlarge(cluster: number, room: number): void {
    const count = Math.max(PLACES_AT_LEAST, 2 * room);
    const old = this.#start[cluster]!;
    const start = this.#take(count);
    for (let at = old; at < old + room; at++) {
      const word = this.#places[at]!;
      if (word !== 0) this.#put(start, count - 1, word & ASSIGNMENT_MASK);
    }
    this.#places.fill(0, old, old + room);
    if (room > 0) this.#giveBack(old, room);
    this.#start[cluster] = start;
    this.#mask[cluster] = count - 1;
  }

  /** An empty table of `count` places. */
  #take(count: number): number {
    const free = this.#free.get(count)?.pop();
    if (free !== undefined) return free;
    const start = this.#end;
    this.#end += count;
    this.#places = widerU32(this.#places, this.#end - 1);
    return start;
  }

  #giveBack(start: number, count: number): void {
    const free = this.#free.get(count);
    if (free === undefined) this.#free.set(count, [start]);
    else free.push(start);
  }
}

function hashOf(fingerprint: number, group: number): number {
  let hash = Math.imul(fingerprint, 0x85ebca77);
  hash = Math.imul(hash ^ (hash >>> 15) ^ group, 0xc2b2ae3d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
