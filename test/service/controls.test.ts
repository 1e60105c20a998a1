/** The drills of an on-call engineer on real processes: each is one command, and one command undoes it. */
import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ChannelCredentials } from '@grpc/grpc-js';
import { afterAll, describe, expect, it } from 'vitest';
import { AdminClient } from '../../src/admin/client.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { SimulatedOperator } from '../../src/simulation/operators/operator.ts';
import type { TlsFiles } from '../../src/tls/files.ts';
import { type Authority, issue, makeAuthority } from '../tls/certificates.ts';
import { metric, Processes, ProviderTruth, until } from './processes.ts';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const FORGETFUL = fileURLToPath(new URL('./forgetful-provider.mjs', import.meta.url));
const FAST = [
  '--cycle-interval',
  '200ms',
  '--workers',
  '1',
  '--empty-rollup-guard=false',
  '--reclaim-cap-fraction',
  '1',
];
const PATIENCE_MS = 120_000;

function flotilla(...words: string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...words], { timeout: PATIENCE_MS }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), out: stdout + stderr }),
    );
  });
}

const NEED: RollupRow = {
  requirements: [],
  aggregate: { cpu: '16' },
  minUnit: { cpu: '1' },
  priority: 1_000,
  spread: [],
  interruptionBucket: 1,
  reclamationBucket: 1,
  group: '',
};

