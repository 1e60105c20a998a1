/**
 * The HTTP server: metrics, health checks and mounted pages, all read-only, on loopback by default. I4: a foreign web page
 * must not read it through a user's browser. So the server checks the Host header, against a name that an attacker points
 * at 127.0.0.1, and forbids framing and content sniffing. T13: what clients can hold is bounded, and health checks are
 * answered beside whatever they hold (http-guard.ts).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import { ShardError } from '../base/errors.ts';
import { HttpGuard } from './http-guard.ts';
import { isHostAllowed } from './http-host.ts';
import { HTTP_LIMITS, type HttpLimits, type HttpRefusal, HttpRefusals } from './http-limits.ts';
import type { Logger } from './log.ts';

export interface Readiness {
  readonly isReady: boolean;
  /** Why it is not ready. If it is ready: as what, such as a standby, or ''. */
  readonly reason: string;
}

export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  /** Further names that a Host header may carry. */
  readonly allowedHosts?: readonly string[];
  /** Left out: a server for health checks alone. */
  readonly scrape?: () => Promise<Scrape>;
  readonly readiness: () => Readiness;
  readonly log: Logger;
  /** Default: HTTP_LIMITS. */
  readonly limits?: HttpLimits;
  /** The setting that names the address, for an error. Default: --metrics-addr. */
  readonly setting?: string;
}

export interface Scrape {
  readonly body: string;
  readonly contentType: string;
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

  constructor(address: string, why: string, setting: string) {
    const off = setting === '--metrics-addr' ? ', or 0 to turn HTTP off' : ', or remove it';
    super(
      `Cannot listen on ${address} for HTTP: ${why}. ` +
        `The shard was not started. Set another address with ${setting}${off}.`,
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

/** These are answered whatever the limits say. */
const HEALTH_TARGET = /^\/(?:healthz|readyz)(?:\?|$)/;

export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Server;
  /** Longest prefix first. */
  #mounts: { readonly prefix: string; readonly handler: HttpHandler }[] = [];
  #scrape: Promise<Scrape> | null = null;
  readonly #guard: HttpGuard;
  readonly #refusals: HttpRefusals;

  private constructor(options: HttpServerOptions) {
    this.#options = options;
    const limits = options.limits ?? HTTP_LIMITS;
    this.#server = createServer(
      {
        requestTimeout: limits.requestTimeoutMs,
        headersTimeout: limits.headersTimeoutMs,
        connectionsCheckingInterval: limits.checkMs,
      },
      (request, response) => void this.#answer(request, response),
    );
    this.#refusals = new HttpRefusals(options.log);
    this.#guard = new HttpGuard(this.#server, limits, this.#refusals);
    this.#mounts = [
      { prefix: '/healthz', handler: (_request, response) => sendText(response, 200, 'ok\n') },
      { prefix: '/readyz', handler: (_request, response) => this.#ready(response) },
    ];
    const { scrape } = options;
    if (scrape !== undefined) {
      this.mount('/metrics', (_request, response) => this.#metrics(scrape, response));
    }
  }

  /** Throws CannotListenError. */
  static async listen(options: HttpServerOptions): Promise<HttpServer> {
    const http = new HttpServer(options);
    await new Promise<void>((resolve, reject) => {
      const refuse = (error: Error) =>
        reject(
          new CannotListenError(
            authorityOf(options.host, options.port),
            error.message,
            options.setting ?? '--metrics-addr',
          ),
        );
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

  /** T13: what the server refused since the start, by reason. */
  get refused(): Readonly<Record<HttpRefusal, number>> {
    return this.#refusals.counts;
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
    this.#guard.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#guard.admits(request, response, HEALTH_TARGET.test(request.url ?? ''))) return;
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
  async #metrics(scrape: () => Promise<Scrape>, response: ServerResponse): Promise<void> {
    this.#scrape ??= scrape().finally(() => {
      this.#scrape = null;
    });
    const { body, contentType } = await this.#scrape;
    response.writeHead(200, { 'Content-Type': contentType }).end(body);
  }

  #ready(response: ServerResponse): void {
    const { isReady, reason } = this.#options.readiness();
    sendText(response, isReady ? 200 : 503, isReady ? `${reason || 'ready'}\n` : `not ready: ${reason}\n`);
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
