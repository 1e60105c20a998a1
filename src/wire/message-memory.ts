/**
 * Reusable memory for received messages. Operators send 26 MB of roll-ups a second; allocating and freeing at that rate
 * waits for the garbage collector, fragments the C heap and costs a page fault for every 4 KB. Instead, a message that has
 * been read passes its memory to the next one.
 *
 * Block lengths are powers of two. Only written pages take real memory, so half-empty blocks cost little.
 */

/** Shorter messages are not worth reusing; longer ones are rare, and keeping them could take gigabytes. */
const BLOCK_BYTES_MIN = 32 << 10;
const BLOCK_BYTES_MAX = 1 << 20;
/** Kept blocks are limited, because after a burst they would stay for good. */
const KEPT_BYTES_MAX = 8 << 20;

export class MessageMemory {
  /** Unused blocks by the exponent of their length. */
  readonly #free: ArrayBufferLike[][] = [];
  /** Blocks in use. Only these may be reused; other buffers belong to their allocator. */
  readonly #lent = new WeakSet<ArrayBufferLike>();
  #keptBytes = 0;

  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Memory for one message, with arbitrary contents. */
  take(bytes: number): Buffer {
    if (bytes < BLOCK_BYTES_MIN) return Buffer.allocUnsafe(bytes);
    if (bytes > BLOCK_BYTES_MAX) return Buffer.allocUnsafeSlow(bytes);
    const exponent = exponentOf(bytes);
    let block = this.#free[exponent]?.pop();
    if (block === undefined) block = Buffer.allocUnsafeSlow(2 ** exponent).buffer;
    else this.#keptBytes -= block.byteLength;
    this.#lent.add(block);
    return Buffer.from(block, 0, bytes);
  }

  /** The caller will not use the message any more. Ignores memory that `take` did not lend. */
  giveBack({ buffer }: Uint8Array): void {
    if (!this.#lent.delete(buffer) || this.#keptBytes + buffer.byteLength > KEPT_BYTES_MAX) return;
    const exponent = exponentOf(buffer.byteLength);
    this.#free[exponent] ??= [];
    this.#free[exponent].push(buffer);
    this.#keptBytes += buffer.byteLength;
  }
}

function exponentOf(bytes: number): number {
  return 32 - Math.clz32(bytes - 1);
}

/** The instance of this thread. */
export const messageMemory = new MessageMemory();
