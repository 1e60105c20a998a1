/** Limits on what an operator sends. The shard enforces them, and an operator that knows them need not be refused. */

/**
 * One frame of an operator, decompressed. 388 rows are 130 KB; 80,000 rows, the demand of 200 such clusters in one, are
 * 27 MB. gRPC ends a stream with a larger frame with RESOURCE_EXHAUSTED before it reads the bytes.
 */
export const FRAME_BYTES_MAX = 32 * 1024 * 1024;

/** Rows of one roll-up: as many real rows as fit a frame. Without a limit, sixteen million empty rows would fit. */
export const ROLLUP_ROWS_MAX = 131_072;

/**
 * T1. One row has a few hundred bytes; the largest that makes sense, 200 host names of 253 bytes in a requirement, 50 KB. A row
 * is hashed and decoded in one step, and the limit bounds that step.
 */
export const ROW_BYTES_MAX = 64 * 1024;

/**
 * One bootstrap blob. Clouds take 16 to 256 KiB of user data, and a provider in Go accepts messages up to 4 MiB by default.
 * With 256 calls in flight, each in the memory of two threads, larger blobs would take gigabytes.
 */
export const BLOB_BYTES_MAX = 4 * 1024 * 1024;

/** Characters of an operator's error text that the shard passes on. */
export const ERROR_TEXT_MAX = 512;

/** The longest name of a Kubernetes object. */
const CLUSTER_ID_BYTES_MAX = 253;
const SPACE = 0x20;
const TILDE = 0x7e;

/** O1: Hello names a cluster with 1 to 253 printable bytes. */
export function isClusterId(text: string): boolean {
  if (text.length === 0 || text.length > CLUSTER_ID_BYTES_MAX) return false;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < SPACE || unit > TILDE) return false;
  }
  return true;
}
