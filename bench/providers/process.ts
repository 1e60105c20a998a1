/** A simulated provider with a realistic fleet. It changes prices on request, so that a listing has changes to report. */
import { once } from 'node:events';
import { Random } from '../../src/base/random.ts';
import { CATALOGUES } from '../../src/simulation/catalogue/catalogue.ts';
import { generateMachines } from '../../src/simulation/provider/generate.ts';
import { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import { serveProvider } from '../../src/simulation/provider/server.ts';
import type { BenchContext } from '../harness.ts';
import { ForkedProvider, forkProvider, servePlan } from './forked.ts';

export interface ProviderPlan {
  readonly machineCount: number;
  readonly configuredShare: number;
  readonly idleShare: number;
}

const SEED = 1;
const MACHINES_PER_CLUSTER = 250;

export class ProviderProcess extends ForkedProvider {
  static async start(plan: ProviderPlan): Promise<ProviderProcess> {
    return new ProviderProcess(...(await forkProvider(import.meta.url, plan)));
  }

  /** The fleet of most scenarios: as many machines as the run has, 97 % of them bound. */
  static startBound(context: BenchContext): Promise<ProviderProcess> {
    const machineCount = context.params.machines;
    context.progress(`a provider process with ${machineCount} machines`);
    return ProviderProcess.start({ machineCount, configuredShare: 0.97, idleShare: 0.015 });
  }

  /** Changes the prices of this many machines. */
  async reprice(count: number): Promise<void> {
    this.child.send(count);
    await once(this.child, 'message');
  }
}

async function serve(plan: ProviderPlan): Promise<string> {
  const provider = new SimulatedProvider({ settings: { seed: SEED } });
  const ids: string[] = [];
  const clusterCount = Math.max(1, Math.round(plan.machineCount / MACHINES_PER_CLUSTER));
  for (const seed of generateMachines(CATALOGUES.realistic!, { ...plan, clusterCount, seed: SEED })) {
    provider.add(seed);
    ids.push(seed.id);
  }
  provider.prepareListings();
  const random = new Random(SEED);
  const { address } = await serveProvider(provider, '127.0.0.1:0');
  let next = 0;
  process.on('message', (count: number) => {
    // At even steps from where the last call ended: spread over the fleet, no machine twice.
    const step = Math.floor(ids.length / count);
    for (let left = count; left > 0; left--, next = (next + step) % ids.length) {
      provider.world.reprice(ids[next]!, 1 + random.unit());
    }
    next = (next + 1) % ids.length;
    process.send!('done');
  });
  return address;
}

await servePlan(import.meta.url, serve);
