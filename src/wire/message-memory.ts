/**
 * Memory for messages that are received, used again and again. Operators send 26 MB of roll-ups a second; memory that is
 * asked for and freed at that rate waits for the garbage collector, tears the C library's heap to pieces and costs a page fault
 * for every 4 KB. A message that was read hands its memory to the next one.
 *
 * Blocks are powers of two long. Only pages that were written to are real memory, so half-empty blocks cost little.
 */

/** Shorter messages are not worth it; longer ones are rare, and gigabytes of them must not be kept. */
const BLOCK_BYTES_MIN = 32 << 10;
const BLOCK_BYTES_MAX = 1 << 20;
/** More than this is not kept for later: after a storm it would stay for good. */
const KEPT_BYTES_MAX = 8 << 20;

export class MessageMemory {
  /** Free blocks by the exponent of their length. */
  readonly #free: ArrayBufferLike[][] = [];
  /** Blocks that are somebody's message now; what is not among them is not ours to use again. */
  readonly #lent = new WeakSet<ArrayBufferLike>();
  #keptBytes = 0;

  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Memory for one message; what is in it is arbitrary. */
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

  /** The message was read: nobody looks at any of it from now on. Of memory that is not from here nothing happens. */
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

/** Of this thread. */
export const messageMemory = new MessageMemory();
