/** T4: what stands for a text that is too long to be written on each machine: `sha256:` and 64 hex digits. */
import { sha256Hex } from './sha256.ts';

const PREFIX = 'sha256:';
const DIGEST_CHARS = PREFIX.length + 64;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

export function digestText(bytes: Uint8Array, start: number, end: number): string {
  return PREFIX + sha256Hex(bytes, start, end);
}

/** Whether the text has the form of a digest, whatever it may stand for. */
export function isDigestText(text: string): boolean {
  return text.length === DIGEST_CHARS && DIGEST.test(text);
}
