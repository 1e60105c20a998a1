/**
 * Question: what can one cluster do to the others? `flotilla provider`, `shard` and `operators` run as processes over gRPC on
 * loopback: 1,999 clusters with a session each and a roll-up every ten seconds in which 1 % of the rows differ. One more
 * cluster sends the usual roll-up and measures the time to its ack. First that is all; then another cluster sends roll-ups at the
 * limits (bench/sessions/hostile.ts), one kind after the other. Both sides come from one run on one machine.
 *
 * The hostile cluster may have 100 machines (T8), as a shard with strangers would be set up: the question is how much of the
 * shard's time it takes, not how many machines.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Random } from '../../src/base/random.ts';
import { Operator } from '../../src/needs/requirements.ts';
import { SteadyDemand } from '../../src/simulation/catalogue/steady-demand.ts';
import type { BenchContext, Scenario, Target } from '../harness.ts';
import {
  HOSTILE_CLUSTER,
  HOSTILE_KINDS,
  type HostileCommand,
  type HostileKind,
  type HostileReport,
} from '../sessions/hostile.ts';
import { RollupSession, rollupFrame } from '../sessions/stream.ts';
import { scrape, settle } from '../soak/settle.ts';
import { SoakWorld } from '../soak/world.ts';
import { quantile } from '../statistics.ts';

const MACHINES_PER_CLUSTER = 250;
/** The window of the shard's own event-loop figures. */
const WINDOW_MS = 10_000;
const PROBE_CLUSTER = 'cluster-probe';
const PROBE_EVERY_MS = 250;
const PROBE_FRAMES = 2;
/** A phase is allowed this much of the time without the hostile cluster, or this many milliseconds more. */
const ALLOWED_FACTOR = 1.5;
const ALLOWED_MS = 10;
const ACK_MS_MAX = 1_000;
/** Of the kind before, when a phase begins: one is read, one waits, one is being sent. */
const ROLLUPS_UNDER_WAY = 2;
/** T7: the pace lets the hostile cluster replace all its rows about every two minutes. */
const FIRST_ACK_MS_MAX = 900_000;
const NS_PER_MS = 1e6;

export const scenario: Scenario = {
  name: 'tenants',
  question: 'What can one cluster that does the worst that is allowed do to 2,000 others?',
  defaults: { machines: 500_000, seconds: 60, isWatched: true },
  targets: HOSTILE_KINDS.flatMap((kind): Target[] => [
    {
      name: `${kind}: cycle p99 ÷ allowed`,
      ratio: `${kind}: cycle p99 ÷ allowed`,
      limit: 1,
      direction: 'below',
    },
    {
      name: `${kind}: loop p99 ÷ allowed`,
      ratio: `${kind}: loop p99 ÷ allowed`,
      limit: 1,
      direction: 'below',
    },
    {
      name: `${kind}: another's ack`,
      metric: `${kind}: ack`,
      statistic: 'p99',
      limit: ACK_MS_MAX,
      direction: 'below',
    },
  ]),
  async run(context) {
    const { machines } = context.params;
    const clusters = Math.max(2, Math.round(machines / MACHINES_PER_CLUSTER)) - 1;
    const world = new SoakWorld();
    let hostile: ChildProcess | null = null;
    try {
      await world.start(
        {
          ...{ machines, clusters, churn: '1%', latency: '100ms', seed: 1 },
          ...{ minutes: 0, warmUpSeconds: 0, sampleEveryMs: 5_000, outFolder: null },
          ...{ fullListings: false, executeConcurrency: 256 },
        },
        (line) => context.progress(line),
        { shard: ['--log-level', 'debug', '--tenants', `${HOSTILE_CLUSTER}; max-machines=100`] },
      );
      const program = fileURLToPath(new URL('../sessions/hostile.js', import.meta.url));
      hostile = fork(program, [world.listen]);
      await Promise.all([once(hostile, 'message'), settle(context, world.http, clusters)]);
      await new Comparison(context, world, hostile).run();
    } finally {
      hostile?.kill('SIGKILL'); // it has nothing to save
      await world.stop();
    }
  },
};

class Comparison {
  readonly #context: BenchContext;
  readonly #world: SoakWorld;
  readonly #hostile: ChildProcess;
  readonly #probe: RollupSession;
  readonly #probeFrames: readonly Buffer[];
  #probesSent = 0;
  #cyclesMs: number[] = [];
  #hostileAcks = 0;

  constructor(context: BenchContext, world: SoakWorld, hostile: ChildProcess) {
    this.#context = context;
    this.#world = world;
    this.#hostile = hostile;
    this.#probe = new RollupSession(world.listen, PROBE_CLUSTER);
    this.#probeFrames = probeFrames();
    world.onShardLogLine = (line) => this.#noteCycle(line);
    hostile.on('message', ({ acked }: HostileReport) => {
      this.#hostileAcks = acked;
    });
  }

