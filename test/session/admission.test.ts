/** T11 and T15 on a real server: a client that uses up what it can, beside an honest operator. */
import { ChannelCredentials, Client, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import {
  Admission,
  addressKey,
  admissionLimits,
  newRefusals,
  type Refusal,
} from '../../src/session/admission.ts';
import {
  CONNECTIONS_MAX,
  FIRST_FRAME_BYTES_MAX,
  OPENINGS_PER_CONNECTION_MAX,
  REFUSAL_LOG_INTERVAL_MS,
} from '../../src/session/limits.ts';
import { encode } from '../../src/wire/codec.ts';
import {
  announce,
  HEALTH_PATH,
  HOSTILE_ADDRESS,
  HostileClient,
  INSPECT_PATH,
  rawConnection,
  SESSION_PATH,
} from './hostile-client.ts';
import { need, needs } from './operator.ts';
import { closeAfterwards, startRig } from './rig.ts';

const MIB = 1024 * 1024;
const SERVING = Buffer.from([0x08, 1]);

/** The answer of the standard health check. */
function health(address: string): Promise<Buffer> {
  const client = new Client(address, ChannelCredentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  });
  closeAfterwards(() => client.close());
  const asIs = (bytes: Buffer) => bytes;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(HEALTH_PATH, asIs, asIs, Buffer.alloc(0), (error, answer) => {
      if (error === null) resolve(answer!);
      else reject(error);
    });
  });
}

describe('connections without a handshake', () => {
  const open = (address: string, count: number) =>
    Array.from({ length: count }, () => rawConnection(address).resume());
  const openCount = (sockets: ReturnType<typeof open>) => sockets.filter(({ closed }) => !closed).length;

  it('T11: of one address leave room for a neighbour and for health checks', async () => {
    const limits = { connection: { total: 150, address: 100 }, handshake: { total: 150, address: 100 } };
    const { server, events, greeted } = await startRig({ limits });
    const sockets = open(server.address, 300);
    await expect.poll(() => server.counters.refused.connection_address).toBe(200);
    await expect.poll(() => openCount(sockets)).toBe(100);
    const operator = await greeted('east');
    operator.rollup(needs(3));
    await operator.receives(() => operator.acks('rollup') === 1);
    expect(await health(server.address)).toEqual(SERVING);
    const reached = events.filter(({ kind }) => kind === 'limit_reached');
    expect(reached).toEqual([
      {
        kind: 'limit_reached',
        reason: 'connection_address',
        peer: HOSTILE_ADDRESS,
        detail: 'The shard has 100 connections per address, its maximum. Retry later.',
      },
    ]);
  });

  it('T11: are closed after the deadline, and a connection with a handshake stays', async () => {
    const { server, greeted } = await startRig({ handshakeTimeoutMs: 500 });
    const operator = await greeted('east');
    const sockets = open(server.address, 20);
    await expect.poll(() => server.counters.refused.handshake_timeout).toBe(20);
    await expect.poll(() => openCount(sockets)).toBe(0);
    expect([server.held('connection'), server.held('handshake')]).toEqual([1, 0]);
    operator.rollup(needs(3));
    await operator.receives(() => operator.acks('rollup') === 1);
  });

  it('T11: are limited before connections are', async () => {
    const { server, greeted } = await startRig({ limits: { handshake: { address: 5 } } });
    open(server.address, 20);
    await expect.poll(() => server.counters.refused.handshake_address).toBe(15);
    await greeted('east');
  });

  it('T11: give their places back when they leave', async () => {
    const { server } = await startRig({ limits: { connection: { address: 10 } } });
    for (let round = 0; round < 3; round++) {
      const sockets = open(server.address, 10);
      await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
      for (const socket of sockets) {
        if (round === 1) socket.end();
        else if (round === 2) socket.resetAndDestroy();
        else socket.destroy();
      }
      await expect.poll(() => server.held('connection')).toBe(0);
    }
    expect(server.held('handshake')).toBe(0);
    expect(server.counters.refused.connection_address).toBe(0);
  });
});

describe('streams without Hello', () => {
  it('T11: are few per connection and address, end after the deadline, and leave room for a neighbour', async () => {
    const { server, greeted } = await startRig({
      helloTimeoutMs: 2_000,
      limits: { opening: { address: 2 * OPENINGS_PER_CONNECTION_MAX } },
    });
    const streams = Array.from({ length: 4 }, () => new HostileClient(server.address)).flatMap((client) =>
      Array.from({ length: 60 }, () => client.open(SESSION_PATH)),
    );
    const count = (code: status) => streams.filter((stream) => stream.status === code).length;
    await expect.poll(() => count(status.RESOURCE_EXHAUSTED)).toBe(240 - 2 * OPENINGS_PER_CONNECTION_MAX);
    const { refused } = server.counters;
    expect(refused.opening_connection + refused.opening_address).toBe(240 - 2 * OPENINGS_PER_CONNECTION_MAX);
    await greeted('east');
    await expect.poll(() => count(status.DEADLINE_EXCEEDED)).toBe(2 * OPENINGS_PER_CONNECTION_MAX);
    expect(refused.opening_timeout).toBe(2 * OPENINGS_PER_CONNECTION_MAX);
    // The client never closes its half: the shard does, so that the places come back.
    await expect.poll(() => server.held('stream'), { timeout: 30_000 }).toBe(1);
    expect(server.held('opening')).toBe(0);
  });

  it('T11: of other methods end after the deadline too', async () => {
    const { server } = await startRig({ helloTimeoutMs: 200 });
    const client = new HostileClient(server.address);
    const streams = [client.open(HEALTH_PATH), client.open(INSPECT_PATH)];
    await expect.poll(() => streams.map((stream) => stream.status)).toEqual([4, 4]);
    expect(streams[0]!.details).toContain('no request within 200 ms');
    expect(await health(server.address)).toEqual(SERVING);
  });
});

