import type { ServerHttp2Stream } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DETAIL_CHARS_MAX } from '../../../src/base/outside-text.ts';
import { Random } from '../../../src/base/random.ts';
import { MalformedAnswerError } from '../../../src/listing/decode/errors.ts';
import { encode } from '../../../src/wire/codec.ts';
import { listBatch } from '../list-batch.ts';
import { closeAfterwards, dial } from './fixture.ts';
import { answer, frame, GRPC_HEADERS, http2Server, rawServer } from './hostile-provider.ts';

const GOOD = { id: 'm', state: 1, instanceType: 'small', pricePerHour: 1 };
const SOON = { callTimeoutMs: 300, listTimeoutMs: 300 };

async function dialHttp2(onCall: (stream: ServerHttp2Stream, cut: () => void) => void, limits = {}) {
  const server = closeAfterwards(await http2Server(onCall));
  return dial(server.address, limits);
}

const answering = (message: Uint8Array) => (stream: ServerHttp2Stream) => answer(stream, frame(message));
const machineList = (...machines: object[]) => encode('MachineList', { machines });

describe('a provider with bad records', () => {
  it('V1: the decoder rejects them and counts them by reason, and the good ones are rows', async () => {
    const bytes = machineList(
      GOOD,
      { ...GOOD, id: 'bad-state', state: 99 },
      { ...GOOD, id: 'no-state', state: 0 },
      { ...GOOD, id: 'nan-price', pricePerHour: Number.NaN },
      { ...GOOD, id: 'debt', pricePerHour: -1 },
      { ...GOOD, id: 'unsure', interruptionProbability: 1.5 },
      { ...GOOD, id: 'idle-without-host', state: 3 },
      { ...GOOD, id: '' },
    );
    const { client } = await dialHttp2(answering(bytes));
    const batch = await listBatch(client);
    expect(batch.rowCount).toBe(1);
    expect([...batch.rejectedCounts]).toEqual([2, 1, 4]);
    expect(batch.rejectedIds.count).toBe(7);
  });

  for (const [what, change, reason] of [
    ['an unknown state', { state: 42 }, 'structural'],
    ['a NaN price', { pricePerHour: Number.NaN }, 'price'],
    ['an infinite price', { pricePerHour: Number.POSITIVE_INFINITY }, 'price'],
    ['a negative probability', { interruptionProbability: -0.1 }, 'interruption_probability'],
    ['another id than asked for', { id: 'n' }, 'structural'],
  ] as const) {
    it(`V1: Get of ${what} is malformed for reason ${reason}`, async () => {
      const { reader } = await dialHttp2(answering(encode('Machine', { ...GOOD, ...change })));
      expect(await reader.get({ machineId: 'm' })).toMatchObject({
        kind: 'malformed',
        machineId: 'm',
        reason,
      });
    });
  }

  it('V1: an ack without a machine, or with another one, is malformed', async () => {
    const without = await dialHttp2(answering(encode('TransitionAck', { operationId: 'op-1' })));
    expect(await without.reader.create({ machineId: 'm' })).toMatchObject({
      kind: 'malformed',
      reason: 'structural',
    });
    const other = encode('TransitionAck', { operationId: 'op-1', machine: { ...GOOD, id: 'n' } });
    const another = await dialHttp2(answering(other));
    expect(await another.reader.create({ machineId: 'm' })).toMatchObject({
      kind: 'malformed',
      reason: 'structural',
    });
  });
});

