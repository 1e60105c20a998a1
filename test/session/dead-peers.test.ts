import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { needs, Operator } from './operator.ts';
import { closeAfterwards, startRig } from './rig.ts';

/** A cable that a test can cut without either end noticing: it stops passing bytes and closes no connection. */
async function cable(address: string): Promise<{ address: string; cut(): void }> {
  const [host, port] = address.split(':');
  const sockets: Socket[] = [];
  let isCut = false;
  const server = createServer((near) => {
    const far = connectTcp(Number(port), host);
    sockets.push(near, far);
    const pass = (from: Socket, to: Socket) => {
      from.on('data', (bytes) => {
        if (!isCut) to.write(bytes);
      });
      from.on('error', () => {});
      from.on('close', () => {
        if (!isCut) to.destroy();
      });
    };
    pass(near, far);
    pass(far, near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeAfterwards(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port: near } = server.address() as { port: number };
  return {
    address: `127.0.0.1:${near}`,
    cut: () => {
      isCut = true;
    },
  };
}

describe('a peer that died silently', () => {
  it('O6: is detected in time: its session ends, and requests that wait for it settle', async () => {
    const { shard, server } = await startRig({ deadPeerMs: 600 });
    const wire = await cable(server.address);
    const operator = new Operator(wire.address, { clusterId: 'east' });
    closeAfterwards(() => operator.close());
    await operator.greeted();
    operator.rollup(needs(3));
    await operator.receives(() => operator.acks('rollup') === 1);
    await new Promise((resolve) => setTimeout(resolve, 1_500)); // a live peer stays
    expect(server.sessionCount).toBe(1);
    wire.cut();
    const answer = server.requestBlob({ clusterId: 'east', requirements: [], timeoutMs: 60_000 });
    expect(await answer).toEqual({ kind: 'no_session' });
    expect(shard.closed).toEqual(['east']);
    expect(shard.groupsOf('east')).toHaveLength(3); // demand stays
  });

  it('O2: is replaced by the operator that reconnects before the server notices', async () => {
    const { shard, server, greeted } = await startRig();
    const wire = await cable(server.address);
    const dead = new Operator(wire.address, { clusterId: 'east' });
    closeAfterwards(() => dead.close());
    await dead.greeted();
    wire.cut();
    const back = await greeted('east');
    back.rollup(needs(2));
    await back.receives(() => back.acks('rollup') === 1);
    expect(shard.closed).toEqual([]);
    expect(server.sessionCount).toBe(1);
  });

  it('a connection that never sends anything does not keep the server from closing', async () => {
    const { server } = await startRig();
    const [host, port] = server.address.split(':');
    const socket = connectTcp(Number(port), host);
    closeAfterwards(() => void socket.destroy());
    await new Promise((resolve) => socket.once('connect', resolve));
    await server.close();
  });

  it('X16: does not answer a ping, and a peer that is there does', async () => {
    const { shard, server, greeted } = await startRig();
    const wire = await cable(server.address);
    const gone = new Operator(wire.address, { clusterId: 'gone' });
    closeAfterwards(() => gone.close());
    await gone.greeted();
    await greeted('here');
    wire.cut();
    server.pingAll();
    await expect.poll(() => shard.answered, { timeout: 10_000 }).toEqual(['here']);
    server.pingAll();
    await expect.poll(() => shard.answered, { timeout: 10_000 }).toEqual(['here', 'here']);
    expect(server.hasSession('gone')).toBe(true); // until keepalive ends it
  });
});
