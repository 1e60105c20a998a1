/**
 * What each kind of action does, step by step, independent of any cycle: check against the live machine, move it, fetch
 * what is needed, call the provider, take its word. Every step has a deadline of its own. While an action is under way
 * its machine carries an intent, and nothing else changes it: listings and reads are parked until it settles.
 */
import type { Clock } from '../../base/clock.ts';
import { ActionKind } from '../../decision/actions.ts';
import { INTENT_STATE } from '../../inventory/intent.ts';
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
import type { FairSlots } from './fair-slots.ts';
import { shardMetadata } from './metadata.ts';
import type { NeedBackoffs } from './need-backoff.ts';

export interface RunnerOptions {
  readonly shardId: string;
  readonly epoch: number;
  readonly changes: MachineChanges;
  readonly backoffs: Backoffs;
  readonly needBackoffs: NeedBackoffs;
  readonly providers: ProviderPort;
  readonly operators: OperatorsPort;
  readonly slots: FairSlots;
  readonly clock: Clock;
  readonly counters: ShardCounters;
  readonly executeTimeoutMs: number;
  readonly bootstrapTimeoutMs: number;
  readonly localBootstrapBlob: Uint8Array | null;
  /** C4: whether anything may be carried out now. */
  readonly restraint: () => Restraint;
  /** X2: whether the need is still there. */
  readonly isLiveNeed: (cluster: number, fingerprint: number, group: number) => boolean;
  /** What the need asks of a machine. */
  readonly requirementsOf: (cluster: number, fingerprint: number) => readonly Requirement[];
  readonly onFenced: (machineId: string, detail: string) => void;
  /** A drain was sent: how long it may take before the machine counts as stuck (X11). */
  readonly onDrain: (slot: number, graceSeconds: number) => void;
}

const S = MachineState;

const STALE = settlement('stale_state');
/** C4: of actions that were in the queue when somebody restrained the shard. */
const RESTRAINED = 'the shard was paused, or put into a dry run, before its provider was called';
/** Outcomes of a blob that was not to be had. */
const BLOB_OUTCOMES: Readonly<Record<Exclude<BlobAnswer['kind'], 'blob'>, ActionOutcome>> = {
  no_session: 'no_session',
  timeout: 'blob_timeout',
  error: 'blob_error',
};

export class ActionRunner {
  readonly #options: RunnerOptions;
  readonly #inventory: Inventory;
  /** X7: providers that said that they never delete. */
  readonly neverDelete = new Set<number>();
  #instructions = 0;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#inventory = options.changes.inventory;
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

