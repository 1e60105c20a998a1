/**
 * gRPC service definitions, keyed by the protocol's method names (`Create`, `List`, `Session`), in the form that grpc-js
 * takes:
 *
 *   server.addService(capacityProviderService, { Create, Configure, Drain, Delete, Get, List });
 *
 *   const { path, requestSerialize, responseDeserialize } = capacityProviderService.Get;   // typed calls:
 *   client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { id }, metadata, options, callback);
 *
 * Each `raw` variant leaves the large direction as wire bytes:
 * - `rawCapacityProviderService`: every response is a Buffer, on both sides. A client passes List, Get and acks to
 *   src/listing/decode; a server may answer with bytes that it has encoded itself.
 * - `rawShardService`: every frame of an operator is a Buffer, so that the shard recognises a repeated roll-up by its
 *   digest and does not decode it.
 */
import { asBuffer, decode, encode, type MessageName } from './codec.ts';
import type { MessageInits, Messages } from './protocol.generated.ts';

/** The written and the read type differ: a writer may omit defaults. */
export interface Method<RequestWritten, RequestRead, ResponseWritten, ResponseRead> {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestSerialize: (request: RequestWritten) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => RequestRead;
  readonly responseSerialize: (response: ResponseWritten) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => ResponseRead;
}

export type MessageMethod<Request extends MessageName, Response extends MessageName> = Method<
  MessageInits[Request],
  Messages[Request],
  MessageInits[Response],
  Messages[Response]
>;

const UNARY = { requestStream: false, responseStream: false };
const SERVER_STREAM = { requestStream: false, responseStream: true };
const BOTH_WAYS = { requestStream: true, responseStream: true };

export const capacityProviderService = {
  Create: method('CapacityProvider/Create', 'CreateRequest', 'TransitionAck', UNARY),
  Configure: method('CapacityProvider/Configure', 'ConfigureRequest', 'TransitionAck', UNARY),
  Drain: method('CapacityProvider/Drain', 'DrainRequest', 'TransitionAck', UNARY),
  Delete: method('CapacityProvider/Delete', 'DeleteRequest', 'TransitionAck', UNARY),
  Get: method('CapacityProvider/Get', 'MachineRef', 'Machine', UNARY),
  List: method('CapacityProvider/List', 'ListFilter', 'MachineList', UNARY),
};

export const rawCapacityProviderService = {
  Create: withRawResponse(capacityProviderService.Create),
  Configure: withRawResponse(capacityProviderService.Configure),
  Drain: withRawResponse(capacityProviderService.Drain),
  Delete: withRawResponse(capacityProviderService.Delete),
  Get: withRawResponse(capacityProviderService.Get),
  List: withRawResponse(capacityProviderService.List),
};

export const shardService = {
  Session: method('Shard/Session', 'OperatorMessage', 'ShardMessage', BOTH_WAYS),
};

export const rawShardService = {
  Session: withRawRequest(shardService.Session),
};

export const shardReadService = {
  InspectNeeds: method(
    'ShardRead/InspectNeeds',
    'InspectNeedsRequest',
    'InspectNeedsResponse',
    SERVER_STREAM,
  ),
};

export const coordinatorService = {
  ReportShard: method('Coordinator/ReportShard', 'ShardReport', 'ReportAck', UNARY),
  AssignDomain: method('Coordinator/AssignDomain', 'AssignDomainRequest', 'AssignDomainResponse', UNARY),
  UnassignDomain: method(
    'Coordinator/UnassignDomain',
    'UnassignDomainRequest',
    'UnassignDomainResponse',
    UNARY,
  ),
  RemoveShard: method('Coordinator/RemoveShard', 'RemoveShardRequest', 'RemoveShardResponse', UNARY),
  ListShards: method('Coordinator/ListShards', 'ListShardsRequest', 'ListShardsResponse', UNARY),
  ListDomainAssignments: method(
    'Coordinator/ListDomainAssignments',
    'ListDomainAssignmentsRequest',
    'ListDomainAssignmentsResponse',
    UNARY,
  ),
  ListShardReports: method(
    'Coordinator/ListShardReports',
    'ListShardReportsRequest',
    'ListShardReportsResponse',
    UNARY,
  ),
  ListQuotas: method('Coordinator/ListQuotas', 'ListQuotasRequest', 'ListQuotasResponse', UNARY),
};

function method<Request extends MessageName, Response extends MessageName>(
  name: `${string}/${string}`,
  request: Request,
  response: Response,
  streams: { readonly requestStream: boolean; readonly responseStream: boolean },
): MessageMethod<Request, Response> {
  return {
    path: `/bigfleet.v1alpha1.${name}`,
    ...streams,
    requestSerialize: (message) => encode(request, message),
    requestDeserialize: (bytes) => decode(request, bytes),
    responseSerialize: (message) => encode(response, message),
    responseDeserialize: (bytes) => decode(response, bytes),
  };
}

function withRawResponse<Written, Read>(
  typed: Method<Written, Read, never, unknown>,
): Method<Written, Read, Uint8Array, Buffer> {
  return { ...typed, responseSerialize: asBuffer, responseDeserialize: (bytes) => bytes };
}

function withRawRequest<Written, Read>(
  typed: Method<never, unknown, Written, Read>,
): Method<Uint8Array, Buffer, Written, Read> {
  return { ...typed, requestSerialize: asBuffer, requestDeserialize: (bytes) => bytes };
}
