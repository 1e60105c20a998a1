import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Scenario } from '../../bench/harness.ts';
import { renderHighlights, withHighlights } from '../../bench/report/highlights.ts';
import { LoadWatch } from '../../bench/report/host.ts';
import { renderPage } from '../../bench/report/page.ts';
import { readRecords, recordName, writeRecord } from '../../bench/report/record.ts';
import { planMeasurements } from '../../bench/report/run.ts';
import { cost, recordOf } from './records.ts';

const GROWTH = { metrics: ['ours', 'naive'], note: 'The change is the same.' };
const MISSED = { name: 'fast enough', limit: 3, direction: 'below', measured: 7.25, met: false } as const;
const MET = { name: 'small enough', limit: 9, direction: 'below', measured: 4, met: true } as const;

describe('the page of results', () => {
  const whole = recordOf(
    'scan',
    { growth: GROWTH },
    {
      metrics: { ours: cost(7.25), naive: cost(120), size: cost(4, 'MB') },
      ratios: { gain: 16.6 },
      targets: [MET, MISSED],
    },
  );
  const point = (machines: number) =>
    recordOf(
      'scan',
      { growth: GROWTH, isGrowth: true, isDefault: false, machines },
      {
        metrics: { ours: cost(5), naive: cost(machines / 4_000) },
      },
    );

  it('shows missed targets first, with their limits', () => {
    const { markdown } = renderPage([whole], null);
    expect(markdown).toContain('**scan** misses “fast enough”: 7.25 ms, at most 3 wanted');
    expect(markdown.indexOf('fast enough')).toBeLessThan(markdown.indexOf('small enough'));
    expect(markdown).toContain('1 of 2 targets are met.');
  });

  it('names every scenario that failed or took too long, with the reason', () => {
    const failed = recordOf('crawl', { outcome: { kind: 'timed out', message: 'ended after 300 s' } });
    const { markdown } = renderPage([whole, failed], null);
    expect(markdown).toContain('**crawl** timed out: ended after 300 s');
    expect(markdown).toContain('### crawl');
  });

  it('has the command, the median and the p99 of every figure, and the machine', () => {
    const { markdown } = renderPage([whole], null);
    expect(markdown).toContain('| ours | 7.25 ms | 14.5 ms | 100 |');
    expect(markdown).toContain('`npm run bench -- scan --machines 500000 --seconds 1`');
    expect(markdown).toContain('2 × Test CPU');
    expect(markdown).toContain('| [scan](#scan) | gain | 16.6 × |');
  });

  it('has both placements of quality in one table, and the worlds in which value meets less', () => {
    const metrics = {
      'plain: cheapest ÷ best known': cost(1.75, '×'),
      'plain: value ÷ best known': cost(1, '×'),
      'plain: value: unmet needs, all worlds': cost(37, 'needs'),
      'large fleet: value ÷ cheapest covers': cost(1.5, '×'),
    };
    const notes = ['value meets less in world 7 of kind plain'];
    const { markdown } = renderPage([recordOf('quality', {}, { metrics, notes })], null);
    expect(markdown).toContain('| plain |  | 1.75 × | 3.5 × | 1 × | 2 × |  | 37 needs |  |');
    expect(markdown).toMatch(/\| large fleet \|.*1\.5 × \|/);
    expect(markdown).toContain('- value meets less in world 7 of kind plain');
  });

  it('warns where the load was above the number of cores, and only there', () => {
    const busy = recordOf('stroll', { load: { lowest: 1, highest: 5.5, otherCores: null } });
    expect(renderPage([whole, busy], null).markdown).toMatch(
      /Busy machine.*1 of 2 measurements.*stroll \(5\.5\)/,
    );
    expect(renderPage([whole], null).markdown).not.toContain('Busy machine');
  });

  it('plots growth where it was measured, with the default size, and shows the factor for the largest fleet', () => {
    const { markdown, images } = renderPage([whole, point(10_000), point(1_000_000)], null);
    const svg = images.get('images/results/growth-scan.svg')!;
    expect(svg.match(/<circle/g)).toHaveLength(6);
    expect(markdown).toContain('| × 100 | × 1 | × 100 |');
    expect(markdown.indexOf('| 10,000 |')).toBeLessThan(markdown.indexOf('| 500,000 |'));
    expect(markdown).toContain('scan --machines N');
  });

  it('plots no growth for a single size', () => {
    expect(renderPage([whole], null).images.size).toBe(0);
  });
});

