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
import type protobuf from 'protobufjs/light.js';
import { MessageCodec } from './message-codec.ts';
import { DESCRIPTOR, type MessageInits, type Messages } from './protocol.generated.ts';

export { asBuffer } from './message-codec.ts';

export type MessageName = keyof Messages;

const codec = new MessageCodec<Messages, MessageInits>('bigfleet.v1alpha1', DESCRIPTOR);

export function encode<Name extends MessageName>(name: Name, message: MessageInits[Name]): Buffer {
  return codec.encode(name, message);
}

export function decode<Name extends MessageName>(name: Name, bytes: Uint8Array): Messages[Name] {
  return codec.decode(name, bytes);
}

/** The same content as an ordinary object. */
export function toPlain<Name extends MessageName>(name: Name, message: Messages[Name]): Messages[Name] {
  const type = codec.reflectedType(name);
  return type.toObject(message as unknown as protobuf.Message, {
    defaults: true,
    longs: Number,
    oneofs: true,
  }) as Messages[Name];
}

/** For tools that need the reflection itself (tests, benchmarks). */
export function reflectedType(name: MessageName): protobuf.Type {
  return codec.reflectedType(name);
}

export function reflectedService(name: string): protobuf.Service {
  return codec.reflectedService(name);
}
