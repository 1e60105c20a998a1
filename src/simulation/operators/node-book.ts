/**
 * The nodes of one of many clusters. A process has half a million, so a node is a map entry with a number:
 *
 *   bits 0–3    state
 *   bits 4–11   type, index in the catalogue; 255 = not in the catalogue
 *   bits 12–27  number of the stream that last reported the node
 *
 * Nodes that left the cluster are dropped. After a new Hello the shard reports every bound node, but not the
 * end of this resync. The book takes it to be over when the shard has acked two roll-ups and for some time
 * reported no node that was neither known nor bound on this stream. It then drops all nodes that the shard
 * has not reported: a restarted shard does not know which nodes left.
 */
import { isMachineState, MachineState, STATE_COUNT } from '../../machine/state.ts';
import type { BindTickets } from './bind-tickets.ts';
import { NodeSighting } from './node-reader.ts';

const S = MachineState;
const NO_TYPE = 255;
const STREAM_MASK = 0xffff;

export class NodeTotals {
  /** Nodes of all clusters. Entry 0 absorbs the decrements for new nodes and has no meaning. */
  readonly byState = new Float64Array(STATE_COUNT);
  /** Nodes dropped because a new session no longer reported them. */
  forgotten = 0;
}

const sighting = new NodeSighting();

export class NodeBook {
  readonly #nodes = new Map<string, number>();
  readonly #typeIndexes: ReadonlyMap<string, number>;
  readonly #tickets: BindTickets;
  readonly #totals: NodeTotals;
  readonly #quietMs: number;
  #stream = 0;
  #ackCount = 0;
  #isSettled = false;
  /** When the resync last reported a node, or when the stream began. */
  #lastResyncMs = 0;

  constructor(
    typeIndexes: ReadonlyMap<string, number>,
    tickets: BindTickets,
    totals: NodeTotals,
    quietMs: number,
  ) {
    this.#typeIndexes = typeIndexes;
    this.#tickets = tickets;
    this.#totals = totals;
    this.#quietMs = quietMs;
  }

  /** Whether the resync of this stream is over. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  get size(): number {
    return this.#nodes.size;
  }

  stateOf(machineId: string): MachineState | undefined {
    const packed = this.#nodes.get(machineId);
    return packed === undefined ? undefined : ((packed & 0xf) as MachineState);
  }

  onStream(nowMs: number): void {
    this.#stream = (this.#stream + 1) & STREAM_MASK;
    this.#ackCount = 0;
    this.#isSettled = false;
    this.#lastResyncMs = nowMs;
    this.#tickets.onStream();
  }

  onRollupAcked(nowMs: number): void {
    this.#ackCount++;
    if (this.#isSettled || this.#ackCount < 2 || nowMs - this.#lastResyncMs < this.#quietMs) return;
    this.#isSettled = true;
    for (const [machineId, packed] of this.#nodes) {
      if (packed >>> 12 === this.#stream) continue;
      this.#totals.forgotten++;
      this.#leave(machineId, packed, nowMs);
    }
    this.#tickets.settle();
  }

  /** False: the frame is malformed. */
  onFrame(frame: Buffer, nowMs: number): boolean {
    if (!sighting.read(frame) || !isMachineState(sighting.state)) return false;
    const { machineId, state } = sighting;
    const before = this.#nodes.get(machineId);
    if (state === S.Idle || state === S.Speculative || state === S.Creating || state === S.Deleting) {
      if (before !== undefined) this.#leave(machineId, before, nowMs);
      return true;
    }
    const stateBefore = before === undefined ? 0 : before & 0xf;
    const typeBefore = before === undefined ? NO_TYPE : (before >>> 4) & 0xff;
    const isKnown = before !== undefined && before >>> 12 === this.#stream;
    const type = this.#typeIndexes.get(sighting.instanceType) ?? typeBefore;
    this.#nodes.set(machineId, state | (type << 4) | (this.#stream << 12));
    let isBinding = state === S.Configuring;
    if (state !== stateBefore) {
      this.#totals.byState[stateBefore]!--;
      this.#totals.byState[state]!++;
      if (stateBefore === S.Configured) this.#tickets.onLost(type, nowMs);
      if (state === S.Configured) {
        isBinding = this.#tickets.onConfigured(type, isKnown && stateBefore === S.Configuring, nowMs);
      }
    }
    if (!isKnown && !isBinding) this.#lastResyncMs = nowMs;
    return true;
  }

  #leave(machineId: string, packed: number, nowMs: number): void {
    this.#nodes.delete(machineId);
    this.#totals.byState[packed & 0xf]!--;
    if ((packed & 0xf) === S.Configured) this.#tickets.onLost((packed >>> 4) & 0xff, nowMs);
  }
}
