/**
 * Measures bindings: from the need, and from enqueueing its action, until the machine is a node, whether an ack, a read or a
 * listing shows it. An asynchronous provider's ack comes long before. A machine that was created for a need and is Idle is
 * still under way.
 *
 * One number over all bindings says nothing about the shard: a need that waits for a drain of ten minutes waits ten minutes.
 * So each binding has a path, which is known when its action is enqueued.
 */
import type { Lack } from '../../decision/verdicts/lacks.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { MachineState } from '../../machine/state.ts';
import type { BindingPath, MachineBound } from '../ports/observer.ts';
import type { MachineChanged } from './changes.ts';

const S = MachineState;
/** A woken cycle binds an Idle machine at once; one that stays Idle for longer had no need meanwhile. */
const REST_MS_MAX = 60_000;

/** What made a machine Idle, by slot. */
const Freed = { No: 0, Drained: 1, Preempted: 2 } as const;

/** Refs of the need, compared and not held. */
interface Begun {
  readonly path: BindingPath;
  readonly neededAtMs: number;
  readonly atMs: number;
  readonly cluster: number;
  readonly fingerprint: number;
  readonly group: number;
  /** When its first step ended. */
  idleMs: number;
}

export interface BindingTimesOptions {
  readonly inventory: Inventory;
  readonly lackOf: (cluster: number, fingerprint: number, group: number) => Lack | null;
  /** Whether a machine that drains was preempted for a need. */
  readonly isPreempted: (slot: number) => boolean;
  readonly onBound: (bound: MachineBound) => void;
}

export class BindingTimes {
  readonly #options: BindingTimesOptions;
  /** By slot: bindings under way. Few beside the fleet: an asynchronous provider has some seconds of actions. */
  readonly #begun = new Map<number, Begun>();
  readonly #freed: Uint8Array;

  constructor(options: BindingTimesOptions) {
    this.#options = options;
    this.#freed = new Uint8Array(options.inventory.columns.rowCapacity);
  }

  /** A Bootstrap or a Provision was enqueued. A Bootstrap after the Provision for the same need continues its time. */
  begun(slot: number, cluster: number, fingerprint: number, group: number, nowMs: number): void {
    const known = this.#begun.get(slot);
    const isContinued =
      known?.cluster === cluster &&
      known.fingerprint === fingerprint &&
      known.group === group &&
      nowMs - known.idleMs <= REST_MS_MAX;
    if (isContinued) return;
    const lack = this.#options.lackOf(cluster, fingerprint, group);
    this.#begun.set(slot, {
      path: this.#pathOf(slot, lack),
      neededAtMs: lack?.sinceMs ?? nowMs,
      atMs: nowMs,
      cluster,
      fingerprint,
      group,
      idleMs: nowMs,
    });
  }

  /** The action ended without effect. */
  abandoned(slot: number): void {
    this.#begun.delete(slot);
  }

  changed({ slot, from, to }: Readonly<MachineChanged>, nowMs: number): void {
    if (from === to) return;
    this.#noteFreed(slot, from, to);
    if (this.#begun.size === 0) return;
    const begun = this.#begun.get(slot);
    const isIdle = to === S.Idle && from === S.Creating;
    if (isIdle && begun !== undefined) begun.idleMs = nowMs;
    if (isIdle || to === S.Creating || to === S.Configuring) return;
    this.#begun.delete(slot);
    if (begun === undefined || to !== S.Configured) return;
    const { path, neededAtMs, atMs } = begun;
    this.#options.onBound({ path, neededMs: nowMs - neededAtMs, enqueuedMs: nowMs - atMs });
  }

  #pathOf(slot: number, lack: Lack | null): BindingPath {
    const { columns } = this.#options.inventory;
    const isIdle = columns.state[slot] === S.Idle;
    if (lack?.hasWaited !== true) return isIdle ? 'idle' : 'created';
    const freed = this.#freed[slot]!;
    const wasFreedForIt = freed !== Freed.No && columns.stateSinceMsOf(slot) >= lack.sinceMs;
    if (!isIdle || !wasFreedForIt) return 'waited';
    return freed === Freed.Preempted ? 'preempted' : 'drained';
  }

  #noteFreed(slot: number, from: number, to: number): void {
    if (from === S.Draining && to === S.Idle)
      this.#freed[slot] = this.#options.isPreempted(slot) ? Freed.Preempted : Freed.Drained;
    else if (this.#freed[slot] !== Freed.No) this.#freed[slot] = Freed.No;
  }
}
