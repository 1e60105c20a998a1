/**
 * Question: what do 2,000 operators cost one shard? Each has a connection of its own from another process; the shard's side is
 * the real server over the real tables of a realistic fleet, without cycles. `delay` is the event-loop delay that the service
 * promises. `stretch` is the CPU time of this process, all its threads, between two turns of the loop: both processes share
 * the cores, and it separates a turn that did much work from one that waited for a core. Seed 1.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { MachineState } from '../../src/machine/state.ts';
import { type OperatorServer, startOperatorServer } from '../../src/session/server.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import type { BenchContext, Scenario } from '../harness.ts';
import type { Command, Done } from '../sessions/operators.ts';
import { BenchShard, boundCount } from '../sessions/shard.ts';

const UPDATES = 10_000;
const REPEATS_MAX = 6;
/** Half a million updates each: the first connect counts as one. */
const STORMS = 1;
const COMMAND_TIMEOUT_MS = 600_000;
const NS_PER_MS = 1e6;
const ROWS_PER_SECOND = 78_000;

export const scenario: Scenario = {
  name: 'sessions',
  question: 'What do 2,000 operators cost one shard: memory, roll-ups, fan-out, all of them reconnecting?',
  defaults: { machines: 500_000, seconds: 60 },
  // All at once is the worst case, after a restart: one turn of the loop may find every connection readable.
  targets: [
    { name: 'memory of a session', metric: 'memory a session', limit: 64, direction: 'below' },
    {
      name: 'repeated rows a CPU second',
      metric: 'repeated rows a CPU second',
      limit: 5 * ROWS_PER_SECOND,
      direction: 'above',
    },
    { name: 'loop, repeated roll-ups', metric: 'repeat: delay p99', limit: 50, direction: 'below' },
    { name: 'loop, new roll-ups', metric: 'new: delay p99', limit: 50, direction: 'below' },
    { name: 'loop, fan-out', metric: 'fan-out: delay p99', limit: 50, direction: 'below' },
    { name: 'loop, reconnect storm', metric: 'storm: delay p99', limit: 50, direction: 'below' },
    { name: 'fan-out of 10,000 updates', metric: 'fan-out: CPU', limit: 1_000, direction: 'below' },
  ],
  async run(context) {
    const { machines } = context.params;
    context.progress(`a fleet of ${machines} machines`);
    const fleet = new SteadyFleet(machines);
    const shard = new BenchShard(fleet);
    const noNeeds = { inspectNeeds: () => Promise.reject(new Error('not here')) };
    // On a busy machine the other process may be silent for longer than any real peer.
    const options = { listen: '127.0.0.1:0', deadPeerMs: COMMAND_TIMEOUT_MS };
    const server = await startOperatorServer({ ...options, shard, needs: noNeeds });
    const program = fileURLToPath(new URL('../sessions/operators.js', import.meta.url));
    const child = fork(program, [server.address, String(machines)]);
    try {
      await once(child, 'message');
      await measure(context, fleet, shard, server, child);
    } finally {
      child.kill('SIGKILL'); // it has nothing to save, and an orderly end would close 2,000 connections
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      await server.close();
    }
  },
};

