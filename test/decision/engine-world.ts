/**
 * The engine as the oracle's twin: keeps a real inventory and a real need table in step with a world of plain
 * objects, telling them only what changed, and reads the engine's answer back as plain objects.
 */
import { DimensionTable } from '../../src/base/dimensions.ts';
import { StringTable } from '../../src/base/string-table.ts';
import { VectorTable } from '../../src/base/vectors.ts';
import { ACTION_NAMES, ACTION_REASONS, type ActionKind, ActionKind as Kind } from '../../src/decision/actions.ts';
import { Engine } from '../../src/decision/engine.ts';
import { Flag, Intent } from '../../src/inventory/intent.ts';
import { Inventory } from '../../src/inventory/inventory.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState } from '../../src/machine/state.ts';
import { NeedTable } from '../../src/needs/need-table.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { fingerprintOf } from '../oracle/profile.ts';
import {
  type Amounts,
  type IntentKind,
  needKey,
  type OracleAction,
  type OracleResult,
  type OracleVerdict,
  type World,
  type WorldCluster,
  type WorldMachine,
  type WorldNeed,
} from '../oracle/world.ts';

const S = MachineState;
const INTENTS: Record<IntentKind, Intent> = {
  none: Intent.None,
  bootstrap: Intent.Bootstrap,
  provision: Intent.Provision,
  reclaim: Intent.Reclaim,
  preempt: Intent.Preempt,
  delete: Intent.Delete,
};
const HOSTLESS: readonly MachineState[] = [S.Speculative, S.Creating];

export interface EngineWorldOptions {
  /** Few values are fine already: the paths that large fleets take. */
  readonly coarseValuesMax?: number;
  readonly ownLabelKeys?: readonly string[];
}

export class EngineWorld {
  readonly #inventory: Inventory;
  readonly #needs: NeedTable;
  readonly #engine: Engine;
  readonly #options: EngineWorldOptions;
  #world: World = emptyWorld();
  /** Machines that could only be brought in step by removing and inserting them again. */
  replacedCount = 0;
  updatedCount = 0;

