/** Hostile clients on real sockets, with an honest probe beside them. */
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { networkOf } from '../../src/base/network.ts';
import { HttpServer, type HttpServerOptions } from '../../src/observe/http.ts';
import { HEALTH_LIMITS, HTTP_LIMITS } from '../../src/observe/http-limits.ts';
import { createLogger, SILENT } from '../../src/observe/log.ts';

async function serve(options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  const server = await HttpServer.listen({
    host: '127.0.0.1',
    port: 0,
    scrape: async () => ({ body: 'up 1\n', contentType: 'text/plain' }),
    readiness: () => ({ isReady: true, reason: '' }),
    log: SILENT,
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

/** A client that sends this text and does what it likes with the rest. */
function client(server: HttpServer, text: string, localAddress = '127.0.0.1'): Socket {
  const socket = connect({ port: server.port, host: '127.0.0.1', localAddress });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(text);
  return socket;
}

const requestOf = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const HALF = 'GET /metrics HTTP/1.1\r\nHost: local';
const connected = (socket: Socket) => new Promise((resolve) => socket.once('connect', resolve));
const closed = (socket: Socket) =>
  new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    socket.resume();
  });
const statusOf = async (server: HttpServer, path: string) =>
  (await fetch(`${server.url}${path}`, { headers: { connection: 'close' } })).status;

describe('the HTTP server beside hostile clients', () => {
  it('T13: answers every probe beside 560 half-written requests, whose clients connect again when they are closed', async () => {
    const server = await serve();
    let isOver = false;
    const attack = () => {
      const socket = connect(server.port, '127.0.0.1')
        .on('error', () => {})
        .resume();
      socket.write(HALF);
      socket.once('close', () => setTimeout(() => isOver || attack(), 500));
      return socket;
    };
    await Promise.all(Array.from({ length: 560 }, () => connected(attack())));
    const statuses: number[] = [];
    for (let probe = 0; probe < 60; probe++) statuses.push(await statusOf(server, 'healthz'));
    isOver = true;
    await server.close();
    expect(statuses).toEqual(Array.from({ length: 60 }, () => 200));
    expect(server.refused.connections).toBeGreaterThan(200);
  }, 60_000);

  it('T13: closes the longest waiting connection of the address with the most, and no other', async () => {
    const limits = { ...HTTP_LIMITS, connectionsMax: 20, connectionsPerAddressMax: 20 };
    const server = await serve({ limits });
    const honest = client(server, '', '127.0.0.2');
    await connected(honest);
    const hostile = Array.from({ length: 60 }, () => client(server, HALF, '127.0.0.3'));
    const ended = hostile.map(closed);
    await Promise.all(ended.slice(0, 41));
    expect(server.refused.connections).toBe(41);
    const answer = new Promise<string>((resolve) => honest.once('data', (bytes) => resolve(String(bytes))));
    honest.write(requestOf('/metrics'));
    expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(hostile.filter((socket) => !socket.destroyed)).toEqual(hostile.slice(41));
  });

  it('T13: closes a connection whose request does not arrive whole, and answers 408', async () => {
    const server = await serve({ limits: { ...HTTP_LIMITS, headersTimeoutMs: 100, checkMs: 20 } });
    let answer = '';
    const slow = client(server, HALF).on('data', (bytes) => {
      answer += String(bytes);
    });
    const drip = setInterval(() => slow.write('x'), 10);
    await closed(slow);
    clearInterval(drip);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(server.refused.slow_request).toBe(1);
  });

  it('T13: answers 503 beyond its requests in flight, in total and per address, and still answers health checks', async () => {
    const limits = { ...HTTP_LIMITS, inFlightMax: 6, inFlightPerAddressMax: 4 };
    const server = await serve({ limits });
    let arrived = 0;
    let finish: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    server.mount('/slow', async (_request, response) => {
      arrived++;
      await gate;
      response.end('done');
    });
    const one = Array.from({ length: 5 }, () => fetch(`${server.url}slow`));
    await expect.poll(() => server.refused.in_flight).toBe(1);
    expect(arrived).toBe(4);
    for (let index = 0; index < 3; index++) client(server, requestOf('/slow'), '127.0.0.2').resume();
    await expect.poll(() => server.refused.in_flight).toBe(2);
    expect(arrived).toBe(6);
    expect([await statusOf(server, 'healthz'), await statusOf(server, 'readyz?verbose=1')]).toEqual([
      200, 200,
    ]);
    expect(await statusOf(server, 'metrics')).toBe(503);
    finish();
    expect((await Promise.all(one)).map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 503]);
    expect(await statusOf(server, 'metrics')).toBe(200);
  });

  it('T13: works on a few requests of a connection that pipelines, then closes it', async () => {
    const server = await serve();
    let handled = 0;
    server.mount('/page', async (_request, response) => {
      handled++;
      await new Promise((resolve) => setTimeout(resolve, 50));
      response.end('x'.repeat(100_000));
    });
    await closed(client(server, requestOf('/page').repeat(1_000)));
    expect(handled).toBe(HTTP_LIMITS.pipelinedMax);
    expect(server.refused.pipelined).toBe(1);
    expect(await statusOf(server, 'page')).toBe(200);
  });

  it('T13: answers requests of one connection one after the other, also two at once', async () => {
    const server = await serve();
    let text = '';
    const socket = client(server, requestOf('/metrics').repeat(2)).on('data', (bytes) => {
      text += String(bytes);
    });
    await expect.poll(() => text.match(/HTTP\/1\.1 200/g)?.length).toBe(2);
    socket.write(requestOf('/healthz'));
    await expect.poll(() => text.match(/HTTP\/1\.1 200/g)?.length).toBe(3);
    expect(Object.values(server.refused)).toEqual([0, 0, 0, 0, 0]);
  });

  it('T13: cuts off answers that are not read, and answers probes and others meanwhile', async () => {
    const limits = { ...HTTP_LIMITS, answerTimeoutMs: 300, checkMs: 20, inFlightPerAddressMax: 8 };
    const server = await serve({ limits });
    server.mount('/large', (_request, response) => void response.end(Buffer.alloc(16 * 1024 * 1024)));
    const deaf = Array.from({ length: 12 }, () => client(server, requestOf('/large'), '127.0.0.2').pause());
    // A client that sends does not look idle; it must be cut off all the same.
    for (const socket of deaf) socket.write('GET / HTTP/1.1\r\n');
    const drip = setInterval(() => {
      for (const socket of deaf) socket.write('a: b\r\n');
    }, 20);
    onTestFinished(() => clearInterval(drip));
    expect([await statusOf(server, 'healthz'), await statusOf(server, 'metrics')]).toEqual([200, 200]);
    // Those beyond 8 at a time are refused, unless they come so late that others are cut off already.
    const ended = () => server.refused.unread_answer + server.refused.in_flight;
    await expect.poll(ended, { timeout: 20_000 }).toBe(12);
    expect(server.refused.unread_answer).toBeGreaterThanOrEqual(8);
    expect(await statusOf(server, 'healthz')).toBe(200);
  }, 30_000);

  it('T13: logs the first refusal of each kind, and counts the rest', async () => {
    const lines: string[] = [];
    const sink = { write: (line: string) => void lines.push(line), flush: () => {}, drain: async () => {} };
    const limits = { ...HTTP_LIMITS, connectionsMax: 2, connectionsPerAddressMax: 2 };
    const server = await serve({ limits, log: createLogger({ level: 'info', format: 'json', sink }) });
    const ended = Array.from({ length: 10 }, () => closed(client(server, HALF)));
    await Promise.all(ended.slice(0, 8));
    expect(server.refused.connections).toBe(8);
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { event: 'http_refused', reason: 'connections', address: '127.0.0.1' },
    ]);
  });

  it('T13: serves nothing but health on an address of its own', async () => {
    const server = await HttpServer.listen({
      host: '127.0.0.1',
      port: 0,
      readiness: () => ({ isReady: false, reason: 'no listing of rack-a yet' }),
      log: SILENT,
      limits: HEALTH_LIMITS,
    });
    onTestFinished(() => server.close());
    const statuses = ['healthz', 'readyz', 'metrics', '', 'api/v1'].map((path) => statusOf(server, path));
    expect(await Promise.all(statuses)).toEqual([200, 503, 404, 404, 404]);
    await expect(serve({ port: server.port, setting: '--health-addr' })).rejects.toThrow('--health-addr');
  });
});

describe('a limit per address', () => {
  for (const [address, network] of [
    ['10.0.0.7', '10.0.0.7'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
  ] as const) {
    it(`T13: counts ${JSON.stringify(address)} as ${JSON.stringify(network)}`, () => {
      expect(networkOf(address)).toBe(network);
    });
  }
});
