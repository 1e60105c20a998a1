import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/base/flag-words.ts';
import { MachineState } from '../../../src/machine/state.ts';
import { ProviderClient } from '../../../src/provider/client/client.ts';
import { FencingTokens } from '../../../src/provider/client/fencing.ts';
import { CATALOGUES } from '../../../src/simulation/catalogue/catalogue.ts';
import { parseProviderFlags } from '../../../src/simulation/provider/flags.ts';
import { generateMachines } from '../../../src/simulation/provider/generate.ts';
import { HELP } from '../../../src/simulation/provider/help.ts';
import { InvalidProviderSettingError, providerSettings } from '../../../src/simulation/provider/settings.ts';
import type { Messages } from '../../../src/wire/protocol.generated.ts';
import { listBatch } from '../../provider/list-batch.ts';
import { call } from './grpc-call.ts';

const ENTRY = fileURLToPath(new URL('../../../dist/src/cli/provider.js', import.meta.url));
const SCRIPT = `import(process.argv[1]).then(({ run }) => run(process.argv.slice(2))).then((code) => { process.exitCode = code; })`;

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL'); // one that a failed test left behind
});

function start(...flags: string[]) {
  const child = spawn(process.execPath, ['-e', SCRIPT, ENTRY, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const errors: string[] = [];
  child.stderr.on('data', (chunk) => errors.push(String(chunk)));
  return { child, exited, errors, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
}

describe('flotilla provider', () => {
  it('prints its address, serves the configured fleet, and ends with exit code 0 on SIGTERM', async () => {
    const { child, exited, lines } = start(
      ...'--listen 127.0.0.1:0 --machines 200 --configured 0.9 --idle 0.05 --name rack-a'.split(' '),
    );
    const first: string = (await lines.next()).value;
    expect(first).toMatch(/^listening on 127\.0\.0\.1:\d+$/);
    const address = first.slice('listening on '.length);
    const client = new ProviderClient({ name: 'p', address }, FencingTokens.create('s', 1));
    const batch = await listBatch(client);
    client.close();
    const mute = connect(Number(address.split(':')[1]), '127.0.0.1'); // a connection without any traffic
    mute.on('error', () => {});
    await new Promise((resolve) => mute.once('connect', resolve));
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
    mute.destroy();
    expect(batch.rowCount).toBe(200);
    expect([...batch.rejectedCounts]).toEqual([0, 0, 0]);
  });

  it('continues from its state file after it was killed, and names a damaged file in one line', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'flotilla-provider-'));
    const path = join(directory, 'state');
    const flags =
      `--listen 127.0.0.1:0 --machines 50 --memory-in Gi --shuffle-listings --state ${path}`.split(' ');
    const acks: Messages['TransitionAck'][] = [];
    for (const shardEpoch of [1, 2]) {
      const { child, exited, lines } = start(...flags);
      const address: string = (await lines.next()).value.slice('listening on '.length);
      const client = new Client(address, credentials.createInsecure());
      const { machines } = await call(client, 'List', ['ListFilter', 'MachineList'], {});
      expect(machines).toHaveLength(50);
      for (const { resources } of machines) expect(resources?.resources.memory).toMatch(/^\d+Gi$/);
      const machineId = acks[0]?.machine?.id ?? machines.find(({ state }) => state === MachineState.Idle)!.id;
      const token = { shardId: 's', shardEpoch, sequenceNumber: 1 };
      const binding = { clusterId: 'blue', shardMetadata: { key: 'value' } };
      acks.push(
        await call(client, 'Configure', ['ConfigureRequest', 'TransitionAck'], {
          machineId,
          ...token,
          ...binding,
        }),
      );
      client.close();
      child.kill('SIGKILL');
      await exited;
    }
    expect(acks[1]).toEqual(acks[0]);
    appendFileSync(path, 'nonsense\n');
    const { exited, errors } = start(...flags);
    expect(await exited).toBe(2);
    expect(errors.join('').trim().split('\n')).toHaveLength(1);
    expect(errors.join('')).toMatch(/is damaged in line \d+: the checksum is wrong/);
    rmSync(directory, { recursive: true });
  });

  it('reports a wrong flag in one line and exits with 2', async () => {
    const { exited, errors, lines } = start('--machines', 'many');
    expect(await exited).toBe(2);
    expect(errors.join('').trim().split('\n')).toHaveLength(1);
    expect(errors.join('')).toContain('--machines must be a whole number ≥ 0 and ≤ 4194304, not "many"');
    expect((await lines.next()).done).toBe(true);
  });

  it('names every flag in its help', () => {
    for (const flag of [
      'listen',
      'tls-ca',
      'latency',
      'answer-after',
      'silence',
      'transition-timeout',
      'fault',
      'state',
      'memory-in',
      'shuffle-listings',
      'quota',
      'no-cursors',
      'repair-after',
    ]) {
      expect(HELP).toContain(`--${flag}`);
    }
  });

  it('reads --answer-after as a mean and a p99', () => {
    expect(parseProviderFlags([]).answerAfter).toBeNull();
    const { answerAfter } = parseProviderFlags(['--answer-after', '3s/7s']);
    expect(answerAfter).toEqual({ meanMs: 3_000, p99Ms: 7_000 });
    expect(() => parseProviderFlags(['--answer-after', '7s/3s'])).toThrow('is MEAN/P99');
  });

  it('reads settings for all operations and for one', () => {
    const flags = '--latency 2s/10s --latency drain=5m --fail create=0.25 --unsupported delete --no-cursors';
    const { settings } = parseProviderFlags(flags.split(' '));
    const { operations, unsupported, cursors } = providerSettings(settings);
    expect(operations.create).toMatchObject({
      latency: { meanMs: 2_000, p99Ms: 10_000 },
      failProbability: 0.25,
    });
    expect(operations.drain).toMatchObject({
      latency: { meanMs: 300_000, p99Ms: 900_000 },
      failProbability: 0,
    });
    expect({ unsupported, cursors }).toEqual({ unsupported: ['delete'], cursors: false });
  });

  for (const [flags, text] of [
    ['--bogus', "Unknown option '--bogus'"],
    ['extra', 'extra'],
    ['--catalogue huge', 'realistic or small'],
    ['--fail 2', '--fail must be between 0 and 1'],
    ['--fail build=0.1', 'create, configure, drain, delete'],
    ['--latency soon', '250ms, 2s or 5m'],
    ['--configured 0.8 --idle 0.4', 'more than 1'],
    ['--configured 99%', '--configured is at most 0.97'],
    ['--clusters 4 --machines-per-cluster 9', 'give one of them'],
    ['--clusters 1 --machines 10000', 'at most 5000 machines'],
    ['--configured 101%', '--configured must be between 0 and 1'],
    ['--fault build', '--fault begins with create, configure, drain, delete, not "build"'],
    ['--fault configure,team-a', '--fault has the form OPERATION[,cluster=NAME]'],
    ['--fault configure,cluster=', 'has an empty value'],
    ['--fault configure,end=boom', 'failed, undone, gone, never, not "boom"'],
    ['--fault configure,share=2', '--fault …,share= must be between 0 and 1'],
    ['--fault drain,after=soon', '--fault …,after= must be a duration'],
    ['--memory-in GB', '--memory-in takes Ki, Mi, Gi, not "GB"'],
    ['--state ', '--state takes the path of a file'],
    ['--transition-timeout 0s', '--transition-timeout must be above 0'],
    ['--quota gpu=4', 'TYPE/ZONE/HOW=N'],
    ['--interruption-outcome exploded', 'failed, speculative, vanished'],
    ['--tls-cert a.pem', 'all three or none'],
    ['--listen 0.0.0.0:7790', 'beyond loopback'],
    ['--listen nowhere', 'HOST:PORT'],
    ['--machines 5000000', '≤ 4194304'],
    ['--seed 1.5', '--seed must be a whole number'],
  ] as const) {
    it(`rejects ${flags}`, () => {
      expect(() => parseProviderFlags(flags.split(' '))).toThrow(UsageError);
      expect(() => parseProviderFlags(flags.split(' '))).toThrow(text);
    });
  }

  it('reads a fault, whose need may contain commas', () => {
    const rule = 'configure,share=25%,end=undone,after=2s,type=gpu-8,cluster=blue,need=reqs=zone:1:a,b;';
    expect(parseProviderFlags(['--fault', rule, '--fault', 'drain']).settings.faults).toEqual([
      {
        operation: 'configure',
        cluster: 'blue',
        need: 'reqs=zone:1:a,b;',
        instanceType: 'gpu-8',
        share: 0.25,
        end: 'undone',
        afterMs: 2_000,
      },
      {
        operation: 'drain',
        cluster: null,
        need: null,
        instanceType: null,
        share: 1,
        end: 'failed',
        afterMs: null,
      },
    ]);
  });

  it('rejects a p99 below the mean', () => {
    const { settings } = parseProviderFlags(['--latency', '10s/2s']);
    expect(() => providerSettings(settings)).toThrow(InvalidProviderSettingError);
  });

  it('listens beyond loopback with --insecure', () => {
    expect(parseProviderFlags(['--listen', '0.0.0.0:1', '--insecure']).listen).toBe('0.0.0.0:1');
  });
});

