/**
 * A stage for one fault: a provider and a shard as processes, three clusters with constant demand, and a proxy on either side
 * of the shard. Because demand is constant, the result is known: every cluster has the nodes that it asked for, no machine is
 * the node of two clusters, none is lost, and the shard reclaims none.
 */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MachineState } from '../../machine/state.ts';
import type { SimulatedOperator } from '../operators/operator.ts';
import {
  askForNodes,
  type ClusterView,
  connectClusters,
  NODES_PER_CLUSTER,
  OperatorsProgram,
  viewsOf,
} from './clusters.ts';
import { Program, pause } from './programs.ts';
import { FaultyProxy } from './proxy.ts';
import type { Tampering } from './tamper.ts';
import { type Truth, truthOf } from './truth.ts';

export const MACHINES = 160;
const POLL_MS = 100;
const SETTLE_MS_MAX = 90_000;
const PROVIDER_FLAGS = ['--machines', String(MACHINES), '--latency', '100ms/300ms'];
const SHARD_FLAGS = [...['--bootstrap-timeout', '3s', '--keepalive-timeout', '3s', '--workers', '1']];

/** A running provider. */
export interface ProviderHandle {
  readonly address: string;
  /** Address with correct answers, if `address` gives wrong ones. */
  readonly truthAddress?: string;
  close(): Promise<void>;
}

export interface AuditLine {
  readonly time: string;
  readonly kind: string;
  readonly machine: string;
  readonly outcome: string;
}

/** A shard's process, and where it listens. */
export interface StartedShard {
  readonly program: Program;
  readonly started: Promise<{ readonly address: string; readonly http: string }>;
}

export class Stage {
  /** Operators in this process; empty if they run in their own. */
  operators: readonly SimulatedOperator[] = [];
  operatorsProgram: OperatorsProgram | null = null;
  hasOperatorsApart = false;
  readonly folder = mkdtempSync(join(tmpdir(), 'flotilla-chaos-'));
  provider!: ProviderHandle;
  /** Between shard and provider, and between operators and shard. */
  providerProxy!: FaultyProxy;
  operatorProxy!: FaultyProxy;
  shard!: Program;
  shardHttp = '';
  providerProgram: Program | null = null;
  /** Replaced processes, which may still run. */
  readonly formers: Program[] = [];
  readonly formerAuditLogs: string[] = [];
  dataDir = join(this.folder, 'data');
  auditLog = join(this.folder, 'audit.log');
  /** Share of the machines that start Idle. */
  idleShare = 0.4;
  /** Rows that every shard process reserves. */
  machinesMax = 4_096;
  executeTimeout = '3s';
  cycleInterval = '500ms';
  /** Additional flags of every shard process. */
  shardFlags: readonly string[] = [];
  isTampered = false;
  readonly #tamperFile = join(this.folder, 'tamper.json');

  /** Starts all processes and connects the clusters, without demand. */
  async open(provider: ProviderHandle | null = null): Promise<void> {
    if (provider === null) await this.startProvider();
    else this.provider = provider;
    this.providerProxy = await FaultyProxy.listen(this.provider.address);
    this.operatorProxy = await FaultyProxy.listen('127.0.0.1:9');
    await this.startShard();
    if (!this.hasOperatorsApart) this.operators = await connectClusters(this.operatorProxy.address);
  }

  /** Lets the clusters send their demand, which never changes. */
  async demand(): Promise<void> {
    if (this.hasOperatorsApart) await this.startOperators();
    else askForNodes(this.operators);
  }

  async startOperators(): Promise<void> {
    this.operatorsProgram = await OperatorsProgram.start(this.operatorProxy.address);
  }

  /** The view of each cluster; empty while no operators run. */
  async views(): Promise<ClusterView[]> {
    return this.hasOperatorsApart ? ((await this.operatorsProgram?.views()) ?? []) : viewsOf(this.operators);
  }

