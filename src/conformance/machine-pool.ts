/**
 * The machines that checks use. A check asks for a machine in a state; the pool takes one that the suite
 * already uses, or else the cheapest unassigned one, and moves it into that state. So a run uses few
 * machines, and a check does not depend on the state in which the check before it left a machine.
 *
 *   unassigned machines → lent to a check → settled (transitions awaited) → lent again … → put back
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isMachineState, isTransitional, MachineState } from '../machine/state.ts';
import { CheckFailedError, skip } from './check.ts';
import type { ConfigureParameters } from './client.ts';
import { UNIMPLEMENTED } from './codes.ts';
import type { Custody } from './custody.ts';
import type { Driver } from './driver.ts';
import type { MachineListView } from './machine-list-view.ts';
import type { Settings } from './settings.ts';
import { sameMap } from './snapshot.ts';

const S = MachineState;

/** A run rarely needs more than four machines of one state; twice as many leaves a margin. */
const CANDIDATES_MAX = 8;
/** Machines per state whose prices are compared: a large fleet repeats its prices long before this. */
const COMPARED_MAX = 1_000;
const SETTLE_POLL_MS = 50;

export interface ConfiguredMachine {
  readonly id: string;
  readonly binding: ConfigureParameters;
}

export class MachinePool {
  readonly #driver: Driver;
  readonly #custody: Custody;
  readonly #settings: Settings;
  /** Machines are configured with this unless a check says otherwise. */
  readonly #usualBinding: ConfigureParameters;
  #idleCandidates: string[] = [];
  #speculativeCandidates: string[] = [];
  #failedId: string | undefined;
  /** State of each touched machine after the last check. */
  readonly #resting = new Map<string, number>();
  readonly #lent = new Set<string>();
  #isDeleteSupported: boolean | undefined;

  constructor(driver: Driver, custody: Custody, settings: Settings, usualBinding: ConfigureParameters) {
    this.#driver = driver;
    this.#custody = custody;
    this.#settings = settings;
    this.#usualBinding = usualBinding;
  }

  stock(listing: MachineListView): void {
    this.#idleCandidates = cheapest(listing, S.Idle);
    this.#speculativeCandidates = cheapest(listing, S.Speculative);
    const failedRow = listing.states.indexOf(S.Failed);
    this.#failedId = failedRow < 0 ? undefined : listing.ids[failedRow];
  }

  /** `isDeletable`: the check deletes the machine, so the suite must be allowed to. */
  async idle({ isDeletable = false } = {}): Promise<string> {
    const fits = (id: string) => !isDeletable || this.#custody.mayDelete(id);
    const resting = this.#findResting(S.Idle, fits);
    if (resting !== undefined) return this.#lend(resting);
    const bound = this.#findResting(S.Configured, fits);
    if (bound !== undefined) {
      await this.#driver.perform('Drain', bound);
      return this.#lend(bound);
    }
    const found = await this.#findUntouched(this.#idleCandidates, S.Idle, fits);
    if (found !== undefined) return this.#lend(found);
    const offer = await this.#findOffer();
    if (offer === undefined)
      skip('the provider lists no IDLE machine, and no SPECULATIVE one to create it from');
    await this.#requireDelete(offer);
    await this.#driver.perform('Create', offer);
    return this.#lend(offer);
  }

  /** `willBeCreated`: the check creates the machine, so Delete must work to put it back. */
  async speculative({ willBeCreated = false } = {}): Promise<string> {
    let offer = await this.#findOffer();
    if (offer === undefined) {
      const spare = this.#findResting(S.Idle, (id) => this.#custody.mayDelete(id));
      const found = this.#settings.allowDelete
        ? await this.#findUntouched(this.#idleCandidates, S.Idle, () => true)
        : undefined;
      offer = spare ?? found;
      if (offer === undefined) skip('the provider lists no SPECULATIVE machine');
      await this.#driver.perform('Delete', offer);
    }
    if (willBeCreated) await this.#requireDelete(offer);
    return this.#lend(offer);
  }

