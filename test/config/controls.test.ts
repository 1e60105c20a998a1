/** H2: pauses that the configuration declares, and R2: the words of the reclaim cap. */
import { describe, expect, it } from 'vitest';
import { isLoosened } from '../../src/cli/loosened.ts';
import { readCapFraction } from '../../src/config/cap-fraction.ts';
import { readControlEntry, writeControlEntry } from '../../src/config/controls.ts';

describe('declared controls', () => {
  it('H2: are read from one text, and written as it', () => {
    const text =
      'reclaim preempt; cluster=prod-eu-1; capacity-type=spot; who=ann; why=a long migration; until=2026-12-01T06:00:00.000Z';
    const entry = readControlEntry(text);
    expect(entry).toMatchObject({
      pauses: ['reclaim', 'preempt'],
      cluster: 'prod-eu-1',
      capacityType: 'spot',
      zone: '',
      untilMs: Date.UTC(2026, 11, 1, 6),
    });
    expect(writeControlEntry(entry)).toBe(text);
    expect(readControlEntry('pause=all; why=x')).toMatchObject({
      pauses: ['all'],
      who: 'configuration',
      untilMs: null,
    });
  });

  for (const [what, text, said] of [
    ['without a reason', 'reclaim; cluster=a', 'does not say why'],
    ['with an unknown key', 'reclaim; why=x; rack=1', 'is not one of its keys'],
    ['with a key twice', 'reclaim; why=x; why=y', 'given twice'],
    ['with a date that is none', 'reclaim; why=x; until=tomorrow', 'not a time'],
    ['that is too long', `reclaim; why=${'x'.repeat(9_000)}`, 'longer than'],
  ] as const) {
    it(`H2: an entry ${what} is refused`, () => expect(() => readControlEntry(text)).toThrow(said));
  }
});

describe('the reclaim cap', () => {
  it('R2: has words for no cap and for no reclaims, and 0 keeps its meaning', () => {
    expect(['unlimited', 'none', '0', '0.05', '1'].map(readCapFraction)).toEqual([
      'unlimited',
      'none',
      0,
      0.05,
      1,
    ]);
    for (const text of ['2', '-1', 'all', '5%', '']) expect(() => readCapFraction(text)).toThrow();
  });

  for (const [flag, from, to, loosened] of [
    ['reclaim-cap-fraction', '0.05', '0', true],
    ['reclaim-cap-fraction', '0.05', 'unlimited', true],
    ['reclaim-cap-fraction', '0.05', 'none', false],
    ['reclaim-cap-fraction', 'none', '0.01', true],
    ['max-actions-per-cycle', '10', '5', false],
    ['actuation-paused', 'true', 'false', true],
    ['actuation-paused', 'false', 'true', false],
    ['controls', 'all; why=x', '', true],
    ['controls', '', 'all; why=x', false],
    ['log-level', 'info', 'debug', false],
    ['idle-hold-spot', '1m', '30s', true],
    ['vanishing-hold', '10m', '1h', false],
  ] as const) {
    it(`R2, H11: ${flag} from ${from || 'nothing'} to ${to || 'nothing'} ${loosened ? 'loosens' : 'does not loosen'} a rail`, () =>
      expect(isLoosened(flag, from, to)).toBe(loosened));
  }
});
