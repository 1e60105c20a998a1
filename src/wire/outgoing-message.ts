/**
 * A message that is encoded directly into its gRPC frame. @grpc/grpc-js needs two things from a serializer's result: its
 * length, and a way to copy it behind the five header bytes of the frame. So an answer of 450 MB is in memory only once
 * (docs/adr/0028 does the same for received messages). A Buffer is such a message, too.
 *
 * The version of the library is pinned; a test checks that answers arrive intact.
 */
export interface OutgoingMessage {
  readonly byteLength: number;
  /** Writes the whole message at `at`. */
  copy(into: Buffer, at: number): number;
}

/** The message as a Buffer, for other ways to send it. */
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
