/** Each mutant bypasses the provider's own fence by removing the tokens, and puts a faulty fence in front. */
import type { Token } from '../../../src/simulation/provider/fence.ts';
import type { SimulatedProvider } from '../../../src/simulation/provider/provider.ts';
import { ok, refused, tokenOf } from '../../../src/simulation/provider/requests.ts';
import type { ProviderCalls } from '../../../src/simulation/provider/server.ts';
import {
  type AckAnswer,
  type AnyCall,
  altered,
  type Mutant,
  OPERATIONS,
  type Operation,
  withMutations,
} from './bend.ts';

interface FenceFault {
  /** The key of a mark. */
  readonly key?: (token: Token, machineId: string, operation: Operation) => string;
  /** null: no mark yet. */
  readonly isNewer?: (token: Token, mark: Token | null) => boolean;
  readonly isAbsent?: (token: Token) => boolean;
  /** Whether the token becomes the mark, given whether it passed and how the call ended. */
  readonly keeps?: (hasPassed: boolean, answer: AckAnswer) => boolean;
  /** Calls that bypass the fence. */
  readonly skips?: (call: AnyCall, operation: Operation, provider: SimulatedProvider) => boolean;
  /** What a call without a token does to the marks. */
  readonly onAbsent?: (marks: Map<string, Token>) => void;
  /** Side effect of a refused call. */
  readonly onRefusal?: (apply: () => AckAnswer) => void;
  readonly isLate?: boolean;
}

const isRightlyNewer = (token: Token, mark: Token | null) =>
  mark === null || token.epoch > mark.epoch || (token.epoch === mark.epoch && token.sequence > mark.sequence);

function fenced(calls: ProviderCalls, provider: SimulatedProvider, fault: FenceFault): ProviderCalls {
  const marks = new Map<string, Token>();
  const isAbsent = fault.isAbsent ?? ((token) => token.shardId === '');
  const isNewer = fault.isNewer ?? isRightlyNewer;
  const keyOf = fault.key ?? ((token, machineId) => `${token.shardId}|${machineId}`);
  return withMutations(calls, (call, operation, next) => {
    const apply = () => next(altered(call, { shardId: '', shardEpoch: 0n, sequenceNumber: 0n }));
    const token = tokenOf(call);
    if (call.machineId === '' || fault.skips?.(call, operation, provider)) return apply();
    if (isAbsent(token)) {
      fault.onAbsent?.(marks);
      return apply();
    }
    const key = keyOf(token, call.machineId, operation);
    const hasPassed = isNewer(token, marks.get(key) ?? null);
    if (!hasPassed) fault.onRefusal?.(apply);
    const answer = hasPassed ? apply() : refused('failed_precondition', 'stale token');
    const keeps = fault.keeps?.(hasPassed, answer) ?? hasPassed;
    const keep = () => void marks.set(key, token);
    if (keeps && fault.isLate === true) setImmediate(keep);
    else if (keeps) keep();
    return answer;
  });
}

function mutant(breaks: string, says: string, name: string, fault: FenceFault): Mutant {
  return {
    name,
    breaks: `fencing/${breaks}`,
    says,
    bend: (calls, provider) => fenced(calls, provider, fault),
  };
}

const FENCED = 'FAILED_PRECONDITION';
const PASSED = 'OK';

const low32 = (value: bigint) => BigInt.asUintN(32, value);
const truncated = (token: Token): Token => ({
  ...token,
  epoch: low32(token.epoch),
  sequence: low32(token.sequence),
});
const asDouble = (value: bigint) => BigInt(Number(value));
const rounded = (token: Token): Token => ({
  ...token,
  epoch: asDouble(token.epoch),
  sequence: asDouble(token.sequence),
});
const mapMark = (mark: Token | null, change: (token: Token) => Token) =>
  mark === null ? null : change(mark);

