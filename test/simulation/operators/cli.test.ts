import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/base/flag-words.ts';
import { HELP, parseOperatorsFlags } from '../../../src/simulation/operators/flags.ts';
import { ScriptedShard } from './scripted-shard.ts';

const MAIN = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));

const children: ChildProcess[] = [];
const shards: ScriptedShard[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL'); // one that a failed test left behind
  for (const shard of shards.splice(0)) shard.close();
});

async function shardThatBinds(): Promise<ScriptedShard> {
  const shard = await new ScriptedShard({ binds: true }).listen();
  shards.push(shard);
  return shard;
}

function start(...flags: string[]) {
  const child = spawn(process.execPath, [MAIN, 'operators', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const errors: string[] = [];
  child.stderr.on('data', (chunk) => errors.push(String(chunk)));
  return { child, exited, errors, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
}

const SMALL = '--clusters 3 --machines 30 --catalogue small --ramp 0s --rollup-interval 50ms'.split(' ');

describe('flotilla operators', () => {
  it('prints that it is connected, then progress, and a summary when a signal ends it', async () => {
    const shard = await shardThatBinds();
    const { child, exited, lines } = start('--shard', shard.address, ...SMALL, '--report-every', '100ms');
    expect((await lines.next()).value).toBe(`connected 3 clusters to ${shard.address}`);
    for (let line = ''; !line.includes('binds 29 '); line = (await lines.next()).value);
    child.kill('SIGTERM');
    const rest: string[] = [];
    for await (const line of { [Symbol.asyncIterator]: () => lines }) rest.push(line);
    expect(await exited).toBe(0);
    expect(rest.join('\n')).toMatch(/bindings +29, /);
  });

  it('prints one JSON object per line with --json, and ends after --duration', async () => {
    const shard = await shardThatBinds();
    const flags = ['--json', '--duration', '6s', '--report-every', '200ms'];
    const { exited, lines } = start('--shard', shard.address, ...SMALL, ...flags);
    const written: { event: string }[] = [];
    for await (const line of { [Symbol.asyncIterator]: () => lines }) written.push(JSON.parse(line));
    expect(await exited).toBe(0);
    expect(written[0]).toEqual({ event: 'connected', clusters: 3, address: shard.address });
    expect(written[1]?.event).toBe('progress');
    expect(written.at(-1)).toMatchObject({ event: 'summary', nodes: { wanted: 29 }, malformedFrames: 0 });
  });

  it('ends with one line and exit code 1 if there is no shard', async () => {
    const { exited, errors } = start('--shard', '127.0.0.1:1', '--clusters', '2', '--give-up', '300ms');
    expect(await exited).toBe(1);
    expect(errors.join('').trim().split('\n')).toHaveLength(1);
    expect(errors.join('')).toMatch(
      /none of 2 clusters got a session with 127\.0\.0\.1:1 \(.*UNAVAILABLE|status 14/,
    );
  });

  it('reports a wrong flag or a missing TLS file in one line and exits with 2', async () => {
    const tls = ['--tls-cert', 'none.pem', '--tls-key', 'none.key', '--tls-ca', 'none-ca.pem'];
    for (const flags of [['--churn', 'much'], tls]) {
      const { exited, errors } = start(...flags);
      expect(await exited).toBe(2);
      expect(errors.join('').trim().split('\n')).toHaveLength(1);
    }
  });

  it('names every flag in its help', () => {
    for (const flag of ['shard', 'churn', 'burst-every', 'bootstrap-silence', 'tls-ca', 'give-up', 'json']) {
      expect(HELP).toContain(`--${flag}`);
    }
  });

  it('reads sizes, shares and times', () => {
    const flags = parseOperatorsFlags(
      '--clusters 2000 --machines 500000 --churn 1% --burst 0.05 --bootstrap-delay 100ms-2s --seed 7'.split(
        ' ',
      ),
    );
    expect(flags.fleet).toMatchObject({
      clusterCount: 2_000,
      machineCount: 500_000,
      churnShare: 0.01,
      seed: 7,
      weather: { burst: { share: 0.05, everyMs: 180_000, lengthMs: 60_000 } },
      behaviour: { rollupIntervalMs: 10_000, bootstrapDelayMs: { min: 100, max: 2_000 } },
    });
    expect(parseOperatorsFlags(['--clusters', '4', '--machines-per-cluster', '9']).fleet.machineCount).toBe(
      36,
    );
  });

  for (const [flags, text] of [
    ['--bogus', "Unknown option '--bogus'"],
    ['extra', 'extra'],
    ['--catalogue huge', 'realistic or small'],
    ['--churn 120%', '--churn must be between 0 and 1'],
    ['--clusters 0', '--clusters must be a whole number ≥ 1'],
    ['--machines 9 --machines-per-cluster 3', 'give one of them'],
    ['--machines-per-cluster 9000', '≤ 5000'],
    ['--bootstrap-delay 2s-1s', 'from the shorter to the longer'],
    ['--rollup-interval 0ms', 'at least 1ms'],
    ['--shard nowhere', 'HOST:PORT'],
    ['--shard 10.0.0.1:7780', 'beyond loopback'],
    ['--tls-cert a.pem', 'all three or none'],
    ['--connections 4 --tls-cert {cluster}.pem --tls-key k --tls-ca c', 'each cluster a certificate'],
  ] as const) {
    it(`rejects ${flags}`, () => {
      expect(() => parseOperatorsFlags(flags.split(' '))).toThrow(UsageError);
      expect(() => parseOperatorsFlags(flags.split(' '))).toThrow(text);
    });
  }
});
