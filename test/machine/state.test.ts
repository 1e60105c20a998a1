import { describe, expect, it } from 'vitest';
import {
  ALL_STATES,
  canBeBound,
  canMove,
  isMachineState,
  isTransitional,
  MachineState as S,
  STATE_COUNT,
  STATE_NAMES,
} from '../../src/machine/state.ts';

const LEGAL: readonly [from: keyof typeof S, to: readonly (keyof typeof S)[]][] = [
  ['Speculative', ['Creating']],
  ['Creating', ['Idle', 'Failed']],
  ['Idle', ['Configuring', 'Deleting']],
  ['Configuring', ['Configured', 'Failed', 'Idle']],
  ['Configured', ['Draining']],
  ['Draining', ['Idle', 'Failed']],
  ['Deleting', ['Speculative', 'Failed']],
  ['Failed', []],
];

describe('machine states', () => {
  it('M1: are eight, with the protocol’s numbers and their names', () => {
    expect(ALL_STATES.map((state) => [state, STATE_NAMES[state]])).toEqual([
      [1, 'Speculative'],
      [2, 'Creating'],
      [3, 'Idle'],
      [4, 'Configuring'],
      [5, 'Configured'],
      [6, 'Draining'],
      [7, 'Deleting'],
      [8, 'Failed'],
    ]);
    expect(STATE_COUNT).toBe(ALL_STATES.length + 1);
  });

  it('M1: Creating, Configuring, Draining and Deleting are transitional, the others are not', () => {
    expect(ALL_STATES.filter(isTransitional)).toEqual([S.Creating, S.Configuring, S.Draining, S.Deleting]);
  });

  for (const value of [0, 9, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    it(`M1: ${value} is not a state`, () => {
      expect(isMachineState(value)).toBe(false);
    });
  }

  for (const [from, targets] of LEGAL) {
    it(`M2: from ${from} a machine moves only to ${targets.join(', ') || 'no other state'}`, () => {
      const reached = ALL_STATES.filter((to) => canMove(S[from], to)).map((to) => STATE_NAMES[to]);
      expect(reached.sort()).toEqual([...targets].sort());
    });
  }

  it('O1: Configuring, Configured, Draining and Failed machines may belong to a cluster', () => {
    expect(ALL_STATES.filter(canBeBound)).toEqual([S.Configuring, S.Configured, S.Draining, S.Failed]);
  });
});
