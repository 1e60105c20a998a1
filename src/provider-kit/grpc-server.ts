/** The provider behind gRPC: requests to calls, refusals to status codes, callers to identities. It decides nothing else. */
import {
  Server,
  type ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { ByteWriter } from '../base/byte-writer.ts';
import { encode } from '../wire/codec.ts';
import { exactCapacityProviderService } from '../wire/exact-tokens.ts';
import { checkHealth, HEALTH_SERVICE } from '../wire/health.ts';
import type { OutgoingMessage } from '../wire/outgoing-message.ts';
import { whyDenied } from './callers.ts';
import type { StringMap } from './cloud.ts';
import { CannotServeError, Refusal, type RefusalCode } from './errors.ts';
import type { Token } from './fence.ts';
import type { ListCall } from './listing.ts';
import type { OperationName } from './operations.ts';
import type { MutatingCall, Provider } from './provider.ts';

export interface GrpcServerOptions {
  readonly credentials: ServerCredentials;
  /** With TLS, the certificate of a caller says what it may do. */
  readonly isIdentified: boolean;
  readonly onAnswer: (call: string, code: string) => void;
}

const STATUS_OF: Readonly<Record<RefusalCode, status>> = {
  invalid_argument: status.INVALID_ARGUMENT,
  not_found: status.NOT_FOUND,
  unimplemented: status.UNIMPLEMENTED,
  failed_precondition: status.FAILED_PRECONDITION,
  resource_exhausted: status.RESOURCE_EXHAUSTED,
  unavailable: status.UNAVAILABLE,
  aborted: status.ABORTED,
  permission_denied: status.PERMISSION_DENIED,
};

/** A shard sends blobs up to 4 MiB, and the rest of a request beside them. */
const REQUEST_BYTES_MAX = 8 << 20;
/** A certificate is checked when a connection begins: none lives much longer than this. */
const CONNECTION_AGE_MS = 3_600_000;
const CONNECTION_AGE_GRACE_MS = 120_000;
const HEALTH_NAMES = ['bigfleet.v1alpha1.CapacityProvider'] as const;

/** A request as exact-tokens.ts decodes it. */
interface Mutation {
  readonly machineId: string;
  readonly shardId: string;
  readonly shardEpoch: bigint;
  readonly sequenceNumber: bigint;
}

interface Configuration extends Mutation {
  readonly clusterId: string;
  readonly bootstrapBlob: Uint8Array;
  readonly shardMetadata: StringMap;
}

interface Draining extends Mutation {
  readonly gracePeriodSeconds: number;
}

type Call<Request> = ServerUnaryCall<Request, OutgoingMessage>;

export class GrpcServer {
  readonly #options: GrpcServerOptions;
  readonly #provider: Provider;
  readonly #server = new Server({
    'grpc.max_receive_message_length': REQUEST_BYTES_MAX,
    'grpc.max_send_message_length': -1, // a listing of a large fleet exceeds the default by far
    'grpc.max_connection_age_ms': CONNECTION_AGE_MS,
    'grpc.max_connection_age_grace_ms': CONNECTION_AGE_GRACE_MS,
  });

  constructor(provider: Provider, options: GrpcServerOptions) {
    this.#provider = provider;
    this.#options = options;
    this.#server.addService(exactCapacityProviderService, {
      Create: this.#mutation<Mutation>('create', () => ({})),
      Configure: this.#mutation<Configuration>(
        'configure',
        ({ clusterId, bootstrapBlob, shardMetadata }) => ({
          cluster: clusterId,
          bootstrapBlob,
          shardMetadata,
        }),
      ),
      Drain: this.#mutation<Draining>('drain', ({ gracePeriodSeconds }) => ({ gracePeriodSeconds })),
      Delete: this.#mutation<Mutation>('delete', () => ({})),
      Get: this.#read<{ readonly id: string }>('get', ({ id }) => provider.get(id)),
      List: this.#read<ListCall>('list', (call) => provider.list(call)),
    });
    this.#server.addService(HEALTH_SERVICE, {
      Check: checkHealth(HEALTH_NAMES, () => provider.whyNotReady === ''),
    });
  }

  /** Resolves with the port. Throws CannotServeError. */
  listen(address: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(address, this.#options.credentials, (error, port) => {
        if (error === null) resolve(port);
        else reject(new CannotServeError(address, error.message));
      });
    });
  }

  /** Calls in progress have this long to end. The timer is needed: a peer that never spoke HTTP/2 counts as open for ever. */
  close(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#server.forceShutdown();
        resolve();
      }, graceMs);
      this.#server.tryShutdown(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #mutation<Request extends Mutation>(
    name: OperationName,
    rest: (request: Request) => Partial<MutatingCall>,
  ) {
    return this.#handler<Request>(name, async (call) => {
      const { request } = call;
      const { machineId, shardId, shardEpoch, sequenceNumber } = request;
      const token = { shardId, epoch: shardEpoch, sequence: sequenceNumber };
      this.#checkCaller(call, token);
      const { operationId, machine } = await this.#provider.call(name, {
        machineId,
        token,
        ...rest(request),
      });
      return ackBytes(operationId, machine);
    });
  }

  #read<Request>(name: string, answer: (request: Request) => OutgoingMessage) {
    return this.#handler<Request>(name, async (call) => {
      this.#checkCaller(call, null);
      return answer(call.request);
    });
  }

  #handler<Request>(name: string, answer: (call: Call<Request>) => Promise<OutgoingMessage>) {
    return (call: Call<Request>, reply: sendUnaryData<OutgoingMessage>) => {
      answer(call).then(
        (message) => {
          this.#options.onAnswer(name, 'OK');
          reply(null, message);
        },
        (error: Error) => {
          const code = error instanceof Refusal ? STATUS_OF[error.code] : status.INTERNAL;
          this.#options.onAnswer(name, status[code]);
          reply({ code, details: error.message });
        },
      );
    };
  }

  #checkCaller(call: Call<unknown>, token: Token | null): void {
    const why = this.#options.isIdentified ? whyDenied(call, token) : null;
    if (why !== null) throw new Refusal('permission_denied', why);
  }
}

const MACHINE_OF_ACK = 0x12;

/** A TransitionAck around a machine that is already encoded. */
function ackBytes(operationId: string, machine: Buffer): Buffer {
  const writer = new ByteWriter();
  writer.open(machine.length + operationId.length + 16);
  writer.raw(encode('TransitionAck', { operationId }));
  writer.tag(MACHINE_OF_ACK);
  writer.varint(machine.length);
  writer.raw(machine);
  return writer.take();
}
