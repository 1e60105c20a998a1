/**
 * The machines and their changes: operations run and end, capacity is lost, prices change. Calls (provider.ts),
 * random events (weather.ts) and tests cause them. This module does not know callers, fences or the wire.
 */
import type { Random } from '../../base/random.ts';
import { isTransitional, MachineState } from '../../machine/state.ts';
import type { Machine } from '../../wire/protocol.generated.ts';
import { Agenda } from './agenda.ts';
import { Ending, type Fault, type Faults } from './faults.ts';
import { Fleet, type StoredBinding } from './fleet.ts';
import { KindTable, type StringMap } from './kinds.ts';
import { drawLatencyMs } from './latency.ts';
import type { Ledger, LedgerEvent, LedgerResult } from './ledger.ts';
import { isMaterial, OPERATIONS, type OperationName, operationThrough } from './lifecycle.ts';
import { checkSeed, InvalidSeedError, machineMessage, needsHost, type SeedMachine } from './machines.ts';
import { Removals } from './removals.ts';
import type { ProviderSettings } from './settings.ts';
import type { StoredState } from './state-records.ts';
import type { Timers } from './timers.ts';

const S = MachineState;

export class World {
  readonly fleet = new Fleet();
  readonly kinds = new KindTable();
  readonly removals = new Removals();
  readonly settings: ProviderSettings;
  readonly timers: Timers;
  readonly #ledger: Ledger;
  readonly #random: Random;
  readonly #faults: Faults;
  readonly #agenda: Agenda;
  /** By offering: the number of machines that exist. */
  readonly #materialCounts: number[] = [];
  #operationCount = 0;

  constructor(settings: ProviderSettings, timers: Timers, ledger: Ledger, random: Random, faults: Faults) {
    this.settings = settings;
    this.timers = timers;
    this.#ledger = ledger;
    this.#random = random;
    this.#faults = faults;
    this.#agenda = new Agenda(timers, (row, step) => this.#fallDue(row, step));
  }

  /** Adds a machine to the fleet. One in a transitional state finishes as if its operation just began. */
  add(seed: SeedMachine): void {
    checkSeed(seed);
    if (this.fleet.rowOf(seed.id) >= 0) throw new InvalidSeedError(seed.id, 'another machine has this id');
    const state = seed.state ?? S.Speculative;
    const row = this.fleet.insert(seed.id, this.kinds.intern(seed.kind), state);
    this.fleet.pricePerHourUsd[row] = seed.pricePerHourUsd;
    this.fleet.interruptionProbability[row] = seed.interruptionProbability;
    const cluster = seed.cluster ?? '';
    this.fleet.hosted[row] = needsHost(state) || cluster !== '' ? 1 : 0;
    if (cluster !== '') {
      this.fleet.bindings[row] = { cluster, shardMetadata: frozen(seed.shardMetadata) };
    }
    if (seed.lastError !== undefined) this.fleet.lastErrors.set(row, seed.lastError);
    if (isMaterial(state)) this.#countMaterial(row, 1);
    const behind = operationBehind(state);
    if (behind === null) return;
    this.#recordOperation(row, behind);
    if (isTransitional(state)) this.#schedule(row, behind, Number.POSITIVE_INFINITY);
  }

  get operationCount(): number {
    return this.#operationCount;
  }

  /** Takes over the machines of an earlier process. Operations that would have ended meanwhile end now. */
  restore({ machines, removals, forgottenUpTo, revision, operationCount }: StoredState): void {
    const { fleet } = this;
    const nowMs = this.timers.nowMs();
    for (const machine of machines.values()) {
      const row = fleet.insert(machine.id, this.kinds.intern(machine.kind), machine.state as MachineState);
      fleet.pricePerHourUsd[row] = machine.price;
      fleet.interruptionProbability[row] = machine.interruption;
      fleet.hosted[row] = machine.hosted;
      fleet.incarnation[row] = machine.incarnation;
      fleet.operation[row] = machine.operation;
      fleet.operationNumber[row] = machine.operationNumber;
      fleet.ending[row] = machine.ending;
      fleet.changedAt[row] = machine.changedAt;
      const { cluster, shardMetadata, lastError, dueMs } = machine;
      if (cluster !== undefined) fleet.bindings[row] = { cluster, shardMetadata };
      if (lastError !== undefined) fleet.lastErrors.set(row, lastError);
      if (isMaterial(this.stateOf(row))) this.#countMaterial(row, 1);
      if (dueMs !== null) this.#wakeAfter(row, Math.max(0, dueMs - nowMs));
    }
    fleet.restoreOrder(revision);
    this.removals.restore(removals, forgottenUpTo);
    this.#operationCount = operationCount;
  }

