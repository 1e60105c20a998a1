/**
 * The standard health check of gRPC (`grpc.health.v1.Health/Check`) for load balancers, Kubernetes' gRPC probes and
 * grpc_health_probe. A shard reports whether it accepts sessions, a provider whether it can store what it is told.
 *
 *   request    1 string service    '' is the whole server
 *   response   1 enum status       1 SERVING, 2 NOT_SERVING
 *
 * Watch is not implemented: its clients take UNIMPLEMENTED as "no health to watch" and continue.
 */
import { type handleUnaryCall, status } from '@grpc/grpc-js';
import { ProtobufReader } from './protobuf-reader.ts';

const SERVICE_FIELD = 0x0a;
const SERVING = Buffer.from([0x08, 1]);
const NOT_SERVING = Buffer.from([0x08, 2]);

/** An object, because grpc-js treats an empty string as a missing request. */
interface HealthRequest {
  readonly service: string;
}

export const HEALTH_SERVICE = {
  Check: {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: (bytes: Buffer) => bytes,
    requestDeserialize: requestOf,
    responseSerialize: (bytes: Buffer) => bytes,
    responseDeserialize: (bytes: Buffer) => bytes,
  },
};

/** `services` are the names that a request may have besides '', the whole server. */
export function checkHealth(
  services: readonly string[],
  isServing: () => boolean,
): handleUnaryCall<HealthRequest, Buffer> {
  return ({ request: { service } }, answer) => {
    if (service === '' || services.includes(service)) answer(null, isServing() ? SERVING : NOT_SERVING);
    else answer({ code: status.NOT_FOUND, details: 'This server has no such service.' });
  };
}

class RequestReader extends ProtobufReader {
  override fail(offset: number, what: string): never {
    throw new RangeError(`A health request has ${what} at byte ${offset}.`);
  }
}

/** Throws for bytes that are not a message; gRPC then answers INTERNAL. */
function requestOf(bytes: Buffer): HealthRequest {
  const reader = new RequestReader();
  reader.open(bytes);
  let service = '';
  while (reader.at < bytes.length) {
    const tag = reader.tag(bytes.length);
    if (tag !== SERVICE_FIELD) {
      reader.skip(tag, bytes.length);
      continue;
    }
    const end = reader.lengthEnd(bytes.length);
    service = bytes.toString('utf8', reader.at, end);
    reader.at = end;
  }
  return { service };
}
