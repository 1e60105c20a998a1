/**
 * Fencing tokens, and whether a call may be sent now. All threads of the process share the epoch and one sequence counter; a call
 * takes the next number when it is sent. So no two calls of a shard carry the same token, and no thread waits for another.
 *
 *   offset  bytes  meaning
 *   0       8      i64, Atomics only: the last sequence number given out
 *   8       8      i64, Atomics only: the epoch; 0 = the process is a standby and sends no mutating call (F4)
 *
 * F2: a replica sends calls that remove machines only while it is confirmed. The thread that sends checks it beside the token.
 */
import { assert } from '../../base/assert.ts';
import { type Clock, type Stopwatch, systemClock, systemUptime } from '../../base/clock.ts';
import { Confirmation } from '../../base/confirmation.ts';
import { Pulse } from '../../base/pulse.ts';

export interface FencingToken {
  readonly shardId: string;
  readonly shardEpoch: number;
  readonly sequenceNumber: number;
}

/** Everything a thread needs to fence calls. Survives structured clone; the buffers stay shared. */
export interface SharedFencing {
  readonly shardId: string;
  readonly words: SharedArrayBuffer;
  /** Until when the replica is confirmed (base/confirmation.ts); null: the shard has no other replicas. */
  readonly confirmation: SharedArrayBuffer | null;
  /** X16: whether the main loop runs (base/pulse.ts); null: it is not watched. */
  readonly pulse: SharedArrayBuffer | null;
}

export interface FencingClocks {
  readonly wall: Clock;
  readonly uptime: Stopwatch;
}

const WORDS_BYTES = 2 * BigInt64Array.BYTES_PER_ELEMENT;
const SEQUENCE = 0;
const EPOCH = 1;
const SYSTEM_CLOCKS: FencingClocks = { wall: systemClock, uptime: systemUptime };

const IS_STANDBY = 'this process is a standby: it has no epoch and sends no call that changes a machine';
const IS_ADRIFT = 'this replica is not confirmed as the active one, so it removes no machine';
const STOOD_STILL = 'the process stood still after it decided this call';

export class FencingTokens {
  readonly shared: SharedFencing;
  readonly #words: BigInt64Array;
  readonly #confirmation: Confirmation | null;
  readonly pulse: Pulse | null;
  readonly #clocks: FencingClocks;

  /** Once per process, in the main thread, after the epoch has reached the disk. */
  static create(shardId: string, epoch: number, pulse: Pulse | null = null): FencingTokens {
    const tokens = FencingTokens.createStandby(shardId, null, pulse);
    tokens.setEpoch(epoch);
    return tokens;
  }

  /** For a process that gets its epoch later, when it becomes active. */
  static createStandby(
    shardId: string,
    confirmation: Confirmation | null,
    pulse: Pulse | null = null,
  ): FencingTokens {
    const words = new SharedArrayBuffer(WORDS_BYTES);
    const shared = {
      shardId,
      words,
      confirmation: confirmation?.shared ?? null,
      pulse: pulse?.shared ?? null,
    };
    return new FencingTokens(shared, SYSTEM_CLOCKS);
  }

  /** In every other thread. */
  static open(shared: SharedFencing, clocks: FencingClocks = SYSTEM_CLOCKS): FencingTokens {
    return new FencingTokens(shared, clocks);
  }

  private constructor(shared: SharedFencing, clocks: FencingClocks) {
    // Providers treat an empty shard id as an absent token and would not fence.
    assert(shared.shardId !== '', 'a shard has an id');
    assert(shared.words.byteLength === WORDS_BYTES, 'sequence and epoch are two i64');
    this.shared = shared;
    this.#words = new BigInt64Array(shared.words);
    this.#confirmation = shared.confirmation === null ? null : Confirmation.open(shared.confirmation);
    this.pulse = shared.pulse === null ? null : Pulse.open(shared.pulse, clocks);
    this.#clocks = clocks;
  }

  /** Once, when the process becomes active and the epoch is on the disk. Epochs start at 1. */
  setEpoch(epoch: number): void {
    assert(Number.isSafeInteger(epoch) && epoch > 0, `${epoch} is not an epoch`);
    const before = Atomics.compareExchange(this.#words, EPOCH, 0n, BigInt(epoch));
    assert(before === 0n, 'a process has one epoch');
  }

  /** 0: the process is a standby. */
  get epoch(): number {
    return Number(Atomics.load(this.#words, EPOCH));
  }

  /**
   * Why no call may be sent now; '' if one may. Directly before `take`. `removes`: it takes a machine from a cluster, or deletes it.
   * X16: it was decided in this stretch.
   */
  whyHeld(removes: boolean, stretch: number): string {
    if (Atomics.load(this.#words, EPOCH) === 0n) return IS_STANDBY;
    if (this.pulse !== null && !this.pulse.isCurrent(stretch)) return STOOD_STILL;
    if (!removes || this.#confirmation === null) return '';
    const { wall, uptime } = this.#clocks;
    return this.#confirmation.isConfirmed({ uptimeMs: uptime(), wallMs: wall.nowMs() }) ? '' : IS_ADRIFT;
  }

  /** Newer than every token that any thread took before. */
  take(): FencingToken {
    const shardEpoch = Number(Atomics.load(this.#words, EPOCH));
    assert(shardEpoch > 0, 'a standby takes no token');
    const sequenceNumber = Number(Atomics.add(this.#words, SEQUENCE, 1n)) + 1;
    // At a million calls a second, 2^53 lasts 285 years; beyond it two tokens could be equal as numbers.
    assert(sequenceNumber <= Number.MAX_SAFE_INTEGER, 'the sequence of this epoch is used up');
    return { shardId: this.shared.shardId, shardEpoch, sequenceNumber };
  }
}
