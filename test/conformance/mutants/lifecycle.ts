import { MachineState } from '../../../src/machine/state.ts';
import type { SimulatedProvider } from '../../../src/simulation/provider/provider.ts';
import type { Machine } from '../../../src/wire/protocol.generated.ts';
import { ASYNCHRONOUS } from '../subject.ts';
import {
  type Mutant,
  OPERATIONS,
  type Operation,
  withAcks,
  withGet,
  withList,
  withMutations,
} from './bend.ts';

const S = MachineState;
const IMPATIENT = { transitionTimeoutMs: 150 };

export const LIFECYCLE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a Create that never ends',
    breaks: 'lifecycle/create',
    says: 'still shows CREATING',
    settings: { operations: { create: { hangProbability: 1 } } },
    run: IMPATIENT,
    bend: (calls) => calls,
  },
  {
    name: 'an ack of Configure without the machine',
    breaks: 'lifecycle/configure',
    says: 'without a machine',
    bend: (calls) =>
      withAcks(calls, (ack) => ({ ...ack, machine: null as unknown as Machine }), ['configure']),
  },
  {
    name: 'an ack that shows the machine before the call',
    breaks: 'lifecycle/drain',
    says: 'CONFIGURED',
    bend: (calls) =>
      withAcks(calls, (ack) => ({ ...ack, machine: { ...ack.machine, state: S.Configured } }), ['drain']),
  },
  {
    name: 'a drain that fails',
    breaks: 'lifecycle/drain',
    says: 'FAILED',
    settings: { operations: { drain: { failProbability: 1, latency: { meanMs: 5, p99Ms: 5 } } } },
    bend: (calls) => calls,
  },
  {
    name: 'a Delete that is acknowledged but has no effect',
    breaks: 'lifecycle/delete',
    says: 'IDLE',
    bend: (calls, provider) =>
      withMutations(
        calls,
        ({ machineId }, _operation, next) => {
          const unknown = next({ machineId: 'no-such-machine', clusterId: '' });
          if (provider.world.fleet.rowOf(machineId) < 0) return unknown;
          const machine = { ...machineOf(provider, machineId), state: S.Speculative, host: null };
          return { kind: 'ok', value: { operationId: 'op-delete', machine } };
        },
        ['delete'],
      ),
  },
  {
    name: 'a listing from a cache without the configured machines',
    breaks: 'lifecycle/configure',
    says: 'not listed',
    bend: (calls) =>
      withList(calls, (listing) => ({
        ...listing,
        machines: listing.machines.filter(({ cluster }) => !cluster.startsWith('conformance')),
      })),
  },
  {
    name: 'a CONFIGURED machine that returns to CONFIGURING',
    breaks: 'lifecycle/end-is-stable',
    says: 'CONFIGURING',
    run: IMPATIENT,
    bend(calls) {
      let reads = 0;
      return withGet(calls, (machine) =>
        machine.state === S.Configured && ++reads > 2 ? { ...machine, state: S.Configuring } : machine,
      );
    },
  },
  {
    name: 'terminal acks from a provider that should be asynchronous',
    breaks: 'lifecycle/ack-style',
    says: 'terminal state',
    run: { style: 'async', only: ['lifecycle'] },
    bend: (calls) => calls,
  },
  {
    name: 'transitional acks from a provider that should be synchronous',
    breaks: 'lifecycle/ack-style',
    says: 'transitional state',
    settings: ASYNCHRONOUS,
    run: { style: 'sync', only: ['lifecycle/configure', 'lifecycle/ack-style'] },
    bend: (calls) => calls,
  },
  {
    name: 'acks without an operation_id',
    breaks: 'lifecycle/operation-id',
    says: 'no operation_id',
    run: { only: ['lifecycle'] },
    bend: (calls) => withAcks(calls, (ack) => ({ ...ack, operationId: '' })),
  },
  {
    name: 'a machine that gets a new id when it is configured',
    breaks: 'lifecycle/same-id',
    says: '"i-0abc"',
    run: { only: ['lifecycle'] },
    bend: (calls) =>
      withAcks(calls, (ack) => ({ ...ack, machine: { ...ack.machine, id: 'i-0abc' } }), ['configure']),
  },
];

let operationCount = 0;

export const IDEMPOTENCY_MUTANTS: readonly Mutant[] = [
  ...OPERATIONS.map(
    (operation: Operation): Mutant => ({
      name: `a new operation_id for every ${operation}`,
      breaks: `idempotency/${operation}`,
      says: '"op-new-',
      bend: (calls) =>
        withAcks(calls, (ack) => ({ ...ack, operationId: `op-new-${++operationCount}` }), [operation]),
    }),
  ),
  {
    name: 'a repeat refused because the machine is already configured',
    breaks: 'idempotency/configure',
    says: 'ALREADY_DONE',
    bend(calls) {
      const known = new Set<string>();
      return withMutations(
        calls,
        (call, _operation, next) => {
          if (known.has(call.machineId)) return { kind: 'refused', code: 'aborted', detail: 'ALREADY_DONE' };
          const answer = next(call);
          if (answer.kind === 'ok') known.add(call.machineId);
          return answer;
        },
        ['configure'],
      );
    },
  },
  {
    name: 'one operation_id for all operations of a machine',
    breaks: 'idempotency/targets-differ',
    says: 'for both',
    bend: (calls) => withAcks(calls, (ack, call) => ({ ...ack, operationId: `op-${call.machineId}` })),
  },
  {
    name: 'one operation_id for Create and Delete',
    breaks: 'idempotency/delete-differs',
    says: 'for both',
    bend: (calls) =>
      withAcks(calls, (ack, call) => ({ ...ack, operationId: `op-${call.machineId}` }), ['create', 'delete']),
  },
  {
    name: 'one operation_id for all machines of an operation',
    breaks: 'idempotency/machines-differ',
    says: 'for both',
    bend: (calls) => withAcks(calls, (ack, _call, operation) => ({ ...ack, operationId: `op-${operation}` })),
  },
  {
    name: 'a Configure that moves a bound machine to another cluster',
    breaks: 'idempotency/other-cluster',
    says: 'conformance-other',
    bend: (calls, provider) =>
      withMutations(
        calls,
        (call, _operation, next) => {
          const row = provider.world.fleet.rowOf(call.machineId);
          const { bindings } = provider.world.fleet;
          if (row >= 0 && bindings[row] !== null) {
            bindings[row] = { cluster: call.clusterId, shardMetadata: call.shardMetadata ?? {} };
          }
          return next(call);
        },
        ['configure'],
      ),
  },
  {
    name: 'acks from a cache that outlives the operation',
    breaks: 'idempotency/second-round',
    says: 'IDLE',
    bend(calls) {
      const acks = new Map<string, ReturnType<typeof calls.configure>>();
      return withMutations(
        calls,
        (call, _operation, next) => {
          const known = acks.get(call.machineId);
          if (known !== undefined) return known;
          const answer = next(call);
          if (answer.kind === 'ok') acks.set(call.machineId, answer);
          return answer;
        },
        ['configure'],
      );
    },
  },
];

function machineOf(provider: SimulatedProvider, machineId: string): Machine {
  const answer = provider.get({ id: machineId });
  if (answer.kind !== 'ok') throw new Error(`no machine ${machineId}`);
  return answer.value;
}
