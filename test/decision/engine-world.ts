/**
 * Lets the engine decide the oracle's worlds: applies the changes between two worlds of plain objects to a real inventory
 * and a real need table, and reads the engine's answer back as plain objects.
 */
import {
  ACTION_NAMES,
  ACTION_REASONS,
  type ActionKind,
  ActionKind as Kind,
  Victim,
} from '../../src/decision/actions.ts';
import type { Placement } from '../../src/decision/assign/placement.ts';
import { deriveFromScratch } from '../../src/decision/check.ts';
import { type CycleInput, Engine, type EngineOptions } from '../../src/decision/engine.ts';
import type { LimitSource } from '../../src/decision/limits.ts';
import type { Inventory } from '../../src/inventory/inventory.ts';
import { MachineState } from '../../src/machine/state.ts';
import type { NeedTable } from '../../src/needs/need-table.ts';
import { fingerprintOf } from '../oracle/profile.ts';
import {
  needKey,
  type OracleAction,
  type OracleResult,
  type OracleVerdict,
  type World,
  type WorldCluster,
  type WorldMachine,
  type WorldNeed,
} from '../oracle/world.ts';
import {
  acceptAsArrived,
  enqueueIntent,
  INTENTS,
  insertMachine,
  makeTables,
  noteDrain,
  recordOf,
  setFlags,
} from './world-tables.ts';

const S = MachineState;

export interface EngineWorldOptions {
  /** A low limit makes labels fine in a small world, which takes the paths of large fleets. */
  readonly coarseValuesMax?: number;
  readonly ownLabelKeys?: readonly string[];
  /** E1; absent: needs acquire by A3. */
  readonly placement?: Placement;
  /** T2: lets decisions throw. */
  readonly probe?: NonNullable<EngineOptions['probe']>;
}

interface AppliedMachine {
  readonly machine: WorldMachine;
  readonly text: string;
}

export class EngineWorld {
  readonly #inventory: Inventory;
  readonly #needs: NeedTable;
  readonly #engine: Engine;
  readonly #options: EngineOptions;
  #world: World = emptyWorld();
  /** By id: the machine as it was applied, and the same as text, which tells whether it has changed. */
  #applied = new Map<string, AppliedMachine>();
  /** Machines whose change could not be applied, so that they were removed and inserted again. */
  replacedCount = 0;
  updatedCount = 0;

  constructor(options: EngineWorldOptions = {}) {
    const { inventory, needs } = makeTables(options);
    this.#inventory = inventory;
    this.#needs = needs;
    this.#options = this.#engineOptions(options);
    this.#engine = new Engine(this.#options);
  }

  /** Applies the changes to inventory and needs, and decides incrementally. */
  decide(world: World): OracleResult {
    this.#sync(world);
    this.#engine.decide(inputOf(world));
    return this.#read(this.#engine);
  }

  /** The same world decided by a new engine that knows only the tables; call it before `decide`. */
  decideFromScratch(world: World): OracleResult {
    this.#sync(world);
    const input = inputOf(world);
    const fromScratch = deriveFromScratch(this.#engine, this.#options, input);
    const result = this.#read(fromScratch);
    fromScratch.close();
    return result;
  }

  get engine(): Engine {
    return this.#engine;
  }

  #engineOptions({ coarseValuesMax, probe, placement }: EngineWorldOptions): EngineOptions {
    const { clusters, fingerprints, groups } = this.#inventory.tables;
    const find = (ref: number): WorldCluster | undefined =>
      this.#world.clusters.find(({ id }) => id === clusters.get(ref));
    return {
      inventory: this.#inventory,
      needs: this.#needs,
      hasSession: (cluster) => find(cluster)?.hasSession ?? false,
      inBackoff: (cluster, fingerprint, group) =>
        find(cluster)?.needs.some(
          (need) =>
            need.backoff &&
            need.group === groups.get(group) &&
            fingerprintOf(need) === fingerprints.get(fingerprint),
        ) ?? false,
      isPaused: (cluster) => find(cluster)?.paused === true,
      limits: this.#limits(find),
      holds: this.#holds,
      ...(coarseValuesMax === undefined ? {} : { coarseValuesMax }),
      ...(probe === undefined ? {} : { probe }),
      ...(placement === undefined ? {} : { placement }),
    };
  }

