/**
 * The contract of CapacityProvider around the author's four functions. Every mutating call passes the same checks, in the
 * order of the contract:
 *
 *   id → fence → operation supported → machine exists → arguments → repeat → state → start
 *
 * A change is stored before anyone is told of it: the start of an operation before the author's function runs and before the
 * ack, its end before a listing shows it. So a provider that is killed at any point continues where it was.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isTransitional, MachineState, STATE_NAMES } from '../machine/state.ts';
import type { OutgoingMessage } from '../wire/outgoing-message.ts';
import type { Cloud, Offer, ProviderMachine, Sighting, StringMap } from './cloud.ts';
import { Refusal } from './errors.ts';
import { Fence, type Token } from './fence.ts';
import { Fleet } from './fleet.ts';
import { type ListCall, Listings } from './listing.ts';
import { checkedOffers } from './offers.ts';
import { type OperationName, STEPS } from './operations.ts';
import {
  encodedMachine,
  type MachineFacts,
  type MachineRecord,
  NO_METADATA,
  type Operation,
  offeredFacts,
  UNBOUND,
  viewOf,
} from './record.ts';
import { type Outcome, Runner } from './runner.ts';
import { changeTo, failed, hosted, recoveryOf } from './sightings.ts';
import { IN_MEMORY, type StateEntry, type StateStore } from './state-log.ts';

/** A mutating call as it was decoded. */
export interface MutatingCall {
  readonly machineId: string;
  readonly token: Token;
  /** Of a Configure. */
  readonly cluster?: string;
  readonly shardMetadata?: StringMap;
  readonly bootstrapBlob?: Uint8Array;
  /** Of a Drain. */
  readonly gracePeriodSeconds?: number;
}

export interface Ack {
  readonly operationId: string;
  /** An encoded Machine. */
  readonly machine: Buffer;
}

export interface ProviderOptions {
  readonly name: string;
  readonly cloud: Cloud;
  readonly offers: Iterable<Offer>;
  readonly limitsMs: Readonly<Record<OperationName, number>>;
  /** How long an ack waits for the operation to end. 0: an ack shows the transitional state unless the function ended at once. */
  readonly ackWithinMs: number;
  readonly onOutcome: (operation: OperationName, outcome: Outcome['kind'], tookMs: number) => void;
}

/** While the disk is full, ends of operations wait. */
const STORE_AGAIN_MS = 1_000;
/** Questions to the cloud at a time when the provider starts. */
const INSPECTIONS_AT_A_TIME = 32;
const ID_CHARS_SHOWN = 128;

export class Provider {
  readonly #options: ProviderOptions;
  readonly #fleet = new Fleet();
  readonly #fence = new Fence((id) => this.#fleet.find(id) !== undefined);
  readonly #listings: Listings;
  readonly #runner: Runner;
  #store: StateStore = IN_MEMORY;
  #isClosing = false;

  constructor(options: ProviderOptions) {
    this.#options = options;
    this.#listings = new Listings(this.#fleet, options.name);
    this.#runner = new Runner(options.cloud, options.limitsMs);
  }

