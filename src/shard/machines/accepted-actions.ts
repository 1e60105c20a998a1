/**
 * How accepted actions end. An asynchronous provider acknowledges a call at once and carries it out later, so the ack says
 * nothing about the outcome. X9: such an action counts as a success or a failure when its machine leaves the transitional
 * state, whether a read or a listing shows it.
 */
import type { Inventory } from '../../inventory/inventory.ts';
import { MachineState } from '../../machine/state.ts';
import type { AcceptedActionEnded, ActionName } from '../ports/observer.ts';
import type { MachineChanged } from './changes.ts';

const S = MachineState;

/** The state that ends each transition well. */
const TARGETS: ReadonlyMap<number, MachineState> = new Map([
  [S.Creating, S.Idle],
  [S.Configuring, S.Configured],
  [S.Draining, S.Idle],
  [S.Deleting, S.Speculative],
]);

export class AcceptedActions {
  readonly #inventory: Inventory;
  readonly #onEnded: (ended: AcceptedActionEnded) => void;
  /** By slot. Few beside the fleet: an asynchronous provider has some seconds of actions. */
  readonly #kinds = new Map<number, ActionName>();

  constructor(inventory: Inventory, onEnded: (ended: AcceptedActionEnded) => void) {
    this.#inventory = inventory;
    this.#onEnded = onEnded;
  }

  /** The provider acknowledged the action, and its machine is in transition. */
  accepted(slot: number, kind: ActionName): void {
    if (TARGETS.has(this.#inventory.columns.state[slot]!)) this.#kinds.set(slot, kind);
  }

  changed({ slot, from, to }: Readonly<MachineChanged>): void {
    if (from === to || this.#kinds.size === 0) return;
    const kind = this.#kinds.get(slot);
    if (kind === undefined) return;
    this.#kinds.delete(slot);
    // A provider without offers has no Speculative machines: what it deleted is gone.
    const isDone = to === TARGETS.get(from) || (to === 0 && from === S.Deleting);
    this.#onEnded({ kind, outcome: isDone ? 'success' : 'provider_error' });
  }
}