  async run(): Promise<void> {
    await this.#probe.ready();
    const without = await this.#phase(null);
    for (const kind of HOSTILE_KINDS) {
      const applied = await this.#send(kind);
      const figures = await this.#phase(kind);
      this.#context.sample(`${kind}: roll-ups acked`, 'roll-ups', this.#hostileAcks - applied);
      for (const name of ['cycle p99', 'loop p99'] as const)
        this.#context.ratio(`${kind}: ${name} ÷ allowed`, figures[name], allowed(without[name]));
    }
    this.#hostile.send({ kind: null } satisfies HostileCommand);
    const metrics = await scrape(this.#world.http);
    const rejected = metrics.get('flotilla_rollups_total{result="rejected"}') ?? 0;
    this.#context.check(rejected === 0, `no roll-up exceeded a limit (${rejected} were rejected)`);
    this.#probe.close();
  }

  /** Resolves with the count of acks when the shard has acked the first roll-up of this kind. */
  async #send(kind: HostileKind): Promise<number> {
    const first = this.#hostileAcks + (this.#hostileAcks === 0 ? 1 : ROLLUPS_UNDER_WAY + 1);
    const endMs = performance.now() + FIRST_ACK_MS_MAX;
    this.#context.progress(`${kind}: waiting for the first ack`);
    this.#hostile.send({ kind } satisfies HostileCommand);
    while (this.#hostileAcks < first && performance.now() < endMs) await sleep(PROBE_EVERY_MS);
    this.#context.check(this.#hostileAcks >= first, `the shard acked a roll-up of kind ${kind}`);
    return this.#hostileAcks;
  }

  async #phase(kind: HostileKind | null): Promise<{ 'cycle p99': number; 'loop p99': number }> {
    const name = kind ?? 'without';
    const context = this.#context;
    const { seconds } = context.params;
    context.progress(`${name}: sampling for ${seconds} s`);
    await sleep(WINDOW_MS); // the shard's last window began before the phase
    this.#cyclesMs = [];
    const loopP99s: number[] = [];
    const endMs = performance.now() + seconds * 1_000;
    const cpuMs = mainThreadMs(this.#world.pids.shard);
    const beganMs = performance.now();
    const probing = this.#probeUntil(endMs, name);
    while (performance.now() < endMs) {
      await sleep(WINDOW_MS);
      const metrics = await scrape(this.#world.http);
      loopP99s.push(metrics.get('flotilla_event_loop_delay_seconds{quantile="0.99"}')! * 1_000);
      context.sample(
        `${name}: loop, longest`,
        'ms',
        metrics.get('flotilla_event_loop_delay_seconds{quantile="1"}')! * 1_000,
      );
    }
    await probing;
    const busyMs = mainThreadMs(this.#world.pids.shard) - cpuMs;
    context.sample(`${name}: main thread`, 'ms/s', (busyMs / (performance.now() - beganMs)) * 1_000);
    for (const ms of this.#cyclesMs) context.sample(`${name}: cycle`, 'ms', ms);
    for (const ms of loopP99s) context.sample(`${name}: loop p99`, 'ms', ms);
    context.check(this.#cyclesMs.length > 0, `${name}: cycles ran`);
    const figures = { 'cycle p99': p99Of(this.#cyclesMs), 'loop p99': medianOf(loopP99s) };
    context.progress(
      `${name}: cycle p99 ${figures['cycle p99'].toFixed(1)} ms, loop p99 ${figures['loop p99'].toFixed(1)} ms`,
    );
    return figures;
  }

  async #probeUntil(endMs: number, name: string): Promise<void> {
    while (performance.now() < endMs) {
      const sentMs = performance.now();
      await this.#probe.send(this.#probeFrames[this.#probesSent % PROBE_FRAMES]!, this.#probesSent);
      this.#probesSent++;
      this.#context.sample(`${name}: ack`, 'ms', performance.now() - sentMs);
      await sleep(PROBE_EVERY_MS);
    }
  }

  #noteCycle(line: string): void {
    if (!line.includes('"cycle"')) return;
    const { event, ms } = JSON.parse(line) as { readonly event?: string; readonly ms?: number };
    if (event === 'cycle' && ms !== undefined) this.#cyclesMs.push(ms);
  }
}

/** Roll-ups of usual size that differ in every row, for machines that no provider has: they bind none. */
function probeFrames(): Buffer[] {
  const { rows } = new SteadyDemand({ machineCount: MACHINES_PER_CLUSTER }, new Random(1)).rollup(0);
  const nowhere = { key: 'example.com/pool', operator: Operator.In, values: ['none'] };
  return Array.from({ length: PROBE_FRAMES }, (_, round) => {
    const differing = rows.map((row) => ({
      ...row,
      requirements: [...row.requirements, nowhere],
      group: `${row.group}-${round}`,
    }));
    return rollupFrame(PROBE_CLUSTER, differing);
  });
}

function allowed(without: number): number {
  return Math.max(ALLOWED_FACTOR * without, without + ALLOWED_MS);
}

function p99Of(values: readonly number[]): number {
  return quantile(Float64Array.from(values).sort(), 0.99);
}

function medianOf(values: readonly number[]): number {
  return quantile(Float64Array.from(values).sort(), 0.5);
}

/** Linux counts the time that the main thread really ran, whatever else runs on the machine. */
function mainThreadMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / NS_PER_MS;
}
