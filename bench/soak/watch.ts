/** Runs the whole service at full scale for the time of a scenario and measures from need to node, as operators see it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchContext } from '../harness.ts';
import { SoakSampler } from './samples.ts';
import { settle } from './settle.ts';
import { type MoreFlags, SoakWorld } from './world.ts';

const MACHINES_PER_CLUSTER = 250;
const SAMPLE_EVERY_MS = 5_000;
const EVERYTHING_AS_BEFORE = {
  fullListings: false,
  executeConcurrency: 256,
  minutes: 0,
  warmUpSeconds: 0,
  sampleEveryMs: SAMPLE_EVERY_MS,
  outFolder: null,
};

/** Samples the figures of the service as metrics of the scenario. `churn` as `flotilla operators --churn` takes it. */
export async function watchBindings(context: BenchContext, churn: string, more: MoreFlags): Promise<void> {
  const { machines, seconds } = context.params;
  const clusters = Math.max(1, Math.round(machines / MACHINES_PER_CLUSTER));
  const world = new SoakWorld();
  try {
    const plan = { machines, clusters, churn, latency: '0ms', seed: 1, ...EVERYTHING_AS_BEFORE };
    await world.start(plan, (line) => context.progress(line), more);
    await settle(context, world.http, clusters);
    const { shard, ...others } = world.pids;
    const sampler = new SoakSampler(shard, others, world.http);
    world.onOperatorsLine = (line) => sampler.readReport(line);
    context.progress(`sampling for ${seconds} s`);
    let binds = 0;
    for (const endMs = performance.now() + seconds * 1_000; performance.now() < endMs; ) {
      await sleep(SAMPLE_EVERY_MS);
      const sample = await sampler.sample(0);
      const note = (metric: string, unit: string, value: number | null) => {
        if (value !== null) context.sample(metric, unit, value);
      };
      note('loop delay p99', 'ms', sample.loopDelayP99Ms);
      note('loop delay, longest', 'ms', sample.loopDelayMaxMs);
      note('binding p50', 'ms', sample.bindP50Ms);
      note('binding p99', 'ms', sample.bindP99Ms);
      note('binding p99, Idle machine found', 'ms', sample.bindIdleP99Ms);
      note('binds', '/s', sample.bindsPerSecond);
      note('cycle', 'ms', sample.cycleMeanMs);
      note('waiting to be bound', 'machines', sample.wanting);
      binds += sample.bindsPerSecond ?? 0;
    }
    context.check(binds > 0, 'machines were bound');
  } finally {
    await world.stop();
  }
}
