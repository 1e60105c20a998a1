/**
 * `flotilla/operator-kit`: the operator of a cluster, for programs that know what the cluster needs and how its machines join.
 * The kit keeps the session with the shard; the author writes handlers.
 *
 *   import { ClusterOperator, MachineState } from 'flotilla/operator-kit';
 *
 *   const operator = new ClusterOperator({
 *     shard: 'shard.example:7780',
 *     clusterId: 'blue',
 *     tls: { certificatePath: 'tls.crt', privateKeyPath: 'tls.key', caPath: 'ca.crt' },
 *     bootstrap: async () => makeJoinScript(),
 *     onNode: async (node) => { if (node.state === MachineState.Configured) await expectNode(node); },
 *     onReclaim: async ({ nodes, graceSeconds }) => beginDrains(nodes, graceSeconds),
 *   });
 *   operator.setNeeds([{ aggregate: { cpu: '48' }, minUnit: { cpu: '16' }, priority: 1_000 }]);
 *   await operator.start();
 *   await operator.acknowledged();
 *
 * Errors are `ShardError`s with a stable `code`. docs/writing-an-operator.md is the guide.
 */
/// <reference types="node" preserve="true" />
export { ShardError } from '../base/errors.ts';
export { bucketOfDollars, PenaltyBucket } from '../machine/penalty.ts';
export { MachineState } from '../machine/state.ts';
export type { Need, Quantities } from '../needs/need.ts';
export { Operator, type Requirement, type Spread, WhenUnsatisfiable } from '../needs/requirements.ts';
export { RollupRejectedError } from '../needs/rollup.ts';
export { PartialTlsError, type TlsFiles, UnusableTlsFileError } from '../tls/files.ts';
export { ClusterOperator } from './cluster-operator.ts';
export {
  HandlerFailedError,
  InvalidOperatorOptionError,
  MalformedShardFrameError,
  OperatorClosedError,
  RollupUnacknowledgedError,
  SessionEndedError,
  SessionRefusedError,
} from './errors.ts';
export type {
  Answer,
  BootstrapBlob,
  BootstrapRequest,
  CapacityHint,
  ClusterOperatorOptions,
  Node,
  Reclaim,
  SessionInfo,
} from './options.ts';
export type { RollupSettings } from './rollup-sender.ts';
export type { ReconnectSettings } from './session-link.ts';