describe('a provider with malformed answers', () => {
  const bytes = machineList(GOOD, { ...GOOD, id: 'n' });

  it('S7: a truncated listing is malformed, and the next good one is read', async () => {
    let callCount = 0;
    const { client } = await dialHttp2((stream) => {
      answer(stream, frame(callCount++ === 0 ? bytes.subarray(0, bytes.length - 3) : bytes));
    });
    await expect(listBatch(client)).rejects.toThrow(MalformedAnswerError);
    expect((await listBatch(client)).rowCount).toBe(2);
  });

  it('a message of another type is malformed', async () => {
    const { client, reader } = await dialHttp2(answering(encode('Machine', GOOD)));
    await expect(listBatch(client)).rejects.toThrow(MalformedAnswerError);
    expect(await reader.create({ machineId: 'm' })).toMatchObject({ kind: 'malformed' });
    const listed = await dialHttp2(answering(bytes));
    expect(await listed.reader.get({ machineId: 'm' })).toMatchObject({ kind: 'malformed' });
  });

  it('random bytes are malformed or contain no machine', async () => {
    let salt = 0;
    const { client } = await dialHttp2((stream) => {
      const random = new Random(++salt);
      answer(stream, frame(Uint8Array.from({ length: 4_096 }, () => random.below(256))));
    });
    for (let round = 0; round < 20; round++) {
      const read = listBatch(client).then((batch) => expect(batch.rowCount).toBe(0));
      await read.catch((error) => expect(error).toBeInstanceOf(MalformedAnswerError));
    }
  });

  for (const [what, body, headers] of [
    ['a frame shorter than its length', frame(bytes, { length: bytes.length + 50 }), {}],
    ['no message at all', null, {}],
    ['half a frame header', Buffer.from([0, 0]), {}],
    ['a message with unknown compression', frame(bytes, { compressed: 1 }), { 'grpc-encoding': 'lzma' }],
    ['a compressed message without an encoding header', frame(bytes, { compressed: 1 }), {}],
    ['a compressed message of random bytes', frame(bytes, { compressed: 1 }), { 'grpc-encoding': 'gzip' }],
  ] as const) {
    it(`${what} is malformed, for reads and acks alike`, async () => {
      const { client, reader } = await dialHttp2((stream) =>
        answer(stream, body, { 'grpc-status': '0' }, headers),
      );
      expect(await client.list()).toMatchObject({ kind: 'malformed', detail: expect.stringMatching(/./) });
      expect(await reader.delete({ machineId: 'm' })).toMatchObject({ kind: 'malformed', machineId: 'm' });
    });
  }

  it('two messages instead of one are a timeout: the second is never read, and the status waits behind it', async () => {
    const twice = Buffer.concat([frame(bytes), frame(bytes)]);
    const { client } = await dialHttp2((stream) => answer(stream, twice), SOON);
    expect(await client.list()).toMatchObject({ kind: 'timeout' });
  });
});

describe('a provider with oversized answers', () => {
  it('I4: the client refuses a length of 2 GB before the bytes arrive', async () => {
    const { client } = await dialHttp2((stream) => {
      stream.respond(GRPC_HEADERS);
      stream.write(frame(Buffer.alloc(64), { length: 2 ** 31 }));
    });
    const detail = expect.stringContaining('2147483648 vs 1073741824');
    expect(await client.list()).toMatchObject({ kind: 'malformed', status: 'resource_exhausted', detail });
  });

  it('an ack may not be as large as a listing', async () => {
    const bytes = Buffer.alloc(5 * 1024 ** 2);
    const { reader } = await dialHttp2(answering(bytes));
    for (const outcome of [await reader.create({ machineId: 'm' }), await reader.get({ machineId: 'm' })]) {
      expect(outcome).toMatchObject({ kind: 'malformed', status: 'resource_exhausted' });
    }
  });

  it('an answer that decompresses to more than the limit is refused', async () => {
    const packed = gzipSync(Buffer.alloc(32 * 1024 ** 2));
    const headers = { 'grpc-encoding': 'gzip' };
    const { reader } = await dialHttp2((stream) =>
      answer(stream, frame(packed, { compressed: 1 }), { 'grpc-status': '0' }, headers),
    );
    expect(await reader.get({ machineId: 'm' })).toMatchObject({
      kind: 'malformed',
      status: 'resource_exhausted',
    });
  });
});

