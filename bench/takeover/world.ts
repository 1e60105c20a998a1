/**
 * Two replicas of a shard as users run them, for the takeover benchmark: an etcd, a provider, the replicas, a balancer that follows their
 * readiness, and operators behind it. Each is a process on loopback, but for the balancer. All are ended in reverse order.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Child } from '../../src/cli/children.ts';
import { EtcdProcess } from '../../src/cli/up-etcd.ts';
import type { ApiNeeds } from '../../src/dashboard/api/types.ts';
import { Balancer, type BalancerTarget } from '../../src/simulation/chaos/balancer.ts';

const STOP_GRACE_MS = 20_000;
const WAIT_MS_MAX = 400_000;
const POLL_MS = 50;

export interface TakeoverPlan {
  readonly machines: number;
  readonly clusters: number;
  readonly leaseMs: number;
  readonly standby: 'warm' | 'cold';
}

/** A replica's process. Its log says when it gave its lease up. */
export interface RunningReplica extends BalancerTarget {
  readonly name: string;
  readonly child: Child;
  /** Wall clock; null until it handed over. */
  readonly handedOverMs: number | null;
}

export class TakeoverWorld {
  readonly #plan: TakeoverPlan;
  readonly #folder = mkdtempSync(join(tmpdir(), 'flotilla-takeover-'));
  readonly #children: Child[] = [];
  readonly #fleetFlags: readonly string[];
  #etcd: EtcdProcess | null = null;
  #balancer: Balancer | null = null;
  #providerAddress = '';
  #replicas: RunningReplica[] = [];
  #started = 0;

  constructor(plan: TakeoverPlan) {
    this.#plan = plan;
    this.#fleetFlags = ['--machines', `${plan.machines}`, '--clusters', `${plan.clusters}`, '--seed', '1'];
  }

