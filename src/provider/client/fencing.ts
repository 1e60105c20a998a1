/**
 * Fencing tokens. The epoch belongs to the process and is given; the sequence is one counter for all
 * threads, in shared memory, taken at the moment a call is sent. So no two calls of a shard ever carry the
 * same token, and no thread asks another for one.
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

/** What a thread needs to fence calls; survives structured clone, and the buffer stays shared. */
export interface SharedFencing {
  readonly shardId: string;
  readonly epoch: number;
  readonly sequence: SharedArrayBuffer;
}

export class FencingTokens {
  readonly #shared: SharedFencing;
  readonly #sequence: BigInt64Array;

  /** Once per process, in the main thread. The epoch must have reached the disk before. */
  static create(shardId: string, epoch: number): FencingTokens {
    const sequence = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
    return new FencingTokens({ shardId, epoch, sequence });
  }

  /** In every other thread. */
  static open(shared: SharedFencing): FencingTokens {
    return new FencingTokens(shared);
  }

  private constructor(shared: SharedFencing) {
    // An empty shard id would pass every fence unfenced (an absent token), and 0 is no epoch we ever write.
    assert(shared.shardId !== '', 'a shard has an id');
    assert(Number.isSafeInteger(shared.epoch) && shared.epoch > 0, `${shared.epoch} is not an epoch`);
    assert(shared.sequence.byteLength === BigInt64Array.BYTES_PER_ELEMENT, 'the sequence is one i64');
    this.#shared = shared;
    this.#sequence = new BigInt64Array(shared.sequence);
  }

  get shared(): SharedFencing {
    return this.#shared;
  }

  /** Newer than every token before it, whichever thread took that. */
  take(): FencingToken {
    const sequenceNumber = Number(Atomics.add(this.#sequence, 0, 1n)) + 1;
    // At a million calls a second 2^53 is 285 years; beyond it two tokens could be equal as numbers.
    assert(sequenceNumber <= Number.MAX_SAFE_INTEGER, 'the sequence of this epoch is used up');
    return { shardId: this.#shared.shardId, shardEpoch: this.#shared.epoch, sequenceNumber };
  }
}
