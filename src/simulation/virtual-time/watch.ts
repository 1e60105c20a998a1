/**
 * Checks every shard process of a history. The watch keeps its own record from the calls of the process, its columns after each
 * cycle and the answers that it received; it does not rely on the shard's own reports. The watch is called from inside the
 * shard, so it stores a violation instead of throwing it there.
 */

import { Intent, isBinding } from '../../inventory/intent.ts';
import { canMove, isTransitional, MachineState, STATE_NAMES } from '../../machine/state.ts';
import type { MachineChanged } from '../../shard/machines/changes.ts';
import type { NotedEvent } from '../../shard/ports/events.ts';
import type {
  AcceptedActionEnded,
  ActionRecord,
  CycleReport,
  ListingReport,
  ShardEvent,
} from '../../shard/ports/observer.ts';
import type { ProviderAnswer, ProviderCall } from '../../shard/ports/providers.ts';
import { checkAssignment, checkFoundDraining, checkOutcome } from './action-checks.ts';
import { BudgetChecks } from './budget-checks.ts';
import { BurnChecks } from './burn-checks.ts';
import { checkCycle, checkRoom } from './cycle-checks.ts';
import { INJECTED } from './faults.ts';
import { checkInventory, Violation } from './invariants.ts';
import { StallChecks } from './stall-checks.ts';
import { checkInForce, checkPausedAction, checkPausedCall } from './steering.ts';
import { ToldBindings } from './told-bindings.ts';
import type { Process, SimulatedWorld, Watcher } from './world.ts';

/** The watch's record of one process. */
export interface Memory {
  /** Machines whose action is enqueued and has not settled. */
  readonly inFlight: Set<string>;
  /** Machines with an unanswered call. */
  readonly inCall: Set<string>;
  /** By machine: when its last action failed, by the process's clock. */
  readonly failedAtMs: Map<string, number>;
  /** By cluster, fingerprint and group: when a bootstrap for the need failed because it got no blob. */
  readonly needFailedAtMs: Map<string, number>;
  /** By preempted machine: the need that it drains for. */
  readonly drainingFor: Map<string, string>;
  /** T9, by cluster: the tokens that its bucket had after the last cycle that decided to preempt its machines, by the process's clock. */
  readonly preemptionTokens: Map<string, { readonly tokens: number; readonly atMs: number }>;
  /** By machine: when the process saw it become Idle, by its clock. */
  readonly idleSinceMs: Map<string, number>;
  /** By machine whose call has an open result: the time by which the shard must read it. */
  readonly mustReadByMs: Map<string, OpenResult>;
  /** By machine: the step of its last change that did not come from a listing. */
  readonly changedAt: Map<string, number>;
  /** By provider index: the step at which the process requested the last listing. */
  readonly listedAt: Map<number, number>;
  /** By provider: full listings in a row that are empty or lack more than half of the known machines, and since when. */
  readonly vanishing: Map<string, { readonly inARow: number; readonly sinceMs: number }>;
  /** Accepted actions, by kind, that have not ended. */
  readonly accepted: Map<string, number>;
  readonly burns: BurnChecks;
  readonly told: ToldBindings;
  readonly stalls: StallChecks;
  isFenced: boolean;
}

const S = MachineState;
/** X12: a successful operation ends the machine's back-off, whichever observation shows it. */
const SUCCESSES = [
  [S.Creating, S.Idle],
  [S.Configuring, S.Configured],
  [S.Draining, S.Idle],
  [S.Deleting, S.Speculative],
] as const;
const LIE_MS = 60_000;
/** X13: the first follow-up read comes after 250 ms, but not before the end of a read in progress, at its deadline at the latest. */
const READ_WITHIN_MS = 35_000;
/** With a higher limit, the few machines of a history are always read one by one. */
const LISTED_MIN_MAX = 4;

interface OpenResult {
  byMs: number;
  readonly stopCount: number;
  /** The provider acknowledged the call: a listing of changes may show the end in place of a read. */
  readonly isAwaited: boolean;
}

export class Watch implements Watcher {
  world!: SimulatedWorld;
  violation: Error | null = null;
  cycles = 0;
  actions = 0;
  processes = 0;
  fencedProcesses = 0;
  readonly outcomes: Record<string, number> = {};
  #steps = 0;
  /** null: no trace. */
  readonly #write: ((line: string) => void) | null;
  readonly #memories = new Map<Process, Memory>();
  readonly #budgets = new BudgetChecks();

  constructor(trace: ((line: string) => void) | null) {
    this.#write = trace;
  }

