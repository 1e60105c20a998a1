/**
 * A capacity provider in memory that keeps the whole contract of CapacityProvider: fencing, idempotent
 * operations, stored and echoed bindings, cursors, removals. Tests call it directly, and server.ts puts it
 * behind gRPC unchanged. It shares only the machine states with the shard's side of the contract, so that
 * the two check each other.
 *
 * Every mutating call passes the same checks, in the order of the contract:
 *   id → fence → operation supported → machine exists → arguments → repeat → state → quota → start
 * A call is a repeat if the machine's last operation was this one and is in progress or has reached its
 * target. So is Configure for another cluster: the ack shows the existing binding.
 */
import { Random } from '../../base/random.ts';
import { STATE_NAMES } from '../../machine/state.ts';
import type { OutgoingMessage } from '../../wire/outgoing-message.ts';
import type { Machine } from '../../wire/protocol.generated.ts';
import { DurableState, type Keeping } from './durable-state.ts';
import { Faults } from './faults.ts';
import { Fence, type Token } from './fence.ts';
import type { StoredBinding } from './fleet.ts';
import { Ledger, type LedgerEvent, type LedgerResult } from './ledger.ts';
import { OPERATIONS, type OperationName } from './lifecycle.ts';
import { ListBytes } from './list-bytes.ts';
import { type SelectedRows, selectListing, shuffle } from './listing.ts';
import type { SeedMachine } from './machines.ts';
import {
  type Ack,
  type Answer,
  type ConfigureCall,
  type CreateCall,
  type DeleteCall,
  type DrainCall,
  type ListCall,
  ok,
  type RefusalCode,
  refused,
  tokenOf,
} from './requests.ts';
import { type ProviderSettings, type ProviderSettingsChange, providerSettings } from './settings.ts';
import type { StoredState } from './state-records.ts';
import { systemTimers, type Timers } from './timers.ts';
import { Weather } from './weather.ts';
import { World } from './world.ts';

export interface SimulatedProviderOptions {
  readonly settings?: ProviderSettingsChange;
  readonly timers?: Timers;
  /** Default: from the seed. A process that restarts with the same seed must pass another one. */
  readonly incarnation?: number;
  /** How many recent entries the ledger keeps. It keeps all counts. */
  readonly ledgerEntriesMax?: number;
}

const LEDGER_ENTRIES_MAX = 10_000;

/** A mutating call that is being checked. */
interface Attempt {
  readonly name: OperationName;
  readonly machineId: string;
  readonly token: Token;
  /** Of a Configure. */
  readonly binding: StoredBinding | null;
  readonly blobBytes: number;
  /** The mistake in the arguments, or ''. */
  readonly invalidArgument: string;
  /** Upper limit of the operation's latency. */
  readonly limitMs: number;
}

export interface MachineListing {
  readonly machines: Machine[];
  readonly revision: Uint8Array;
  readonly deletedIds: readonly string[];
}

export class SimulatedProvider {
  readonly settings: ProviderSettings;
  readonly ledger: Ledger;
  /** Changes machines without a call: lose, remove, re-price, finish now. */
  readonly world: World;
  /** The provider does not recognise cursors of another incarnation, because it has no record of its removals. */
  incarnation: number;
  readonly #random: Random;
  /** Of shuffled listings. */
  readonly #order: Random;
  readonly #weather: Weather;
  readonly #fence = new Fence();
  #durable: DurableState | null = null;
  readonly #listBytes: ListBytes;

  constructor(options: SimulatedProviderOptions = {}) {
    this.settings = providerSettings(options.settings);
    this.ledger = new Ledger(options.ledgerEntriesMax ?? LEDGER_ENTRIES_MAX);
    const random = new Random(this.settings.seed);
    const drawn = random.uint32();
    this.incarnation = options.incarnation ?? drawn;
    this.#random = random.fork();
    const worldRandom = random.fork();
    const weatherRandom = random.fork();
    const faults = new Faults(this.settings.faults, random.fork());
    this.#order = random.fork();
    const timers = options.timers ?? systemTimers;
    this.world = new World(this.settings, timers, this.ledger, worldRandom, faults);
    this.#listBytes = new ListBytes(this.world);
    this.#weather = new Weather(this.world, weatherRandom);
  }

