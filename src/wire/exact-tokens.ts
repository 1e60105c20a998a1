/**
 * CapacityProvider for servers whose fence compares all 64 bits of a token. Decoded messages carry int64 as number, exact
 * only to 2^53, but a fence must distinguish any two tokens. So shardEpoch and sequenceNumber of these requests are bigint.
 */
import { writtenInFrame } from './outgoing-message.ts';
import { rawCapacityProviderService } from './services.ts';

/** Responses are bytes. A List may be encoded while it is sent. */
export const exactCapacityProviderService = {
  ...rawCapacityProviderService,
  Create: withExactToken(rawCapacityProviderService.Create, [4, 5]),
  Configure: withExactToken(rawCapacityProviderService.Configure, [5, 6]),
  Drain: withExactToken(rawCapacityProviderService.Drain, [4, 5]),
  Delete: withExactToken(rawCapacityProviderService.Delete, [3, 4]),
  List: { ...rawCapacityProviderService.List, responseSerialize: writtenInFrame },
};

/** With the field numbers of shard_epoch and sequence_number. */
function withExactToken<
  Request extends object,
  Definition extends { requestDeserialize(bytes: Buffer): Request },
>(definition: Definition, fieldNumbers: readonly [epoch: number, sequence: number]) {
  return {
    ...definition,
    requestDeserialize(bytes: Buffer) {
      // Fields of a message may sit on its prototype, where a spread would miss them.
      const request = Object.create(definition.requestDeserialize(bytes));
      const [shardEpoch, sequenceNumber] = readInt64Fields(bytes, fieldNumbers);
      return Object.assign(request, { shardEpoch, sequenceNumber });
    },
  };
}

/** The last value of each wanted field (in protobuf the last one wins), or 0n. The bytes must already have decoded without error. */
function readInt64Fields(bytes: Uint8Array, fieldNumbers: readonly number[]): bigint[] {
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
