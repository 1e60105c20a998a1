import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatAmounts,
  formatQuantity,
  InvalidQuantityError,
  isInKib,
  NAME_LENGTH_MAX,
  parseDemand,
  parseSupply,
  UNITS_MAX,
} from '../../src/base/quantity.ts';

describe('reading', () => {
  for (const [text, milli, because] of [
    ['96', 96_000, 'a plain integer'],
    ['0', 0, 'zero'],
    ['-0', 0, 'minus zero is zero, not negative'],
    ['500m', 500, 'milli is the unit'],
    ['1e3', 1_000_000, 'a lower-case exponent'],
    ['1E3', 1_000_000, 'an upper-case exponent'],
    ['1e+3', 1_000_000, 'a signed exponent'],
    ['25e-1', 2_500, 'a negative exponent'],
    ['1.5', 1_500, 'a fraction'],
    ['.5', 500, 'no digit before the point'],
    ['5.', 5_000, 'no digit after the point'],
    ['+1', 1_000, 'an explicit sign'],
    ['2000000u', 2_000, 'micro'],
    ['3000000000n', 3_000, 'nano'],
    ['2k', 2_000_000, 'kilo'],
    ['2M', 2e9, 'mega'],
    ['2G', 2e12, 'giga'],
    ['2T', 2e15, 'tera'],
    ['0.002P', 2e15, 'a fraction of peta'],
    ['0.000002E', 2e15, 'a lone E is exa'],
    ['1Ki', 1_024_000, 'a binary suffix on a count'],
    ['0000000000000000000007', 7_000, 'leading zeros'],
  ] as const)
    it(`V3: cpu ${text} is ${milli} milli: ${because}`, () => {
      expect(parseDemand('cpu', text)).toBe(milli);
      expect(parseSupply('cpu', text)).toBe(milli);
    });

  for (const [text, kib] of [
    ['768Gi', 768 * 2 ** 20],
    ['16Gi', 2 ** 24],
    ['17179869184', 2 ** 24],
    ['1Ki', 1],
    ['3Mi', 3 * 2 ** 10],
    ['1.5Ti', 1.5 * 2 ** 30],
    ['1Pi', 2 ** 40],
    ['1Ei', 2 ** 50],
    ['1024k', 1000],
    ['384000000Gi', 384_000_000 * 2 ** 20],
  ] as const)
    it(`V3: memory ${text} is ${kib} KiB`, () => {
      expect(parseDemand('memory', text)).toBe(kib);
      expect(parseSupply('memory', text)).toBe(kib);
    });

  it('V3: demand rounds up and supply rounds down, to the unit of the dimension', () => {
    for (const [name, text, up, down] of [
      ['cpu', '0.0001', 1, 0],
      ['cpu', '1n', 1, 0],
      ['cpu', '1.0005', 1001, 1000],
      ['memory', '1', 1, 0],
      ['memory', '1025', 2, 1],
      ['memory', '500m', 1, 0],
      ['memory', '1k', 1, 0],
      ['memory', '1e-900', 1, 0],
      ['cpu', `1e-${'9'.repeat(60)}`, 1, 0],
    ] as const) {
      expect(parseDemand(name, text)).toBe(up);
      expect(parseSupply(name, text)).toBe(down);
    }
  });

  it('V3: refuses demand and saturates supply above 2^53 − 1 units; exactly that many still fit', () => {
    expect(parseDemand('cpu', '9007199254740991m')).toBe(UNITS_MAX);
    expect(parseDemand('memory', `${2 ** 53 - 1}Ki`)).toBe(UNITS_MAX);
    for (const [name, text] of [
      ['cpu', '9007199254740991.1m'],
      ['cpu', '9007199254740992m'],
      ['memory', '8192Ei'],
      ['cpu', '1e400'],
      ['cpu', `1e${'9'.repeat(60)}`],
      ['memory', '9'.repeat(100)],
    ] as const) {
      expect(parseSupply(name, text)).toBe(UNITS_MAX);
      expect(faultOf(() => parseDemand(name, text))).toBe('too large');
    }
  });

  for (const text of [
    ...[
      '',
      ' ',
      '.',
      '+',
      '-',
      '+.',
      'm',
      'Gi',
      'e3',
      '1e',
      '1e+',
      '1e1.5',
      '1K',
      '1ki',
      '1mi',
      '1ni',
      '1Gib',
    ],
    ...['1 ', ' 1', '1_000', '1,5', '0x10', 'NaN', 'Infinity', '1.2.3', '--1', '1e3Ki', '1GiB', '١', '1\n'],
    '1'.repeat(129),
  ])
    it(`V3: ${JSON.stringify(text.slice(0, 20))} is not a quantity`, () => {
      expect(faultOf(() => parseDemand('cpu', text))).toBe('unparseable');
      expect(faultOf(() => parseSupply('memory', text))).toBe('unparseable');
    });

  it('V3: a negative quantity is refused, however small, and the error names dimension and text', () => {
    for (const text of ['-1', '-1n', '-.5', '-1e-900', '-768Gi']) {
      expect(faultOf(() => parseDemand('cpu', text))).toBe('negative');
      expect(faultOf(() => parseSupply('cpu', text))).toBe('negative');
    }
    expect(() => parseDemand('nvidia.com/gpu', '-8')).toThrow(/"-8" of "nvidia.com\/gpu" is negative/);
  });

  it('V3: refuses a name that is too long before matching it, and cuts it in the error', () => {
    const name = `${'.hugepages-'.repeat(90_000)}/`; // a megabyte: matching it with the pattern would take minutes
    for (const parse of [parseDemand, parseSupply]) {
      expect(faultOf(() => parse(name, '1'))).toBe('named too long');
      expect(parse('x'.repeat(NAME_LENGTH_MAX), '1')).toBe(1_000);
      expect(() => parse(name, '1')).toThrow(/^.{400,800}$/);
    }
  });

  it('V3: bytes are counted in KiB, everything else in milli', () => {
    for (const name of [
      ...['memory', 'storage', 'ephemeral-storage', 'hugepages-2Mi', 'hugepages-1Gi', 'requests.memory'],
      ...['limits.ephemeral-storage', 'gold.storageclass.storage.k8s.io/requests.storage', 'local.storage'],
    ])
      expect(isInKib(name), name).toBe(true);
    for (const name of [
      ...[
        'cpu',
        'pods',
        'nvidia.com/gpu',
        'vendor.example/memory',
        'memory-channels',
        'storage.example/disks',
      ],
      ...['requests.cpu', 'attachable-volumes-aws-ebs', 'hugepages', 'example.com/hugepages-2Mi', ''],
    ])
      expect(isInKib(name), name).toBe(false);
  });

  it('V3: half a million machines of 768Gi add up without losing a unit', () => {
    let sum = 0;
    for (let machine = 0; machine < 500_000; machine++) sum += parseSupply('memory', '768Gi');
    expect(BigInt(sum)).toBe(500_000n * 768n * 2n ** 20n);
    expect(sum + 1 - sum).toBe(1);
  });
});

