/**
 * Starts a simulated provider in a process of its own, as a real provider is, so that its cost shows in the figures only
 * through the cores that it takes. The child runs the same module again: a variable of its environment carries the plan.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const PLAN = 'FLOTILLA_BENCH_PROVIDER_PLAN';
const MODULE = 'FLOTILLA_BENCH_PROVIDER_MODULE';

export class ForkedProvider {
  readonly address: string;
  protected readonly child: ChildProcess;

  protected constructor(child: ChildProcess, address: string) {
    this.child = child;
    this.address = address;
  }

  async close(): Promise<void> {
    this.child.kill('SIGKILL'); // calls may be waiting for their answers
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
  }
}

/** `moduleUrl` calls `servePlan` when it is loaded. */
export async function forkProvider(
  moduleUrl: string,
  plan: object,
): Promise<readonly [child: ChildProcess, address: string]> {
  const child = fork(fileURLToPath(moduleUrl), [], {
    env: { ...process.env, [MODULE]: moduleUrl, [PLAN]: JSON.stringify(plan) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  process.once('exit', () => child.kill('SIGKILL')); // also when the scenario is cut short
  const [address] = await once(child, 'message');
  return [child, address as string];
}

/** Does nothing except in the child: there `serve` starts the provider and returns its address. */
export async function servePlan<Plan>(
  moduleUrl: string,
  serve: (plan: Plan) => Promise<string>,
): Promise<void> {
  if (process.env[MODULE] !== moduleUrl) return;
  const address = await serve(JSON.parse(process.env[PLAN]!) as Plan);
  process.on('disconnect', () => process.exit(0));
  process.send!(address);
}
