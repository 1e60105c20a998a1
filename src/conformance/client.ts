/**
 * The six calls of a provider. Every answer is a value, refusals too, because most checks are about
 * refusals. The client also shows every reply and every returned machine to the sightings: some rules hold
 * for all answers of a run.
 */
import * as grpc from '@grpc/grpc-js';
import type { TransitionAck } from '../wire/protocol.generated.ts';
import { rawCapacityProviderService, capacityProviderService as service } from '../wire/services.ts';
import { FAILED_PRECONDITION, INTERNAL, OK } from './codes.ts';
import { MachineListView } from './machine-list-view.ts';
import type { Sightings } from './sightings.ts';
import type { Snapshot, TextMap } from './snapshot.ts';
import { describeToken, FenceModel, type Token } from './token.ts';

export type MutatingMethod = 'Create' | 'Configure' | 'Drain' | 'Delete';
export type MethodName = MutatingMethod | 'Get' | 'List';

export type Reply<Value> =
  | { readonly ok: true; readonly code: typeof OK; readonly value: Value }
  | { readonly ok: false; readonly code: number; readonly detail: string };

export type AckReply = Reply<TransitionAck>;

/** The part of a Configure call that a provider must store and return unchanged. */
export interface ConfigureParameters {
  readonly cluster: string;
  readonly shardMetadata: TextMap;
}

export interface ListQuery {
  readonly states?: readonly number[];
  readonly maxResults?: number;
  readonly sinceRevision?: Uint8Array;
}

/** A lifecycle call in one shape, so that checks can be written once for all four. */
export interface MutatingCall {
  readonly method: MutatingMethod;
  readonly machineId: string;
  readonly token: Token;
  /** For Configure only. */
  readonly binding?: ConfigureParameters;
  /** Sent at once with other calls for the same machine, so their order of arrival is unknown. */
  readonly isRacing?: boolean;
}

interface UnaryMethod<Request, Response> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

const MEBIBYTE = 1 << 20;
/** The default of 4 MiB refuses a listing of some 8,000 machines. -1 means no limit in grpc-js. */
const NO_LIMIT = -1;
/** Not zero: a provider may take a grace of zero as an order to kill. */
const DRAIN_GRACE_SECONDS = 1;
/** Opaque to the provider. Its bytes are not valid UTF-8, like those of a compressed blob. */
const BOOTSTRAP_BLOB = Uint8Array.of(0x00, 0xff, 0xfe, 0x80, 0x0a, 0x0d, 0x1f, 0x8b);

export class ProviderClient {
  readonly #channel: grpc.Client;
  readonly #callTimeoutMs: number;
  readonly #sightings: Sightings;
  readonly #fence = new FenceModel();

  constructor(target: string, callTimeoutMs: number, sightings: Sightings) {
    this.#callTimeoutMs = callTimeoutMs;
    this.#sightings = sightings;
    this.#channel = new grpc.Client(target, grpc.credentials.createInsecure(), {
      'grpc.max_receive_message_length': NO_LIMIT,
      'grpc.max_send_message_length': NO_LIMIT,
      'grpc-node.flow_control_window': 16 * MEBIBYTE,
      // Two runs in one process must not share a channel: the first to end would close it for the other.
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  /** Resolves when the target accepts connections; rejects when the time is over. */
  connect(withinMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#channel.waitForReady(Date.now() + withinMs, (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }

  close(): void {
    this.#channel.close();
  }

  async mutate(call: MutatingCall): Promise<AckReply> {
    const { method, machineId, token } = call;
    const mustPass = this.#fence.admit(machineId, token);
    const reply = await this.#send(call);
    this.#sightings.sawReply(method, reply.code);
    if (reply.code === FAILED_PRECONDITION && mustPass && call.isRacing !== true) {
      this.#sightings.sawUnexplainedRefusal(`${method} with a newer ${describeToken(token)}`);
    }
    if (reply.ok && reply.value.machine !== null) {
      this.#sightings.sawMachine(`ack of ${method}`, reply.value.machine, machineId);
    }
    return reply;
  }

  async get(machineId: string): Promise<Reply<Snapshot>> {
    const reply = await this.#unary(service.Get, { id: machineId });
    this.#sightings.sawReply('Get', reply.code);
    if (reply.code === FAILED_PRECONDITION) this.#sightings.sawUnexplainedRefusal('Get');
    if (reply.ok) this.#sightings.sawMachine('Get', reply.value, machineId);
    return reply;
  }

  async list(query: ListQuery = {}): Promise<Reply<MachineListView>> {
    const reply = await this.#unary(rawCapacityProviderService.List, query);
    this.#sightings.sawReply('List', reply.code);
    if (reply.code === FAILED_PRECONDITION) this.#sightings.sawUnexplainedRefusal('List');
    if (!reply.ok) return reply;
    try {
      const listing = new MachineListView(reply.value);
      this.#sightings.sawListing(listing, query);
      return { ok: true, code: OK, value: listing };
    } catch (error) {
      return { ok: false, code: INTERNAL, detail: `malformed MachineList: ${(error as Error).message}` };
    }
  }

  #send({ method, machineId, binding, token }: MutatingCall): Promise<AckReply> {
    const { shardId } = token;
    switch (method) {
      case 'Create':
        return this.#unary(withToken(service.Create, token, 4), { machineId, shardId });
      case 'Configure':
        return this.#unary(withToken(service.Configure, token, 5), {
          machineId,
          shardId,
          clusterId: binding?.cluster ?? '',
          shardMetadata: binding?.shardMetadata ?? {},
          bootstrapBlob: BOOTSTRAP_BLOB,
        });
      case 'Drain':
        return this.#unary(withToken(service.Drain, token, 4), {
          machineId,
          shardId,
          gracePeriodSeconds: DRAIN_GRACE_SECONDS,
        });
      case 'Delete':
        return this.#unary(withToken(service.Delete, token, 3), { machineId, shardId });
    }
  }

  #unary<Request, Response>(
    method: UnaryMethod<Request, Response>,
    request: Request,
  ): Promise<Reply<Response>> {
    return new Promise((resolve) => {
      this.#channel.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        new grpc.Metadata(),
        { deadline: Date.now() + this.#callTimeoutMs },
        (error, value) => {
          if (error !== null) resolve({ ok: false, code: error.code, detail: error.details });
          else resolve({ ok: true, code: OK, value: value as Response });
        },
      );
    });
  }
}

/**
 * Appends shard_epoch and sequence_number to the encoded request. The codec represents int64 as a number,
 * exact only to 2^53. In every request the sequence's field number follows the epoch's.
 */
function withToken<Request, Response>(
  method: UnaryMethod<Request, Response>,
  { epoch, sequence }: Token,
  epochField: number,
): UnaryMethod<Request, Response> {
  const token = Buffer.from([...int64Field(epochField, epoch), ...int64Field(epochField + 1, sequence)]);
  return {
    ...method,
    requestSerialize: (request) => Buffer.concat([method.requestSerialize(request), token]),
  };
}

/** The tag of a field number up to 15 is one byte; wire type 0 announces a varint. */
function int64Field(fieldNumber: number, value: bigint): number[] {
  const bytes = [fieldNumber << 3];
  let left = BigInt.asUintN(64, value);
  for (; left > 0x7fn; left >>= 7n) bytes.push(Number(left & 0x7fn) | 0x80);
  bytes.push(Number(left));
  return bytes;
}
