import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../src/base/flag-words.ts';
import { parseUpFlags } from '../../src/cli/up-flags.ts';
import { pageLines, progressLine, type UpSample } from '../../src/cli/up-view.ts';
import type { ApiOverview } from '../../src/dashboard/api/types.ts';
import { findEtcd } from '../../src/simulation/chaos/etcd-server.ts';
import { Processes, until } from '../service/processes.ts';

let processes = new Processes();
afterEach(async () => {
  await processes.end();
  processes = new Processes();
});

describe('flotilla up', { timeout: 180_000 }, () => {
  it('binds machines, prints the address of its dashboard, and stops all processes on SIGINT', async () => {
    const up = processes.start('up', '--machines', '300', '--clusters', '3', '--latency', '100ms/300ms');
    const dashboard = await until(
      'the address of the dashboard',
      () => /dashboard (http:\S+)/.exec(up.output.join('\n'))?.[1] ?? '',
      (url) => url !== '',
    );
    await until(
      'a line with actions',
      () => up.output.join('\n'),
      (text) => /Bootstrap \d+/.test(text),
      120_000,
    );
    const page = await fetch(dashboard);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('Flotilla');
    up.child.kill('SIGINT');
    expect(await up.exited).toBe(0);
    await expect(fetch(dashboard)).rejects.toThrow(); // no process is left
  });

  it('leaves no process when it is killed', async () => {
    const up = processes.start('up', '--machines', '100', '--clusters', '1');
    const dashboard = await until(
      'the address of the dashboard',
      () => /dashboard (http:\S+)/.exec(up.output.join('\n'))?.[1] ?? '',
      (url) => url !== '',
    );
    up.child.kill('SIGKILL');
    await up.exited;
    const isGone = () =>
      fetch(dashboard).then(
        () => false,
        () => true,
      );
    await until('the dashboard is gone', isGone, (gone) => gone);
  });

  it('F4: with --standby k kills the active replica, the other one takes over, and the page follows', async () => {
    processes.environment = { FLOTILLA_TEST_ETCD: await findEtcd() };
    processes.hasInput = true;
    const fleet = ['--machines', '100', '--clusters', '1', '--latency', '100ms/300ms'];
    const up = processes.start('up', '--standby', ...fleet, '--', '--lease', '2s');
    const printed = (what: string, text: RegExp) =>
      until(
        what,
        () => text.exec(up.output.join('\n')),
        (found) => found !== null,
        150_000,
      );
    await printed('a line with actions', /Bootstrap \d+/);
    up.child.stdin!.write('k');
    const takeover = /killed replica (\w)(?:.|\n)*replica (\w) is active now: (http:\S+)/;
    const [, killed, name, page] = (await printed('the takeover', takeover))!;
    expect(name).not.toBe(killed);
    expect((await fetch(page!)).status).toBe(200);
    await printed('the former one as its supervisor sees it', /replica \w ended with a signal/);
    up.child.kill('SIGINT');
    expect(await up.exited).toBe(0);
  });

  it('says in one line that --standby needs an etcd, and starts nothing', async () => {
    processes.environment = { PATH: '/nowhere', FLOTILLA_TEST_ETCD: '' };
    const up = processes.start('up', '--standby', '--machines', '100');
    expect(await up.exited).toBe(2);
    const lines = up.output.filter((line) => !/^flotilla up: (?:\d+ machines|stopping)/.test(line));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('--standby needs an etcd on this machine, and there is none on the PATH');
  });

  it('exits with 1 and names the process when one of them dies', async () => {
    const up = processes.start('up', '--machines', '100', '--clusters', '1', '--plain');
    await until(
      'the address of the dashboard',
      () => up.output.join('\n'),
      (text) => text.includes('dashboard http'),
    );
    const children = readFileSync(`/proc/${up.child.pid}/task/${up.child.pid}/children`, 'utf8');
    process.kill(Number(children.trim().split(' ')[0]), 'SIGKILL');
    expect(await up.exited).toBe(1);
    expect(up.output.join('\n')).toContain('ended with a signal');
  });

  it('exits with 2 and one line when the shard cannot start', async () => {
    const up = processes.start('up', '--machines', '100', '--', '--cycle-interval', 'soon');
    expect(await up.exited).toBe(2);
    const errors = up.output.filter(
      (line) => !line.startsWith('flotilla up: ') || line.includes('ended with'),
    );
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain('cycle-interval');
  });
});