  #limits(find: (ref: number) => WorldCluster | undefined): LimitSource {
    const version = () => this.#limitsVersion;
    const ceilings = () => this.#world.ceilings ?? null;
    return {
      get ceilings() {
        return ceilings();
      },
      get version() {
        return version();
      },
      of: (cluster) => find(cluster)?.limits ?? null,
    };
  }

  #limitsVersion = 0;
  readonly #holds = { onDemandMs: 0, spotMs: 0 };

  #sync(world: World): void {
    const before = this.#world;
    if (world === before) return;
    this.#world = world;
    if (limitsOf(world) !== limitsOf(before)) this.#limitsVersion++;
    this.#holds.onDemandMs = world.holdOnDemandMs;
    this.#holds.spotMs = world.holdSpotMs;
    if (before.clusters.length === 0) this.#seedCounts(world);
    const applied = new Map(
      world.machines.map((machine) => [machine.id, { machine, text: JSON.stringify(machine) }]),
    );
    for (const id of this.#applied.keys()) {
      if (!applied.has(id)) this.#inventory.remove(this.#inventory.find(id));
    }
    for (const [id, now] of applied) this.#syncMachine(now, this.#applied.get(id));
    this.#applied = applied;
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

  #syncMachine({ machine, text }: AppliedMachine, applied: AppliedMachine | undefined): void {
    if (applied === undefined) {
      insertMachine(this.#inventory, this.#engine, machine);
      return;
    }
    if (applied.text === text) return;
    const before = applied.machine;
    this.updatedCount++;
    const slot = this.#inventory.find(machine.id);
    const lostDrain =
      before.drainFor !== null && JSON.stringify(before.drainFor) !== JSON.stringify(machine.drainFor);
    const isSameStay = machine.state === before.state && machine.stateSinceMs !== before.stateSinceMs;
    // An observation never clears the assignment of a Creating machine, so only a new machine can lack one.
    const lostAssignment =
      machine.state === S.Creating && machine.assignment === null && before.assignment !== null;
    try {
      if (isSameStay || lostAssignment || (lostDrain && machine.state === S.Draining))
        throw new Error('the inventory cannot apply this change');
      this.#update(slot, machine, before);
    } catch {
      this.replacedCount++;
      this.#inventory.remove(slot);
      insertMachine(this.#inventory, this.#engine, machine);
    }
  }

  #update(slot: number, machine: WorldMachine, before: WorldMachine): void {
    const isEnqueued = machine.intent === 'bootstrap' || machine.intent === 'provision';
    if (before.intent !== machine.intent && machine.state === before.state) this.#inventory.clearIntent(slot);
    const { cluster: _, assignment: __, id: ___, ...facts } = recordOf(machine);
    const binding =
      isEnqueued || machine.assignment === null
        ? {}
        : { cluster: machine.assignment.cluster, assignment: machine.assignment };
    const unbound = !isEnqueued && machine.assignment === null ? { cluster: '', assignment: null } : {};
    this.#inventory.apply(slot, { ...facts, ...binding, ...unbound }, machine.stateSinceMs, { force: true });
    if (this.#inventory.columns.intent[slot] !== INTENTS[machine.intent]) {
      this.#inventory.clearIntent(slot); // the action has settled
      if (machine.intent !== 'none') enqueueIntent(this.#inventory, slot, machine);
    }
    setFlags(this.#inventory, slot, machine);
    if (JSON.stringify(before.drainFor) !== JSON.stringify(machine.drainFor))
      noteDrain(this.#inventory, this.#engine, slot, machine);
  }

  #syncNeeds(cluster: WorldCluster, before: WorldCluster | undefined): void {
    if (!cluster.reported) return;
    if (before?.reported && JSON.stringify(demand(before)) === JSON.stringify(demand(cluster))) return;
    const known = new Map(before?.needs.map((need) => [keyOf(need), need.arrivalMs]));
    const kept = cluster.needs.filter((need) => known.get(keyOf(need)) === need.arrivalMs);
    const arrived = cluster.needs.filter((need) => !kept.includes(need));
    acceptAsArrived(this.#needs, cluster.id, kept, arrived);
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
    return {
      actions: this.#readActions(engine),
      claims,
      verdicts,
      parking,
      unmet,
      shortfalls: this.#readShortfalls(engine),
    };
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
    engine.verdictsOf(ref, (row, { parkedCycles: _, ...verdict }) => {
      const cluster = clusters.get(ref);
      const { fingerprint } = this.#needs.profiles.get(this.#needs.profile[start + row]!);
      const group = groups.get(this.#needs.group[start + row]!);
      verdicts.push({ cluster, fingerprint, group, ...verdict, deficit: { ...verdict.deficit } });
      const key = needKey(cluster, group, fingerprint);
      if (verdict.cyclesUnmet > 0) unmet.set(key, verdict.cyclesUnmet);
      if (engine.parkingCount(ref, row) > 0) parking.set(key, engine.parkingCount(ref, row));
    });
  }

  #readActions({ actions }: Engine): OracleAction[] {
    const { clusters, fingerprints, groups } = this.#inventory.tables;
    return Array.from({ length: actions.count }, (_, index) => {
      const kind = actions.kind[index]! as ActionKind;
      return {
        kind: ACTION_NAMES[kind] as OracleAction['kind'],
        machine: this.#inventory.idOf(actions.slot[index]!),
        cluster: clusters.get(actions.cluster[index]!),
        forCluster:
          kind === Kind.Preempt || kind === Kind.Withdraw ? clusters.get(actions.forCluster[index]!) : '',
        fingerprint: fingerprints.get(actions.fingerprint[index]!),
        group: groups.get(actions.group[index]!),
        reason: ACTION_REASONS[kind],
        graceSeconds: actions.graceSeconds[index]!,
        isClaimedVictim: (actions.victim[index]! & Victim.Claimed) !== 0,
        isGangVictim: (actions.victim[index]! & Victim.OfGang) !== 0,
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

  #keyOfRefs({
    cluster,
    fingerprint,
    group,
  }: {
    cluster: number;
    fingerprint: number;
    group: number;
  }): string {
    const { clusters, fingerprints, groups } = this.#inventory.tables;
    return needKey(clusters.get(cluster), groups.get(group), fingerprints.get(fingerprint));
  }
}

function limitsOf({ clusters }: World): string {
  const text = (_: string, value: unknown) => (value === Number.POSITIVE_INFINITY ? 'none' : value);
  return JSON.stringify(
    clusters.map(({ id, limits }) => [id, limits]),
    text,
  );
}

function inputOf({ nowMs, ordinary, countsHeld = false }: World): CycleInput {
  return { nowMs, isOrdinary: ordinary, areCountsHeld: countsHeld };
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
