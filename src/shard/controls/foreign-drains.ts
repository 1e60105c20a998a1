/**
 * Drains that the shard did not start (H7): somebody drains a machine at its provider. A cycle would bind it again as soon as it is Idle,
 * so it counts as cordoned while it drains and for some time after. A provider that lost its memory lists machines as Idle and shows no
 * drain, so that its fleet stays in use.
 */
import { Flag } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { MachineState } from '../../machine/state.ts';
import type { MachineChanged } from '../machines/changes.ts';
import { DueHeap } from '../machines/due-heap.ts';
import type { ShardObserver } from '../ports/observer.ts';
import type { MarkSource } from './pauses.ts';

const S = MachineState;

export interface ForeignDrainsOptions {
  readonly inventory: Inventory;
  readonly observer: ShardObserver;
  /** How long the machine is left alone once it is Idle; 0: not at all. */
  readonly holdMs: number;
  /** The flags of the machine changed. */
  readonly refresh: (slot: number) => void;
  /** Asks for a cycle. */
  readonly wake: () => void;
}

export class ForeignDrains implements MarkSource {
  readonly #options: ForeignDrainsOptions;
  /** Machines for which the shard sent a drain since they were Configured, whatever became of the call. */
  readonly #ours = new Set<number>();
  readonly #draining = new Set<number>();
  readonly #idle = new DueHeap();

  constructor(options: ForeignDrainsOptions) {
    this.#options = options;
  }

  flagsOf(slot: number): number {
    return this.#draining.has(slot) || this.#idle.has(slot) ? Flag.Cordoned : 0;
  }

  /** When the shard may use the machine again; 0: it is not left alone, infinite: it drains. */
  untilMs(slot: number): number {
    return this.#draining.has(slot) ? Number.POSITIVE_INFINITY : (this.#idle.dueOf(slot) ?? 0);
  }

  get count(): number {
    return this.#draining.size + this.#idle.size;
  }

  /** Listens to every change of a machine, before its flags are derived. */
  changed({ slot, from, to, source }: Readonly<MachineChanged>, nowMs: number): void {
    const { inventory, observer, holdMs } = this.#options;
    if (from === to || holdMs === 0) return;
    if (from === S.Configured && to === S.Draining) {
      if (source === 'local') this.#ours.add(slot);
      else if (!this.#ours.has(slot)) {
        this.#draining.add(slot);
        const machineId = inventory.idOf(slot);
        observer.happened({ kind: 'foreign_drain', level: 'warn', machineId, forMs: holdMs });
      }
      return;
    }
    if (from === S.Draining && to === S.Idle && this.#draining.has(slot))
      this.#idle.set(slot, nowMs + holdMs);
    else this.#idle.delete(slot);
    this.#draining.delete(slot);
    // A call that was not answered may have reached the provider, whose drain a listing shows later.
    if (from !== S.Draining || to !== S.Configured) this.#ours.delete(slot);
  }

  /** Before each cycle. */
  expire(nowMs: number): void {
    for (let slot = this.#idle.takeDue(nowMs); slot !== 0; slot = this.#idle.takeDue(nowMs)) {
      this.#options.refresh(slot);
      this.#options.wake();
    }
  }
}
