/**
 * Roll-ups wait here until the event loop has time for them. After a restart 2,000 arrive at once, and each may cost
 * milliseconds; acks and bootstrap answers must not wait behind that. So the queue keeps the bytes of a frame, and every
 * event-loop turn spends a few milliseconds on them.
 *
 * N1: a roll-up is a cluster's complete demand, and the latest wins. So per cluster the queue finishes the roll-up that is
 * first, and keeps only the latest of those behind it.
 *
 * T7: clusters are served round robin, by bytes. A visit reads one quantum; a roll-up that fits a quantum is read whole, a
 * larger one continues at the cluster's next visit. A visit that read more than its quantum pays at the next one. A cluster
 * that sends megabytes thus delays the others by one quantum per round. Only larger roll-ups stay open between visits, and
 * only a few at a time; the next ones wait for one of these to end, without delaying the clusters that fit a quantum.
 *
 * T7: a cluster that changed many rows waits before its next roll-up is read (rollup-pace.ts). A later one replaces it.
 */
import { ShardError } from '../base/errors.ts';
import type { RollupOutcome } from '../needs/need-table.ts';
import { RollupRejectedError, requireOwnCluster } from '../needs/rollup.ts';
import type { ShardForOperators } from '../shard/ports/operators.ts';
import { messageMemory } from '../wire/message-memory.ts';
import { Arrivals } from './arrivals.ts';
import { MalformedFrameError } from './errors.ts';
import {
  NEW_ROW_BYTES,
  ROLLUP_BYTES_CAUGHT_UP,
  ROLLUP_BYTES_LATE,
  ROLLUP_BYTES_PER_CLUSTER_MAX,
  ROLLUP_BYTES_WAITING_MAX,
  ROLLUP_QUANTUM_BYTES,
  ROLLUP_SHARE_LATE,
  ROLLUP_STEP_BYTES,
  ROLLUP_TURN_LATE_MS_MAX,
  ROLLUP_TURN_MS,
  ROLLUPS_OPEN_MAX,
} from './limits.ts';
import { RollupPace } from './rollup-pace.ts';
import { RollupScan } from './rollup-scan.ts';
import { RowDecoder } from './row-decoder.ts';

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
  readonly sender: object;
  readonly bytes: Uint8Array;
  readonly whenSettled: WhenSettled;
  readonly rollups: number;
  readonly acks: number;
}

/** A cluster with roll-ups: the first, and the latest behind it. */
interface Line {
  readonly clusterId: string;
  first: Waiting;
  behind: Waiting | null;
  reading: Reading | null;
  /** Set while `first` waits for the cluster's pace. */
  pause: NodeJS.Timeout | null;
  /** Bytes that it may still read in this round; negative after a step that was larger than the rest. */
  credit: number;
}

interface Reading {
  readonly reader: RollupReader;
  readonly steps: Generator<void, RollupResult>;
}

type RollupShard = Pick<ShardForOperators, 'acceptRollup' | 'rejectRollup'>;

export class RollupQueue {
  readonly #lines = new Map<string, Line>();
  /** In the order of their visits. */
  readonly #round: Line[] = [];
  /** Larger roll-ups that wait until one of the open ones ends. */
  readonly #unopened: Line[] = [];
  #visited: Line | null = null;
  #largeOpen = 0;
  readonly #idleReaders: RollupReader[] = [];
  readonly #pace = new RollupPace();
  readonly #shard: RollupShard;
  readonly #arrivals: Arrivals;
  readonly #bytesMax: number;
  readonly #clusterBytesMax: number;
  #bytes = 0;
  #turn: NodeJS.Immediate | null = null;
  #turnEndedMs = 0;
  #isLate = false;

  constructor(
    shard: RollupShard,
    arrivals = new Arrivals(),
    bytesMax = ROLLUP_BYTES_WAITING_MAX,
    clusterBytesMax = ROLLUP_BYTES_PER_CLUSTER_MAX,
  ) {
    this.#shard = shard;
    this.#arrivals = arrivals;
    this.#bytesMax = bytesMax;
    this.#clusterBytesMax = clusterBytesMax;
  }

