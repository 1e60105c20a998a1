import { ChannelCredentials, Client, compressionAlgorithms, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { MachineState as S } from '../../src/machine/state.ts';
import {
  DEPARTURES_MAX,
  FIRST_FRAME_BYTES_MAX,
  FRAME_FIELDS_MAX,
  INSPECTIONS_MAX,
} from '../../src/session/limits.ts';
import { encode } from '../../src/wire/codec.ts';
import { rawShardService } from '../../src/wire/services.ts';
import { inState } from '../inventory/machines.ts';
import { inspect } from './inspector.ts';
import { closeAfterwards, NO_NEEDS, startRig } from './rig.ts';

const LARGE_LABELS = { note: 'x'.repeat(4_096) };

describe('an operator that does not read', () => {
  it('O6: receives the status of its ended session when it reads again, however late', async () => {
    const { shard, server, greeted } = await startRig();
    const operator = await greeted('east');
    operator.stream.pause();
    for (let index = 0; index < 1_000; index++) {
      shard.put(inState(S.Configured, { id: `m-${index}`, labels: LARGE_LABELS }));
    }
    let written = -1;
    while (written !== server.counters.framesOut) {
      written = server.counters.framesOut;
      await new Promise((resolve) => setTimeout(resolve, 200)); // until the connection takes no more
    }
    expect(server.sessions()[0]!.outboxDepth).toBeGreaterThan(0);
    const instruction = {
      instructionId: 'r',
      nodes: ['n'.repeat(2_000)],
      graceSeconds: 1,
      preemptorPriority: 0,
    };
    while (server.hasSession('east')) server.instructReclaim('east', instruction);
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    operator.stream.resume();
    await expect.poll(() => operator.ended?.code, { timeout: 10_000 }).toBe(status.RESOURCE_EXHAUSTED);
  });
});

describe('names of built-in properties', () => {
  it('O3: are ordinary labels and resources', async () => {
    const { shard, greeted } = await startRig();
    const operator = await greeted('east');
    const named = (value: string) => JSON.parse(`{"__proto__":${value},"constructor":${value}}`);
    shard.put(inState(S.Configured, { id: '__proto__', labels: named('"x"'), capacity: named('2000') }));
    await operator.receives(() => operator.nodes().length === 1);
    const [node] = operator.nodes();
    expect(Object.entries(node!.labels)).toContainEqual(['__proto__', 'x']);
    expect(Object.entries(node!.resources!.resources)).toContainEqual(['__proto__', '2']);
    expect(Object.entries(node!.resources!.resources)).toContainEqual(['constructor', '2']);
  });
});

describe('a cluster that loses very many machines at once', () => {
  it('O3: receives an update for each while its session lives', async () => {
    const { server, greeted } = await startRig();
    const operator = await greeted('east');
    const count = DEPARTURES_MAX + 500;
    for (let index = 0; index < count; index++) {
      server.nodeLeft({
        machineId: `m-${index}`,
        clusterId: 'east',
        state: S.Idle,
        nodeName: '',
        providerId: '',
        lastError: '',
        labels: {},
        resources: {},
      });
    }
    await operator.receives(() => operator.states()[`m-${count - 1}`] === S.Idle);
    expect(operator.nodes()).toHaveLength(count);
  });
});

describe('frames', () => {
  const helloParts = (count: number) => {
    const part = Buffer.from([0x0a, 6, 0x0a, 4, ...Buffer.from('east')]); // a Hello that names its cluster
    return Buffer.concat(Array.from({ length: count }, () => part));
  };

  it('may come in parts, which are joined', async () => {
    const { connect } = await startRig();
    const operator = connect();
    operator.stream.write(helloParts(FRAME_FIELDS_MAX));
    await operator.greeted();
  });

  for (const [what, frame] of [
    ['in more parts than the limit', helloParts(FRAME_FIELDS_MAX + 1)],
    ['with a million parts', helloParts(1_000_000)],
    ['with a million unknown fields', Buffer.alloc(2_000_000, Buffer.from([0x78, 0]))],
    [
      'whose Hello has a million bytes',
      encode('OperatorMessage', { hello: { clusterId: 'east', protocolVersion: 'v'.repeat(1_000_000) } }),
    ],
  ] as const) {
    it(`${what} end their stream with INVALID_ARGUMENT before they are decoded`, async () => {
      const { connect } = await startRig();
      const operator = await connect({ clusterId: 'east' }).greeted();
      operator.stream.write(frame);
      expect((await operator.endedWith()).code).toBe('INVALID_ARGUMENT');
      expect(operator.acks('hello')).toBe(1);
    });

    it(`${what} open no session`, async () => {
      const { server, connect } = await startRig();
      const operator = connect();
      operator.stream.write(frame);
      const code = frame.length > FIRST_FRAME_BYTES_MAX ? 'RESOURCE_EXHAUSTED' : 'INVALID_ARGUMENT';
      expect((await operator.endedWith()).code).toBe(code);
      expect(server.counters.sessionsInstalled).toBe(0);
    });
  }

  it('may be compressed with gzip', async () => {
    const { server } = await startRig();
    const client = new Client(server.address, ChannelCredentials.createInsecure(), {
      'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
    });
    closeAfterwards(() => client.close());
    const { path, requestSerialize, responseDeserialize } = rawShardService.Session;
    const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    stream.on('error', () => {});
    stream.write(encode('OperatorMessage', { hello: { clusterId: 'east' } }));
    stream.write(
      encode('OperatorMessage', {
        rollup: { needs: [{ aggregateResources: { cpu: '1' }, group: 'g'.repeat(4_000) }] },
      }),
    );
    let acks = 0;
    stream.on('data', () => acks++);
    await expect.poll(() => acks).toBe(2);
    stream.cancel();
  });
});

describe('streams above the limit', () => {
  it('are refused with RESOURCE_EXHAUSTED before Hello, and streams that end make room', async () => {
    const { server, connect, greeted } = await startRig({ limits: { stream: { total: 2 } } });
    const [first] = [await greeted('east'), await greeted('west')];
    expect((await connect().endedWith()).code).toBe('RESOURCE_EXHAUSTED');
    first.close();
    await expect.poll(() => server.sessionCount).toBe(1);
    await greeted('north');
  });

  it('of readers of needs are refused too', async () => {
    let opened = 0;
    let hold = () => {};
    const held = new Promise<void>((resolve) => {
      hold = resolve;
    });
    const needs = {
      inspectNeeds: async () => {
        opened++;
        await held;
        return NO_NEEDS.inspectNeeds({});
      },
    };
    const { server } = await startRig({ needs, limits: { reader: { identity: Infinity } } });
    const inspections = Array.from({ length: INSPECTIONS_MAX }, () => inspect(server.address, {}));
    await expect.poll(() => opened).toBe(INSPECTIONS_MAX);
    expect((await inspect(server.address, {})).code).toBe('RESOURCE_EXHAUSTED');
    hold();
    for (const { code } of await Promise.all(inspections)) expect(code).toBe('OK');
    expect((await inspect(server.address, {})).code).toBe('OK');
  });
});
