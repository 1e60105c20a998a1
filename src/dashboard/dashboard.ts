/**
 * The dashboard and the JSON API as one request handler for the shard's HTTP server. Both are read-only. There is no
 * authentication. I4: the server checks the Host header; pages allow only their own scripts and styles.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ShardError } from '../base/errors.ts';
import type { EventReader } from '../shard/ports/events.ts';
import type { FleetReader } from '../shard/ports/fleet.ts';
import type { ShardReader } from '../shard/ports/reader.ts';
import type { SpendingPast } from '../shard/ports/spending.ts';
import type { WhatIfPort } from '../shard/ports/what-if.ts';
import { ApiRefusal, Query } from './api/query.ts';
import { API_PREFIX, type ApiContext, answerApi } from './api/routes.ts';
import { CSV_NAME, spendingCsv } from './api/spending.ts';
import type { ApiError } from './api/types.ts';
import { WHAT_IF_BUSY, WHAT_IF_NAME, whatIfLines } from './api/what-if.ts';
import { type Asset, loadAssets } from './assets.ts';
import type { ShardHistory } from './history.ts';
import { DOCUMENT, isPage } from './page.ts';

export interface DashboardOptions {
  /** Called for each request: a takeover replaces the shard while the server stays. */
  readonly view: () => ShardReader;
  readonly history: ShardHistory;
  /** Null or left out: the shard keeps no history of spending. */
  readonly spending?: SpendingPast | null;
  /** Null or left out: the shard keeps no history of events. */
  readonly events?: EventReader | null;
  /** Null or left out: the shard is in no fleet. */
  readonly fleet?: FleetReader | null;
  /** Y4; null or left out: the shard answers no what-if questions. */
  readonly whatIf?: WhatIfPort | null;
  readonly version: string;
  readonly nowMs: () => number;
  /** False: serve only the API. */
  readonly hasPages?: boolean;
}

export type RequestHandler = (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>;

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
  'Content-Security-Policy': POLICY,
};

/** Answers every path below `/`. Throws ClientNotBuiltError if pages are wanted but the client is not compiled. */
export function createDashboard(options: DashboardOptions): RequestHandler {
  const contextNow = (): ApiContext => ({
    ...options,
    view: options.view(),
    spending: options.spending ?? null,
  });
  const assets = options.hasPages === false ? new Map<string, Asset>() : loadAssets();
  return async (request, response, url) => {
    for (const [name, value] of Object.entries(SAFE_HEADERS)) response.setHeader(name, value);
    const path = url.pathname;
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      sendJson(response, 405, refusalOf('read_only', 'The API is read-only.', 'It accepts GET and HEAD.'));
    } else if (path === `${API_PREFIX}/${CSV_NAME}`) {
      await sendCsv(contextNow(), response, url);
    } else if (path === `${API_PREFIX}/${WHAT_IF_NAME}`) {
      await sendWhatIf(options.whatIf ?? null, request, response, url);
    } else if (path === API_PREFIX || path.startsWith(`${API_PREFIX}/`)) {
      await sendApi(contextNow(), response, url);
    } else if (assets.has(path)) {
      sendAsset(request, response, assets.get(path)!);
    } else if (assets.size > 0 && isPage(path)) {
      response.setHeader('Cache-Control', 'no-cache');
      response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(DOCUMENT);
    } else if (assets.size > 0 && wantsPage(request)) {
      // The client draws what is missing and where to go on.
      response.writeHead(404, { 'Content-Type': 'text/html; charset=utf-8' }).end(DOCUMENT);
    } else {
      const why = `The dashboard is at /, the API at ${API_PREFIX}.`;
      sendJson(response, 404, refusalOf('no_such_path', 'There is no page at this path.', why));
    }
  };
}

function wantsPage({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes('text/html') === true;
}

async function sendApi(context: ApiContext, response: ServerResponse, url: URL): Promise<void> {
  try {
    const path = url.pathname.slice(API_PREFIX.length);
    sendJson(response, 200, await answerApi(context, path, url.searchParams));
  } catch (error) {
    sendRefusal(response, error);
  }
}

/** Line by line, as fast as the client reads. */
async function sendCsv({ spending, nowMs }: ApiContext, response: ServerResponse, url: URL): Promise<void> {
  try {
    const lines = spendingCsv(spending, nowMs(), new Query(url.searchParams));
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('Content-Disposition', 'attachment; filename="spending.csv"');
    response.writeHead(200, { 'Content-Type': 'text/csv; charset=utf-8' });
    await pipeline(Readable.from(lines), response);
  } catch (error) {
    if (response.headersSent) response.destroy(error as Error);
    else sendRefusal(response, error);
  }
}

/** One line of progress after the other, and then the answer. A client that goes away ends the calculation. */
async function sendWhatIf(
  whatIf: WhatIfPort | null,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    const isForeign = request.headers['sec-fetch-site'] === 'cross-site';
    const lines = whatIfLines(whatIf, new Query(url.searchParams), isForeign, request.method!, gone.signal);
    for await (const line of lines) {
      if (!response.headersSent) {
        response.setHeader('Cache-Control', 'no-store');
        response.writeHead(200, { 'Content-Type': 'application/x-ndjson; charset=utf-8' });
      }
      response.write(`${JSON.stringify(line)}\n`);
    }
    response.end();
  } catch (error) {
    if (gone.signal.aborted) return;
    if (!response.headersSent) sendRefusal(response, error);
    else response.end(`${JSON.stringify(refusalOf('what_if_failed', (error as Error).message, ''))}\n`);
  }
}

function sendRefusal(response: ServerResponse, error: unknown): void {
  if (error instanceof ApiRefusal) {
    const { status, code, what, why, advice: next } = error;
    sendJson(response, status, { error: { code, what, why, next } });
  } else if (error instanceof ShardError) {
    const status = error.next === 'reject-input' ? 400 : error.code === WHAT_IF_BUSY ? 409 : 503;
    sendJson(response, status, refusalOf(error.code, error.message, ''));
  } else throw error;
}

function refusalOf(code: string, what: string, why: string): ApiError {
  return { error: { code, what, why, next: 'See docs/api.md.' } };
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.setHeader('Cache-Control', 'no-store');
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' });
  response.end(`${JSON.stringify(body)}\n`);
}

function sendAsset(
  request: IncomingMessage,
  response: ServerResponse,
  { contentType, body, etag }: Asset,
): void {
  response.setHeader('Cache-Control', 'no-cache'); // browsers revalidate each time, and get a 304
  response.setHeader('ETag', etag);
  if (request.headers['if-none-match'] === etag) response.writeHead(304).end();
  else response.writeHead(200, { 'Content-Type': contentType, 'Content-Length': body.length }).end(body);
}
