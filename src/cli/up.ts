/**
 * `flotilla up`: a demo of a whole fleet. A provider, a shard and the operators of its clusters run as separate processes
 * and talk over loopback as they would over a network. This process starts them in order, shows what happens, and stops
 * them in reverse order.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiHistory, ApiOverview } from '../dashboard/api/types.ts';
import { Child } from './children.ts';
import { EXIT_FAILED, EXIT_OK, exitCodeOf } from './exit.ts';
import { EtcdProcess } from './up-etcd.ts';
import { parseUpFlags, UP_HELP, type UpPlan, type UpProvider } from './up-flags.ts';
import { type ReplicaPlan, UpReplicas } from './up-replicas.ts';
import { CONFIGURED_SHARE, IDLE_SHARE, type UpSizing } from './up-sizing.ts';
import { pageLines, progressLine, type UpSample } from './up-view.ts';

const DEFAULT_PORTS = { listen: 7780, metrics: 8780 };
/** A viewer should see releases within a minute, not after ten. Flags and the environment override these. */
const SHORT_HOLDS = { FLOTILLA_IDLE_HOLD_SPOT: '15s', FLOTILLA_IDLE_HOLD_ON_DEMAND: '30s' };
/** Flags of the operators. Of two clusters one shrinks at a time, soon and for long enough to see machines drained and deleted. */
const DEMAND_CHANGES = {
  simulated: [
    ...['--burst', '6%', '--burst-every', '45s', '--burst-length', '30s'],
    ...['--shrink', '5%', '--shrink-every', '1m', '--shrink-length', '40s'],
  ],
  processes: ['--shrink', '50%', '--shrink-every', '20s', '--shrink-length', '1m'],
} as const satisfies Record<UpProvider, readonly string[]>;
/** The first line of a provider begins with it. */
const READY = 'listening on ';
const STOP_GRACE_MS = 15_000;
const PAGE_EVERY_MS = 1_000;
const LINE_EVERY_MS = 5_000;

/** Resolves with the exit code when all processes have stopped. */
export function run(argv: readonly string[]): Promise<number> {
  return exitCodeOf('up', async () => {
    const plan = parseUpFlags(argv);
    if (!plan.help) return new Up(plan).run();
    process.stdout.write(UP_HELP);
    return EXIT_OK;
  });
}

class Up {
  readonly #plan: UpPlan;
  /** Those whose end ends the demo. */
  readonly #children: Child[] = [];
  readonly #started: Child[] = [];
  #replicas: UpReplicas | null = null;
  #etcd: EtcdProcess | null = null;
  #onKey: () => void = () => {};
  readonly #startedMs = Date.now();
  readonly #isPage: boolean;
  readonly #actions: Record<string, number> = {};
  #operatorsLine = 'connecting';
  #seenMs = 0;
  #cycleMs = 0;
  #isEnding = false;
  #http = '';

  constructor(plan: UpPlan) {
    this.#plan = plan;
    // Processes write lines of their own, which a page would overwrite.
    this.#isPage = process.stdout.isTTY === true && !plan.isPlain && plan.provider === 'simulated';
  }

