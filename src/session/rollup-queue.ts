/**
 * Roll-ups wait here until the event loop has time for them. After a restart 2,000 arrive at once, and each may cost
 * milliseconds; acks and bootstrap answers must not wait behind that. So the queue keeps the bytes of a frame, and every
 * event-loop turn spends a few milliseconds on them.
 *
 * N1: a roll-up is a cluster's complete demand, and the latest wins. So per cluster the queue finishes the roll-up that is
 * being read or enqueued, and keeps only the latest of those behind it. There are two queues, because a roll-up of
 * megabytes takes a second in all, and smaller ones should not wait for it.
 */
import { ShardError } from '../base/errors.ts';
import type { RollupOutcome } from '../needs/need-table.ts';
import { RollupRejectedError, requireOwnCluster } from '../needs/rollup.ts';
import type { ShardForOperators } from '../shard/ports/operators.ts';
import { messageMemory } from '../wire/message-memory.ts';
import { MalformedFrameError } from './errors.ts';
import {
  ROLLUP_BYTES_LATE,
  ROLLUP_BYTES_WAITING_MAX,
  ROLLUP_TURN_LATE_MS,
  ROLLUP_TURN_MS,
} from './limits.ts';
import { RollupScan } from './rollup-scan.ts';
import { RowDecoder } from './row-decoder.ts';

/** Larger frames go to the queue of large ones: ten times the usual roll-up. */
const LARGE_BYTES = 1024 * 1024;

export interface RollupResult {
  readonly outcome: RollupOutcome | 'rejected';
  readonly rowCount: number;
  /** Roll-ups that this result settles: the one read, and those that it replaced while they waited. */
  readonly rollups: number;
  /** How many of them its own session sent, and gets acks for. */
  readonly acks: number;
}

export type WhenSettled = (result: RollupResult) => void;

interface Waiting {
  readonly clusterId: string;
  readonly sender: object;
  readonly bytes: Uint8Array;
  readonly whenSettled: WhenSettled;
  readonly rollups: number;
  readonly acks: number;
}

interface SizeQueue {
  readonly waiting: Waiting[];
  readonly reader: RollupReader;
  /** Being read now. */
  steps: Generator<void, RollupResult> | null;
  current: Waiting | null;
}

type RollupShard = Pick<ShardForOperators, 'acceptRollup' | 'rejectRollup'>;

export class RollupQueue {
  /** By cluster with a roll-up in a queue: the latest one behind it. */
  readonly #behind = new Map<string, Waiting | null>();
  readonly #small: SizeQueue;
  readonly #large: SizeQueue;
  readonly #shard: RollupShard;
  readonly #bytesMax: number;
  #bytes = 0;
  #turn: NodeJS.Immediate | null = null;

  constructor(shard: RollupShard, bytesMax = ROLLUP_BYTES_WAITING_MAX) {
    this.#shard = shard;
    this.#bytesMax = bytesMax;
    this.#small = { waiting: [], reader: new RollupReader(shard), steps: null, current: null };
    this.#large = { waiting: [], reader: new RollupReader(shard), steps: null, current: null };
  }

  /** Bytes of roll-ups that wait or are being read. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `sender`: the session. A new session of a cluster gets no acks for the roll-ups of the old one. */
  offer(clusterId: string, sender: object, bytes: Uint8Array, whenSettled: WhenSettled): void {
    const behind = this.#behind.get(clusterId);
    const replacedBytes = behind?.bytes.length ?? 0;
    if (this.#bytes + bytes.length - replacedBytes > this.#bytesMax) {
      const why = `arrived while ${this.#bytes} bytes of roll-ups wait to be read; the maximum is ${this.#bytesMax}`;
      this.#shard.rejectRollup(clusterId, new RollupRejectedError(clusterId, 'needs', why).message);
      messageMemory.giveBack(bytes);
      whenSettled({ outcome: 'rejected', rowCount: 0, rollups: 1, acks: 0 });
      return;
    }
    this.#bytes += bytes.length - replacedBytes;
    if (behind != null) messageMemory.giveBack(behind.bytes);
    const rollups = 1 + (behind?.rollups ?? 0);
    const acks = 1 + (behind?.sender === sender ? behind.acks : 0);
    const waiting = { clusterId, sender, bytes, whenSettled, rollups, acks };
    this.#behind.set(clusterId, behind === undefined ? null : waiting);
    if (behind === undefined) this.#enqueue(waiting);
  }

