/**
 * Encodes and decodes the protocol's messages, typed by name:
 *
 *   const bytes = encode('DrainRequest', { machineId: 'm-1', gracePeriodSeconds: 600 });
 *   const request = decode('DrainRequest', bytes);        // request.shardId === ''
 *
 * Field names are camelCase. In a decoded message
 * - every field is present: absent scalars have their default, absent messages are `null`, absent lists and maps empty.
 *   Defaults come from the prototype, so do not spread or clone a message; `toPlain` makes an object that has all fields
 *   itself, for printing and comparing;
 * - int64 is a plain number. It is exact up to 2^53; beyond (a timestamp in nanoseconds) it is the nearest number, off by
 *   at most 128 ns in this century. No value here needs more, and Long objects would spread into every place that
 *   compares an epoch;
 * - enums are numbers, also unknown ones;
 * - unknown fields are dropped. A string that is not UTF-8 is an error, as protobuf requires.
 *
 * Malformed bytes throw what protobufjs throws (an Error or RangeError, a TypeError for text that is not UTF-8): callers at the
 * boundary turn it into their own typed error. Do not use this module for messages that come by the hundred thousand: src/listing/decode reads machines
 * straight into columns.
 */
import protobuf from 'protobufjs/light.js';
import { DESCRIPTOR, type MessageInits, type Messages } from './protocol.generated.ts';

export type MessageName = keyof Messages;

const PACKAGE = 'bigfleet.v1alpha1';
const root = new protobuf.Root();
root.define(PACKAGE, DESCRIPTOR);
root.resolveAll();
const types = new Map<string, protobuf.Type>();

export function encode<Name extends MessageName>(name: Name, message: MessageInits[Name]): Buffer {
  return asBuffer(reflectedType(name).encode(message).finish());
}

export function decode<Name extends MessageName>(name: Name, bytes: Uint8Array): Messages[Name] {
  const reader = new NumberReader(asBuffer(bytes)) as unknown as protobuf.Reader;
  return reflectedType(name).decode(reader) as unknown as Messages[Name];
}

/** The same content as an ordinary object. */
export function toPlain<Name extends MessageName>(name: Name, message: Messages[Name]): Messages[Name] {
  const type = reflectedType(name);
  return type.toObject(message as unknown as protobuf.Message, {
    defaults: true,
    longs: Number,
    oneofs: true,
  }) as Messages[Name];
}

/** A view of the same memory, without a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** For tools that need the reflection itself (tests, benchmarks). */
export function reflectedType(name: MessageName): protobuf.Type {
  const known = types.get(name);
  if (known !== undefined) return known;
  const type = root.lookupType(`${PACKAGE}.${name}`);
  types.set(name, type);
  useNumbersForInt64(type.setup());
  return type;
}

export function reflectedService(name: string): protobuf.Service {
  return root.lookupService(`${PACKAGE}.${name}`);
}

/** Without this, the default of an absent int64 would be a Long. */
function useNumbersForInt64(type: protobuf.Type): void {
  const prototype = type.ctor.prototype as unknown as Record<string, unknown>;
  for (const field of type.fieldsArray) {
    if (field.type === 'int64' && !field.repeated && !field.map) prototype[field.name] = 0;
    if (field.resolvedType instanceof protobuf.Type) reflectedType(field.resolvedType.name as MessageName);
  }
}

class NumberReader extends protobuf.BufferReader {
  // @ts-expect-error protobufjs declares Long here, but stores any value.
  override int64(): number {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.pos >= this.len) throw new RangeError(`index out of range: ${this.pos} + 1 > ${this.len}`);
      const byte = this.buf[this.pos++]!;
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high |= bits >> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) return high * 0x1_0000_0000 + (low >>> 0);
    }
    throw new Error('invalid varint encoding');
  }
}