  async configured({ isDeletable = false } = {}): Promise<ConfiguredMachine> {
    const fits = (id: string) => !isDeletable || this.#custody.mayDelete(id);
    const binding = this.#usualBinding;
    for (const [id, state] of this.#resting) {
      if (state !== S.Configured || this.#lent.has(id) || !fits(id)) continue;
      const { state: live, cluster, shardMetadata } = await this.#driver.get(id);
      const isUsual = cluster === binding.cluster && sameMap(shardMetadata, binding.shardMetadata);
      if (live === S.Configured && isUsual) return { id: this.#lend(id), binding };
    }
    const id = await this.idle({ isDeletable });
    await this.#driver.perform('Configure', id, { binding });
    return { id, binding };
  }

  failed(): string {
    if (this.#failedId === undefined) skip('the provider lists no FAILED machine');
    return this.#failedId;
  }

  /** After a check: waits for unfinished transitions and takes the machines back. */
  async settle(): Promise<void> {
    this.#lent.clear();
    const deadlineMs = Date.now() + this.#settings.transitionTimeoutMs;
    for (const id of this.#custody.takeUnsettled()) {
      this.#resting.set(id, await this.#stableState(id, deadlineMs));
    }
  }

  /** The last known stable state of a machine that the suite called; 0 if unknown. */
  restingState(id: string): number {
    return this.#resting.get(id) ?? 0;
  }

  async #stableState(id: string, deadlineMs: number): Promise<number> {
    for (;;) {
      let state = 0;
      try {
        ({ state } = await this.#driver.get(id));
      } catch (error) {
        // A machine that cannot be read is not lent again, and put-back reports it.
        if (error instanceof CheckFailedError) return 0;
        throw error;
      }
      if (!isMachineState(state) || !isTransitional(state) || Date.now() > deadlineMs) return state;
      await sleep(SETTLE_POLL_MS);
    }
  }

  #lend(id: string): string {
    this.#lent.add(id);
    return id;
  }

  #findResting(state: MachineState, fits: (id: string) => boolean): string | undefined {
    for (const [id, resting] of this.#resting) {
      if (resting === state && !this.#lent.has(id) && fits(id)) return id;
    }
    return undefined;
  }

  /** A candidate that the suite has not called yet and that is still in the state that was listed. */
  async #findUntouched(
    candidates: readonly string[],
    state: MachineState,
    fits: (id: string) => boolean,
  ): Promise<string | undefined> {
    for (const id of candidates) {
      if (this.#resting.has(id) || this.#lent.has(id) || !fits(id)) continue;
      if ((await this.#driver.get(id)).state === state) return id;
    }
    return undefined;
  }

  async #findOffer(): Promise<string | undefined> {
    return (
      this.#findResting(S.Speculative, () => true) ??
      (await this.#findUntouched(this.#speculativeCandidates, S.Speculative, () => true))
    );
  }

  /**
   * The suite creates no machine that it cannot delete. It sends Delete for an unknown id first, then for
   * the offer, which is harmless there: some providers look the machine up before they say UNIMPLEMENTED.
   */
  async #requireDelete(offer: string): Promise<void> {
    if (this.#isDeleteSupported === undefined) {
      const unknown = await this.#driver.send('Delete', this.#driver.unknownId());
      const known = unknown.code === UNIMPLEMENTED ? unknown : await this.#driver.send('Delete', offer);
      this.#isDeleteSupported = known.code !== UNIMPLEMENTED;
    }
    if (!this.#isDeleteSupported) {
      skip('Delete is UNIMPLEMENTED, so the suite could not put back a machine that it creates');
    }
  }
}

/** Cheapest first: created machines may cost the user money. */
function cheapest(listing: MachineListView, state: MachineState): string[] {
  const rows = listing.rowsInState(state).slice(0, COMPARED_MAX);
  const found = rows.map((row) => listing.machine(row));
  found.sort((left, right) => left.pricePerHour - right.pricePerHour);
  return found.slice(0, CANDIDATES_MAX).map((machine) => machine.id);
}