  /** X4. */
  async #provision(action: Action): Promise<Settlement> {
    const { slot, clusterId, assignment } = action;
    const settled = await this.#callInSlot(action, 'create', S.Idle, () => {
      this.#move(slot, S.Creating, { cluster: clusterId, assignment });
      this.#options.backoffs.createSent(slot, this.#options.clock.nowMs());
    });
    // Idle already: a synchronous provider. The machine goes on to its cluster without waiting for a cycle.
    return settled.outcome === 'success' && this.#mayBootstrap(action) ? this.#bootstrap(action) : settled;
  }

  /** X5. */
  async #bootstrap(action: Action): Promise<Settlement> {
    const { slot, clusterId, assignment } = action;
    if (this.#isBoundAlready(action)) return settlement('success');
    if (this.#inventory.columns.state[slot] !== S.Idle || !this.#hasNeed(action)) return STALE;
    this.#move(slot, S.Configuring, { cluster: clusterId, assignment });
    const { slots } = this.#options;
    for (;;) {
      const blob = await this.#fetchBlob(action);
      if (blob.kind !== 'blob') return this.#withoutBlob(action, blob);
      const expiresMs =
        this.#options.clock.nowMs() + (blob.ttlSeconds > 0 ? blob.ttlSeconds * 1000 : Infinity);
      if (!(await slots.take(clusterId)))
        return this.#rollBack(action, 'rolled_back', 'the shard is stopping');
      if (this.#options.clock.nowMs() < expiresMs) return this.#configure(action, blob.userData);
      slots.give(clusterId); // it waited longer than the blob is good for
    }
  }

  /** Holds a slot, and gives it back. */
  async #configure(action: Action, bootstrapBlob: Uint8Array): Promise<Settlement> {
    const { clusterId, assignment } = action;
    const restraint = this.#options.restraint();
    if (restraint !== 'none' || !this.#hasNeed(action)) {
      this.#options.slots.give(clusterId);
      return restraint === 'none'
        ? this.#rollBack(action, 'stale_state', 'its need was withdrawn')
        : this.#rollBack(action, restraint, RESTRAINED);
    }
    const answer = await this.#call(action, 'configure', {
      clusterId,
      bootstrapBlob,
      shardMetadata: shardMetadata(assignment),
    });
    const settled = this.#take(action, answer, S.Configured);
    if (answer.kind === 'accepted' && answer.machine.cluster !== '' && answer.machine.cluster !== clusterId) {
      return settlement('provider_error', `it is bound to ${answer.machine.cluster}`, 'follow');
    }
    if (settled.outcome === 'success' || settled.outcome === 'accepted') {
      const { needCluster, needFingerprint, needGroup } = action;
      this.#options.needBackoffs.succeeded(needCluster, needFingerprint, needGroup);
    }
    return settled;
  }

  /** X6. */
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

  /** X7. */
  #delete(action: Action): Promise<Settlement> {
    return this.#callInSlot(action, 'delete', S.Speculative, () => this.#move(action.slot, S.Deleting));
  }

  /** Waits for a slot, looks whether the action may still begin, moves the machine and calls, to have it end in `target`. */
  async #callInSlot(
    action: Action,
    call: CallKind,
    target: MachineState,
    begin: () => void,
  ): Promise<Settlement> {
    const { slots } = this.#options;
    if (!(await slots.take(action.clusterId))) return STALE;
    const objection = this.#objectionTo(action);
    if (objection !== null) {
      slots.give(action.clusterId);
      return objection;
    }
    begin();
    const answer = await this.#call(action, call, { graceSeconds: action.graceSeconds });
    return this.#take(action, answer, target);
  }

  /** Much may have happened while it waited: a restraint (C4), another state of the machine (X2), a provider's refusal (X7). */
  #objectionTo(action: Action): Settlement | null {
    const { slot, generation, kind, provider } = action;
    const restraint = this.#options.restraint();
    if (restraint !== 'none') return settlement(restraint, RESTRAINED);
    const isFitting =
      this.#inventory.isCurrent(slot, generation) &&
      this.#inventory.columns.state[slot] === INTENT_STATE[kind] &&
      this.#hasNeed(action) &&
      !(kind === ActionKind.Delete && this.neverDelete.has(provider));
    return isFitting ? null : STALE;
  }

  /** In a slot that is held, and given back. */
  async #call(action: Action, kind: CallKind, fields: object): Promise<ProviderAnswer> {
    const { providers, slots, clock, executeTimeoutMs } = this.#options;
    const { provider, machineId, clusterId } = action;
    const beganMs = clock.nowMs();
    const deadlineUnixMs = beganMs + executeTimeoutMs;
    const answer = await providers.call({ kind, provider, machineId, deadlineUnixMs, ...fields });
    action.callMs += clock.nowMs() - beganMs;
    // Before the slot is given back: whoever waits for it would still make its call.
    if (answer.kind === 'fenced') this.#options.onFenced(machineId, answer.detail);
    if (answer.kind === 'unsupported' && kind === 'delete') this.neverDelete.add(provider);
    slots.give(clusterId);
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
    const { needBackoffs, clock } = this.#options;
    const { needCluster, needFingerprint, needGroup } = action;
    const detail = blob.kind === 'error' ? blob.text : blob.kind === 'timeout' ? 'no answer in time' : '';
    if (blob.kind !== 'no_session') {
      needBackoffs.failed(needCluster, needFingerprint, needGroup, detail, clock.nowMs());
    }
    return this.#rollBack(action, BLOB_OUTCOMES[blob.kind], detail);
  }

  /** The provider was never called: the machine is what it was before. */
  #rollBack(action: Action, outcome: ActionOutcome, detail: string): Settlement {
    this.#move(action.slot, S.Idle);
    return settlement(outcome, detail);
  }

  /** Takes the provider's answer to a mutating call that was meant to end in `target` (X8, X9). */
  #take(action: Action, answer: ProviderAnswer, target: MachineState): Settlement {
    if (answer.kind !== 'accepted') return this.#takeFailure(action, answer);
    const fate = this.#options.changes.observe(
      action.slot,
      answer.machine,
      'ack',
      this.#options.clock.nowMs(),
    );
    if (fate === 'refused') return settlement('ack_rejected', 'the record cannot be kept', 'follow');
    if (fate === 'doubted') {
      const said = STATE_NAMES[answer.machine.state];
      return settlement('provider_error', `the ack says ${said}, which cannot follow`, 'recheck');
    }
    const state = this.#inventory.columns.state[action.slot]! as MachineState;
    if (state === target) return settlement('success');
    if (isTransitional(state)) return settlement('accepted', '', 'follow');
    const detail = answer.machine.lastError || `it ended in ${STATE_NAMES[state]}`;
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

  /** A reclaim and a release are for nobody, and so always wanted. */
  #hasNeed({ needCluster, needFingerprint, needGroup }: Action): boolean {
    return needCluster === 0 || this.#options.isLiveNeed(needCluster, needFingerprint, needGroup);
  }

  /** X5: not for a need whose bootstraps failed just now, nor when no call would follow; the machine is Idle, and a cycle will know. */
  #mayBootstrap(action: Action): boolean {
    const { needCluster, needFingerprint, needGroup } = action;
    const { needBackoffs, slots, restraint } = this.#options;
    if (slots.isStopped || restraint() !== 'none') return false;
    return this.#hasNeed(action) && !needBackoffs.isBarred(needCluster, needFingerprint, needGroup);
  }

  #isBoundAlready({ slot, clusterId, assignment }: Action): boolean {
    const { columns, tables } = this.#inventory;
    return (
      columns.state[slot] === S.Configured &&
      tables.clusters.get(columns.cluster[slot]!) === clusterId &&
      tables.fingerprints.get(columns.need[slot]!) === assignment.fingerprint &&
      tables.groups.get(columns.group[slot]!) === assignment.group
    );
  }
}
