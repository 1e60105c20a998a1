/**
 * How long machines take from the moment their action is enqueued until they are nodes, whichever path shows it: with an
 * asynchronous provider the ack says little. A machine that was created for a need and is Idle is still on its way.
 */
import { MachineState } from '../../machine/state.ts';
import type { MachineChanged } from './changes.ts';

const S = MachineState;

export class BindingTimes {
  readonly #onBound: (latencyMs: number) => void;
  readonly #begunMs = new Map<number, number>();

  constructor(onBound: (latencyMs: number) => void) {
    this.#onBound = onBound;
  }

  /** A Bootstrap or a Provision was enqueued. */
  begun(slot: number, nowMs: number): void {
    if (!this.#begunMs.has(slot)) this.#begunMs.set(slot, nowMs);
  }

  changed({ slot, from, to }: Readonly<MachineChanged>, nowMs: number): void {
    if (from === to || this.#begunMs.size === 0) return;
    const isOnItsWay = to === S.Creating || to === S.Configuring || (to === S.Idle && from === S.Creating);
    if (isOnItsWay) return;
    const begunMs = this.#begunMs.get(slot);
    this.#begunMs.delete(slot);
    if (begunMs !== undefined && to === S.Configured) this.#onBound(nowMs - begunMs);
  }
}
