/**
 * A simulated provider in a process of its own, as a provider is: what it costs shows in nobody's figures but by way of
 * the cores that it takes. Told by messages to move some prices, so that a listing has something to say.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Random } from '../../src/base/random.ts';
import { CATALOGUES } from '../../src/simulation/catalogue/catalogue.ts';
import { generateMachines } from '../../src/simulation/provider/generate.ts';
import { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import { serveProvider } from '../../src/simulation/provider/server.ts';

export interface ProviderPlan {
  readonly machineCount: number;
  readonly configuredShare: number;
  readonly idleShare: number;
}

const ROLE = 'FLOTILLA_BENCH_PROVIDER';
const SEED = 1;
const MACHINES_PER_CLUSTER = 250;

export class ProviderProcess {
  readonly address: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, address: string) {
    this.#child = child;
    this.address = address;
  }

  static async start(plan: ProviderPlan): Promise<ProviderProcess> {
    const child = fork(fileURLToPath(import.meta.url), [], {
      env: { ...process.env, [ROLE]: JSON.stringify(plan) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    process.once('exit', () => child.kill('SIGKILL')); // also when the scenario is cut short
    const [address] = await once(child, 'message');
    return new ProviderProcess(child, address as string);
  }

  /** Moves the prices of so many machines. */
  async reprice(count: number): Promise<void> {
    this.#child.send(count);
    await once(this.#child, 'message');
  }

  async close(): Promise<void> {
    this.#child.kill('SIGTERM');
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
  }
}

async function serve(plan: ProviderPlan): Promise<void> {
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
    // Every so-many-th machine from where the last time ended: spread over the fleet, none twice.
    const step = Math.floor(ids.length / count);
    for (let left = count; left > 0; left--, next = (next + step) % ids.length) {
      provider.world.reprice(ids[next]!, 1 + random.unit());
    }
    next = (next + 1) % ids.length;
    process.send!('done');
  });
  process.on('disconnect', () => process.exit(0));
  process.send!(address);
}

const plan = process.env[ROLE];
if (plan !== undefined) await serve(JSON.parse(plan) as ProviderPlan);
