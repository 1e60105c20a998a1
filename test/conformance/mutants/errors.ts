import { stateName } from '../../../src/conformance/snapshot.ts';
import { MachineState } from '../../../src/machine/state.ts';
import { ok, type RefusalCode, refused } from '../../../src/simulation/provider/requests.ts';
import type { Machine } from '../../../src/wire/protocol.generated.ts';
import { ASYNCHRONOUS } from '../subject.ts';
import { type Mutant, OPERATIONS, type Operation, withMutations } from './bend.ts';

const S = MachineState;

/** A provider that never checks states acknowledges calls that the state does not allow. */
function careless(
  operation: Operation,
  state: MachineState,
  settings: Mutant['settings'] = {},
  shown = (machine: Machine) => machine,
): Mutant {
  return {
    name: `an ack for ${operation} of a ${stateName(state)} machine`,
    breaks: `errors/${operation}-${stateName(state).toLowerCase()}`,
    says: 'OK',
    settings,
    bend: (calls, provider) =>
      withMutations(
        calls,
        (call, _operation, next) => {
          const answer = next(call);
          const current = provider.get({ id: call.machineId });
          const isMisfit = answer.kind === 'refused' && answer.code === 'aborted';
          if (!isMisfit || current.kind !== 'ok' || current.value.state !== state) return answer;
          return ok({ operationId: 'op-whatever', machine: shown(current.value) });
        },
        [operation],
      ),
  };
}

/** A call that keeps the state but changes another field. */
function untidy(operation: Operation, state: MachineState): Mutant {
  return {
    name: `a price changed by ${operation} of a ${stateName(state)} machine`,
    breaks: `errors/${operation}-${stateName(state).toLowerCase()}`,
    says: 'price_per_hour was',
    run: { allowDelete: true },
    bend: (calls, provider) =>
      withMutations(
        calls,
        (call, _operation, next) => {
          const before = provider.get({ id: call.machineId });
          if (before.kind === 'ok' && before.value.state === state)
            provider.world.reprice(call.machineId, 99);
          return next(call);
        },
        [operation],
      ),
  };
}

function wrongCode(
  breaks: string,
  operation: Operation,
  from: RefusalCode,
  to: RefusalCode,
  says: string,
): Mutant {
  return {
    name: `${says} where ${operation} should return ${from}`,
    breaks,
    says,
    bend: (calls) =>
      withMutations(
        calls,
        (call, _operation, next) => {
          const answer = next(call);
          return answer.kind === 'refused' && answer.code === from ? refused(to, answer.detail) : answer;
        },
        [operation],
      ),
  };
}

export const ERROR_MUTANTS: readonly Mutant[] = [
  ...OPERATIONS.map((operation) =>
    wrongCode(`errors/unknown-${operation}`, operation, 'not_found', 'invalid_argument', 'INVALID_ARGUMENT'),
  ),
  ...OPERATIONS.map((operation) =>
    wrongCode(`errors/empty-id-${operation}`, operation, 'invalid_argument', 'not_found', 'NOT_FOUND'),
  ),
  {
    name: 'an empty machine instead of NOT_FOUND',
    breaks: 'errors/unknown-get',
    says: 'OK',
    bend: (calls, provider) => ({
      ...calls,
      get(call) {
        const answer = calls.get(call);
        if (answer.kind !== 'refused' || answer.code !== 'not_found') return answer;
        const known = provider.get({ id: provider.world.fleet.ids[0]! });
        return known.kind === 'ok' ? ok({ ...known.value, id: call.id }) : known;
      },
    }),
  },
  {
    name: 'NOT_FOUND for a Get without an id',
    breaks: 'errors/empty-id-get',
    says: 'NOT_FOUND',
    bend: (calls) => ({
      ...calls,
      get: (call) => (call.id === '' ? refused('not_found', 'no such machine') : calls.get(call)),
    }),
  },
  careless('configure', S.Speculative),
  careless('drain', S.Speculative),
  careless('create', S.Configured),
  careless('delete', S.Configured),
  careless('drain', S.Creating, ASYNCHRONOUS),
  {
    ...careless('drain', S.Creating, ASYNCHRONOUS, (machine) => ({
      ...machine,
      state: S.Idle,
      host: { provider: 'simulated', ref: 'not there yet' },
    })),
    name: 'an ack for drain of a CREATING machine that shows it as IDLE',
  },
  careless('create', S.Configuring, ASYNCHRONOUS),
  careless('delete', S.Configuring, ASYNCHRONOUS),
  careless('drain', S.Deleting, ASYNCHRONOUS),
  careless('configure', S.Deleting, ASYNCHRONOUS),
  careless('create', S.Failed),
  careless('configure', S.Failed),
  careless('drain', S.Failed),
  { ...careless('delete', S.Failed), run: { allowDelete: true } },
  untidy('create', S.Configured),
  untidy('create', S.Idle),
  untidy('drain', S.Idle),
  untidy('delete', S.Speculative),
  untidy('create', S.Failed),
  wrongCode('errors/create-configured', 'create', 'aborted', 'failed_precondition', 'FAILED_PRECONDITION'),
  {
    ...wrongCode(
      'errors/failed-precondition-means-fencing',
      'drain',
      'aborted',
      'failed_precondition',
      'Drain with a newer token',
    ),
    run: { only: ['errors'] },
  },
  {
    name: 'Drain returns UNIMPLEMENTED for some machines only',
    breaks: 'errors/unimplemented-for-good',
    says: '× OK',
    run: { only: ['errors', 'lifecycle'] },
    bend: (calls) =>
      withMutations(
        calls,
        (call, _operation, next) => {
          const answer = next(call);
          return answer.kind === 'refused' && answer.code === 'aborted'
            ? refused('unimplemented', 'not for this machine')
            : answer;
        },
        ['drain'],
      ),
  },
];
