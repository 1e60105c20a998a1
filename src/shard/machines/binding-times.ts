/**
 * How long machines take from the moment their action is enqueued until they are nodes, whichever path shows it: with an
 * asynchronous provider the ack says little. A machine that was created for a need and is Idle is still on its way.
 */
import { MachineState } from '../../machine/state.ts';
import type { MachineChanged } from './changes.ts';

const S = MachineState;
/** A woken cycle binds what is Idle at once; one that is left for longer was wanted by nobody meanwhile. */
const REST_MS_MAX = 60_000;

/** Refs of the need, as they were: they are compared and not held. */
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

  /** A Bootstrap or a Provision was enqueued; the second step of one way goes on with the time of the first. */
  begun(slot: number, cluster: number, fingerprint: number, group: number, nowMs: number): void {
    const known = this.#begun.get(slot);
    const isSameWay =
      known?.cluster === cluster &&
      known.fingerprint === fingerprint &&
      known.group === group &&
      nowMs - known.idleMs <= REST_MS_MAX;
    if (!isSameWay) this.#begun.set(slot, { atMs: nowMs, cluster, fingerprint, group, idleMs: nowMs });
  }

  /** The action ended before it did anything. */
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
