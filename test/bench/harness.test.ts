import { describe, expect, it } from 'vitest';
import { chooseScenarios, paramsOf, parseArguments, refuseUselessFlags } from '../../bench/arguments.ts';
import { type BenchContext, measure, type Scenario, type Target } from '../../bench/harness.ts';
import { summarize } from '../../bench/statistics.ts';
import { formatFigure, renderList, renderResult, renderSummary } from '../../bench/terminal.ts';

const HOST = { node: 'v0', cpus: 2 };
const PARAMS = { machines: 10, needs: 0, seconds: 1 };

function scenarioOf(
  run: (context: BenchContext) => void | Promise<void>,
  targets: readonly Target[] = [],
): Scenario {
  return {
    name: 'sample',
    question: 'Does it?',
    defaults: { machines: 10, seconds: 1 },
    targets,
    run: async (context) => {
      await run(context);
    },
  };
}

const measureQuietly = (scenario: Scenario) => measure(scenario, PARAMS, HOST, () => undefined);

describe('a scenario', () => {
  it('returns median, p99 and number of samples of every metric', async () => {
    const result = await measureQuietly(
      scenarioOf((context) => {
        for (let value = 1; value <= 101; value++) context.sample('bytes', 'B', value);
      }),
    );
    expect(result.metrics).toEqual({ bytes: { unit: 'B', median: 51, p99: 100, samples: 101 } });
    expect(result).toMatchObject({ scenario: 'sample', params: PARAMS, ratios: {}, targets: [], ...HOST });
  });

  it('is prepared before every timed call, warm-ups too, and its time is divided by its operations', async () => {
    const calls: string[] = [];
    const sleepMs = 20;
    const result = await measureQuietly(
      scenarioOf(async (context) => {
        const fn = () => {
          calls.push('call');
          return new Promise((resolve) => setTimeout(resolve, sleepMs));
        };
        await context.time('wait', 'ms', fn, {
          samples: 2,
          operations: 4,
          before: () => void calls.push('before'),
        });
      }),
    );
    expect(calls).toEqual(['before', 'call', 'before', 'call', 'before', 'call']);
    expect(result.metrics.wait).toMatchObject({ unit: 'ms', samples: 2 });
    // A timer may fire up to a millisecond early: the bound only shows that the promise was awaited and the time divided.
    expect(result.metrics.wait!.median).toBeGreaterThanOrEqual((sleepMs - 1) / 4);
  });

  it('stops sampling after its seconds, but not before three samples', async () => {
    let callCount = 0;
    const scenario = scenarioOf(async (context) => {
      await context.time('slow', 'ms', () => callCount++, { samples: 1_000_000, warmups: 0 });
    });
    const result = await measure(scenario, { ...PARAMS, seconds: 1e-9 }, HOST, () => undefined);
    expect(callCount).toBe(3);
    expect(result.metrics.slow!.samples).toBe(3);
  });

  it('repeats a short operation with tinybench', async () => {
    let calls = 0;
    const scenario = scenarioOf(async (context) => {
      await context.loop('count', 'ns', () => ++calls, { operations: 1 });
    });
    const result = await measure(scenario, { ...PARAMS, seconds: 0.05 }, HOST, () => undefined);
    expect(calls).toBeGreaterThan(result.metrics.count!.samples);
    expect(result.metrics.count!.samples).toBeGreaterThan(10);
    expect(result.metrics.count!.unit).toBe('ns');
  });

  it('compares times of different units as times', async () => {
    const result = await measureQuietly(
      scenarioOf((context) => {
        context.sample('slow', 'ms', 3);
        context.sample('fast', 'us', 2);
        context.ratio('gain', 'slow', 'fast');
        context.ratio('plain', 10, 4);
      }),
    );
    expect(result.ratios).toEqual({ gain: 1_500, plain: 2.5 });
  });

  for (const [direction, limit, met] of [
    ['below', 5, true],
    ['below', 4.9, false],
    ['above', 5, true],
    ['above', 5.1, false],
  ] as const) {
    it(`calls a median of 5 with the target ${direction} ${limit} ${met ? 'met' : 'missed'}`, async () => {
      const scenario = scenarioOf(
        (context) => context.sample('cost', 'ms', 5),
        [{ name: 'cost', metric: 'cost', limit, direction }],
      );
      const result = await measureQuietly(scenario);
      expect(result.targets).toEqual([{ name: 'cost', limit, direction, measured: 5, met }]);
    });
  }

  it('judges the tail and the ratio when the target names them', async () => {
    const scenario = scenarioOf(
      (context) => {
        for (const value of [1, 1, 1, 9]) context.sample('cost', 'ms', value);
        context.ratio('gain', 10, 1);
      },
      [
        { name: 'tail', metric: 'cost', statistic: 'p99', limit: 2, direction: 'below' },
        { name: 'gain', ratio: 'gain', limit: 10, direction: 'above' },
      ],
    );
    const { targets } = await measureQuietly(scenario);
    expect(targets.map((target) => target.met)).toEqual([false, true]);
  });

  for (const [what, run, targets] of [
    ['a check is false', (context: BenchContext) => context.check(1 > 2, 'one is more than two'), []],
    ['a figure is not a number', (context: BenchContext) => context.sample('x', 'ms', Number.NaN), []],
    ['a ratio names nothing measured', (context: BenchContext) => context.ratio('x', 'no', 'way'), []],
    [
      'a target has no measurement',
      () => undefined,
      [{ name: 'ghost', metric: 'ghost', limit: 1, direction: 'below' }],
    ],
  ] as const) {
    it(`fails when ${what}`, async () => {
      const scenario = scenarioOf((context) => void run(context), targets);
      await expect(measureQuietly(scenario)).rejects.toMatchObject({ code: 'benchmark_not_real' });
    });
  }
});

