// Question: what does a shard's first decision cost, with 500,000 Idle machines and 50,000 needs? And the cycles after it:
// when all its actions are done, and when nothing changed. Every sample is a new fleet, built and loaded untimed, with ids
// ranked at load as a shard does when it applies its first listing; only `decide` is timed.

import { CapacityType } from '../../src/machine/capacity-type.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState } from '../../src/machine/state.ts';
import { fingerprintOf, Operator } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { INSTANCE_TYPE_KEY, ZONE_PRICE_FACTORS, ZONES } from '../../src/simulation/catalogue/hardware.ts';
import { ClosedLoop } from '../catalogue/closed-loop.ts';
import { CYCLE_MS, EngineFleet } from '../catalogue/engine-fleet.ts';
import type { BenchContext, Scenario } from '../harness.ts';

interface Type {
  readonly name: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly pricePerHourUsd: number;
}

const TYPES: readonly Type[] = [
  { name: 'general-16', cores: 16, memoryGib: 64, pricePerHourUsd: 0.81 },
  { name: 'general-32', cores: 32, memoryGib: 128, pricePerHourUsd: 1.62 },
  { name: 'compute-32', cores: 32, memoryGib: 64, pricePerHourUsd: 1.42 },
  { name: 'compute-64', cores: 64, memoryGib: 128, pricePerHourUsd: 2.84 },
  { name: 'memory-32', cores: 32, memoryGib: 512, pricePerHourUsd: 4.1 },
];
const GIB = 1024 * 1024; // KiB
const CLUSTERS = 50;
export const NEEDS = 50_000;
const PRIORITY_LOWEST = 1_000;
const PRIORITY_HIGHEST = 10_000;
/** Buckets $1 to $128, drawn independently for each penalty. */
const PENALTY_LOWEST = 3;
const PENALTIES = 8;

export interface TypedFleetPlan {
  /** Default: as many as the needs ask for. */
  readonly machines?: number;
  readonly needs: number;
  readonly clusters?: number;
  /** Machines that each need asks for; machines beyond that are Idle. */
  readonly machinesPerNeed: number;
  /** Whether the needs have their machines already, Configured and assigned; else all machines are Idle. */
  readonly isBound: boolean;
  /** Whether ids are in the order of the listing, as when a provider numbers its machines; else they are scattered. */
  readonly isNumbered?: boolean;
}

/**
 * A fleet of five machine types: every need asks for one type, in any of three zones, with a priority of its own from 1,000
 * to 10,000. All machines are reserved, so the shard releases none that has been Idle: an hour of cycles finds the same
 * fleet.
 */
export class TypedFleet extends EngineFleet {
  readonly plan: TypedFleetPlan;
  readonly clusterCount: number;
  readonly needsPerCluster: number;

