/** Text has a contrast of at least 4.5 to 1 to its background, in the light and the dark scheme. */
import { describe, expect, it } from 'vitest';
import { COLOURS } from '../../src/dashboard/style/colours.ts';

function palette(text: string): Map<string, string> {
  return new Map(
    [...text.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6});/g)].map(([, name, hex]) => [name!, hex!]),
  );
}

function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((one, other) => other - one);
  return (high! + 0.05) / (low! + 0.05);
}

const [lightText, darkText] = COLOURS.split('@media (prefers-color-scheme: dark)');

for (const [scheme, colours] of [
  ['light', palette(lightText!)],
  ['dark', palette(darkText!.slice(0, darkText!.indexOf('.state-')))],
] as const) {
  describe(`the ${scheme} colours`, () => {
    for (const [text, ground] of [
      ['text', 'ground'],
      ['text', 'surface'],
      ['text', 'raised'],
      ['muted', 'ground'],
      ['muted', 'surface'],
      ['muted', 'raised'],
      ['link', 'surface'],
      ['link', 'raised'],
      ['good', 'good-ground'],
      ['good', 'surface'],
      ['warn', 'warn-ground'],
      ['warn', 'surface'],
      ['bad', 'bad-ground'],
      ['bad', 'raised'],
    ] as const) {
      it(`${text} on ${ground} has enough contrast`, () => {
        expect(contrast(colours.get(text)!, colours.get(ground)!)).toBeGreaterThanOrEqual(4.5);
      });
    }

    it('of states have a contrast of at least 2 to 1 to the surface', () => {
      for (const state of [
        'configured',
        'configuring',
        'creating',
        'idle',
        'draining',
        'deleting',
        'failed',
        'speculative',
      ]) {
        expect(contrast(colours.get(state)!, colours.get('surface')!), state).toBeGreaterThanOrEqual(2);
      }
    });
  });
}
