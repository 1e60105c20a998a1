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
import type { Restraint } from '../cycle/rails.ts';
import type { Backoffs } from '../machines/backoff.ts';
import type { MachineChanges } from '../machines/changes.ts';
import { nodeNameOf } from '../machines/node-state.ts';
import type { ActionOutcome, ShardCounters } from '../ports/observer.ts';
import type { BlobAnswer, OperatorsPort } from '../ports/operators.ts';
import type { CallKind, ProviderAnswer, ProviderFailure, ProviderPort } from '../ports/providers.ts';
import { type Action, type Settlement, settlement } from './action.ts';
import type { FailedAttempts } from './failed-attempts.ts';
import type { FairSlots } from './fair-slots.ts';
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
  readonly clock: Clock;
  readonly counters: ShardCounters;
  readonly executeTimeoutMs: number;
  readonly bootstrapTimeoutMs: number;
  readonly localBootstrapBlob: Uint8Array | null;
  /** C4: whether the kill switch or a dry run forbids execution now. */
  readonly restraint: () => Restraint;
  /** X2: an action begins only if its need still exists. */
  readonly isLiveNeed: (cluster: number, fingerprint: number, group: number) => boolean;
  /** The requirements of the need. */
  readonly requirementsOf: (cluster: number, fingerprint: number) => readonly Requirement[];
  readonly onFenced: (machineId: string, detail: string) => void;
  /** X11: a drain may take its grace longer than other steps before the machine is stuck. */
  readonly onDrain: (slot: number, graceSeconds: number) => void;
}

const S = MachineState;

const STALE = settlement('stale_state');
const FAILED_BEFORE = 'an earlier attempt failed meanwhile, and one machine at a time is tried';
/** Of actions that were queued when the kill switch or the dry run was turned on. */
const RESTRAINED = 'the shard was paused or put into a dry run before it called the provider';
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
  #instructions = 0;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#inventory = options.changes.inventory;
  }

  /** X2, for an action that waited: whether its need still exists and nothing bars the need or the machine by now. */
  mayBegin(action: Action): boolean {
    if (this.#inventory.hasFlag(action.slot, BARRED) || !this.#hasNeed(action)) return false;
    return this.#mayTry(action);
  }

  run(action: Action): Promise<Settlement> {
    switch (action.kind) {
      case ActionKind.Provision:
        return this.#provision(action);
      case ActionKind.Bootstrap:
        return this.#bootstrap(action);
      case ActionKind.Delete:
        return this.#delete(action);
      default:
        return this.#drain(action);
    }
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
    const { slot, clusterId, provider, assignment } = action;
    if (this.#isBoundAlready(action)) return settlement('success');
    if (this.#inventory.columns.state[slot] !== S.Idle || !this.#hasNeed(action)) return STALE;
    this.#move(slot, S.Configuring, { cluster: clusterId, assignment });
    const { slots } = this.#options;
    for (;;) {
      const blob = await this.#fetchBlob(action);
      if (blob.kind !== 'blob') return this.#withoutBlob(action, blob);
      const expiresMs =
        this.#options.clock.nowMs() + (blob.ttlSeconds > 0 ? blob.ttlSeconds * 1000 : Infinity);
      if (!(await slots.take(clusterId, provider)))
        return this.#rollBack(action, 'rolled_back', 'the shard is stopping');
      if (this.#options.clock.nowMs() < expiresMs) return this.#configure(action, blob.userData);
      slots.give(clusterId, provider); // the blob expired while the action waited for a slot
    }
  }

  /** Called with a slot, which it returns. */
  async #configure(action: Action, bootstrapBlob: Uint8Array): Promise<Settlement> {
    const { clusterId, provider, assignment } = action;
    const restraint = this.#options.restraint();
    if (restraint !== 'none' || !this.#hasNeed(action)) {
      this.#options.slots.give(clusterId, provider);
      return restraint === 'none'
        ? this.#rollBack(action, 'stale_state', 'the cluster withdrew the need')
        : this.#rollBack(action, restraint, RESTRAINED);
    }
    if (!this.#mayTry(action)) {
      this.#options.slots.give(clusterId, provider);
      return this.#rollBack(action, 'rolled_back', FAILED_BEFORE);
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
    const { slots } = this.#options;
    if (!(await slots.take(action.clusterId, action.provider))) return STALE;
    const objection = this.#objectionTo(action);
    if (objection !== null) {
      slots.give(action.clusterId, action.provider);
      return objection;
    }
    begin();
    const answer = await this.#call(action, call, { graceSeconds: action.graceSeconds });
    return this.#take(action, answer, target);
  }

  /** While the action waited, a restraint, another state of the machine or a provider that never deletes may have come. */
  #objectionTo(action: Action): Settlement | null {
    const { slot, generation, kind, provider } = action;
    const restraint = this.#options.restraint();
    if (restraint !== 'none') return settlement(restraint, RESTRAINED);
    const isFitting =
      this.#inventory.isCurrent(slot, generation) &&
      this.#inventory.columns.state[slot] === INTENT_STATE[kind] &&
      this.#hasNeed(action) &&
      !(kind === ActionKind.Delete && this.neverDelete.has(provider));
    if (!isFitting) return STALE;
    return this.#mayTry(action) ? null : settlement('stale_state', FAILED_BEFORE);
  }

  /** X5, X14: whether failures since the decision leave this machine for its need; of a drain, for its cluster. */
  #mayTry({ kind, slot, needCluster, needFingerprint, needGroup }: Action): boolean {
    const { needs, drains } = this.#options.failures;
    if (isBinding(kind)) return needs.admit(needCluster, needFingerprint, needGroup, slot);
    return kind === ActionKind.Delete || drains.admit(this.#inventory.columns.cluster[slot]!, 0, 0, slot);
  }

  /** Called with a slot, which it returns. */
  async #call(action: Action, kind: CallKind, fields: object): Promise<ProviderAnswer> {
    const { providers, slots, clock, executeTimeoutMs } = this.#options;
    const { provider, machineId, clusterId } = action;
    const beganMs = clock.nowMs();
    const deadlineUnixMs = beganMs + executeTimeoutMs;
    const answer = await providers.call({ kind, provider, machineId, deadlineUnixMs, ...fields });
    action.callMs += clock.nowMs() - beganMs;
    // Before the slot is returned: the next action in line would still make its call.
    if (answer.kind === 'fenced') this.#options.onFenced(machineId, answer.detail);
    if (answer.kind === 'unsupported' && kind === 'delete') this.neverDelete.add(provider);
    slots.give(clusterId, provider);
    return answer;
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
    if (slots.isStopped || restraint() !== 'none') return false;
    return this.#hasNeed(action) && this.#mayTry(action);
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