  /** Resolves when one replica has decided for all clusters and the other one is ready. Returns the needs that it decides for. */
  async start(): Promise<number> {
    this.#etcd = await EtcdProcess.start(join(this.#folder, 'etcd'));
    const provider = this.#spawn('provider', [
      ...['--listen', '127.0.0.1:0', '--configured', '97%', ...this.#fleetFlags],
    ]);
    this.#providerAddress = (await provider.ready()).slice('listening on '.length);
    const first = await this.startReplica();
    await until(
      'the first replica is active',
      () => roleOf(first),
      (role) => role === 'active',
    );
    await this.startReplica();
    this.#balancer = await Balancer.listen();
    this.#balancer.targets = this.#replicas;
    const operators = this.#spawn('operators', [
      ...[
        '--shard',
        this.#balancer.address,
        '--ramp',
        '10s',
        '--give-up',
        '5m',
        '--json',
        ...this.#fleetFlags,
      ],
    ]);
    await operators.ready();
    return this.#decidedNeeds(first);
  }

  get active(): Promise<RunningReplica> {
    return until(
      'one replica is active',
      async () => {
        const roles = await Promise.all(this.#replicas.map((replica) => roleOf(replica)));
        return (
          this.#replicas.find((_, index) => roles[index] === 'active' || roles[index] === 'adrift') ?? null
        );
      },
      (found) => found !== null,
    ) as Promise<RunningReplica>;
  }

  /** The one that is not active. */
  async standby(): Promise<RunningReplica> {
    const active = await this.active;
    return this.#replicas.find((replica) => replica !== active)!;
  }

  /** Starts a replica that takes the place of one that ended. Resolves when it is ready. */
  async startReplica(): Promise<RunningReplica> {
    const { leaseMs, standby } = this.#plan;
    const name = `replica-${++this.#started}`;
    let handedOverMs: number | null = null;
    const child = this.#spawn(
      'shard',
      [
        ...['--provider-addr', `simulated=${this.#providerAddress}`, '--data-dir', join(this.#folder, name)],
        ...['--listen', '127.0.0.1:0', '--metrics-addr', '127.0.0.1:0', '--incremental-reconcile'],
        ...['--directory', `etcd://${this.#etcd!.address}`, '--replica', name],
        ...['--lease', `${leaseMs}ms`, '--standby', standby],
      ],
      (line) => {
        if (line.includes('"event":"replica_handed_over"')) handedOverMs = timeOf(line);
      },
    );
    const [, address = '', http = ''] = /^listening on (\S+) http (\S+)$/.exec(await child.ready()) ?? [];
    const replica = {
      name,
      child,
      address,
      http,
      get handedOverMs() {
        return handedOverMs;
      },
    };
    await until(
      'the replica is ready',
      () => readiness(replica),
      ({ isReady }) => isReady,
    );
    this.#replicas = [...this.#replicas.filter(({ child }) => child.isRunning), replica];
    if (this.#balancer !== null) this.#balancer.targets = this.#replicas;
    return replica;
  }

  /**
   * When the replica first decided for a cluster that has reported, and when for so many needs; wall clock. It is asked every
   * 50 ms, so the first time is that of the first decision or of one shortly after.
   */
  async decisions(
    replica: RunningReplica,
    needs: number,
    sinceMs: number,
  ): Promise<{ firstMs: number; allMs: number }> {
    let firstMs: number | null = null;
    const { computedAtMs } = await until(
      'the other replica decides for all clusters',
      async () => {
        const seen = await needsOf(replica);
        // Demand is known before the first decision for it.
        if (seen.total > 0 && seen.computedAtMs > sinceMs) firstMs ??= seen.computedAtMs;
        return seen;
      },
      ({ total, computedAtMs: atMs }) => total >= needs && atMs > sinceMs,
    );
    return { firstMs: firstMs!, allMs: computedAtMs };
  }

  async close(): Promise<void> {
    this.#balancer?.close();
    for (const child of this.#children.reverse()) await child.stop(STOP_GRACE_MS);
    await this.#etcd?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Waits until the needs of three looks in a row are the same: all clusters have reported, and their demand stays. */
  async #decidedNeeds(replica: RunningReplica): Promise<number> {
    const seen: number[] = [];
    await until(
      'all clusters have reported',
      async () => {
        await sleep(3_000);
        seen.push((await needsOf(replica)).total);
        return seen.slice(-3);
      },
      (last) => last.length === 3 && last[0]! > 0 && last.every((count) => count === last[0]),
    );
    return seen.at(-1)!;
  }

  #spawn(command: string, flags: readonly string[], onLogLine: (line: string) => void = () => {}): Child {
    const child = new Child(command, flags, { onLogLine });
    this.#children.push(child);
    return child;
  }
}

async function needsOf({ http }: RunningReplica): Promise<Pick<ApiNeeds, 'total' | 'computedAtMs'>> {
  return (await (await fetch(`${http}api/v1/needs?limit=1`)).json()) as ApiNeeds;
}

async function roleOf({ http }: RunningReplica): Promise<string> {
  const { replica } = (await (await fetch(`${http}api/v1/overview`)).json()) as { replica: { role: string } };
  return replica.role;
}

async function readiness({ http }: RunningReplica): Promise<{ isReady: boolean; text: string }> {
  const answer = await fetch(`${http}readyz`);
  return { isReady: answer.ok, text: await answer.text() };
}

function timeOf(line: string): number {
  return Date.parse((JSON.parse(line) as { time: string }).time);
}

async function until<Seen>(
  what: string,
  look: () => Promise<Seen>,
  holds: (seen: Seen) => boolean,
): Promise<Seen> {
  const endMs = performance.now() + WAIT_MS_MAX;
  let last = '';
  while (performance.now() < endMs) {
    try {
      const seen = await look();
      if (holds(seen)) return seen;
      last = JSON.stringify(seen);
    } catch (error) {
      last = (error as Error).message; // a process that starts or ends
    }
    await sleep(POLL_MS);
  }
  throw new Error(`The benchmark waited too long until ${what}; it saw ${last}.`);
}
