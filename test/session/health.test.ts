import { ChannelCredentials, Client, type ServiceError, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { HEALTH_SERVICE } from '../../src/wire/health.ts';
import { closeAfterwards, startRig } from './rig.ts';

function check(address: string, request: Buffer, path = HEALTH_SERVICE.Check.path): Promise<Buffer | string> {
  const client = new Client(address, ChannelCredentials.createInsecure());
  closeAfterwards(() => client.close());
  const same = (bytes: Buffer) => bytes;
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, same, same, request, (error: ServiceError | null, answer?: Buffer) =>
      resolve(error === null ? answer! : status[error.code]),
    );
  });
}

const asking = (service: string) => Buffer.from([0x0a, service.length, ...Buffer.from(service)]);
const SERVING = Buffer.from([0x08, 1]);
const NOT_SERVING = Buffer.from([0x08, 2]);

describe('grpc.health.v1', () => {
  it('is SERVING while the shard accepts sessions, for the server and each of its services', async () => {
    const { shard, server } = await startRig();
    expect(await check(server.address, Buffer.alloc(0))).toEqual(SERVING);
    expect(await check(server.address, asking('bigfleet.v1alpha1.Shard'))).toEqual(SERVING);
    shard.refusalText = 'fenced';
    expect(await check(server.address, Buffer.alloc(0))).toEqual(NOT_SERVING);
    expect(await check(server.address, asking('bigfleet.v1alpha1.ShardRead'))).toEqual(NOT_SERVING);
  });

  it('X8: is NOT_SERVING after the shard ended all sessions for good', async () => {
    const { server } = await startRig();
    server.endAll('fenced: another process owns this shard id');
    expect(await check(server.address, Buffer.alloc(0))).toEqual(NOT_SERVING);
  });

  it('knows no other service, refuses malformed requests, and does not implement Watch', async () => {
    const { server } = await startRig();
    expect(await check(server.address, asking('__proto__'))).toBe('NOT_FOUND');
    expect(await check(server.address, Buffer.from([0x0a, 9]))).toBe('INTERNAL');
    expect(await check(server.address, Buffer.alloc(0), '/grpc.health.v1.Health/Watch')).toBe(
      'UNIMPLEMENTED',
    );
  });
});