export const FENCING_MUTANTS: readonly Mutant[] = [
  mutant('first-contact', FENCED, 'a fence that refuses the first token of a shard', {
    isNewer: (token, mark) => (mark === null ? token.epoch > 1n : isRightlyNewer(token, mark)),
  }),
  mutant('next-sequence', FENCED, 'a fence that refuses gaps in the sequence', {
    isNewer: (token, mark) =>
      isRightlyNewer(token, mark) &&
      (mark === null || token.sequence <= mark.sequence + 50n || token.epoch > mark.epoch),
  }),
  mutant('stale-epoch', PASSED, 'a fence that compares only the sequence', {
    isNewer: (token, mark) => mark === null || token.sequence > mark.sequence,
  }),
  mutant('stale-sequence', PASSED, 'a fence that compares only the epoch', {
    isNewer: (token, mark) => mark === null || token.epoch >= mark.epoch,
  }),
  mutant('equal-token', PASSED, 'a fence that accepts equal tokens', {
    isNewer: (token, mark) =>
      isRightlyNewer(token, mark) || (token.epoch === mark?.epoch && token.sequence === mark?.sequence),
  }),
  mutant('new-epoch', FENCED, 'a fence that requires both numbers to grow', {
    isNewer: (token, mark) => mark === null || (token.epoch >= mark.epoch && token.sequence > mark.sequence),
  }),
  mutant('refusal-keeps-mark', PASSED, 'a fence that keeps the last token instead of the highest', {
    keeps: () => true,
  }),
  mutant('beyond-32-bits', FENCED, 'a fence with 32-bit numbers', {
    isNewer: (token, mark) => isRightlyNewer(truncated(token), mapMark(mark, truncated)),
  }),
  mutant('64-bits', FENCED, 'a fence with floating-point numbers', {
    isNewer: (token, mark) => isRightlyNewer(rounded(token), mapMark(mark, rounded)),
  }),
  mutant('per-machine', FENCED, 'one mark for all machines', { key: (token) => token.shardId }),
  mutant('per-shard', FENCED, 'one mark for all shards', { key: (_token, machineId) => machineId }),
  mutant('one-mark', PASSED, 'a separate mark for each kind of call', {
    key: (token, machineId, operation) => `${token.shardId}|${machineId}|${operation}`,
  }),
  mutant('mark-advances-on-failure', PASSED, 'a mark that advances only on success', {
    keeps: (hasPassed, answer) => hasPassed && answer.kind === 'ok',
  }),
  mutant('before-existence', 'NOT_FOUND', 'a fence after the look-up of the machine', {
    skips: (call, _operation, provider) => provider.world.fleet.rowOf(call.machineId) < 0,
  }),
  mutant('before-idempotency', PASSED, 'a fence after the look-up of repeats', {
    skips: (call, operation, provider) => {
      const row = provider.world.fleet.rowOf(call.machineId);
      return operation === 'configure' && row >= 0 && provider.world.fleet.bindings[row] !== null;
    },
  }),
  mutant('absent-token', FENCED, 'a fence that also applies to calls without a token', {
    isAbsent: () => false,
  }),
  mutant('absent-token-keeps-marks', PASSED, 'a call without a token that resets the marks', {
    onAbsent: (marks) => marks.clear(),
  }),
  mutant('race', 'passed', 'a mark written a moment too late', { isLate: true }),
  ...OPERATIONS.map((operation) =>
    mutant(operation, PASSED, `a ${operation} without a fence`, {
      skips: (_call, called) => called === operation,
    }),
  ),
  mutant('configure', 'state was IDLE', 'a stale call that is refused but takes effect', {
    onRefusal: (apply) => void apply(),
  }),
  {
    name: 'reads refused after a stale call',
    breaks: 'fencing/reads',
    says: FENCED,
    bend(calls) {
      let wasFenced = false;
      const watched = withMutations(calls, (call, _operation, next) => {
        const answer = next(call);
        wasFenced ||= answer.kind === 'refused' && answer.code === 'failed_precondition';
        return answer;
      });
      return {
        ...watched,
        get: (call) => (wasFenced ? refused('failed_precondition', 'fenced') : calls.get(call)),
      };
    },
  },
];

export const CONCURRENCY_MUTANTS: readonly Mutant[] = [
  {
    name: 'concurrent reads answered with another machine',
    breaks: 'concurrency/reads',
    says: 'machine "',
    bend(calls, provider) {
      let atOnce = 0;
      return {
        ...calls,
        get(call) {
          atOnce++;
          setImmediate(() => atOnce--);
          const other = provider.world.fleet.ids[0]!;
          return calls.get(atOnce > 3 ? { id: other } : call);
        },
      };
    },
  },
  {
    name: 'a provider that refuses calls under load',
    breaks: 'concurrency/unknown-machines',
    says: 'RESOURCE_EXHAUSTED',
    bend: (calls) => underLoad(calls, () => refused('resource_exhausted', 'slow down')),
  },
  {
    name: 'concurrent repeats that start new operations',
    breaks: 'concurrency/one-operation',
    says: 'operation_ids',
    bend(calls) {
      let count = 0;
      return underLoad(calls, (answer) =>
        answer.kind === 'ok' ? ok({ ...answer.value, operationId: `op-again-${++count}` }) : answer,
      );
    },
  },
  {
    name: 'a race that stores the cluster of the first call and the metadata of the last',
    breaks: 'concurrency/one-winner',
    says: '"rival" is',
    bend: (calls, provider) =>
      withMutations(
        calls,
        (call, _operation, next) => {
          const answer = next(call);
          const row = provider.world.fleet.rowOf(call.machineId);
          const { bindings } = provider.world.fleet;
          const bound = row < 0 ? null : bindings[row];
          if (bound) bindings[row] = { cluster: bound.cluster, shardMetadata: call.shardMetadata ?? {} };
          return answer;
        },
        ['configure'],
      ),
  },
];

/** Changes the answer to a call that arrives while others are still being answered. */
function underLoad(calls: ProviderCalls, change: (answer: AckAnswer) => AckAnswer): ProviderCalls {
  let atOnce = 0;
  return withMutations(calls, (call, _operation, next) => {
    atOnce++;
    setImmediate(() => atOnce--);
    const answer = next(call);
    return atOnce > 3 ? change(answer) : answer;
  });
}
