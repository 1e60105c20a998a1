/**
 * SHA-256 (FIPS 180-4) of a byte range, as 64 hex digits. Inner folders do not use node's own modules, and a digest must
 * be the same in every process: two shards have to agree on the name of a need.
 */

const WORDS = 64;
const BLOCK_BYTES = 64;
/** A last block holds a bit set to 1 after the message, and the length of the message in bits as its last eight bytes. */
const LENGTH_BYTES = 8;

/** The fractions of the square roots (start) and cube roots (round) of the first primes, 32 bits each. */
const START = new Int32Array(8);
const ROUND = new Int32Array(WORDS);
for (let candidate = 2, found = 0; found < WORDS; candidate++) {
  if (!isPrime(candidate)) continue;
  if (found < START.length) START[found] = fraction(Math.sqrt(candidate));
  ROUND[found++] = fraction(Math.cbrt(candidate));
}

const schedule = new Int32Array(WORDS);
const state = new Int32Array(8);
const tail = new Uint8Array(2 * BLOCK_BYTES);

export function sha256Hex(bytes: Uint8Array, start: number, end: number): string {
  state.set(START);
  let at = start;
  for (; at + BLOCK_BYTES <= end; at += BLOCK_BYTES) mixBlock(bytes, at);
  const rest = end - at;
  const tailBytes = rest < BLOCK_BYTES - LENGTH_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;
  tail.fill(0);
  tail.set(bytes.subarray(at, end));
  tail[rest] = 0x80;
  const bits = (end - start) * 8;
  const view = new DataView(tail.buffer, 0, tailBytes);
  view.setUint32(tailBytes - 8, Math.floor(bits / 2 ** 32));
  view.setUint32(tailBytes - 4, bits % 2 ** 32);
  for (let block = 0; block < tailBytes; block += BLOCK_BYTES) mixBlock(tail, block);
  let hex = '';
  for (const word of state) hex += (word >>> 0).toString(16).padStart(8, '0');
  return hex;
}

function mixBlock(bytes: Uint8Array, at: number): void {
  for (let word = 0; word < 16; word++) {
    const byte = at + 4 * word;
    schedule[word] =
      (bytes[byte]! << 24) | (bytes[byte + 1]! << 16) | (bytes[byte + 2]! << 8) | bytes[byte + 3]!;
  }
  for (let word = 16; word < WORDS; word++) {
    const near = schedule[word - 2]!;
    const far = schedule[word - 15]!;
    const spreadNear = rotated(near, 17) ^ rotated(near, 19) ^ (near >>> 10);
    const spreadFar = rotated(far, 7) ^ rotated(far, 18) ^ (far >>> 3);
    schedule[word] = (spreadNear + schedule[word - 7]! + spreadFar + schedule[word - 16]!) | 0;
  }
  let a = state[0]!;
  let b = state[1]!;
  let c = state[2]!;
  let d = state[3]!;
  let e = state[4]!;
  let f = state[5]!;
  let g = state[6]!;
  let h = state[7]!;
  for (let word = 0; word < WORDS; word++) {
    const sumE = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + sumE + choice + ROUND[word]! + schedule[word]!) | 0;
    const sumA = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + sumA + majority) | 0;
  }
  state[0]! += a;
  state[1]! += b;
  state[2]! += c;
  state[3]! += d;
  state[4]! += e;
  state[5]! += f;
  state[6]! += g;
  state[7]! += h;
}

function rotated(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

function isPrime(candidate: number): boolean {
  for (let divisor = 2; divisor * divisor <= candidate; divisor++)
    if (candidate % divisor === 0) return false;
  return true;
}

/** A double has 52 bits of fraction: the roots are below 32, so the 32 bits that are wanted are exact. */
function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
}