describe('writing', () => {
  for (const [name, units, text] of [
    ['cpu', 24_000, '24'],
    ['cpu', 500, '500m'],
    ['cpu', 1_500, '1500m'],
    ['cpu', 0, '0'],
    ['nvidia.com/gpu', 8_000, '8'],
    ['memory', 8 * 2 ** 20, '8Gi'],
    ['memory', 1_536, '1536Ki'],
    ['memory', 1, '1Ki'],
    ['memory', 1_025 * 2 ** 10, '1025Mi'],
    ['memory', 2 ** 52, '4Ei'],
    ['memory', 2_048 * 2 ** 50, '2048Ei'],
    ['memory', 0, '0'],
    ['hugepages-2Mi', 2_048, '2Mi'],
    ['memory', UNITS_MAX, '9007199254740991Ki'],
  ] as const)
    it(`V3: ${units} units of ${name} are written ${text}`, () =>
      expect(formatQuantity(name, units)).toBe(text));

  it('V3: a vector is written by name in bytewise order, zeros left out', () => {
    expect(formatAmounts({ memory: 8 * 2 ** 20, cpu: 24_000, pods: 0, 'a/gpu': 500 })).toBe(
      'a/gpu=500m,cpu=24,memory=8Gi',
    );
    expect(formatAmounts({ cpu: 0 })).toBe('');
  });
});

