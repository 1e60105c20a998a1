/**
 * Measures the time from enqueueing an action until its machine is a node, whether an ack, a read or a listing shows it: an
 * asynchronous provider's ack comes long before. A machine that was created for a need and is Idle is still under way.
 */
import { MachineState } from '../../machine/state.ts';
import type { MachineChanged } from './changes.ts';

const S = MachineState;
/** A woken cycle binds an Idle machine at once; one that stays Idle for longer had no need meanwhile. */
const REST_MS_MAX = 60_000;

/** Refs of the need, compared and not held. */
interface Begun {
  readonly atMs: number;
  readonly cluster: number;
  readonly fingerprint: number;
  readonly group: number;
  /** When its first step ended. */
  idleMs: number;
}

export class BindingTimes {
  readonly #onBound: (latencyMs: number) => void;
  readonly #begun = new Map<number, Begun>();

  constructor(onBound: (latencyMs: number) => void) {
    this.#onBound = onBound;
  }

  /** A Bootstrap or a Provision was enqueued. A Bootstrap after the Provision for the same need continues its time. */
  begun(slot: number, cluster: number, fingerprint: number, group: number, nowMs: number): void {
    const known = this.#begun.get(slot);
    const isContinued =
      known?.cluster === cluster &&
      known.fingerprint === fingerprint &&
      known.group === group &&
      nowMs - known.idleMs <= REST_MS_MAX;
    if (!isContinued) this.#begun.set(slot, { atMs: nowMs, cluster, fingerprint, group, idleMs: nowMs });
  }

  /** The action ended without effect. */
  abandoned(slot: number): void {
    this.#begun.delete(slot);
  }

  changed({ slot, from, to }: Readonly<MachineChanged>, nowMs: number): void {
    if (from === to || this.#begun.size === 0) return;
    const begun = this.#begun.get(slot);
    const isIdle = to === S.Idle && from === S.Creating;
    if (isIdle && begun !== undefined) begun.idleMs = nowMs;
    if (isIdle || to === S.Creating || to === S.Configuring) return;
    this.#begun.delete(slot);
    if (begun !== undefined && to === S.Configured) this.#onBound(nowMs - begun.atMs);
  }
}
