/**
 * The HTTP server: metrics, health checks and mounted pages, all read-only, on loopback by default. I4: a foreign web page
 * must not read it through a user's browser. So the server checks the Host header, against a name that an attacker points
 * at 127.0.0.1, and forbids framing and content sniffing.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import { ShardError } from '../base/errors.ts';
import { isHostAllowed } from './http-host.ts';
import type { Logger } from './log.ts';

export interface Readiness {
  readonly isReady: boolean;
  /** Why it is not ready; '' if it is. */
  readonly reason: string;
}

export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  /** Further names that a Host header may carry. */
  readonly allowedHosts?: readonly string[];
  readonly scrape: () => Promise<{ readonly body: string; readonly contentType: string }>;
  readonly readiness: () => Readiness;
  readonly log: Logger;
  /** The server closes a connection after this long without traffic. */
  readonly idleTimeoutMs?: number;
}

/**
 * Answers a GET or HEAD below its prefix; `url.pathname` is the whole path. It may answer later, or stream. Its headers
 * replace the safe defaults; a page must set its own Content-Security-Policy.
 */
export type HttpHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
) => void | Promise<void>;

export class CannotListenError extends ShardError {
  readonly code = 'cannot_listen';
  readonly next = 'refuse-to-start';

  constructor(address: string, why: string) {
    super(
      `Cannot listen on ${address} for HTTP: ${why}. ` +
        'Set another address with --metrics-addr, or 0 to turn HTTP off.',
    );
  }
}

const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

/** Enough for a scraper, probes, and some browsers with a few streams each. */
const CONNECTIONS_MAX = 512;
const REQUEST_TIMEOUT_MS = 15_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** How often Node checks the two timeouts above; its default is 30 s. */
const TIMEOUT_CHECK_MS = 2_000;
/** Readers that stop reading must not hold connections forever: CONNECTIONS_MAX of them would block all probes. */
const IDLE_TIMEOUT_MS = 60_000;

export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Server;
  /** Longest prefix first. */
  #mounts: { readonly prefix: string; readonly handler: HttpHandler }[] = [];
  #scrape: ReturnType<HttpServerOptions['scrape']> | null = null;

  private constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#server = createServer(
      {
        requestTimeout: REQUEST_TIMEOUT_MS,
        headersTimeout: HEADERS_TIMEOUT_MS,
        connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      },
      (request, response) => void this.#answer(request, response),
    );
    this.#server.maxConnections = CONNECTIONS_MAX;
    this.#server.timeout = options.idleTimeoutMs ?? IDLE_TIMEOUT_MS;
    this.#mounts = [
      { prefix: '/metrics', handler: (_request, response) => this.#metrics(response) },
      { prefix: '/healthz', handler: (_request, response) => sendText(response, 200, 'ok\n') },
      { prefix: '/readyz', handler: (_request, response) => this.#ready(response) },
    ];
  }

  /** Throws CannotListenError. */
  static async listen(options: HttpServerOptions): Promise<HttpServer> {
    const http = new HttpServer(options);
    await new Promise<void>((resolve, reject) => {
      const refuse = (error: Error) =>
        reject(new CannotListenError(authorityOf(options.host, options.port), error.message));
      http.#server.once('error', refuse);
      http.#server.listen(options.port, options.host, () => {
        http.#server.off('error', refuse);
        http.#server.on('error', (error) => options.log.error('http_error', { error }));
        resolve();
      });
    });
    return http;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://${authorityOf(this.#options.host, this.port)}/`;
  }

  /** Answers the prefix itself and all paths below it: `/api/v1`. The longest matching prefix wins; `/` gets the rest. */
  mount(prefix: string, handler: HttpHandler): void {
    this.#mounts = [...this.#mounts, { prefix, handler }].sort((a, b) => b.prefix.length - a.prefix.length);
  }

  /** Closes open streams too. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(SAFE_HEADERS)) response.setHeader(name, value);
    try {
      const refusal = this.#refusal(request);
      if (refusal !== null) {
        if (refusal.status === 405) response.setHeader('Allow', 'GET, HEAD');
        sendText(response, refusal.status, refusal.text);
        return;
      }
      const url = urlOf(request);
      const mount =
        url === null ? undefined : this.#mounts.find(({ prefix }) => isBelow(url.pathname, prefix));
      if (url === null || mount === undefined) sendText(response, 404, 'Not found.\n');
      else await mount.handler(request, response, url);
    } catch (error) {
      this.#options.log.error('http_handler_failed', { url: request.url, error: error as Error });
      if (response.headersSent) response.destroy();
      else sendText(response, 500, 'Internal error. The log of the shard has the details.\n');
    }
  }

  #refusal(request: IncomingMessage): { status: number; text: string } | null {
    const { host, allowedHosts = [] } = this.#options;
    if (!isHostAllowed(request.headers.host, [host, ...allowedHosts])) {
      const text =
        'This server does not accept the Host header. Use an IP address, or allow the name with --metrics-host.\n';
      return { status: 421, text };
    }
    if (request.method === 'GET' || request.method === 'HEAD') return null;
    return { status: 405, text: 'This server is read-only. Use GET or HEAD.\n' };
  }

  /** Overlapping scrapes share one answer, because each costs a pass over the fleet. */
  async #metrics(response: ServerResponse): Promise<void> {
    this.#scrape ??= this.#options.scrape().finally(() => {
      this.#scrape = null;
    });
    const { body, contentType } = await this.#scrape;
    response.writeHead(200, { 'Content-Type': contentType }).end(body);
  }

  #ready(response: ServerResponse): void {
    const { isReady, reason } = this.#options.readiness();
    sendText(response, isReady ? 200 : 503, isReady ? 'ready\n' : `not ready: ${reason}\n`);
  }
}

function authorityOf(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(text);
}

/** Null for a target that is not a path, such as `*` or a URL of another host. */
function urlOf({ url = '' }: IncomingMessage): URL | null {
  return url.startsWith('/') && URL.canParse(url, 'http://localhost')
    ? new URL(url, 'http://localhost')
    : null;
}

function isBelow(path: string, prefix: string): boolean {
  return prefix === '/' || path === prefix || path.startsWith(`${prefix}/`);
}