describe('the command line', () => {
  it('accepts names, flags and values in any order, with = or a space', () => {
    expect(
      parseArguments(['a', '--machines', '1_000', '--json=out.json', 'b*', '--check', '--seconds=0.5']),
    ).toMatchObject({
      names: ['a', 'b*'],
      overrides: { machines: 1_000, seconds: 0.5 },
      jsonFile: 'out.json',
      check: true,
      report: false,
      help: false,
    });
    expect(
      parseArguments(['--all', '--report', '--resume', '--limit=9', '--results', 'r', '--page', 'p']),
    ).toMatchObject({
      names: ['all'],
      report: true,
      resume: true,
      limitSeconds: 9,
      resultsFolder: 'r',
      pageFile: 'p',
    });
  });

  for (const argv of [
    ['--machine', '5'],
    ['--machines'],
    ['--machines', 'many'],
    ['--machines', '0'],
    ['--machines', '1.5'],
    ['--needs', '-1'],
    ['--seconds', '0'],
    ['--seconds', 'Infinity'],
    ['--json='],
    ['--limit', '0'],
    ['--resume'],
  ]) {
    it(`refuses ${argv.join(' ')} in one line`, () => {
      let message = '';
      try {
        parseArguments(argv);
      } catch (error) {
        message = (error as Error).message;
      }
      expect(message).toContain(argv[0]!.replace('=', ''));
      expect(message).not.toContain('\n');
    });
  }

  const named = (name: string, needs?: number): Scenario => ({
    ...scenarioOf(() => undefined),
    name,
    defaults: { machines: 10, seconds: 1, ...(needs === undefined ? {} : { needs }) },
  });
  const all = [named('list-full'), named('list-delta', 7), named('cycle')];

  it('chooses scenarios by name, by prefix and all, each once', () => {
    const names = (words: string[]) => chooseScenarios(all, words).map((scenario) => scenario.name);
    expect(names(['cycle'])).toEqual(['cycle']);
    expect(names(['list-*', 'list-full'])).toEqual(['list-full', 'list-delta']);
    expect(names(['all'])).toHaveLength(3);
    expect(() => names(['list'])).toThrow('Unknown scenario "list"');
  });

  it('passes --needs only to scenarios that declare needs, and refuses it if none does', () => {
    expect(paramsOf(all[1]!, { needs: 9 })).toEqual({ machines: 10, needs: 9, seconds: 1 });
    expect(paramsOf(all[0]!, { needs: 9, machines: 3 })).toEqual({ machines: 3, needs: 0, seconds: 1 });
    // Without --needs there are as many needs per machine as by default.
    expect(paramsOf(all[1]!, { machines: 20 })).toEqual({ machines: 20, needs: 14, seconds: 1 });
    expect(() => refuseUselessFlags([all[0]!], { needs: 9 })).toThrow('--needs has no effect on list-full');
    expect(() => refuseUselessFlags(all, { needs: 9 })).not.toThrow();
  });
});

describe('the report', () => {
  it('shows each metric, each target as met or MISSED, and the missed ones again at the end', async () => {
    const scenario = scenarioOf(
      (context) => context.sample('cost', 'ms', 5),
      [
        { name: 'easy', metric: 'cost', limit: 9, direction: 'below' },
        { name: 'hard', metric: 'cost', limit: 1, direction: 'below' },
      ],
    );
    const result = await measureQuietly(scenario);
    const text = renderResult(result, scenario.question, false);
    expect(text).toMatch(/cost\s+5\s+5\s+ms\s+1/);
    expect(text).toMatch(/met\s+easy: 5, at most 9/);
    expect(text).toMatch(/MISSED\s+hard: 5, at most 1/);
    expect(renderSummary(2, [result])).toContain('1 of 2 scenarios ran, 1 failed; 1 of 2 targets met.');
    expect(renderSummary(2, [result])).toContain('hard');
    expect(renderList([scenario])).toContain('sample  Does it?');
  });

  for (const [value, text] of [
    [1_234_567.8, '1,234,568'],
    [0.123456, '0.123'],
    [12.3456, '12.3'],
    [0.0000123, '1.2e-5'],
    [0, '0'],
  ] as const) {
    it(`writes ${value} as ${text}`, () => expect(formatFigure(value)).toBe(text));
  }

  it('takes the midpoint as the median of an even number of samples', () => {
    expect(summarize('ms', [4, 1, 2, 3]).median).toBe(2.5);
  });
});
