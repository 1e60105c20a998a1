/** Runs the compiled program as a user does: `npm test` builds it first. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ScenarioResult } from '../../bench/harness.ts';

const PROGRAM = join(import.meta.dirname, '../../dist/bench/main.js');

function bench(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--expose-gc', PROGRAM, ...words], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe('npm run bench', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'flotilla-bench-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('without a scenario lists them, one line each, and exits with 0', async () => {
    const { code, stdout } = await bench();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}catalogue\s+What does it cost/m);
  });

  it('explains itself with --help', async () => {
    const { code, stdout } = await bench('--help');
    expect(code).toBe(0);
    for (const flag of ['--machines', '--needs', '--seconds', '--json', '--check'])
      expect(stdout).toContain(flag);
  });

  for (const words of [
    ['nonesuch'],
    ['--nonesuch'],
    ['catalogue', '--needs', '5'],
    ['catalogue', '--json', '/nonesuch/x'],
    ['--report', '--results', '/nonesuch'],
  ]) {
    it(`refuses ${words.join(' ')} in one line and exits with 2`, async () => {
      const { code, stdout, stderr } = await bench(...words);
      expect(code).toBe(2);
      expect(stdout).toBe('');
      expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    });
  }

  it('runs a scenario in a process of its own and writes its results', async () => {
    const file = join(folder, 'result.json');
    const { code, stdout, stderr } = await bench(
      'catalogue',
      '--machines',
      '500',
      '--seconds',
      '1',
      '--json',
      file,
    );
    expect(stderr).toContain('catalogue: build');
    expect(code).toBe(0);
    expect(stdout).toContain('1 of 1 scenarios ran');
    const [result] = JSON.parse(readFileSync(file, 'utf8')) as ScenarioResult[];
    expect(result).toMatchObject({
      scenario: 'catalogue',
      params: { machines: 500, seconds: 1 },
      node: process.version,
    });
    expect(result!.metrics.rows!.median).toBeCloseTo(388, -1);
    expect(result!.targets.map((target) => target.name)).toContain('the fleet is built');
    expect(result!.cpus).toBeGreaterThan(0);
  });

  it('with --report stores each result and writes the page, resumes, and writes the page again without measuring', async () => {
    const [results, page] = [join(folder, 'results'), join(folder, 'docs/results.md')];
    const words = ['catalogue', '--machines', '500', '--seconds', '0.1'];
    const places = ['--report', '--results', results, '--page', page];
    const first = await bench(...words, ...places);
    expect(first.code, first.stderr).toBe(0);
    const text = readFileSync(page, 'utf8');
    expect(text).toContain('`npm run bench -- catalogue --machines 500 --seconds 0.1`');
    expect(text).toMatch(/load average \| [\d.]+ to [\d.]+/);
    const resumed = await bench(...words, ...places, '--resume');
    expect(resumed.stderr).toContain('catalogue: measured before');
    rmSync(page);
    expect((await bench(...places)).code).toBe(0);
    expect(readFileSync(page, 'utf8')).toBe(text);
  });

  it('ends a scenario at its limit with all its processes, lists it on the page, and runs the next', async () => {
    const [results, page] = [join(folder, 'late'), join(folder, 'late.md')];
    const words = ['execute-slow', 'catalogue', '--machines', '500', '--seconds', '30', '--limit', '4'];
    const { code, stderr } = await bench(...words, '--report', '--results', results, '--page', page);
    expect(stderr).toMatch(/\[1\/2\] execute-slow: timed out/);
    expect(stderr).toMatch(/\[2\/2\] catalogue: /);
    expect(code).toBe(1);
    expect(readFileSync(page, 'utf8')).toContain('**execute-slow** timed out');
  });

  it('with --check exits with 1 when a target is missed, without it with 0', async () => {
    // With few machines the fixed costs dominate: columns for thirty machines take more than objects.
    const words = ['list-decode', '--machines', '30', '--seconds', '0.1'];
    const lenient = await bench(...words);
    const strict = await bench(...words, '--check');
    expect(strict.stdout).toContain('MISSED');
    expect([lenient.code, strict.code]).toEqual([0, 1]);
  });
});
