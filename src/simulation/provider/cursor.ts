/**
 * Cursors on the wire. Clients must treat them as opaque bytes.
 *
 *   offset  bytes  unit, meaning
 *   0       4      "flt1"
 *   4       4      u32 little-endian, the provider's incarnation; a new one has no record of earlier removals
 *   8       8      f64 little-endian, revision
 *
 * The provider does not recognise bytes of another form, of another incarnation or with a future revision,
 * and answers them with all machines.
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

/** The revision of the cursor; null if this provider cannot have issued it. */
export function decodeCursor(bytes: Uint8Array, incarnation: number, newestRevision: number): number | null {
  if (bytes.byteLength !== CURSOR_BYTES) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== MAGIC || view.getUint32(4, true) !== incarnation) return null;
  const revision = view.getFloat64(8, true);
  const isOurs = Number.isSafeInteger(revision) && revision >= 0 && revision <= newestRevision;
  return isOurs ? revision : null;
}