  /** Takes what an earlier process stored, asks the cloud about it, and runs interrupted operations again. */
  async start(store: StateStore, stored: readonly StateEntry[]): Promise<void> {
    const marks: [string, StringMap][] = [];
    const facts = new Map<string, MachineFacts>();
    for (const entry of stored) {
      if ('marks' in entry) marks.push([entry.machine, entry.marks]);
      else if (entry.facts === null) facts.delete(entry.machine);
      else facts.set(entry.machine, entry.facts);
    }
    for (const [id, known] of facts) this.#fleet.add(id, known, false);
    for (const [id, ofMachine] of marks) this.#fence.restore(id, ofMachine);
    this.setOffers(this.#options.offers);
    this.#store = store;
    const existing = [...this.#fleet.records].filter(
      ({ facts: { state } }) => state !== MachineState.Speculative,
    );
    for (let first = 0; first < existing.length; first += INSPECTIONS_AT_A_TIME) {
      const some = existing.slice(first, first + INSPECTIONS_AT_A_TIME);
      await Promise.all(some.map((record) => this.#recover(record)));
    }
    await store.flush();
  }

  /** Why the provider is not ready; '' if it is. */
  get whyNotReady(): string {
    if (this.#isClosing) return 'the provider is closing';
    return this.#store.isFailing ? 'the provider cannot store its state' : '';
  }

  get isStateFailing(): boolean {
    return this.#store.isFailing;
  }

  get machines(): readonly ProviderMachine[] {
    return [...this.#fleet.records].map(viewOf);
  }

  countsByState(): Record<string, number> {
    const counts = Object.fromEntries(Object.values(STATE_NAMES).map((name) => [name, 0]));
    for (const { facts } of this.#fleet.records) counts[STATE_NAMES[facts.state]]!++;
    return counts;
  }

  /** All that is worth storing: a machine that has had no operation is what its offer says. */
  *entries(): Iterable<StateEntry> {
    for (const { id, facts } of this.#fleet.records) {
      if (!isPristine(facts)) yield { machine: id, facts };
    }
    for (const id of this.#fence.machineIds) yield { machine: id, marks: this.#fence.marksOf(id) };
  }

  get(id: string): Buffer {
    if (id === '') throw new Refusal('invalid_argument', 'id is empty');
    return encodedMachine(this.#find(id), this.#options.name);
  }

  list(call: ListCall): OutgoingMessage {
    return this.#listings.list(call);
  }

  /** Replaces the offers. A machine that exists stays until it is deleted. Throws InvalidOfferError and changes nothing. */
  setOffers(offers: Iterable<Offer>): void {
    const byId = checkedOffers(offers);
    for (const [id, offer] of byId) {
      const known = this.#fleet.find(id);
      if (known === undefined) this.#fleet.add(id, offeredFacts(offer), true);
      else {
        known.isOffered = true;
        if (!isSameOffer(known.facts.offer, offer)) this.#change(known, { offer });
      }
    }
    for (const record of [...this.#fleet.records]) {
      if (byId.has(record.id)) continue;
      record.isOffered = false;
      const { state, offer } = record.facts;
      const isUnused =
        state === MachineState.Speculative || (isPristine(record.facts) && offer.hostRef !== undefined);
      if (isUnused) this.#remove(record);
    }
  }

  /** False while an operation runs on the machine, which then decides itself, and for an id without a machine. */
  async report(id: string, sighting: Sighting): Promise<boolean> {
    const record = this.#fleet.find(id);
    if (record === undefined || isTransitional(record.facts.state)) return false;
    const change = changeTo(sighting, record.facts);
    if (change !== null) this.#change(record, change);
    await this.#store.flush();
    return true;
  }

  /** Throws a Refusal. */
  async call(name: OperationName, call: MutatingCall): Promise<Ack> {
    const { machineId } = call;
    if (machineId === '') throw new Refusal('invalid_argument', 'machine_id is empty');
    if (this.#isClosing) throw new Refusal('unavailable', this.whyNotReady);
    const stale = this.#fence.whyStale(call.token, machineId);
    if (stale !== null) throw new Refusal('failed_precondition', stale);
    this.#store.append({ machine: machineId, marks: this.#fence.marksOf(machineId) });
    let record: MachineRecord;
    try {
      record = this.#admit(name, call);
    } catch (refusal) {
      await this.#stored(); // the mark counts, whatever became of the call
      throw refusal;
    }
    const isNew = record.facts.state === STEPS[name].from;
    return isNew ? this.#begin(record, name, call) : this.#repeat(record);
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    await this.#runner.close(graceMs);
    await this.#store.close();
  }

  /** The machine, in the state that the operation needs or in one of its own. */
  #admit(name: OperationName, call: MutatingCall): MachineRecord {
    const { cloud } = this.#options;
    if (cloud[name] === undefined)
      throw new Refusal('unimplemented', `this provider does not support ${name}`);
    const record = this.#find(call.machineId);
    const { gracePeriodSeconds = 0 } = call;
    if (name === 'configure' && !call.cluster) throw new Refusal('invalid_argument', 'cluster_id is empty');
    if (!(gracePeriodSeconds >= 0))
      throw new Refusal('invalid_argument', `grace_period_seconds is ${gracePeriodSeconds}`);
    const { state, operation } = record.facts;
    const { from, through, to } = STEPS[name];
    const isRepeat = operation?.name === name && (state === through || state === to);
    if (!isRepeat && state !== from) {
      const text = `${name} needs a ${STATE_NAMES[from]} machine; ${shown(record.id)} is ${STATE_NAMES[state]}`;
      throw new Refusal('aborted', text);
    }
    return record;
  }

  async #repeat(record: MachineRecord): Promise<Ack> {
    const operation = record.facts.operation!;
    const machine = encodedMachine(record, this.#options.name);
    await this.#stored();
    if (record.facts.operation === null)
      throw new Refusal('unavailable', 'the operation could not be stored');
    return this.#ack(record, operation, machine);
  }

  async #begin(record: MachineRecord, name: OperationName, call: MutatingCall): Promise<Ack> {
    const { cluster = '', shardMetadata = NO_METADATA, gracePeriodSeconds = 0 } = call;
    const before = record.facts;
    const operation: Operation = { name, id: randomUUID(), attempt: 1, gracePeriodSeconds };
    const binding = name === 'configure' ? { cluster, shardMetadata: { ...shardMetadata } } : {};
    this.#change(record, { state: STEPS[name].through, operation, lastError: '', ...binding });
    const machine = encodedMachine(record, this.#options.name);
    try {
      await this.#stored();
    } catch (error) {
      this.#change(record, { ...before, operation: null }); // nothing was begun
      throw error;
    }
    let refused: Refusal | null = null;
    const ended = this.#run(record, operation, call.bootstrapBlob ?? new Uint8Array(), before, (outcome) => {
      if (outcome.kind === 'refused') refused = new Refusal(outcome.error.code, outcome.error.message);
    });
    await Promise.race([ended, this.#ackTime()]);
    if (refused !== null) throw refused;
    return this.#ack(record, operation, machine);
  }

  /** The machine as it is now; as it was when the call came if another operation has begun since. */
  #ack(record: MachineRecord, operation: Operation, machine: Buffer): Ack {
    const isLast = record.facts.operation?.id === operation.id && !record.isRemoved;
    return {
      operationId: operation.id,
      machine: isLast ? encodedMachine(record, this.#options.name) : machine,
    };
  }

  /** At least one turn, so that a function can refuse before the ack. */
  #ackTime(): Promise<void> {
    const { ackWithinMs } = this.#options;
    if (ackWithinMs > 0) return delay(ackWithinMs, undefined, { ref: false });
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** `before` is what the machine goes back to if the function refuses. */
  #run(
    record: MachineRecord,
    operation: Operation,
    bootstrapBlob: Uint8Array,
    before: MachineFacts,
    heard: (outcome: Outcome) => void = () => {},
  ): Promise<void> {
    const startedMs = performance.now();
    return this.#runner.run({ machine: viewOf(record), operation, bootstrapBlob }, async (outcome) => {
      const { operation: current, state } = record.facts;
      const isCurrent = current?.id === operation.id && !record.isRemoved;
      const isInProgress = state === STEPS[operation.name].through;
      const isLate = state === MachineState.Failed && (outcome.kind === 'done' || outcome.kind === 'refused');
      if (!isCurrent || !(isInProgress || isLate)) return; // a sighting has decided since the time was up
      this.#options.onOutcome(operation.name, outcome.kind, performance.now() - startedMs);
      await this.#end(record, endOf(operation, outcome, before));
      heard(outcome);
    });
  }

  /** Stores the end of an operation, and then shows it. */
  async #end(record: MachineRecord, change: Partial<MachineFacts>): Promise<void> {
    let next: MachineFacts;
    for (;;) {
      next = { ...record.facts, ...change };
      const isLeaving = next.state === MachineState.Speculative && !record.isOffered;
      this.#store.append({ machine: record.id, facts: isLeaving ? null : next });
      try {
        await this.#store.flush();
        break;
      } catch {
        if (this.#isClosing) return;
        await delay(STORE_AGAIN_MS, undefined, { ref: false });
      }
    }
    this.#apply(record, change);
    // The offer changed meanwhile, and its line says that the operation is in progress.
    if (record.facts.offer !== next.offer) this.#change(record, {});
  }

  async #recover(record: MachineRecord): Promise<void> {
    const { cloud } = this.#options;
    let sighting: Sighting | null = null;
    try {
      sighting = (await cloud.inspect?.(viewOf(record))) ?? null;
    } catch {} // the cloud cannot tell
    const recovery = recoveryOf(record.facts, sighting);
    if (recovery.kind === 'change') this.#change(record, recovery.change);
    if (recovery.kind !== 'run-again') return;
    const last = record.facts.operation!;
    const operation = { ...last, attempt: last.attempt + 1 };
    this.#change(record, { operation });
    const before = { ...record.facts, state: STEPS[last.name].from, operation: null };
    this.#run(record, operation, new Uint8Array(), before).catch(() => {}); // `#end` does not reject
  }

  #change(record: MachineRecord, change: Partial<MachineFacts>): void {
    this.#apply(record, change);
    if (!record.isRemoved) this.#store.append({ machine: record.id, facts: record.facts });
  }

  #apply(record: MachineRecord, change: Partial<MachineFacts>): void {
    this.#fleet.change(record, change);
    if (record.facts.state === MachineState.Speculative && !record.isOffered) this.#remove(record);
  }

  #remove(record: MachineRecord): void {
    this.#fleet.remove(record);
    this.#store.append({ machine: record.id, facts: null });
  }

  async #stored(): Promise<void> {
    try {
      await this.#store.flush();
    } catch (error) {
      throw new Refusal('unavailable', (error as Error).message);
    }
  }

  #find(id: string): MachineRecord {
    const record = this.#fleet.find(id);
    if (record === undefined) throw new Refusal('not_found', `there is no machine ${shown(id)}`);
    return record;
  }
}