  /** Bytes of roll-ups that wait or are being read. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `sender`: the session. A new session of a cluster gets no acks for the roll-ups of the old one. */
  offer(clusterId: string, sender: object, bytes: Uint8Array, whenSettled: WhenSettled): void {
    const line = this.#lines.get(clusterId);
    const isPaused = line !== undefined && line.pause !== null;
    const replaced = isPaused ? line.first : (line?.behind ?? null);
    const replacedBytes = replaced?.bytes.length ?? 0;
    const unreadBytes = isPaused ? 0 : (line?.first.bytes.length ?? 0);
    const why = this.#whyFull(bytes.length - replacedBytes, unreadBytes + bytes.length);
    if (why !== null) {
      this.#shard.rejectRollup(clusterId, new RollupRejectedError(clusterId, 'needs', why).message);
      messageMemory.giveBack(bytes);
      whenSettled({ outcome: 'rejected', rowCount: 0, rollups: 1, acks: 0 });
      return;
    }
    this.#bytes += bytes.length - replacedBytes;
    if (replaced !== null) messageMemory.giveBack(replaced.bytes);
    const rollups = 1 + (replaced?.rollups ?? 0);
    const acks = 1 + (replaced?.sender === sender ? replaced.acks : 0);
    const waiting = { sender, bytes, whenSettled, rollups, acks };
    if (line === undefined) this.#open(newLine(clusterId, waiting));
    else if (isPaused) line.first = waiting;
    else line.behind = waiting;
  }

  /** Drops everything that waits. */
  clear(): void {
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#turn = this.#visited = null;
    for (const { reading, pause } of this.#lines.values()) {
      if (pause !== null) clearTimeout(pause);
      reading?.steps.return({ outcome: 'rejected', rowCount: 0, rollups: 0, acks: 0 });
    }
    this.#lines.clear();
    this.#round.length = this.#unopened.length = this.#largeOpen = this.#bytes = 0;
  }

  #whyFull(bytes: number, bytesOfCluster: number): string | null {
    if (this.#bytes + bytes > this.#bytesMax)
      return `arrived while ${this.#bytes} bytes of roll-ups wait to be read; the maximum is ${this.#bytesMax}`;
    if (bytesOfCluster <= this.#clusterBytesMax) return null;
    return `would make ${bytesOfCluster} bytes of this cluster wait; the maximum is ${this.#clusterBytesMax}`;
  }

  #open(line: Line): void {
    this.#lines.set(line.clusterId, line);
    const waitMs = this.#pace.waitMs(line.clusterId, performance.now());
    if (waitMs === 0) {
      this.#begin(line);
      return;
    }
    line.pause = setTimeout(() => {
      line.pause = null;
      this.#begin(line);
    }, waitMs);
  }