  /** Drops everything that waits. */
  clear(): void {
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#turn = null;
    this.#behind.clear();
    this.#bytes = 0;
    for (const queue of [this.#small, this.#large]) {
      queue.waiting.length = 0;
      queue.steps?.return({ outcome: 'rejected', rowCount: 0, rollups: 0, acks: 0 });
      queue.steps = queue.current = null;
    }
  }

  #enqueue(waiting: Waiting): void {
    (waiting.bytes.length > LARGE_BYTES ? this.#large : this.#small).waiting.push(waiting);
    this.#turn ??= setImmediate(() => this.#takeTurn());
  }

  #takeTurn(): void {
    this.#turn = null;
    const turnMs = this.#bytes > ROLLUP_BYTES_LATE ? ROLLUP_TURN_LATE_MS : ROLLUP_TURN_MS;
    const endMs = performance.now() + turnMs;
    this.#run(this.#small, hasWork(this.#large) ? endMs - turnMs / 2 : endMs);
    this.#run(this.#large, endMs);
    if (hasWork(this.#small) || hasWork(this.#large)) this.#turn ??= setImmediate(() => this.#takeTurn());
  }

  #run(queue: SizeQueue, endMs: number): void {
    while (hasWork(queue) && performance.now() < endMs) {
      if (queue.current === null) {
        queue.current = queue.waiting.shift()!;
        queue.steps = queue.reader.read(queue.current);
      }
      const step = queue.steps!.next();
      if (!step.done) continue;
      const { current } = queue;
      queue.current = queue.steps = null;
      this.#bytes -= current.bytes.length;
      messageMemory.giveBack(current.bytes);
      this.#moveUp(current.clusterId);
      current.whenSettled(step.value);
    }
  }

  #moveUp(clusterId: string): void {
    const behind = this.#behind.get(clusterId) ?? null;
    if (behind === null) this.#behind.delete(clusterId);
    else {
      this.#behind.set(clusterId, null);
      this.#enqueue(behind);
    }
  }
}

function hasWork(queue: SizeQueue): boolean {
  return queue.current !== null || queue.waiting.length > 0;
}

/** Digests a roll-up's rows and passes them to the shard. Its arrays are reused for the next roll-up. */
class RollupReader {
  readonly #shard: RollupShard;
  readonly #scan = new RollupScan();
  readonly #decoder = new RowDecoder();

  constructor(shard: RollupShard) {
    this.#shard = shard;
  }

  *read({ clusterId, bytes, rollups, acks }: Waiting): Generator<void, RollupResult> {
    const scan = this.#scan;
    try {
      if (!(yield* this.#digest(clusterId, bytes)))
        return { outcome: 'rejected', rowCount: 0, rollups, acks };
      const { rowCount } = scan;
      const decodeRow = (row: number) => this.#decode(clusterId, row);
      try {
        const outcome = yield* this.#shard.acceptRollup(clusterId, scan.digests, decodeRow);
        return { outcome, rowCount, rollups, acks };
      } catch (error) {
        if (!(error instanceof ShardError)) throw error;
        return { outcome: 'rejected', rowCount, rollups, acks }; // the shard has counted the rejection
      }
    } finally {
      scan.close();
      this.#decoder.close();
    }
  }

  *#digest(clusterId: string, bytes: Uint8Array): Generator<void, boolean> {
    try {
      yield* this.#scan.read(bytes, clusterId);
      requireOwnCluster(clusterId, this.#scan.clusterId);
      this.#decoder.open(bytes);
      return true;
    } catch (error) {
      if (!(error instanceof ShardError)) throw error;
      this.#shard.rejectRollup(clusterId, error.message);
      return false;
    }
  }

  #decode(clusterId: string, row: number) {
    try {
      return this.#decoder.decode(this.#scan.startOf(row), this.#scan.endOf(row));
    } catch (error) {
      if (!(error instanceof MalformedFrameError)) throw error;
      throw new RollupRejectedError(clusterId, `needs[${row}]`, `cannot be read (${error.message})`);
    }
  }
}
