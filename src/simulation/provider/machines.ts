/** Machines as messages, and the seed records that fill a fleet. */
import { ShardError } from '../../base/errors.ts';
import { findInvalid } from '../../machine/machine.ts';
import { MachineState } from '../../machine/state.ts';
import type { Machine } from '../../wire/protocol.generated.ts';
import type { Fleet } from './fleet.ts';
import type { KindTable, MachineKind, StringMap } from './kinds.ts';

const S = MachineState;

/** A machine of the initial fleet. Machines of one kind should share the `kind` object: it is interned once. */
export interface SeedMachine {
  readonly id: string;
  readonly kind: MachineKind;
  readonly pricePerHourUsd: number;
  readonly interruptionProbability: number;
  /** Default: Speculative. */
  readonly state?: MachineState;
  readonly cluster?: string;
  readonly shardMetadata?: StringMap;
  readonly lastError?: string;
}

export class InvalidSeedError extends ShardError {
  readonly code = 'invalid_seed_machine';
  readonly next = 'reject-input';

  constructor(machineId: string, why: string) {
    super(`Seed machine ${JSON.stringify(machineId)} is invalid: ${why}. The provider did not add it.`);
  }
}

/** Whether a machine in this state must have a host. A Failed one may have one, and has one if it was bound. */
export function needsHost(state: MachineState): boolean {
  return state !== S.Speculative && state !== S.Creating && state !== S.Failed;
}

export function checkSeed(seed: SeedMachine): void {
  const state = seed.state ?? S.Speculative;
  const invalid = findInvalid(seed.id, {
    state,
    hasHost: needsHost(state),
    hasCluster: (seed.cluster ?? '') !== '',
    hasLastError: (seed.lastError ?? '') !== '',
    pricePerHourUsd: seed.pricePerHourUsd,
    interruptionProbability: seed.interruptionProbability,
  });
  if (invalid !== null) throw new InvalidSeedError(seed.id, invalid.message);
}

/** Changes with every creation, so that two hosts of one machine id are distinguishable. */
export function hostRefOf(fleet: Fleet, row: number): string {
  return `${fleet.ids[row]}/${fleet.incarnation[row]}`;
}

const NO_ENTRIES: StringMap = Object.freeze({});

/** The machine as a message: a new object whose maps are shared and frozen. */
export function machineMessage(fleet: Fleet, kinds: KindTable, providerName: string, row: number): Machine {
  const kind = kinds.kinds[fleet.kind[row]!]!;
  const binding = fleet.bindings[row] ?? null;
  return {
    id: fleet.ids[row]!,
    state: fleet.state[row]!,
    host: fleet.hosted[row] === 1 ? { provider: providerName, ref: hostRefOf(fleet, row) } : null,
    instanceType: kind.instanceType,
    zone: kind.zone,
    capacityType: kind.capacityType,
    pricePerHour: fleet.pricePerHourUsd[row]!,
    interruptionProbability: fleet.interruptionProbability[row]!,
    resources: { resources: kind.resources },
    labels: kind.labels,
    lastError: fleet.lastErrors.get(row) ?? '',
    allocatable: kind.allocatable === null ? null : { resources: kind.allocatable },
    cluster: binding?.cluster ?? '',
    shardMetadata: binding?.shardMetadata ?? NO_ENTRIES,
  };
}
