/**
 * Which machines are in each state: one bit a slot for each of the nine states. A transition clears a bit and sets one, in
 * 62 KB a state at half a million machines, which stay in the cache; a dense list with swap-remove would touch two more
 * places in megabytes, and a transition costs the memory that it waits for. A list is made of the bits when somebody wants
 * to walk over a state, and kept until the state changes; it is in ascending order of slots.
 *
 *   bits      state × words + slot / 32   u32
 *   counts    by state                    u32
 *   lists     by state                    u32 × count, made when read
 */
import { STATE_COUNT } from '../machine/state.ts';

export class StateSets {
  readonly #wordsPerState: number;
  readonly #bits: Uint32Array;
  readonly #counts = new Uint32Array(STATE_COUNT);
  readonly #lists: Uint32Array[] = Array.from({ length: STATE_COUNT }, () => new Uint32Array(0));
  /** One bit for each state that changed since its list was made. */
  #staleStates = 0;

  constructor(slotsMax: number) {
    this.#wordsPerState = (slotsMax >>> 5) + 1;
    this.#bits = new Uint32Array(STATE_COUNT * this.#wordsPerState);
  }

  countOf(state: number): number {
    return this.#counts[state]!;
  }

  /** The slots in a state, ascending. Not to be written, and not to be kept past the next change. */
  slotsOf(state: number): Uint32Array {
    if (((this.#staleStates >>> state) & 1) === 1) {
      this.#staleStates &= ~(1 << state);
      this.#lists[state] = this.#list(state);
    }
    return this.#lists[state]!;
  }

  enter(slot: number, state: number): void {
    this.#bits[state * this.#wordsPerState + (slot >>> 5)]! |= 1 << (slot & 31);
    this.#counts[state]!++;
    this.#staleStates |= 1 << state;
  }

  leave(slot: number, state: number): void {
    this.#bits[state * this.#wordsPerState + (slot >>> 5)]! &= ~(1 << (slot & 31));
    this.#counts[state]!--;
    this.#staleStates |= 1 << state;
  }

  bytesTouched(slotLimit: number): number {
    let listBytes = 0;
    for (const list of this.#lists) listBytes += list.byteLength;
    return (STATE_COUNT * slotLimit) / 8 + listBytes;
  }

  #list(state: number): Uint32Array {
    const slots = new Uint32Array(this.#counts[state]!);
    const start = state * this.#wordsPerState;
    let found = 0;
    for (let word = 0; found < slots.length; word++) {
      let bits = this.#bits[start + word]!;
      while (bits !== 0) {
        const lowest = bits & -bits;
        slots[found++] = word * 32 + 31 - Math.clz32(lowest);
        bits ^= lowest;
      }
    }
    return slots;
  }
}
