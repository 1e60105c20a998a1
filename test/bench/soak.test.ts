/** Verdicts of a soak on invented samples, and a small, short soak of the real programs. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BindingPaths } from '../../bench/soak/binding-paths.ts';
import { parseSoakFlags } from '../../bench/soak/flags.ts';
import { parseExposition, type SoakSample } from '../../bench/soak/samples.ts';
import type { SoakRecord } from '../../bench/soak/section.ts';
import { judge, slopePerHour } from '../../bench/soak/verdicts.ts';

const PROGRAM = join(import.meta.dirname, '../../dist/bench/soak/main.js');

const QUIET: Omit<SoakSample, 'elapsedSeconds'> = {
  ...{ load: 1, rssMb: 1_000, threads: 12, fds: 2_050, heapMb: 200, activeResources: 2_100 },
  ...{ queued: 10, inFlight: 20, readsWaiting: 5, parkedRows: 0, loopDelayP99Ms: 12, loopDelayMaxMs: 40 },
  ...{ cycleMeanMs: 15, unmetNeeds: 3, differences: 0, sessions: 2_000, bindsPerSecond: 400 },
  ...{ bindIdleP99Ms: 2_400, bindCreatedP99Ms: 5_000, bindFreedP99Ms: null, bindWaitedP99Ms: null },
  ...{ bindP50Ms: 900, bindP99Ms: 2_500, wanting: 300, providerRssMb: 900, operatorsRssMb: 700 },
};

function samplesOf(change: (share: number) => Partial<SoakSample>): SoakSample[] {
  return Array.from({ length: 120 }, (_, index) => ({
    ...QUIET,
    elapsedSeconds: index * 10,
    ...change(index / 120),
  }));
}

describe('the verdicts of a soak', () => {
  it('accept queues that vary without growing', () => {
    const samples = samplesOf((share) => ({
      rssMb: 1_000 + 80 * Math.sin(share * 60),
      queued: (share * 120) % 2 === 0 ? 0 : 200,
    }));
    expect(judge(samples, 300)).toMatchObject({ violations: [] });
  });

  for (const [what, change, words] of [
    [
      'memory that grows slowly',
      (share: number) => ({ rssMb: 1_000 + 150 * share }),
      'memory of the shard grew',
    ],
    ['a queue that never empties', (share: number) => ({ queued: 2_000 * share }), 'actions queued grew'],
    ['reads that pile up', (share: number) => ({ readsWaiting: 900 * share }), 'reads waiting grew'],
    [
      'clusters that wait for more and more machines',
      (share: number) => ({ wanting: 3_000 * share }),
      'clusters wait for grew',
    ],
    [
      'descriptors that leak',
      (share: number) => ({ fds: 2_050 + Math.round(100 * share) }),
      'file descriptors',
    ],
    [
      'one more thread',
      (share: number) => ({ threads: share > 0.5 ? 13 : 12 }),
      'threads grew from 12 to 13',
    ],
    ['a shard that does not answer', () => ({ heapMb: null }), 'did not answer'],
    ['a decision that was not exact', () => ({ differences: 1 }), 'differed from the decision from scratch'],
  ] as const) {
    it(`report ${what}`, () => {
      const { violations } = judge(samplesOf(change), 300);
      expect(violations).toHaveLength(1);
      expect(violations[0]).toContain(words);
    });
  }

  it('ignore the warm-up', () => {
    const samples = samplesOf((share) => ({ rssMb: share < 0.25 ? 400 + 2_400 * share : 1_000 }));
    expect(judge(samples, 300).violations).toEqual([]);
    expect(judge(samples, 0).violations).toHaveLength(1);
  });

  it('report a soak that is too short to judge', () => {
    const { verdicts, violations } = judge(samplesOf(() => ({})).slice(0, 8), 0);
    expect(verdicts).toEqual([]);
    expect(violations[0]).toContain('are too few');
  });

  it('compute the slope of a straight line exactly', () => {
    expect(
      slopePerHour([
        [0, 5],
        [1_800, 7],
        [3_600, 9],
      ]),
    ).toBeCloseTo(4);
    expect(slopePerHour([[5, 5]])).toBe(0);
  });
});

describe('the input of a soak', () => {
  it('reads figures with and without labels from an exposition', () => {
    const values = parseExposition('# HELP a b\na 1.5\nb{quantile="0.99"} 2e-3\nc NaN\n\n');
    expect([...values]).toEqual([
      ['a', 1.5],
      ['b{quantile="0.99"}', 0.002],
    ]);
  });

  it('tells bindings apart by what the need found, between two scrapes', () => {
    const paths = new BindingPaths();
    const scrape = (idle: readonly number[], drained: number, preempted: number) =>
      parseExposition(
        [
          ...['1', '2', '4', '+Inf'].map(
            (le, index) => `flotilla_binding_seconds_bucket{le="${le}",path="idle"} ${idle[index]}`,
          ),
          `flotilla_binding_seconds_bucket{le="4",path="drained"} ${drained}`,
          `flotilla_binding_seconds_bucket{le="+Inf",path="drained"} ${drained}`,
          `flotilla_binding_seconds_bucket{le="4",path="preempted"} 0`,
          `flotilla_binding_seconds_bucket{le="+Inf",path="preempted"} ${preempted}`,
        ].join('\n'),
      );
    const unknown = {
      bindIdleP99Ms: null,
      bindCreatedP99Ms: null,
      bindFreedP99Ms: null,
      bindWaitedP99Ms: null,
    };
    expect(paths.read(scrape([9, 9, 9, 9], 0, 0))).toEqual(unknown);
    expect(paths.read(null)).toEqual(unknown);
    const figures = paths.read(scrape([9, 59, 109, 109], 0, 5));
    expect(figures.bindIdleP99Ms).toBeCloseTo(3_960);
    expect(figures).toMatchObject({ bindCreatedP99Ms: null, bindFreedP99Ms: 4_000 });
    expect(paths.read(scrape([9, 59, 109, 109], 0, 5))).toEqual(unknown);
  });

  it('has defaults at full scale, and a warm-up of a quarter', () => {
    expect(parseSoakFlags([])).toMatchObject({
      machines: 500_000,
      clusters: 2_000,
      churn: '1%',
      minutes: 20,
    });
    expect(parseSoakFlags(['--minutes', '2'])!.warmUpSeconds).toBe(30);
    expect(parseSoakFlags(['--minutes', '60'])!.warmUpSeconds).toBe(300);
    expect(parseSoakFlags(['--help'])).toBeNull();
  });

  for (const words of [
    ['--minutes', '0'],
    ['--machines', '0'],
    ['--churn', '5'],
    ['--sample-every', '1ms'],
    ['x'],
  ]) {
    it(`refuses ${words.join(' ')} in one line`, () => {
      expect(() => parseSoakFlags(words)).toThrow(/^[^\n]+$/);
    });
  }
});

describe('npm run soak', { timeout: 240_000 }, () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'flotilla-soak-test-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('samples the real programs until SIGINT, ends them, and writes the results', async () => {
    const flags = ['--machines', '500', '--clusters', '2', '--minutes', '60', '--sample-every', '200ms'];
    const soak = spawn(process.execPath, [PROGRAM, ...flags, '--latency', '50ms/100ms', '--out', folder]);
    const exited = new Promise<number | null>((resolve) => soak.once('exit', resolve));
    const lines: string[] = [];
    try {
      for await (const line of createInterface(soak.stderr)) {
        lines.push(line);
        if (/binds\/s/.test(line) && soak.exitCode === null) soak.kill('SIGINT');
      }
      // The plan is sixty minutes, so the warm-up is not over: a soak that is too short to judge fails.
      expect(await exited, lines.join('\n')).toBe(1);
    } finally {
      soak.kill('SIGKILL');
    }
    const record = JSON.parse(readFileSync(join(folder, 'soak.generated.json'), 'utf8')) as SoakRecord;
    expect(record.samples.length).toBeGreaterThanOrEqual(6);
    const last = record.samples.at(-1)!;
    expect(last.sessions).toBe(2);
    expect(last.rssMb).toBeGreaterThan(20);
    expect(last.threads).toBeGreaterThan(1);
    expect(record.violations[0]).toContain('too few');
    expect(readFileSync(join(folder, 'soak.md'), 'utf8')).toContain('**ended early**');
    expect(readFileSync(join(folder, 'soak-memory.svg'), 'utf8')).toContain('<polyline');
    expect(readFileSync(join(folder, 'soak-samples.jsonl'), 'utf8').trim().split('\n').length).toBe(
      record.samples.length,
    );
    const address = /http:\/\/\S+\//.exec(lines.join('\n'))![0];
    await expect(fetch(address)).rejects.toThrow(); // the shard has ended
  });
});
