/**
 * Serves a provider over gRPC. This module only maps status codes and bytes: the provider decides every
 * answer.
 */
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { ShardError } from '../../base/errors.ts';
import { encode } from '../../wire/codec.ts';
import { exactCapacityProviderService } from '../../wire/exact-tokens.ts';
import type { OutgoingMessage } from '../../wire/outgoing-message.ts';
import type { Machine } from '../../wire/protocol.generated.ts';
import type { MachineListing } from './provider.ts';
import type {
  Ack,
  Answer,
  ConfigureCall,
  CreateCall,
  DeleteCall,
  DrainCall,
  ListCall,
  RefusalCode,
} from './requests.ts';

/** Implemented by SimulatedProvider and by wrappers around it. */
export interface ProviderCalls {
  create(call: CreateCall): Answer<Ack>;
  configure(call: ConfigureCall): Answer<Ack>;
  drain(call: DrainCall): Answer<Ack>;
  delete(call: DeleteCall): Answer<Ack>;
  get(call: { readonly id: string }): Answer<Machine>;
  list(call: ListCall): Answer<MachineListing>;
  /** A MachineList that is encoded while it is sent; used instead of `list` if present. */
  encodeList?(call: ListCall): Answer<OutgoingMessage>;
}

export interface ServeOptions {
  /** Default: plaintext. */
  readonly credentials?: ServerCredentials;
  /** Delay of every answer to a lifecycle call, as if the provider answered only when done. */
  readonly answerDelayMs?: () => number;
  /** How long calls in progress may continue after `close`. */
  readonly closeGraceMs?: number;
}

export interface ServedProvider {
  /** `host:port` with the actual port. */
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

export class CannotListenError extends ShardError {
  readonly code = 'cannot_listen';
  readonly next = 'refuse-to-start';

  constructor(address: string, why: string) {
    super(
      `The provider cannot listen on ${address}: ${why}. It did not start. Choose another address with --listen.`,
    );
  }
}

const STATUS_NUMBERS: Readonly<Record<RefusalCode, status>> = {
  not_found: status.NOT_FOUND,
  invalid_argument: status.INVALID_ARGUMENT,
  unimplemented: status.UNIMPLEMENTED,
  failed_precondition: status.FAILED_PRECONDITION,
  aborted: status.ABORTED,
  resource_exhausted: status.RESOURCE_EXHAUSTED,
};

/** Far more than any sensible bootstrap blob. */
const REQUEST_BYTES_MAX = 16 * 1024 * 1024;
const CLOSE_GRACE_MS = 1_000;

/** `address` is `host:port`; port 0 selects an unused port. */
export async function serveProvider(
  provider: ProviderCalls,
  address: string,
  options: ServeOptions = {},
): Promise<ServedProvider> {
  const server = new Server({
    'grpc.max_receive_message_length': REQUEST_BYTES_MAX,
    'grpc.max_send_message_length': -1, // a List exceeds the default by far
  });
  server.addService(exactCapacityProviderService, handlers(provider, options.answerDelayMs ?? null));
  const port = await bind(server, address, options.credentials ?? ServerCredentials.createInsecure());
  return {
    address: `${address.slice(0, address.lastIndexOf(':'))}:${port}`,
    port,
    close: () => shutDown(server, options.closeGraceMs ?? CLOSE_GRACE_MS),
  };
}

type Call<Request> = ServerUnaryCall<Request, OutgoingMessage>;
type Reply = sendUnaryData<OutgoingMessage>;

function handlers(provider: ProviderCalls, answerDelayMs: (() => number) | null) {
  const ack = (reply: Reply, answer: Answer<Ack>) => {
    const sendAck = () => send(reply, answer, (value) => encode('TransitionAck', value));
    if (answerDelayMs === null) sendAck();
    else setTimeout(sendAck, answerDelayMs());
  };
  return {
    Create: (call: Call<CreateCall>, reply: Reply) => ack(reply, provider.create(call.request)),
    Configure: (call: Call<ConfigureCall>, reply: Reply) => ack(reply, provider.configure(call.request)),
    Drain: (call: Call<DrainCall>, reply: Reply) => ack(reply, provider.drain(call.request)),
    Delete: (call: Call<DeleteCall>, reply: Reply) => ack(reply, provider.delete(call.request)),
    Get: (call: Call<{ id: string }>, reply: Reply) =>
      send(reply, provider.get(call.request), (machine) => encode('Machine', machine)),
    List: (call: Call<ListCall>, reply: Reply) =>
      provider.encodeList === undefined
        ? send(reply, provider.list(call.request), (list) => encode('MachineList', list))
        : send(reply, provider.encodeList(call.request), (message) => message),
  };
}

function send<Value>(reply: Reply, answer: Answer<Value>, encoded: (value: Value) => OutgoingMessage): void {
  if (answer.kind === 'ok') reply(null, encoded(answer.value));
  else if (answer.kind === 'refused') reply({ code: STATUS_NUMBERS[answer.code], details: answer.detail });
  // silent: the call stays open until its caller gives up
}

function bind(server: Server, address: string, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error === null) resolve(port);
      else reject(new CannotListenError(address, error.message));
    });
  });
}

/** The timer is needed: the library counts a connection that never spoke HTTP/2 as open for ever. */
function shutDown(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, graceMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
