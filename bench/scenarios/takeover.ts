/**
 * Question: how long is a shard without decisions when its active replica is killed, or hands over? Real processes: an etcd, a provider with
 * cursors, two replicas, and operators behind a balancer, so half of the sessions are relayed. The active replica is killed with SIGKILL, or
 * stopped with SIGTERM, five times; the other one takes over, and the former one is replaced. Times are from the kill, or from the
 * release of the lease, to a decision: `first` for a cluster that has reported, `all` for every cluster. The lease is subtracted. The
 * target is for the slowest of five. Seed 1.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_RECONNECT } from '../../src/operator-kit/session-link.ts';
import type { BenchContext, Scenario, Target } from '../harness.ts';
import { TakeoverWorld } from '../takeover/world.ts';

const ROUNDS = 5;
const LEASE_MS = 6_000;
const MACHINES_PER_CLUSTER = 250;

function atMost(name: string, metric: string, limit: number): Target {
  return { name, metric, statistic: 'p99', limit, direction: 'below' }; // of five samples, the largest
}

export const scenarios: readonly Scenario[] = [
  {
    name: 'takeover',
    question: 'How long is a shard without decisions when its active replica is killed?',
    defaults: { machines: 500_000, seconds: 60, isWatched: true },
    targets: [
      atMost('killed: first decision', 'killed: first, beyond the lease', 2_000),
      atMost('killed: all clusters decided', 'killed: all, beyond the lease', 15_000),
    ],
    run: (context) => measure(context, 'warm', kill),
  },
  {
    name: 'takeover-handover',
    question: 'How long is a shard without decisions when its active replica hands over?',
    defaults: { machines: 500_000, seconds: 60, isWatched: true },
    targets: [atMost('handover: first decision', 'handover: first', 1_000)],
    run: (context) => measure(context, 'warm', handOver),
  },
  {
    name: 'takeover-cold',
    question: 'How long is a shard without decisions when its standby is cold?',
    defaults: { machines: 500_000, seconds: 60, isWatched: true },
    targets: [
      atMost('killed: first decision', 'killed: first, beyond the lease', 7_000),
      atMost('killed: all clusters decided', 'killed: all, beyond the lease', 15_000),
    ],
    run: (context) => measure(context, 'cold', kill),
  },
];

async function measure(
  context: BenchContext,
  standby: 'warm' | 'cold',
  round: (context: BenchContext, world: TakeoverWorld, needs: number) => Promise<void>,
): Promise<void> {
  const { machines, clusters = Math.ceil(machines / MACHINES_PER_CLUSTER) } = context.params;
  const world = new TakeoverWorld({ machines, clusters, leaseMs: LEASE_MS, standby });
  try {
    context.progress(`${machines} machines, ${clusters} clusters, two replicas`);
    const needs = await world.start();
    context.check(needs > clusters, 'the active replica decides for the needs of all clusters');
    for (let number = 1; number <= ROUNDS; number++) {
      // An operator whose session stood for less waits twice as long before it connects again.
      await sleep(DEFAULT_RECONNECT.steadyMs);
      context.progress(`round ${number} of ${ROUNDS}, ${needs} needs`);
      await round(context, world, needs);
    }
  } finally {
    await world.close();
  }
}

async function kill(context: BenchContext, world: TakeoverWorld, needs: number): Promise<void> {
  const [active, other] = [await world.active, await world.standby()];
  const killedMs = Date.now();
  active.child.kill();
  const { firstMs, allMs } = await world.decisions(other, needs, killedMs);
  context.sample('killed: first, beyond the lease', 'ms', firstMs - killedMs - LEASE_MS);
  context.sample('killed: all, beyond the lease', 'ms', allMs - killedMs - LEASE_MS);
  await world.startReplica();
}

async function handOver(context: BenchContext, world: TakeoverWorld, needs: number): Promise<void> {
  const [active, other] = [await world.active, await world.standby()];
  const stoppedMs = Date.now();
  const stopped = active.child.stop(60_000);
  const { firstMs, allMs } = await world.decisions(other, needs, stoppedMs);
  await stopped;
  context.check(active.handedOverMs !== null, 'the former replica gave its lease up');
  context.sample('handover: first', 'ms', firstMs - active.handedOverMs!);
  context.sample('handover: all', 'ms', allMs - active.handedOverMs!);
  await world.startReplica();
}
