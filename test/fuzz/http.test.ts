/** Any client can send anything to the HTTP port: no request may end the shard or cause an internal error. */
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createDashboard } from '../../src/dashboard/dashboard.ts';
import { HttpServer } from '../../src/observe/http.ts';
import { SILENT } from '../../src/observe/log.ts';
import { LiveWorld } from '../dashboard/live-world.ts';
import { CASES_MIN, fuzz } from './fuzzer.ts';

const PATHS = [
  '/healthz',
  '/metrics',
  '/api/v1/overview',
  '/api/v1/machines?state=Idle&limit=10&cluster=cluster-0000&cursor=abc',
  '/api/v1/machines/m-000001',
  '/api/v1/needs?cluster=cluster-0000&unmet=true&limit=5',
  '/api/v1/needs/explain?cluster=cluster-0000&row=0',
  '/api/v1/clusters?limit=500',
  '/api/v1/actions?limit=50&outcome=success',
  '/api/v1/history?since=0',
  '/',
  '/machines',
];

/** Sends raw bytes; returns the status of the answer, or how the connection ended without one. */
function send(port: number, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      if (answer.length < 64) answer += text;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 'closed'));
    socket.end(bytes);
  });
}

it('a damaged request is answered or refused, and the next one is served', async () => {
  const live = new LiveWorld(300);
  for (let cycle = 0; cycle < 3; cycle++) live.step();
  const server = await HttpServer.listen({
    host: '127.0.0.1',
    port: 0,
    scrape: async () => ({ body: 'up 1\n', contentType: 'text/plain' }),
    readiness: () => ({ isReady: true, reason: '' }),
    log: SILENT,
  });
  onTestFinished(() => server.close());
  server.mount(
    '/',
    createDashboard({ view: () => live.world.view, history: live.history, version: '0', nowMs: () => 1_000 }),
  );
  const requestOf = (path: string) =>
    Buffer.from(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: close\r\n\r\n`);
  const statuses = await Promise.all(PATHS.map((path) => send(server.port, requestOf(path))));
  expect(statuses.filter((status) => status === '200').length).toBeGreaterThan(5);
  const report = await fuzz(PATHS.map(requestOf), async (bytes, random) => {
    const status = await send(server.port, bytes);
    expect(status).not.toMatch(/^5/);
    if (random.chance(0.02)) expect(await send(server.port, requestOf('/healthz'))).toBe('200');
    return status;
  });
  expect(report.cases).toBeGreaterThanOrEqual(CASES_MIN);
  expect(Object.keys(report.outcomes)).toEqual(expect.arrayContaining(['200', '400', '404']));
});
