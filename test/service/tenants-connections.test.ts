/**
 * What a hostile client does before it says anything useful, on real processes beside an honest neighbour: connections, streams,
 * old certificates, readers that do not read. One shard serves all these tests.
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChannelCredentials, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileRow } from '../../src/simulation/chaos/hostile-rows.ts';
import type { SimulatedOperator } from '../../src/simulation/operators/operator.ts';
import type { TlsFiles } from '../../src/tls/files.ts';
import { announce, HostileClient, rawConnection, SESSION_PATH } from '../session/hostile-client.ts';
import { type Inspection, inspect } from '../session/inspector.ts';
import { makeAuthority } from '../tls/certificates.ts';
import { until } from './processes.ts';
import { TenantStage } from './tenant-stage.ts';

const MIB = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), 'flotilla-'));
const deniedFile = join(folder, 'denied');
const formerAuthority = makeAuthority('former authority');
const NO_RECONNECT = { reconnect: { isEnabled: false } };
let stage: TenantStage;

beforeAll(async () => {
  writeFileSync(deniedFile, '# none\n');
  stage = await TenantStage.open({
    shardFlags: ['--tls-denied', deniedFile],
    // 512 of them are for connections, and of these 256 for handshakes of one address.
    descriptorsMax: 1_024,
    alsoTrusted: formerAuthority,
  });
});
afterAll(async () => {
  await stage?.close();
  rmSync(folder, { recursive: true, force: true });
});

const identityOf = (clusterId: string) => ({ uri: [`bigfleet://cluster/${clusterId}`] });
const refusals = (reason: string) => stage.witness.metric('flotilla_session_refused_total', `"${reason}`);

function pairOf({ certificatePath, privateKeyPath, caPath }: TlsFiles) {
  const [ca, key, cert] = [caPath, privateKeyPath, certificatePath].map((path) => readFileSync(path));
  return { ca: ca!, key: key!, cert: cert! };
}

function logged(event: string, text = ''): string[] {
  return stage.shard.program.output.filter((line) => line.includes(`"${event}"`) && line.includes(text));
}

describe('a hostile client beside an honest cluster', { timeout: 300_000 }, () => {
  it('T11: 600 connections without a handshake leave room for sessions and health checks', async () => {
    const sockets = Array.from({ length: 600 }, () => rawConnection(stage.shard.address).resume());
    await until(
      'refused handshakes',
      () => refusals('handshake_address'),
      (count) => count > 0,
    );
    const recent = await stage.connect('recent');
    expect((await fetch(`${stage.shard.http}healthz`)).status).toBe(200);
    await stage.staysWell();
    // The shard refuses each at once, or closes it after the deadline.
    await until(
      'every connection is refused',
      () => refusals('handshake_'),
      (count) => count === 600,
    );
    await until(
      'every connection is closed',
      () => sockets.filter(({ closed }) => !closed).length,
      (count) => count === 0,
    );
    expect(recent.isConnected).toBe(true);
    expect(logged('limit_reached', 'handshake_').length).toBeLessThan(20);
    await recent.close();
  });

  it('T11: streams without Hello, and frames of 31 MiB before it, end and leave room for the neighbour', async () => {
    // Of two clusters: the streams of one would use up the places of the other.
    const flood = (clusterId: string, perConnection: number, bytes?: Buffer) => {
      const pair = pairOf(stage.certificate(`flood-${clusterId}`, identityOf(clusterId)));
      return Array.from({ length: 10 }, () => new HostileClient(stage.shard.address, pair)).flatMap(
        (client) => Array.from({ length: perConnection }, () => client.open(SESSION_PATH, bytes)),
      );
    };
    const announced = flood('announcer', 12, Buffer.concat([announce(31 * MIB), Buffer.alloc(16_000)]));
    const ended = (streams: typeof announced, code: status) =>
      streams.filter((stream) => stream.status === code).length;
    await until(
      'every large frame is refused',
      () => ended(announced, status.RESOURCE_EXHAUSTED),
      (count) => count === 120,
    );
    expect(await refusals('opening_bytes')).toBeGreaterThan(0);
    const silent = flood('hostile', 40);
    await until(
      'streams beyond the limit are refused',
      () => ended(silent, status.RESOURCE_EXHAUSTED),
      (count) => count > 0,
    );
    await stage.staysWell();
    await until(
      'the others end after the deadline',
      () => [ended(silent, status.RESOURCE_EXHAUSTED), ended(silent, status.DEADLINE_EXCEEDED)],
      ([refused, late]) => late! > 0 && refused! + late! === 400,
    );
    expect(await refusals('opening_timeout')).toBeGreaterThan(0);
    await stage.staysWell();
  });

  it('T14: an expired certificate, one of a former CA and a denied one end their sessions, and no other', async () => {
    const former = await stage.connect('former', 0, {
      tls: stage.certificate('former', identityOf('former'), formerAuthority),
      ...NO_RECONNECT,
    });
    // The operator trusts the stage's authority, which signed the shard's certificate; only the shard trusts the former one.
    const denied = await stage.connect('denied', 0, NO_RECONNECT);
    const expiring = await connectExpiring();
    stage.distrustOthers();
    appendFileSync(deniedFile, 'bigfleet://cluster/denied\n');
    for (const [operator, reason, text] of [
      [expiring, 'expired', 'expired at'],
      [former, 'untrusted', 'is not signed by'],
      [denied, 'denied', 'The shard denies'],
    ] as const) {
      const ending = await until(
        `the end of ${operator.clusterId}`,
        () => operator.endings.at(-1),
        (last) => last !== undefined,
      );
      expect(ending).toEqual({ status: status.UNAUTHENTICATED, details: expect.stringContaining(text) });
      expect(await stage.witness.metric('flotilla_connections_ended_total', `"${reason}"`)).toBeGreaterThan(
        0,
      );
      expect(logged('connection_ended', reason).length).toBeGreaterThan(0);
      await expect(operator.connect()).rejects.toThrow(operator.clusterId);
    }
    expect(stage.neighbour.endings).toEqual([]);
    await stage.staysWell();
    // The next test needs ten seconds, as does the shard until it notices this.
    writeFileSync(stage.shardTls.privateKeyPath, 'broken');
  });

  it('T15: readers that never read use up the places of their identity, and the shard ends them', async () => {
    const rows = Array.from({ length: 1_000 }, (_, at) => hostileRow({ group: `${at}-`.padEnd(4_000, 'g') }));
    stage.hostile.setDemand(rows);
    await stage.accepted('hostile', rows.length);
    const read = (
      name: string,
      onFrame?: (count: number) => boolean | Promise<void>,
    ): Promise<Inspection> => {
      const { ca, key, cert } = pairOf(stage.certificate(name, { uri: [`bigfleet://${name}`] }));
      const credentials = ChannelCredentials.createSsl(ca, key, cert);
      return inspect(stage.shard.address, { clusterId: 'hostile' }, credentials, onFrame);
    };
    let resume = () => {};
    const resumed = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const stuck = Array.from({ length: 48 }, () =>
      read('readonly', (count) => (count === 1 ? resumed : true)),
    );
    await until(
      'refused readers',
      () => refusals('reader_identity'),
      (count) => count > 0,
    );
    const other = await read('admin');
    expect([other.code, other.frames.length]).toEqual(['OK', 1 + rows.length]);
    await stage.staysWell();
    await until(
      'every reader is refused or ended',
      async () => [await refusals('reader_identity'), await refusals('reader_timeout')],
      ([refused, late]) => late! > 0 && refused! + late! === 48,
    );
    resume();
    const codes = (await Promise.all(stuck)).map(({ code }) => code);
    expect(new Set(codes)).toEqual(new Set(['RESOURCE_EXHAUSTED', 'DEADLINE_EXCEEDED']));
    expect((await read('readonly')).code).toBe('OK');
    await stage.staysWell();
  });

  it('T14: a broken key on the disk is logged and counted, and the shard goes on with the last good one', async () => {
    await until(
      'the log names the file',
      () => logged('tls_reload_failed', stage.shardTls.privateKeyPath),
      (lines) => lines.length > 0,
    );
    expect(await stage.witness.metric('flotilla_tls_reload_failing')).toBe(1);
    await (await stage.connect('later')).close();
    await stage.staysWell();
  });
});

/** A certificate that expires soon, but not before a busy machine has connected with it. */
async function connectExpiring(validMs = 4_000): Promise<SimulatedOperator> {
  const tls = stage.certificate('expiring', identityOf('expiring'), undefined, validMs);
  try {
    return await stage.connect('expiring', 0, { tls, ...NO_RECONNECT });
  } catch (error) {
    if (validMs > 60_000) throw error;
    return connectExpiring(2 * validMs);
  }
}
