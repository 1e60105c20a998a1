/** A kit provider as a shard meets it: TLS and identities, health, metrics, and addresses that are taken. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChannelCredentials, Client, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { CannotServeError, type Cloud, serveProvider } from '../../src/provider-kit/index.ts';
import { HEALTH_SERVICE } from '../../src/wire/health.ts';
import { capacityProviderService as calls } from '../../src/wire/services.ts';
import { issue, makeAuthority } from '../tls/certificates.ts';
import { offer } from './rig.ts';

const CLOUD: Cloud = {
  create: async () => 'host',
  configure: async () => {},
  drain: async () => {},
  delete: async () => {},
};
const USUAL = { name: 'kit', listen: '127.0.0.1:0', offers: [offer('m-1')], cloud: CLOUD };

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function call(client: Client, name: 'Create' | 'List', request: object): Promise<string> {
  const { path, requestSerialize, responseDeserialize } = calls[name];
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      path,
      requestSerialize as (request: object) => Buffer,
      responseDeserialize as (bytes: Buffer) => object,
      request,
      (error) => resolve(error === null ? 'OK' : status[error.code]),
    );
  });
}

const authority = makeAuthority();
const names = { ip: ['127.0.0.1'] };

function pemFiles() {
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-kit-tls-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const { certificate, privateKey } = issue(authority, { ...names, uri: [] });
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  return {
    certificatePath: write('cert.pem', certificate),
    privateKeyPath: write('key.pem', privateKey),
    caPath: write('ca.pem', authority.pem),
  };
}

function clientAs(address: string, uri: string): Client {
  const { certificate, privateKey } = issue(authority, { uri: uri === '' ? [] : [uri] });
  const pem = [authority.pem, privateKey, certificate].map((text) => Buffer.from(text)) as [
    Buffer,
    Buffer,
    Buffer,
  ];
  const client = new Client(address, ChannelCredentials.createSsl(...pem));
  closers.push(() => client.close());
  return client;
}

describe('a kit provider with TLS', () => {
  it('lets a shard move machines under its own id alone, admin without a token, and clusters do nothing', async () => {
    const provider = await serveProvider({ ...USUAL, tls: pemFiles() });
    closers.push(() => provider.close());
    const token = { shardId: 'shard-0', shardEpoch: 1 };
    const shard = clientAs(provider.address, 'bigfleet://shard/shard-0');
    const create = (client: Client, rest: object) => call(client, 'Create', { machineId: 'm-1', ...rest });
    expect(
      await create(clientAs(provider.address, 'bigfleet://shard/shard-1'), { ...token, sequenceNumber: 9 }),
    ).toBe('PERMISSION_DENIED');
    expect(await create(shard, {})).toBe('PERMISSION_DENIED');
    expect(await create(shard, { ...token, sequenceNumber: 1 })).toBe('OK'); // the refused call left no mark
    expect(await create(clientAs(provider.address, 'bigfleet://admin'), {})).toBe('OK');
    const reader = clientAs(provider.address, 'bigfleet://readonly');
    expect(await call(reader, 'List', {})).toBe('OK');
    expect(await create(reader, {})).toBe('PERMISSION_DENIED');
    const cluster = clientAs(provider.address, 'bigfleet://cluster/blue');
    expect(await call(cluster, 'List', {})).toBe('PERMISSION_DENIED');
    expect(await call(clientAs(provider.address, ''), 'List', {})).toBe('PERMISSION_DENIED');
  });
});

describe('a kit provider', () => {
  it('answers health checks and counts calls and operations', async () => {
    const provider = await serveProvider({ ...USUAL, http: '127.0.0.1:0' });
    closers.push(() => provider.close());
    const client = new Client(provider.address, ChannelCredentials.createInsecure());
    closers.push(() => client.close());
    expect(await call(client, 'Create', { machineId: 'm-1' })).toBe('OK');
    expect(await call(client, 'Create', { machineId: 'm-2' })).toBe('NOT_FOUND');
    const get = async (path: string) => (await fetch(`${provider.httpUrl}${path}`)).text();
    expect(await get('readyz')).toBe('ready\n');
    await expect.poll(() => get('metrics')).toContain('flotilla_kit_machines{state="Idle"} 1');
    const metrics = await get('metrics');
    expect(metrics).toContain('flotilla_kit_calls_total{call="create",code="NOT_FOUND"} 1');
    expect(metrics).toContain('flotilla_kit_operations_total{operation="create",outcome="done"} 1');
    const serving = await new Promise((resolve) => {
      const same = (bytes: Buffer) => bytes;
      client.makeUnaryRequest(HEALTH_SERVICE.Check.path, same, same, Buffer.alloc(0), (_error, answer) =>
        resolve(answer),
      );
    });
    expect(serving).toEqual(Buffer.from([0x08, 1]));
  });

  it('names an address that is taken, and releases what it had', async () => {
    const first = await serveProvider({ ...USUAL, http: '127.0.0.1:0' });
    closers.push(() => first.close());
    await expect(serveProvider({ ...USUAL, listen: first.address })).rejects.toThrow(CannotServeError);
    const taken = new URL(first.httpUrl).host;
    await expect(serveProvider({ ...USUAL, http: taken })).rejects.toThrow(taken);
  });
});