describe('bytes before Hello', () => {
  it('T11: a frame of 31 MiB is refused before its memory is allocated', async () => {
    const { server, greeted } = await startRig();
    const before = process.memoryUsage().arrayBuffers;
    const piece = Buffer.concat([announce(31 * MIB), Buffer.alloc(16_000)]);
    const streams = Array.from({ length: 10 }, () => new HostileClient(server.address)).flatMap((client) =>
      Array.from({ length: 12 }, (_, index) =>
        client.open([SESSION_PATH, INSPECT_PATH, HEALTH_PATH][index % 3]!, piece),
      ),
    );
    await expect.poll(() => streams.every((stream) => stream.status === 8)).toBe(true);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * MIB); // of 3,720
    expect(streams[0]!.details).toContain(`${31 * MIB} bytes before its Hello`);
    expect(streams[0]!.details).toContain(`the maximum is ${FIRST_FRAME_BYTES_MAX}`);
    expect(server.counters.refused.opening_bytes).toBe(120);
    await greeted('east');
  });

  it('T11: a frame behind one that is no Hello is not read', async () => {
    const { server } = await startRig();
    const client = new HostileClient(server.address);
    const notHello = encode('OperatorMessage', { rollup: {} });
    const bytes = [announce(notHello.length), notHello, announce(31 * MIB), Buffer.alloc(16_000)];
    const stream = client.open(SESSION_PATH, Buffer.concat(bytes));
    await expect.poll(() => stream.status).toBe(status.INVALID_ARGUMENT);
  });

  it('T11: an operator need not wait for the ack of its Hello before it sends a large roll-up', async () => {
    const { shard, connect } = await startRig();
    const rows = needs(20_000, 'group-with-a-long-name');
    for (let round = 0; round < 5; round++) {
      const operator = connect();
      operator.hello('east');
      operator.rollup(rows.slice(round));
      await operator.receives(() => operator.acks('rollup') === 1);
      expect(shard.groupsOf('east')).toHaveLength(20_000 - round);
      operator.close();
    }
  });

  it('T11: both may arrive in one piece', async () => {
    const { server, shard } = await startRig();
    const hello = encode('OperatorMessage', { hello: { clusterId: 'east' } });
    const rollup = encode('OperatorMessage', {
      rollup: { needs: [need({ group: 'g'.repeat(2_000) }), ...needs(100)] },
    });
    expect(rollup.length).toBeGreaterThan(5_000);
    const rest = encode('OperatorMessage', { rollup: { needs: needs(1_000) } });
    expect(rest.length).toBeGreaterThan(FIRST_FRAME_BYTES_MAX);
    const client = new HostileClient(server.address);
    client.open(
      SESSION_PATH,
      Buffer.concat([hello, rollup, rest].flatMap((frame) => [announce(frame.length), frame])),
    );
    await expect.poll(() => shard.groupsOf('east').length).toBe(1_000);
  });
});

describe('limits', () => {
  it('T11: leave descriptors for health checks and providers', () => {
    for (const [descriptors, connections] of [
      [Infinity, CONNECTIONS_MAX],
      [1_048_576, CONNECTIONS_MAX],
      [4_096, 3_584],
      [1_024, 512],
      [256, 128],
    ] as const) {
      const { connection, handshake } = admissionLimits({}, descriptors);
      expect(connection.total).toBe(connections);
      expect(connection.address).toBeLessThan(connection.total);
      expect(handshake.address).toBeLessThan(handshake.total);
    }
  });

  it('T11: let 2,000 clusters of one address reconnect at once', () => {
    for (const { address } of Object.values(admissionLimits({}, Infinity))) {
      expect(address).toBeGreaterThanOrEqual(2_000);
    }
  });

  for (const [address, key] of [
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    [undefined, 'unknown'],
  ] as const) {
    it(`T11: count ${address} as ${key}`, () => expect(addressKey(address)).toBe(key));
  }

  it('T11: are logged once a minute for each reason, and every refusal is counted', () => {
    let nowMs = 0;
    const logged: Refusal[] = [];
    const counts = newRefusals();
    const limits = admissionLimits({ reader: { identity: 1 }, stream: { total: 0 } }, 1_024);
    const admission = new Admission(
      limits,
      counts,
      () => nowMs,
      (refusal) => logged.push(refusal),
    );
    const holder = { address: 'a', identity: 'i', connection: null };
    expect(admission.take('reader', holder)).toBe(null);
    for (let time = 0; time < 5; time++) {
      admission.take('reader', holder);
      admission.take('stream', holder);
    }
    expect(logged.map(({ reason }) => reason)).toEqual(['reader_identity', 'stream_total']);
    nowMs += REFUSAL_LOG_INTERVAL_MS;
    admission.take('reader', holder);
    expect(logged).toHaveLength(3);
    expect([counts.reader_identity, counts.stream_total]).toEqual([6, 5]);
    admission.giveBack('reader', holder);
    expect(admission.take('reader', holder)).toBe(null);
  });
});
