import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SHAPE_RULES } from '../../src/conformance/shape-rules.ts';
import { findInvalid } from '../../src/machine/machine.ts';
import { decode, encode } from '../../src/wire/codec.ts';

/** The rules that the shard itself checks, too. */
const INVARIANTS = new Set([
  'shape/id',
  'shape/state',
  'shape/price',
  'shape/interruption-probability',
  'shape/host',
  'shape/cluster',
  'shape/last-error',
]);

describe('the shape rules', () => {
  it('M3: find a machine invalid exactly when a shard would reject the record', () => {
    const machines = fc.record({
      id: fc.constantFrom('m', 'm', 'm', ''),
      state: fc.integer({ min: 0, max: 9 }),
      host: fc.constantFrom(null, { provider: 'p', ref: 'r' }),
      cluster: fc.constantFrom('', 'c'),
      lastError: fc.constantFrom('', 'broken'),
      pricePerHour: fc.constantFrom(0, 1, 1, 1, -1, Number.NaN, Number.POSITIVE_INFINITY),
      interruptionProbability: fc.constantFrom(0, 0.5, 1, 1, 1.5, -0.1, Number.NaN),
    });
    let validCount = 0;
    fc.assert(
      fc.property(machines, (init) => {
        const machine = decode('Machine', encode('Machine', init));
        const broken = SHAPE_RULES.filter(
          (rule) => INVARIANTS.has(rule.id) && rule.violation(machine) !== null,
        );
        const invalid = findInvalid(init.id, {
          state: init.state,
          hasHost: init.host !== null,
          hasCluster: init.cluster !== '',
          hasLastError: init.lastError !== '',
          pricePerHourUsd: init.pricePerHour,
          interruptionProbability: init.interruptionProbability,
        });
        if (invalid === null) validCount++;
        return (invalid === null) === (broken.length === 0);
      }),
      { numRuns: 2_000 },
    );
    expect(validCount).toBeGreaterThan(50);
  });
});

describe('the rule for quantities', () => {
  const rule = SHAPE_RULES.find(({ id }) => id === 'shape/quantities')!;
  const isRight = (quantity: string) =>
    rule.violation({ resources: { resources: { cpu: quantity } }, allocatable: null } as never) === null;

  it('V3: accepts Kubernetes quantities', () => {
    for (const quantity of [
      '96',
      '768Gi',
      '500m',
      '1e3',
      '1.5',
      '0',
      '.5',
      '5.',
      '+1',
      '2E',
      '3Ei',
      '1E6',
      '7u',
      '1n',
    ]) {
      expect([quantity, isRight(quantity)]).toEqual([quantity, true]);
    }
  });

  it('V3: rejects texts that are not Kubernetes quantities', () => {
    for (const quantity of [
      '',
      ' 1',
      '1 ',
      '64 GB',
      '1GB',
      '1gi',
      '-1',
      '1e',
      '.',
      'e3',
      '1Mim',
      '0x10',
      '1,5',
      'NaN',
    ]) {
      expect([quantity, isRight(quantity)]).toEqual([quantity, false]);
    }
  });
});
