import type { Client, ServiceError } from '@grpc/grpc-js';
import { decode, encode, type MessageName, toPlain } from '../../../src/wire/codec.ts';
import type { MessageInits, Messages } from '../../../src/wire/protocol.generated.ts';

/** A call as an ordinary client makes it: encoded and decoded by protobufjs. */
export function call<Request extends MessageName, Response extends MessageName>(
  client: Client,
  method: string,
  [request, response]: readonly [Request, Response],
  message: MessageInits[Request] | Buffer,
  deadlineMs = 10_000,
): Promise<Messages[Response]> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      `/bigfleet.v1alpha1.CapacityProvider/${method}`,
      (value: MessageInits[Request] | Buffer) => (Buffer.isBuffer(value) ? value : encode(request, value)),
      (bytes: Buffer) => toPlain(response, decode(response, bytes)),
      message,
      { deadline: Date.now() + deadlineMs },
      (error: ServiceError | null, answer?: Messages[Response]) => (error ? reject(error) : resolve(answer!)),
    );
  });
}
