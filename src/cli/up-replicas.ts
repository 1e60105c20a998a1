/**
 * The two replicas of `flotilla up --standby`, and a supervisor that starts one again when it ends, as systemd or Kubernetes would.
 * Both keep their addresses, so operators and the page find them again.
 */
import type { ApiReplica } from '../dashboard/api/types.ts';
import type { Child } from './children.ts';

/** So that a viewer sees the other one take over first. */
const RESTART_MS = 3_000;
/** Invalid settings: starting it again does not help. */
const EXIT_USAGE = 2;

export interface ReplicaPlan {
  readonly name: string;
  /** Starts the process; its first line names its addresses. */
  readonly spawn: () => Child;
}

class Replica {
  readonly #plan: ReplicaPlan;
  #child: Child;
  listen = '';
  http = '';

  constructor(plan: ReplicaPlan) {
    this.#plan = plan;
    this.#child = plan.spawn();
  }

  get name(): string {
    return this.#plan.name;
  }

  get child(): Child {
    return this.#child;
  }

  async ready(): Promise<void> {
    const [, listen = '', http = ''] =
      /^listening on (\S+) http (\S+)$/.exec(await this.#child.ready()) ?? [];
    this.listen = listen;
    this.http = http;
  }

  restart(): Promise<void> {
    this.#child = this.#plan.spawn();
    return this.ready();
  }
}

export class UpReplicas {
  readonly #replicas: readonly Replica[];
  readonly #say: (line: string) => void;
  #active: Replica;
  #isEnding = false;

  constructor(plans: readonly ReplicaPlan[], say: (line: string) => void) {
    this.#say = say;
    this.#replicas = plans.map((plan) => new Replica(plan));
    this.#active = this.#replicas[0]!;
  }

  /** Resolves when both accept sessions. */
  async ready(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.ready()));
    for (const replica of this.#replicas) void this.#supervise(replica);
  }

  /** One address for both, as gRPC writes it: the first that answers is used. */
  get target(): string {
    return `ipv4:${this.#replicas.map(({ listen }) => listen).join(',')}`;
  }

  get addresses(): string {
    return this.#replicas.map(({ name, listen, http }) => `${name} on ${listen} (${http})`).join(', ');
  }

  /** Of the active replica, as far as it is known. */
  get http(): string {
    return this.#active.http;
  }

  /** Looks which replica is active, if the one that was shown last is not. */
  async follow(roleOf: (http: string) => Promise<ApiReplica['role'] | null>): Promise<void> {
    for (const replica of [this.#active, ...this.#replicas]) {
      const role = await roleOf(replica.http).catch(() => null);
      if (role === null || role === 'standby') continue;
      if (replica !== this.#active) this.#say(`replica ${replica.name} is active now: ${replica.http}`);
      this.#active = replica;
      return;
    }
  }

  killActive(): void {
    if (!this.#active.child.isRunning) return;
    this.#say(`killed replica ${this.#active.name}`);
    this.#active.child.kill();
  }

  /** From now on a replica that ends stays ended. */
  end(): void {
    this.#isEnding = true;
  }

  async #supervise(replica: Replica): Promise<void> {
    while (!this.#isEnding) {
      const code = await replica.child.exited;
      if (this.#isEnding) return;
      this.#say(`replica ${replica.name} ended with ${code === null ? 'a signal' : `exit code ${code}`}`);
      if (code === EXIT_USAGE) return;
      await new Promise((resolve) => setTimeout(resolve, RESTART_MS).unref());
      if (this.#isEnding) return;
      await replica.restart().catch(() => {}); // it ended again
    }
  }
}
