/**
 * Stamps by what they stand for. Every cluster has a table of its own, all of them in one array: a cycle reads machines and
 * rows cluster by cluster, so that what it looks up stays in the nearest cache. One table for a whole fleet was a miss for
 * each of its 870,000 look-ups, a tenth of a first cycle.
 *
 *   by cluster   start   u32   first word of its table; 0 = it has none, and finds nothing in place 0
 *                mask    u32   places of its table, a power of two, less one
 *                used    u32   stamps in it: at most half of its places
 *   by place     stamp, fingerprint, group   u32 × 3   open addressing, linear probing; stamp 0 = empty
 *
 * A table that is full moves to one of twice its size; the room that it leaves is given to the next one of that size.
 */
import { columnU32, widerU32 } from './columns.ts';

/** Cluster refs are u16 in the machine columns. */
const CLUSTER_REFS = 65_536;
const PLACE_WORDS = 3;
const PLACES_AT_LEAST = 8;

export class StampIndex {
  readonly #start = columnU32(CLUSTER_REFS);
  readonly #mask = columnU32(CLUSTER_REFS);
  readonly #used = columnU32(CLUSTER_REFS);
  #words = columnU32(64 * PLACE_WORDS);
  #end = PLACE_WORDS;
  /** By number of places: tables that nobody uses. */
  readonly #free = new Map<number, number[]>();

  /** Makes room for so many stamps at once. */
  reserve(count: number): void {
    this.#words = widerU32(this.#words, 2 * count * PLACE_WORDS);
  }

  /** 0 = there is none. */
  find(cluster: number, fingerprint: number, group: number): number {
    const words = this.#words;
    const start = this.#start[cluster]!;
    const mask = this.#mask[cluster]!;
    let place = hashOf(fingerprint, group) & mask;
    for (;;) {
      const at = start + place * PLACE_WORDS;
      const stamp = words[at]!;
      if (stamp === 0 || (words[at + 1] === fingerprint && words[at + 2] === group)) return stamp;
      place = (place + 1) & mask;
    }
  }

  /** Adds a stamp that is not there yet. */
  add(cluster: number, fingerprint: number, group: number, stamp: number): void {
    const room = this.#start[cluster] === 0 ? 0 : this.#mask[cluster]! + 1;
    if (++this.#used[cluster]! * 2 > room) this.#enlarge(cluster, room);
    this.#put(this.#start[cluster]!, this.#mask[cluster]!, fingerprint, group, stamp);
  }

  /** Closes the hole by moving later members of the run back: no tombstones, so probes stay short. */
  remove(cluster: number, fingerprint: number, group: number): void {
    const words = this.#words;
    const start = this.#start[cluster]!;
    const mask = this.#mask[cluster]!;
    const wordOf = (place: number) => start + place * PLACE_WORDS;
    let hole = hashOf(fingerprint, group) & mask;
    while (words[wordOf(hole) + 1] !== fingerprint || words[wordOf(hole) + 2] !== group)
      hole = (hole + 1) & mask;
    for (let next = (hole + 1) & mask; words[wordOf(next)] !== 0; next = (next + 1) & mask) {
      const home = hashOf(words[wordOf(next) + 1]!, words[wordOf(next) + 2]!) & mask;
      if (((next - home) & mask) < ((next - hole) & mask)) continue;
      words.copyWithin(wordOf(hole), wordOf(next), wordOf(next) + PLACE_WORDS);
      hole = next;
    }
    words.fill(0, wordOf(hole), wordOf(hole) + PLACE_WORDS);
    if (--this.#used[cluster]! > 0) return;
    this.#giveBack(start, mask + 1);
    this.#start[cluster] = this.#mask[cluster] = 0;
  }

  #put(start: number, mask: number, fingerprint: number, group: number, stamp: number): void {
    let place = hashOf(fingerprint, group) & mask;
    while (this.#words[start + place * PLACE_WORDS] !== 0) place = (place + 1) & mask;
    const at = start + place * PLACE_WORDS;
    this.#words[at] = stamp;
    this.#words[at + 1] = fingerprint;
    this.#words[at + 2] = group;
  }

  #enlarge(cluster: number, room: number): void {
    const places = Math.max(PLACES_AT_LEAST, 2 * room);
    const old = this.#start[cluster]!;
    const start = this.#take(places);
    const words = this.#words;
    for (let at = old; at < old + room * PLACE_WORDS; at += PLACE_WORDS) {
      if (words[at] !== 0) this.#put(start, places - 1, words[at + 1]!, words[at + 2]!, words[at]!);
    }
    words.fill(0, old, old + room * PLACE_WORDS);
    if (room > 0) this.#giveBack(old, room);
    this.#start[cluster] = start;
    this.#mask[cluster] = places - 1;
  }

  /** An empty table of so many places. */
  #take(places: number): number {
    const free = this.#free.get(places)?.pop();
    if (free !== undefined) return free;
    const start = this.#end;
    this.#end += places * PLACE_WORDS;
    this.#words = widerU32(this.#words, this.#end - 1);
    return start;
  }

  #giveBack(start: number, places: number): void {
    const free = this.#free.get(places);
    if (free === undefined) this.#free.set(places, [start]);
    else free.push(start);
  }
}

function hashOf(fingerprint: number, group: number): number {
  let hash = Math.imul(fingerprint, 0x85ebca77);
  hash = Math.imul(hash ^ (hash >>> 15) ^ group, 0xc2b2ae3d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