describe('a provider that breaks the connection', () => {
  it('one that never answers is a timeout at the deadline', async () => {
    const { client, reader } = await dialHttp2(() => {}, SOON);
    expect(await reader.drain({ machineId: 'm', gracePeriodSeconds: 1 })).toMatchObject({ kind: 'timeout' });
    expect(await client.list()).toMatchObject({ kind: 'timeout' });
    const own = await reader.get({ machineId: 'm', deadlineUnixMs: Date.now() + 20 });
    expect(own).toMatchObject({ kind: 'timeout', status: 'deadline_exceeded' });
  });

  it('one that accepts connections and never speaks is a timeout at the deadline', async () => {
    const server = closeAfterwards(await rawServer(() => {}));
    const { reader } = dial(server.address, SOON);
    expect(await reader.create({ machineId: 'm' })).toMatchObject({ kind: 'timeout' });
  });

  it('one that stops in the middle of a message is a timeout at the deadline', async () => {
    const { client } = await dialHttp2((stream) => {
      stream.respond(GRPC_HEADERS);
      stream.write(frame(Buffer.alloc(10), { length: 1_000 }));
    }, SOON);
    expect(await client.list()).toMatchObject({ kind: 'timeout' });
  });

  it('one that closes the connection in the middle of a message is unavailable', async () => {
    const { client, reader } = await dialHttp2((stream, cut) => {
      stream.respond(GRPC_HEADERS);
      stream.write(frame(Buffer.alloc(10), { length: 1_000 }), cut);
    });
    expect(await reader.create({ machineId: 'm' })).toMatchObject({ kind: 'unavailable' });
    expect(await client.list()).toMatchObject({ kind: 'unavailable' });
  });

  for (const [what, code] of [
    ['no error', 0],
    ['an internal error', 2],
    ['a refused stream', 7],
    ['a request for calm', 11],
  ] as const) {
    it(`X8: one that ends the stream with ${what} and no status is unavailable: it may have executed the call`, async () => {
      const { reader } = await dialHttp2((stream) => stream.close(code));
      expect(await reader.create({ machineId: 'm' })).toMatchObject({ kind: 'unavailable', attemptCount: 1 });
    });
  }

  for (const [what, greeting] of [
    ['garbage', Buffer.alloc(1_024, 0xa5)],
    ['HTTP/1.1', Buffer.from('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')],
    ['a TLS alert', Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28])],
  ] as const) {
    it(`one that speaks ${what} instead of HTTP/2 is unavailable`, async () => {
      const server = closeAfterwards(await rawServer((socket) => socket.end(greeting)));
      const { reader } = dial(server.address, { callTimeoutMs: 3_000 });
      const outcome = await reader.create({ machineId: 'm' });
      expect(outcome).toMatchObject({ kind: 'unavailable', machineId: 'm' });
    });
  }

  it('an address without a server is unavailable', async () => {
    const server = await rawServer(() => {});
    await server.close();
    const { reader } = dial(server.address, { callTimeoutMs: 3_000 });
    expect(await reader.create({ machineId: 'm' })).toMatchObject({ kind: 'unavailable', attemptCount: 1 });
  });
});

describe('the error text of a provider', () => {
  it('is cut to one line of bounded length, without control characters', async () => {
    const text = `first%0Asecond %1B%5B31mred%1B%5B0m%00 ${'x'.repeat(5_000)}`;
    const { reader } = await dialHttp2((stream) =>
      answer(stream, null, { 'grpc-status': '13', 'grpc-message': text }),
    );
    const outcome = await reader.create({ machineId: 'm' });
    if (outcome.kind === 'accepted') throw new Error('not an error');
    expect(outcome).toMatchObject({ kind: 'other', status: 'internal' });
    expect(outcome.detail).toMatch(/^first second /);
    expect(outcome.detail.length).toBeLessThanOrEqual(DETAIL_CHARS_MAX);
    expect(outcome.detail).not.toMatch(/\p{Cc}/u);
  });

  for (const [what, headers, kind] of [
    ['a web page', { ':status': 200, 'content-type': 'text/html' }, 'malformed'],
    ['HTTP 404', { ':status': 404, 'content-type': 'text/html' }, 'other'],
    ['HTTP 503', { ':status': 503, 'content-type': 'text/html' }, 'unavailable'],
  ] as const) {
    it(`${what} is ${kind}`, async () => {
      const { reader } = await dialHttp2((stream) => {
        stream.respond(headers);
        stream.end('<html><body>hello</body></html>');
      });
      const outcome = await reader.create({ machineId: 'm' });
      expect(outcome.kind).toBe(kind);
    });
  }

  it('a status that gRPC does not know is other', async () => {
    const { reader } = await dialHttp2((stream) => answer(stream, null, { 'grpc-status': '99' }));
    expect(await reader.create({ machineId: 'm' })).toMatchObject({ kind: 'other', status: 'code_99' });
  });
});
