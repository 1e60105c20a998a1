/**
 * Encodes and decodes the messages of one protobuf package, typed by name. src/wire/codec.ts says what decoded messages look
 * like.
 */
import protobuf from 'protobufjs/light.js';

export class MessageCodec<Messages extends object, MessageInits extends Record<keyof Messages, object>> {
  readonly #root = new protobuf.Root();
  readonly #package: string;
  readonly #types = new Map<string, protobuf.Type>();

  constructor(packageName: string, descriptor: protobuf.INamespace['nested'] & object) {
    this.#package = packageName;
    this.#root.define(packageName, descriptor);
    this.#root.resolveAll();
  }

  encode<Name extends keyof Messages & string>(name: Name, message: MessageInits[Name]): Buffer {
    return asBuffer(this.reflectedType(name).encode(message).finish());
  }

  decode<Name extends keyof Messages & string>(name: Name, bytes: Uint8Array): Messages[Name] {
    const reader = new NumberReader(asBuffer(bytes)) as unknown as protobuf.Reader;
    return this.reflectedType(name).decode(reader) as unknown as Messages[Name];
  }

  reflectedType(name: keyof Messages & string): protobuf.Type {
    const known = this.#types.get(name);
    if (known !== undefined) return known;
    const type = this.#root.lookupType(`${this.#package}.${name}`);
    this.#types.set(name, type);
    this.#useNumbersForInt64(type.setup());
    return type;
  }

  reflectedService(name: string): protobuf.Service {
    return this.#root.lookupService(`${this.#package}.${name}`);
  }

  /** Without this, the default of an absent int64 would be a Long. */
  #useNumbersForInt64(type: protobuf.Type): void {
    const prototype = type.ctor.prototype as unknown as Record<string, unknown>;
    for (const field of type.fieldsArray) {
      if (field.type === 'int64' && !field.repeated && !field.map) prototype[field.name] = 0;
      const { resolvedType } = field;
      if (resolvedType instanceof protobuf.Type) {
        this.reflectedType(resolvedType.name as keyof Messages & string);
      }
    }
  }
}

/** A view of the same memory, without a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
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