  started(process: Process): void {
    this.processes++;
    this.#memories.set(process, {
      inFlight: new Set(),
      inCall: new Set(),
      failedAtMs: new Map(),
      needFailedAtMs: new Map(),
      drainingFor: new Map(),
      preemptionTokens: new Map(),
      idleSinceMs: new Map(),
      mustReadByMs: new Map(),
      changedAt: new Map(),
      listedAt: new Map(),
      vanishing: new Map(),
      accepted: new Map(),
      burns: new BurnChecks(),
      told: new ToldBindings(),
      stalls: new StallChecks(),
      isFenced: false,
    });
    process.shard.changes.onChange((change) => {
      const { slot, from, to } = change;
      const memory = this.#memory(process);
      const id = process.shard.inventory.idOf(slot);
      if (to === S.Idle && from !== to) memory.idleSinceMs.set(id, process.life.nowMs());
      if (to === 0 || SUCCESSES.some(([before, after]) => from === before && to === after)) {
        memory.failedAtMs.delete(id);
      }
      // X5: a success ends the back-off of its need, also if the provider reports it long after the ack.
      if (from === S.Configuring && to === S.Configured)
        memory.needFailedAtMs.delete(this.#needOf(process, slot));
      memory.burns.changed(process, change);
      this.note(() => this.#checkMove(process, change));
      this.note(() => this.#checkOrder(process, change));
    });
  }

  cycleEnded(process: Process, report: CycleReport): void {
    this.cycles++;
    this.trace(
      process,
      () => `cycle ${report.cycle}${report.isOrdinary ? '' : ' (woken)'} ${JSON.stringify(report.enqueued)}`,
    );
    this.note(() => {
      if (process.life.isOver()) throw new Violation('a shard process that was killed runs a cycle');
      checkCycle(process, this.#memory(process), report, this.#hasListedAll(process), (slot) => {
        checkPausedAction(this.world, process, slot);
        this.#budgets.checkAction(process, slot);
      });
      this.#checkReads(process);
      this.#memory(process).told.check(process.shard);
      this.#checkUnmetCount(process);
      checkInForce(this.world, process);
      if (report.isOrdinary) checkInventory(process.shard.inventory);
    });
  }

  actionEnded(process: Process, record: ActionRecord): void {
    const { kind, machineId, clusterId, fingerprint, group, outcome, detail } = record;
    const memory = this.#memory(process);
    this.actions++;
    const name = `${kind}.${outcome}`;
    this.outcomes[name] = (this.outcomes[name] ?? 0) + 1;
    this.trace(process, () => `${kind} ${machineId} for ${clusterId}: ${outcome} ${detail}`);
    memory.inFlight.delete(machineId);
    if (outcome === 'accepted') memory.accepted.set(kind, (memory.accepted.get(kind) ?? 0) + 1);
    this.note(() => checkOutcome(process, record));
    // The shard fills the queue in the same step, after it has reported the end.
    queueMicrotask(() => {
      if (!process.life.isOver() && !process.life.isStopped()) this.note(() => checkRoom(process.shard));
    });
    if (outcome === 'timeout' || outcome === 'accepted')
      memory.mustReadByMs.set(machineId, {
        byMs: this.world.time.nowMs() + READ_WITHIN_MS,
        stopCount: process.life.stopCount(),
        isAwaited: outcome === 'accepted',
      });
    const nowMs = process.life.nowMs();
    const need = `${clusterId}|${fingerprint}|${group}`;
    if (outcome === 'blob_error' || outcome === 'blob_timeout') memory.needFailedAtMs.set(need, nowMs);
    if (outcome === 'success') memory.needFailedAtMs.delete(need);
    if (outcome === 'success' || outcome === 'accepted') memory.failedAtMs.delete(machineId);
    if (outcome === 'provider_error' && this.#stateOf(process, machineId) === 'Failed') {
      memory.failedAtMs.set(machineId, nowMs);
    }
  }

  read(process: Process, machineId: string): void {
    this.#memory(process).mustReadByMs.delete(machineId);
  }

  listed(process: Process, provider: number): void {
    const { listedAt, mustReadByMs } = this.#memory(process);
    listedAt.set(provider, ++this.#steps);
    if (process.shard.settings.readsListedMin > LISTED_MIN_MAX) return;
    // X13: a listing takes the place of a read, but only one that can still show the end.
    const { inventory } = process.shard;
    const world = this.world.links[provider]?.provider.world; // a hostile provider has none
    for (const [id, result] of mustReadByMs) {
      if (!result.isAwaited || inventory.columns.provider[inventory.find(id)] !== provider) continue;
      const row = world?.fleet.rowOf(id) ?? -1;
      const isUnderWay = world === undefined || (row >= 0 && isTransitional(world.stateOf(row)));
      if (isUnderWay) result.byMs = this.world.time.nowMs() + READ_WITHIN_MS;
    }
  }

  /** S6: the shard believes that most of a fleet is gone only if three listings or more have agreed for the hold. */
  listingEnded(process: Process, report: ListingReport): void {
    const { vanishing } = this.#memory(process);
    const { provider, isFull, failure, listedCount, knownCount, missingCount, removedCount } = report;
    if (failure === '' && !vanishing.has(provider)) this.note(() => checkFoundDraining(process, provider));
    if (!isFull || failure !== '') return;
    const nowMs = this.world.time.nowMs();
    const { inARow, sinceMs } = vanishing.get(provider) ?? { inARow: 0, sinceMs: nowMs };
    const lacksMost = missingCount > 0 && (listedCount === 0 || 2 * missingCount > knownCount);
    const isFirst = !lacksMost || inARow === 0;
    const now = { inARow: lacksMost ? inARow + 1 : 0, sinceMs: isFirst ? nowMs : sinceMs };
    vanishing.set(provider, now);
    const forMs = nowMs - now.sinceMs;
    const isAgreed = now.inARow >= 3 && forMs >= process.shard.settings.vanishingHoldMs;
    if (!lacksMost || removedCount === 0 || isAgreed) return;
    this.note(() => {
      throw new Violation(
        `S6: the shard removes ${removedCount} of ${knownCount} machines after ${now.inARow} such listings in ${forMs} ms`,
      );
    });
  }

  happened(process: Process, event: ShardEvent): void {
    this.trace(process, () => JSON.stringify(event));
    if (event.kind === 'shared_fault') {
      this.#memory(process).burns.absolveAll();
      this.#memory(process).needFailedAtMs.clear();
    }
    this.note(() => {
      if (event.kind === 'check_failed')
        throw new Violation(`a from-scratch check could not run: ${event.detail}`);
      if (event.kind === 'decision_threw' && !event.detail.includes(INJECTED))
        throw new Violation(`T2: a decision threw: ${event.detail}`);
      if (event.kind === 'check_differs')
        throw new Violation(`a decision from scratch differs: ${event.examples.join('; ')}`);
    });
  }

  /** A8: one number of unmet needs, however it is counted. */
  #checkUnmetCount({ shard }: Process): void {
    let rows = 0;
    shard.engine.unmetRows(() => rows++);
    const { unmetCount } = shard.engine;
    if (rows !== unmetCount)
      throw new Violation(`A8: ${rows} needs are unmet, but the count is ${unmetCount}`);
  }

  noted(process: Process, event: NotedEvent): void {
    this.trace(process, () => JSON.stringify(event));
    this.note(() => this.#memory(process).told.noted(event));
  }

  machineBound(): void {}

  acceptedActionEnded(process: Process, { kind, outcome }: AcceptedActionEnded): void {
    const { accepted } = this.#memory(process);
    const left = (accepted.get(kind) ?? 0) - 1;
    accepted.set(kind, left);
    this.trace(process, () => `${kind}: accepted, and then ${outcome}`);
    this.note(() => {
      if (left < 0) throw new Violation(`X9: more ${kind} actions ended than were accepted`);
    });
  }

  called(process: Process, call: ProviderCall): void {
    const { kind, machineId } = call;
    const memory = this.#memory(process);
    this.trace(process, () => `${kind} ${machineId} …`);
    this.note(() => {
      // X1: one action per machine at a time. X8: a fenced process sends no calls.
      if (memory.inCall.has(machineId)) throw new Violation(`X1: ${machineId} has two calls in flight`);
      if (memory.isFenced) throw new Violation(`X8: a fenced process sends ${kind} for ${machineId}`);
      // C2: no action before every provider has been listed once.
      if (!this.#hasListedAll(process))
        throw new Violation(
          `C2: the shard sends ${kind} for ${machineId} before it has listed every provider`,
        );
      this.#checkCall(process, call);
      checkPausedCall(this.world, process, call);
      this.#budgets.called(this.world, process, call);
      checkAssignment(process, call);
    });
    memory.inCall.add(machineId);
  }

  sent(process: Process, call: ProviderCall): void {
    this.trace(process, () => `${call.kind} ${call.machineId} is sent`);
    this.note(() => this.#memory(process).stalls.sent(process, call));
  }

  answered(process: Process, call: ProviderCall, answer: ProviderAnswer): void {
    const memory = this.#memory(process);
    memory.inCall.delete(call.machineId);
    memory.stalls.answered(call, answer);
    if (answer.kind !== 'fenced') return;
    if (!memory.isFenced) this.fencedProcesses++;
    memory.isFenced = true;
  }

  trace(process: Process | null, line: () => string): void {
    if (this.#write === null) return;
    const at = new Date(this.world.time.nowMs()).toISOString().slice(11, 23);
    this.#write(`${at} ${process === null ? '' : `#${process.epoch} `}${line()}`);
  }

  #hasListedAll(process: Process): boolean {
    return this.world.links.every((_, provider) => process.listed.has(provider));
  }

  #memory(process: Process): Memory {
    return this.#memories.get(process)!;
  }

  /**
   * X1: every call belongs to an action on its machine. M3: a machine that is being bound has a cluster and a need. X10: Configure
   * carries all five values of the assignment.
   */
  #checkCall(process: Process, { kind, machineId, clusterId, shardMetadata }: ProviderCall): void {
    const { inventory } = process.shard;
    const { columns, tables } = inventory;
    const slot = inventory.find(machineId);
    if (slot === 0 || columns.intent[slot] === Intent.None)
      throw new Violation(`X1: the shard sends ${kind} for ${machineId}, which has no action`);
    const isForCluster = kind === 'create' || kind === 'configure';
    if (isForCluster !== isBinding(columns.intent[slot]!))
      throw new Violation(`X1: the shard sends ${kind} for ${machineId}, which has another action`);
    if (!isForCluster) return;
    if (columns.cluster[slot] === 0 || columns.need[slot] === 0)
      throw new Violation(`M3: the shard sends ${kind} for ${machineId}, which has no cluster or no need`);
    if (kind !== 'configure') return;
    if (tables.clusters.get(columns.cluster[slot]!) !== clusterId)
      throw new Violation(
        `X5: the shard configures ${machineId} for ${clusterId}, but the inventory has another cluster`,
      );
    if (Object.keys(shardMetadata ?? {}).length !== 5)
      throw new Violation(`X10: the shard configures ${machineId} without its complete assignment`);
  }

  /** S2: a single impossible row never changes a machine. */
  #checkMove(process: Process, { slot, source, from, to }: Readonly<MachineChanged>): void {
    if (from === 0 || to === 0 || from === to || source === 'local') return;
    if (canMove(from as MachineState, to as MachineState)) return;
    const { inventory } = process.shard;
    const id = inventory.idOf(slot);
    const link = this.world.allLinks[inventory.columns.provider[slot]!]!;
    const lie = link.lies?.get(id);
    const nowMs = this.world.time.nowMs();
    if (lie?.state !== to || nowMs - lie.atMs > LIE_MS) return;
    const isChanged = link.provider.ledger
      .entries(id)
      .some(({ event, atMs }) => event !== 'get' && atMs > lie.atMs - 2 * LIE_MS);
    if (isChanged) return;
    const move = `${STATE_NAMES[from as MachineState]} to ${STATE_NAMES[to as MachineState]}`;
    throw new Violation(`S2: one wrong row moved ${id} from ${move}`);
  }

  /** S4: a listing that is older than the machine's last change does not change the machine. */
  #checkOrder(process: Process, { slot, source, from, to }: Readonly<MachineChanged>): void {
    const { inventory } = process.shard;
    const { changedAt, listedAt } = this.#memory(process);
    const id = inventory.idOf(slot);
    if (to === 0) changedAt.delete(id);
    else if (source !== 'listing') changedAt.set(id, ++this.#steps);
    else if (from !== 0) {
      const askedAt = listedAt.get(inventory.columns.provider[slot]!) ?? 0;
      if ((changedAt.get(id) ?? 0) > askedAt)
        throw new Violation(`S4: a listing changed ${id}, but is older than the machine's last change`);
    }
  }

  /**
   * X8: the shard follows a call without an answer with reads. X13: so it does with an asynchronous operation. Excused are
   * fenced processes, and those that were stopped or whose clock jumped.
   */
  #checkReads(process: Process): void {
    const { mustReadByMs, isFenced } = this.#memory(process);
    const { inventory } = process.shard;
    const nowMs = this.world.time.nowMs();
    for (const [id, { byMs, stopCount }] of mustReadByMs) {
      const slot = inventory.find(id);
      const isOpen =
        slot !== 0 && isTransitional(inventory.stateOf(slot)) && inventory.columns.intent[slot] === 0;
      const isExcused = isFenced || process.life.skewMs() !== 0 || process.life.stopCount() !== stopCount;
      if (!isOpen || isExcused) mustReadByMs.delete(id);
      else if (byMs < nowMs) throw new Violation(`X8, X13: the shard did not read ${id} after its call`);
    }
  }

  #needOf({ shard }: Process, slot: number): string {
    const { columns, tables } = shard.inventory;
    const { clusters, fingerprints, groups } = tables;
    return `${clusters.get(columns.cluster[slot]!)}|${fingerprints.get(columns.need[slot]!)}|${groups.get(columns.group[slot]!)}`;
  }

  #stateOf(process: Process, machineId: string): string {
    const { inventory } = process.shard;
    const slot = inventory.find(machineId);
    return slot === 0 ? '' : STATE_NAMES[inventory.stateOf(slot)];
  }

  /** Runs a check; keeps the first violation. */
  protected note(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.violation ??= error as Error;
    }
  }
}
