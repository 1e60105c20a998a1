/** Writes protobuf bytes by hand: an encoder would not write what an attacker does. */

export function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80);
    rest = Math.floor(rest / 128);
  }
  return [...bytes, rest];
}

/** A field with a length. */
export function field(number: number, content: readonly number[] | Uint8Array): number[] {
  return [...varint(number * 8 + 2), ...varint(content.length), ...content];
}

export function text(value: string): Uint8Array {
  return Buffer.from(value);
}

/** Parts until the input has about so many bytes. */
export function repeated(byteCount: number, part: (index: number) => readonly number[]): Uint8Array {
  const bytes = new Uint8Array(byteCount);
  let at = 0;
  for (let index = 0; ; index++) {
    const next = part(index);
    if (at + next.length > byteCount) return bytes.subarray(0, at);
    bytes.set(next, at);
    at += next.length;
  }
}

/** Groups or messages within each other, as deep as the bytes allow. */
export function nested(byteCount: number, open: readonly number[]): Uint8Array {
  return repeated(byteCount, () => open);
}

/** A field that announces far more bytes than follow. */
export function lying(number: number): Uint8Array {
  return Uint8Array.from([...varint(number * 8 + 2), ...varint(31 * 2 ** 20), ...text('only these')]);
}