/** How the machine is when its operation has ended. */
function endOf(operation: Operation, outcome: Outcome, before: MachineFacts): Partial<MachineFacts> {
  if (outcome.kind === 'refused') {
    const { state, hostRef, cluster, shardMetadata, lastError } = before;
    return { state, hostRef, cluster, shardMetadata, lastError, operation: null };
  }
  if (outcome.kind !== 'done') return failed(`${operation.name}: ${outcome.reason}`);
  const { to } = STEPS[operation.name];
  switch (operation.name) {
    case 'create': {
      const host = hosted(outcome.hostRef);
      return host === null
        ? failed('create: it returned no usable host')
        : { ...host, state: to, lastError: '' };
    }
    case 'configure':
      return { state: to, lastError: '' };
    case 'drain':
      return { state: to, ...UNBOUND, lastError: '' };
    case 'delete':
      return { state: to, hostRef: '', lastError: '' };
  }
}

function isPristine({ operation, state, offer, hostRef, lastError }: MachineFacts): boolean {
  if (operation !== null || lastError !== '' || hostRef !== (offer.hostRef ?? '')) return false;
  return state === (hostRef === '' ? MachineState.Speculative : MachineState.Idle);
}

function isSameOffer(left: Offer, right: Offer): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}

/** Callers choose ids: a text quotes and shortens them. */
function shown(id: string): string {
  return JSON.stringify(id.length <= ID_CHARS_SHOWN ? id : `${id.slice(0, ID_CHARS_SHOWN)}…`);
}
