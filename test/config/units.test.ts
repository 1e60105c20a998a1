import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatBytes, formatDurationMs, parseBytes, parseDurationMs } from '../../src/config/units.ts';

describe('durations', () => {
  for (const [text, expectedMs] of [
    ['0', 0],
    ['0s', 0],
    ['50ms', 50],
    ['10s', 10_000],
    ['1.1s', 1_100],
    ['1m30s', 90_000],
    ['1h', 3_600_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['1m5ms', 60_005],
    ['', null],
    ['10', null],
    ['10 s', null],
    ['s', null],
    ['30s1m', null],
    ['1s1s', null],
    ['-1s', null],
    ['0.5ms', null],
    ['0.0001s', null],
    ['1e3s', null],
    ['999999999999d', null],
  ] as const) {
    it(`reads ${JSON.stringify(text)} as ${expectedMs} ms`, () =>
      expect(parseDurationMs(text)).toBe(expectedMs));
  }

  it('survive formatting and parsing', () =>
    fc.assert(
      fc.property(fc.nat({ max: 2_147_483_647 }), (valueMs) => {
        expect(parseDurationMs(formatDurationMs(valueMs))).toBe(valueMs);
      }),
    ));
});

describe('bytes', () => {
  for (const [text, expected] of [
    ['0', 0],
    ['512', 512],
    ['512B', 512],
    ['1KiB', 1_024],
    ['1.5MiB', 1_572_864],
    ['1GiB', 1_073_741_824],
    ['500MB', 500_000_000],
    ['', null],
    ['1 GiB', null],
    ['1G', null],
    ['1.5B', null],
    ['-1', null],
    ['9999999TiB', null],
  ] as const) {
    it(`reads ${JSON.stringify(text)} as ${expected}`, () => expect(parseBytes(text)).toBe(expected));
  }

  it('survive formatting and parsing', () =>
    fc.assert(
      fc.property(fc.nat(), fc.constantFrom(1, 1_024, 1_048_576), (amount, unit) => {
        expect(parseBytes(formatBytes(amount * unit))).toBe(amount * unit);
      }),
    ));
});