describe('whatever the quantity', () => {
  const names = fc.constantFrom('cpu', 'memory', 'nvidia.com/gpu', 'ephemeral-storage');

  it('V3: what is written reads back as the same units, for demand and for supply', () => {
    const units = fc.oneof(
      fc.maxSafeNat(),
      fc.nat(1_000_000),
      fc.nat(4_000).map((gib) => gib * 2 ** 20),
    );
    fc.assert(
      fc.property(names, units, (name, count) => {
        const text = formatQuantity(name, count);
        expect(parseDemand(name, text)).toBe(count);
        expect(parseSupply(name, text)).toBe(count);
      }),
    );
  });

  it('V3: rounding agrees with exact rational arithmetic', () => {
    const seen = { exact: 0, rounded: 0, saturated: 0 };
    fc.assert(
      fc.property(names, quantities(), (name, quantity) => {
        const [above, below] = rationalUnits(name, quantity);
        const down = above / below;
        const up = (above + below - 1n) / below;
        const limit = BigInt(UNITS_MAX);
        seen[up > limit ? 'saturated' : up === down ? 'exact' : 'rounded']++;
        expect(BigInt(parseSupply(name, quantity.text))).toBe(down > limit ? limit : down);
        if (up > limit) expect(faultOf(() => parseDemand(name, quantity.text))).toBe('too large');
        else expect(BigInt(parseDemand(name, quantity.text))).toBe(up);
      }),
      { numRuns: 3_000 },
    );
    expect(Math.min(seen.exact, seen.rounded, seen.saturated)).toBeGreaterThan(100);
  });

  it('V3: every text gives either units or an InvalidQuantityError', () => {
    const pieces = fc.constantFrom(...'0123456789.+-eEnumkMGTPKi ', '999999999999', 'e99', 'Gi');
    fc.assert(
      fc.property(names, fc.array(pieces, { maxLength: 12 }), (name, parts) => {
        try {
          const units = parseSupply(name, parts.join(''));
          expect(Number.isSafeInteger(units) && units >= 0).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidQuantityError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

interface Quantity {
  readonly text: string;
  readonly digits: string;
  readonly ten: number;
  readonly two: number;
}

const POWERS: Readonly<Record<string, readonly [ten: number, two: number]>> = {
  ...{ n: [-9, 0], u: [-6, 0], m: [-3, 0], '': [0, 0], k: [3, 0], M: [6, 0], G: [9, 0], T: [12, 0] },
  ...{ P: [15, 0], E: [18, 0], Ki: [0, 10], Mi: [0, 20], Gi: [0, 30], Ti: [0, 40], Pi: [0, 50], Ei: [0, 60] },
  ...{ e0: [0, 0], 'e+5': [5, 0], 'E-7': [-7, 0], e12: [12, 0], 'E-19': [-19, 0] },
};

function quantities(): fc.Arbitrary<Quantity> {
  const digits = (max: number) =>
    fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: max }).map((list) => list.join(''));
  return fc
    .record({
      whole: digits(18),
      fraction: digits(12),
      point: fc.boolean(),
      suffix: fc.constantFrom(...Object.keys(POWERS)),
    })
    .filter(({ whole, fraction, point }) => whole !== '' || (point && fraction !== ''))
    .map(({ whole, fraction, point, suffix }) => ({
      text: `${whole}${point ? `.${fraction}` : ''}${suffix}`,
      digits: whole + (point ? fraction : ''),
      ten: POWERS[suffix]![0] - (point ? fraction.length : 0),
      two: POWERS[suffix]![1],
    }));
}

/** The value in units as a fraction of two integers, straight from the definition. */
function rationalUnits(name: string, { digits, ten, two }: Quantity): [above: bigint, below: bigint] {
  const power = (base: bigint, exponent: number) => base ** BigInt(Math.max(0, exponent));
  const bytes = name === 'memory' || name === 'ephemeral-storage';
  return [
    BigInt(digits) * power(10n, ten) * power(2n, two) * (bytes ? 1n : 1000n),
    power(10n, -ten) * power(2n, -two) * (bytes ? 1024n : 1n),
  ];
}

function faultOf(read: () => number): string {
  try {
    return `read ${read()}`;
  } catch (error) {
    if (error instanceof InvalidQuantityError) return error.fault;
    throw error;
  }
}
