import fc from 'fast-check';
import { expect, it } from 'vitest';
import { InvalidQuantityError, parseDemand, parseSupply, UNITS_MAX } from '../../src/base/quantity.ts';
import { CASES_MIN, fuzz } from './fuzzer.ts';

const TEXTS = [
  '96',
  '768Gi',
  '500m',
  '1e3',
  '1.5',
  '9007199254740991',
  '0.1Ki',
  '-4',
  '1E',
  '2.5e-7',
  '+12Ti',
  '.5',
];

function read(parse: typeof parseDemand, dimension: string, text: string): number | string {
  try {
    return parse(dimension, text);
  } catch (error) {
    if (!(error instanceof InvalidQuantityError)) throw error;
    return error.fault;
  }
}

/** Both parsers agree on what is a quantity, and demand is never less than supply. */
function check(text: string): string {
  for (const dimension of ['cpu', 'memory']) {
    const demand = read(parseDemand, dimension, text);
    const supply = read(parseSupply, dimension, text);
    if (typeof supply === 'string') expect(demand).toBe(supply);
    else {
      expect(Number.isSafeInteger(supply) && supply >= 0 && supply <= UNITS_MAX, text).toBe(true);
      if (typeof demand === 'number') expect(demand - supply, text).toBeOneOf([0, 1]);
      else expect(demand).toBe('too large');
    }
    if (dimension === 'memory') return typeof demand === 'string' ? demand : 'a quantity';
  }
  return '';
}

it('a damaged quantity is a whole number of units or is refused with a reason, for demand and supply', async () => {
  const report = await fuzz(
    TEXTS.map((text) => Buffer.from(text)),
    (bytes) => check(Buffer.from(bytes).toString('latin1')),
  );
  expect(report.cases).toBeGreaterThanOrEqual(CASES_MIN);
  expect(Object.keys(report.outcomes)).toEqual(
    expect.arrayContaining(['a quantity', 'unparseable', 'negative']),
  );
});

it('any text is a whole number of units or is refused with a reason, however long', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.stringMatching(/^[+-]?[0-9]{0,60}\.?[0-9]{0,60}([eE][+-]?[0-9]{1,12}|[numkMGTPE]i?)?$/),
    fc.constantFrom('9'.repeat(100_000), `1e${'9'.repeat(50_000)}`, `0.${'0'.repeat(120)}1`, '1e-999999999'),
  );
  fc.assert(
    fc.property(texts, (text) => check(text) !== ''),
    { numRuns: 2_000 },
  );
});