describe('the catalogue', () => {
  const plan = {
    machineCount: 4_000,
    configuredShare: 0.9,
    idleShare: 0.05,
    clusterCount: 16,
    seed: 3,
  };

  it('gives the same fleet for the same seed, and a different one for another', () => {
    const fleet = (seed: number) => [...generateMachines(CATALOGUES.realistic!, { ...plan, seed })];
    expect(fleet(3)).toEqual(fleet(3));
    expect(fleet(3)).not.toEqual(fleet(4));
  });

  it('has distinct ids, three zones, racks of at most forty machines and the configured shares', () => {
    const fleet = [...generateMachines(CATALOGUES.realistic!, plan)];
    expect(new Set(fleet.map(({ id }) => id)).size).toBe(4_000);
    expect(new Set(fleet.map(({ kind }) => kind.zone)).size).toBe(3);
    expect(new Set(fleet.map(({ kind }) => kind.instanceType)).size).toBe(10);
    const byRack = new Map<string, number>();
    for (const { kind } of fleet) {
      const rack = kind.labels['topology.kubernetes.io/rack']!;
      byRack.set(rack, (byRack.get(rack) ?? 0) + 1);
    }
    expect(Math.max(...byRack.values())).toBe(40);
    const bound = fleet.filter(({ cluster }) => cluster !== undefined);
    expect(Math.abs(bound.length - 3_600)).toBeLessThan(100);
    expect(new Set(bound.map(({ cluster }) => cluster)).size).toBe(16);
  });
});
