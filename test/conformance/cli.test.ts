import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../src/cli/conformance.ts';
import { CHECKS, CLOSING_CHECKS } from '../../src/conformance/suite.ts';
import type { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import { type ServedProvider, serveProvider } from '../../src/simulation/provider/server.ts';
import { callsOf, withGet } from './mutants/bend.ts';
import { newProvider } from './subject.ts';

interface Ended {
  readonly exitCode: number;
  readonly out: string;
  readonly error: string;
}

async function command(...argv: string[]): Promise<Ended> {
  const out: string[] = [];
  const error: string[] = [];
  const exitCode = await run(argv, { out: (text) => out.push(text), error: (text) => error.push(text) });
  return { exitCode, out: out.join(''), error: error.join('') };
}

/** One line on stderr, without a stack trace. */
function expectOneClearLine({ exitCode, out, error }: Ended, part: string): void {
  expect(exitCode).toBe(2);
  expect(out).toBe('');
  expect(error.trimEnd().split('\n')).toHaveLength(1);
  expect(error).toContain(part);
}

let provider: SimulatedProvider;
let served: ServedProvider;
let directory: string;

beforeAll(async () => {
  provider = newProvider();
  served = await serveProvider(provider, '127.0.0.1:0');
  directory = mkdtempSync(join(tmpdir(), 'conformance-'));
});

afterAll(async () => {
  await served.close();
  provider.close();
  rmSync(directory, { recursive: true });
});

describe('flotilla conformance with wrong flags', () => {
  for (const [argv, part] of [
    [[], '--target HOST:PORT is missing'],
    [['--target', 'nowhere'], 'must be HOST:PORT'],
    [['--target', '127.0.0.1:1', '--style', 'lazy'], 'must be auto, sync, async'],
    [['--target', '127.0.0.1:1', '--timeout', 'soon'], 'such as 500ms'],
    [['--target', '127.0.0.1:1', '--timeout', '0s'], 'such as 500ms'],
    [['--target', '127.0.0.1:1', '--call-timeout', '9999999m'], 'up to 60m'],
    [['--target', '127.0.0.1:1', '--only', 'fencing/none'], 'neither a check nor an area'],
    [['--target', '127.0.0.1:1', '--shard-id', ''], '--shard-id is empty'],
    [['--target', '127.0.0.1:1', '--verbose'], '--verbose'],
    [['127.0.0.1:1'], '127.0.0.1:1'],
  ] as const) {
    it(`explains the mistake in ${JSON.stringify(argv.join(' '))} in one line`, async () => {
      expectOneClearLine(await command(...argv), part);
    });
  }

  it('prints its help with --help and every check with --list', async () => {
    const help = await command('--help');
    expect(help).toMatchObject({ exitCode: 0, error: '' });
    expect(help.out).toContain('--allow-delete');
    const list = await command('--list');
    for (const { id } of [...CHECKS, ...CLOSING_CHECKS]) expect(list.out).toContain(`${id}\n`);
  });
});

describe('flotilla conformance without a provider at the target', () => {
  it('reports a target where nothing listens', async () => {
    const ended = await command('--target', '127.0.0.1:1', '--call-timeout', '300ms');
    expectOneClearLine(ended, 'No provider answers at 127.0.0.1:1');
  });

  it('reports a target that does not speak gRPC', async () => {
    const sockets = new Set<Socket>();
    const garbage: Server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    await new Promise<void>((resolve) => garbage.listen(0, '127.0.0.1', resolve));
    const { port } = garbage.address() as { port: number };
    const ended = await command('--target', `127.0.0.1:${port}`, '--call-timeout', '500ms');
    for (const socket of sockets) socket.destroy();
    garbage.close();
    expectOneClearLine(ended, 'No provider answers at');
  });

  it('reports a target that serves another gRPC service', async () => {
    const server = new grpc.Server();
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      ),
    );
    const ended = await command('--target', `127.0.0.1:${port}`);
    server.forceShutdown();
    expectOneClearLine(ended, 'does not serve bigfleet.v1alpha1.CapacityProvider');
  });
});

