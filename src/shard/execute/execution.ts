/**
 * Connects what carries out actions: the queue, the steps of an action, the slots for calls, and the two events after which nothing
 * that was decided may be sent: a stall (X16: the process stood still) and a fence (X8: another process owns the shard id).
 */
import type { Engine } from '../../decision/engine.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import type { NeedTable } from '../../needs/need-table.ts';
import { requirementsOf } from '../../needs/requirements-of.ts';
import type { ControlBook } from '../controls/control-book.ts';
import type { Pauses } from '../controls/pauses.ts';
import { restraintOf } from '../cycle/rails.ts';
import type { DisruptionBudgets } from '../disruption/budgets.ts';
import type { Backoffs } from '../machines/backoff.ts';
import type { ChangeEffects } from '../machines/change-effects.ts';
import type { MachineChanges } from '../machines/changes.ts';
import type { FollowUpReads } from '../machines/reads.ts';
import type { StuckMachines } from '../machines/stuck.ts';
import type { SessionBits } from '../operators/session-bits.ts';
import type { ShardOptions } from '../options.ts';
import type { ShardCounters } from '../ports/observer.ts';
import type { OperatorsPort } from '../ports/operators.ts';
import type { Rails } from '../settings.ts';
import { Executor } from './executor.ts';
import type { FailedAttempts } from './failed-attempts.ts';
import { FairSlots } from './fair-slots.ts';
import { Fence } from './fence.ts';
import { LoneCall } from './lone-call.ts';
import { ActionRunner } from './runner.ts';
import { Stalls } from './stalls.ts';

export interface ExecutionParts
  extends Pick<
    ShardOptions,
    'settings' | 'epoch' | 'providers' | 'observer' | 'clock' | 'scheduler' | 'pulse' | 'replica'
  > {
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  readonly engine: Engine;
  readonly changes: MachineChanges;
  readonly effects: ChangeEffects;
  readonly counters: ShardCounters;
  readonly backoffs: Backoffs;
  readonly failures: FailedAttempts;
  readonly stuck: StuckMachines;
  readonly reads: FollowUpReads;
  readonly pauses: Pauses;
  readonly book: ControlBook;
  readonly budgets: DisruptionBudgets;
  readonly sessions: SessionBits;
  readonly operators: OperatorsPort;
  readonly rails: () => Rails;
  /** F2: whether the replica may remove machines now. */
  readonly isConfirmed: () => boolean;
  readonly hasSession: (cluster: number) => boolean;
  readonly isStopping: () => boolean;
  /** Asks for a cycle. */
  readonly wake: () => void;
}

export interface Execution {
  readonly executor: Executor;
  readonly stalls: Stalls;
  readonly fence: Fence;
  /** X7: providers that never delete. */
  readonly neverDelete: ReadonlySet<number>;
}

export function createExecution(parts: ExecutionParts): Execution {
  const { settings, providers, clock, pulse, needs, engine, changes, effects, counters, wake } = parts;
  const { stuck, pauses, book, budgets, rails } = parts;
  const { bindingTimes, accepted, events } = effects;
  const slots = new FairSlots(settings.executeConcurrency, providers.names.length);
  const lone = new LoneCall();
  const runner = new ActionRunner({
    ...parts,
    ...settings,
    slots,
    lone,
    stretch: () => stalls.stretch(),
    restraint: () => restraintOf(rails()),
    get executeTimeoutMs() {
      return rails().executeTimeoutMs;
    },
    get bootstrapTimeoutMs() {
      return rails().bootstrapTimeoutMs;
    },
    pausedBy: (step) => pauses.stopping(step),
    onPaused: (control) => {
      counters.actionsPaused++;
      book.noteStopped(control);
    },
    whenUsageWritten: (slot) => budgets.whenWritten(slot),
    isLiveNeed: (cluster, fingerprint, group) => engine.isLiveNeed(cluster, fingerprint, group),
    requirementsOf: (cluster, fingerprint) => requirementsOf(needs, cluster, fingerprint),
    onFenced: (machineId, detail) => fence.raise(machineId, detail, runner.acceptedCount > 0),
    onDrain: (slot, graceSeconds) => stuck.drainSent(slot, graceSeconds),
  });
  const executor = new Executor({
    ...parts,
    runner,
    slots,
    lone,
    stretch: () => pulse?.stretch ?? 0,
    onPreempt: (slot, cluster, fingerprint, group) => {
      engine.preemptionBegan(slot, cluster, fingerprint, group);
      budgets.preempted(slot);
    },
    onBind: (slot, cluster, fingerprint, group) =>
      bindingTimes.begun(slot, cluster, fingerprint, group, clock.nowMs()),
    onSettled: (action, settled) => events?.settled(action, settled),
    onAbandoned: (slot) => bindingTimes.abandoned(slot),
    onAccepted: (slot, kind) => accepted.accepted(slot, kind),
    onRoom: wake,
    providerCount: providers.names.length,
  });
  changes.withdrawAction = (slot) => executor.withdraw(slot);
  const stalls = new Stalls({ ...parts, executor, lone });
  const fence = new Fence({ ...parts, shardId: settings.shardId, executor });
  return { executor, stalls, fence, neverDelete: runner.neverDelete };
}
