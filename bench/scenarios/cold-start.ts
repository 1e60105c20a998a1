/**
 * Question: how long is it from an empty shard to the first decision on the whole fleet? A provider in its own process, real
 * gRPC on loopback, the listing thread, the reconciler and a real cycle; 97 % of the machines bound. From making the shard's
 * tables and threads to the end of the first cycle that is not held back (C2). Node's own start is not in it, nor the programs' own
 * modules, a third of a second. Of the starts in this process the first is also shown alone: nothing is compiled then, neither here
 * nor in the provider.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { systemClock, systemScheduler, systemStopwatch } from '../../src/base/clock.ts';
import { FencingTokens } from '../../src/provider/client/fencing.ts';
import { ProviderPool } from '../../src/provider/pool/pool.ts';
import type { CycleReport, ShardObserver } from '../../src/shard/ports/observer.ts';
import { SHARD_DEFAULTS } from '../../src/shard/settings.ts';
import { Shard } from '../../src/shard/shard.ts';
import { createTables } from '../../src/shard/tables.ts';
import type { BenchContext, Scenario } from '../harness.ts';
import { mainThreadCpuMs } from '../main-thread.ts';
import { ProviderProcess } from '../providers/process.ts';

const STARTS = 3;
const NS_PER_MS = 1e6;

export const scenario: Scenario = {
  name: 'cold-start',
  question: 'How long is it from an empty shard to the first decision on the whole fleet?',
  defaults: { machines: 500_000, seconds: 60 },
  targets: [{ name: 'to the first decision', metric: 'cold start', limit: 5, direction: 'below' }],
  async run(context) {
    const { machines } = context.params;
    context.progress(`a provider process with ${machines} machines`);
    const provider = await ProviderProcess.start({
      machineCount: machines,
      configuredShare: 0.97,
      idleShare: 0.015,
    });
    try {
      for (let start = 1; start <= STARTS; start++) {
        context.progress(`start ${start} of ${STARTS}`);
        await coldStart(context, provider.address, start);
        context.gc();
      }
    } finally {
      await provider.close();
    }
  },
};

async function coldStart(context: BenchContext, address: string, epoch: number): Promise<void> {
  const { machines } = context.params;
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const cpuBefore = process.cpuUsage();
  const mainBeforeMs = mainThreadCpuMs();
  const startedMs = performance.now();
  const settings = { ...SHARD_DEFAULTS, checkEveryCycles: 0 };
  const tables = createTables(settings);
  const pool = new ProviderPool({
    endpoints: [{ name: 'bench', address }],
    fencing: FencingTokens.create('bench', epoch).shared,
    inventory: tables.inventory.share(),
    threads: 1,
    executeConcurrency: settings.executeConcurrency,
  });
  let tell: (report: CycleReport) => void = () => {};
  const decided = new Promise<CycleReport>((resolve) => {
    tell = resolve;
  });
  let listingMs = 0;
  let listingDelayMs = 0;
  // On a busy machine a cycle comes before all of the listing is applied: it decides, and is held back.
  let machinesSeen = 0;
  const observer: ShardObserver = {
    audits: false,
    cycleEnded: (report) => {
      machinesSeen += report.changedMachines;
      if (report.heldBack === '') tell(report);
    },
    actionEnded: () => {},
    listingEnded: () => {
      listingMs = performance.now() - startedMs;
      listingDelayMs = delay.max / NS_PER_MS;
    },
    happened: () => {},
  };
  const shard = new Shard({
    settings,
    tables,
    epoch,
    providers: pool,
    observer,
    clock: systemClock,
    scheduler: systemScheduler,
    stopwatch: systemStopwatch,
  });
  shard.start();
  try {
    const report = await decided;
    const tookSeconds = (performance.now() - startedMs) / 1_000;
    context.sample('cold start', 's', tookSeconds);
    if (epoch === 1) context.sample('cold start, the first', 's', tookSeconds);
    context.sample('until listed', 's', listingMs / 1_000);
    context.sample('the first cycle', 'ms', report.durationMs);
    context.sample('main loop delay until listed, longest', 'ms', listingDelayMs);
    const { user, system } = process.cpuUsage(cpuBefore);
    context.sample('cpu of all threads', 's', (user + system) / 1e6);
    context.sample('cpu of the main thread', 's', (mainThreadCpuMs() - mainBeforeMs) / 1_000);
    context.check(shard.inventory.count === machines, 'every machine is there');
    context.check(machinesSeen >= machines, `the cycles saw them all (${machinesSeen})`);
  } finally {
    delay.disable();
    await shard.stop(0);
    await pool.close({ graceMs: 0 });
  }
}