  /** Begins an operation on a machine in the required state; `run` must follow. */
  begin(row: number, name: OperationName, binding: StoredBinding | null): void {
    this.#recordOperation(row, name);
    if (binding !== null) this.fleet.bindings[row] = binding;
    this.#move(row, OPERATIONS[name].through);
  }

  /** Schedules the end of the operation; an instant one has ended on return. */
  run(row: number, name: OperationName, limitMs: number): void {
    const { instanceType } = this.kinds.kinds[this.fleet.kind[row]!]!;
    const fault = this.#faults.draw(name, this.fleet.bindings[row] ?? null, instanceType);
    const { latency, hangProbability } = this.settings.operations[name];
    if (fault !== null) this.#scheduleFault(row, name, fault);
    else if (latency !== null) this.#schedule(row, name, limitMs);
    else if (this.#random.chance(hangProbability)) this.#endAfter(row, Number.POSITIVE_INFINITY);
    else this.#finish(row, '');
  }

  /** Ends the operation in progress now: in its target state, or in FAILED with an error. False: there is none. */
  finish(machineId: string, error = ''): boolean {
    const row = this.fleet.rowOf(machineId);
    if (row < 0 || !isTransitional(this.stateOf(row))) return false;
    this.fleet.ending[row] = Ending.Target;
    this.#finish(row, error);
    return true;
  }

  /** The machine's capacity is lost: it becomes FAILED with this error and keeps its binding. */
  fail(machineId: string, error: string): boolean {
    return this.#force(machineId, 'interrupted', (row) => {
      this.fleet.lastErrors.set(row, error);
      this.#move(row, S.Failed);
      this.#scheduleRepair(row);
    });
  }

  /** The machine becomes Speculative from any state: a spot machine is interrupted, a failed one repaired. */
  reset(machineId: string, event: 'interrupted' | 'repaired' = 'interrupted'): boolean {
    return this.#force(machineId, event, (row) => {
      this.fleet.hosted[row] = 0;
      this.fleet.bindings[row] = null;
      this.#move(row, S.Speculative);
    });
  }

  /** The machine no longer exists, and listings no longer show it. */
  remove(machineId: string): boolean {
    return this.#force(machineId, 'vanished', (row) => {
      if (isMaterial(this.stateOf(row))) this.#countMaterial(row, -1);
      this.fleet.remove(row);
      this.removals.add(machineId, this.fleet.revision);
    });
  }

  reprice(machineId: string, pricePerHourUsd: number, interruptionProbability?: number): boolean {
    const row = this.fleet.rowOf(machineId);
    if (row < 0) return false;
    this.fleet.pricePerHourUsd[row] = pricePerHourUsd;
    if (interruptionProbability !== undefined) {
      this.fleet.interruptionProbability[row] = interruptionProbability;
    }
    this.fleet.touch(row);
    this.#write('repriced', 'ok', machineId, '');
    return true;
  }

  stateOf(row: number): MachineState {
    return this.fleet.state[row] as MachineState;
  }

  offeringOf(row: number): string {
    return this.kinds.offeringNames[this.kinds.offeringOf[this.fleet.kind[row]!]!]!;
  }

  /** How many machines of this machine's offering exist. */
  materialCountLike(row: number): number {
    return this.#materialCounts[this.kinds.offeringOf[this.fleet.kind[row]!]!] ?? 0;
  }

  operationId(row: number): string {
    return `op-${this.fleet.operationNumber[row]}`;
  }

  message(row: number): Machine {
    return machineMessage(this.fleet, this.kinds, this.settings.name, row);
  }

  /** Drops unfinished operations; the machines keep their states. */
  stop(): void {
    this.#agenda.clear();
  }

  #fallDue(row: number, step: number): void {
    if (this.fleet.step[row] !== step) return; // the machine changed meanwhile
    const ending = this.fleet.ending[row] as Ending;
    if (this.stateOf(row) === S.Failed) this.reset(this.fleet.ids[row]!, 'repaired');
    else if (ending === Ending.Gone) this.remove(this.fleet.ids[row]!);
    else if (ending === Ending.Undone) this.#undo(row);
    else this.#finish(row, this.#errorOf(row, ending));
  }

  #recordOperation(row: number, name: OperationName): void {
    this.fleet.operation[row] = OPERATIONS[name].number;
    this.fleet.operationNumber[row] = ++this.#operationCount;
  }

  #schedule(row: number, name: OperationName, limitMs: number): void {
    const { latency, hangProbability } = this.settings.operations[name];
    const isEndless = latency === null || this.#random.chance(hangProbability);
    this.#endAfter(
      row,
      isEndless ? Number.POSITIVE_INFINITY : Math.min(drawLatencyMs(latency, this.#random), limitMs),
    );
  }

  /** A fault shows after the ack, even if the other operations end at once. */
  #scheduleFault(row: number, name: OperationName, { end, afterMs }: Fault): void {
    if (end === 'never') {
      this.#endAfter(row, Number.POSITIVE_INFINITY);
      return;
    }
    const { latency } = this.settings.operations[name];
    const usualMs = latency === null ? 0 : drawLatencyMs(latency, this.#random);
    this.#endAfter(row, afterMs ?? usualMs, FAULT_ENDINGS[end]);
  }

  /** The provider gives an operation up when the transition timeout comes first. */
  #endAfter(row: number, delayMs: number, ending: Ending = Ending.Target): void {
    const limitMs = this.settings.transitionTimeoutMs ?? Number.POSITIVE_INFINITY;
    this.fleet.ending[row] = delayMs > limitMs ? Ending.TimedOut : ending;
    this.#wakeAfter(row, Math.min(delayMs, limitMs));
  }

  #scheduleRepair(row: number): void {
    const { repairAfterMs } = this.settings.weather;
    if (repairAfterMs !== null) this.#wakeAfter(row, repairAfterMs);
  }

  #wakeAfter(row: number, delayMs: number): void {
    if (delayMs === Number.POSITIVE_INFINITY) return;
    this.fleet.dueMs[row] = this.timers.nowMs() + delayMs;
    this.#agenda.add(delayMs, row, this.fleet.step[row]!);
  }

  #errorOf(row: number, ending: Ending): string {
    if (ending === Ending.Target) return '';
    const name = operationThrough(this.stateOf(row))!;
    if (ending === Ending.Failed) return `${name} failed (simulated fault)`;
    const seconds = (this.settings.transitionTimeoutMs ?? 0) / 1_000;
    const what = name === 'configure' ? 'the node did not become ready' : `${name} did not finish`;
    return `${what} within ${seconds} s (transition timeout)`;
  }

  /** The machine returns to the state before the operation, as if the provider had rolled it back. */
  #undo(row: number): void {
    const name = operationThrough(this.stateOf(row))!;
    const operationId = this.operationId(row);
    this.fleet.operation[row] = 0;
    if (name === 'configure') this.fleet.bindings[row] = null;
    this.#move(row, OPERATIONS[name].from);
    this.#write('finished', 'undone', this.fleet.ids[row]!, operationId);
  }

  #finish(row: number, error: string): void {
    const name = operationThrough(this.stateOf(row))!;
    const fails = error !== '' || this.#random.chance(this.settings.operations[name].failProbability);
    if (fails) {
      this.fleet.lastErrors.set(row, error === '' ? `${name} failed (simulated)` : error);
      this.#move(row, S.Failed);
      this.#scheduleRepair(row);
    } else {
      if (name === 'create') {
        this.fleet.hosted[row] = 1;
        this.fleet.incarnation[row]!++;
      }
      if (name === 'drain') this.fleet.bindings[row] = null;
      if (name === 'delete') this.fleet.hosted[row] = 0;
      this.#move(row, OPERATIONS[name].to);
    }
    this.#write('finished', fails ? 'failed' : 'succeeded', this.fleet.ids[row]!, this.operationId(row));
  }

  /** A change without a call: no operation leads to the state that follows. */
  #force(machineId: string, event: LedgerEvent, happen: (row: number) => void): boolean {
    const row = this.fleet.rowOf(machineId);
    if (row < 0) return false;
    this.fleet.operation[row] = 0;
    happen(row);
    this.#write(event, 'ok', machineId, '');
    return true;
  }

  #move(row: number, state: MachineState): void {
    const before = this.stateOf(row);
    if (isMaterial(before) !== isMaterial(state)) this.#countMaterial(row, isMaterial(state) ? 1 : -1);
    if (state !== S.Failed) this.fleet.lastErrors.delete(row);
    this.fleet.move(row, state);
  }

  #countMaterial(row: number, by: number): void {
    const offering = this.kinds.offeringOf[this.fleet.kind[row]!]!;
    this.#materialCounts[offering] = (this.#materialCounts[offering] ?? 0) + by;
  }

  #write(event: LedgerEvent, result: LedgerResult, machineId: string, operationId: string): void {
    this.#ledger.write({ atMs: this.timers.nowMs(), event, result, machineId, operationId });
  }
}

const FAULT_ENDINGS = {
  failed: Ending.Failed,
  undone: Ending.Undone,
  gone: Ending.Gone,
} as const satisfies Record<Exclude<Fault['end'], 'never'>, Ending>;

/** Frozen maps are not copied, so that half a million machines with the same assignment share one. */
function frozen(map: StringMap = {}): StringMap {
  return Object.isFrozen(map) ? map : Object.freeze({ ...map });
}

/** The operation that leads to a state, for machines that start in it. */
function operationBehind(state: MachineState): OperationName | null {
  if (state === S.Idle) return 'create';
  if (state === S.Configured) return 'configure';
  return operationThrough(state);
}
