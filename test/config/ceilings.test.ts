import { describe, expect, it } from 'vitest';
import { isLoosened } from '../../src/cli/loosened.ts';
import { ceilingsOf } from '../../src/cli/shard-rails.ts';
import { reloadShardConfig } from '../../src/config/shard-config.ts';
import { printConfig } from '../../src/config/texts.ts';
import { fileOf, linesOf, load, PROVIDER } from './load.ts';

const FILE = `
ceilings:
  usd-per-hour: 5000
  spot-usd-per-hour: 812.5
`;
const VALUES = { 'usd-per-hour': 5_000, 'spot-usd-per-hour': 812.5 };
const NONE = Number.POSITIVE_INFINITY;

describe('the ceilings of the fleet', () => {
  it('E7: are none by default, and then the shard has none', () => {
    expect(load().config.ceilings).toEqual({});
    expect(ceilingsOf(load().config.ceilings)).toBe(null);
  });

  it('E7: are a mapping in the file, by capacity type for the shard', () => {
    const { config } = load({ argv: ['--config', fileOf(FILE)] });
    expect(config.ceilings).toEqual(VALUES);
    expect(ceilingsOf(config.ceilings)).toEqual({
      maxDollarsPerHour: 5_000,
      maxByCapacityType: [NONE, NONE, NONE, NONE, 812.5],
    });
  });

  it('E7: read back as --print-config prints them', () => {
    const printed = printConfig(load({ argv: ['--config', fileOf(FILE)] }));
    expect(load({ argv: ['--config', fileOf(printed)] }).config.ceilings).toEqual(VALUES);
  });

  it('E7: are one text as a flag, as a variable, and in the file', () => {
    const text = 'usd-per-hour=5000; spot-usd-per-hour=812.5';
    expect(load({ argv: ['--ceilings', text] }).config.ceilings).toEqual(VALUES);
    expect(load({ environment: { FLOTILLA_CEILINGS: text } }).config.ceilings).toEqual(VALUES);
    expect(load({ argv: ['--config', fileOf(`ceilings: ${text}`)] }).config.ceilings).toEqual(VALUES);
  });

  it('E7: change with a reload', () => {
    const before = load({ argv: ['--ceilings', 'usd-per-hour=7'] });
    const argv = [...PROVIDER, '--ceilings', 'usd-per-hour=8'];
    const { loaded, applied } = reloadShardConfig(before, { argv, environment: {}, coreCount: 4 });
    expect(loaded.config.ceilings).toEqual({ 'usd-per-hour': 8 });
    expect(applied).toEqual([{ flag: 'ceilings', from: 'usd-per-hour=7', to: 'usd-per-hour=8' }]);
  });

  it('E7: a reload that raises or drops a ceiling loosens it', () => {
    expect(isLoosened('ceilings', 'usd-per-hour=7', 'usd-per-hour=8')).toBe(true);
    expect(isLoosened('ceilings', 'usd-per-hour=7; spot-usd-per-hour=1', 'usd-per-hour=7')).toBe(true);
    expect(isLoosened('ceilings', 'usd-per-hour=7', 'usd-per-hour=6; spot-usd-per-hour=1')).toBe(false);
    expect(isLoosened('ceilings', '', 'usd-per-hour=6')).toBe(false);
  });

  for (const [text, what] of [
    ['usd-per-hour', '"usd-per-hour" is not a ceiling and its value'],
    ['usd-per-day=1', 'unknown ceiling "usd-per-day". Write one of usd-per-hour, bare-metal-usd-per-hour'],
    ['usd-per-hour=1; usd-per-hour=2', 'usd-per-hour is given twice'],
    ['usd-per-hour=-1', 'usd-per-hour is "-1", not a number of dollars. Choose 0 to'],
    ['spot-usd-per-hour=cheap', 'spot-usd-per-hour is "cheap"'],
    ['usd-per-hour=1000000001', 'usd-per-hour is "1000000001"'],
    ['x'.repeat(1_025), 'a text of 1025 characters is longer than 1024'],
  ] as const) {
    it(`E7: refuses ${JSON.stringify(text.slice(0, 40))}`, () => {
      expect(linesOf(() => load({ argv: ['--ceilings', text] })).join(' ')).toContain(what);
    });
  }

  for (const text of ['[1, 2]', '{ usd-per-hour: [1] }', '{ usd-per-hour: }', '']) {
    it(`E7: refuses ${JSON.stringify(text)} in the file, and names the line`, () => {
      const file = fileOf(`ceilings: ${text}\n`);
      expect(linesOf(() => load({ argv: ['--config', file] })).join(' ')).toContain(`${file}:1`);
    });
  }
});
