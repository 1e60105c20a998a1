/** Reads the bytes of an operator's frame: the session routes and hashes them, and decodes only what is new. */
import { ProtobufReader } from '../wire/protobuf-reader.ts';
import { MalformedFrameError } from './errors.ts';

export class FrameReader extends ProtobufReader {
  /** The same memory, for text. */
  buffer: Buffer = Buffer.alloc(0);

  override open(bytes: Uint8Array): void {
    super.open(bytes);
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  override fail(offset: number, what: string): never {
    throw new MalformedFrameError(offset, what);
  }
}
