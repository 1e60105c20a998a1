/**
 * A stage for one fault: a provider and a shard as processes, three clusters whose demand never changes, and a proxy on
 * either side of the shard. Because demand does not change, it is known what must come out: every cluster has as many
 * nodes as it asked for, no machine is the node of two, none is lost, and nothing was reclaimed that somebody wanted.
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
const SHARD_FLAGS = [
  ...['--cycle-interval', '500ms', '--execute-timeout', '3s', '--bootstrap-timeout', '3s'],
  ...['--keepalive-timeout', '3s', '--workers', '1', '--max-machines', '4096'],
];

/** Where a provider listens, whatever it is. */
export interface ProviderHandle {
  readonly address: string;
  /** Where it tells the truth, if that is elsewhere. */
  readonly truthAddress?: string;
  close(): Promise<void>;
}

export interface AuditLine {
  readonly time: string;
  readonly kind: string;
  readonly machine: string;
  readonly outcome: string;
}

export class Stage {
  /** In this process, unless they have one of their own. */
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
  /** Processes that were replaced and may still live. */
  readonly formers: Program[] = [];
  readonly formerAuditLogs: string[] = [];
  dataDir = join(this.folder, 'data');
  auditLog = join(this.folder, 'audit.log');
  /** Of machines at the start. */
  idleShare = 0.4;
  /** Beside the usual ones, for every shard. */
  shardFlags: readonly string[] = [];
  isTampered = false;
  readonly #tamperFile = join(this.folder, 'tamper.json');

  /** Everything stands, and demand is about to be sent. */
  async open(provider: ProviderHandle | null = null): Promise<void> {
    if (provider === null) await this.startProvider();
    else this.provider = provider;
    this.providerProxy = await FaultyProxy.listen(this.provider.address);
    this.operatorProxy = await FaultyProxy.listen('127.0.0.1:9');
    await this.startShard();
    if (!this.hasOperatorsApart) this.operators = await connectClusters(this.operatorProxy.address);
  }

  /** From now on, and it never changes. */
  async demand(): Promise<void> {
    if (this.hasOperatorsApart) await this.startOperators();
    else askForNodes(this.operators);
  }

  async startOperators(): Promise<void> {
    this.operatorsProgram = await OperatorsProgram.start(this.operatorProxy.address);
  }

  /** What each cluster knows; none while there are no operators. */
  async views(): Promise<ClusterView[]> {
    return this.hasOperatorsApart ? ((await this.operatorsProgram?.views()) ?? []) : viewsOf(this.operators);
  }

  /** What happens to the clock and the threads of shards, if the stage is for that. */
  tamper(how: Tampering): void {
    writeFileSync(`${this.#tamperFile}.new`, JSON.stringify(how));
    renameSync(`${this.#tamperFile}.new`, this.#tamperFile);
  }

  /** At the address that it had, if it had one. */
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
    const words = [
      ...['--provider-addr', `sim=${this.providerProxy.address}`, '--listen', '127.0.0.1:0'],
      ...['--metrics-addr', '127.0.0.1:0', '--data-dir', this.dataDir, '--audit-log', this.auditLog],
      ...[...SHARD_FLAGS, ...this.shardFlags, ...flags],
    ];
    const program = new Program('shard', words, this.isTampered ? this.#tamperFile : '');
    this.shard = program;
    const [, address, http] = /^listening on (\S+) http (\S+)$/.exec(await program.firstLine())!;
    this.shardHttp = http!;
    this.operatorProxy.leadTo(address!);
  }

  /** Waits until everybody has what it wants and everybody says the same; how long it took, ms. */
  async settle(): Promise<number> {
    const beganMs = performance.now();
    let wrong = '';
    while (performance.now() - beganMs < SETTLE_MS_MAX) {
      wrong = await this.#look();
      if (wrong === '') return performance.now() - beganMs;
      await pause(POLL_MS);
    }
    throw new Error(`not settled after ${SETTLE_MS_MAX} ms: ${wrong}`);
  }

  /** Lines of an audit log: the last shard's, unless another one is named. */
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

  /** What is not as it must be in the end; ''. */
  async #look(): Promise<string> {
    const truth = await truthOf(this.provider.truthAddress ?? this.provider.address).catch(
      (error: Error) => error.message,
    );
    if (typeof truth === 'string') return truth;
    if (truth.machineCount !== MACHINES) return `${truth.machineCount} machines of ${MACHINES}`;
    if (truth.restless > 0) return `${truth.restless} machines do not rest`;
    const views = await this.views();
    if (views.length === 0) return 'there are no operators';
    for (const view of views) {
      const wrong = wrongWith(view, truth);
      if (wrong !== '') return wrong;
    }
    const known = await this.#known();
    return known === MACHINES ? '' : `the shard knows ${known} machines`;
  }

  async #known(): Promise<number> {
    const response = await fetch(`${this.shardHttp}api/v1/overview`).catch(() => null);
    if (response === null || !response.ok) return 0;
    return ((await response.json()) as { machines: number }).machines;
  }
}

/** A machine that two clusters have as a node at once, by what each was told; ''. */
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
  if (theirs.size !== NODES_PER_CLUSTER) return `${clusterId} has ${theirs.size} nodes`;
  const told = nodes.filter(({ state }) => state === MachineState.Configured);
  const isTold = told.length === theirs.size && told.every(({ machineId }) => theirs.has(machineId));
  return isTold ? '' : `${clusterId} was told of ${told.length} nodes`;
}
