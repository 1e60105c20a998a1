/**
 * Question: how much memory does a shard take, with the whole fleet and all demand, at rest and when it is read whole? `flotilla
 * shard` as a process of its own, fed by `flotilla provider` and `flotilla operators` over gRPC on loopback; nothing changes. The
 * default way of listing reads all machines in every cycle, so the median of many samples is rest with a share of listings in
 * it, the lowest is rest alone, and the kernel's own mark is the peak since the start.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../harness.ts';
import { scrape, settle } from '../soak/settle.ts';
import { SoakWorld } from '../soak/world.ts';

const MACHINES_PER_CLUSTER = 250;
const SAMPLE_EVERY_MS = 250;
const KIB_PER_MIB = 1024;

export const scenario: Scenario = {
  name: 'memory',
  question: 'How much memory does a shard take, at rest and at its peak?',
  defaults: { machines: 500_000, seconds: 60 },
  targets: [
    { name: 'at rest', metric: 'RSS', limit: 600, direction: 'below' },
    { name: 'peak of a full listing', metric: 'RSS peak', limit: 1_300, direction: 'below' },
  ],
  async run(context) {
    const { machines, seconds } = context.params;
    const clusters = Math.max(1, Math.round(machines / MACHINES_PER_CLUSTER));
    const world = new SoakWorld();
    try {
      await world.start(
        {
          ...{ machines, clusters, churn: '0', latency: '500ms/2s', seed: 1 },
          ...{ minutes: 0, warmUpSeconds: 0, sampleEveryMs: 5_000, outFolder: null },
          ...{ fullListings: true, executeConcurrency: 256 },
        },
        (line) => context.progress(line),
      );
      await settle(context, world.http, clusters);
      context.progress(`looking for ${seconds} s`);
      const samples: number[] = [];
      for (const endMs = performance.now() + seconds * 1_000; performance.now() < endMs; ) {
        samples.push(statusMib(world.pids.shard, 'VmRSS'));
        context.sample('RSS', 'MiB', samples.at(-1)!);
        await sleep(SAMPLE_EVERY_MS);
      }
      context.sample('RSS, lowest', 'MiB', Math.min(...samples));
      context.sample('RSS peak', 'MiB', statusMib(world.pids.shard, 'VmHWM'));
      const metrics = await scrape(world.http);
      context.sample('heap of the main thread', 'MiB', metrics.get('nodejs_heap_size_used_bytes')! / 2 ** 20);
    } finally {
      await world.stop();
    }
  },
};

/** Linux counts it for us. */
function statusMib(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const line = readFileSync(`/proc/${pid}/status`, 'utf8').split(`${field}:`)[1]!;
  return Number.parseInt(line, 10) / KIB_PER_MIB;
}
