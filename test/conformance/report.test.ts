import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeXml, reportJunit } from '../../src/conformance/report-junit.ts';
import type { Report } from '../../src/conformance/run.ts';
import { CHECKS, CLOSING_CHECKS } from '../../src/conformance/suite.ts';
import { FencedShard, FenceModel, isNewer } from '../../src/conformance/token.ts';

const ALL_CHECKS = [...CHECKS, ...CLOSING_CHECKS];

describe('the list of checks', () => {
  it('has every id once, in the form area/what', () => {
    const ids = ALL_CHECKS.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[a-z]+\/[a-z0-9-]+$/);
  });

  it('gives each check a rule of the contract as one sentence', () => {
    for (const { contract } of ALL_CHECKS) expect(contract).toMatch(/^.{20,}\.$/);
  });

  it('is documented completely and with the same sentences', () => {
    const page = readFileSync(new URL('../../docs/conformance.md', import.meta.url), 'utf8');
    const rows = ALL_CHECKS.map(({ id, contract }) => `| \`${id}\` | ${contract} |`);
    expect(rows.filter((row) => !page.includes(row))).toEqual([]);
  });
});

const strangeCharacters = fc.constantFrom(
  ...'<>&"\n\t;#aé',
  '\u0000',
  '\u001f',
  '\ufffe',
  '\ud800', // half a surrogate pair
  '\u{1f6a2}',
);

describe('the JUnit report', () => {
  it('stays well-formed whatever text a provider returns', () => {
    let strangeCount = 0;
    fc.assert(
      fc.property(fc.string({ unit: strangeCharacters }), (text) => {
        const escaped = escapeXml(text);
        if (escaped !== text) strangeCount++;
        const hasMarkup = /[<>"\n]|&(?!(?:amp|lt|gt|quot|#10);)/.test(escaped);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML forbids
        const hasForbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(escaped);
        return !hasMarkup && !hasForbidden;
      }),
      { numRuns: 300, examples: [['<&">\n\u0000\ufffe'], ['plain']] },
    );
    expect(strangeCount).toBeGreaterThan(20);
  });

  it('preserves ordinary text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const read = escapeXml(text)
          .replaceAll('&lt;', '<')
          .replaceAll('&gt;', '>')
          .replaceAll('&quot;', '"')
          .replaceAll('&#10;', '\n')
          .replaceAll('&amp;', '&');
        expect(read).toBe(text);
      }),
    );
  });

  it('has one suite per area, each with its own counts', () => {
    const about = { contract: 'A sentence.', durationMs: 1_500 };
    const report: Report = {
      target: '127.0.0.1:1',
      startedAtMs: 0,
      durationMs: 4_500,
      machineCount: 3,
      touchedCount: 1,
      isComplete: true,
      results: [
        { ...about, id: 'list/a', outcome: 'passed', note: '' },
        { ...about, id: 'list/b', outcome: 'skipped', reason: 'no "cursor"' },
        { ...about, id: 'echo/c', outcome: 'failed', finding: { expected: 'x', came: 'y', change: 'z' } },
      ],
    };
    const xml = reportJunit(report);
    expect(xml).toContain(
      '<testsuite name="list" hostname="127.0.0.1:1" timestamp="1970-01-01T00:00:00.000" tests="2" failures="0" skipped="1" errors="0" time="3.000">',
    );
    expect(xml).toContain(
      '<testsuite name="echo" hostname="127.0.0.1:1" timestamp="1970-01-01T00:00:00.000" tests="1" failures="1" skipped="0" errors="0" time="1.500">',
    );
    expect(xml).toContain('<skipped message="no &quot;cursor&quot;"/>');
    expect(xml).toContain(
      '<failure message="expected: x; actual: y">contract: A sentence.&#10;expected: x&#10;actual: y&#10;fix: z</failure>',
    );
  });
});

describe('the model of the fence', () => {
  it('admits exactly the tokens that are newer than all admitted before, per shard and machine', () => {
    const calls = fc.array(
      fc.record({
        shard: fc.constantFrom('a', 'b'),
        machine: fc.constantFrom('m', 'n'),
        epoch: fc.integer({ min: 1, max: 3 }),
        sequence: fc.integer({ min: 1, max: 4 }),
      }),
    );
    let refusedCount = 0;
    fc.assert(
      fc.property(calls, (sequence) => {
        const model = new FenceModel();
        const admitted = new Map<string, ReturnType<FencedShard['token']>[]>();
        for (const call of sequence) {
          const token = new FencedShard(call.shard).token(call.epoch, call.sequence);
          const key = `${call.shard} ${call.machine}`;
          const before = admitted.get(key) ?? [];
          const mustPass = before.every((mark) => isNewer(token, mark));
          expect(model.admit(call.machine, token)).toBe(mustPass);
          if (mustPass) admitted.set(key, [...before, token]);
          else refusedCount++;
        }
      }),
    );
    expect(refusedCount).toBeGreaterThan(50);
  });
});
