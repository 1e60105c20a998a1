/**
 * A stage for one fault: a provider and a shard as processes, three clusters whose demand never changes, and a proxy on
 * either side of the shard. Because demand does not change, it is known what must come out: every cluster has as many
 * nodes as it asked for, no machine is the node of two, none is lost, and nothing was reclaimed that somebody wanted.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MachineState } from '../machine/state.ts';
import { Operator } from '../needs/requirements.ts';
import type { RollupRow } from '../needs/rollup.ts';
import { SimulatedOperator } from '../session/simulated/operator.ts';
import { Program, pause } from './programs.ts';
import { FaultyProxy } from './proxy.ts';
import { type Truth, truthOf } from './truth.ts';

export const MACHINES = 160;
export const NODES_PER_CLUSTER = 30;
const CLUSTERS = ['red', 'green', 'blue'] as const;
const POLL_MS = 100;
const SETTLE_MS_MAX = 90_000;
const PROVIDER_FLAGS = ['--machines', String(MACHINES), '--idle', '0.4', '--latency', '100ms/300ms'];
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

export class Stage {
  readonly operators: SimulatedOperator[] = [];
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
  dataDir = join(this.folder, 'data');
  auditLog = join(this.folder, 'audit.log');

  /** Everything stands, and demand is about to be sent. */
  async open(provider: ProviderHandle | null = null): Promise<void> {
    if (provider === null) await this.startProvider();
    else this.provider = provider;
    this.providerProxy = await FaultyProxy.listen(this.provider.address);
    this.operatorProxy = await FaultyProxy.listen('127.0.0.1:9');
    await this.startShard();
    for (const [index, clusterId] of CLUSTERS.entries()) {
      const operator = new SimulatedOperator({
        address: this.operatorProxy.address,
        clusterId,
        seed: index,
        behaviour: { rollupIntervalMs: 1_000 },
        reconnect: { isEnabled: true, initialMs: 50, maxMs: 500, helloTimeoutMs: 2_000 },
      });
      this.operators.push(operator);
      await operator.connect();
    }
  }

  demand(): void {
    for (const operator of this.operators) operator.setDemand(rows(NODES_PER_CLUSTER));
  }

  /** At the address that it had, if it had one. */
  async startProvider(): Promise<void> {
    const listen = this.providerProgram === null ? '127.0.0.1:0' : this.provider.address;
    const program = new Program('provider', ['--listen', listen, ...PROVIDER_FLAGS]);
    this.providerProgram = program;
    const address = (await program.firstLine()).slice('listening on '.length);
    this.provider = { address, close: () => program.kill() };
  }

  async startShard(...flags: string[]): Promise<void> {
    const program = new Program('shard', [
      ...['--provider-addr', `sim=${this.providerProxy.address}`, '--listen', '127.0.0.1:0'],
      ...['--metrics-addr', '127.0.0.1:0', '--data-dir', this.dataDir, '--audit-log', this.auditLog],
      ...SHARD_FLAGS,
      ...flags,
    ]);
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

  /** Lines of the audit log, by kind and outcome; '' if there is none. */
  audited(): { readonly kind: string; readonly outcome: string; readonly machine: string }[] {
    return readFileSync(this.auditLog, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  }

  async close(): Promise<void> {
    for (const operator of this.operators) await operator.close();
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
    for (const operator of this.operators) {
      const wrong = wrongWith(operator, truth);
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
export function doubleBinding(operators: readonly SimulatedOperator[]): string {
  const owner = new Map<string, string>();
  for (const { clusterId, nodes } of operators) {
    for (const { machineId, state } of nodes.values()) {
      if (state !== MachineState.Configured) continue;
      const other = owner.get(machineId);
      if (other !== undefined) return `${machineId} is a node of ${other} and of ${clusterId}`;
      owner.set(machineId, clusterId);
    }
  }
  return '';
}

function wrongWith({ clusterId, nodes }: SimulatedOperator, truth: Truth): string {
  const theirs = truth.nodes.get(clusterId) ?? new Set();
  if (theirs.size !== NODES_PER_CLUSTER) return `${clusterId} has ${theirs.size} nodes`;
  const told = [...nodes.values()].filter(({ state }) => state === MachineState.Configured);
  const isTold = told.length === theirs.size && told.every(({ machineId }) => theirs.has(machineId));
  return isTold ? '' : `${clusterId} was told of ${told.length} nodes`;
}

/** For so many machines of whatever kind; each need is one machine large. */
function rows(count: number): RollupRow[] {
  return Array.from({ length: count }, (_, index) => ({
    requirements: [{ key: 'topology.kubernetes.io/zone', operator: Operator.Exists, values: [] }],
    aggregate: { cpu: '1' },
    minUnit: { cpu: '1' },
    priority: 1_000,
    spread: [],
    interruptionBucket: 1,
    reclamationBucket: 1,
    group: `g-${String(index).padStart(4, '0')}`,
  }));
}
