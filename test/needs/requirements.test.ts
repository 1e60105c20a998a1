import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BUCKET_DOLLARS,
  bucketOfDollars,
  isPenaltyBucket,
  PenaltyBucket,
} from '../../src/machine/penalty.ts';
import {
  fingerprintOf,
  matches,
  normalRequirements,
  Operator,
  type ProfileParts,
  sameKeysOf,
  WhenUnsatisfiable,
} from '../../src/needs/requirements.ts';

const O = Operator;

describe('matching', () => {
  for (const [operator, values, attribute, expected, because] of [
    [O.In, ['a', 'b'], 'b', true, 'it is listed'],
    [O.In, ['a', 'b'], 'c', false, 'it is not listed'],
    [O.In, ['a'], undefined, false, 'the machine lacks it'],
    [O.In, [''], undefined, false, 'a missing value is not an empty value'],
    [O.In, [''], '', true, 'an empty value is a value'],
    [O.In, [], 'a', false, 'nothing is listed'],
    [O.NotIn, ['a'], 'b', true, 'it is not listed'],
    [O.NotIn, ['a'], 'a', false, 'it is listed'],
    [O.NotIn, ['a'], undefined, true, 'the machine lacks it'],
    [O.NotIn, [], 'a', true, 'nothing is listed'],
    [O.Exists, [], '', true, 'the machine has it, if empty'],
    [O.Exists, ['a'], 'b', true, 'values do not matter'],
    [O.Exists, [], undefined, false, 'the machine lacks it'],
    [O.DoesNotExist, [], undefined, true, 'the machine lacks it'],
    [O.DoesNotExist, ['a'], 'b', false, 'the machine has it'],
    [O.Same, [], 'rack-7', true, 'any value will do'],
    [O.Same, [], undefined, false, 'a machine without a rack shares none'],
    [O.Same, ['rack-7'], 'rack-7', true, 'it is listed'],
    [O.Same, ['rack-7'], 'rack-8', false, 'it is not listed'],
    [O.Unspecified, ['a'], 'a', false, 'no operator was given'],
    [O.Unspecified, [], undefined, false, 'no operator was given'],
  ] as const) {
    const name = Object.keys(O).find((key) => O[key as keyof typeof O] === operator);
    const has = attribute === undefined ? 'no value' : JSON.stringify(attribute);
    it(`V4: ${name} [${values}] ${expected ? 'takes' : 'refuses'} ${has}: ${because}`, () => {
      expect(matches({ key: 'k', operator, values }, attribute)).toBe(expected);
    });
  }
});

describe('the normal form', () => {
  const parts: ProfileParts = {
    requirements: [
      { key: 'zone', operator: O.NotIn, values: ['c', 'a', 'b'] },
      { key: 'zone', operator: O.In, values: ['a'] },
      { key: 'arch', operator: O.Exists, values: [] },
    ],
    spread: [
      { topologyKey: 'zone', maxSkew: 2, whenUnsatisfiable: WhenUnsatisfiable.ScheduleAnyway },
      { topologyKey: 'rack', maxSkew: 1, whenUnsatisfiable: WhenUnsatisfiable.DoNotSchedule },
    ],
    priority: -5,
    interruptionPenalty: 9,
    reclamationPenalty: 27,
  };

  it('N2: sorts requirements by key then operator, values and spread, and prints them in one line', () => {
    expect(fingerprintOf(parts)).toBe(
      'p=-5|ipb=9|rpb=27|reqs=arch:3:;zone:1:a;zone:2:a,b,c;|spr=rack:1:1;zone:2:2;',
    );
  });

  it('N2: prints a profile that asks for nothing', () => {
    const nothing = {
      requirements: [],
      spread: [],
      priority: 0,
      interruptionPenalty: 0,
      reclamationPenalty: 0,
    };
    expect(fingerprintOf(nothing)).toBe('p=0|ipb=0|rpb=0|reqs=|spr=');
  });

  it('N2: sorts bytewise: capitals and points come before small letters, emoji come last', () => {
    const keys = ['b', 'B', 'a.b', 'a', 'a/b', '\u{1F600}', '\uFFFD'];
    const sorted = normalRequirements(keys.map((key) => ({ key, operator: O.Exists, values: [] })));
    expect(sorted.map(({ key }) => key)).toEqual(['B', 'a', 'a.b', 'a/b', 'b', '\uFFFD', '\u{1F600}']);
  });

  it('N2: is the same for every order of requirements, values and spread', () => {
    const word = fc.constantFrom('a', 'b', 'c', 'a,b', '');
    const requirement = fc.record({
      key: word,
      operator: fc.nat(5),
      values: fc.array(word, { maxLength: 3 }),
    });
    const spread = fc.record({ topologyKey: word, maxSkew: fc.nat(2), whenUnsatisfiable: fc.nat(2) });
    const shuffled = fc
      .tuple(fc.array(requirement, { maxLength: 4 }), fc.array(spread, { maxLength: 3 }))
      .chain(([requirements, spreads]) =>
        fc.record({
          requirements: fc.constant(requirements),
          spreads: fc.constant(spreads),
          otherRequirements: fc.shuffledSubarray(requirements, { minLength: requirements.length }),
          otherSpreads: fc.shuffledSubarray(spreads, { minLength: spreads.length }),
        }),
      );
    fc.assert(
      fc.property(shuffled, ({ requirements, spreads, otherRequirements, otherSpreads }) => {
        const reversed = otherRequirements.map((one) => ({ ...one, values: one.values.toReversed() }));
        expect(fingerprintOf({ ...parts, requirements: reversed, spread: otherSpreads })).toBe(
          fingerprintOf({ ...parts, requirements, spread: spreads }),
        );
        expect(normalRequirements(reversed)).toEqual(normalRequirements(requirements));
      }),
    );
  });

  it('names the keys that a gang shares, each once', () => {
    const same = (key: string) => ({ key, operator: O.Same, values: [] });
    expect(
      sameKeysOf([same('rack'), { key: 'a', operator: O.In, values: [] }, same('block'), same('rack')]),
    ).toEqual(['block', 'rack']);
  });
});

describe('penalty buckets', () => {
  for (const [bucket, dollars] of [
    [PenaltyBucket.Unspecified, 0],
    [PenaltyBucket.Zero, 0],
    [PenaltyBucket.HalfDollar, 0.5],
    [3, 1],
    [4, 2],
    [9, 64],
    [19, 65_536],
    [PenaltyBucket.Largest, 8_388_608],
    [PenaltyBucket.Pinned, Number.POSITIVE_INFINITY],
  ] as const)
    it(`N5: bucket ${bucket} stands for $${dollars}, its upper bound`, () => {
      expect(BUCKET_DOLLARS[bucket]).toBe(dollars);
    });

  it('N5: a bucket converts to dollars and back; unspecified becomes zero', () => {
    for (let bucket = 1; bucket <= 27; bucket++)
      expect(bucketOfDollars(BUCKET_DOLLARS[bucket]!)).toBe(bucket);
    expect(bucketOfDollars(BUCKET_DOLLARS[PenaltyBucket.Unspecified]!)).toBe(PenaltyBucket.Zero);
    for (const unknown of [-1, 28, 1.5, Number.NaN]) expect(isPenaltyBucket(unknown)).toBe(false);
  });
});