describe('flotilla conformance with a provider', () => {
  it('exits with 0 when no check failed, and writes the same result as text, JSON and JUnit', async () => {
    const jsonPath = join(directory, 'report.json');
    const junitPath = join(directory, 'report.xml');
    const flags = ['--only', 'lifecycle', '--only', 'population', '--timeout', '5s', '--style', 'sync'];
    const ended = await command(
      '--target',
      served.address,
      ...flags,
      '--json',
      jsonPath,
      '--junit',
      junitPath,
    );
    expect(ended).toMatchObject({ exitCode: 0, error: '' });
    expect(ended.out).toContain('pass  lifecycle/create  (states seen: IDLE)');
    expect(ended.out).toMatch(/conforms: 10 passed, 0 failed, 0 skipped/);

    const json = JSON.parse(readFileSync(jsonPath, 'utf8'));
    expect(json.totals).toEqual({ passed: 10, failed: 0, skipped: 0 });
    expect(json.checks.map((check: { id: string }) => check.id)).toContain('population/put-back');
    const junit = readFileSync(junitPath, 'utf8');
    expect(junit).toContain('<testsuites name="provider conformance" tests="10" failures="0" skipped="0"');
    expect(junit.match(/<testcase /g)).toHaveLength(10);
  });

  it('exits with 1 when a check failed, and prints the rule, the expectation, the answer and the fix', async () => {
    const wrong = withGet(callsOf(provider), (machine) => ({ ...machine, zone: `not ${machine.zone}` }));
    const bent = await serveProvider(wrong, '127.0.0.1:0', { closeGraceMs: 10 });
    const junitPath = join(directory, 'failed.xml');
    const ended = await command(
      '--target',
      bent.address,
      '--only',
      'list/get-equals-list',
      '--junit',
      junitPath,
    );
    await bent.close();
    expect(ended.exitCode).toBe(1);
    expect(ended.out).toContain('FAIL  list/get-equals-list');
    expect(ended.out).toMatch(/contract {2}Get and List return the same record/);
    expect(ended.out).toMatch(/expected {2}List and Get to agree/);
    expect(ended.out).toMatch(/actual {4}zone is "zone-a" in List and "not zone-a" in Get/);
    expect(ended.out).toMatch(/fix {7}build both answers/);
    expect(ended.out).toContain('does not conform: 0 passed, 1 failed');
    expect(readFileSync(junitPath, 'utf8')).toContain('&quot;not zone-a&quot; in Get');
  });

  it('uses the shard id of --shard-id', async () => {
    await command('--target', served.address, '--only', 'lifecycle/configure', '--shard-id', 'my-shard');
    const tokens = provider.ledger
      .entries()
      .flatMap(({ token }) => (token === undefined ? [] : [token.shardId]));
    expect(tokens).toContain('my-shard');
  });

  it('exits with 2 when a signal stops it, after putting the machines back', async () => {
    const createdBefore = provider.ledger.count('create', 'started');
    const running = command('--target', served.address);
    await expect.poll(() => provider.ledger.count('create', 'started')).toBeGreaterThan(createdBefore);
    process.emit('SIGINT');
    const ended = await running;
    expect(ended.exitCode).toBe(2);
    expect(ended.error).toContain('returning machines to their states');
    expect(ended.out).toContain('was not checked completely');
    expect(ended.out).toContain('pass  population/put-back');
    expect(process.listenerCount('SIGINT')).toBe(0);
  });

  it('reports a report file that it cannot write', async () => {
    const path = join(directory, 'missing', 'report.json');
    const ended = await command('--target', served.address, '--only', 'list', '--json', path);
    expect(ended.exitCode).toBe(2);
    expect(ended.error).toContain(`Cannot write the report to ${path}`);
  });
});
