/**
 * Typed arrays in shared memory, and larger copies of them. A batch is reused for every listing: another thread reads
 * it in place, and the next listing need not allocate and fault in its columns again (42 MB at 500,000 machines).
 */
export function sharedUint8(length: number): Uint8Array<SharedArrayBuffer> {
  return new Uint8Array(new SharedArrayBuffer(length));
}

export function sharedUint32(length: number): Uint32Array<SharedArrayBuffer> {
  return new Uint32Array(new SharedArrayBuffer(4 * length));
}

export function sharedInt32(length: number): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(4 * length));
}

export function sharedFloat64(length: number): Float64Array<SharedArrayBuffer> {
  return new Float64Array(new SharedArrayBuffer(8 * length));
}

export function grownUint8(column: Uint8Array, length: number): Uint8Array<SharedArrayBuffer> {
  const grown = sharedUint8(length);
  grown.set(column);
  return grown;
}

export function grownUint32(column: Uint32Array, length: number): Uint32Array<SharedArrayBuffer> {
  const grown = sharedUint32(length);
  grown.set(column);
  return grown;
}

export function grownInt32(column: Int32Array, length: number): Int32Array<SharedArrayBuffer> {
  const grown = sharedInt32(length);
  grown.set(column);
  return grown;
}

export function grownFloat64(column: Float64Array, length: number): Float64Array<SharedArrayBuffer> {
  const grown = sharedFloat64(length);
  grown.set(column);
  return grown;
}
