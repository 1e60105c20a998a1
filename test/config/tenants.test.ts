import { describe, expect, it } from 'vitest';
import { reloadShardConfig } from '../../src/config/shard-config.ts';
import { printConfig } from '../../src/config/texts.ts';
import { fileOf, linesOf, load, PROVIDER } from './load.ts';

const FILE = `
tenants:
  - cluster: team-a-*
    max-priority: 1000
    max-machines: 100
    max-resources:
      cpu: 500
      memory: 2Ti
      nvidia.com/gpu: "8"
    max-dollars-per-hour: 41.5
    max-offering-share: 0.25
    min-non-spot-share: 0.3
  - cluster: "*"
    max-machines: 1000
`;

const ENTRIES = [
  {
    cluster: 'team-a-*',
    maxPriority: 1_000,
    maxMachines: 100,
    maxResources: { cpu: 500_000, memory: 2 ** 31, 'nvidia.com/gpu': 8_000 },
    maxDollarsPerHour: 41.5,
    maxOfferingShare: 0.25,
    minNonSpotShare: 0.3,
  },
  {
    cluster: '*',
    maxPriority: null,
    maxMachines: 1_000,
    maxResources: {},
    maxDollarsPerHour: null,
    maxOfferingShare: null,
    minNonSpotShare: null,
  },
];

describe('the limits of clusters', () => {
  it('T8: are none by default', () => {
    expect(load().config.tenants).toEqual([]);
  });

  it('T8: are a list of mappings in the file', () => {
    expect(load({ argv: ['--config', fileOf(FILE)] }).config.tenants).toEqual(ENTRIES);
  });

  it('T8: read back as --print-config prints them', () => {
    const printed = printConfig(load({ argv: ['--config', fileOf(FILE)] }));
    expect(load({ argv: ['--config', fileOf(printed)] }).config.tenants).toEqual(ENTRIES);
  });

  it('T8: are texts as flags, as a variable, and in the file', () => {
    const text = 'team-a-*; max-machines=100; max-resources.cpu=1500m';
    const entry = { cluster: 'team-a-*', maxMachines: 100, maxResources: { cpu: 1_500 } };
    expect(load({ argv: ['--tenants', text] }).config.tenants).toMatchObject([entry]);
    expect(load({ argv: ['--config', fileOf(`tenants: ['${text}']`)] }).config.tenants).toMatchObject([
      entry,
    ]);
    const environment = { FLOTILLA_TENANTS: `${text},*; max-machines=7` };
    expect(load({ environment }).config.tenants).toMatchObject([entry, { cluster: '*', maxMachines: 7 }]);
  });

  it('T8: change with a reload', () => {
    const before = load({ argv: ['--tenants', '*; max-machines=7'] });
    const argv = [...PROVIDER, '--tenants', '*; max-machines=8'];
    const { loaded, applied, needRestart } = reloadShardConfig(before, {
      argv,
      environment: {},
      coreCount: 4,
    });
    expect(loaded.config.tenants).toMatchObject([{ maxMachines: 8 }]);
    expect(applied).toEqual([{ flag: 'tenants', from: '*; max-machines=7', to: '*; max-machines=8' }]);
    expect(needRestart).toEqual([]);
  });

  for (const [text, what] of [
    ['', 'not a cluster id'],
    ['team é; max-machines=1', 'not a cluster id'],
    ['a', 'the entry for a limits nothing'],
    ['a; max-machines', '"max-machines" is not a limit and its value'],
    ['a; max-machine=1', 'unknown limit "max-machine"'],
    ['a; max-machines=1; max-machines=2', 'max-machines is given twice'],
    ['a; max-machines=-1', 'max-machines is "-1", not a whole number. Choose 0 to'],
    ['a; max-machines=1.5', 'max-machines is "1.5"'],
    ['a; max-priority=2147483648', 'max-priority is "2147483648"'],
    ['a; min-non-spot-share=30', 'min-non-spot-share is "30", not a number. Choose 0 to 1'],
    ['a; max-offering-share=1.1', 'max-offering-share is "1.1", not a number. Choose 0 to 1'],
    ['a; max-dollars-per-hour=cheap', 'max-dollars-per-hour is "cheap"'],
    ['a; max-resources.cpu=many', '"many" is not an amount of cpu'],
    ['a; max-resources.cpu=-1', '"-1" is not an amount of cpu'],
    ['a; max-resources.=1', 'unknown limit "max-resources."'],
  ] as const) {
    it(`T8: refuses ${JSON.stringify(text)}`, () => {
      expect(linesOf(() => load({ argv: ['--tenants', text] })).join(' ')).toContain(what);
    });
  }

  for (const text of [
    '- max-machines: 1',
    '- cluster: a;b\n  max-machines: 1',
    '- cluster: a\n  max-machines: [1]',
  ]) {
    it(`T8: refuses the list ${JSON.stringify(text)} in the file, and names the line`, () => {
      const file = fileOf(`tenants:\n${text.replace(/^/gm, '  ')}\n`);
      expect(linesOf(() => load({ argv: ['--config', file] })).join(' ')).toContain(`${file}:1`);
    });
  }
});
