/**
 * Fills a provider from the catalogue: the same machines for the same seed, of the kinds that the clusters of
 * that seed ask for (src/simulation/operators). Machines that start bound carry the metadata that a shard
 * writes when it binds them, so a shard that starts with such a provider finds a working fleet. The provider
 * does not interpret the metadata.
 */
import { assert } from '../../base/assert.ts';
import { formatQuantity, isInKib } from '../../base/quantity.ts';
import type { Assignment, Machine, ResourceAmounts } from '../../machine/machine.ts';
import { BUCKET_DOLLARS } from '../../machine/penalty.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { IDLE_SHARE_OF_UNBOUND, SteadyFleet } from '../catalogue/fleet.ts';
import { DEMAND_SHARE, MACHINES_PER_CLUSTER } from '../catalogue/steady-demand.ts';
import { METADATA_PREFIX } from './faults.ts';
import type { MachineKind, StringMap } from './kinds.ts';
import type { SeedMachine } from './machines.ts';

export interface FleetPlan {
  readonly machineCount: number;
  /** Shares of all machines that start Configured and Idle; the others start Speculative. */
  readonly configuredShare: number;
  readonly idleShare: number;
  readonly clusterCount: number;
  readonly seed: number;
  /** The unit of memory and other bytes; left out: the largest one that gives a whole number. */
  readonly memoryUnit?: MemoryUnit;
}

const KIB_OF = { Ki: 1, Mi: 1024, Gi: 1024 ** 2 } as const;
export type MemoryUnit = keyof typeof KIB_OF;
export const MEMORY_UNITS = Object.keys(KIB_OF) as MemoryUnit[];

export const DEFAULT_PLAN = {
  machineCount: 1_000,
  configuredShare: 0,
  idleShare: 0.1,
  machinesPerCluster: MACHINES_PER_CLUSTER,
} as const;

/** At most the machines that the clusters ask for can start Configured. */
export const CONFIGURED_SHARE_MAX = DEMAND_SHARE;

/** A large configured share lowers the idle share, so that some Speculative machines remain. */
export function defaultIdleShare(configuredShare: number): number {
  return Math.min(DEFAULT_PLAN.idleShare, (1 - configuredShare) * IDLE_SHARE_OF_UNBOUND);
}

export function* generateMachines(catalogue: Catalogue, plan: FleetPlan): Generator<SeedMachine> {
  const { machineCount, configuredShare, idleShare, clusterCount, seed, memoryUnit } = plan;
  assert(configuredShare + idleShare <= 1, 'the shares of configured and idle machines exceed 1');
  const fleet = new SteadyFleet(machineCount, seed, {
    catalogue,
    clusterCount,
    configuredShare,
    idleShareOfUnbound: configuredShare === 1 ? 0 : idleShare / (1 - configuredShare),
  });
  // One object per rack and one per need: half a million machines share them.
  const kinds = new Map<StringMap, MachineKind>();
  const metadata = new Map<Assignment, StringMap>();
  for (const machine of fleet.machines()) {
    const { id, state, pricePerHourUsd, interruptionProbability, assignment } = machine;
    const seedMachine = {
      id,
      kind: kindOf(machine, kinds, memoryUnit),
      pricePerHourUsd,
      interruptionProbability,
      state,
    };
    if (assignment === null) yield seedMachine;
    else yield { ...seedMachine, cluster: machine.cluster, shardMetadata: metadataOf(assignment, metadata) };
  }
}

function kindOf(
  machine: Machine,
  kinds: Map<StringMap, MachineKind>,
  memoryUnit: MemoryUnit | undefined,
): MachineKind {
  const known = kinds.get(machine.labels);
  if (known !== undefined) return known;
  const { instanceType, zone, capacityType, labels, capacity } = machine;
  const kind: MachineKind = {
    instanceType,
    zone,
    capacityType,
    labels,
    resources: quantities(withDaemons(capacity), memoryUnit),
    allocatable: quantities(capacity, memoryUnit),
  };
  kinds.set(machine.labels, kind);
  return kind;
}

/** Reserved for the node's daemons: a core and 4 GiB beyond the allocatable capacity. */
const DAEMONS: ResourceAmounts = { cpu: 1_000, memory: 4 * 1024 ** 2 };

function withDaemons(capacity: ResourceAmounts): ResourceAmounts {
  return Object.fromEntries(
    Object.entries(capacity).map(([name, units]) => [name, units + (DAEMONS[name] ?? 0)]),
  );
}

function quantities(amounts: ResourceAmounts, memoryUnit: MemoryUnit | undefined): StringMap {
  return Object.fromEntries(
    Object.entries(amounts).map(([name, units]) => [
      name,
      memoryUnit !== undefined && isInKib(name)
        ? `${units / KIB_OF[memoryUnit]}${memoryUnit}` // exact: a division by a power of two
        : formatQuantity(name, units),
    ]),
  );
}

function metadataOf(assignment: Assignment, metadata: Map<Assignment, StringMap>): StringMap {
  const known = metadata.get(assignment);
  if (known !== undefined) return known;
  const made = Object.freeze({
    [`${METADATA_PREFIX}priority`]: String(assignment.priority),
    [`${METADATA_PREFIX}interruption-penalty-dollars`]: dollars(assignment.interruptionPenalty),
    [`${METADATA_PREFIX}reclamation-penalty-dollars`]: dollars(assignment.reclamationPenalty),
    [`${METADATA_PREFIX}need-fingerprint`]: assignment.fingerprint,
    [`${METADATA_PREFIX}group`]: assignment.group,
  });
  metadata.set(assignment, made);
  return made;
}

function dollars(bucket: number): string {
  const value = BUCKET_DOLLARS[bucket]!;
  return value === Number.POSITIVE_INFINITY ? '+Inf' : String(value);
}
