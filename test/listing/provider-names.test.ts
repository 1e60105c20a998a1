import { expect, it } from 'vitest';
import { DimensionTable } from '../../src/base/dimensions.ts';
import { VectorTable } from '../../src/base/vectors.ts';
import {
  OWN_NAMES_MAX,
  ProviderNames,
  TooManyResourceNamesError,
} from '../../src/listing/apply/provider-names.ts';

const namesFrom = (first: number) =>
  Array.from({ length: OWN_NAMES_MAX }, (_, index) => `example.com/resource-${first + index}`);

it('T6: a provider may bring as many new resource names as its machines no longer have', () => {
  const vectors = new VectorTable(new DimensionTable());
  const names = new ProviderNames(vectors.dimensions, ['rack']);
  const old = namesFrom(0);
  names.admit(0, old);
  const capacity = vectors.intern(Object.fromEntries(old.map((name) => [name, 1])));
  vectors.changeSupply(capacity, 1);
  expect(() => names.admit(0, ['example.com/one-more'])).toThrow(TooManyResourceNamesError);
  // The last machine with the old names is gone. The names keep their numbers, which no other name has taken yet.
  vectors.changeSupply(capacity, -1);
  vectors.release(capacity);
  expect(() => names.admit(0, namesFrom(1_000))).not.toThrow();
});
