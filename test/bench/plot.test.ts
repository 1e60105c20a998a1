import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Plot, renderPlot } from '../../bench/report/plot.ts';
import { scaleOf } from '../../bench/report/scale.ts';

const PLOT: Plot = {
  title: 'ours & <theirs>',
  xLabel: 'machines',
  yLabel: 'ms',
  xScale: 'log',
  yScale: 'log',
  hasMarks: true,
  series: [
    {
      name: 'a < b',
      points: [
        [10_000, 1],
        [100_000, 0],
        [1_000_000, 10],
        [2_000_000, Number.NaN],
      ],
    },
  ],
  formatX: String,
  formatY: String,
};

describe('a plot', () => {
  it('is one SVG for light and dark pages, with its title as a label', () => {
    const svg = renderPlot(PLOT);
    expect(svg).toMatch(/^<svg [^>]*viewBox/);
    expect(svg).toContain('prefers-color-scheme: dark');
    expect(svg).toContain('<title>ours &amp; &lt;theirs&gt;</title>');
    expect(svg).toContain('a &lt; b');
  });

  it('leaves out points that have no place on its axis', () => {
    expect(renderPlot(PLOT).match(/<circle/g)).toHaveLength(2);
  });

  it('is valid without any point', () => {
    const svg = renderPlot({ ...PLOT, series: [{ name: 'none', points: [] }] });
    expect(svg).not.toMatch(/NaN|Infinity/);
  });
});

describe('an axis', () => {
  const positive = fc.array(fc.double({ min: 1e-6, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 20 });

  for (const kind of ['linear', 'log'] as const) {
    it(`that is ${kind} maps all values between its ends and has its lines in order`, () => {
      fc.assert(
        fc.property(positive, (values) => {
          const scale = scaleOf(kind, values);
          for (const value of values) {
            expect(scale.at(value)).toBeGreaterThanOrEqual(-1e-6);
            expect(scale.at(value)).toBeLessThanOrEqual(1 + 1e-6);
          }
          expect(scale.ticks.length).toBeGreaterThanOrEqual(2);
          expect([...scale.ticks].sort((a, b) => a - b)).toEqual(scale.ticks);
        }),
      );
    });
  }

  for (const [values, ticks] of [
    [
      [0, 4.2],
      [0, 1, 2, 3, 4, 5],
    ],
    [[270], [0, 100, 200, 300]],
    [[0], [0, 0.2, 0.4, 0.6, 0.8, 1]],
  ] as const) {
    it(`up to ${Math.max(...values)} has lines at ${ticks.join(', ')}`, () => {
      expect(scaleOf('linear', values).ticks).toEqual(ticks);
    });
  }
});
