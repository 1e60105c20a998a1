/**
 * A scratch map from a pair of u32 to a u32, for the rows of one roll-up: cleared in O(1), and filled without allocation once it
 * has grown. Open addressing with linear probing, at most half full. A slot counts only if its
 * epoch is the current one, so clearing is one increment.
 *
 *   by slot   #epoch, #first, #second, #value    u32 each, 16 bytes
 */
const SLOTS_AT_START = 1024;

export class PairIndex {
  #epoch = new Uint32Array(SLOTS_AT_START);
  #first = new Uint32Array(SLOTS_AT_START);
  #second = new Uint32Array(SLOTS_AT_START);
  #value = new Uint32Array(SLOTS_AT_START);
  #now = 1;
  #count = 0;

  /** Removes all pairs. */
  clear(): void {
    if (this.#now === 0xffff_ffff) {
      this.#epoch.fill(0);
      this.#now = 0;
    }
    this.#now++;
    this.#count = 0;
  }

  /** The pair's value, -1 if it has none. */
  get(first: number, second: number): number {
    const slot = this.#slotOf(first, second);
    return this.#epoch[slot] === this.#now ? this.#value[slot]! : -1;
  }

  set(first: number, second: number, value: number): void {
    const slot = this.#slotOf(first, second);
    if (this.#epoch[slot] !== this.#now && 2 * ++this.#count > this.#epoch.length) {
      this.#grow();
      this.set(first, second, value);
      return;
    }
    this.#epoch[slot] = this.#now;
    this.#first[slot] = first;
    this.#second[slot] = second;
    this.#value[slot] = value;
  }

  #grow(): void {
    const [epoch, first, second, value, now] = [
      this.#epoch,
      this.#first,
      this.#second,
      this.#value,
      this.#now,
    ];
    const slots = 2 * epoch.length;
    this.#epoch = new Uint32Array(slots);
    this.#first = new Uint32Array(slots);
    this.#second = new Uint32Array(slots);
    this.#value = new Uint32Array(slots);
    this.#now = 1;
    this.#count = 0;
    for (let slot = 0; slot < epoch.length; slot++) {
      if (epoch[slot] === now) this.set(first[slot]!, second[slot]!, value[slot]!);
    }
  }

  /** The pair's slot, or the slot where it would go. */
  #slotOf(first: number, second: number): number {
    const mask = this.#epoch.length - 1;
    let slot = mix(first, second) & mask;
    while (
      this.#epoch[slot] === this.#now &&
      (this.#first[slot] !== first || this.#second[slot] !== second)
    ) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }
}

/** A u32 that depends on every bit of both numbers. */
export function mix(first: number, second: number): number {
  let mixed = Math.imul(first ^ (first >>> 16), 0x7feb352d) ^ second;
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x9e3779b1);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}
