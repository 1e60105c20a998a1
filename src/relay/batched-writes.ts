/**
 * Writes of one turn of the event loop go out together. HTTP/2 delivers a roll-up as frames of 16 KiB, and each write to a stream
 * costs an object, a callback and often a system call.
 */
import type { Writable } from 'node:stream';

/**
 * A stream that has this much to write takes no more. Node's own limit is 16 KiB, a single frame: it would stop and start the other
 * stream for every frame. 2,000 streams that all wait have 128 MiB.
 */
const BUFFERED_BYTES_MAX = 64 * 1024;

const corked = new Set<Writable>();

/** False: the stream is full, and will emit `drain`. */
export function writeWithOthers(to: Writable, chunk: Buffer): boolean {
  if (!corked.has(to)) {
    if (corked.size === 0) setImmediate(uncorkAll);
    corked.add(to);
    to.cork();
  }
  to.write(chunk);
  return !isFull(to);
}

export function isFull(to: Writable): boolean {
  return to.writableLength >= BUFFERED_BYTES_MAX;
}

function uncorkAll(): void {
  const streams = [...corked];
  corked.clear();
  for (const stream of streams) stream.uncork();
}
