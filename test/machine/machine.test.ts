import { describe, expect, it } from 'vitest';
import { findInvalid, IllegalTransitionError, type MachineFacts } from '../../src/machine/machine.ts';
import { MachineState as S } from '../../src/machine/state.ts';

function facts(state: number, parts: Partial<MachineFacts> = {}): MachineFacts {
  return {
    state,
    hasHost: true,
    hasCluster: true,
    hasLastError: false,
    pricePerHourUsd: 1,
    interruptionProbability: 0.5,
    ...parts,
  };
}

const HOST = { hasHost: true };
const NO_HOST = { hasHost: false };
const CLUSTER = { hasCluster: true };
const NO_CLUSTER = { hasCluster: false };

describe('M3: the host and the cluster that a machine must or must not have in each state', () => {
  for (const [state, parts, isValid] of [
    ['Speculative', { ...NO_HOST, ...NO_CLUSTER }, true],
    ['Speculative', { ...HOST, ...NO_CLUSTER }, false],
    ['Speculative', { ...NO_HOST, ...CLUSTER }, false],
    ['Creating', { ...NO_HOST, ...NO_CLUSTER }, true],
    ['Creating', { ...HOST, ...NO_CLUSTER }, false],
    ['Creating', { ...NO_HOST, ...CLUSTER }, false],
    ['Idle', { ...HOST, ...NO_CLUSTER }, true],
    ['Idle', { ...NO_HOST, ...NO_CLUSTER }, false],
    ['Idle', { ...HOST, ...CLUSTER }, false],
    ['Configuring', { ...HOST, ...CLUSTER }, true],
    ['Configuring', { ...HOST, ...NO_CLUSTER }, true],
    ['Configuring', { ...NO_HOST, ...CLUSTER }, false],
    ['Configured', { ...HOST, ...CLUSTER }, true],
    ['Configured', { ...NO_HOST, ...CLUSTER }, false],
    ['Configured', { ...HOST, ...NO_CLUSTER }, false],
    ['Draining', { ...HOST, ...CLUSTER }, true],
    ['Draining', { ...NO_HOST, ...CLUSTER }, false],
    ['Draining', { ...HOST, ...NO_CLUSTER }, false],
    ['Deleting', { ...HOST, ...NO_CLUSTER }, true],
    ['Deleting', { ...NO_HOST, ...NO_CLUSTER }, false],
    ['Deleting', { ...HOST, ...CLUSTER }, false],
    ['Failed', { ...NO_HOST, ...NO_CLUSTER, hasLastError: true }, true],
    ['Failed', { ...HOST, ...CLUSTER, hasLastError: true }, true],
    ['Failed', { ...HOST, ...CLUSTER }, false],
  ] as const) {
    const has = [parts.hasHost ? 'a host' : 'no host', parts.hasCluster ? 'a cluster' : 'no cluster'].join(
      ' and ',
    );
    it(`M3: ${state} with ${has} is ${isValid ? 'valid' : 'refused as structural'}`, () => {
      const error = findInvalid('m', facts(S[state], parts));
      expect(error?.reason).toBe(isValid ? undefined : 'structural');
    });
  }

  for (const [what, parts, reason] of [
    ['a price of 0', { pricePerHourUsd: 0 }, undefined],
    ['a negative price', { pricePerHourUsd: -0.01 }, 'price'],
    ['a price that is not a number', { pricePerHourUsd: Number.NaN }, 'price'],
    ['an infinite price', { pricePerHourUsd: Number.POSITIVE_INFINITY }, 'price'],
    ['a probability of 0', { interruptionProbability: 0 }, undefined],
    ['a probability of 1', { interruptionProbability: 1 }, undefined],
    ['a probability above 1', { interruptionProbability: 1.0001 }, 'interruption_probability'],
    ['a negative probability', { interruptionProbability: -0.1 }, 'interruption_probability'],
    [
      'a probability that is not a number',
      { interruptionProbability: Number.NaN },
      'interruption_probability',
    ],
    ['state 0', { state: 0 }, 'structural'],
    ['state 9', { state: 9 }, 'structural'],
  ] as const) {
    it(`M3: ${what} is ${reason === undefined ? 'valid' : `counted under ${reason}`}`, () => {
      expect(findInvalid('m', facts(S.Configured, parts))?.reason).toBe(reason);
    });
  }

  it('M3: an empty id is refused', () => {
    expect(findInvalid('', facts(S.Configured))?.reason).toBe('structural');
  });

  it('errors name the machine, the fault and what the shard did', () => {
    const invalid = findInvalid('m-7', facts(S.Configured, NO_CLUSTER))!;
    expect([invalid.code, invalid.next]).toEqual(['invalid_machine', 'reject-input']);
    expect(invalid.message).toMatch(/"m-7".*Configured without a cluster.*keeps the last good one/);
    const illegal = new IllegalTransitionError('m-7', S.Idle, S.Configured);
    expect([illegal.code, illegal.next]).toEqual(['illegal_transition', 'reject-input']);
    expect(illegal.message).toMatch(/"m-7".*from Idle to Configured/);
  });
});
