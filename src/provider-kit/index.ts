/**
 * `flotilla/provider-kit`: a capacity provider from four functions and a list of offers. The kit fences replaced shard
 * processes, recognises repeated calls, runs operations with time limits, stores bindings and marks, answers listings with
 * cursors, and serves health, metrics and mutual TLS.
 *
 *   import { serveProvider } from 'flotilla/provider-kit';
 *
 *   await serveProvider({
 *     name: 'my-cloud',
 *     listen: '127.0.0.1:7790',
 *     stateDir: './state',
 *     offers: [{ id: 'm-1', instanceType: 'large', zone: 'a', capacityType: 'spot', pricePerHourUsd: 1, resources: { cpu: '8' } }],
 *     cloud: { create, configure, drain, delete },
 *   });
 *
 * docs/writing-a-provider.md is the guide. The other modules of this folder are not public.
 */
/// <reference types="node" preserve="true" />
export { ShardError } from '../base/errors.ts';
export type { TlsFiles } from '../tls/files.ts';
export {
  type CapacityTypeName,
  type Cloud,
  type ConfigureOrder,
  type DrainOrder,
  type Offer,
  type Order,
  type ProviderMachine,
  Refused,
  type RefusedCode,
  type Sighting,
  type StringMap,
} from './cloud.ts';
export { CannotServeError, InvalidOfferError, UnusableStateError } from './errors.ts';
export { type ServedProvider, type ServeOptions, serveProvider } from './serve.ts';
