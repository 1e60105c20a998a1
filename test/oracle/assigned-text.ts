/**
 * T4: "A fingerprint of more than 512 bytes or a group of more than 253 is written on machines as `sha256:` and the hex digits
 * of its SHA-256. Matching accepts the full text and the digest."
 */
import { createHash } from 'node:crypto';

const BYTES_MAX = { fingerprint: 512, group: 253 } as const;

export function writtenAs(kind: keyof typeof BYTES_MAX, text: string): string {
  if (Buffer.byteLength(text) <= BYTES_MAX[kind]) return text;
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** Whether a text on a machine names a need's fingerprint or group. */
export function names(kind: keyof typeof BYTES_MAX, written: string, text: string): boolean {
  return written === text || (written.startsWith('sha256:') && written === writtenAs(kind, text));
}
