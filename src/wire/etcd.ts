/** The six calls of etcd that the directory uses, in the form that grpc-js takes. Loaded only with a directory. */
import { DESCRIPTOR, type MessageInits, type Messages } from './etcd.generated.ts';
import { MessageCodec } from './message-codec.ts';

export type { EventInit, KeyValue, MessageInits, Messages } from './etcd.generated.ts';
export { CompareCompareTarget, EventEventType } from './etcd.generated.ts';

export const etcdCodec = new MessageCodec<Messages, MessageInits>('etcdserverpb', DESCRIPTOR);

/** The client's side of a call. */
export interface EtcdMethod<Request, Response> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

export const etcdMethods = {
  Range: method('KV/Range', 'RangeRequest', 'RangeResponse'),
  Txn: method('KV/Txn', 'TxnRequest', 'TxnResponse'),
  Watch: method('Watch/Watch', 'WatchRequest', 'WatchResponse'),
  LeaseGrant: method('Lease/LeaseGrant', 'LeaseGrantRequest', 'LeaseGrantResponse'),
  LeaseRevoke: method('Lease/LeaseRevoke', 'LeaseRevokeRequest', 'LeaseRevokeResponse'),
  LeaseKeepAlive: method('Lease/LeaseKeepAlive', 'LeaseKeepAliveRequest', 'LeaseKeepAliveResponse'),
};

function method<Request extends keyof Messages, Response extends keyof Messages>(
  name: `${string}/${string}`,
  request: Request,
  response: Response,
): EtcdMethod<MessageInits[Request], Messages[Response]> {
  return {
    path: `/etcdserverpb.${name}`,
    requestSerialize: (message) => etcdCodec.encode(request, message),
    responseDeserialize: (bytes) => etcdCodec.decode(response, bytes),
  };
}
