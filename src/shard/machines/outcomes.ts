/**
 * How bootstraps and drains end, whether an ack, a read or a listing shows it. An asynchronous provider accepts a Configure and
 * reports minutes later that it failed, long after the action has settled. X5: that is a failed bootstrap of the need.
 *
 * A machine that is Idle again or gone no longer names its need, so the refs are held from the moment it begins.
 */
import type { Inventory } from '../../inventory/inventory.ts';
import { MachineState, STATE_NAMES } from '../../machine/state.ts';
import { isOwnRollBack, type MachineChanged } from './changes.ts';

const S = MachineState;

/** For a drain: the cluster that gives the machine up, and 0 for its need. */
export interface Attempt {
  readonly kind: 'bootstrap' | 'drain';
  readonly cluster: number;
  readonly fingerprint: number;
  readonly group: number;
}

export interface Outcome extends Attempt {
  readonly slot: number;
  readonly isSuccess: boolean;
  /** X14: the machine is Failed or gone. */
  readonly isBurned: boolean;
  /** What the provider said; '' after a success. */
  readonly text: string;
}

export class Outcomes {
  readonly #inventory: Inventory;
  readonly #onEnd: (outcome: Outcome) => void;
  /** By slot of a machine that is Configuring or Draining. */
  readonly #attempts = new Map<number, Attempt>();

  constructor(inventory: Inventory, onEnd: (outcome: Outcome) => void) {
    this.#inventory = inventory;
    this.#onEnd = onEnd;
  }

  /** Listens to every change of a machine. */
  changed({ slot, from, to, source }: Readonly<MachineChanged>): void {
    if (from === to) return;
    const attempt = this.#attempts.get(slot);
    if (attempt !== undefined) {
      this.#attempts.delete(slot);
      if (!isOwnRollBack(from, to, source)) this.#ended(slot, to, attempt);
      this.#inventory.tables.releaseRefs(attempt.cluster, attempt.fingerprint, attempt.group);
    }
    if (to === S.Configuring || to === S.Draining) this.#begun(slot, to);
  }

  #begun(slot: number, state: number): void {
    const { columns, tables } = this.#inventory;
    const cluster = columns.cluster[slot]!;
    const isDrain = state === S.Draining;
    if (cluster === 0 || (!isDrain && columns.need[slot] === 0)) return; // no shard assigned it
    const attempt: Attempt = {
      kind: isDrain ? 'drain' : 'bootstrap',
      cluster,
      fingerprint: isDrain ? 0 : columns.need[slot]!,
      group: isDrain ? 0 : columns.group[slot]!,
    };
    tables.clusters.retain(attempt.cluster);
    tables.fingerprints.retain(attempt.fingerprint);
    tables.groups.retain(attempt.group);
    this.#attempts.set(slot, attempt);
  }

  #ended(slot: number, to: number, attempt: Attempt): void {
    const isDrain = attempt.kind === 'drain';
    // A machine that vanishes while it drains was given up anyway.
    const isSuccess = isDrain ? to !== S.Failed : to === S.Configured;
    const isBurned = !isSuccess && (to === S.Failed || to === 0);
    this.#onEnd({ ...attempt, slot, isSuccess, isBurned, text: isSuccess ? '' : this.#textOf(slot, to) });
  }

  #textOf(slot: number, to: number): string {
    const { columns, tables } = this.#inventory;
    if (to === 0) return 'the provider removed the machine';
    const text = to === S.Failed ? tables.texts.get(columns.lastError[slot]!) : '';
    return text || `the provider left the machine ${STATE_NAMES[to as MachineState]}`;
  }
}
