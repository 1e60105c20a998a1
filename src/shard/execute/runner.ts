/**
 * The steps of each kind of action, independent of any cycle: check the live machine, move it, fetch the bootstrap data,
 * call the provider, apply the answer. Every step has its own deadline. While an action is under way its machine carries
 * an intent, and no other part changes it: rows of listings and reads are deferred until the action settles.
 */
import type { Clock } from '../../base/clock.ts';
import { ActionKind } from '../../decision/actions.ts';
import { BARRED, INTENT_STATE, isBinding } from '../../inventory/intent.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { isTransitional, MachineState, STATE_NAMES } from '../../machine/state.ts';
import type { Requirement } from '../../needs/requirements.ts';
import type { PausedStep } from '../controls/pauses.ts';
import { isRemoval, type Restraint } from '../cycle/rails.ts';
import type { Backoffs } from '../machines/backoff.ts';
import type { MachineChanges } from '../machines/changes.ts';
import { nodeNameOf } from '../machines/node-state.ts';
import type { Control } from '../ports/controls.ts';
import type { ActionOutcome, ShardCounters } from '../ports/observer.ts';
import type { BlobAnswer, OperatorsPort } from '../ports/operators.ts';
import type { CallKind, ProviderAnswer, ProviderFailure, ProviderPort } from '../ports/providers.ts';
import { type Action, type Settlement, settlement } from './action.ts';
import type { FailedAttempts } from './failed-attempts.ts';
import type { FairSlots } from './fair-slots.ts';
import type { LoneCall } from './lone-call.ts';
import { shardMetadata } from './metadata.ts';

export interface RunnerOptions {
  readonly shardId: string;
  readonly epoch: number;
  readonly changes: MachineChanges;
  readonly backoffs: Backoffs;
  readonly failures: FailedAttempts;
  readonly providers: ProviderPort;
  readonly operators: OperatorsPort;
  readonly slots: FairSlots;
  readonly lone: LoneCall;
  readonly clock: Clock;
  readonly counters: ShardCounters;
  readonly executeTimeoutMs: number;
  readonly bootstrapTimeoutMs: number;
  readonly localBootstrapBlob: Uint8Array | null;
  /** C4: whether the kill switch or a dry run forbids execution now. */
  readonly restraint: () => Restraint;
  /** X16: the present stretch; notices a stall first. */
  readonly stretch: () => number;
  /** F2: an action that removes a machine begins only while the replica is confirmed. */
  readonly isConfirmed: () => boolean;
  /** F3: a replica that is not confirmed binds machines only for clusters with a session. */
  readonly hasSession: (cluster: number) => boolean;
  /** H3: the control that forbids this step now; null if none does. */
  readonly pausedBy: (step: PausedStep) => Control | null;
  /** A control stopped an action. */
  readonly onPaused: (control: Control) => void;
  /** H9: whether the reclaim may begin, once what it uses of a disruption budget is written; null: no budget is about it. */
  readonly whenUsageWritten: (slot: number) => Promise<boolean> | null;
  /** X2: an action begins only if its need still exists. */
  readonly isLiveNeed: (cluster: number, fingerprint: number, group: number) => boolean;
  /** The requirements of the need. */
  readonly requirementsOf: (cluster: number, fingerprint: number) => readonly Requirement[];
  readonly onFenced: (machineId: string, detail: string) => void;
  /** X11: a drain may take its grace longer than other steps before the machine is stuck. */
  readonly onDrain: (slot: number, graceSeconds: number) => void;
}

const S = MachineState;

/** Answers that do not show whether this process still owns its shard id. */
const NO_ANSWERS: ReadonlySet<ProviderAnswer['kind']> = new Set([
  'timeout',
  'unavailable',
  'worker_lost',
  'malformed',
  'held',
]);
const STALE = settlement('stale_state');
const FAILED_BEFORE = 'an earlier attempt failed meanwhile, and one machine at a time is tried';
/** Of actions that were queued when the kill switch or the dry run was turned on. */
const RESTRAINED = 'the shard was paused or put into a dry run before it called the provider';
const STOOD_STILL = 'the shard stood still after it decided this';
const USAGE_UNWRITTEN = 'what it uses of a disruption budget could not be written';
const ADRIFT = 'the replica is not confirmed as the active one';
/** Outcomes when the operator gave no blob. */
const BLOB_OUTCOMES: Readonly<Record<Exclude<BlobAnswer['kind'], 'blob'>, ActionOutcome>> = {
  no_session: 'no_session',
  timeout: 'blob_timeout',
  error: 'blob_error',
};

