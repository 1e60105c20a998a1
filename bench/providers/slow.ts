/** A provider that executes calls and answers them seconds later, as a cloud's API may. */
import { Random } from '../../src/base/random.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { MachineState } from '../../src/machine/state.ts';
import { drawLatencyMs, type Latency } from '../../src/simulation/provider/latency.ts';
import { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import { serveProvider } from '../../src/simulation/provider/server.ts';
import { ForkedProvider, forkProvider, servePlan } from './forked.ts';

export interface SlowPlan {
  /** All Idle, of type `general`, 4 cores each. */
  readonly machineCount: number;
  readonly latency: Latency;
}

export class SlowProvider extends ForkedProvider {
  static async start(plan: SlowPlan): Promise<SlowProvider> {
    return new SlowProvider(...(await forkProvider(import.meta.url, plan)));
  }
}

async function serve({ machineCount, latency }: SlowPlan): Promise<string> {
  const provider = new SimulatedProvider({ settings: { seed: 1 } });
  const kind = {
    instanceType: 'general',
    zone: 'zone-a',
    capacityType: CapacityType.Reserved,
    labels: {},
    resources: { cpu: '4', memory: '16Gi' },
    allocatable: null,
  };
  for (let index = 0; index < machineCount; index++) {
    const id = `m-${String(index).padStart(6, '0')}`;
    provider.add({ id, kind, pricePerHourUsd: 1, interruptionProbability: 0, state: MachineState.Idle });
  }
  const random = new Random(1);
  const answerDelayMs = () => drawLatencyMs(latency, random);
  const { address } = await serveProvider(provider, '127.0.0.1:0', { answerDelayMs });
  return address;
}

await servePlan(import.meta.url, serve);
