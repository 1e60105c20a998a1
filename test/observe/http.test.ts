import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CannotListenError, HttpServer, type HttpServerOptions } from '../../src/observe/http.ts';
import { isHostAllowed } from '../../src/observe/http-host.ts';
import { HTTP_LIMITS } from '../../src/observe/http-limits.ts';
import { createLogger, SILENT } from '../../src/observe/log.ts';

async function serve(options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  const server = await HttpServer.listen({
    host: '127.0.0.1',
    port: 0,
    scrape: async () => ({ body: 'up 1\n', contentType: 'text/plain; version=0.0.4' }),
    readiness: () => ({ isReady: true, reason: '' }),
    log: SILENT,
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

function ask(
  server: HttpServer,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: server.port, path, method, headers, agent: false };
    const sent = httpRequest(options, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, body }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('the HTTP server', () => {
  it('serves metrics with their content type', async () => {
    const { status, headers, body } = await ask(await serve(), '/metrics');
    expect([status, headers['content-type'], body]).toEqual([200, 'text/plain; version=0.0.4', 'up 1\n']);
  });

  it('shares one scrape between overlapping requests', async () => {
    let scrapes = 0;
    let arrivals = 0;
    let finish: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    // Read once for each request, when it has arrived.
    const allowedHosts: string[] = [];
    allowedHosts[Symbol.iterator] = () => {
      arrivals++;
      return [][Symbol.iterator]();
    };
    const server = await serve({
      allowedHosts,
      scrape: async () => {
        scrapes++;
        await gate;
        return { body: `${scrapes}\n`, contentType: 'text/plain' };
      },
    });
    const asked = [ask(server, '/metrics'), ask(server, '/metrics')];
    await expect.poll(() => arrivals).toBe(2);
    finish();
    expect((await Promise.all(asked)).map(({ body }) => body)).toEqual(['1\n', '1\n']);
    expect((await ask(server, '/metrics')).body).toBe('2\n');
  });

  it('I3: is healthy while it answers, and gives the reason while it is not ready', async () => {
    let reason = 'waiting for the first listing of rack-a';
    const server = await serve({ readiness: () => ({ isReady: reason === '', reason }) });
    expect((await ask(server, '/healthz')).status).toBe(200);
    expect(await ask(server, '/readyz')).toMatchObject({ status: 503, body: `not ready: ${reason}\n` });
    reason = '';
    expect(await ask(server, '/readyz')).toMatchObject({ status: 200, body: 'ready\n' });
  });

  it('I4: sends safe headers with every answer', async () => {
    const server = await serve();
    for (const path of ['/metrics', '/healthz', '/nothing']) {
      expect((await ask(server, path)).headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      });
    }
  });

  it('I4: refuses a Host header with a foreign name', async () => {
    const server = await serve({ allowedHosts: ['fleet.example'] });
    for (const [host, status] of [
      ['evil.example', 421],
      ['evil.example:8780', 421],
      ['127.0.0.1.evil.example', 421],
      ['localhost:8780', 200],
      ['10.0.0.7', 200],
      ['[::1]:8780', 200],
      ['fleet.example', 200],
      ['FLEET.example:80', 200],
    ] as const) {
      expect([host, (await ask(server, '/healthz', { host })).status]).toEqual([host, status]);
    }
  });

  it('I4: refuses a request without a Host', async () => {
    const server = await serve();
    const answer = await new Promise<string>((resolve) => {
      let text = '';
      const socket = connect(server.port, '127.0.0.1', () => socket.write('GET /metrics HTTP/1.0\r\n\r\n'));
      socket.on('data', (bytes) => {
        text += bytes.toString();
      });
      socket.on('close', () => resolve(text));
    });
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
  });

  it('is read-only', async () => {
    const server = await serve();
    server.mount('/api/v1', (_request, response) => void response.end('changed'));
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, headers } = await ask(server, '/api/v1/machines', {}, method);
      expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
    }
    expect(await ask(server, '/metrics', {}, 'HEAD')).toMatchObject({ status: 200, body: '' });
  });

  it('answers with the handler of the longest matching prefix', async () => {
    const server = await serve();
    const say = (text: string) => (_: unknown, response: { end(text: string): unknown }, url: URL) =>
      void response.end(`${text} ${url.pathname} ${url.search}`);
    server.mount('/', say('page'));
    server.mount('/api/v1', say('api'));
    server.mount('/api/v1/needs', say('needs'));
    for (const [path, body] of [
      ['/', 'page / '],
      ['/fleet', 'page /fleet '],
      ['/api/v1', 'api /api/v1 '],
      ['/api/v1/machines?limit=3', 'api /api/v1/machines ?limit=3'],
      ['/api/v1/needs/x', 'needs /api/v1/needs/x '],
      ['/api/v10', 'page /api/v10 '],
    ] as const) {
      expect((await ask(server, path)).body).toBe(body);
    }
    expect((await ask(server, '/healthz')).body).toBe('ok\n');
  });

  it('answers 404 where no handler is mounted', async () => {
    expect((await ask(await serve(), '/')).status).toBe(404);
  });

  it('survives a failing handler and logs the error', async () => {
    const lines: string[] = [];
    const sink = { write: (line: string) => void lines.push(line), flush: () => {}, drain: async () => {} };
    const server = await serve({ log: createLogger({ level: 'info', format: 'json', sink }) });
    server.mount('/soon', () => {
      throw new Error('boom');
    });
    server.mount('/later', async (_request, response) => {
      response.write('half');
      throw new Error('too late');
    });
    expect(await ask(server, '/soon')).toMatchObject({ status: 500 });
    await expect(ask(server, '/later')).rejects.toThrow();
    expect((await ask(server, '/healthz')).status).toBe(200);
    expect(lines.join('')).toContain('boom');
    expect(lines.join('')).toContain('too late');
  });

  it('closes although streams are open', async () => {
    const server = await serve();
    server.mount('/stream', (_request, response) => void response.write('begin'));
    const open = ask(server, '/stream').catch((error: Error) => error.message);
    await ask(server, '/healthz');
    await server.close();
    expect(await open).toBeTypeOf('string');
  });

  it('gives its address as a URL, also for IPv6', async () => {
    for (const host of ['127.0.0.1', '::1']) {
      const server = await serve({ host });
      expect(await (await fetch(`${server.url}healthz`)).text()).toBe('ok\n');
    }
  });

  it('closes a connection whose reader has stopped', async () => {
    const server = await serve({ limits: { ...HTTP_LIMITS, idleTimeoutMs: 200 } });
    const closed = new Promise<void>((resolve) => {
      server.mount('/large', (_request, response) => {
        response.once('close', resolve);
        response.end(Buffer.alloc(64 * 1024 * 1024));
      });
    });
    const socket = connect(server.port, '127.0.0.1').pause();
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    socket.write('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await closed; // far more than a connection takes without a reader
  });

  it('names the address that it cannot listen on, and what to do', async () => {
    const server = await serve();
    await expect(serve({ port: server.port })).rejects.toThrow(CannotListenError);
    await expect(serve({ port: server.port })).rejects.toThrow('--metrics-addr');
  });
});

describe('I4: a Host header', () => {
  for (const [header, isAllowed] of [
    [undefined, false],
    ['', false],
    [':80', false],
    ['localhost', true],
    ['LOCALHOST:1', true],
    ['127.0.0.1:8780', true],
    ['[::1]', true],
    ['[fe80::1%eth0]:1', true],
    ['::1', false],
    ['a.example', false],
    ['shard.example:443', true],
    ['shard.example:443:1', false],
    ['shard.example@evil.example', false],
    ['localhost.evil.example', false],
  ] as const) {
    it(`${JSON.stringify(header)} is ${isAllowed ? 'allowed' : 'refused'}`, () => {
      expect(isHostAllowed(header, ['shard.example'])).toBe(isAllowed);
    });
  }
});
