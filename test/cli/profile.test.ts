/** `flotilla profile`: sums are those of the samples, and a shard that ends leaves a profile of each of its threads. */
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { type CpuProfile, summarise } from '../../src/cli/profile/cpu-profile.ts';
import { metric, Processes, until } from '../service/processes.ts';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

let processes = new Processes();
afterEach(async () => {
  await processes.end();
  processes = new Processes();
});

interface Shown {
  readonly durationMs: number;
  readonly busyMs: number;
  readonly selfMsByPart: Readonly<Record<string, number>>;
  readonly functions: readonly { readonly name: string; readonly place: string }[];
}

function profile(...argv: string[]): Promise<{ code: number; out: string; error: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, 'profile', ...argv], { maxBuffer: 1 << 26 }, (failure, out, error) => {
      resolve({ code: typeof failure?.code === 'number' ? failure.code : 0, out, error });
    });
  });
}

const frame = (functionName: string, lineNumber = -1) => ({
  functionName,
  url: lineNumber < 0 ? '' : 'file:///app/made-up.js',
  lineNumber,
  columnNumber: lineNumber,
});

/** outer calls inner, inner calls itself; then nothing runs. */
const MADE_UP: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 5] },
    { id: 2, callFrame: frame('outer', 0), children: [3] },
    { id: 3, callFrame: frame('inner', 9), children: [4] },
    { id: 4, callFrame: frame('inner', 9) },
    { id: 5, callFrame: frame('(idle)') },
  ],
  startTime: 1_000_000,
  endTime: 1_010_000,
  samples: [2, 3, 4, 5],
  timeDeltas: [1_000, 2_000, 3_000, 1_000],
};

describe('a profile, summed up', () => {
  it('gives the time until the next sample to the function itself, and once to each that called it', () => {
    const { functions, busyMs, durationMs } = summarise(MADE_UP);
    expect(functions.map(({ name, selfMs, totalMs }) => [name, selfMs, totalMs])).toEqual([
      ['inner', 4, 4],
      ['outer', 2, 6],
    ]);
    expect(busyMs).toBe(6);
    expect(durationMs).toBe(10);
  });

  it('takes no time away when the clock was set back', () => {
    const { functions } = summarise({ ...MADE_UP, timeDeltas: [1_000, -500, 3_000, 1_000] });
    expect(functions.every(({ selfMs }) => selfMs >= 0)).toBe(true);
  });
});

describe('flotilla profile', () => {
  it('shows parts and functions as text, by own time or by total', async () => {
    const file = join(processes.folder(), 'CPU.20260101.000000.7.0.001.cpuprofile');
    writeFileSync(file, JSON.stringify(MADE_UP));
    const own = await profile(file);
    expect(own.code).toBe(0);
    expect(own.out).toContain('(main thread): busy for 0.01 s of 0.01 s (60.0 %), 4 samples');
    expect(own.out.indexOf('inner')).toBeLessThan(own.out.indexOf('outer'));
    const total = await profile(file, '--total', '--top', '1');
    expect(total.out).toContain('outer');
    expect(total.out).not.toContain('inner');
  });

  for (const [argv, code, says] of [
    [[], 2, 'No file is given'],
    [['x', '--top', '0'], 2, '--top'],
    [['no-such-file'], 1, 'no-such-file'],
    [[MAIN], 1, 'is not a CPU profile'],
  ] as const) {
    it(`given ${JSON.stringify(argv.map((word) => (word === MAIN ? 'a program' : word)))}, then it says so in one line and exits ${code}`, async () => {
      const ended = await profile(...argv);
      expect(ended.code).toBe(code);
      expect(ended.error).toContain(says);
      expect(ended.error.trim().split('\n')).toHaveLength(1);
      expect(ended.out).toBe('');
    });
  }

  it('shows a shard that was ended by a signal: the main thread and its workers, by lines of the sources', async () => {
    const folder = processes.folder();
    const profiles = join(folder, 'profiles');
    mkdirSync(profiles);
    const provider = await processes.provider('--machines', '2000');
    const child = spawn(process.execPath, [
      ...['--cpu-prof', `--cpu-prof-dir=${profiles}`, MAIN, 'shard', '--provider-addr', provider.address],
      ...['--listen', '127.0.0.1:0', '--metrics-addr', '127.0.0.1:0', '--data-dir', join(folder, 'data')],
      ...['--cycle-interval', '200ms', '--workers', '1'],
    ]);
    const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
    child.stderr.resume();
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
    });
    const http = await until(
      'its first line',
      () => /http (\S+)\n/.exec(printed)?.[1] ?? '',
      (seen) => seen !== '',
    );
    await until(
      'something to sample',
      async () => (await metric(http, 'bigfleet_shard_cycle_duration_seconds_count'))[''] ?? 0,
      (cycles) => cycles >= 10,
    );
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    const files = readdirSync(profiles).sort();
    expect(files.length).toBeGreaterThanOrEqual(3); // the main thread, one that calls, one that lists
    const { out } = await profile(...files.map((file) => join(profiles, file)), '--json', '--top', '5000');
    const shown = JSON.parse(out) as Shown[];
    const parts = (one: Shown) => Object.keys(one.selfMsByPart);
    expect(shown.some((one) => parts(one).includes('src/shard'))).toBe(true);
    expect(shown.some((one) => parts(one).includes('workers'))).toBe(true);
    const places = shown.flatMap(({ functions }) => functions.map(({ place }) => place));
    expect(places.some((place) => /^src\/listing\/decode\/[a-z-]+\.ts:\d+$/.test(place))).toBe(true);
  });
});
