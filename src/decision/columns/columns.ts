/**
 * Columns: typed arrays by slot, need or assignment. A column grows by a copy of twice the length when an index lies
 * beyond its end.
 *
 * Large columns use a SharedArrayBuffer, although no other thread reads them: V8 counts the bytes of an ArrayBuffer
 * against its heap and starts a full collection for every 64 MB, and a first cycle allocates some 200 MB of columns.
 * It does not count shared memory. The columns of a closed engine are freed by the next collection and cause none.
 */

/** Smaller columns add too little to start a collection. */
const SHARED_FROM_BYTES = 65_536;

function bufferOf(bytes: number): ArrayBufferLike {
  return bytes < SHARED_FROM_BYTES ? new ArrayBuffer(bytes) : new SharedArrayBuffer(bytes);
}

export function columnU8(length: number): Uint8Array {
  return new Uint8Array(bufferOf(length));
}

export function columnU16(length: number): Uint16Array {
  return new Uint16Array(bufferOf(2 * length));
}

export function columnU32(length: number): Uint32Array {
  return new Uint32Array(bufferOf(4 * length));
}

export function columnI32(length: number): Int32Array {
  return new Int32Array(bufferOf(4 * length));
}

export function columnF64(length: number): Float64Array {
  return new Float64Array(bufferOf(8 * length));
}

export function widerU8(array: Uint8Array, index: number): Uint8Array {
  if (index < array.length) return array;
  const wider = columnU8(Math.max(index + 1, 2 * array.length));
  wider.set(array);
  return wider;
}

export function widerU16(array: Uint16Array, index: number): Uint16Array {
  if (index < array.length) return array;
  const wider = columnU16(Math.max(index + 1, 2 * array.length));
  wider.set(array);
  return wider;
}

export function widerU32(array: Uint32Array, index: number): Uint32Array {
  if (index < array.length) return array;
  const wider = columnU32(Math.max(index + 1, 2 * array.length));
  wider.set(array);
  return wider;
}

export function widerI32(array: Int32Array, index: number): Int32Array {
  if (index < array.length) return array;
  const wider = columnI32(Math.max(index + 1, 2 * array.length));
  wider.set(array);
  return wider;
}

export function widerF64(array: Float64Array, index: number): Float64Array {
  if (index < array.length) return array;
  const wider = columnF64(Math.max(index + 1, 2 * array.length));
  wider.set(array);
  return wider;
}
