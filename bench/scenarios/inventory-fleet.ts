/**
 * The fleet of the inventory scenarios, and its naive twin. A machine is a function of its number and a seed, so that both
 * sides hold the same machines and only the inventory stays in memory: 97 % Configured in clusters of 250, half of them in
 * racks of 40 that their labels name (as bare metal is, and cloud machines are not), ids like
 * `aws-use1a-m5.4xlarge-0001234` and hosts like `i-0123456789abcdef0`.
 */
import { DimensionTable } from '../../src/base/dimensions.ts';
import { Random } from '../../src/base/random.ts';
import { VectorTable } from '../../src/base/vectors.ts';
import type { Binding } from '../../src/inventory/binding.ts';
import { Intent } from '../../src/inventory/intent.ts';
import { Inventory } from '../../src/inventory/inventory.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { BUCKET_DOLLARS } from '../../src/machine/penalty.ts';
import { MachineState, STATE_COUNT } from '../../src/machine/state.ts';

const S = MachineState;
const TYPES = ['m5.4xlarge', 'c5.9xlarge', 'r5.8xlarge', 'p4d.24xlg', 'i3.16xlarge'];
const ZONES = ['use1a', 'use1b', 'use1c'];
const MACHINES_PER_CLUSTER = 250;
const MACHINES_PER_RACK = 40;
const FINGERPRINTS = 400;
export const NOW_MS = 1_700_000_000_000;

/** Everything about machine `index`, by its number. */
export function machineAt(index: number, machines: number): Machine {
  const random = new Random(index * 2_654_435_761);
  const rack = Math.floor(index / MACHINES_PER_RACK);
  const type = TYPES[rack % TYPES.length]!;
  const zone = ZONES[rack % ZONES.length]!;
  const draw = random.below(100);
  const state = draw < 97 ? S.Configured : draw < 99 ? S.Idle : S.Speculative;
  const isBound = state === S.Configured;
  const clusters = Math.max(1, Math.round(machines / MACHINES_PER_CLUSTER));
  return {
    id: `aws-${zone}-${type}-${String(index).padStart(7, '0')}`,
    state,
    host: state === S.Speculative ? null : { provider: 'aws', ref: `i-${hex(random)}${hex(random)}0` },
    instanceType: type,
    zone,
    capacityType: CapacityType.OnDemand,
    pricePerHourUsd: (100 + random.below(900)) / 1_000,
    interruptionProbability: 0,
    capacity: { cpu: 16_000, memory: 67_108_864 },
    labels:
      rack % 2 === 0
        ? { 'topology.kubernetes.io/rack': `rack-${rack}`, pool: 'general' }
        : { pool: 'general' },
    cluster: isBound ? `cluster-${String(random.below(clusters)).padStart(4, '0')}` : '',
    assignment: isBound
      ? {
          fingerprint: `p=${random.below(FINGERPRINTS)}|ipb=3|rpb=4|reqs=pool:1:general;|spr=`,
          group: '',
          priority: 1_000,
          interruptionPenalty: 3,
          reclamationPenalty: random.below(20),
        }
      : null,
    lastError: '',
  };
}

function hex(random: Random): string {
  return random.uint32().toString(16).padStart(8, '0');
}

export function emptyInventory(machinesMax?: number): Inventory {
  const vectors = new VectorTable(new DimensionTable());
  return new Inventory(machinesMax === undefined ? { vectors } : { vectors, machinesMax });
}

export function fullInventory(machines: number, machinesMax?: number): Inventory {
  const inventory = emptyInventory(machinesMax);
  for (let index = 0; index < machines; index++) inventory.insert(machineAt(index, machines), 0, NOW_MS);
  inventory.ensureRanks();
  return inventory;
}

/** Repeats the lifecycle of a machine in a slot: drained, unbound, bound to another cluster, configured. */
export class Lives {
  readonly #inventory: Inventory;
  readonly #binding: Binding;
  readonly #clusterCount: number;
  #step = 0;

  constructor(inventory: Inventory) {
    this.#inventory = inventory;
    const { clusters, fingerprints } = inventory.tables;
    this.#clusterCount = clusters.count;
    // A cluster that loses its last machine for a moment keeps its ref.
    for (let ref = 1; ref <= clusters.count; ref++) clusters.retain(ref);
    const need = fingerprints.intern('p=1|ipb=3|rpb=4|reqs=pool:1:general;|spr=');
    this.#binding = {
      cluster: 0,
      need,
      group: 0,
      priority: 1_000,
      interruptionPenalty: 3,
      reclamationPenalty: 4,
    };
  }

  /** Whether the machine can make a step. Assigns an Idle machine to its next cluster, as an enqueued Bootstrap does. */
  prepare(slot: number): boolean {
    const { columns } = this.#inventory;
    const state = columns.state[slot];
    if (columns.intent[slot] !== 0 && state !== S.Idle) this.#inventory.clearIntent(slot);
    if (state === S.Idle && columns.intent[slot] === 0) {
      this.#binding.cluster = 1 + (this.#step++ % this.#clusterCount);
      this.#inventory.setIntentRefs(slot, Intent.Bootstrap, this.#binding);
    }
    return state !== S.Speculative;
  }

  /** One transition. */
  advance(slot: number, nowMs: number): boolean {
    return this.#inventory.move(slot, NEXT_STATE[this.#inventory.columns.state[slot]!]!, nowMs);
  }
}

const NEXT_STATE: Partial<Record<number, MachineState>> = {
  [S.Configured]: S.Draining,
  [S.Draining]: S.Idle,
  [S.Idle]: S.Configuring,
  [S.Configuring]: S.Configured,
};

/** Plain objects in a Map; every snapshot rebuilds arrays per state, and every read of an order sorts one. */
export class NaiveFleet {
  readonly machines = new Map<string, MutableMachine>();

  constructor(machines: number) {
    // Labels and capacities are shared where they are equal: a careful naive fleet.
    const shared = new Map<string, Pick<Machine, 'labels' | 'capacity'>>();
    for (let index = 0; index < machines; index++) {
      const machine = machineAt(index, machines);
      const key = `${machine.labels['topology.kubernetes.io/rack']}|${machine.instanceType}|${machine.zone}`;
      const known = shared.get(key);
      if (known === undefined) shared.set(key, machine);
      this.machines.set(
        machine.id,
        known === undefined ? machine : { ...machine, labels: known.labels, capacity: known.capacity },
      );
    }
  }

  snapshot(): MutableMachine[][] {
    const byState: MutableMachine[][] = Array.from({ length: STATE_COUNT }, () => []);
    for (const machine of this.machines.values()) byState[machine.state]!.push(machine);
    return byState;
  }
}

export type MutableMachine = { -readonly [part in keyof Machine]: Machine[part] };

export function byAcquireOrder(a: Machine, b: Machine): number {
  if (a.pricePerHourUsd !== b.pricePerHourUsd) return a.pricePerHourUsd - b.pricePerHourUsd;
  return a.id < b.id ? -1 : 1; // ids here are ASCII, so this is their bytewise order
}

export function byKeepOrder(a: Machine, b: Machine): number {
  if (a.pricePerHourUsd !== b.pricePerHourUsd) return a.pricePerHourUsd - b.pricePerHourUsd;
  const dollarsA = BUCKET_DOLLARS[a.assignment?.reclamationPenalty ?? 0]!;
  const dollarsB = BUCKET_DOLLARS[b.assignment?.reclamationPenalty ?? 0]!;
  if (dollarsA !== dollarsB) return dollarsA > dollarsB ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}
