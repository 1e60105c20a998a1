/**
 * Fencing tokens. The process has one epoch; all threads share one sequence counter in shared memory, and a call takes
 * the next number when it is sent. So no two calls of a shard carry the same token, and no thread waits for another.
 *
 *   offset  bytes  meaning
 *   0       8      i64, Atomics only: the last sequence number given out
 */
import { assert } from '../../base/assert.ts';

export interface FencingToken {
  readonly shardId: string;
  readonly shardEpoch: number;
  readonly sequenceNumber: number;
}

/** Everything a thread needs to fence calls. Survives structured clone; the buffer stays shared. */
export interface SharedFencing {
  readonly shardId: string;
  readonly epoch: number;
  readonly sequence: SharedArrayBuffer;
}

export class FencingTokens {
  readonly #shared: SharedFencing;
  readonly #sequence: BigInt64Array;

  /** Once per process, in the main thread, after the epoch has reached the disk. */
  static create(shardId: string, epoch: number): FencingTokens {
    const sequence = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
    return new FencingTokens({ shardId, epoch, sequence });
  }

  /** In every other thread. */
  static open(shared: SharedFencing): FencingTokens {
    return new FencingTokens(shared);
  }

  private constructor(shared: SharedFencing) {
    // Providers treat an empty shard id as an absent token and would not fence; epochs start at 1.
    assert(shared.shardId !== '', 'a shard has an id');
    assert(Number.isSafeInteger(shared.epoch) && shared.epoch > 0, `${shared.epoch} is not an epoch`);
    assert(shared.sequence.byteLength === BigInt64Array.BYTES_PER_ELEMENT, 'the sequence is one i64');
    this.#shared = shared;
    this.#sequence = new BigInt64Array(shared.sequence);
  }

  get shared(): SharedFencing {
    return this.#shared;
  }

  /** Newer than every token that any thread took before. */
  take(): FencingToken {
    const sequenceNumber = Number(Atomics.add(this.#sequence, 0, 1n)) + 1;
    // At a million calls a second, 2^53 lasts 285 years; beyond it two tokens could be equal as numbers.
    assert(sequenceNumber <= Number.MAX_SAFE_INTEGER, 'the sequence of this epoch is used up');
    return { shardId: this.#shared.shardId, shardEpoch: this.#shared.epoch, sequenceNumber };
  }
}