  async run(): Promise<number> {
    const dataDir = mkdtempSync(join(tmpdir(), 'flotilla-up-'));
    const ended = endSignal(this.#plan.seconds);
    try {
      await Promise.race([this.#start(dataDir), ended]);
      const stopped = Promise.race([this.#show(), ended]).then(() => EXIT_OK);
      return await Promise.race([stopped, this.#anyEnds()]);
    } finally {
      await this.#stop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  }

  async #start(dataDir: string): Promise<void> {
    const { machines, clusters, seed, churn, isCalm, cycleInterval, shardFlags } = this.#plan;
    const fleet = ['--machines', `${machines}`, '--clusters', `${clusters}`, '--seed', `${seed}`];
    this.#say(`${machines.toLocaleString('en-US')} machines, ${clusters.toLocaleString('en-US')} clusters`);
    if (this.#plan.hasStandby) this.#etcd = await EtcdProcess.start(join(dataDir, 'etcd'));
    const provider = this.#startProvider(fleet, dataDir);
    const providerAddress = (await provider.ready()).slice(READY.length);
    this.#say(`provider on ${providerAddress}`);
    const flags = [
      ...['--provider-addr', `${this.#plan.provider}=${providerAddress}`],
      ...['--cycle-interval', cycleInterval, ...shardFlags],
    ];
    const listen = this.#plan.hasStandby
      ? await this.#startReplicas(flags, dataDir)
      : await this.#startShard(flags, dataDir);
    this.#spawn(
      'operators',
      [
        ...['--shard', listen, '--churn', churn, '--report-every', '5s', '--bootstrap-delay', '50ms-500ms'],
        ...fleet,
        ...(isCalm ? [] : DEMAND_CHANGES[this.#plan.provider]),
      ],
      (line) => {
        this.#operatorsLine = line;
      },
    );
  }

  /** Returns the address for operators. */
  async #startShard(flags: readonly string[], dataDir: string): Promise<string> {
    const shard = this.#spawn('shard', [...flags, '--data-dir', dataDir, ...(await this.#addresses(0))]);
    const [, listen, http] = /^listening on (\S+) http (\S+)$/.exec(await shard.ready())!;
    this.#http = http!;
    this.#say(`shard on ${listen}, dashboard ${this.#http}`);
    return listen!;
  }

  async #startReplicas(flags: readonly string[], dataDir: string): Promise<string> {
    const plans: ReplicaPlan[] = [];
    for (const [index, name] of ['a', 'b'].entries()) {
      const own = [
        ...['--directory', `etcd://${this.#etcd!.address}`, '--replica', name],
        ...['--data-dir', join(dataDir, name), ...(await this.#addresses(index))],
      ];
      plans.push({ name, spawn: () => this.#child('shard', [...flags, ...own]) });
    }
    const replicas = new UpReplicas(plans, (line) => this.#say(line));
    this.#replicas = replicas;
    await replicas.ready();
    this.#http = replicas.http;
    this.#say(`replicas ${replicas.addresses}`);
    this.#say(`dashboard ${this.#http}; press k to kill the active replica`);
    this.#onKey = onKeys({
      k: () => replicas.killActive(),
      '\u0003': () => process.kill(process.pid, 'SIGINT'),
    });
    return replicas.target;
  }

  /** Replicas keep their ports when they start again, so none of them picks its own. */
  async #addresses(index: number): Promise<string[]> {
    const { listen, metricsAddr, hasStandby } = this.#plan;
    const free = (port: number) => freeAddress(port + index, hasStandby);
    return [
      ...['--listen', index === 0 && listen !== '' ? listen : await free(DEFAULT_PORTS.listen)],
      ...[
        '--metrics-addr',
        index === 0 && metricsAddr !== '' ? metricsAddr : await free(DEFAULT_PORTS.metrics),
      ],
    ];
  }

  #startProvider(fleet: readonly string[], dataDir: string): Child {
    const { provider, sizing, isCalm } = this.#plan;
    if (provider === 'processes') {
      const flags = ['--listen', '127.0.0.1:0', '--state-dir', join(dataDir, 'processes'), ...fleet];
      return this.#spawn('processes', flags, (line) => {
        if (!line.startsWith(READY)) this.#say(line);
      });
    }
    const weather = [
      ...['--interruptions', '30', '--interruption-outcome', 'speculative', '--repair-after', '1m'],
      ...['--price-changes-per-hour', '4', '--fail', 'create=0.01'],
    ];
    return this.#spawn('provider', [
      ...['--listen', '127.0.0.1:0', '--latency', sizing.latency],
      ...['--configured', `${CONFIGURED_SHARE}`, '--idle', `${IDLE_SHARE}`],
      ...fleet,
      ...(isCalm ? [] : weather),
    ]);
  }

  /** One that must not end before the demo does. */
  #spawn(command: string, flags: readonly string[], onLine: (line: string) => void = () => {}): Child {
    const child = this.#child(command, flags, onLine);
    this.#children.push(child);
    return child;
  }

  #child(command: string, flags: readonly string[], onLine: (line: string) => void = () => {}): Child {
    const child = new Child(command, flags, { onLine, environment: environmentOf(this.#plan.sizing) });
    this.#started.push(child);
    return child;
  }

  /** Draws until the end: a page every second, or a line every five. */
  async #show(): Promise<void> {
    let drawnLines = 0;
    while (!this.#isEnding) {
      const sample = this.#http === 'off' ? null : await this.#sample();
      if (sample !== null && this.#isPage) {
        const lines = pageLines(sample, this.#http, process.stdout.columns || 80);
        const up = drawnLines === 0 ? '' : `\u001b[${drawnLines}A`;
        process.stdout.write(`${up}${lines.map((line) => `\u001b[2K${line}\n`).join('')}`);
        drawnLines = lines.length;
      } else if (sample !== null) process.stdout.write(`${progressLine(sample)}\n`);
      const everyMs = this.#isPage ? PAGE_EVERY_MS : LINE_EVERY_MS;
      await new Promise((resolve) => setTimeout(resolve, everyMs).unref());
    }
  }

  /** Null while the shard is too busy to answer, or gone. */
  async #sample(): Promise<UpSample | null> {
    if (this.#replicas !== null) {
      await this.#replicas.follow(
        async (http) => (await getJson<ApiOverview>(`${http}api/v1/status`)).replica?.role ?? null,
      );
      this.#http = this.#replicas.http;
    }
    try {
      const [overview, history] = await Promise.all([
        getJson<ApiOverview>(`${this.#http}api/v1/overview`),
        getJson<ApiHistory>(`${this.#http}api/v1/history?since=${this.#seenMs}`),
      ]);
      for (const { atMs, durationMs, enqueued } of history.samples) {
        if (atMs <= this.#seenMs) continue;
        this.#seenMs = atMs;
        this.#cycleMs = durationMs;
        for (const [kind, count] of Object.entries(enqueued)) {
          this.#actions[kind] = (this.#actions[kind] ?? 0) + count;
        }
      }
      return {
        overview,
        elapsedMs: Date.now() - this.#startedMs,
        cycleMs: this.#cycleMs,
        actionsByKind: this.#actions,
        operators: this.#operatorsLine,
      };
    } catch {
      return null;
    }
  }

  async #anyEnds(): Promise<number> {
    const ends = this.#children.map(async (child) => ({ child, code: await child.exited }));
    const { child, code } = await Promise.race(ends);
    if (this.#isEnding) return EXIT_OK;
    const how = code === null ? 'a signal' : `exit code ${code}`;
    process.stderr.write(`flotilla up: ${child.command} ended with ${how}: ${child.lastLine}\n`);
    return EXIT_FAILED;
  }

  async #stop(): Promise<void> {
    this.#isEnding = true;
    this.#replicas?.end();
    this.#onKey();
    if (this.#started.some(({ isRunning }) => isRunning)) this.#say('stopping');
    for (const child of this.#started.reverse()) await child.stop(STOP_GRACE_MS);
    await this.#etcd?.stop();
  }

  #say(what: string): void {
    process.stdout.write(`flotilla up: ${what}\n`);
  }
}

/** Settings of the shard, which a user's environment and flags override. */
function environmentOf({ executeConcurrency, isIncremental }: UpSizing): Record<string, string> {
  return {
    ...SHORT_HOLDS,
    FLOTILLA_EXECUTE_CONCURRENCY: `${executeConcurrency}`,
    FLOTILLA_INCREMENTAL_RECONCILE: `${isIncremental}`,
  };
}

/** Resolves on SIGINT, on SIGTERM, or when the time is up. */
function endSignal(seconds: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      process.off('SIGINT', end);
      process.off('SIGTERM', end);
      resolve();
    };
    process.on('SIGINT', end);
    process.on('SIGTERM', end);
    if (seconds > 0) setTimeout(end, seconds * 1000).unref();
  });
}

/** The usual port, or an unused one if another process has it: 0, or, if it `isFixed`, one that is unused now. */
function freeAddress(port: number, isFixed: boolean): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(isFixed ? freeAddress(0, true) : '127.0.0.1:0'));
    server.listen(port, '127.0.0.1', () => {
      const found = (server.address() as AddressInfo).port;
      server.close(() => resolve(`127.0.0.1:${found}`));
    });
  });
}

/** Calls the handler of each key that is pressed, or written to the standard input. Returns a function that ends that. */
function onKeys(handlers: Readonly<Record<string, () => void>>): () => void {
  const { stdin } = process;
  const onData = (keys: Buffer) => {
    for (const key of keys.toString()) handlers[key]?.();
  };
  if (stdin.isTTY) stdin.setRawMode(true);
  stdin.on('data', onData);
  stdin.unref?.();
  return () => {
    stdin.off('data', onData);
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.pause();
  };
}

async function getText(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return response.text();
}

async function getJson<T>(url: string): Promise<T> {
  return JSON.parse(await getText(url)) as T;
}
