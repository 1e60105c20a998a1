/**
 * Revisions as the wire has them: opaque bytes to everybody else.
 *
 *   offset  bytes  meaning
 *   0       4      "flt1"
 *   4       4      u32 little-endian, the provider's incarnation: its memory of removals ends with it
 *   8       8      f64 little-endian, revision
 *
 * Whatever does not look like one of ours, or is from another incarnation or from the future, is not
 * recognised, and the listing is then of everything.
 */
const MAGIC = 0x31746c66;
const CURSOR_BYTES = 16;

export function encodeCursor(incarnation: number, revision: number): Uint8Array {
  const bytes = new Uint8Array(CURSOR_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, incarnation, true);
  view.setFloat64(8, revision, true);
  return bytes;
}

/** The revision that the cursor stands for; null if it is not one that this provider could have given. */
export function decodeCursor(bytes: Uint8Array, incarnation: number, newestRevision: number): number | null {
  if (bytes.byteLength !== CURSOR_BYTES) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== MAGIC || view.getUint32(4, true) !== incarnation) return null;
  const revision = view.getFloat64(8, true);
  const isOurs = Number.isSafeInteger(revision) && revision >= 0 && revision <= newestRevision;
  return isOurs ? revision : null;
}
