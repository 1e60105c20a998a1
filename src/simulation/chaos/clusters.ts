/**
 * The clusters of a stage, whose demand never changes. They run in this process, or in one that can be killed
 * (operators-program.ts). A view is the state of the nodes as the shard reported it to a cluster.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Operator } from '../../needs/requirements.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import { SimulatedOperator } from '../operators/operator.ts';

export const NODES_PER_CLUSTER = 30;
const CLUSTERS = ['red', 'green', 'blue'] as const;
const PROGRAM = fileURLToPath(new URL('./operators-program.js', import.meta.url));

/** The nodes of one cluster, as reported to it. */
export interface ClusterView {
  readonly clusterId: string;
  readonly bootstrapCount: number;
  readonly nodes: readonly { readonly machineId: string; readonly state: number }[];
}

export async function connectClusters(address: string): Promise<SimulatedOperator[]> {
  const operators: SimulatedOperator[] = [];
  for (const [index, clusterId] of CLUSTERS.entries()) {
    const operator = new SimulatedOperator({
      address,
      clusterId,
      seed: index,
      behaviour: { rollupIntervalMs: 1_000 },
      reconnect: { isEnabled: true, initialMs: 50, maxMs: 500, helloTimeoutMs: 2_000 },
    });
    operators.push(operator);
    await operator.connect();
  }
  return operators;
}

export function askForNodes(operators: readonly SimulatedOperator[]): void {
  for (const operator of operators) operator.setDemand(rows(NODES_PER_CLUSTER));
}

export function viewsOf(operators: readonly SimulatedOperator[]): ClusterView[] {
  return operators.map(({ clusterId, bootstrapRequests, nodes }) => ({
    clusterId,
    bootstrapCount: bootstrapRequests.length,
    nodes: [...nodes.values()].map(({ machineId, state }) => ({ machineId, state })),
  }));
}

/** One row per machine, of any kind; each need fits one machine. */
export function rows(count: number): RollupRow[] {
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

/** The same clusters in another process. */
export class OperatorsProgram {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Resolves when the sessions are open and the demand is sent. */
  static async start(address: string): Promise<OperatorsProgram> {
    const child = fork(PROGRAM, [address], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const program = new OperatorsProgram(child);
    await program.views();
    return program;
  }

  /** Empty if the process has ended. */
  async views(): Promise<ClusterView[]> {
    const child = this.#child;
    if (!child.connected) return [];
    const ended = new AbortController();
    const answer = once(child, 'message', ended).then(([views]) => views as ClusterView[]);
    const gone = once(child, 'exit', ended).then(() => []);
    child.send('views');
    try {
      return await Promise.race([answer, gone]);
    } finally {
      for (const promise of [answer, gone]) promise.catch(() => {}); // aborting rejects the other one
      ended.abort();
    }
  }

  /** Like kill -9. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}