async function measure(
  context: BenchContext,
  fleet: SteadyFleet,
  shard: BenchShard,
  server: OperatorServer,
  child: ChildProcess,
): Promise<void> {
  const clusters = fleet.clusterCount;
  const bound = boundCount(fleet, shard);
  const command = async (message: Command) => {
    child.send(message);
    const [done] = (await once(child, 'message', { signal: AbortSignal.timeout(COMMAND_TIMEOUT_MS) })) as [
      Done,
    ];
    return done;
  };
  const before = memoryBytes(context);
  context.progress(`${clusters} operators connect and receive the states of ${bound} machines`);
  await observed(context, 'open', () => command({ kind: 'open', updates: bound }));
  context.check(server.sessionCount === clusters, 'every cluster has a session');
  await sleep(500);
  context.sample('memory a session', 'KiB', (memoryBytes(context) - before) / clusters / 1_024);

  context.progress('roll-ups, all rows new');
  const first = await observed(context, 'new', () => command({ kind: 'rollup' }));
  const rows = shard.needs.count;
  context.sample('a new row', 'µs CPU', (first.cpuMs * 1_000) / rows);
  context.check(rows > fleet.clusterCount * 100, 'the shard has the needs');
  context.check(server.counters.rollupsApplied === clusters && shard.rejectedCount === 0, 'all were applied');
  const endMs = performance.now() + context.params.seconds * 1_000;
  for (let round = 0; round < REPEATS_MAX && (round < 3 || performance.now() < endMs); round++) {
    context.progress(`the same again, round ${round + 1}`);
    const { cpuMs, result } = await observed(context, 'repeat', () => command({ kind: 'rollup' }));
    context.sample('repeated rows a CPU second', '/s', (rows * 1_000) / cpuMs);
    context.sample('repeated roll-ups a second', '/s', (clusters * 1_000) / result.ms);
    context.sample('repeated bytes a CPU second', 'MB/s', result.sentBytes / cpuMs / 1_000);
  }
  context.check(server.counters.rollupsApplied === clusters, 'no repeat changed anything');

  for (let round = 0; round < 3; round++) {
    context.progress(`${UPDATES} machines change, round ${round + 1}`);
    await observed(context, 'fan-out', () => {
      const received = command({ kind: 'updates', updates: Math.min(UPDATES, bound) });
      moveMany(shard, server, round % 2 === 0);
      return received;
    });
  }

  for (let round = 0; round < STORMS; round++) {
    context.progress(`all ${clusters} reconnect at once`);
    await command({ kind: 'close' });
    while (server.sessionCount > 0) await sleep(20);
    const { cpuMs } = await observed(context, 'storm', () => command({ kind: 'open', updates: bound }));
    context.sample('storm: CPU an update', 'µs', (cpuMs * 1_000) / bound);
  }
}

/** Runs something and measures the event-loop delay and this process's CPU time meanwhile. */
async function observed(
  context: BenchContext,
  name: string,
  run: () => Promise<Done>,
): Promise<{ result: Done; cpuMs: number }> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const stretchesMs: number[] = [];
  let last = process.cpuUsage();
  const timer = setInterval(() => {
    const now = process.cpuUsage();
    stretchesMs.push((now.user + now.system - last.user - last.system) / 1_000);
    last = now;
  }, 1);
  const cpu = process.cpuUsage();
  delay.enable();
  const result = await run();
  delay.disable();
  clearInterval(timer);
  const { user, system } = process.cpuUsage(cpu);
  stretchesMs.sort((a, b) => a - b);
  context.sample(`${name}: stretch p99`, 'ms', stretchesMs[Math.floor(stretchesMs.length * 0.99)] ?? 0);
  context.sample(`${name}: stretch max`, 'ms', stretchesMs.at(-1) ?? 0);
  context.sample(`${name}: delay p99`, 'ms', delay.percentile(99) / NS_PER_MS);
  context.sample(`${name}: CPU`, 'ms', (user + system) / 1_000);
  context.sample(`${name}: time`, 'ms', result.ms);
  return { result, cpuMs: (user + system) / 1_000 };
}

/** Moves machines from Configured to Draining, or back, and notifies their clusters. */
function moveMany(shard: BenchShard, server: OperatorServer, isDraining: boolean): void {
  const { inventory } = shard;
  const [from, to] = isDraining
    ? [MachineState.Configured, MachineState.Draining]
    : [MachineState.Draining, MachineState.Configured];
  for (const slot of inventory.indexes.slotsInState(from).slice(0, UPDATES)) {
    inventory.move(slot, to, 0, true);
    const { id, cluster } = inventory.get(slot);
    server.nodeChanged(cluster, slot, id);
  }
}

function memoryBytes(context: BenchContext): number {
  context.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
