import { createServer, type ServerHttp2Stream } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { FaultyProxy } from '../../src/simulation/chaos/proxy.ts';
import { HostileClient, SESSION_PATH } from '../session/hostile-client.ts';
import { need, needs } from '../session/operator.ts';
import { closeAfterwards, startRig } from '../session/rig.ts';
import { startStandby } from './rig.ts';

const GENEROUS = { timeout: 20_000, interval: 5 };

describe('a standby', () => {
  it('F6: relays a session to the active replica, both ways and in order', async () => {
    const active = await startRig();
    const standby = await startStandby();
    standby.board.show(active.server.address);
    const operator = await standby.connect({ clusterId: 'east' }).greeted();
    expect(active.shard.opened).toEqual(['east']);
    for (let turn = 1; turn <= 20; turn++) operator.rollup(needs(turn));
    await operator.receives(() => active.shard.groupsOf('east').length === 20);
    const answer = active.server.requestBlob({ clusterId: 'east', requirements: [], timeoutMs: 10_000 });
    await operator.receives(() => operator.received.some(({ bootstrapRequest: asked }) => asked));
    const { requestId } = operator.received.find(({ bootstrapRequest: asked }) => asked)!.bootstrapRequest!;
    operator.send({ bootstrapResponse: { requestId, userData: Buffer.from('blob') } });
    expect(await answer).toMatchObject({ kind: 'blob' });
    expect(standby.relay.relayedCount).toBe(1);
    operator.stream.end();
    expect(await operator.endedWith()).toMatchObject({ code: 'OK' });
    await expect.poll(() => standby.relay.counters.ended.active, GENEROUS).toBe(1);
    expect(active.shard.closed).toEqual(['east']);
  });

  it('F6: relays roll-ups of megabytes without keeping them, and many sessions on few connections', async () => {
    const active = await startRig();
    const standby = await startStandby();
    standby.board.show(active.server.address);
    const operators = Array.from({ length: 70 }, (_, n) => standby.connect({ clusterId: `c-${n}` }));
    await Promise.all(operators.map((operator) => operator.greeted()));
    expect(active.server.sessionCount).toBe(70);
    expect(active.server.held('connection')).toBe(2);
    const [first] = operators;
    first!.rollup(Array.from({ length: 100 }, (_, n) => need({ group: `${n}-${'g'.repeat(4_000)}` })));
    await first!.receives(() => first!.acks('rollup') === 1);
    expect(active.shard.groupsOf('c-0')).toHaveLength(100);
  });

  it('F6: holds sessions unread while no replica is active, and relays them once one is', async () => {
    const active = await startRig();
    const standby = await startStandby();
    const operator = standby.connect({ clusterId: 'east' });
    operator.rollup(needs(3));
    await expect.poll(() => standby.relay.heldCount, GENEROUS).toBe(1);
    expect(standby.relay.notReady()).toBe('');
    standby.board.show(active.server.address);
    await operator.receives(() => operator.acks('rollup') === 1);
    expect(active.shard.groupsOf('east')).toHaveLength(3);
    expect(standby.relay.heldCount).toBe(0);
  });

  it('F6: serves held sessions itself when it becomes active, and ends relayed ones', async () => {
    const active = await startRig();
    const standby = await startStandby();
    standby.board.show(active.server.address);
    const relayed = await standby.connect({ clusterId: 'east' }).greeted();
    standby.board.show(null);
    const held = standby.connect({ clusterId: 'west' });
    held.rollup(needs(2));
    await expect.poll(() => standby.relay.heldCount, GENEROUS).toBe(1);
    const shard = standby.takeOver();
    expect(await relayed.endedWith()).toMatchObject({ code: 'UNAVAILABLE' });
    await held.receives(() => held.acks('rollup') === 1);
    expect(shard.groupsOf('west')).toHaveLength(2);
    expect(active.shard.opened).toEqual(['east']);
    expect(standby.relay.counters).toMatchObject({ served: 1, ended: { takeover: 1 } });
    expect((await standby.connect({ clusterId: 'east' }).greeted()).ended).toBeNull();
  });

  it('F6: keeps relayed sessions while no replica is shown, and ends them when another one is active', async () => {
    const former = await startRig();
    const next = await startRig();
    const standby = await startStandby();
    standby.board.show(former.server.address);
    const operator = await standby.connect({ clusterId: 'east' }).greeted();
    standby.board.show(null);
    operator.rollup(needs(1));
    await operator.receives(() => operator.acks('rollup') === 1);
    standby.board.show(next.server.address);
    const { code, details } = await operator.endedWith();
    expect(code).toBe('UNAVAILABLE');
    expect(details).toContain('became active. Connect again.');
    expect(standby.relay.counters.ended.active_changed).toBe(1);
    await standby.connect({ clusterId: 'east' }).greeted();
    expect(next.shard.opened).toEqual(['east']);
  });

  it('F6: offers a session to the next active replica if the former one refuses it or is gone', async () => {
    const leaving = await startRig();
    leaving.server.endAll('The shard is shutting down.');
    const next = await startRig();
    const standby = await startStandby();
    standby.board.show(leaving.server.address);
    const refused = standby.connect({ clusterId: 'east' });
    await expect.poll(() => standby.events.some(({ kind }) => kind === 'relay_holds'), GENEROUS).toBe(true);
    await leaving.server.close();
    const unreachable = standby.connect({ clusterId: 'west' });
    await expect.poll(() => standby.relay.heldCount, GENEROUS).toBe(2);
    standby.board.show(next.server.address);
    await Promise.all([refused.greeted(), unreachable.greeted()]);
    expect(next.shard.opened.toSorted()).toEqual(['east', 'west']);
  });

  it('F6: serves a session that the former replica refused itself, from its first byte', async () => {
    const leaving = await startRig();
    leaving.server.endAll('The shard is shutting down.');
    const standby = await startStandby();
    standby.board.show(leaving.server.address);
    const operator = standby.connect({ clusterId: 'east' });
    operator.rollup(needs(4));
    await expect.poll(() => standby.events.some(({ kind }) => kind === 'relay_holds'), GENEROUS).toBe(true);
    const shard = standby.takeOver();
    await operator.receives(() => operator.acks('rollup') === 1);
    expect(shard.groupsOf('east')).toHaveLength(4);
  });

  it('F6: ends a session that it held for too long, with the reason', async () => {
    const standby = await startStandby({ holdMs: 50 });
    const operator = standby.connect({ clusterId: 'east' });
    expect(await operator.endedWith()).toEqual({
      code: 'UNAVAILABLE',
      details: 'No replica of this shard is active. The standby held the call for 50 ms. Connect again.',
    });
    expect(standby.relay.notReady()).toBe('no replica of this shard is active');
  });

  it('F6: relays no call that another replica has relayed', async () => {
    const active = await startRig();
    const second = await startStandby();
    second.board.show(active.server.address);
    const first = await startStandby({ holdMs: 1_000 });
    first.board.show(second.server.address);
    const { code, details } = await first.connect({ clusterId: 'east' }).endedWith();
    expect(code).toBe('UNAVAILABLE');
    expect(details).toContain('Another replica relayed the call');
    expect(active.shard.opened).toEqual([]);
    expect(second.relay.counters.ended.relayed_twice).toBeGreaterThan(0);
  });

  it('F6: ends its sessions when the connection to the active replica breaks or falls silent', async () => {
    const active = await startRig();
    const proxy = await FaultyProxy.listen(active.server.address);
    closeAfterwards(() => proxy.close());
    const standby = await startStandby({ deadPeerMs: 600 });
    standby.board.show(proxy.address);
    const broken = await standby.connect({ clusterId: 'east' }).greeted();
    proxy.be({ kind: 'reset' });
    expect(await broken.endedWith()).toMatchObject({ code: 'UNAVAILABLE' });
    expect(standby.relay.counters.ended.connection_lost).toBe(1);
    await expect.poll(() => standby.relay.notReady(), GENEROUS).toContain('cannot be reached');
    proxy.be({ kind: 'pass' });
    await expect.poll(() => standby.relay.notReady(), GENEROUS).toBe('');
    const silent = await standby.connect({ clusterId: 'east' }).greeted();
    proxy.be({ kind: 'silent' });
    expect(await silent.endedWith()).toMatchObject({ code: 'UNAVAILABLE' });
    expect(standby.relay.counters.ended.keepalive).toBe(1);
  });

  it('F6: tells the active replica when a client is gone', async () => {
    const active = await startRig();
    const standby = await startStandby();
    standby.board.show(active.server.address);
    const operator = await standby.connect({ clusterId: 'east' }).greeted();
    operator.client.close();
    operator.stream.cancel();
    await expect.poll(() => active.shard.closed, GENEROUS).toEqual(['east']);
    expect(standby.relay.counters.ended.client).toBe(1);
  });

  it('T11: limits the streams that it holds, and the bytes that it reads of each', async () => {
    const received: number[] = [];
    const mute = createServer();
    mute.on('stream', (stream: ServerHttp2Stream) => {
      const at = received.push(0) - 1;
      stream.on('error', () => {});
      stream.on('data', (chunk: Buffer) => {
        received[at]! += chunk.length;
      });
    });
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const { port } = mute.address() as { port: number };
    const standby = await startStandby({}, { limits: { opening: { total: 2 } } });
    closeAfterwards(() => void mute.close());
    const client = new HostileClient(standby.server.address);
    client.open(SESSION_PATH, Buffer.alloc(1_000_000));
    client.open(SESSION_PATH, Buffer.alloc(1_000_000));
    await expect.poll(() => standby.relay.heldCount, GENEROUS).toBe(2);
    const third = client.open(SESSION_PATH);
    await expect.poll(() => third.status, GENEROUS).toBe(8); // RESOURCE_EXHAUSTED
    standby.board.show(`127.0.0.1:${port}`);
    await expect.poll(() => received.length, GENEROUS).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 200));
    for (const bytes of received) expect(bytes).toBeLessThanOrEqual(32 * 1024);
  });
});
