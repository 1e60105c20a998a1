import { expect, it } from 'vitest';
import { compareBytes, compareNumbers } from './bytes.ts';
import { fingerprintOf, foldGroupOf, renderQuantity } from './profile.ts';
import { Operator, WhenUnsatisfiable } from './world.ts';

it('N2: the fingerprint sorts requirements by key and operator, values, and spread by key', () => {
  const fingerprint = fingerprintOf({
    requirements: [
      { key: 'zone', operator: Operator.Same, values: [] },
      { key: 'tier', operator: Operator.NotIn, values: ['b', 'a'] },
      { key: 'tier', operator: Operator.In, values: ['c'] },
    ],
    spread: [
      { key: 'zone', maxSkew: 2, whenUnsatisfiable: WhenUnsatisfiable.ScheduleAnyway },
      { key: 'rack', maxSkew: 0, whenUnsatisfiable: WhenUnsatisfiable.DoNotSchedule },
    ],
    priority: -5,
    interruptionPenalty: 27,
    reclamationPenalty: 0,
  });
  expect(fingerprint).toBe('p=-5|ipb=27|rpb=0|reqs=tier:1:c;tier:2:a,b;zone:5:;|spr=rack:0:1;zone:2:2;');
});

for (const [dimension, units, rendered] of [
  ['cpu', 24_000, '24'],
  ['cpu', 500, '500m'],
  ['cpu', 1_500, '1500m'],
  ['memory', 8 * 1_048_576, '8Gi'],
  ['memory', 1_536 * 1_024, '1536Mi'],
  ['memory', 7, '7Ki'],
  ['ephemeral-storage', 1_073_741_824, '1Ti'],
  ['hugepages-2Mi', 4 * 1_048_576 * 1_000, '4Mi'],
  ['nvidia.com/gpu', 2_000, '2'],
] as const) {
  it(`V3: renders ${units} units of ${dimension} as ${rendered}`, () => {
    expect(renderQuantity(dimension, units)).toBe(rendered);
  });
}

it('A1: the group of a fold lists its dimensions by name, without zeros', () => {
  expect(foldGroupOf({ memory: 1_048_576, cpu: 500, storage: 0 })).toBe('fold:cpu=500m,memory=1Gi');
  expect(foldGroupOf({})).toBe('fold:');
});

it('N4: compares strings by their UTF-8 bytes, and numbers without subtraction', () => {
  expect(['b', '\u{10000}', 'a-10', '\u{fffd}', 'a-2', 'B', 'é'].sort(compareBytes)).toEqual([
    'B',
    'a-10',
    'a-2',
    'b',
    'é',
    '\u{fffd}',
    '\u{10000}',
  ]);
  const infinity = Number.POSITIVE_INFINITY;
  expect([infinity, 1, infinity, -1].sort(compareNumbers)).toEqual([-1, 1, infinity, infinity]);
});