  constructor(options: EngineWorldOptions = {}) {
    this.#options = options;
    const vectors = new VectorTable(new DimensionTable());
    const clusters = StringTable.create({ name: 'clusters', entriesMax: 64, bytesMax: 16_384 });
    const fingerprints = StringTable.create({ name: 'fingerprints', entriesMax: 4096, bytesMax: 1 << 20 });
    const groups = StringTable.create({ name: 'groups', entriesMax: 4096, bytesMax: 1 << 18 });
    const { ownLabelKeys } = options;
    this.#inventory = new Inventory({
      vectors,
      clusters,
      fingerprints,
      groups,
      machinesMax: 256,
      guards: true,
      ...(ownLabelKeys === undefined ? {} : { ownLabelKeys }),
    });
    this.#needs = new NeedTable({ clusters, fingerprints, groups, vectors, quarantine: false });
    this.#engine = this.#makeEngine();
  }

  /** Brings inventory and needs to this world and decides on what changed. */
  decide(world: World): OracleResult {
    this.#sync(world);
    const { nowMs, ordinary } = world;
    this.#engine.decide({ nowMs, isOrdinary: ordinary });
    return this.#read(this.#engine);
  }

  /** The same world decided by a fresh engine that knows nothing but the tables; ahead of `decide`. */
  decideFromScratch(world: World): OracleResult {
    this.#sync(world);
    const fresh = this.#makeEngine();
    fresh.adopt(this.#engine);
    fresh.decideFromScratch({ nowMs: world.nowMs, isOrdinary: world.ordinary });
    const result = this.#read(fresh);
    fresh.close();
    return result;
  }

  get engine(): Engine {
    return this.#engine;
  }

  #makeEngine(): Engine {
    const { clusters, fingerprints, groups } = this.#inventory.tables;
    const find = (ref: number): WorldCluster | undefined =>
      this.#world.clusters.find(({ id }) => id === clusters.get(ref));
    const { coarseValuesMax } = this.#options;
    return new Engine({
      inventory: this.#inventory,
      needs: this.#needs,
      hasSession: (cluster) => find(cluster)?.hasSession ?? false,
      inBackoff: (cluster, fingerprint, group) =>
        find(cluster)?.needs.some(
          (need) =>
            need.backoff && need.group === groups.get(group) && fingerprintOf(need) === fingerprints.get(fingerprint),
        ) ?? false,
      holds: this.#holds,
      ...(coarseValuesMax === undefined ? {} : { coarseValuesMax }),
    });
  }

  readonly #holds = { onDemandMs: 0, spotMs: 0 };

  #sync(world: World): void {
    const before = this.#world;
    if (world === before) return;
    this.#world = world;
    this.#holds.onDemandMs = world.holdOnDemandMs;
    this.#holds.spotMs = world.holdSpotMs;
    if (before.clusters.length === 0) this.#seedCounts(world);
    for (const machine of before.machines) {
      if (!world.machines.some(({ id }) => id === machine.id)) this.#inventory.remove(this.#inventory.find(machine.id));
    }
    for (const machine of world.machines) {
      this.#syncMachine(
        machine,
        before.machines.find(({ id }) => id === machine.id),
      );
    }
    for (const cluster of world.clusters) {
      this.#syncNeeds(
        cluster,
        before.clusters.find(({ id }) => id === cluster.id),
      );
    }
  }

  #seedCounts(world: World): void {
    const keys = new Set([...world.parking.keys(), ...world.unmet.keys()]);
    this.#engine.seedCounts(
      [...keys].map((key) => {
        const [cluster, group, fingerprint] = key.split('\n') as [string, string, string];
        return {
          cluster,
          group,
          fingerprint,
          unmetCycles: world.unmet.get(key) ?? 0,
          parkedCycles: world.parking.get(key) ?? 0,
        };
      }),
    );
  }

  #syncMachine(machine: WorldMachine, before: WorldMachine | undefined): void {
    if (before === undefined) {
      this.#insert(machine);
      return;
    }
    if (JSON.stringify(before) === JSON.stringify(machine)) return;
    this.updatedCount++;
    const slot = this.#inventory.find(machine.id);
    const lostDrain = before.drainFor !== null && JSON.stringify(before.drainFor) !== JSON.stringify(machine.drainFor);
    const isSameStay = machine.state === before.state && machine.stateSinceMs !== before.stateSinceMs;
    try {
      if (isSameStay || (lostDrain && machine.state === S.Draining)) throw new Error('not told in place');
      this.#update(slot, machine, before);
    } catch {
      this.replacedCount++;
      this.#inventory.remove(slot);
      this.#insert(machine);
    }
  }

  #update(slot: number, machine: WorldMachine, before: WorldMachine): void {
    const isEnqueued = machine.intent === 'bootstrap' || machine.intent === 'provision';
    if (before.intent !== machine.intent && machine.state === before.state) this.#inventory.clearIntent(slot);
    const { cluster: _, assignment: __, id: ___, ...facts } = record(machine);
    const binding =
      isEnqueued || machine.stamp === null ? {} : { cluster: machine.stamp.cluster, assignment: machine.stamp };
    const unbound = !isEnqueued && machine.stamp === null ? { cluster: '', assignment: null } : {};
    this.#inventory.apply(slot, { ...facts, ...binding, ...unbound }, machine.stateSinceMs, { force: true });
    if (this.#inventory.columns.intent[slot] !== INTENTS[machine.intent]) {
      this.#inventory.clearIntent(slot); // it has settled
      if (machine.intent !== 'none') this.#setIntent(slot, machine);
    }
    this.#setFlags(slot, machine);
    if (JSON.stringify(before.drainFor) !== JSON.stringify(machine.drainFor)) this.#noteDrain(slot, machine);
  }

  #insert(machine: WorldMachine): void {
    const slot = this.#inventory.insert(record(machine), 0, machine.stateSinceMs);
    if (machine.state === S.Creating && machine.stamp !== null) {
      const { cluster } = machine.stamp;
      this.#inventory.apply(slot, { cluster, assignment: machine.stamp }, machine.stateSinceMs);
    }
    if (machine.intent !== 'none') this.#setIntent(slot, machine);
    this.#setFlags(slot, machine);
    this.#noteDrain(slot, machine);
  }

  #setIntent(slot: number, { intent, stamp }: WorldMachine): void {
    const isBinding = intent === 'bootstrap' || intent === 'provision';
    this.#inventory.setIntent(slot, INTENTS[intent], isBinding ? stamp!.cluster : '', isBinding ? stamp : null);
  }

  #setFlags(slot: number, machine: WorldMachine): void {
    for (const [flag, on] of [
      [Flag.Stuck, machine.stuck],
      [Flag.Backoff, machine.backoff],
      [Flag.FoundDraining, machine.foundDraining],
    ] as const) {
      if (this.#inventory.hasFlag(slot, flag) !== on) this.#inventory.setFlag(slot, flag, on);
    }
  }

  #noteDrain(slot: number, { drainFor }: WorldMachine): void {
    if (drainFor === null) return;
    const { clusters, fingerprints, groups } = this.#inventory.tables;
    const cluster = clusters.intern(drainFor.cluster);
    const fingerprint = fingerprints.intern(drainFor.fingerprint);
    const group = groups.intern(drainFor.group);
    this.#engine.preemptionBegan(slot, cluster, fingerprint, group);
    clusters.release(cluster);
    fingerprints.release(fingerprint);
    groups.release(group);
  }

  /** A need's arrival is the time of the roll-up that first had it, so needs are sent as they arrived. */
  #syncNeeds(cluster: WorldCluster, before: WorldCluster | undefined): void {
    if (!cluster.reported) return;
    if (before?.reported && JSON.stringify(demand(before)) === JSON.stringify(demand(cluster))) return;
    const known = new Map(before?.needs.map((need) => [keyOf(need), need.arrivalMs]));
    const kept = cluster.needs.filter((need) => known.get(keyOf(need)) === need.arrivalMs);
    const fresh = cluster.needs.filter((need) => !kept.includes(need));
    this.#needs.accept(cluster.id, kept.map(rollupRow), 0, 0);
    const sent = [...kept];
    for (const arrivalMs of [...new Set(fresh.map((need) => need.arrivalMs))].sort((a, b) => a - b)) {
      sent.push(...fresh.filter((need) => need.arrivalMs === arrivalMs));
      this.#needs.accept(cluster.id, sent.map(rollupRow), arrivalMs, 0);
    }
  }

  #read(engine: Engine): OracleResult {
    const claims = new Map<string, string>();
    for (const machine of this.#world.machines) {
      const claim = engine.claimOf(this.#inventory.find(machine.id));
      if (claim !== null) claims.set(machine.id, this.#keyOfRefs(claim));
    }
    const verdicts: OracleVerdict[] = [];
    const parking = new Map<string, number>();
    const unmet = new Map<string, number>();
    for (const ref of this.#needs.clusterRefs()) this.#readVerdicts(engine, ref, verdicts, parking, unmet);
    return { actions: this.#readActions(engine), claims, verdicts, parking, unmet, shortfalls: this.#readShortfalls(engine) };
  }

  #readVerdicts(
    engine: Engine,
    ref: number,
    verdicts: OracleVerdict[],
    parking: Map<string, number>,
    unmet: Map<string, number>,
  ): void {
    const { clusters, groups } = this.#inventory.tables;
    const start = this.#needs.sliceStart(ref);
    for (let row = 0; row < this.#needs.sliceCount(ref); row++) {
      const cluster = clusters.get(ref);
      const { fingerprint } = this.#needs.profiles.get(this.#needs.profile[start + row]!);
      const group = groups.get(this.#needs.group[start + row]!);
      const { parkedCycles: _, ...verdict } = engine.verdict(ref, row);
      verdicts.push({ cluster, fingerprint, group, ...verdict, deficit: { ...verdict.deficit } });
      const key = needKey(cluster, group, fingerprint);
      if (verdict.cyclesUnmet > 0) unmet.set(key, verdict.cyclesUnmet);
      if (engine.parkingCount(ref, row) > 0) parking.set(key, engine.parkingCount(ref, row));
    }
  }

  #readActions({ actions }: Engine): OracleAction[] {
    const { clusters, fingerprints, groups } = this.#inventory.tables;
    return Array.from({ length: actions.count }, (_, index) => {
      const kind = actions.kind[index]! as ActionKind;
      return {
        kind: ACTION_NAMES[kind] as OracleAction['kind'],
        machine: this.#inventory.idOf(actions.slot[index]!),
        cluster: clusters.get(actions.cluster[index]!),
        forCluster: kind === Kind.Preempt ? clusters.get(actions.forCluster[index]!) : '',
        fingerprint: fingerprints.get(actions.fingerprint[index]!),
        group: groups.get(actions.group[index]!),
        reason: ACTION_REASONS[kind],
        graceSeconds: actions.graceSeconds[index]!,
      };
    });
  }

  #readShortfalls(engine: Engine): OracleResult['shortfalls'] {
    const { dimensions } = this.#inventory.shapes.vectors;
    return engine.shortfalls.map(({ fingerprint, priority, missing }) => ({
      fingerprint: this.#inventory.tables.fingerprints.get(fingerprint),
      deficit: Object.fromEntries([...missing].map(([dim, units]) => [dimensions.nameOf(dim), units])),
      priority,
    }));
  }

  #keyOfRefs({ cluster, fingerprint, group }: { cluster: number; fingerprint: number; group: number }): string {
    const { clusters, fingerprints, groups } = this.#inventory.tables;
    return needKey(clusters.get(cluster), groups.get(group), fingerprints.get(fingerprint));
  }
}

