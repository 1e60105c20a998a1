import { describe, expect, it } from 'vitest';
import { CHECKS, CLOSING_CHECKS } from '../../src/conformance/suite.ts';
import { callsOf } from './mutants/bend.ts';
import { MUTANTS } from './mutants.ts';
import { ASYNCHRONOUS, endsWhenRead, judge, newProvider, resultsWith } from './subject.ts';

describe('a provider that breaks one rule of the contract', () => {
  for (const mutant of MUTANTS) {
    it(`is caught by ${mutant.breaks}: ${mutant.name}`, async () => {
      const provider = newProvider(mutant.settings, mutant.population);
      const right = callsOf(provider);
      const isAsynchronous = mutant.settings === ASYNCHRONOUS;
      const calls = mutant.bend(isAsynchronous ? endsWhenRead(right, provider) : right, provider);
      const report = await judge(calls, { only: [mutant.breaks], ...mutant.run });
      provider.close();
      expect(resultsWith(report, 'failed')).toContain(mutant.breaks);
      const result = report.results.find(({ id }) => id === mutant.breaks);
      expect(result?.outcome === 'failed' ? result.finding.came : '').toContain(mutant.says);
    });
  }

  it('exists as a mutant for every check of the suite', () => {
    const broken = new Set(MUTANTS.map((mutant) => mutant.breaks));
    const unbroken = [...CHECKS, ...CLOSING_CHECKS].map(({ id }) => id).filter((id) => !broken.has(id));
    expect(unbroken).toEqual([]);
  });
});