  /** Takes over the state of an earlier process; the provider must be empty. Its cursors stay good. */
  restore(state: StoredState): void {
    this.incarnation = state.incarnation;
    this.world.restore(state);
    for (const { machineId, ...token } of state.marks.values()) {
      this.#fence.admit(token, machineId, this.world.fleet.rowOf(machineId) >= 0);
    }
  }

  /** Keeps the state in a file from now on, and stores every change before an answer shows it. */
  keepState(keeping: Keeping): void {
    this.#durable = new DurableState(this.world, this.#fence, this.incarnation, keeping);
  }

  add(seed: SeedMachine): void {
    this.world.add(seed);
  }

  create(call: CreateCall): Answer<Ack> {
    return this.#attempt(attempt('create', call, {}));
  }

  configure(call: ConfigureCall): Answer<Ack> {
    const shardMetadata = Object.freeze({ ...call.shardMetadata });
    return this.#attempt(
      attempt('configure', call, {
        binding: { cluster: call.clusterId, shardMetadata },
        blobBytes: call.bootstrapBlob?.byteLength ?? 0,
        invalidArgument: call.clusterId === '' ? 'cluster_id is empty' : '',
      }),
    );
  }

  drain(call: DrainCall): Answer<Ack> {
    const graceSeconds = call.gracePeriodSeconds ?? 0;
    return this.#attempt(
      attempt('drain', call, {
        limitMs: graceSeconds * 1_000,
        invalidArgument: graceSeconds >= 0 ? '' : `grace_period_seconds is ${graceSeconds}`,
      }),
    );
  }

  delete(call: DeleteCall): Answer<Ack> {
    return this.#attempt(attempt('delete', call, {}));
  }

  get(call: { readonly id: string }): Answer<Machine> {
    this.#durable?.save();
    if (call.id === '') return this.#refuseRead('get', '', 'invalid_argument', 'id is empty');
    const row = this.world.fleet.rowOf(call.id);
    if (row < 0)
      return this.#refuseRead('get', call.id, 'not_found', `there is no machine ${quoted(call.id)}`);
    this.#writeRead('get', 'ok', call.id);
    return ok(this.world.message(row));
  }

  /** To be called before a large provider is served: makes its first listing as fast as later ones. */
  prepareListings(): void {
    this.#listBytes.prepare();
  }

  /** A MachineList in wire format, without an object per machine. The caller must send it at once. */
  encodeList(call: ListCall): Answer<OutgoingMessage> {
    const answer = this.#select(call);
    return answer.kind === 'ok' ? ok(this.#listBytes.message(answer.value)) : answer;
  }

  /** The same as objects, for tests and small fleets. */
  list(call: ListCall = {}): Answer<MachineListing> {
    const answer = this.#select(call);
    if (answer.kind !== 'ok') return answer;
    const { rows, revision, deletedIds } = answer.value;
    const machines = Array.from(rows, (row) => this.world.message(row));
    return ok({ machines, revision, deletedIds });
  }

  /** Simulates a restart of the process with the same machines: it no longer recognises earlier cursors. */
  restart(incarnation: number): void {
    this.incarnation = incarnation;
  }

  /** Drops unfinished operations and stops random events; the machines keep their states. */
  close(): void {
    this.#weather.stop();
    this.world.stop();
    this.#durable?.close();
    this.#durable = null;
  }

  #select(call: ListCall): Answer<SelectedRows> {
    this.#durable?.save();
    const limit = call.maxResults ?? 0;
    if (limit < 0) return this.#refuseRead('list', '', 'invalid_argument', `max_results is ${limit}`);
    this.#writeRead('list', 'ok', '');
    const { fleet, removals } = this.world;
    const source = { fleet, removals, incarnation: this.incarnation, settings: this.settings };
    const selected = selectListing(source, call);
    if (this.settings.shuffledListings) shuffle(selected.rows, this.#order);
    return ok(selected);
  }

  #attempt(attempt: Attempt): Answer<Ack> {
    const answer = this.#decide(attempt);
    this.#durable?.save();
    return answer;
  }

  #decide(attempt: Attempt): Answer<Ack> {
    const { name, machineId, token } = attempt;
    const { fleet } = this.world;
    const steps = OPERATIONS[name];
    if (machineId === '') return this.#refuse(attempt, 'invalid', 'invalid_argument', 'machine_id is empty');
    const row = fleet.rowOf(machineId);
    if (!this.#fence.admit(token, machineId, row >= 0)) {
      return this.#refuse(attempt, 'fenced', 'failed_precondition', this.#staleText(attempt));
    }
    this.#durable?.noteMark(token, machineId);
    if (this.settings.unsupported.includes(name)) {
      return this.#refuse(attempt, 'unsupported', 'unimplemented', `this provider does not support ${name}`);
    }
    if (row < 0) {
      return this.#refuse(attempt, 'not_found', 'not_found', `there is no machine ${quoted(machineId)}`);
    }
    if (attempt.invalidArgument !== '') {
      return this.#refuse(attempt, 'invalid', 'invalid_argument', attempt.invalidArgument);
    }
    const state = this.world.stateOf(row);
    if (fleet.operation[row] === steps.number && (state === steps.through || state === steps.to)) {
      this.#writeAttempt(attempt, 'repeated', this.world.operationId(row));
      return this.#acknowledge(attempt, row);
    }
    if (state !== steps.from) {
      const text = `${name} needs a ${STATE_NAMES[steps.from]} machine; ${quoted(machineId)} is ${STATE_NAMES[state]}`;
      return this.#refuse(attempt, 'unfit', 'aborted', text);
    }
    const quota = this.settings.quotas[this.world.offeringOf(row)];
    if (name === 'create' && quota !== undefined && this.world.materialCountLike(row) >= quota) {
      const text = `the quota of ${quota} for ${this.world.offeringOf(row)} is used up`;
      return this.#refuse(attempt, 'over_quota', 'resource_exhausted', text);
    }
    this.world.begin(row, name, attempt.binding);
    this.#writeAttempt(attempt, 'started', this.world.operationId(row));
    this.world.run(row, name, attempt.limitMs);
    return this.#acknowledge(attempt, row);
  }

  #acknowledge(attempt: Attempt, row: number): Answer<Ack> {
    const operationId = this.world.operationId(row);
    const isSilent = this.#random.chance(this.settings.operations[attempt.name].silenceProbability);
    return isSilent ? { kind: 'silent' } : ok({ operationId, machine: this.world.message(row) });
  }

  #refuse(attempt: Attempt, result: LedgerResult, code: RefusalCode, detail: string): Answer<never> {
    this.#writeAttempt(attempt, result, '');
    return refused(code, detail);
  }

  #refuseRead(event: LedgerEvent, machineId: string, code: RefusalCode, detail: string): Answer<never> {
    this.#writeRead(event, code === 'not_found' ? 'not_found' : 'invalid', machineId);
    return refused(code, detail);
  }

  #staleText({ machineId, token }: Attempt): string {
    const mark = this.#fence.markOf(token.shardId, machineId);
    return (
      `token (epoch ${token.epoch}, sequence ${token.sequence}) of shard ${quoted(token.shardId)} is not newer than ` +
      `(${mark?.epoch}, ${mark?.sequence}) for machine ${quoted(machineId)}`
    );
  }

  #writeRead(event: LedgerEvent, result: LedgerResult, machineId: string): void {
    this.ledger.write({ atMs: this.world.timers.nowMs(), event, result, machineId, operationId: '' });
  }

  #writeAttempt(attempt: Attempt, result: LedgerResult, operationId: string): void {
    const { name, machineId, token, binding, blobBytes } = attempt;
    this.ledger.write({
      atMs: this.world.timers.nowMs(),
      event: name,
      result,
      machineId,
      operationId,
      token,
      ...(binding === null ? {} : { cluster: binding.cluster, blobBytes }),
    });
  }
}

function attempt(name: OperationName, call: CreateCall, rest: Partial<Attempt>): Attempt {
  return {
    name,
    machineId: call.machineId,
    token: tokenOf(call),
    binding: null,
    blobBytes: 0,
    invalidArgument: '',
    limitMs: Number.POSITIVE_INFINITY,
    ...rest,
  };
}

const QUOTED_CHARS_MAX = 128;

/** Clients choose the ids, so an error text must quote and shorten them. */
function quoted(text: string): string {
  return JSON.stringify(text.length <= QUOTED_CHARS_MAX ? text : `${text.slice(0, QUOTED_CHARS_MAX)}…`);
}
