/**
 * Fills a provider from the catalogue: the same machines for the same seed, of the kinds that the clusters of
 * that seed ask for (src/simulation/operators). Machines that begin bound carry what a shard would have written
 * when it bound them, so that one that starts against such a provider finds a fleet at work. The keys are the
 * shard's business: to the provider they are bytes.
 */
import { assert } from '../../base/assert.ts';
import { formatQuantity } from '../../base/quantity.ts';
import type { Assignment, Machine, ResourceAmounts } from '../../machine/machine.ts';
import { BUCKET_DOLLARS } from '../../machine/penalty.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { IDLE_SHARE_OF_UNBOUND, SteadyFleet } from '../catalogue/fleet.ts';
import { DEMAND_SHARE, MACHINES_PER_CLUSTER } from '../catalogue/steady-demand.ts';
import type { MachineKind, StringMap } from './kinds.ts';
import type { SeedMachine } from './machines.ts';

export interface FleetPlan {
  readonly machineCount: number;
  /** Shares of all machines that begin Configured and Idle; the rest are offers. */
  readonly configuredShare: number;
  readonly idleShare: number;
  readonly clusterCount: number;
  readonly seed: number;
}

export const DEFAULT_PLAN = {
  machineCount: 1_000,
  configuredShare: 0,
  idleShare: 0.1,
  machinesPerCluster: MACHINES_PER_CLUSTER,
} as const;

/** What is demanded can be in place, and no more. */
export const CONFIGURED_SHARE_MAX = DEMAND_SHARE;

/** Whoever asks for a bound fleet gets one with some offers, without having to count the idle ones down. */
export function defaultIdleShare(configuredShare: number): number {
  return Math.min(DEFAULT_PLAN.idleShare, (1 - configuredShare) * IDLE_SHARE_OF_UNBOUND);
}

export function* generateMachines(catalogue: Catalogue, plan: FleetPlan): Generator<SeedMachine> {
  const { machineCount, configuredShare, idleShare, clusterCount, seed } = plan;
  assert(configuredShare + idleShare <= 1, 'the shares of states add up to more than all');
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
    const seedMachine = { id, kind: kindOf(machine, kinds), pricePerHourUsd, interruptionProbability, state };
    if (assignment === null) yield seedMachine;
    else yield { ...seedMachine, cluster: machine.cluster, shardMetadata: metadataOf(assignment, metadata) };
  }
}

function kindOf(machine: Machine, kinds: Map<StringMap, MachineKind>): MachineKind {
  const known = kinds.get(machine.labels);
  if (known !== undefined) return known;
  const { instanceType, zone, capacityType, labels, capacity } = machine;
  const kind: MachineKind = {
    instanceType,
    zone,
    capacityType,
    labels,
    resources: quantities(withDaemons(capacity)),
    allocatable: quantities(capacity),
  };
  kinds.set(machine.labels, kind);
  return kind;
}

/** What the node's own daemons keep for themselves: a core and 4 GiB beyond what can be allocated. */
const DAEMONS: ResourceAmounts = { cpu: 1_000, memory: 4 * 1024 ** 2 };

function withDaemons(capacity: ResourceAmounts): ResourceAmounts {
  return Object.fromEntries(
    Object.entries(capacity).map(([name, units]) => [name, units + (DAEMONS[name] ?? 0)]),
  );
}

function quantities(amounts: ResourceAmounts): StringMap {
  return Object.fromEntries(
    Object.entries(amounts).map(([name, units]) => [name, formatQuantity(name, units)]),
  );
}

const METADATA_PREFIX = 'bigfleet.lucy.sh/assigned-';

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
