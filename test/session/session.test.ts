import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { StringTableFullError } from '../../src/base/string-table.ts';
import { MachineState as S } from '../../src/machine/state.ts';
import { FRAME_BYTES_MAX, ROLLUP_ROWS_MAX } from '../../src/session/limits.ts';
import { inState } from '../inventory/machines.ts';
import { need, needs } from './operator.ts';
import { startRig } from './rig.ts';

describe('the first frame', () => {
  it('O1: is answered with an ack that carries the epoch, then with an update per bound machine', async () => {
    const { shard, greeted } = await startRig();
    shard.put(inState(S.Configured, { id: 'm-1' }));
    shard.put(inState(S.Draining, { id: 'm-2' }));
    shard.put(inState(S.Configuring, { id: 'm-3' }));
    shard.put(inState(S.Failed, { id: 'm-4', cluster: 'east' }));
    shard.put(inState(S.Idle, { id: 'm-5' }));
    shard.put(inState(S.Configured, { id: 'm-6', cluster: 'west' }));
    const operator = await greeted('east');
    expect(operator.received[0]!.ack).toEqual({ echo: 'hello', coordinatorTerm: 0, shardEpoch: 7 });
    await operator.receives(() => operator.nodes().length === 4);
    expect(operator.states()).toEqual({
      'm-1': S.Configured,
      'm-2': S.Draining,
      'm-3': S.Configuring,
      'm-4': S.Failed,
    });
    expect(operator.nodes().find(({ machineId }) => machineId === 'm-1')).toEqual({
      supersedesKey: 'node:m-1',
      machineId: 'm-1',
      clusterId: 'east',
      state: S.Configured,
      nodeName: 'm-1',
      providerId: 'i-0123',
      lastError: '',
      labels: {
        rack: 'r1',
        'node.kubernetes.io/instance-type': 'm5.4xlarge',
        'topology.kubernetes.io/zone': 'use1a',
      },
      resources: { resources: { cpu: '16', memory: '64Gi' } },
      taints: [],
    });
    expect(operator.nodes().find(({ machineId }) => machineId === 'm-4')!.lastError).toBe('it broke');
    expect(shard.opened).toEqual(['east']);
  });

  it('O1: is acked again when it is sent again, and the updates are not repeated', async () => {
    const { shard, greeted } = await startRig();
    shard.put(inState(S.Configured, { id: 'm-1' }));
    const operator = await greeted('east');
    await operator.receives(() => operator.nodes().length === 1);
    operator.hello('east');
    await operator.receives(() => operator.acks('hello') === 2);
    expect(operator.nodes()).toHaveLength(1);
    expect(shard.opened).toEqual(['east']);
  });

  for (const [what, say] of [
    ['a roll-up', (one: { rollup(rows: []): void }) => one.rollup([])],
    [
      'an unknown payload',
      (one: { stream: { write(bytes: Uint8Array): void } }) =>
        one.stream.write(Uint8Array.of(0xfa, 0x01, 0x01, 0x00)),
    ],
  ] as const) {
    it(`O1: that is ${what} ends the stream with INVALID_ARGUMENT`, async () => {
      const { shard, server, connect } = await startRig();
      const operator = connect();
      (say as (one: unknown) => void)(operator);
      expect(await operator.endedWith()).toEqual({
        code: 'INVALID_ARGUMENT',
        details: 'The first frame must be Hello.',
      });
      expect(shard.opened).toEqual([]);
      expect(server.counters.streamsRefused).toBe(1);
    });
  }

  for (const [because, clusterId] of [
    ['is empty', ''],
    ['is longer than 253 bytes', 'c'.repeat(254)],
    ['has a byte that is not printable', 'east\n'],
    ['is not ASCII', 'öst'],
  ] as const) {
    it(`O1: with a cluster id that ${because} ends the stream with INVALID_ARGUMENT`, async () => {
      const { connect } = await startRig();
      const { code, details } = await connect({ clusterId }).endedWith();
      expect(code).toBe('INVALID_ARGUMENT');
      expect(details).toContain('1 to 253 printable bytes');
    });
  }

  it('O1: takes a cluster id of 253 printable bytes', async () => {
    const { greeted } = await startRig();
    expect((await greeted('c'.repeat(253))).ended).toBe(null);
  });

  it('must arrive: the shard ends a stream that sends nothing', async () => {
    const { connect } = await startRig({ helloTimeoutMs: 50 });
    expect((await connect().endedWith()).code).toBe('DEADLINE_EXCEEDED');
  });

  it('I3, X8: is refused with UNAVAILABLE and the reason while the shard accepts no sessions', async () => {
    const { shard, connect } = await startRig();
    shard.refusalText = 'fenced: another process owns this shard id';
    expect(await connect({ clusterId: 'east' }).endedWith()).toEqual({
      code: 'UNAVAILABLE',
      details: 'fenced: another process owns this shard id',
    });
    expect(shard.opened).toEqual([]);
  });
});

