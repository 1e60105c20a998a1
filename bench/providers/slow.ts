/** A provider in a process of its own that carries calls out and answers them seconds later, as a cloud's API may. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Random } from '../../src/base/random.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { MachineState } from '../../src/machine/state.ts';
import { drawLatencyMs, type Latency } from '../../src/simulation/provider/latency.ts';
import { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import { serveProvider } from '../../src/simulation/provider/server.ts';

export interface SlowPlan {
  /** All Idle, of type `general`, 4 cores each. */
  readonly machineCount: number;
  readonly latency: Latency;
}

const ROLE = 'FLOTILLA_BENCH_SLOW_PROVIDER';

export class SlowProvider {
  readonly address: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, address: string) {
    this.#child = child;
    this.address = address;
  }

  static async start(plan: SlowPlan): Promise<SlowProvider> {
    const child = fork(fileURLToPath(import.meta.url), [], {
      env: { ...process.env, [ROLE]: JSON.stringify(plan) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    process.once('exit', () => child.kill('SIGKILL')); // also when the scenario is cut short
    const [address] = await once(child, 'message');
    return new SlowProvider(child, address as string);
  }

  async close(): Promise<void> {
    this.#child.kill('SIGKILL'); // calls may be waiting for their answers
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
  }
}

async function serve({ machineCount, latency }: SlowPlan): Promise<void> {
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
  process.on('disconnect', () => process.exit(0));
  process.send!(address);
}

const plan = process.env[ROLE];
if (plan !== undefined) await serve(JSON.parse(plan) as SlowPlan);
