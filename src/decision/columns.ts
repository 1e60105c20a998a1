/** Typed arrays that grow: a copy of twice the length when an index lies beyond the end. */

export function widerU8(array: Uint8Array<ArrayBuffer>, index: number): Uint8Array<ArrayBuffer> {
  if (index < array.length) return array;
  const wider = new Uint8Array(Math.max(index + 1, 2 * array.length));
  wider.set(array);
  return wider;
}

export function widerU16(array: Uint16Array<ArrayBuffer>, index: number): Uint16Array<ArrayBuffer> {
  if (index < array.length) return array;
  const wider = new Uint16Array(Math.max(index + 1, 2 * array.length));
  wider.set(array);
  return wider;
}

export function widerU32(array: Uint32Array<ArrayBuffer>, index: number): Uint32Array<ArrayBuffer> {
  if (index < array.length) return array;
  const wider = new Uint32Array(Math.max(index + 1, 2 * array.length));
  wider.set(array);
  return wider;
}

export function widerI32(array: Int32Array<ArrayBuffer>, index: number): Int32Array<ArrayBuffer> {
  if (index < array.length) return array;
  const wider = new Int32Array(Math.max(index + 1, 2 * array.length));
  wider.set(array);
  return wider;
}

export function widerF64(array: Float64Array<ArrayBuffer>, index: number): Float64Array<ArrayBuffer> {
  if (index < array.length) return array;
  const wider = new Float64Array(Math.max(index + 1, 2 * array.length));
  wider.set(array);
  return wider;
}
