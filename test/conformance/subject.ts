/** Providers that the suite judges: the simulated one behind real gRPC, as it is or with a mutation. */

import { type CheckResult, type Report, runConformance } from '../../src/conformance/run.ts';
import type { Settings } from '../../src/conformance/settings.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { isTransitional, MachineState } from '../../src/machine/state.ts';
import type { MachineKind } from '../../src/simulation/provider/kinds.ts';
import { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import { type ProviderCalls, serveProvider } from '../../src/simulation/provider/server.ts';
import { everyOperation, type ProviderSettingsChange } from '../../src/simulation/provider/settings.ts';

const S = MachineState;

const KIND: MachineKind = {
  instanceType: 'm-large',
  zone: 'zone-a',
  capacityType: CapacityType.OnDemand,
  labels: { 'topology.kubernetes.io/rack': 'r1' },
  resources: { cpu: '16', memory: '64Gi' },
  allocatable: { cpu: '15500m', memory: '61Gi' },
};

export interface Population {
  readonly speculative: number;
  readonly idle: number;
  readonly failed: number;
  /** Bound by another client: the suite must not call them. */
  readonly configured: number;
}

export const USUAL_POPULATION: Population = { speculative: 6, idle: 4, failed: 1, configured: 3 };

export const SYNCHRONOUS: ProviderSettingsChange = {};
/** Operations end after random delays, as with a real provider. */
export const SLOW: ProviderSettingsChange = {
  operations: everyOperation({ latency: { meanMs: 15, p99Ms: 40 } }),
};
/** Operations end only when `endsWhenRead` ends them, however slow the test is. */
export const ASYNCHRONOUS: ProviderSettingsChange = { operations: everyOperation({ hangProbability: 1 }) };

/** Gets that show the transitional state before the operation ends. */
const READS_UNTIL_END = 1;

/** Ends an operation at the second Get of its machine, so that no test depends on time. */
export function endsWhenRead(calls: ProviderCalls, provider: SimulatedProvider): ProviderCalls {
  const readCounts = new Map<string, number>();
  return {
    ...calls,
    get(call) {
      const machine = provider.get(call);
      const isUnderWay = machine.kind === 'ok' && isTransitional(machine.value.state as MachineState);
      const readCount = isUnderWay ? (readCounts.get(call.id) ?? 0) : 0;
      const isOver = readCount === READS_UNTIL_END;
      if (isOver) provider.world.finish(call.id);
      readCounts.set(call.id, isUnderWay && !isOver ? readCount + 1 : 0);
      return calls.get(call);
    },
  };
}

export function newProvider(
  settings: ProviderSettingsChange = SYNCHRONOUS,
  population: Population = USUAL_POPULATION,
): SimulatedProvider {
  const provider = new SimulatedProvider({ settings });
  const add = (name: string, count: number, rest: object) => {
    for (let index = 0; index < count; index++) {
      const seed = { kind: KIND, pricePerHourUsd: 1 + index, interruptionProbability: 0.01 };
      provider.add({ id: `${name}-${index}`, ...seed, ...rest });
    }
  };
  add('offer', population.speculative, { state: S.Speculative });
  add('idle', population.idle, { state: S.Idle });
  add('failed', population.failed, { state: S.Failed, lastError: 'the power supply is on fire' });
  const binding = { cluster: 'another-client', shardMetadata: { theirs: 'yes' } };
  add('bound', population.configured, { state: S.Configured, ...binding });
  return provider;
}

export async function judge(calls: ProviderCalls, change: Partial<Settings> = {}): Promise<Report> {
  const served = await serveProvider(calls, '127.0.0.1:0', { closeGraceMs: 10 });
  try {
    return await runConformance({ ...settingsFor(served.address), ...change });
  } finally {
    await served.close();
  }
}

export function settingsFor(target: string): Settings {
  return {
    target,
    transitionTimeoutMs: 30_000,
    callTimeoutMs: 30_000,
    style: 'auto',
    shardId: 'conformance-test',
    epoch: 1_700_000_000_000,
    allowDelete: false,
    only: [],
  };
}

export function resultsWith(report: Report, outcome: CheckResult['outcome']): string[] {
  return report.results.filter((result) => result.outcome === outcome).map((result) => result.id);
}