  #begin(line: Line): void {
    this.#round.push(line);
    this.#turn ??= setImmediate(() => this.#takeTurn());
  }

  #takeTurn(): void {
    this.#turn = null;
    const beganMs = performance.now();
    this.#isLate = this.#bytes > (this.#isLate ? ROLLUP_BYTES_CAUGHT_UP : ROLLUP_BYTES_LATE);
    const turnMs = rollupTurnMs(this.#isLate, beganMs - this.#turnEndedMs);
    const endMs = beganMs + this.#arrivals.turnMs(turnMs);
    for (;;) {
      const line = this.#visited ?? this.#visitNext();
      if (line === null) return; // every other line waits for its pace
      this.#turnEndedMs = performance.now();
      if (this.#turnEndedMs >= endMs) break;
      this.#step(line);
    }
    this.#turn ??= setImmediate(() => this.#takeTurn());
  }

  /** The next cluster of the round; null if there is none. */
  #visitNext(): Line | null {
    for (;;) {
      const line = this.#round.shift();
      if (line === undefined) return null;
      if (line.reading === null && isLarge(line)) {
        if (this.#largeOpen === ROLLUPS_OPEN_MAX) {
          this.#unopened.push(line);
          continue;
        }
        this.#largeOpen++;
      }
      line.credit = Math.min(line.credit, 0) + ROLLUP_QUANTUM_BYTES;
      this.#visited = line;
      return line;
    }
  }

  #step(line: Line): void {
    line.reading ??= this.#read(line);
    const { steps, reader } = line.reading;
    const step = steps.next();
    line.credit -= reader.takeStepBytes();
    if (step.done) this.#settle(line, step.value);
    else if (line.credit <= 0 && isLarge(line)) {
      this.#visited = null;
      this.#round.push(line);
    }
  }

  #read({ clusterId, first }: Line): Reading {
    const reader = this.#idleReaders.pop() ?? new RollupReader(this.#shard);
    return { reader, steps: reader.read(clusterId, first) };
  }

  #settle(line: Line, result: RollupResult): void {
    const { first, behind } = line;
    const { reader } = line.reading!;
    this.#visited = null;
    if (result.outcome === 'applied') this.#pace.spend(line.clusterId, reader.newRows, performance.now());
    this.#idleReaders.push(reader);
    line.reading = null;
    this.#bytes -= first.bytes.length;
    if (isLarge(line)) {
      this.#largeOpen--;
      const next = this.#unopened.shift();
      if (next !== undefined) this.#round.push(next);
    }
    messageMemory.giveBack(first.bytes);
    this.#lines.delete(line.clusterId);
    if (behind !== null) this.#open({ ...newLine(line.clusterId, behind), credit: line.credit });
    first.whenSettled(result);
  }
}

/** How long a turn on roll-ups may take after so much time for other work. */
export function rollupTurnMs(isLate: boolean, otherMs: number): number {
  if (!isLate) return ROLLUP_TURN_MS;
  const shareMs = (otherMs * ROLLUP_SHARE_LATE) / (1 - ROLLUP_SHARE_LATE);
  return Math.min(ROLLUP_TURN_LATE_MS_MAX, Math.max(ROLLUP_TURN_MS, shareMs));
}

function newLine(clusterId: string, first: Waiting): Line {
  return { clusterId, first, behind: null, reading: null, pause: null, credit: 0 };
}

function isLarge({ first }: Line): boolean {
  return first.bytes.length > ROLLUP_QUANTUM_BYTES;
}

/** Digests a roll-up's rows and passes them to the shard. Its arrays are reused for the next roll-up. */
class RollupReader {
  readonly #shard: RollupShard;
  readonly #scan = new RollupScan();
  readonly #decoder = new RowDecoder();
  #decodedBytes = 0;
  #scannedTo = 0;
  /** Rows that the cluster's last roll-up did not have; a long one counts as several. */
  newRows = 0;
  #lastNewRow = -1;

  constructor(shard: RollupShard) {
    this.#shard = shard;
  }

  /** What the last step cost, in bytes: those that it read, or as much as ordering a few hundred rows is worth. */
  takeStepBytes(): number {
    const bytes = this.#scan.at - this.#scannedTo + this.#decodedBytes;
    this.#scannedTo = this.#scan.at;
    this.#decodedBytes = 0;
    return Math.max(bytes, ROLLUP_STEP_BYTES);
  }

  *read(clusterId: string, { bytes, rollups, acks }: Waiting): Generator<void, RollupResult> {
    const scan = this.#scan;
    this.#scannedTo = this.#decodedBytes = this.newRows = 0;
    this.#lastNewRow = -1;
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
    const start = this.#scan.startOf(row);
    const end = this.#scan.endOf(row);
    this.#decodedBytes += end - start;
    if (row > this.#lastNewRow) {
      // The shard decodes new rows in order, and some of them a second time. A long row costs as many as it is long.
      this.newRows += Math.max(1, Math.floor((end - start) / NEW_ROW_BYTES));
      this.#lastNewRow = row;
    }
    try {
      return this.#decoder.decode(start, end);
    } catch (error) {
      if (!(error instanceof MalformedFrameError)) throw error;
      throw new RollupRejectedError(clusterId, `needs[${row}]`, `cannot be read (${error.message})`);
    }
  }
}
