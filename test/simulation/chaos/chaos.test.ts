/** A short version of `npm run chaos`: faults of real processes, and the proxy that causes some of them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import type { FaultReport } from '../../../src/simulation/chaos/campaign.ts';
import { FaultyProxy } from '../../../src/simulation/chaos/proxy.ts';

const MAIN = fileURLToPath(new URL('../../../dist/src/simulation/chaos/main.js', import.meta.url));
/** Longer than all that the campaign itself waits for: a violation has a name, a test that was cut off has none. */
const TIMEOUT_MS = 900_000;

async function campaign(...only: string[]): Promise<FaultReport[]> {
  const flags = only.flatMap((text) => ['--only', text]);
  const child = spawn(process.execPath, [MAIN, '--json', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => {
    child.kill();
  });
  let output = '';
  child.stdout.on('data', (bytes) => {
    output += bytes;
  });
  await once(child, 'close');
  return JSON.parse(output);
}

it(
  'no machine is lost, bound twice or taken from a cluster after kills, fencing, ended threads and wrong listings',
  async () => {
    const reports = await campaign(
      'shard killed (-9) in a burst',
      'with calls to make, then woken',
      'worker threads end',
      'operators killed (-9)',
      'provider lies',
    );
    expect(reports.map(({ violation }) => violation)).toEqual(['', '', '', '', '']);
    for (const report of reports) {
      expect(report).toMatchObject({ machinesLost: 0, doubleBindings: 0, reclaims: 0 });
      expect(report.recoveryMs).not.toBeNull();
    }
  },
  TIMEOUT_MS,
);

/** With or without an error. */
function closed(socket: Socket): Promise<void> {
  socket.on('error', () => {});
  return new Promise((resolve) => socket.on('close', () => resolve()));
}

/** An echo server behind a proxy, and a connection to it. */
async function echo(): Promise<{ proxy: FaultyProxy; socket: Socket }> {
  const server = createServer((peer) => peer.on('error', () => {}).pipe(peer));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await FaultyProxy.listen(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [host, port] = proxy.address.split(':');
  const socket = connect(Number(port), host);
  await once(socket, 'connect');
  onTestFinished(async () => {
    socket.destroy();
    await proxy.close();
    server.close();
  });
  return { proxy, socket };
}

it('the proxy forwards data, with a delay in slow mode', async () => {
  const { proxy, socket } = await echo();
  socket.write('now');
  expect(String((await once(socket, 'data'))[0])).toBe('now');
  proxy.be({ kind: 'slow', delayMs: 200 });
  const beganMs = performance.now();
  socket.write('later');
  expect(String((await once(socket, 'data'))[0])).toBe('later');
  expect(performance.now() - beganMs).toBeGreaterThan(350);
});

it('the proxy resets connections, also new ones', async () => {
  const { proxy, socket } = await echo();
  const isClosed = closed(socket);
  proxy.be({ kind: 'reset' });
  await isClosed;
  const [host, port] = proxy.address.split(':');
  await closed(connect(Number(port), host));
});

it('a half-open connection stays open and carries no data', async () => {
  const { proxy, socket } = await echo();
  proxy.be({ kind: 'silent' });
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes;
  });
  const isClosed = closed(socket);
  socket.write('lost');
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect([received, socket.destroyed]).toEqual(['', false]);
  proxy.be({ kind: 'pass' });
  await isClosed;
  expect(received).toBe('');
});