export class ActionRunner {
  readonly #options: RunnerOptions;
  readonly #inventory: Inventory;
  /** X7: a provider that answered UNIMPLEMENTED to a Delete gets no more of them. */
  readonly neverDelete = new Set<number>();
  /** I1: calls that a provider accepted from this process. Without any, a fenced process may have lost its epoch. */
  acceptedCount = 0;
  #instructions = 0;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#inventory = options.changes.inventory;
  }

  /** X2, for an action that waited: whether its need still exists and nothing bars the need or the machine by now. */
  mayBegin(action: Action): boolean {
    if (this.#isOutdated(action) || this.#inventory.hasFlag(action.slot, BARRED)) return false;
    if (!this.#hasNeed(action)) return false;
    return !this.isPaused(action) && this.#mayTry(action);
  }

  /** H3: whether a pause forbids what the action would do next. */
  isPaused(action: Action): boolean {
    return this.#pausedBy(action) !== null;
  }

  /** The same for an action that ends because of it: the control counts what it stops. */
  isStopped(action: Action): boolean {
    const control = this.#pausedBy(action);
    if (control !== null) this.#options.onPaused(control);
    return control !== null;
  }

  run(action: Action): Promise<Settlement> {
    switch (action.kind) {
      case ActionKind.Provision:
        return this.#provision(action);
      case ActionKind.Bootstrap:
        return this.#bootstrap(action);
      case ActionKind.Delete:
        return this.#delete(action);
      case ActionKind.Reclaim:
        return this.#reclaim(action);
      default:
        return this.#drain(action);
    }
  }

  /** H9: a process that dies after this has used no more of a budget than is written. */
  async #reclaim(action: Action): Promise<Settlement> {
    const written = this.#options.whenUsageWritten(action.slot);
    if (written !== null && !(await written)) return settlement('suppressed', USAGE_UNWRITTEN);
    return this.#drain(action);
  }

  /** X4: create the machine, and go on as a bootstrap if it is Idle already. */
  async #provision(action: Action): Promise<Settlement> {
    const { slot, clusterId, assignment } = action;
    const settled = await this.#callInSlot(action, 'create', S.Idle, () => {
      this.#move(slot, S.Creating, { cluster: clusterId, assignment });
      this.#options.backoffs.createSent(slot, this.#options.clock.nowMs());
    });
    // Idle already: the provider is synchronous, and the bootstrap need not wait for a cycle.
    return settled.outcome === 'success' && this.#mayBootstrap(action) ? this.#bootstrap(action) : settled;
  }

  /** X5: move to Configuring at once, so that the next cycle counts it; then the blob; then Configure. */
  async #bootstrap(action: Action): Promise<Settlement> {
    const { slot, clusterId, assignment } = action;
    if (this.#isBoundAlready(action)) return settlement('success');
    if (this.#inventory.columns.state[slot] !== S.Idle || !this.#hasNeed(action)) return STALE;
    this.#move(slot, S.Configuring, { cluster: clusterId, assignment });
    for (;;) {
      const blob = await this.#fetchBlob(action);
      if (blob.kind !== 'blob') return this.#withoutBlob(action, blob);
      const expiresMs =
        this.#options.clock.nowMs() + (blob.ttlSeconds > 0 ? blob.ttlSeconds * 1000 : Infinity);
      if (!(await this.#takeSlot(action)))
        return this.#rollBack(action, 'rolled_back', 'the shard is stopping');
      if (this.#options.clock.nowMs() < expiresMs) return this.#configure(action, blob.userData);
      this.#giveSlot(action); // the blob expired while the action waited for a slot
    }
  }

  /** Called with a slot, which it returns. */
  async #configure(action: Action, bootstrapBlob: Uint8Array): Promise<Settlement> {
    const { clusterId, assignment } = action;
    const restraint = this.#options.restraint();
    if (this.#isOutdated(action)) {
      this.#giveSlot(action);
      return this.#rollBack(action, 'rolled_back', STOOD_STILL);
    }
    if (restraint !== 'none' || !this.#hasNeed(action)) {
      this.#giveSlot(action);
      return restraint === 'none'
        ? this.#rollBack(action, 'stale_state', 'the cluster withdrew the need')
        : this.#rollBack(action, restraint, RESTRAINED);
    }
    const control = this.#pausedBy(action);
    if (control !== null || !this.#mayTry(action)) {
      this.#giveSlot(action);
      return control === null
        ? this.#rollBack(action, 'rolled_back', FAILED_BEFORE)
        : this.#rollBack(action, 'suppressed', this.#stoppedBy(control));
    }
    if (this.#isHeld(action)) {
      this.#giveSlot(action);
      return this.#rollBack(action, 'held', ADRIFT);
    }
    const answer = await this.#call(action, 'configure', {
      clusterId,
      bootstrapBlob,
      shardMetadata: shardMetadata(assignment),
    });
    const settled = this.#take(action, answer, S.Configured);
    if (answer.kind === 'accepted' && answer.machine.cluster !== '' && answer.machine.cluster !== clusterId) {
      return settlement(
        'provider_error',
        `the provider bound the machine to ${answer.machine.cluster}`,
        'follow',
      );
    }
    return settled;
  }

  /** X6: tell the operator, move to Draining, call Drain with the grace. */
  #drain(action: Action): Promise<Settlement> {
    const { slot, clusterId, graceSeconds, kind, assignment } = action;
    return this.#callInSlot(action, 'drain', S.Idle, () => {
      const { operators, shardId, epoch } = this.#options;
      operators.instructReclaim(clusterId, {
        instructionId: `${shardId}-${epoch}-${++this.#instructions}`,
        nodes: [nodeNameOf(this.#inventory, slot)],
        graceSeconds,
        preemptorPriority: kind === ActionKind.Preempt ? assignment.priority : 0,
      });
      this.#move(slot, S.Draining);
      this.#options.onDrain(slot, graceSeconds);
    });
  }

  /** X7: move to Deleting, call Delete. */
  #delete(action: Action): Promise<Settlement> {
    return this.#callInSlot(action, 'delete', S.Speculative, () => this.#move(action.slot, S.Deleting));
  }

  /** Waits for a slot, checks that the action may still begin, moves the machine and makes the call that should end in `target`. */
  async #callInSlot(
    action: Action,
    call: CallKind,
    target: MachineState,
    begin: () => void,
  ): Promise<Settlement> {
    if (!(await this.#takeSlot(action))) return STALE;
    const objection = this.#objectionTo(action);
    if (objection !== null) {
      this.#giveSlot(action);
      return objection;
    }
    begin();
    const answer = await this.#call(action, call, { graceSeconds: action.graceSeconds });
    return this.#take(action, answer, target);
  }

  /** While the action waited, a restraint, another state of the machine or a provider that never deletes may have come. */
  #objectionTo(action: Action): Settlement | null {
    const { slot, generation, kind, provider } = action;
    if (this.#isOutdated(action)) return settlement('stale_state', STOOD_STILL);
    const restraint = this.#options.restraint();
    if (restraint !== 'none') return settlement(restraint, RESTRAINED);
    if (this.#isHeld(action)) return settlement('held', ADRIFT);
    const isFitting =
      this.#inventory.isCurrent(slot, generation) &&
      this.#inventory.columns.state[slot] === INTENT_STATE[kind] &&
      this.#hasNeed(action) &&
      !(kind === ActionKind.Delete && this.neverDelete.has(provider));
    if (!isFitting) return STALE;
    const control = this.#pausedBy(action);
    if (control !== null) return settlement('suppressed', this.#stoppedBy(control));
    return this.#mayTry(action) ? null : settlement('stale_state', FAILED_BEFORE);
  }

  /** F3: whether an adrift replica leaves the action for later. A cycle decides it again. */
  #isHeld({ kind, needCluster }: Action): boolean {
    const { isConfirmed, hasSession, counters } = this.#options;
    if (isConfirmed()) return false;
    if (isBinding(kind)) return !hasSession(needCluster);
    counters.removalsHeld++;
    return true;
  }

  #pausedBy({ kind, slot, needCluster }: Action): Control | null {
    const { clusters } = this.#inventory.tables;
    const isCreated = this.#inventory.columns.state[slot] !== S.Speculative;
    return this.#options.pausedBy({ kind, isCreated, slot, needClusterId: clusters.get(needCluster) });
  }

  #stoppedBy(control: Control): string {
    this.#options.onPaused(control);
    return `control ${control.id} of ${control.who} pauses it: ${control.why}`;
  }

  /** X5, X14: whether failures since the decision leave this machine for its need; of a drain, for its cluster. */
  #mayTry({ kind, slot, needCluster, needFingerprint, needGroup }: Action): boolean {
    const { needs, drains } = this.#options.failures;
    if (isBinding(kind)) return needs.admit(needCluster, needFingerprint, needGroup, slot);
    return kind === ActionKind.Delete || drains.admit(this.#inventory.columns.cluster[slot]!, 0, 0, slot);
  }

  /** Called with a slot, which it returns. */
  async #call(action: Action, kind: CallKind, fields: object): Promise<ProviderAnswer> {
    const { providers, clock, executeTimeoutMs } = this.#options;
    const { provider, machineId, stretch } = action;
    const beganMs = clock.nowMs();
    const deadlineUnixMs = beganMs + executeTimeoutMs;
    const answer = await providers.call({ kind, provider, machineId, deadlineUnixMs, stretch, ...fields });
    action.callMs += clock.nowMs() - beganMs;
    // Before the slot is returned: the next action in line would still make its call.
    if (answer.kind === 'accepted') this.acceptedCount++;
    if (answer.kind === 'fenced') this.#options.onFenced(machineId, answer.detail);
    if (answer.kind === 'unsupported' && kind === 'delete') this.neverDelete.add(provider);
    this.#giveSlot(action, NO_ANSWERS.has(answer.kind) ? 'none' : 'definite');
    return answer;
  }

  /** False: no more slots are granted. */
  #takeSlot(action: Action): Promise<boolean> {
    const { slots, lone } = this.#options;
    const take = () => slots.take(action.clusterId, action.provider);
    if (!lone.isOn) return take();
    return lone.turn(action.provider).then((turn) => {
      action.turn = turn;
      return take();
    });
  }

  #giveSlot(action: Action, answer: 'definite' | 'none' | 'unused' = 'unused'): void {
    const { slots, lone } = this.#options;
    lone.ended(action.turn, answer);
    action.turn = null;
    slots.give(action.clusterId, action.provider);
  }

  /** X16: the process stood still since the decision. A cycle decides again. */
  #isOutdated({ stretch }: Action): boolean {
    return this.#options.stretch() !== stretch;
  }

  async #fetchBlob(action: Action): Promise<BlobAnswer> {
    const { localBootstrapBlob, operators, clock, bootstrapTimeoutMs, requirementsOf } = this.#options;
    if (localBootstrapBlob !== null) return { kind: 'blob', userData: localBootstrapBlob, ttlSeconds: 0 };
    const beganMs = clock.nowMs();
    const answer = await operators.requestBlob({
      clusterId: action.clusterId,
      requirements: requirementsOf(action.needCluster, action.needFingerprint),
      timeoutMs: bootstrapTimeoutMs,
    });
    action.blobMs += clock.nowMs() - beganMs;
    return answer;
  }

  #withoutBlob(action: Action, blob: Exclude<BlobAnswer, { kind: 'blob' }>): Settlement {
    const { failures, clock } = this.#options;
    const { needCluster, needFingerprint, needGroup, slot } = action;
    const detail =
      blob.kind === 'error'
        ? blob.text
        : blob.kind === 'timeout'
          ? 'the operator did not answer in time'
          : '';
    if (blob.kind !== 'no_session') {
      failures.needs.failed(needCluster, needFingerprint, needGroup, { text: detail, slot }, clock.nowMs());
    }
    return this.#rollBack(action, BLOB_OUTCOMES[blob.kind], detail);
  }

  /** The provider was never called, so the machine is Idle as before. */
  #rollBack(action: Action, outcome: ActionOutcome, detail: string): Settlement {
    this.#move(action.slot, S.Idle);
    return settlement(outcome, detail);
  }

  /** Applies the provider's answer to a call that should end in `target`. X8: an unanswered call is followed up by reads. */
  #take(action: Action, answer: ProviderAnswer, target: MachineState): Settlement {
    if (answer.kind !== 'accepted') return this.#takeFailure(action, answer);
    const fate = this.#options.changes.observe(
      action.slot,
      answer.machine,
      'ack',
      this.#options.clock.nowMs(),
    );
    if (fate === 'refused')
      return settlement('ack_rejected', 'the inventory could not store the record', 'follow');
    if (fate === 'doubted') {
      const said = STATE_NAMES[answer.machine.state];
      return settlement(
        'provider_error',
        `the ack says ${said}, which cannot follow the state before; the shard reads the machine again`,
        'recheck',
      );
    }
    const state = this.#inventory.columns.state[action.slot]! as MachineState;
    if (state === target) return settlement('success');
    if (isTransitional(state)) return settlement('accepted', '', 'await');
    const detail = answer.machine.lastError || `the machine ended in ${STATE_NAMES[state]}`;
    return settlement('provider_error', detail, 'recheck');
  }

  #takeFailure(action: Action, failure: ProviderFailure): Settlement {
    const { kind, detail } = failure;
    switch (kind) {
      case 'fenced':
        return settlement('fenced', detail);
      case 'held':
        return this.#takeBack(action, detail);
      case 'timeout':
      case 'unavailable':
        return settlement('timeout', detail, 'follow');
      case 'worker_lost':
        return settlement('worker_lost', detail, 'follow');
      case 'malformed':
        this.#options.counters.rejected[failure.reason ?? 'structural']++;
        return settlement('ack_rejected', detail, 'follow');
      default: {
        const { changes, clock } = this.#options;
        const isFailed = changes.fail(action.slot, `${kind}: ${detail}`, clock.nowMs());
        return settlement('provider_error', detail, isFailed ? 'recheck' : 'follow');
      }
    }
  }

  /** F2, X16: the thread did not send the call, so the machine is as before. */
  #takeBack({ kind, slot }: Action, detail: string): Settlement {
    const { changes, clock, counters } = this.#options;
    if (isRemoval(kind)) counters.removalsHeld++;
    changes.takeBack(slot, clock.nowMs());
    return settlement('held', detail);
  }

  #move(
    slot: number,
    state: MachineState,
    binding: { cluster: string; assignment: Action['assignment'] } | object = {},
  ): void {
    this.#options.changes.move(slot, { state, ...binding }, this.#options.clock.nowMs());
  }

  /** Reclaims and releases serve no need, so they always pass. */
  #hasNeed({ needCluster, needFingerprint, needGroup }: Action): boolean {
    return needCluster === 0 || this.#options.isLiveNeed(needCluster, needFingerprint, needGroup);
  }

  /** Not for a need in back-off, nor while no call may follow. The machine stays Idle, and a later cycle may bind it. */
  #mayBootstrap(action: Action): boolean {
    const { slots, restraint } = this.#options;
    if (slots.isStopped || restraint() !== 'none' || this.#isOutdated(action)) return false;
    return this.#hasNeed(action) && !this.isPaused(action) && this.#mayTry(action);
  }

  /** The action holds its refs, so they still name its need. */
  #isBoundAlready({ slot, needCluster, needFingerprint, needGroup }: Action): boolean {
    const { state, cluster, need, group } = this.#inventory.columns;
    return (
      state[slot] === S.Configured &&
      cluster[slot] === needCluster &&
      need[slot] === needFingerprint &&
      group[slot] === needGroup
    );
  }
}
