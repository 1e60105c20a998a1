/**
 * A message that is written when it is sent, into the frame that it leaves in. Of what a serializer gives, @grpc/grpc-js asks two
 * things: how long it is, and to copy itself behind the five bytes of its frame. So an answer of 450 MB need not exist before its
 * frame does, and is in memory once (docs/adr/0028 says the same of those that arrive). A Buffer is such a message, too.
 *
 * The version of the library is pinned; a test sees to it that answers still come through.
 */
export interface OutgoingMessage {
  readonly byteLength: number;
  /** All of it, from `at` on. */
  copy(into: Buffer, at: number): number;
}

/** For whoever sends it otherwise. */
export function bytesOf(message: OutgoingMessage): Buffer {
  if (Buffer.isBuffer(message)) return message;
  const bytes = Buffer.allocUnsafeSlow(message.byteLength);
  message.copy(bytes, 0);
  return bytes;
}

/** For `responseSerialize`. */
export function writtenInFrame(message: OutgoingMessage): Buffer {
  return message as Buffer;
}