  constructor(plan: TypedFleetPlan) {
    const clusterCount = plan.clusters ?? CLUSTERS;
    const needsPerCluster = Math.floor(plan.needs / clusterCount);
    const machines = plan.machines ?? clusterCount * needsPerCluster * plan.machinesPerNeed;
    super(machines);
    this.plan = plan;
    this.clusterCount = clusterCount;
    this.needsPerCluster = needsPerCluster;
    for (let index = 0; index < machines; index++) this.insert(this.#machine(index));
    for (let cluster = 0; cluster < this.clusterCount; cluster++) this.ask(cluster);
  }

  get needCount(): number {
    return this.clusterCount * this.needsPerCluster;
  }

  /** Machines that the needs ask for together. */
  get wantedMachines(): number {
    return this.needCount * this.plan.machinesPerNeed;
  }

  get typeCount(): number {
    return TYPES.length;
  }

  /** Sends the cluster's roll-up: its steady rows after `change`, and `more`. */
  ask(
    cluster: number,
    change: (need: number) => number = () => this.plan.machinesPerNeed,
    more: readonly RollupRow[] = [],
  ): void {
    const rows: RollupRow[] = [];
    for (let need = 0; need < this.needsPerCluster; need++) {
      const machines = change(need);
      if (machines > 0) rows.push(this.row(need % TYPES.length, this.#priority(need), machines, need));
    }
    this.rollUp(clusterId(cluster), [...rows, ...more]);
  }

  row(type: number, priority: number, machines: number, penaltySeed: number): RollupRow {
    const { name, cores, memoryGib } = TYPES[type]!;
    return {
      requirements: [{ key: INSTANCE_TYPE_KEY, operator: Operator.In, values: [name] }],
      aggregate: { cpu: String(cores * machines), memory: `${memoryGib * machines}Gi` },
      minUnit: { cpu: '4', memory: '8Gi' },
      priority,
      spread: [],
      interruptionBucket: PENALTY_LOWEST + (penaltySeed % PENALTIES),
      reclamationBucket: PENALTY_LOWEST + (Math.floor(penaltySeed / PENALTIES) % PENALTIES),
      group: '',
    };
  }

  #priority(need: number): number {
    const step = (PRIORITY_HIGHEST - PRIORITY_LOWEST) / Math.max(1, this.needsPerCluster - 1);
    return PRIORITY_LOWEST + Math.round(step * need);
  }

  /** Neighbours in the listing belong to different clusters, as when one provider serves many. */
  #machine(index: number): Machine {
    const { isBound } = this.plan;
    const place = index % this.needCount;
    const need = Math.floor(place / this.clusterCount);
    const serves = isBound && index < this.wantedMachines;
    const type = isBound ? need % TYPES.length : index % TYPES.length;
    const zone = Math.floor(index / TYPES.length) % ZONES.length;
    const { name, cores, memoryGib, pricePerHourUsd } = TYPES[type]!;
    return {
      id: this.plan.isNumbered === true ? numberedId(index) : scatteredId(index),
      state: serves ? MachineState.Configured : MachineState.Idle,
      host: { provider: 'catalogue', ref: `host-${index}` },
      instanceType: name,
      zone: ZONES[zone]!,
      capacityType: CapacityType.Reserved,
      pricePerHourUsd: pricePerHourUsd * ZONE_PRICE_FACTORS[zone]!,
      interruptionProbability: 0,
      capacity: { cpu: cores * 1_000, memory: memoryGib * GIB },
      labels: {},
      cluster: serves ? clusterId(place % this.clusterCount) : '',
      assignment: serves ? this.#assignment(need) : null,
      lastError: '',
    };
  }

  readonly #assignments = new Map<number, NonNullable<Machine['assignment']>>();

  #assignment(need: number): NonNullable<Machine['assignment']> {
    let assignment = this.#assignments.get(need);
    if (assignment === undefined) {
      const row = this.row(need % TYPES.length, this.#priority(need), 1, need);
      const { priority, group, interruptionBucket, reclamationBucket } = row;
      const penalties = { interruptionPenalty: interruptionBucket, reclamationPenalty: reclamationBucket };
      assignment = { fingerprint: fingerprintOf({ ...row, ...penalties }), group, priority, ...penalties };
      this.#assignments.set(need, assignment);
    }
    return assignment;
  }
}

function clusterId(cluster: number): string {
  return `cluster-${String(cluster).padStart(4, '0')}`;
}

function numberedId(index: number): string {
  return `machine-${String(index).padStart(7, '0')}`;
}

/** An odd factor maps the numbers below 2^32 one to one, so no two ids are equal. */
function scatteredId(index: number): string {
  return `i-${(Math.imul(index + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0')}`;
}

/**
 * One cycle, ten seconds after the last: the time of `decide` alone and of each phase, by the clock and in CPU time of the
 * process (which includes the runtime's own threads, but not other processes).
 */
export function timeCycle(
  context: BenchContext,
  name: string,
  fleet: EngineFleet,
): ReturnType<EngineFleet['decide']> & { readonly ms: number } {
  fleet.nowMs += CYCLE_MS;
  const cpuBefore = process.cpuUsage();
  const before = performance.now();
  const cost = fleet.decide();
  const ms = performance.now() - before;
  const { user, system } = process.cpuUsage(cpuBefore);
  context.sample(name, 'ms', ms);
  context.sample(`${name}: cpu`, 'ms', (user + system) / 1_000);
  for (const [phase, phaseMs] of fleet.phaseMs) context.sample(`${name}: ${phase}`, 'ms', phaseMs);
  return { ...cost, ms };
}

const QUIET_CYCLES = 10;

/** Checks that the next cycle, untimed, has every need satisfied and no action. */
export function checkSettled(context: BenchContext, fleet: EngineFleet, text: string): void {
  fleet.nowMs += CYCLE_MS;
  const { unmetNeeds } = fleet.decide();
  context.check(unmetNeeds === 0 && fleet.engine.actions.count === 0, text);
}

/** Cycles in which nothing changed; they must decide the same number of `actions` as before. */
export function timeQuietCycles(context: BenchContext, name: string, fleet: EngineFleet, actions = 0): void {
  context.gc();
  for (let cycle = 0; cycle < QUIET_CYCLES; cycle++) {
    const { changedMachines, changedClusters } = timeCycle(context, name, fleet);
    context.check(changedMachines + changedClusters === 0, `${name}: nothing changed`);
    context.check(fleet.engine.actions.count === actions, `${name}: the decision is the same`);
  }
}

/** The share of the fleet's machines that its needs ask for. */
const WANTED_SHARE = 0.7;

/** The fleets in order: the name of their first cycle, and whether their ids are in the order of the listing. */
const FLEETS = [
  // A shard's very first decision runs code that is not compiled yet: shown apart.
  ['first, code not compiled', true],
  ['first', true],
  ['first', true],
  ['first', true],
  // With scattered ids, lists in order of ids jump through memory.
  ['first, ids scattered', false],
  ['first, ids scattered', false],
] as const;

export const scenario: Scenario = {
  name: 'cycle-steady',
  question:
    'What does the first cycle cost, with every machine Idle and every need unmet, and the ones after it?',
  defaults: { machines: 500_000, needs: NEEDS, seconds: 60 },
  targets: [{ name: 'first cycle', metric: 'first', limit: 200, direction: 'below' }],
  async run(context) {
    const { machines, needs, seconds } = context.params;
    const machinesPerNeed = Math.floor((machines * WANTED_SHARE) / needs);
    context.check(machinesPerNeed > 0, 'every need can have a machine');
    const deadline = performance.now() + seconds * 1_000;
    for (const [number, [name, isNumbered]] of FLEETS.entries()) {
      const isRepeat = FLEETS[number - 1]?.[0] === name;
      if (isRepeat && performance.now() > deadline) continue;
      context.progress(`fleet ${number + 1} of ${FLEETS.length}`);
      const fleet = new TypedFleet({ machines, needs, machinesPerNeed, isBound: false, isNumbered });
      const rankStart = performance.now();
      fleet.inventory.ensureRanks();
      context.sample(
        `id ranks at load${isNumbered ? '' : ', ids scattered'}`,
        'ms',
        performance.now() - rankStart,
      );

      context.gc();
      const first = timeCycle(context, name, fleet);
      context.sample(`${name}: per need`, 'us', (first.ms * 1_000) / fleet.needCount);
      context.check(first.changedMachines === machines, 'every machine was evaluated');
      context.check(first.unmetNeeds === fleet.needCount, 'no need had a machine before');
      const decided = fleet.engine.actions.count;
      context.check(decided === fleet.wantedMachines, 'every need was given all its machines');

      new ClosedLoop(fleet).execute();
      context.gc();
      const nextName = isNumbered ? 'all bound' : 'all bound, ids scattered';
      const bound = timeCycle(context, nextName, fleet);
      context.sample(`${nextName}: per need`, 'us', (bound.ms * 1_000) / fleet.needCount);
      context.check(bound.changedMachines === decided, 'every action was executed');
      context.check(bound.unmetNeeds === 0 && fleet.engine.actions.count === 0, 'nothing is left to do');
      timeQuietCycles(context, 'nothing changed', fleet);
    }
    context.sample('needs', 'needs', needs);
  },
};
