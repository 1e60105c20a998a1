/**
 * A loop with a queue, as a shard has (X3): rails limit the actions of a cycle, a bounded queue takes some of them, bindings
 * wait for room, other actions are dropped, a number of the queued ones begins in each step, and the provider finishes each some steps later. From the moment that it is
 * queued, an action's machine carries the intent.
 */
import { ActionKind, type ExecutedKind } from '../../src/decision/actions.ts';
import { INTENT_STATE, Intent, isBinding } from '../../src/inventory/intent.ts';
import { MachineState } from '../../src/machine/state.ts';
import { PreemptionCap } from '../../src/shard/cycle/preemption-cap.ts';
import { applyRails } from '../../src/shard/cycle/rails.ts';
import type { Action } from '../../src/shard/execute/action.ts';
import { WaitingActions } from '../../src/shard/execute/waiting-actions.ts';
import { SHARD_DEFAULTS } from '../../src/shard/settings.ts';
import { CYCLE_MS, type EngineFleet } from './engine-fleet.ts';

const S = MachineState;

/** By kind of action: the state while the provider works, and the state after it. */
const STEPS: Readonly<Record<ExecutedKind, readonly [MachineState, MachineState]>> = {
  [ActionKind.Bootstrap]: [S.Configuring, S.Configured],
  [ActionKind.Provision]: [S.Creating, S.Idle],
  [ActionKind.Reclaim]: [S.Draining, S.Idle],
  [ActionKind.Preempt]: [S.Draining, S.Idle],
  [ActionKind.Delete]: [S.Deleting, S.Speculative],
};

interface Queued extends Pick<Action, 'slot' | 'clusterId' | 'provider' | 'assignment'> {
  readonly kind: ExecutedKind;
  /** Refs of the need that the action serves; 0 = none. */
  readonly need: readonly [cluster: number, fingerprint: number, group: number];
}

/** No provider fails here. */
const NO_BUDGETS = { take: () => true, giveBack: () => {} };
const NO_PROBATION = { begin: () => {}, admits: () => true };

export class QueuedLoop {
  /** Actions that ended, since the start. */
  doneCount = 0;
  /** Bootstraps that ended, since the start. */
  boundCount = 0;
  readonly #fleet: EngineFleet;
  readonly #concurrency: number;
  readonly #latencySteps: number;
  readonly #cap: PreemptionCap;
  #queue: Queued[] = [];
  readonly #waiting = new WaitingActions<Queued>();
  /** By step from now: the actions that end then. */
  readonly #underWay: Queued[][] = [];

  /** `concurrency` actions begin in each step at most; the queue holds twice as many. */
  constructor(fleet: EngineFleet, concurrency: number, latencySteps: number) {
    this.#fleet = fleet;
    this.#concurrency = concurrency;
    this.#latencySteps = latencySteps;
    this.#cap = new PreemptionCap({
      clusters: fleet.inventory.tables.clusters,
      intervalMs: CYCLE_MS,
      configuredOf: (cluster) => fleet.engine.configuredCount(cluster),
    });
  }

  get queuedCount(): number {
    return this.#queue.length + this.#waiting.count;
  }

  /** X3: bindings that wait for room in the queue. */
  get waitingCount(): number {
    return this.#waiting.count;
  }

  /** Before a cycle: actions end, and queued ones begin. */
  advance(): void {
    for (const { slot, kind } of this.#underWay.shift() ?? []) this.#end(slot, kind);
    while (this.#queue.length < 1.5 * this.#concurrency) {
      const next = this.#waiting.take(() => false);
      if (next === undefined) break;
      this.#queue.push(next);
    }
    const begun = this.#queue.splice(0, this.#concurrency).filter((action) => this.#begin(action));
    while (this.#underWay.length < this.#latencySteps) this.#underWay.push([]);
    this.#underWay[this.#latencySteps - 1]!.push(...begun);
  }

  /** After a cycle: queues its actions as far as rails and room allow. Returns how many. */
  offer(): number {
    const { engine, inventory, nowMs } = this.#fleet;
    const { actions } = engine;
    this.#cap.begin(nowMs, SHARD_DEFAULTS.preemptionCapFraction);
    const configuredOf = (cluster: number) => engine.configuredCount(cluster);
    const rails = [SHARD_DEFAULTS, inventory, configuredOf, new Set<number>(), this.#cap] as const;
    const { admitted } = applyRails(actions, ...rails, NO_PROBATION, NO_BUDGETS);
    const before = this.queuedCount;
    for (const index of admitted) {
      const kind = actions.kind[index]! as ActionKind;
      if (kind === ActionKind.Withdraw) this.#withdraw(actions.slot[index]!);
      else if (isBinding(kind) || this.#queue.length < 2 * this.#concurrency) this.#enqueue(index);
      else if (kind === ActionKind.Preempt) this.#cap.giveBack(actions, index);
    }
    return this.queuedCount - before;
  }

  #withdraw(slot: number): void {
    const { inventory } = this.#fleet;
    const action = this.#waiting.remove(slot);
    if (action === undefined) return;
    inventory.clearIntent(slot);
    inventory.tables.releaseRefs(...action.need);
  }

  #enqueue(index: number): void {
    const { engine, inventory } = this.#fleet;
    const { actions } = engine;
    const { columns } = inventory;
    const slot = actions.slot[index]!;
    const kind = actions.kind[index]! as ExecutedKind;
    if (columns.intent[slot] !== Intent.None || columns.state[slot] !== INTENT_STATE[kind]) return;
    const need = [actions.forCluster[index]!, actions.fingerprint[index]!, actions.group[index]!] as const;
    const binding = {
      cluster: actions.cluster[index]!,
      need: need[1],
      group: need[2],
      priority: actions.priority[index]!,
      interruptionPenalty: actions.interruptionPenalty[index]! as 0,
      reclamationPenalty: actions.reclamationPenalty[index]! as 0,
    };
    const waits = isBinding(kind);
    inventory.setIntentRefs(slot, kind, waits ? binding : undefined, waits);
    if (kind === ActionKind.Preempt) engine.preemptionBegan(slot, ...need);
    const { clusters, fingerprints, groups } = inventory.tables;
    clusters.retain(need[0]);
    fingerprints.retain(need[1]);
    groups.retain(need[2]);
    const clusterId = clusters.get(binding.cluster);
    const assignment = { ...binding, fingerprint: '', group: '' };
    const queued: Queued = { slot, kind, need, clusterId, provider: 0, assignment };
    if (waits) this.#waiting.add(queued);
    else this.#queue.push(queued);
  }

  /** False if its need is gone by now. */
  #begin({ slot, kind, need }: Queued): boolean {
    const { engine, inventory, nowMs } = this.#fleet;
    const isLive = need[0] === 0 || engine.isLiveNeed(...need);
    if (isLive) {
      const { cluster, assignment } = inventory.get(slot);
      const state = STEPS[kind][0];
      inventory.apply(slot, { state, cluster, assignment }, nowMs, { force: true });
    }
    inventory.clearIntent(slot);
    inventory.tables.releaseRefs(...need);
    return isLive;
  }

  #end(slot: number, kind: ExecutedKind): void {
    const { inventory, nowMs } = this.#fleet;
    const [during, after] = STEPS[kind];
    if (inventory.columns.state[slot] !== during) return;
    const host = { provider: 'catalogue', ref: `host-${slot}` };
    const change = kind === ActionKind.Provision ? { state: after, host } : { state: after };
    inventory.apply(slot, change, nowMs, { force: true });
    this.doneCount++;
    if (kind === ActionKind.Bootstrap) this.boundCount++;
  }
}
