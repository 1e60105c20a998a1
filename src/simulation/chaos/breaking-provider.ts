/**
 * A provider behind real gRPC that accepts every Configure and fails some of them later: the bootstrap script of a need is broken,
 * and the machine is lost until a person repairs it.
 */
import { CapacityType } from '../../machine/capacity-type.ts';
import { MachineState } from '../../machine/state.ts';
import { Operator } from '../../needs/requirements.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import { SimulatedProvider } from '../provider/provider.ts';
import type { ConfigureCall } from '../provider/requests.ts';
import { type ProviderCalls, serveProvider } from '../provider/server.ts';
import { everyOperation } from '../provider/settings.ts';
import type { ProviderHandle } from './stage.ts';

const GROUP_KEY = 'bigfleet.lucy.sh/assigned-group';
const BROKEN = 'broken-';
const CPU_EACH = 8;

export const BREAKING_TEXT = 'the bootstrap script ended with 1';

export interface BreakingProvider extends ProviderHandle {
  /** By group of the need: the machines that its bootstraps broke. */
  readonly failedBy: ReadonlyMap<string, ReadonlySet<string>>;
  /** A person replaces every machine that failed. */
  repair(): void;
}

/** A need for this many machines of a breaking provider. Its bootstraps fail if it is broken. */
export function breakingRow(name: string, count: number, isBroken: boolean): RollupRow {
  return {
    requirements: [{ key: 'topology.kubernetes.io/zone', operator: Operator.Exists, values: [] }],
    aggregate: { cpu: String(count * CPU_EACH) },
    minUnit: { cpu: String(CPU_EACH) },
    priority: 1_000,
    spread: [],
    interruptionBucket: 1,
    reclamationBucket: 1,
    group: `${isBroken ? BROKEN : ''}${name}`,
  };
}

export async function breakingProvider(machineCount: number): Promise<BreakingProvider> {
  const provider = new SimulatedProvider({
    settings: { operations: everyOperation({ latency: { meanMs: 300, p99Ms: 600 } }) },
  });
  const kind = {
    instanceType: 'general-8',
    zone: 'zone-a',
    capacityType: CapacityType.Reserved,
    labels: {},
    resources: { cpu: String(CPU_EACH), memory: '32Gi' },
    allocatable: null,
  };
  for (let index = 0; index < machineCount; index++) {
    const id = `m-${String(index).padStart(4, '0')}`;
    const price = { pricePerHourUsd: 1, interruptionProbability: 0 };
    provider.add({ id, kind, ...price, state: MachineState.Idle });
  }
  const failedBy = new Map<string, Set<string>>();
  const breakIfBroken = ({ machineId, shardMetadata }: ConfigureCall) => {
    const group = shardMetadata?.[GROUP_KEY] ?? '';
    if (!group.startsWith(BROKEN)) return;
    // The ack says CONFIGURING, and the first read after it FAILED.
    provider.world.finish(machineId, BREAKING_TEXT);
    const failed = failedBy.get(group) ?? new Set();
    failedBy.set(group, failed.add(machineId));
  };
  const calls: ProviderCalls = {
    create: (call) => provider.create(call),
    configure: (call) => {
      const answer = provider.configure(call);
      if (answer.kind === 'ok') breakIfBroken(call);
      return answer;
    },
    drain: (call) => provider.drain(call),
    delete: (call) => provider.delete(call),
    get: (call) => provider.get(call),
    list: (call) => provider.list(call),
  };
  const served = await serveProvider(calls, '127.0.0.1:0');
  return {
    address: served.address,
    failedBy,
    repair: () => {
      for (const failed of failedBy.values())
        for (const machineId of failed) provider.world.reset(machineId, 'repaired');
    },
    close: async () => {
      await served.close();
      provider.close();
    },
  };
}