describe('controls of a real shard', { timeout: 600_000 }, () => {
  const processes = new Processes();
  const closers: (() => void | Promise<void>)[] = [];
  afterAll(async () => {
    for (const close of closers.reverse()) await close();
    await processes.end();
  });

  it('H1, H2: reclaims of one cluster stop and go on by one command each, over a restart', async () => {
    const provider = await processes.provider('--machines', '40', '--configured', '0', '--idle', '1');
    const truth = new ProviderTruth(provider.address);
    closers.push(() => truth.close());
    const dataDir = processes.folder();
    const audit = join(dataDir, 'audit.log');
    const flags = [...FAST, '--data-dir', dataDir, '--audit-log', audit];
    const at = ['--data-dir', dataDir, '--why', 'a drill', '--who', 'ann'];
    let shard = await processes.shard(provider.address, ...flags);
    const bound = async () =>
      (await truth.machines()).filter(({ cluster }) => cluster === 'east').map(({ id }) => id).length;
    const connect = async (rows: RollupRow[]) => {
      const operator = new SimulatedOperator({ address: shard.address, clusterId: 'east' });
      closers.push(() => operator.close());
      await operator.connect();
      operator.setDemand(rows);
      return operator;
    };
    const operator = await connect([NEED]);
    const machines = await until('machines are bound', bound, (count) => count > 0, PATIENCE_MS);

    const paused = await flotilla('pause', 'reclaim', '--cluster', 'east', '--for', '2h', ...at);
    expect(paused).toMatchObject({
      code: 0,
      out: expect.stringContaining('c1: reclaim of cluster east is paused for 2 h'),
    });
    expect(statSync(join(dataDir, 'admin')).mode & 0o777).toBe(0o700);
    operator.setDemand([]);
    const cycles = async () =>
      Object.values(await metric(shard.http, 'bigfleet_shard_cycle_duration_seconds_count')).reduce(
        (a, b) => a + b,
        0,
      );
    const before = await cycles();
    await until('ten cycles pass', cycles, (count) => count >= before + 10, PATIENCE_MS);
    expect(await bound()).toBe(machines);
    expect(await metric(shard.http, 'flotilla_controls')).toMatchObject({
      'pauses="reclaim"': 1,
      'pauses="create"': 0,
    });

    // The process dies; the next one knows the control.
    await operator.close();
    shard.program.child.kill('SIGKILL');
    await shard.program.exited;
    shard = await processes.shard(provider.address, ...flags);
    const listed = await flotilla('controls', '--data-dir', dataDir, '--json');
    expect(JSON.parse(listed.out)).toMatchObject([
      { id: 'c1', pauses: ['reclaim'], who: 'ann', why: 'a drill', via: 'socket' },
    ]);
    await connect([]);
    const refused = await flotilla('resume', 'bind', ...at);
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining('In force: c1') });
    expect(await bound()).toBe(machines);
    expect(await flotilla('resume', 'reclaim', '--cluster', 'east', ...at)).toMatchObject({ code: 0 });
    await until('the machines are reclaimed', bound, (count) => count === 0, PATIENCE_MS);
    expect((await flotilla('controls', '--data-dir', dataDir)).out).toBe('No control is in force.\n');

    const lines = readFileSync(audit, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"Control"'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        command: 'pause',
        outcome: 'done',
        who: 'ann',
        why: 'a drill',
        subject: 'reclaim of cluster east',
        via: 'socket',
      },
      { command: 'resume', outcome: 'refused' },
      { command: 'resume', outcome: 'done', control: 'c1' },
    ]);

    // H1: the HTTP port stays read-only.
    for (const path of ['api/v1/controls', 'flotilla.admin.v1.Admin/Pause'])
      expect(
        (await fetch(`${shard.http}${path}`, { method: 'POST', body: '{}' })).status,
      ).toBeGreaterThanOrEqual(400);
    expect((await flotilla('controls', '--data-dir', dataDir)).out).toBe('No control is in force.\n');
  });

  it('S6: a fleet that vanishes is kept until an admin confirms its removal', async () => {
    const ids = ['a', 'b', 'c'];
    const full = processes.script(FORGETFUL, '127.0.0.1:0', ...ids);
    const address = (await full.firstLine).slice('listening on '.length);
    const dataDir = processes.folder();
    const audit = join(dataDir, 'audit.log');
    const shard = await processes.shard(address, ...FAST, '--data-dir', dataDir, '--audit-log', audit);
    const known = async () =>
      ((await (await fetch(`${shard.http}api/v1/status`)).json()) as { machines: number }).machines;
    await until('the fleet is known', known, (count) => count === ids.length, PATIENCE_MS);
    const confirm = (provider: string) =>
      flotilla('confirm-removal', provider, '--data-dir', dataDir, '--why', 'a drill', '--who', 'ann');
    expect(await confirm('sim')).toMatchObject({ code: 1, out: expect.stringContaining('sim is held') });
    expect(await confirm('rack')).toMatchObject({
      code: 1,
      out: expect.stringContaining('no provider "rack". Nothing was changed. Its providers are sim.'),
    });

    full.child.kill('SIGKILL');
    await full.exited;
    await processes.script(FORGETFUL, address).firstLine;
    const suspect = async () => (await metric(shard.http, 'flotilla_suspect_listings_total'))[''] ?? 0;
    await until('listings are held', suspect, (count) => count >= 5, PATIENCE_MS);
    expect(await known()).toBe(ids.length);
    expect(await metric(shard.http, 'flotilla_listing_suspect')).toEqual({ 'provider="sim"': 1 });
    const top = await flotilla('top', '--once', '--api', shard.http);
    expect(top.out).toContain('provider sim lists 3 of 3 machines no longer');

    expect(await confirm('sim')).toMatchObject({
      code: 0,
      out: expect.stringContaining('lacks 3 of 3 machines'),
    });
    await until('the machines are removed', known, (count) => count === 0, PATIENCE_MS);
    expect(await confirm('sim')).toMatchObject({
      code: 1,
      out: expect.stringContaining('ann confirmed it (a drill)'),
    });
    const believed = await metric(shard.http, 'flotilla_removal_believed_timestamp_seconds');
    expect(believed['provider="sim"']).toBeGreaterThan(1e9);
    const lines = readFileSync(audit, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"confirm-removal"'))
      .map((line) => JSON.parse(line));
    expect(lines.map(({ outcome }) => outcome)).toEqual(['refused', 'refused', 'done', 'refused']);
    expect(lines[2]).toMatchObject({ kind: 'Control', who: 'ann', why: 'a drill', via: 'socket' });
  });

  it('H1: without its socket the shard runs and says so; a foreign file is not followed', async () => {
    const provider = await processes.provider('--machines', '2');
    const dataDir = processes.folder();
    writeFileSync(join(dataDir, 'admin'), 'in the way');
    chmodSync(dataDir, 0o700);
    const shard = await processes.shard(provider.address, ...FAST, '--data-dir', dataDir);
    await until(
      'the log says it',
      () => shard.program.output.join('\n'),
      (text) => text.includes('admin_socket_missing'),
      PATIENCE_MS,
    );
    expect((await flotilla('controls', '--data-dir', dataDir)).code).not.toBe(0);
    expect((await fetch(`${shard.http}healthz`)).status).toBe(200);
  });

  it('H1: over TLS only an admin certificate commands, and only if the shard allows it', async () => {
    const folder = processes.folder();
    const authority = makeAuthority();
    const files = (name: string, uri: string[], by: Authority = authority, validMs?: number): TlsFiles => {
      const leaf = issue(by, { ip: ['127.0.0.1'], uri }, validMs);
      const write = (suffix: string, text: string) => {
        const path = join(folder, `${name}.${suffix}`);
        writeFileSync(path, text);
        return path;
      };
      return {
        certificatePath: write('crt', leaf.certificate),
        privateKeyPath: write('key', leaf.privateKey),
        caPath: write('ca', authority.pem),
      };
    };
    const flagsOf = ({ certificatePath, privateKeyPath, caPath }: TlsFiles) => [
      ...['--tls-cert', certificatePath, '--tls-key', privateKeyPath, '--tls-ca', caPath],
    ];
    const provider = await processes.provider('--machines', '2', ...flagsOf(files('provider', [])));
    const shardTls = flagsOf(files('shard', ['bigfleet://shard/shard-0']));
    const open = await processes.shard(provider.address, ...FAST, ...shardTls, '--admin-over-tls');
    const closed = await processes.shard(provider.address, ...FAST, '--id', 'shard-1', ...shardTls);
    const by = (address: string, tls: TlsFiles) => {
      const read = (path: string) => readFileSync(path);
      const credentials = ChannelCredentials.createSsl(
        read(tls.caPath),
        read(tls.privateKeyPath),
        read(tls.certificatePath),
      );
      const client = new AdminClient(address, credentials);
      closers.push(() => client.close());
      return client.pause({ pauses: ['create'], forMs: 3_600_000, who: 'ann', why: 'a drill' });
    };
    const admin = files('admin', ['bigfleet://admin']);
    await by(open.address, admin);
    await expect(by(closed.address, admin)).rejects.toThrow('--admin-over-tls');
    for (const [name, uri, authorised, validMs, said] of [
      ['readonly', ['bigfleet://readonly'], authority, undefined, 'requires role admin'],
      ['cluster', ['bigfleet://cluster/admin'], authority, undefined, 'requires role admin'],
      ['other-shard', ['bigfleet://shard/shard-0'], authority, undefined, 'requires role admin'],
      ['nothing', [], authority, undefined, 'no bigfleet:// URI'],
      ['two', ['bigfleet://admin', 'bigfleet://readonly'], authority, undefined, 'exactly one'],
      ['almost', ['bigfleet://admin/x'], authority, undefined, 'not a known identity'],
      ['expired', ['bigfleet://admin'], authority, -1_000, 'did not carry out'],
      ['forged', ['bigfleet://admin'], makeAuthority('test authority'), undefined, 'did not carry out'],
      ['foreign', ['bigfleet://admin'], makeAuthority('another authority'), undefined, 'did not carry out'],
    ] as const)
      await expect(by(open.address, files(name, [...uri], authorised, validMs)), name).rejects.toThrow(said);
    const { out } = await flotilla('controls', '--shard', open.address, ...flagsOf(admin), '--json');
    expect(JSON.parse(out)).toMatchObject([
      { id: 'c1', via: expect.stringMatching(/^certificate [0-9A-F:]+$/) },
    ]);
  });
});