  /** Controls the clock and the threads of shard processes that were started with `isTampered`. */
  tamper(how: Tampering): void {
    writeFileSync(`${this.#tamperFile}.new`, JSON.stringify(how));
    renameSync(`${this.#tamperFile}.new`, this.#tamperFile);
  }

  /** A restarted provider keeps its address. */
  async startProvider(): Promise<void> {
    const listen = this.providerProgram === null ? '127.0.0.1:0' : this.provider.address;
    const program = new Program('provider', [
      ...['--listen', listen, '--idle', String(this.idleShare)],
      ...PROVIDER_FLAGS,
    ]);
    this.providerProgram = program;
    const address = (await program.firstLine()).slice('listening on '.length);
    this.provider = { address, close: () => program.kill() };
  }

  async startShard(...flags: string[]): Promise<void> {
    const { program, started } = this.shardProgram(this.dataDir, this.auditLog, flags);
    this.shard = program;
    const { address, http } = await started;
    this.shardHttp = http;
    this.operatorProxy.connectTo(address);
  }

  protected shardProgram(dataDir: string, auditLog: string, flags: readonly string[]): StartedShard {
    const shardFlags = [
      ...['--provider-addr', `sim=${this.providerProxy.address}`, '--listen', '127.0.0.1:0'],
      ...['--metrics-addr', '127.0.0.1:0', '--data-dir', dataDir, '--audit-log', auditLog],
      ...['--max-machines', String(this.machinesMax), '--execute-timeout', this.executeTimeout],
      ...['--cycle-interval', this.cycleInterval],
      ...[...SHARD_FLAGS, ...this.shardFlags, ...flags],
    ];
    const program = new Program('shard', shardFlags, this.isTampered ? this.#tamperFile : '');
    const started = program.firstLine().then((line) => {
      const [, address = '', http = ''] = /^listening on (\S+) http (\S+)$/.exec(line) ?? [];
      return { address, http };
    });
    return { program, started };
  }

  /** Waits until every cluster has its nodes and all parts agree. Returns how long that took, in ms. */
  async settle(): Promise<number> {
    const beganMs = performance.now();
    let wrong = '';
    while (performance.now() - beganMs < SETTLE_MS_MAX) {
      wrong = await this.#look();
      if (wrong === '') return performance.now() - beganMs;
      await pause(POLL_MS);
    }
    throw new Error(`the stage has not settled after ${SETTLE_MS_MAX} ms: ${wrong}`);
  }

  /** Lines of an audit log; default: that of the current shard. */
  audited(path = this.auditLog): AuditLine[] {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  }

  async close(): Promise<void> {
    for (const operator of this.operators) await operator.close();
    await this.operatorsProgram?.kill();
    for (const program of [this.shard, ...this.formers]) await program?.kill();
    await this.provider?.close();
    await this.providerProxy?.close();
    await this.operatorProxy?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Of the process that decides now. */
  protected async presentHttp(): Promise<string> {
    return this.shardHttp;
  }

  /** What differs from the settled state, or ''. */
  async #look(): Promise<string> {
    const truth = await truthOf(this.provider.truthAddress ?? this.provider.address).catch(
      (error: Error) => error.message,
    );
    if (typeof truth === 'string') return truth;
    if (truth.machineCount !== MACHINES)
      return `the provider has ${truth.machineCount} of ${MACHINES} machines`;
    if (truth.restless > 0) return `${truth.restless} machines are transitional or Failed`;
    const views = await this.views();
    if (views.length === 0) return 'no operators run';
    for (const view of views) {
      const wrong = wrongWith(view, truth);
      if (wrong !== '') return wrong;
    }
    const known = await this.#known();
    return known === MACHINES ? '' : `the shard has ${known} of ${MACHINES} machines`;
  }

  async #known(): Promise<number> {
    const response = await fetch(`${await this.presentHttp()}api/v1/overview`).catch(() => null);
    if (response === null || !response.ok) return 0;
    return ((await response.json()) as { machines: number }).machines;
  }
}

/** A machine that is a node of two clusters at once, by their views, or ''. */
export function doubleBinding(views: readonly ClusterView[]): string {
  const owner = new Map<string, string>();
  for (const { clusterId, nodes } of views) {
    for (const { machineId, state } of nodes) {
      if (state !== MachineState.Configured) continue;
      const other = owner.get(machineId);
      if (other !== undefined) return `${machineId} is a node of ${other} and of ${clusterId}`;
      owner.set(machineId, clusterId);
    }
  }
  return '';
}

function wrongWith({ clusterId, nodes }: ClusterView, truth: Truth): string {
  const theirs = truth.nodes.get(clusterId) ?? new Set();
  if (theirs.size !== NODES_PER_CLUSTER)
    return `${clusterId} has ${theirs.size} of ${NODES_PER_CLUSTER} nodes`;
  const reported = nodes.filter(({ state }) => state === MachineState.Configured);
  const isComplete =
    reported.length === theirs.size && reported.every(({ machineId }) => theirs.has(machineId));
  return isComplete
    ? ''
    : `the operator of ${clusterId} knows ${reported.length} nodes, not exactly its own ${theirs.size}`;
}
