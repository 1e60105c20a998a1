/**
 * A shard without a network: the real inventory, need table and engine, and a loop that executes every decided action. An
 * action counts from its enqueue on (X1), begins and ends some cycles later (or before the next one), and never fails; so
 * if the loop does something twice, the engine decided it twice.
 */
import type { Random } from '../../src/base/random.ts';
import { ActionKind, type ExecutedKind } from '../../src/decision/actions.ts';
import { type DifferenceCounts, decideChecked } from '../../src/decision/check.ts';
import { Engine, type EngineOptions } from '../../src/decision/engine.ts';
import { Flag, Intent } from '../../src/inventory/intent.ts';
import type { Inventory } from '../../src/inventory/inventory.ts';
import { MachineState } from '../../src/machine/state.ts';
import type { NeedTable, RollupOutcome } from '../../src/needs/need-table.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { fingerprintOf } from '../oracle/profile.ts';
import { needKey, type World, type WorldCluster, type WorldMachine } from '../oracle/world.ts';
import { acceptAsArrived, insertMachine, makeTables, rollupRowOf } from './world-tables.ts';

const S = MachineState;
const CYCLE_MS = 10_000;

/** How many cycles each step takes at most; 0 = done before the next cycle. */
export interface Pace {
  readonly beginMax: number;
  readonly createMax: number;
  readonly configureMax: number;
  readonly drainMax: number;
  /** R2: reclaims per cluster and cycle. */
  readonly reclaimsMax: number;
}

export interface LoopAction {
  readonly kind: ExecutedKind;
  readonly machine: string;
  readonly cluster: string;
  readonly fingerprint: string;
  readonly group: string;
}

const INTENT_OF: Readonly<Record<ExecutedKind, Intent>> = {
  [ActionKind.Bootstrap]: Intent.Bootstrap,
  [ActionKind.Provision]: Intent.Provision,
  [ActionKind.Reclaim]: Intent.Reclaim,
  [ActionKind.Preempt]: Intent.Preempt,
  [ActionKind.Delete]: Intent.Delete,
};

/** The state that each action begins with; a Provision may continue as Bootstrap (X4). */
const BEGINS: Readonly<Partial<Record<number, MachineState>>> = {
  [Intent.Bootstrap]: S.Configuring,
  [Intent.Reclaim]: S.Draining,
  [Intent.Preempt]: S.Draining,
  [Intent.Delete]: S.Deleting,
};

export class ClosedLoop {
  readonly inventory: Inventory;
  readonly needs: NeedTable;
  readonly engine: Engine;
  readonly clusters: readonly WorldCluster[];
  readonly options: EngineOptions;
  readonly #pace: Pace;
  readonly #random: Random;
  /** Slots with an action or in a transitional state, and the cycles until their next step. */
  readonly #moving = new Map<number, number>();
  nowMs: number;

  constructor(world: World, pace: Pace, random: Random, coarseValuesMax?: number) {
    const { inventory, needs } = makeTables();
    this.inventory = inventory;
    this.needs = needs;
    this.clusters = world.clusters;
    this.#pace = pace;
    this.#random = random;
    this.nowMs = world.nowMs;
    const hasSession = new Set(world.clusters.filter((one) => one.hasSession).map(({ id }) => id));
    this.options = {
      inventory,
      needs,
      hasSession: (cluster) => hasSession.has(inventory.tables.clusters.get(cluster)),
      holds: { onDemandMs: world.holdOnDemandMs, spotMs: world.holdSpotMs },
      ...(coarseValuesMax === undefined ? {} : { coarseValuesMax }),
    };
    this.engine = new Engine(this.options);
    for (const machine of world.machines) this.add(machine);
  }

  /** The cluster's first roll-ups, in the order of its needs' arrivals. */
  report({ id, needs }: WorldCluster): void {
    acceptAsArrived(this.needs, id, [], needs);
  }

  hasReported({ id }: WorldCluster): boolean {
    return this.needs.hasReported(this.inventory.tables.clusters.find(id));
  }

