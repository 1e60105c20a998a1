import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { encode, reflectedService, toPlain } from '../../src/wire/codec.ts';
import type {
  ListFilter,
  MachineListInit,
  OperatorMessage,
  ShardMessageInit,
} from '../../src/wire/protocol.generated.ts';
import {
  capacityProviderService,
  coordinatorService,
  type Method,
  rawCapacityProviderService,
  rawShardService,
  shardReadService,
  shardService,
} from '../../src/wire/services.ts';

const SERVICES = {
  CapacityProvider: capacityProviderService,
  Shard: shardService,
  ShardRead: shardReadService,
  Coordinator: coordinatorService,
};

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function serve(add: (server: Server) => void): Promise<Client> {
  const server = new Server();
  add(server);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  closers.push(() => {
    client.close();
    server.forceShutdown();
  });
  return client;
}

function call<Written, Read>(
  client: Client,
  method: Method<Written, unknown, never, Read>,
  request: Written,
): Promise<Read> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      new Metadata(),
      { deadline: Date.now() + 10_000 },
      (error, response) => (error === null ? resolve(response!) : reject(error)),
    );
  });
}

describe('service definitions', () => {
  for (const [name, definition] of Object.entries(SERVICES)) {
    it(`${name} agrees with its proto file in names, streams and types`, () => {
      const service = reflectedService(name);
      expect(Object.keys(definition).sort()).toEqual(service.methodsArray.map(({ name }) => name).sort());
      for (const [methodName, method] of Object.entries(definition)) {
        const reflected = service.methods[methodName]!;
        reflected.resolve();
        expect(method.path).toBe(`/bigfleet.v1alpha1.${name}/${methodName}`);
        expect(method.requestStream).toBe(reflected.requestStream ?? false);
        expect(method.responseStream).toBe(reflected.responseStream ?? false);
        expect(method.requestDeserialize(Buffer.alloc(0)).constructor).toBe(
          reflected.resolvedRequestType!.ctor,
        );
        expect(method.responseDeserialize(Buffer.alloc(0)).constructor).toBe(
          reflected.resolvedResponseType!.ctor,
        );
      }
    });
  }
});

describe('a provider over gRPC', () => {
  const list: MachineListInit = { machines: [{ id: 'm-1', state: 3 }], deletedIds: ['m-0'] };

  it('answers List with messages, and a raw client reads the same answer as bytes', async () => {
    const client = await serve((server) =>
      server.addService(capacityProviderService, {
        List: (
          request: ServerUnaryCall<ListFilter, MachineListInit>,
          reply: sendUnaryData<MachineListInit>,
        ) =>
          request.request.maxResults === 7 ? reply(null, list) : reply({ code: status.INVALID_ARGUMENT }),
      }),
    );
    const typed = await call(client, capacityProviderService.List, { maxResults: 7 });
    expect(toPlain('MachineList', typed).machines[0]!.id).toBe('m-1');
    const raw = await call(client, rawCapacityProviderService.List, { maxResults: 7 });
    expect(raw).toEqual(encode('MachineList', list));
    await expect(call(client, rawCapacityProviderService.List, {})).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
    });
  });

  it('may answer List with bytes that it encoded itself', async () => {
    const client = await serve((server) =>
      server.addService(rawCapacityProviderService, {
        List: (_request: unknown, reply: sendUnaryData<Uint8Array>) =>
          reply(null, encode('MachineList', list)),
      }),
    );
    const typed = await call(client, capacityProviderService.List, {});
    expect(typed.deletedIds).toEqual(['m-0']);
  });
});

describe('a session over gRPC', () => {
  it('receives operators’ frames as bytes, and sends messages', async () => {
    const frames: Buffer[] = [];
    const client = await serve((server) =>
      server.addService(rawShardService, {
        Session: (stream: ServerDuplexStream<Buffer, ShardMessageInit>) => {
          stream.on('data', (frame: Buffer) => {
            frames.push(frame);
            stream.write({ ack: { echo: 'hello', shardEpoch: 3 } });
          });
          stream.on('end', () => stream.end());
        },
      }),
    );
    const { path, requestSerialize, responseDeserialize } = shardService.Session;
    const session = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    session.write({ hello: { clusterId: 'c-1' } });
    session.end();
    const acks: unknown[] = [];
    for await (const message of session) acks.push(toPlain('ShardMessage', message).ack);
    expect(acks).toEqual([{ echo: 'hello', coordinatorTerm: 0, shardEpoch: 3 }]);
    const hello: OperatorMessage = shardService.Session.requestDeserialize(frames[0]!);
    expect(hello.hello!.clusterId).toBe('c-1');
  });
});
