/**
 * Clusters and their operators in the simulator. A cluster outlives shard processes: it has demand, keeps the node states
 * that a shard reported, answers bootstrap requests well or badly, and reconnects. Frames arrive in order and with delay;
 * frames in flight are lost when the session ends.
 */
import type { Random } from '../../base/random.ts';
import type { MachineState } from '../../machine/state.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import type { BlobAnswer, NodeState, ReclaimInstruction } from '../../shard/ports/operators.ts';
import type { VirtualTime } from './time.ts';

export interface OperatorFaults {
  readonly delayMsMean: number;
  /** Chance that the operator answers a bootstrap request with an error, or not at all. */
  readonly blobError: number;
  readonly blobSilence: number;
}

export const GOOD_OPERATOR: OperatorFaults = { delayMsMean: 5, blobError: 0, blobSilence: 0 };

export class SimulatedCluster {
  readonly id: string;
  faults: OperatorFaults = GOOD_OPERATOR;
  rows: readonly RollupRow[] = [];
  /** By machine: the last reported state. Machines that left are removed. */
  readonly nodes = new Map<string, MachineState>();
  /** Number of the session; 0 without one. Frames of a session with another number are lost. */
  session = 0;
  /** Start of the session, in true time. */
  connectedMs = 0;
  instructions = 0;
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #digests = new WeakMap<RollupRow, number>();
  #digestCount = 0;
  #sessions = 0;
  #arrivesMs = 0;

  constructor(id: string, time: VirtualTime, random: Random) {
    this.id = id;
    this.#time = time;
    this.#random = random;
  }

  /** A resync follows and reports every node that the cluster still has. */
  connect(): number {
    this.session = ++this.#sessions;
    this.#arrivesMs = this.connectedMs = this.#time.nowMs();
    this.nodes.clear();
    return this.session;
  }

  /** A row that is sent again has the same digest, as on the wire. */
  digestsOf(rows: readonly RollupRow[]): Uint32Array {
    const digests = new Uint32Array(2 * rows.length);
    for (const [index, row] of rows.entries()) {
      const number = this.#digests.get(row) ?? ++this.#digestCount;
      this.#digests.set(row, number);
      digests[2 * index] = Math.imul(number, 0x9e3779b1);
      digests[2 * index + 1] = number;
    }
    return digests;
  }

  disconnect(): void {
    this.session = 0;
  }

  /** Sends a frame on the present session. Frames arrive in order. */
  send(receive: () => void): void {
    const { session } = this;
    if (session === 0) return;
    this.#arrivesMs = Math.max(this.#arrivesMs, this.#time.nowMs() + this.#delayMs());
    this.#time.after(this.#arrivesMs - this.#time.nowMs(), () => {
      if (this.session === session) receive();
    });
  }

  notify(node: NodeState, isOurs: boolean): void {
    this.send(() => {
      if (isOurs) this.nodes.set(node.machineId, node.state);
      else this.nodes.delete(node.machineId);
    });
  }

  instruct(_instruction: ReclaimInstruction): void {
    this.send(() => {
      this.instructions++;
    });
  }

  /** Never resolves if the session ends before. Its delay is not drawn, so that pings do not change a history's numbers. */
  ping(): Promise<void> {
    const { session } = this;
    return new Promise((resolve) => {
      this.#time.after(2 * this.faults.delayMsMean, () => {
        if (this.session === session) resolve();
      });
    });
  }

  requestBlob(timeoutMs: number): Promise<BlobAnswer> {
    const { session, faults } = this;
    if (session === 0) return Promise.resolve({ kind: 'no_session' });
    return new Promise((resolve) => {
      this.#time.after(timeoutMs, () => resolve({ kind: 'timeout' }));
      if (this.#random.chance(faults.blobSilence)) return;
      const isError = this.#random.chance(faults.blobError);
      this.#time.after(2 * this.#delayMs(), () => {
        if (this.session !== session) resolve({ kind: 'no_session' });
        else if (isError) resolve({ kind: 'error', text: 'no join token (simulated)' });
        else resolve({ kind: 'blob', userData: new Uint8Array(8), ttlSeconds: 60 });
      });
    });
  }

  #delayMs(): number {
    return -Math.log(1 - this.#random.unit()) * this.faults.delayMsMean;
  }
}