function record(machine: WorldMachine): Machine {
  const { state, stamp } = machine;
  const isBound = state === S.Configuring || state === S.Configured || state === S.Draining || state === S.Failed;
  return {
    id: machine.id,
    state,
    host: HOSTLESS.includes(state) ? null : { provider: 'test', ref: machine.id },
    instanceType: machine.instanceType,
    zone: machine.zone,
    capacityType: machine.capacityType,
    pricePerHourUsd: machine.price,
    interruptionProbability: machine.probability,
    capacity: machine.capacity,
    labels: machine.labels,
    cluster: isBound ? (stamp?.cluster ?? '') : '',
    assignment: isBound ? stamp : null,
    lastError: state === S.Failed ? 'broken' : '',
  };
}

function rollupRow(need: WorldNeed): RollupRow {
  return {
    requirements: need.requirements,
    spread: need.spread.map(({ key, maxSkew, whenUnsatisfiable }) => ({ topologyKey: key, maxSkew, whenUnsatisfiable })),
    priority: need.priority,
    interruptionBucket: need.interruptionPenalty,
    reclamationBucket: need.reclamationPenalty,
    aggregate: quantities(need.aggregate),
    minUnit: quantities(need.minUnit),
    group: need.group,
  };
}

function quantities(amounts: Amounts): Record<string, string> {
  const text = (name: string, units: number) => `${units}${name === 'memory' ? 'Ki' : 'm'}`;
  return Object.fromEntries(Object.entries(amounts).map(([name, units]) => [name, text(name, units)]));
}

function keyOf(need: WorldNeed): string {
  return `${need.group}\n${fingerprintOf(need)}`;
}

function demand({ needs }: WorldCluster): unknown {
  return needs.map(({ backoff: _, ...need }) => need);
}

function emptyWorld(): World {
  return {
    nowMs: 0,
    cycle: 0,
    ordinary: true,
    machines: [],
    clusters: [],
    parking: new Map(),
    unmet: new Map(),
    holdOnDemandMs: 0,
    holdSpotMs: 0,
  };
}
