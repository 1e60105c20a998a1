/** A machine for tests: Idle, unless the test overrides it. */
import { DimensionTable } from '../../src/base/dimensions.ts';
import { VectorTable } from '../../src/base/vectors.ts';
import { Inventory, type InventoryOptions } from '../../src/inventory/inventory.ts';
import type { Assignment, Machine } from '../../src/machine/machine.ts';
import { MachineState as S } from '../../src/machine/state.ts';

export function machine(parts: Partial<Machine> = {}): Machine {
  return {
    id: 'm-1',
    state: S.Idle,
    host: { provider: 'aws', ref: 'i-0123' },
    instanceType: 'm5.4xlarge',
    zone: 'use1a',
    capacityType: 3,
    pricePerHourUsd: 0.77,
    interruptionProbability: 0,
    capacity: { cpu: 16_000, memory: 67_108_864 },
    labels: { rack: 'r1' },
    cluster: '',
    assignment: null,
    lastError: '',
    ...parts,
  };
}

export const ASSIGNMENT: Assignment = {
  fingerprint: 'p=100|…',
  group: 'gang-7',
  priority: 100,
  interruptionPenalty: 4,
  reclamationPenalty: 27,
};

export function inventory(options: Partial<InventoryOptions> = {}): Inventory {
  const vectors = new VectorTable(new DimensionTable());
  return new Inventory({ vectors, machinesMax: 64, guards: true, ...options });
}

/** The parts of a valid record in each state, so that only the part under test can be wrong. */
export function inState(state: Machine['state'], parts: Partial<Machine> = {}): Machine {
  const hasHost = state !== S.Speculative && state !== S.Creating;
  const isBound = state === S.Configuring || state === S.Configured || state === S.Draining;
  return machine({
    state,
    host: hasHost ? { provider: 'aws', ref: 'i-0123' } : null,
    cluster: isBound ? 'east' : '',
    assignment: isBound ? ASSIGNMENT : null,
    lastError: state === S.Failed ? 'it broke' : '',
    ...parts,
  });
}