describe('a shard without room for another cluster', () => {
  it('refuses its session with RESOURCE_EXHAUSTED, and serves the others', async () => {
    const { shard, server, connect, greeted } = await startRig();
    const opened = shard.sessionOpened.bind(shard);
    shard.sessionOpened = (clusterId) => {
      if (clusterId === 'one-too-many') throw new StringTableFullError('clusters', 'entries', 1);
      opened(clusterId);
    };
    const { code, details } = await connect({ clusterId: 'one-too-many' }).endedWith();
    expect(code).toBe('RESOURCE_EXHAUSTED');
    expect(details).toContain('The table of clusters is full');
    await greeted('east');
    expect(server.sessionCount).toBe(1);
    expect(shard.closed).toEqual([]);
  });
});

describe('a session', () => {
  it('O2: ends with a status that says so when a newer session of its cluster replaces it', async () => {
    const { shard, server, events, greeted } = await startRig();
    const old = await greeted('east');
    const young = await greeted('east');
    const { code, details } = await old.endedWith();
    expect(code).toBe('ABORTED');
    expect(details).toContain('A newer session of cluster "east"');
    expect(shard.opened).toEqual(['east', 'east']);
    expect(shard.closed).toEqual([]);
    young.rollup(needs(3));
    await young.receives(() => young.acks('rollup') === 1);
    expect(server.counters).toMatchObject({
      sessionsInstalled: 2,
      sessionsReplaced: 1,
      sessionsRemoved: 1,
    });
    expect(events.map(({ kind }) => kind)).toEqual(['session_opened', 'session_replaced', 'session_opened']);
  });

  it('ends with OK when the operator ends it, and the shard is notified', async () => {
    const { shard, server, greeted } = await startRig();
    const operator = await greeted('east');
    operator.stream.end();
    expect((await operator.endedWith()).code).toBe('OK');
    expect(shard.closed).toEqual(['east']);
    expect(server.sessionCount).toBe(0);
  });

  it('ends for the shard when the connection breaks', async () => {
    const { shard, server, greeted } = await startRig();
    (await greeted('east')).close();
    await expect.poll(() => shard.closed).toEqual(['east']);
    expect(server.counters.sessionsRemoved).toBe(1);
  });

  it('refuses a later Hello that names another cluster', async () => {
    const { greeted } = await startRig();
    const operator = await greeted('east');
    operator.hello('west');
    expect(await operator.endedWith()).toEqual({
      code: 'INVALID_ARGUMENT',
      details: 'This session belongs to cluster "east"; Hello names another.',
    });
  });

  it('survives an unknown payload, which is counted', async () => {
    const { server, greeted } = await startRig();
    const operator = await greeted('east');
    operator.stream.write(Uint8Array.of(0xfa, 0x01, 0x02, 0x08, 0x01));
    operator.send({});
    operator.send({ reclaimAck: { instructionId: 'r-1', nodesStarted: 2 } });
    operator.rollup(needs(2));
    await operator.receives(() => operator.acks('rollup') === 1);
    expect(server.counters.framesIn).toMatchObject({ unknown: 2, reclaim_ack: 1, hello: 1, rollup: 1 });
  });

  it('ends with INVALID_ARGUMENT after malformed bytes', async () => {
    const { shard, greeted } = await startRig();
    const operator = await greeted('east');
    operator.stream.write(Uint8Array.of(0x0a, 0x7f, 0x01));
    const { code, details } = await operator.endedWith();
    expect(code).toBe('INVALID_ARGUMENT');
    expect(details).toContain('a length of 127 bytes where 1 are left');
    expect(shard.closed).toEqual(['east']);
  });

  it('ends with RESOURCE_EXHAUSTED after a frame above the limit, and demand stays', async () => {
    const { shard, greeted } = await startRig();
    const operator = await greeted('east');
    operator.rollup(needs(2));
    await operator.receives(() => operator.acks('rollup') === 1);
    operator.rollup([need({ group: 'x'.repeat(FRAME_BYTES_MAX) })]);
    const { code, details } = await operator.endedWith();
    expect(code).toBe('RESOURCE_EXHAUSTED');
    expect(details).toContain(`larger than max`);
    expect(details).toContain(String(FRAME_BYTES_MAX));
    expect(shard.groupsOf('east')).toEqual(['g-0', 'g-1']);
  });

  it('I3: ends with UNAVAILABLE and the reason when the shard stops, which accepts no more sessions', async () => {
    const { server, connect, greeted } = await startRig();
    const operator = await greeted('east');
    server.endAll('The shard is shutting down.');
    const expected = { code: 'UNAVAILABLE', details: 'The shard is shutting down.' };
    expect(await operator.endedWith()).toEqual(expected);
    expect(await connect({ clusterId: 'east' }).endedWith()).toEqual(expected);
    expect(status.UNAVAILABLE).toBe(14);
  });

  it('is listed with its figures', async () => {
    const { shard, server, greeted } = await startRig();
    shard.put(inState(S.Configured, { id: 'm-1' }));
    const operator = await greeted('east');
    shard.clock.advance(500);
    operator.rollup(needs(5));
    await operator.receives(() => operator.acks('rollup') === 1);
    expect(server.sessions()).toEqual([
      {
        clusterId: 'east',
        peer: expect.stringContaining('127.0.0.1:'),
        sinceMs: 1_000_000,
        lastRollupMs: 1_000_500,
        lastRollupRows: 5,
        outboxDepth: 0,
        waitingBlobs: 0,
        boundMachines: 1,
      },
    ]);
  });
});

