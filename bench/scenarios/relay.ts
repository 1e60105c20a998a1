/**
 * Question: what do 2,000 sessions cost the standby that relays them? This process is the relay; the active replica and the
 * operators have processes of their own. At rest an operator repeats its roll-up every ten seconds, and the operators do so at different
 * times. `burst` is the same after a restart, all at once. Seed 1.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ActiveReplica } from '../../src/relay/ports.ts';
import { Relay } from '../../src/relay/relay.ts';
import { OperatorServer } from '../../src/session/server.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import type { BenchContext, Scenario } from '../harness.ts';
import type { Listening } from '../sessions/active-replica.ts';
import type { Command, Done } from '../sessions/operators.ts';
import { BenchShard } from '../sessions/shard.ts';

const NO_NEEDS = { inspectNeeds: () => Promise.reject(new Error('not here')) };
const ROUNDS = 3;
const ROLLUP_INTERVAL_MS = 10_000;
const QUIET_MS = 5_000;
const COMMAND_TIMEOUT_MS = 600_000;

export const scenario: Scenario = {
  name: 'relay',
  question: 'What do 2,000 sessions at rest cost the standby that relays them?',
  defaults: { machines: 500_000, seconds: 10 },
  targets: [
    { name: 'cores of a relay at rest', metric: 'at rest: CPU', limit: 0.1, direction: 'below' },
    { name: 'memory of a relayed session', metric: 'memory a session', limit: 64, direction: 'below' },
  ],
  async run(context) {
    const children: ChildProcess[] = [];
    const start = async (program: string, ...args: string[]) => {
      const child = fork(fileURLToPath(new URL(`../sessions/${program}.js`, import.meta.url)), args);
      children.push(child);
      return { child, message: (await once(child, 'message'))[0] as unknown };
    };
    const machines = String(context.params.machines);
    const { address, clusters, bound } = (await start('active-replica', machines)).message as Listening;
    const active: ActiveReplica = {
      replica: 'active',
      instance: '1',
      epoch: 1,
      addresses: [address],
      isSelf: false,
    };
    const relay = new Relay({
      active: { current: () => active, onChange: () => () => {} },
      holdMs: COMMAND_TIMEOUT_MS,
      deadPeerMs: COMMAND_TIMEOUT_MS,
    });
    const server = new OperatorServer({ listen: '127.0.0.1:0', deadPeerMs: COMMAND_TIMEOUT_MS });
    server.standBy(relay);
    await server.listen({ shard: new BenchShard(new SteadyFleet(1)), needs: NO_NEEDS });
    try {
      const { child } = await start('operators', server.address, machines);
      await measure(context, relay, { clusters, bound }, child);
    } finally {
      for (const child of children) child.kill('SIGKILL'); // they have nothing to save
      relay.close();
      await server.close();
    }
  },
};

async function measure(
  context: BenchContext,
  relay: Relay,
  { clusters, bound }: Pick<Listening, 'clusters' | 'bound'>,
  operators: ChildProcess,
): Promise<void> {
  const command = async (message: Command) => {
    operators.send(message);
    const [done] = await once(operators, 'message', { signal: AbortSignal.timeout(COMMAND_TIMEOUT_MS) });
    return done as Done;
  };
  const before = memoryBytes(context);
  context.progress(
    `${clusters} operators connect through the relay and receive the states of ${bound} machines`,
  );
  const opened = await cpuOf(() => command({ kind: 'open', updates: bound }));
  context.sample('connect: CPU a session', 'ms', opened.cpuMs / clusters);
  context.check(relay.relayedCount === clusters, 'the relay has a stream for every cluster');
  await command({ kind: 'rollup' });
  await sleep(1_000);
  context.gc(); // memory outside of the heap is given back after a second collection
  context.sample('memory a session', 'KiB', (memoryBytes(context) - before) / clusters / 1_024);
  const quiet = await cpuOf(() => sleep(QUIET_MS));
  context.sample('without any frame: CPU', 'cores', quiet.cpuMs / QUIET_MS);
  for (let round = 1; round <= ROUNDS; round++) {
    context.progress(`all ${clusters} repeat their roll-up within ten seconds, round ${round}`);
    const { cpuMs } = await cpuOf(() => command({ kind: 'rollup', overMs: ROLLUP_INTERVAL_MS }));
    context.sample('at rest: CPU', 'cores', cpuMs / ROLLUP_INTERVAL_MS);
    const burst = await cpuOf(() => command({ kind: 'rollup' }));
    context.sample('burst: relayed a CPU second', 'MB/s', burst.result.sentBytes / burst.cpuMs / 1_000);
  }
  context.check(relay.counters.relayed === clusters, 'no session was relayed twice');
}

async function cpuOf<Result>(run: () => Promise<Result>): Promise<{ result: Result; cpuMs: number }> {
  const start = process.cpuUsage();
  const result = await run();
  const { user, system } = process.cpuUsage(start);
  return { result, cpuMs: (user + system) / 1_000 };
}

function memoryBytes(context: BenchContext): number {
  context.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
