/**
 * Question: how much memory does a shard take, with the whole fleet and all demand, at rest and during a full listing?
 * `flotilla shard`, `provider` and `operators` run as processes over gRPC on loopback, and nothing changes. By default the
 * shard lists all machines in every cycle, which takes almost half of the time. At rest means between listings; the peak
 * since the start is the kernel's own mark.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from '../harness.ts';
import { scrape, settle } from '../soak/settle.ts';
import { SoakWorld } from '../soak/world.ts';

const MACHINES_PER_CLUSTER = 250;
/** As rarely as a scraper, because an answer is garbage too; and out of step with the listings every ten seconds. */
const SAMPLE_EVERY_MS = 3_900;
/** The limits are in millions of bytes; the kernel's kB are 1,024 bytes. */
const BYTES_PER_KB = 1024;
const BYTES_PER_MB = 1e6;

export const scenario: Scenario = {
  name: 'memory',
  question: 'How much memory does a shard take, at rest and at its peak?',
  defaults: { machines: 500_000, seconds: 60, isWatched: true },
  targets: [
    { name: 'at rest', metric: 'RSS at rest', limit: 600, direction: 'below' },
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
      context.progress(`sampling for ${seconds} s`);
      let restCount = 0;
      for (const endMs = performance.now() + seconds * 1_000; performance.now() < endMs; ) {
        const metrics = await scrape(world.http);
        const isListing = metrics.get('flotilla_listings_inflight') !== 0;
        if (!isListing) restCount++;
        const when = isListing ? 'during a listing' : 'at rest';
        context.sample(`RSS ${when}`, 'MB', statusMb(world.pids.shard, 'VmRSS'));
        context.sample(
          `heap of the main thread ${when}`,
          'MB',
          metrics.get('nodejs_heap_size_used_bytes')! / BYTES_PER_MB,
        );
        await sleep(SAMPLE_EVERY_MS);
      }
      context.check(restCount > 0, 'there was rest between the listings');
      context.sample('RSS peak', 'MB', statusMb(world.pids.shard, 'VmHWM'));
    } finally {
      await world.stop();
    }
  },
};

/** From Linux's /proc. */
function statusMb(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const line = readFileSync(`/proc/${pid}/status`, 'utf8').split(`${field}:`)[1]!;
  return (Number.parseInt(line, 10) * BYTES_PER_KB) / BYTES_PER_MB;
}
