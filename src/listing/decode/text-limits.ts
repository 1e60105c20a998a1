/**
 * T3: the longest texts of a provider record. A record with a longer one is rejected, so that no provider can fill the
 * tables that all share, or make the shard write megabytes into logs and assignments.
 */

import { GROUP_BYTES_MAX, KEY_BYTES_MAX, VALUE_BYTES_MAX } from '../../base/text-limits.ts';

export const LABEL_KEY_BYTES_MAX = KEY_BYTES_MAX;
export const LABEL_VALUE_BYTES_MAX = VALUE_BYTES_MAX;
/** Machine id, instance type, zone, cluster id: four times the longest names of cloud providers. */
export const NAME_BYTES_MAX = 512;
/** The two parts of a host: a resource path of a cloud provider is up to 400 bytes long. */
export const HOST_BYTES_MAX = 1024;
/** A resource name has the form of a label key. */
export const RESOURCE_NAME_BYTES_MAX = KEY_BYTES_MAX;
/** An assignment's group above its limit is malformed (X10): the shard skips that key of the assignment. */
export { GROUP_BYTES_MAX };
/** An assignment's fingerprint: a row of a roll-up has at most 64 KiB, and its fingerprint is no longer. Skipped likewise. */
export const FINGERPRINT_BYTES_MAX = 65_536;
/** `last_error` is for people: a longer one is cut, not rejected. */
export const LAST_ERROR_BYTES_MAX = 4096;

/** A label or resource entry with both parts at their limits: two tags of one byte, two lengths of two. A longer one is looked at first. */
export const ENTRY_BYTES_MAX = 2 * (1 + 2) + LABEL_KEY_BYTES_MAX + LABEL_VALUE_BYTES_MAX;

/** The end of a text that is cut to so many bytes, never within a UTF-8 character. */
export function cutEnd(bytes: Uint8Array, start: number, end: number, bytesMax: number): number {
  if (end - start <= bytesMax) return end;
  let cut = start + bytesMax;
  // 10xxxxxx continues a character, which has at most three such bytes.
  for (let back = 0; back < 3 && (bytes[cut]! & 0xc0) === 0x80; back++) cut--;
  return cut;
}
