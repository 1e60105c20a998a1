/**
 * Hash of a byte range, four bytes a step: a listing hashes hundreds of thousands of ids and names straight from
 * wire bytes, and one byte a step would be most of the cost of a look-up. The last mix spreads every input bit
 * over the whole word, because tables take the bucket from the high bits and a tag from the low ones.
 */
export function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x2545f491 ^ (end - start);
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    hash = Math.imul(hash ^ word, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  for (; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x85ebca77);
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return (hash ^ (hash >>> 16)) >>> 0;
}
