import { describe, expect, it } from 'vitest';
import { isLoosened } from '../../src/cli/loosened.ts';
import { railsOf } from '../../src/cli/shard-rails.ts';
import { CronSchedule } from '../../src/config/schedule.ts';
import { loadShardConfig, reloadShardConfig } from '../../src/config/shard-config.ts';
import { printConfig } from '../../src/config/texts.ts';
import { fileOf, load, PROVIDER } from './load.ts';

const FILE = `
disruption-budgets:
  - budget: nights
    cluster: prod-eu-1
    max: 5%
    window: 1h
    at-a-time: 3
    open: "0 22 * * 1-5"
    for: 6h
    time-zone: Europe/Berlin
  - budget: slow
    max: 20
    window: 1d
`;
const TEXTS = [
  'nights; cluster=prod-eu-1; max=5%; window=1h; at-a-time=3; open=0 22 * * 1-5; for=6h; time-zone=Europe/Berlin',
  'slow; max=20; window=1d',
];

describe('disruption budgets in the configuration', () => {
  it('H9: are a list of mappings in the file, and texts as flags and as --print-config prints them', () => {
    const loaded = load({ argv: ['--config', fileOf(FILE)] });
    const { disruptionBudgets } = loaded.config;
    expect(disruptionBudgets).toMatchObject([
      { name: 'nights', max: { percent: 5 }, windowMs: 3_600_000, atATime: { count: 3 }, forMs: 21_600_000 },
      { name: 'slow', max: { count: 20 }, open: '', timeZone: 'UTC' },
    ]);
    const flags = TEXTS.flatMap((text) => ['--disruption-budgets', text]);
    expect(load({ argv: flags }).config.disruptionBudgets).toEqual(disruptionBudgets);
    const printed = load({ argv: ['--config', fileOf(printConfig(loaded))] });
    expect(printed.config.disruptionBudgets).toEqual(disruptionBudgets);
    expect(railsOf(loaded.config).budgets).toMatchObject([
      { name: 'nights', scope: { cluster: 'prod-eu-1' }, perWindow: { most: { percent: 5 } } },
      { name: 'slow', atATime: null, schedule: null },
    ]);
  });

  for (const [text, problem] of [
    ['a b; max=1; window=1h', 'is not a name'],
    ['b', 'limits nothing'],
    ['b; max=1', 'max is given without window'],
    ['b; window=1h', 'window is given without max'],
    ['b; open=0 0 * * *', 'open is given without for'],
    ['b; max=1.5; window=1h', 'neither a number of machines nor a share'],
    ['b; max=101%; window=1h', 'neither a number of machines nor a share'],
    ['b; max=1; window=10s', 'not a time from 1m to 24d'],
    ['b; max=1; window=1h; max=2', 'max is given twice'],
    ['b; most=1; window=1h', 'is not one of its keys'],
    ['b; open=0 25 * * *; for=1h', 'open is "0 25 * * *"'],
    ['b; open=0 0 30 2 *; for=1h', 'never comes'],
    ['b; open=* * * * * *; for=1h', 'open is'],
    ['b; open=0 0 * * *; for=1h; time-zone=Europe/Nowhere', 'Europe/Nowhere'],
    ['b; max=1; window=1h; time-zone=UTC', 'time-zone is given without open'],
  ] as const) {
    it(`H9: refuses ${text}`, () => {
      expect(() => load({ argv: ['--disruption-budgets', text] })).toThrow(problem);
    });
  }

  it('H9: refuses two budgets of one name, and a provider that the shard does not have', () => {
    const flags = (...texts: string[]) => texts.flatMap((text) => ['--disruption-budgets', text]);
    expect(() => load({ argv: flags('b; at-a-time=1', 'b; at-a-time=2') })).toThrow(
      'two budgets are named b',
    );
    const { config } = load({ argv: flags('b; provider=nobody; at-a-time=1') });
    expect(() => railsOf(config)).toThrow('no provider "nobody"');
  });

  it('H9: are reloaded, and a reload that changes or removes one loosens a rail', () => {
    const argv = [...PROVIDER, '--disruption-budgets', TEXTS[1]!];
    const sources = { argv, environment: {}, coreCount: 4 };
    const current = loadShardConfig(sources);
    const changed = [...PROVIDER, '--disruption-budgets', 'slow; max=30; window=1d'];
    const { applied, needRestart } = reloadShardConfig(current, { ...sources, argv: changed });
    expect(needRestart).toEqual([]);
    expect(applied).toMatchObject([{ flag: 'disruption-budgets' }]);
    expect(isLoosened('disruption-budgets', applied[0]!.from, applied[0]!.to)).toBe(true);
    expect(isLoosened('disruption-budgets', '', TEXTS[1]!)).toBe(false);
  });
});

describe('schedules', () => {
  const HOUR_MS = 3_600_000;
  const berlin = new CronSchedule('0 22 * * 1-5', 6 * HOUR_MS, 'Europe/Berlin');

  for (const [at, isOpen, closes, opens] of [
    ['2026-06-05T19:59:59Z', false, null, '2026-06-05T20:00:00Z'], // a Friday, in summer time
    ['2026-06-05T20:00:00Z', true, '2026-06-06T02:00:00Z', '2026-06-08T20:00:00Z'],
    ['2026-06-06T01:59:59Z', true, '2026-06-06T02:00:00Z', '2026-06-08T20:00:00Z'],
    ['2026-06-06T02:00:00Z', false, null, '2026-06-08T20:00:00Z'],
    ['2026-12-04T20:30:00Z', false, null, '2026-12-04T21:00:00Z'], // in winter time
    ['2026-12-04T21:00:00Z', true, '2026-12-05T03:00:00Z', '2026-12-07T21:00:00Z'],
  ] as const) {
    it(`H9: a window of weekdays in Berlin is ${isOpen ? 'open' : 'closed'} at ${at}`, () => {
      const nowMs = Date.parse(at);
      const text = (atMs: number | null) =>
        atMs === null ? null : new Date(atMs).toISOString().replace('.000', '');
      expect(berlin.isOpenAt(nowMs)).toBe(isOpen);
      expect(text(berlin.closesMs(nowMs))).toBe(closes);
      expect(text(berlin.opensMs(nowMs))).toBe(opens);
    });
  }

  it('H9: windows that overlap are one', () => {
    const hourly = new CronSchedule('0 8-10 * * *', 2 * HOUR_MS, 'UTC');
    const nowMs = Date.parse('2026-06-05T08:30:00Z');
    expect(hourly.closesMs(nowMs)).toBe(Date.parse('2026-06-05T12:00:00Z'));
    expect(hourly.opensMs(nowMs)).toBe(Date.parse('2026-06-06T08:00:00Z'));
  });
});