describe('the command line of flotilla up', () => {
  it('defaults to 10,000 machines and one cluster for every 250 machines', () => {
    expect(parseUpFlags([])).toMatchObject({ machines: 10_000, clusters: 40, seed: 1, shardFlags: [] });
    expect(parseUpFlags(['--machines', '500000']).clusters).toBe(2_000);
    expect(parseUpFlags(['--', '--dry-run']).shardFlags).toEqual(['--dry-run']);
  });

  for (const [machines, executeConcurrency, latency, isIncremental] of [
    [1, 256, '2000ms/8000ms', false],
    [10_000, 256, '2000ms/8000ms', false],
    [50_000, 256, '2000ms/8000ms', false],
    [100_000, 256, '2000ms/8000ms', true],
    [200_000, 512, '1250ms/5000ms', true],
    [500_000, 1_024, '500ms/2000ms', true],
    [2_000_000, 4_096, '125ms/500ms', true],
  ] as const) {
    it(`sizes ${machines} machines: ${executeConcurrency} actions at a time, operations of ${latency}`, () => {
      const { sizing } = parseUpFlags(['--machines', `${machines}`]);
      expect(sizing).toEqual({ executeConcurrency, latency, isIncremental });
    });
  }

  it('takes a latency that is given as it is', () => {
    const { sizing } = parseUpFlags(['--machines', '500000', '--latency', '3s/4s']);
    expect(sizing).toEqual({ executeConcurrency: 1_024, latency: '3s/4s', isIncremental: true });
  });

  for (const words of [
    ['--machines', '0'],
    ['--clusters', '11', '--machines', '10'],
    ['--seconds', 'x'],
    ['--nope'],
    ['stray'],
  ]) {
    it(`refuses ${words.join(' ')} with one line`, () => {
      expect(() => parseUpFlags(words)).toThrow(UsageError);
      try {
        parseUpFlags(words);
      } catch (error) {
        expect((error as Error).message.split('\n')).toHaveLength(1);
      }
    });
  }
});

const COUNTS = {
  Speculative: 5,
  Creating: 0,
  Idle: 1,
  Configuring: 0,
  Configured: 4,
  Draining: 0,
  Deleting: 0,
  Failed: 0,
};

const SAMPLE = {
  elapsedMs: 65_000,
  cycleMs: 1.25,
  actionsByKind: { Bootstrap: 4, Provision: 0 },
  operators: 'connected',
  overview: {
    shardId: 'shard-0',
    epoch: 3,
    cycle: 12,
    machines: 10,
    needs: 4,
    unmetNeeds: 1,
    byState: COUNTS,
    cost: { totalUsd: 12.4, idleUsd: 1 },
    queue: {
      inFlight: 2,
      concurrency: 256,
      queued: 1,
      readsInFlight: 0,
      stuckMachines: 0,
      machinesInBackoff: 0,
    },
    rails: { heldBack: '' },
    replica: null,
  } as unknown as ApiOverview,
} satisfies UpSample;

describe('the output of flotilla up', () => {
  it('is one line per sample when it is no terminal', () => {
    expect(progressLine(SAMPLE)).toBe(
      '65s  cycle 12 1.3 ms  needs 4 (1 unmet)  configured 4, idle 1, offers 5  in flight 2, queued 1  $12/h  Bootstrap 4',
    );
  });

  for (const columns of [40, 80, 200]) {
    it(`is a page no wider than ${columns} columns in a terminal`, () => {
      const lines = pageLines(SAMPLE, 'http://127.0.0.1:8780/', columns);
      for (const line of lines) {
        expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(columns);
      }
      expect(lines.join('\n')).toContain('Configured');
    });
  }
});