  add(machine: WorldMachine): void {
    const slot = insertMachine(this.inventory, this.engine, machine);
    if (this.#isUnderWay(slot)) this.#moving.set(slot, this.#waitOf(slot));
  }

  /** Idle and Speculative machines without an action. */
  unassignedSlots(): number[] {
    const { state, intent } = this.inventory.columns;
    const isUnassigned = (slot: number) =>
      intent[slot] === Intent.None && (state[slot] === S.Idle || state[slot] === S.Speculative);
    return [...this.inventory.slotsById].filter(isUnassigned);
  }

  /** The cluster repeats its roll-up with rows, requirements and values in another order. */
  repeatRollup({ id, needs }: WorldCluster): RollupOutcome {
    const shuffled = (row: RollupRow): RollupRow => ({
      ...row,
      requirements: this.#random
        .shuffle([...row.requirements])
        .map((one) => ({ ...one, values: this.#random.shuffle([...one.values]) })),
      spread: this.#random.shuffle([...row.spread]),
    });
    return this.needs.accept(
      id,
      this.#random.shuffle(needs.map((need) => shuffled(rollupRowOf(need)))),
      this.nowMs,
      0,
    );
  }

  /** The clusters withdraw the needs that the last cycle could not cover, so that the rest can be met. */
  withdrawUnmet(): void {
    const { clusters, groups } = this.inventory.tables;
    for (const cluster of this.clusters) {
      const ref = clusters.find(cluster.id);
      const start = this.needs.sliceStart(ref);
      const met = new Set<string>();
      for (let row = 0; row < this.needs.sliceCount(ref); row++) {
        const { fingerprint } = this.needs.profiles.get(this.needs.profile[start + row]!);
        const group = groups.get(this.needs.group[start + row]!);
        if (this.engine.verdict(ref, row).satisfied) met.add(needKey(cluster.id, group, fingerprint));
      }
      cluster.needs = cluster.needs.filter((need) =>
        met.has(needKey(cluster.id, need.group, fingerprintOf(need))),
      );
      if (this.hasReported(cluster)) this.repeatRollup(cluster);
    }
  }

  /** One cycle: due machines move, the engine decides, and the loop enqueues all actions. */
  cycle(isOrdinary = true): LoopAction[] {
    this.#advanceTime(isOrdinary);
    this.engine.decide({ nowMs: this.nowMs, isOrdinary });
    return this.#enqueueAll();
  }

  /** The same, also decided from scratch; `differences` counts the engine's errors. */
  checkedCycle(isOrdinary: boolean): { actions: LoopAction[]; differences: DifferenceCounts } {
    this.#advanceTime(isOrdinary);
    const { differences } = decideChecked(this.engine, this.options, { nowMs: this.nowMs, isOrdinary });
    return { actions: this.#enqueueAll(), differences };
  }

  /**
   * Whether bound machines of their own cover all needs of connected clusters. Machines that are being created do not
   * count: they will be Idle machines like any other (X4).
   */
  isCovered(): boolean {
    const { columns } = this.inventory;
    for (const { id, hasSession } of this.clusters) {
      const cluster = this.inventory.tables.clusters.find(id);
      for (let row = 0; hasSession && row < this.needs.sliceCount(cluster); row++) {
        const { satisfied, bootstraps, provisions } = this.engine.verdict(cluster, row);
        if (!satisfied || bootstraps + provisions > 0) return false;
      }
    }
    for (const slot of this.inventory.slotsById) {
      const claim = this.engine.claimOf(slot);
      if (claim === null) continue;
      if (columns.state[slot] !== S.Configured && columns.state[slot] !== S.Configuring) return false;
      if (columns.need[slot] !== claim.fingerprint || columns.cluster[slot] !== claim.cluster) return false;
      if (columns.group[slot] !== claim.group && !this.#isFoldOf(claim.group, columns.group[slot]!))
        return false;
    }
    return true;
  }

  /** Covered, and no machine is about to move. */
  isAtRest(): boolean {
    return this.#moving.size === 0 && this.isCovered();
  }

  /** A1: a fold's machines may carry the empty group. */
  #isFoldOf(claimGroup: number, machineGroup: number): boolean {
    return machineGroup === 0 && this.inventory.tables.groups.get(claimGroup).startsWith('fold:');
  }

  #advanceTime(isOrdinary: boolean): void {
    this.nowMs += isOrdinary ? CYCLE_MS : CYCLE_MS / 40;
    this.#settle();
  }

  #enqueueAll(): LoopAction[] {
    const { actions } = this.engine;
    const { clusters, fingerprints, groups } = this.inventory.tables;
    const reclaims = new Map<number, number>();
    const done: LoopAction[] = [];
    for (let index = 0; index < actions.count; index++) {
      const slot = actions.slot[index]!;
      if (actions.kind[index] === ActionKind.Withdraw) {
        this.inventory.clearIntent(slot);
        this.#moving.delete(slot);
        continue;
      }
      const kind = actions.kind[index]! as ExecutedKind;
      const cluster = actions.cluster[index]!;
      done.push({
        kind,
        machine: this.inventory.idOf(slot),
        cluster: clusters.get(kind === ActionKind.Preempt ? actions.forCluster[index]! : cluster),
        fingerprint: fingerprints.get(actions.fingerprint[index]!),
        group: groups.get(actions.group[index]!),
      });
      if (kind === ActionKind.Reclaim) {
        reclaims.set(cluster, (reclaims.get(cluster) ?? 0) + 1);
        if (reclaims.get(cluster)! > this.#pace.reclaimsMax) continue;
      }
      this.#enqueue(index, kind, slot);
    }
    return done;
  }

  #enqueue(index: number, kind: ExecutedKind, slot: number): void {
    const { actions } = this.engine;
    const isBinding = kind === ActionKind.Bootstrap || kind === ActionKind.Provision;
    const binding = {
      cluster: actions.cluster[index]!,
      need: actions.fingerprint[index]!,
      group: actions.group[index]!,
      priority: actions.priority[index]!,
      interruptionPenalty: actions.interruptionPenalty[index]!,
      reclamationPenalty: actions.reclamationPenalty[index]!,
    };
    const isWaiting = isBinding && this.#pace.beginMax > 0;
    this.inventory.setIntentRefs(slot, INTENT_OF[kind], isBinding ? binding : undefined, isWaiting);
    if (kind === ActionKind.Preempt) {
      this.engine.preemptionBegan(slot, actions.forCluster[index]!, binding.need, binding.group);
    }
    this.#moving.set(slot, this.#waitOf(slot));
  }

  #isUnderWay(slot: number): boolean {
    const { state, intent } = this.inventory.columns;
    if (intent[slot] !== Intent.None) return true;
    return [S.Creating, S.Configuring, S.Draining, S.Deleting].some((one) => one === state[slot]);
  }

  #waitOf(slot: number): number {
    const { state, intent } = this.inventory.columns;
    const { beginMax, createMax, configureMax, drainMax } = this.#pace;
    if (intent[slot] !== Intent.None) return this.#random.between(0, beginMax);
    const isSlow = state[slot] === S.Creating || state[slot] === S.Deleting;
    if (isSlow) return this.#random.between(0, createMax);
    return this.#random.between(0, state[slot] === S.Draining ? drainMax : configureMax);
  }

  #settle(): void {
    for (const [slot, wait] of [...this.#moving]) {
      let left = wait;
      while (left === 0) {
        this.#advance(slot);
        if (!this.#isUnderWay(slot)) break;
        left = this.#waitOf(slot);
      }
      if (this.#isUnderWay(slot)) this.#moving.set(slot, left - 1);
      else this.#moving.delete(slot);
    }
  }

  /** The next step: an enqueued action begins, or a transitional state ends. */
  #advance(slot: number): void {
    const { state, intent, cluster } = this.inventory.columns;
    const begun = BEGINS[intent[slot]!];
    if (intent[slot] === Intent.Provision) this.#create(slot);
    else if (begun !== undefined) this.#begin(slot, begun);
    else if (state[slot] === S.Configuring) this.#move(slot, cluster[slot] === 0 ? S.Idle : S.Configured);
    else this.#move(slot, state[slot] === S.Deleting ? S.Speculative : S.Idle);
  }

  /** X4: if the provider creates at once, the action continues as Bootstrap; else the machine becomes Idle later. */
  #create(slot: number): void {
    const { cluster, assignment } = this.inventory.get(slot);
    this.#begin(slot, S.Creating);
    if (this.#pace.createMax > 0 && this.#random.chance(0.7)) return;
    this.#move(slot, S.Idle);
    this.inventory.apply(slot, { state: S.Configuring, cluster, assignment }, this.nowMs);
  }

  #begin(slot: number, state: MachineState): void {
    this.#move(slot, state);
    this.inventory.clearIntent(slot);
  }

  #move(slot: number, state: MachineState): void {
    const isHostless = state === S.Creating || state === S.Speculative;
    const host = isHostless ? null : { provider: 'test', ref: this.inventory.idOf(slot) };
    this.inventory.apply(slot, { state, host }, this.nowMs);
    if (this.inventory.hasFlag(slot, Flag.Stuck)) this.inventory.setFlag(slot, Flag.Stuck, false);
  }
}
