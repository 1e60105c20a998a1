/** Formatting of numbers, durations, money and requirements. */
import { describe, expect, it } from 'vitest';
import * as format from '../../src/dashboard/client/format.ts';

describe('numbers', () => {
  for (const [exact, shown] of [
    ['24', '24'],
    ['8Gi', '8Gi'],
    ['275251Mi', '268.8Gi'],
    ['25600m', '25.6'],
    ['500m', '0.5'],
    ['1048577Ki', '1.0Gi'],
    ['123456', '123,456'],
  ] as const) {
    it(`shows ${exact} as ${shown}`, () => expect(format.quantity(exact)).toBe(shown));
  }

  for (const [ms, shown] of [
    [0.417, '0.42 ms'],
    [31.4, '31 ms'],
    [1_249, '1.2 s'],
    [45_900, '45 s'],
    [130_000, '2 min 10 s'],
    [120_000, '2 min'],
    [7_500_000, '2 h 5 min'],
    [273_600_000, '3 d 4 h'],
  ] as const) {
    it(`shows ${ms} ms as ${shown}`, () => expect(format.duration(ms)).toBe(shown));
  }

  it('rounds the top of an axis up, and never to zero', () => {
    expect([0, 0.3, 7, 11, 24, 30, 96, 1_001].map(format.niceCeiling)).toEqual([
      1, 0.5, 10, 20, 25, 50, 100, 2_000,
    ]);
  });

  it('formats a requirement in a few words', () => {
    const of = (operator: string, values: string[] = []) =>
      format.requirement({ key: 'topology.kubernetes.io/rack', operator, values });
    expect(of('In', ['a', 'b'])).toBe('rack a or b');
    expect(of('NotIn', ['a'])).toBe('rack not a');
    expect(of('Exists')).toBe('with rack');
    expect(of('DoesNotExist')).toBe('without rack');
    expect(of('Same')).toBe('one rack');
  });

  it('shows money with cents where they matter', () => {
    expect([0, 12.3, 999.999, 59_724.4].map(format.usd)).toEqual(['$0.00', '$12.30', '$1,000.00', '$59,724']);
    expect(format.percent(1, 10_000)).toBe('< 0.1 %');
  });
});
