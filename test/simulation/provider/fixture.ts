/** Shared by the tests of the simulated provider: one kind of machine, increasing tokens. */
import { CapacityType } from '../../../src/machine/capacity-type.ts';
import { MachineState } from '../../../src/machine/state.ts';
import type { MachineKind } from '../../../src/simulation/provider/kinds.ts';
import type { SeedMachine } from '../../../src/simulation/provider/machines.ts';
import { SimulatedProvider } from '../../../src/simulation/provider/provider.ts';
import type { Answer } from '../../../src/simulation/provider/requests.ts';
import type { ProviderSettingsChange } from '../../../src/simulation/provider/settings.ts';
import { VirtualTimers } from '../../../src/simulation/provider/timers.ts';

export const S = MachineState;

export const KIND: MachineKind = {
  instanceType: 'small-4',
  zone: 'zone-a',
  capacityType: CapacityType.OnDemand,
  labels: { 'topology.kubernetes.io/rack': 'r1', 'kubernetes.io/arch': 'amd64' },
  resources: { cpu: '4', memory: '16Gi' },
  allocatable: { cpu: '3900m', memory: '15Gi' },
};

export function seed(id: string, change: Partial<SeedMachine> = {}): SeedMachine {
  return { id, kind: KIND, pricePerHourUsd: 0.25, interruptionProbability: 0.01, ...change };
}

/** A machine in any state, with the fields that the state requires. */
export function seedIn(state: MachineState, id: string): SeedMachine {
  const isBound = state === S.Configuring || state === S.Configured || state === S.Draining;
  return seed(id, {
    state,
    ...(isBound ? { cluster: 'blue', shardMetadata: { key: 'value' } } : {}),
    ...(state === S.Failed ? { lastError: 'broken' } : {}),
  });
}

export interface Rig {
  readonly provider: SimulatedProvider;
  readonly timers: VirtualTimers;
}

export function rig(settings: ProviderSettingsChange, seeds: readonly SeedMachine[]): Rig {
  const timers = new VirtualTimers(1_000_000);
  const provider = new SimulatedProvider({ settings, timers });
  for (const each of seeds) provider.add(each);
  return { provider, timers };
}

export function value<Value>(answer: Answer<Value>): Value {
  if (answer.kind !== 'ok') throw new Error(`expected an answer, got ${JSON.stringify(answer)}`);
  return answer.value;
}

/** 'ok', 'silent' or the code of the refusal. */
export function outcome(answer: Answer<unknown>): string {
  return answer.kind === 'refused' ? answer.code : answer.kind;
}

/** Increasing tokens of one shard. */
export class Shard {
  readonly #shardId: string;
  #sequence = 0;

  constructor(shardId = 'shard-1') {
    this.#shardId = shardId;
  }

  next(machineId: string) {
    return this.at(machineId, 1, ++this.#sequence);
  }

  at(machineId: string, shardEpoch: number | bigint, sequenceNumber: number | bigint) {
    return { machineId, shardId: this.#shardId, shardEpoch, sequenceNumber };
  }
}
