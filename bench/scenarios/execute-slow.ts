/**
 * Question: do 256 slots stay busy when calls take seconds? A provider in its own process answers after 3 s on average and 7 s
 * at the 99th percentile. The scenario compares the shard's own queue (cycles every 10 s, woken ones in between) with a
 * barrier on the same shard, provider and actions: every cycle begins 256 actions, and the next cycle waits until all have
 * ended. Real time, real gRPC on loopback; bootstraps need no operator. Counted from the moment when all slots are full.
 */
import { systemClock, systemScheduler, systemStopwatch } from '../../src/base/clock.ts';
import { FencingTokens } from '../../src/provider/client/fencing.ts';
import { ProviderPool } from '../../src/provider/pool/pool.ts';
import type { ShardObserver } from '../../src/shard/ports/observer.ts';
import { SHARD_DEFAULTS } from '../../src/shard/settings.ts';
import { Shard } from '../../src/shard/shard.ts';
import { createTables } from '../../src/shard/tables.ts';
import type { BenchContext, Scenario } from '../harness.ts';
import { SlowProvider } from '../providers/slow.ts';

const IN_FLIGHT = 256;
const LATENCY = { meanMs: 3_000, p99Ms: 7_000 };
const CLUSTERS = 32;
/** Until the first actions have ended and every slot has been reused once or twice. */
const WARMUP_MS = 10_000;
const POLL_MS = 20;

export const scenario: Scenario = {
  name: 'execute-slow',
  question: 'Do 256 slots stay busy when calls take 3 s, against a barrier for each cycle?',
  defaults: { machines: 8_000, seconds: 40 },
  targets: [
    { name: 'of concurrency ÷ mean', ratio: 'of the ideal', limit: 0.95, direction: 'above' },
    { name: 'against the barrier', ratio: 'gain over the barrier', limit: 2, direction: 'above' },
  ],
  async run(context) {
    const measureMs = context.params.seconds * 1_000;
    for (const variant of ['persistent', 'barrier'] as const) {
      context.progress(`${variant}: ${(WARMUP_MS + measureMs) / 1_000} s`);
      const provider = await SlowProvider.start({ machineCount: context.params.machines, latency: LATENCY });
      const run = new SlowRun(provider.address);
      try {
        await run.begin(context);
        const driving = variant === 'persistent' ? run.drive() : run.driveWithBarrier();
        await sleep(WARMUP_MS);
        const before = run.endedCount;
        const startedMs = performance.now();
        await sleep(measureMs);
        const perSecond = ((run.endedCount - before) * 1_000) / (performance.now() - startedMs);
        run.stop();
        await driving;
        context.sample(variant, 'actions/s', perSecond);
        context.check(
          run.failedCount === 0,
          `${variant}: every action succeeded (${run.failedCount} did not)`,
        );
        context.check(run.leftCount > 0, `${variant}: there was always more to do`);
        if (variant === 'persistent') {
          context.ratio('of the ideal', perSecond, (IN_FLIGHT * 1_000) / LATENCY.meanMs);
        }
      } finally {
        await run.close();
        await provider.close();
      }
    }
    context.ratio('gain over the barrier', 'persistent', 'barrier');
  },
};

class SlowRun {
  readonly #pool: ProviderPool;
  readonly #shard: Shard;
  endedCount = 0;
  failedCount = 0;
  #isStopped = false;

  constructor(address: string) {
    const settings = {
      ...SHARD_DEFAULTS,
      machinesMax: 65_536,
      executeConcurrency: IN_FLIGHT,
      localBootstrapBlob: new Uint8Array(64),
      checkEveryCycles: 0,
    };
    const tables = createTables(settings);
    this.#pool = new ProviderPool({
      endpoints: [{ name: 'slow', address }],
      fencing: FencingTokens.create('bench', 1).shared,
      inventory: tables.inventory.share(),
      threads: 1,
      executeConcurrency: IN_FLIGHT,
    });
    const observer: ShardObserver = {
      audits: false,
      cycleEnded: () => {},
      actionEnded: ({ outcome }) => {
        this.endedCount++;
        if (outcome !== 'success') this.failedCount++;
      },
      listingEnded: () => {},
      happened: () => {},
    };
    this.#shard = new Shard({
      settings,
      tables,
      epoch: 1,
      providers: this.#pool,
      observer,
      clock: systemClock,
      scheduler: systemScheduler,
      stopwatch: systemStopwatch,
    });
  }

  /** Machines that have had no action yet. */
  get leftCount(): number {
    return this.#shard.inventory.count - this.endedCount - IN_FLIGHT;
  }

  /** Lists the fleet and sends demand for all of it. */
  async begin(context: BenchContext): Promise<void> {
    await this.#shard.reconciler.listAll();
    const { count } = this.#shard.inventory;
    context.check(count === context.params.machines, 'the provider listed its fleet');
    const machinesEach = Math.floor(count / CLUSTERS);
    for (let cluster = 0; cluster < CLUSTERS; cluster++) {
      const row = {
        requirements: [],
        aggregate: { cpu: String(4 * machinesEach) },
        minUnit: { cpu: '4' },
        priority: 1_000,
        spread: [],
        interruptionBucket: 1,
        reclamationBucket: 1,
        group: '',
      };
      const steps = this.#shard.operatorCalls.acceptRollup(
        `cluster-${cluster}`,
        new Uint32Array(2),
        () => row,
      );
      for (let step = steps.next(); !step.done; step = steps.next());
    }
  }

  /** As a shard runs. */
  async drive(): Promise<void> {
    this.#shard.start();
    while (!this.#isStopped) await sleep(POLL_MS);
  }

  /** A cycle, then a wait until all its actions have ended. */
  async driveWithBarrier(): Promise<void> {
    const { executor, cycle } = this.#shard;
    this.#shard.setRails({ ...this.#shard.rails, actionsPerCycleMax: IN_FLIGHT });
    while (!this.#isStopped) {
      cycle.run(true, 0);
      while (!this.#isStopped && executor.inFlight + executor.queueDepth > 0) await sleep(POLL_MS);
    }
  }

  stop(): void {
    this.#isStopped = true;
  }

  async close(): Promise<void> {
    await this.#shard.stop(0);
    await this.#pool.close({ graceMs: 0 });
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
