/**
 * A stage with two replicas of the shard and an etcd of three members. Operators reach the replicas through a balancer that follows
 * their readiness. Each replica reaches etcd, and the other replica, through proxies of its own. A supervisor starts a
 * replica again when it ends, as systemd and Kubernetes do.
 */
import { join } from 'node:path';
import { Balancer } from './balancer.ts';
import { EtcdServer } from './etcd-server.ts';
import { type Program, pause } from './programs.ts';
import { FaultyProxy, type ProxyMode } from './proxy.ts';
import { Stage } from './stage.ts';

export const LEASE_MS = 2_000;
const MEMBERS = 3;
const RESTART_MS = 500;
/** On a busy machine an etcd of three members needs a while for its first election. */
const ROLE_MS_MAX = 180_000;

export class Replica {
  readonly name: string;
  readonly auditLog: string;
  /** To each member of etcd. */
  readonly directory: readonly FaultyProxy[];
  /** The address at which the other replica reaches this one. */
  readonly peer: FaultyProxy;
  program: Program | null = null;
  address = '';
  http = '';

  constructor(name: string, folder: string, directory: readonly FaultyProxy[], peer: FaultyProxy) {
    this.name = name;
    this.auditLog = join(folder, `audit-${name}.log`);
    this.directory = directory;
    this.peer = peer;
  }

  /** Cuts it off from all members of etcd, or connects it again. */
  reachEtcd(mode: ProxyMode): void {
    for (const proxy of this.directory) proxy.be(mode);
  }

  /** '' while it cannot be asked. */
  async role(): Promise<string> {
    return (await this.#view()).role;
  }

  /** The name of the replica that is active, as this one knows. */
  async activeReplica(): Promise<string> {
    return (await this.#view()).activeReplica;
  }

  async #view(): Promise<{ readonly role: string; readonly activeReplica: string }> {
    try {
      const answer = await fetch(`${this.http}api/v1/overview`, { signal: AbortSignal.timeout(1_000) });
      return ((await answer.json()) as { replica: { role: string; activeReplica: string } }).replica;
    } catch {
      return { role: '', activeReplica: '' };
    }
  }
}

export class ReplicaStage extends Stage {
  etcd: EtcdServer[] = [];
  readonly replicas: Replica[] = [];
  #balancer: Balancer | null = null;
  #isClosing = false;

  override async startShard(): Promise<void> {
    this.etcd = await EtcdServer.startCluster(MEMBERS);
    for (const name of ['a', 'b']) {
      const directory = await Promise.all(this.etcd.map(({ address }) => FaultyProxy.listen(address)));
      const peer = await FaultyProxy.listen('127.0.0.1:9');
      this.replicas.push(new Replica(name, this.folder, directory, peer));
    }
    const [first, second] = this.replicas as [Replica, Replica];
    this.auditLog = first.auditLog;
    this.formerAuditLogs.push(second.auditLog);
    await this.#start(first);
    await this.active();
    await this.#start(second);
    this.#balancer = await Balancer.listen();
    this.#balancer.targets = this.replicas;
    this.operatorProxy.connectTo(this.#balancer.address);
  }

  /** The replica that says that it is active, confirmed or not. */
  active(): Promise<Replica> {
    return this.#withRole(['active', 'adrift']);
  }

  confirmed(): Promise<Replica> {
    return this.#withRole(['active']);
  }

  /** The replica shows that the one with this name is active. */
  async knows(replica: Replica, name: string): Promise<void> {
    await this.#until(`replica ${replica.name} knows that ${name} is active`, async () =>
      (await replica.activeReplica()) === name ? replica : null,
    );
  }

  standby(): Promise<Replica> {
    return this.#withRole(['standby']);
  }

  /** The other replica has taken over, and is confirmed. */
  async takeoverFrom(former: Replica): Promise<Replica> {
    const other = this.replicas.find((replica) => replica !== former)!;
    return this.#until(`replica ${other.name} is active`, async () =>
      (await other.role()) === 'active' ? other : null,
    );
  }

  /** A replica that starts again has another address, and on a busy machine the active one may change at any time. */
  protected override async presentHttp(): Promise<string> {
    this.shardHttp = (await this.active()).http;
    return this.shardHttp;
  }

  override async close(): Promise<void> {
    this.#isClosing = true;
    for (const { program } of this.replicas) await program?.kill();
    await super.close();
    this.#balancer?.close();
    for (const { directory, peer } of this.replicas)
      for (const proxy of [...directory, peer]) await proxy.close();
    for (const member of this.etcd) await member.close();
  }

  async #start(replica: Replica): Promise<void> {
    const members = replica.directory.map(({ address }) => address).join(',');
    const { program, started } = this.shardProgram(join(this.folder, replica.name), replica.auditLog, [
      ...['--directory', `etcd://${members}`, '--lease', `${LEASE_MS}ms`],
      ...['--replica', replica.name, '--advertise-addr', replica.peer.address],
    ]);
    replica.program = program;
    void program.exited.then(() => this.#restart(replica));
    const { address, http } = await started;
    replica.address = address;
    replica.http = http;
    replica.peer.connectTo(address);
  }

  async #restart(replica: Replica): Promise<void> {
    await pause(RESTART_MS);
    if (this.#isClosing) return;
    await this.#start(replica).catch(() => {}); // it ended again: so does this restart
  }

  #withRole(roles: readonly string[]): Promise<Replica> {
    return this.#until(`a replica is ${roles.join(' or ')}`, async () => {
      for (const replica of this.replicas) if (roles.includes(await replica.role())) return replica;
      return null;
    });
  }

  async #until(what: string, look: () => Promise<Replica | null>): Promise<Replica> {
    const endMs = performance.now() + ROLE_MS_MAX;
    while (performance.now() < endMs) {
      const found = await look();
      if (found !== null) return found;
      await pause(50);
    }
    const roles = await Promise.all(
      this.replicas.map(async (replica) => `${replica.name} ${(await replica.role()) || 'away'}`),
    );
    throw new Error(`the stage waited in vain until ${what}: ${roles.join(', ')}`);
  }
}