describe('the README', () => {
  const delta = recordOf(
    'cycle-delta',
    {},
    {
      metrics: { delta: cost(4.5) },
      ratios: { 'delta ÷ half of each cluster': 1.02 },
    },
  );

  it('gets its figures between the two marks, and keeps the rest', () => {
    const block = renderHighlights([delta], null);
    expect(block).toContain('| 4.5 ms | 1.02 × the time at half the fleet |');
    const [begin, end] = [
      '<!-- results: written by npm run bench -- --report -->',
      '<!-- end of results -->',
    ];
    const readme = withHighlights(`before\n${begin}\nold\n${end}\nafter\n`, block);
    expect(readme).toBe(`before\n${begin}\n\n${block}\n\n${end}\nafter\n`);
    expect(withHighlights(readme, block)).toBe(readme);
    expect(() => withHighlights('nothing here', block)).toThrow('README.md lacks the lines');
  });

  it('quotes only figures of the default size', () => {
    expect(renderHighlights([{ ...delta, isDefault: false }], null)).not.toContain('4.5 ms');
  });
});

describe('the measurements for the page', () => {
  const scenario: Scenario = {
    name: 'scan',
    question: 'Does it?',
    defaults: { machines: 500_000, seconds: 60 },
    targets: [],
    growth: GROWTH,
    run: async () => {},
  };
  const plan = (growing: Scenario, machines: number) => planMeasurements([growing], { machines });

  it('are each scenario, then the sizes of its curve that it did not measure itself', () => {
    const plans = plan(scenario, 500_000);
    expect(plans.map(({ params, isGrowth }) => [isGrowth, params.machines])).toEqual([
      [false, 500_000],
      ...[10_000, 50_000, 100_000, 250_000, 1_000_000].map((machines) => [true, machines]),
    ]);
    expect(plans.every(({ params }) => params.seconds <= 10)).toBe(true);
  });

  it('have needs in proportion to the machines, where a scenario declares needs', () => {
    const plans = plan({ ...scenario, defaults: { ...scenario.defaults, needs: 50_000 } }, 500_000);
    expect(plans.map(({ params }) => params.machines / params.needs)).toEqual(Array(6).fill(10));
  });

  it('have no fleet larger than --machines', () => {
    expect(plan(scenario, 50_000).map(({ params }) => params.machines)).toEqual([50_000, 10_000]);
  });
});

describe('records', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'flotilla-records-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('are read back as they were written, by scenario and size; other files are ignored', async () => {
    const records = [
      recordOf('b'),
      recordOf('a', { isGrowth: true, machines: 10_000 }),
      recordOf('a', { isGrowth: true, machines: 1_000_000 }),
      recordOf('a'),
    ];
    for (const record of records) await writeRecord(folder, record);
    writeFileSync(join(folder, 'soak.generated.json'), '{"samples": []}');
    const read = await readRecords(folder);
    expect(read.map(({ scenario, params }) => [scenario, params.machines])).toEqual([
      ['a', 500_000],
      ['a', 10_000],
      ['a', 1_000_000],
      ['b', 500_000],
    ]);
    expect(read).toContainEqual(records[0]);
    expect(await readRecords(join(folder, 'none'))).toEqual([]);
  });

  it('that are not JSON are refused, and the error names the file', async () => {
    const name = recordName('broken', 1, false);
    writeFileSync(join(folder, name), '{');
    await expect(readRecords(folder)).rejects.toThrow(`${name} is not JSON`);
  });
});

describe('the load beside a figure', () => {
  it('is the highest load seen, and the CPU time of other processes where the system reports it', async () => {
    const watch = new LoadWatch();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const { lowest, highest, otherCores } = watch.end();
    expect(highest).toBeGreaterThanOrEqual(lowest);
    if (process.platform === 'linux') expect(otherCores).toBeGreaterThanOrEqual(0);
  });
});
