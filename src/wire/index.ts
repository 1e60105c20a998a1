/**
 * `flotilla/wire`: the protocol `bigfleet.v1alpha1`, for programs that talk to a shard, a provider or a coordinator: message
 * types, their codec, and service definitions in the form that @grpc/grpc-js takes. The package also carries the `.proto`
 * files, under `flotilla/proto/`.
 *
 *   import { Server, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
 *   import { capacityProviderService, type ListFilter, type MachineListInit, MachineState } from 'flotilla/wire';
 *
 *   const List = (call: ServerUnaryCall<ListFilter, MachineListInit>, answer: sendUnaryData<MachineListInit>) =>
 *     answer(null, { machines: [{ id: 'm-1', state: MachineState.MACHINE_STATE_SPECULATIVE }] });
 *   new Server().addService(capacityProviderService, { Create, Configure, Drain, Delete, Get, List });
 *
 * `decode` returns a `Machine`, with every field; `encode` takes a `MachineInit`, where a field that is left out has its
 * default. The other modules of src/wire are not public.
 */
/// <reference types="node" preserve="true" />
export { decode, encode, type MessageName, toPlain } from './codec.ts';
export * from './protocol.generated.ts';
export {
  capacityProviderService,
  coordinatorService,
  type MessageMethod,
  type Method,
  shardReadService,
  shardService,
} from './services.ts';
