/**
 * The machines in each state. The column of states has one byte a machine; this class adds a count for each block of 512
 * slots and state, 16 bytes a block. The counts stay in the first-level cache during transitions (a bit per slot and state
 * would be half a megabyte), and they are enough to find the few machines of a rare state without reading the blocks that
 * have none. The list of a state is made when it is read, in ascending order of slots, and kept until the state changes.
 *
 *   blocks    block × 8 + state − 1   u16, slots of the block in the state
 *   counts    by state                u32
 *   lists     by state                u32 × count, made when read
 */
import { STATE_COUNT } from '../machine/state.ts';

const BLOCK_SHIFT = 9;
const BLOCK_SLOTS = 1 << BLOCK_SHIFT;
const STATES_SHIFT = 3;
/** Four states in a word, one byte each. */
const ONES = 0x01010101;
const HIGH_BITS = 0x80808080 | 0;

export class StateSets {
  readonly #states: Uint8Array;
  /** The same bytes, four slots a word. */
  readonly #words: Int32Array;
  readonly #blocks: Uint16Array;
  readonly #counts = new Uint32Array(STATE_COUNT);
  readonly #lists: Uint32Array[] = Array.from({ length: STATE_COUNT }, () => new Uint32Array(0));
  /** One bit for each state whose machines changed since its list was made. */
  #staleStates = 0;

  /** Over the column of states, which the caller writes. */
  constructor(states: Uint8Array) {
    this.#states = states;
    this.#words = new Int32Array(states.buffer, states.byteOffset, states.length >>> 2);
    this.#blocks = new Uint16Array(((states.length >>> BLOCK_SHIFT) + 1) << STATES_SHIFT);
  }

  countOf(state: number): number {
    return this.#counts[state]!;
  }

  /** The slots in a state, ascending. Read-only, and valid until the next change. */
  slotsOf(state: number): Uint32Array {
    if (((this.#staleStates >>> state) & 1) === 1) {
      this.#staleStates &= ~(1 << state);
      this.#lists[state] = this.#list(state);
    }
    return this.#lists[state]!;
  }

  enter(slot: number, state: number): void {
    this.#blocks[((slot >>> BLOCK_SHIFT) << STATES_SHIFT) + state - 1]!++;
    this.#counts[state]!++;
    this.#staleStates |= 1 << state;
  }

  leave(slot: number, state: number): void {
    this.#blocks[((slot >>> BLOCK_SHIFT) << STATES_SHIFT) + state - 1]!--;
    this.#counts[state]!--;
    this.#staleStates |= 1 << state;
  }

  bytesTouched(slotLimit: number): number {
    let listBytes = 0;
    for (const list of this.#lists) listBytes += list.byteLength;
    return ((slotLimit >>> BLOCK_SHIFT) + 1) * (2 << STATES_SHIFT) + listBytes;
  }

  #list(state: number): Uint32Array {
    const slots = new Uint32Array(this.#counts[state]!);
    const states = this.#states;
    const words = this.#words;
    const wanted = state * ONES;
    let found = 0;
    for (let block = 0; found < slots.length; block++) {
      const end = found + this.#blocks[(block << STATES_SHIFT) + state - 1]!;
      for (let word = (block * BLOCK_SLOTS) >>> 2; found < end; word++) {
        // Bytes of the wanted state are 0 now, and only a word with a zero byte passes.
        const others = words[word]! ^ wanted;
        if (((others - ONES) & ~others & HIGH_BITS) === 0) continue;
        for (let slot = word * 4; slot < word * 4 + 4; slot++)
          if (states[slot] === state) slots[found++] = slot;
      }
    }
    return slots;
  }
}
