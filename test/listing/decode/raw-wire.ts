/** Protobuf bytes by hand, for encodings that no encoder produces. */
export function varint(value: number | bigint, paddingBytes = 0): Buffer {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, BigInt(value));
  for (; left > 0x7fn; left >>= 7n) bytes.push(Number(left & 0x7fn) | 0x80);
  bytes.push(Number(left));
  // Overlong is allowed: continuation bytes without bits.
  for (let added = 0; added < paddingBytes; added++) {
    bytes[bytes.length - 1]! |= 0x80;
    bytes.push(0);
  }
  return Buffer.from(bytes);
}

export function tag(field: number, wireType: number): Buffer {
  return varint(field * 8 + wireType);
}

export function number(field: number, value: number | bigint): Buffer {
  return Buffer.concat([tag(field, 0), varint(value)]);
}

export function double(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([tag(field, 1), bytes]);
}

export function bytes(field: number, content: Uint8Array | string, paddingBytes = 0): Buffer {
  const buffer = Buffer.from(content as string);
  return Buffer.concat([tag(field, 2), varint(buffer.length, paddingBytes), buffer]);
}

export function group(field: number, ...content: Buffer[]): Buffer {
  return Buffer.concat([tag(field, 3), ...content, tag(field, 4)]);
}

export function fixed32(field: number, value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(value);
  return Buffer.concat([tag(field, 5), buffer]);
}

/** A map entry as nearly all encoders write it. */
export function entry(field: number, key: string, value: string): Buffer {
  return bytes(field, Buffer.concat([bytes(1, key), bytes(2, value)]));
}

export function list(...machines: Buffer[]): Buffer {
  return Buffer.concat(machines.map((machine) => bytes(1, machine)));
}
