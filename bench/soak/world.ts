/** The three programs of a soak, each a process, on loopback; ended in reverse order. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child, type ChildOptions } from '../../src/cli/children.ts';
import type { SoakPlan } from './flags.ts';

const STOP_GRACE_MS = 20_000;

/** More flags for one program. They come after the flags of every soak and override them. */
export type MoreFlags = Partial<Record<'provider' | 'shard' | 'operators', readonly string[]>>;

export class SoakWorld {
  readonly #children: Child[] = [];
  readonly #dataDir = mkdtempSync(join(tmpdir(), 'flotilla-soak-'));
  http = '';
  /** Where the shard accepts sessions. */
  listen = '';
  pids = { provider: 0, shard: 0, operators: 0 };
  onOperatorsLine: (line: string) => void = () => {};
  onShardLogLine: (line: string) => void = () => {};

  /** Resolves when all clusters are connected. */
  async start(plan: SoakPlan, say: (line: string) => void, more: MoreFlags = {}): Promise<void> {
    const { machines, clusters, seed, churn, latency, fullListings, executeConcurrency, sampleEveryMs } =
      plan;
    const fleet = ['--machines', `${machines}`, '--clusters', `${clusters}`, '--seed', `${seed}`];
    say(`starting a provider with ${machines.toLocaleString('en-US')} machines`);
    const provider = this.#spawn('provider', [
      ...['--listen', '127.0.0.1:0', '--configured', '97%', '--latency', latency, ...fleet],
      ...(more.provider ?? []),
    ]);
    const providerAddress = (await provider.ready()).slice('listening on '.length);
    const shard = this.#spawn(
      'shard',
      [
        ...['--provider-addr', `simulated=${providerAddress}`, '--data-dir', this.#dataDir],
        ...['--listen', '127.0.0.1:0', '--metrics-addr', '127.0.0.1:0'],
        ...(fullListings ? [] : ['--incremental-reconcile']),
        ...['--execute-concurrency', `${executeConcurrency}`],
        ...(more.shard ?? []),
      ],
      { onLogLine: (line) => this.onShardLogLine(line) },
    );
    const [, listen, http] = /^listening on (\S+) http (\S+)$/.exec(await shard.ready())!;
    this.http = http!;
    this.listen = listen!;
    say(`the shard serves at ${this.http}; connecting ${clusters.toLocaleString('en-US')} clusters`);
    const operators = this.#spawn(
      'operators',
      [
        ...['--shard', this.listen, '--churn', churn, '--json', '--report-every', `${sampleEveryMs}ms`],
        ...['--give-up', '5m', '--ramp', '10s', '--bootstrap-delay', '50ms-500ms', ...fleet],
        ...(more.operators ?? []),
      ],
      { onLine: (line) => this.onOperatorsLine(line) },
    );
    this.pids = { provider: provider.pid, shard: shard.pid, operators: operators.pid };
    say(`operators: ${await operators.ready()}`);
  }

  /** Resolves with a sentence when the first program ends. */
  async anyEnds(): Promise<string> {
    const ends = this.#children.map(async (child) => ({ child, code: await child.exited }));
    const { child, code } = await Promise.race(ends);
    return `flotilla ${child.command} ended with ${code ?? 'a signal'}: ${child.lastLine}`;
  }

  async stop(): Promise<void> {
    for (const child of this.#children.reverse()) await child.stop(STOP_GRACE_MS);
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  #spawn(command: string, flags: readonly string[], options: ChildOptions = {}): Child {
    const child = new Child(command, flags, options);
    this.#children.push(child);
    return child;
  }
}