describe('a roll-up', () => {
  it('N1: replaces the demand of its cluster, and is acked', async () => {
    const { shard, server, greeted } = await startRig();
    const operator = await greeted('east');
    operator.rollup(needs(3), 'east');
    await operator.receives(() => operator.acks('rollup') === 1);
    expect(shard.groupsOf('east')).toEqual(['g-0', 'g-1', 'g-2']);
    operator.rollup(needs(1, 'h'));
    await operator.receives(() => operator.acks('rollup') === 2);
    expect(shard.groupsOf('east')).toEqual(['h-0']);
    expect(server.counters).toMatchObject({ rollupsApplied: 2, rollupsRejected: 0 });
  });

  it('N1: that repeats the last one is acked, and none of its rows is decoded', async () => {
    const { shard, server, greeted } = await startRig();
    const operator = await greeted('east');
    for (let time = 1; time <= 3; time++) {
      operator.rollup(needs(50));
      await operator.receives(() => operator.acks('rollup') === time);
    }
    expect(shard.decodedRows).toHaveLength(50);
    expect(server.counters).toMatchObject({ rollupsApplied: 1, rollupsUnchanged: 2 });
  });

  it('N7: that drops most of the demand is quarantined and acked', async () => {
    const { shard, server, greeted } = await startRig();
    const operator = await greeted('east');
    operator.rollup(needs(40));
    for (let time = 1; time <= 2; time++) operator.rollup(needs(1));
    await operator.receives(() => operator.acks('rollup') === 3);
    expect(shard.groupsOf('east')).toHaveLength(40);
    operator.rollup(needs(1));
    await operator.receives(() => operator.acks('rollup') === 4);
    expect(shard.groupsOf('east').length).toBeLessThanOrEqual(40);
    expect(server.counters.rollupsHeld).toBeGreaterThan(0);
  });

  for (const [because, rows, clusterId, why] of [
    ['names another cluster', needs(1), 'west', /cluster_id names cluster "west"/],
    ['has an unparseable quantity', [need({ aggregateResources: { cpu: 'lots' } })], '', null],
    ['has a negative quantity', [need({ minUnit: { cpu: '-1' } })], '', null],
    [
      'names a resource in a megabyte',
      [need({ aggregateResources: { [`${'.hugepages-'.repeat(90_000)}/`]: '1' } })],
      '',
      null,
    ],
    ['has an unknown penalty bucket', [need({ interruptionPenaltyBucket: 28 })], '', null],
    [
      'has an unknown operator',
      [need({ requirements: [{ key: 'zone', operator: 9, values: ['a'] }] })],
      '',
      null,
    ],
    ['has an empty requirement key', [need({ requirements: [{ key: '', operator: 3 }] })], '', null],
    [
      'has an unknown mode of spreading',
      [need({ spread: [{ topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 7 }] })],
      '',
      null,
    ],
    [
      'has a row of more than 64 KiB',
      [
        need({
          requirements: [
            {
              key: 'host',
              operator: 1,
              values: Array.from({ length: 66 }, (_, host) => `${host}`.padEnd(1_000, 'x')),
            },
          ],
        }),
      ],
      '',
      /needs\[1\] brings the roll-up to 6\d{4} bytes in one row; the limit for one cluster is 65536/,
    ],
    [
      'has too many rows',
      Array.from({ length: ROLLUP_ROWS_MAX + 1 }, () => ({})),
      '',
      /needs\[131072\] brings the roll-up to 131073 rows; the limit for one cluster is 131072/,
    ],
  ] as const) {
    it(`V2: that ${because} is rejected whole, counted and not acked; the demand before it stays`, async () => {
      const { shard, server, greeted } = await startRig();
      const operator = await greeted('east');
      operator.rollup(needs(3));
      await operator.receives(() => operator.acks('rollup') === 1);
      operator.rollup([...needs(1), ...rows], clusterId);
      await expect.poll(() => shard.rejectedOf('east')).toBe(1);
      expect(shard.groupsOf('east')).toEqual(['g-0', 'g-1', 'g-2']);
      if (why !== null) expect(shard.rejections).toEqual([expect.stringMatching(why)]);
      expect(server.counters.rollupsRejected).toBe(1);
      operator.rollup(needs(4));
      await operator.receives(() => operator.acks('rollup') === 2);
      expect(shard.groupsOf('east')).toHaveLength(4);
    });
  }

  it('V2: with a malformed row is rejected whole, and the session lives', async () => {
    const { shard, greeted } = await startRig();
    const operator = await greeted('east');
    operator.rollup(needs(2));
    await operator.receives(() => operator.acks('rollup') === 1);
    const text = Uint8Array.of(0x4a, 0x02, 0xff, 0xfe); // a group that is not UTF-8
    for (const row of [text, Uint8Array.of(0x0a, 0x20)]) {
      const frame = [0x12, row.length + 2, 0x1a, row.length, ...row];
      operator.stream.write(Uint8Array.from(frame));
    }
    await expect.poll(() => shard.rejectedOf('east')).toBeGreaterThan(0);
    operator.rollup(needs(2));
    await operator.receives(() => operator.acks('rollup') >= 2);
    expect(shard.groupsOf('east')).toEqual(['g-0', 'g-1']);
  });
});
