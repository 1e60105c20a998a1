/**
 * X11: a machine that is transitional for too long is stuck. It is flagged, so that it satisfies no need, read again, and
 * reported once. The flag goes when the provider moves the machine. A drain may take its grace longer.
 */
import type { Clock } from '../../base/clock.ts';
import { Flag } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { ALL_STATES, isTransitional, MachineState } from '../../machine/state.ts';
import type { ShardObserver } from '../ports/observer.ts';
import type { MachineChanged } from './changes.ts';
import type { FollowUpReads } from './reads.ts';

const TRANSITIONAL = ALL_STATES.filter(isTransitional);

export class StuckMachines {
  readonly #inventory: Inventory;
  readonly #reads: FollowUpReads;
  readonly #observer: ShardObserver;
  readonly #clock: Clock;
  readonly #stuckAfterMs: () => number;
  /** By slot: the grace of our drain. */
  readonly #graceMs = new Map<number, number>();
  #count = 0;

  constructor(
    inventory: Inventory,
    reads: FollowUpReads,
    observer: ShardObserver,
    clock: Clock,
    stuckAfterMs: () => number,
  ) {
    this.#inventory = inventory;
    this.#reads = reads;
    this.#observer = observer;
    this.#clock = clock;
    this.#stuckAfterMs = stuckAfterMs;
  }

  /** As of the last `scan`. */
  get count(): number {
    return this.#count;
  }

  drainSent(slot: number, graceSeconds: number): void {
    this.#graceMs.set(slot, graceSeconds * 1000);
  }

  changed({ slot, from, to }: Readonly<MachineChanged>): void {
    if (from === MachineState.Draining && to !== from) this.#graceMs.delete(slot);
  }

  /** Before each ordinary cycle. */
  scan(): void {
    const { columns, indexes } = this.#inventory;
    const nowMs = this.#clock.nowMs();
    const stuckAfterMs = this.#stuckAfterMs();
    this.#count = 0;
    for (const state of TRANSITIONAL) {
      const slots = indexes.slotsInState(state);
      for (let index = indexes.countInState(state) - 1; index >= 0; index--) {
        const slot = slots[index]!;
        const graceMs = state === MachineState.Draining ? (this.#graceMs.get(slot) ?? 0) : 0;
        const forMs = nowMs - columns.stateSinceMsOf(slot);
        if (forMs <= stuckAfterMs + graceMs) continue;
        this.#count++;
        if (!this.#inventory.hasFlag(slot, Flag.Stuck)) this.#mark(slot, state, forMs);
      }
    }
  }

  #mark(slot: number, state: MachineState, forMs: number): void {
    const machineId = this.#inventory.idOf(slot);
    this.#inventory.setFlag(slot, Flag.Stuck, true);
    this.#reads.recheck(slot);
    this.#observer.happened({ kind: 'machine_stuck', level: 'warn', machineId, state, forMs });
  }
}
