/**
 * Limits on texts from operators and providers (T3). The shard keeps, compares and prints them for every need and every
 * machine, so one long text costs its length many times over.
 */

/** Label keys, requirement keys, topology keys and resource names. Kubernetes allows a domain of 253, a slash and 63. */
export const KEY_BYTES_MAX = 317;
/** Values of labels and requirements. Kubernetes allows 63 for a label; providers write longer ones. */
export const VALUE_BYTES_MAX = 1_024;
/** A group is a name and a namespace in real clusters: about 100 bytes. */
export const GROUP_BYTES_MAX = 4_096;

/**
 * T4: a need's fingerprint and group as they are written on each of its machines; longer ones are written as digests. A
 * usual fingerprint has 150 bytes, a usual group 100. So what a shard adds to a record of a listing is below 1 KiB: the two
 * texts, and five keys and three numbers of about 230 bytes.
 */
export const ASSIGNED_FINGERPRINT_BYTES_MAX = 512;
/** The longest name of a Kubernetes object. */
export const ASSIGNED_GROUP_BYTES_MAX = 253;

/** Characters of a text that an error shows. */
const SHOWN_CHARS_MAX = 64;

/** Whether the text has at most this many bytes as UTF-8. Reads the text only if it is near the limit. */
export function fits(text: string, bytesMax: number): boolean {
  if (text.length * 3 <= bytesMax) return true; // a UTF-16 unit is at most three bytes
  return text.length <= bytesMax && Buffer.byteLength(text) <= bytesMax;
}

/** Names a text that is too long: its first characters, its length and the limit. */
export function tooLong(text: string, bytesMax: number): string {
  const start = JSON.stringify(text.slice(0, SHOWN_CHARS_MAX));
  return `begins with ${start} and has ${Buffer.byteLength(text)} bytes; the limit is ${bytesMax}`;
}
