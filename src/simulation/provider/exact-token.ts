/**
 * Reads int64 fields of a request with all their bits. Decoded messages carry int64 as number, exact only to
 * 2^53, but a fence must distinguish any two tokens. The bytes must already have decoded without error.
 */

/** The last value of each wanted field (in protobuf the last one wins), or 0n. */
export function readInt64Fields(bytes: Uint8Array, fieldNumbers: readonly number[]): bigint[] {
  const values = fieldNumbers.map(() => 0n);
  let at = 0;

  function varint(): bigint {
    let value = 0n;
    for (let shift = 0n; at < bytes.length; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }

  while (at < bytes.length) {
    const tag = Number(varint());
    const wanted = fieldNumbers.indexOf(tag >>> 3);
    switch (tag & 7) {
      case 0: {
        const value = BigInt.asIntN(64, varint());
        if (wanted >= 0) values[wanted] = value;
        break;
      }
      case 1:
        at += 8;
        break;
      case 2: {
        const length = Number(varint()); // varint() advances `at`, so it must not be the operand of `at +=`
        at += length;
        break;
      }
      case 5:
        at += 4;
        break;
      default: // groups: the fields within them are read like any others
        break;
    }
  }
  return values;
}
