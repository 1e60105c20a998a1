/** Queries a running shard over its HTTP API. Each failure is one line that says what to do. */
import { ShardError } from '../../base/errors.ts';
import { withoutControls } from '../../base/outside-text.ts';
import type { ApiError } from '../../dashboard/api/types.ts';

export const API_DEFAULT = 'http://127.0.0.1:8780';
/** A shard of 500,000 machines on a busy host answers within seconds; one that works never takes this long. */
const TIMEOUT_MS = 120_000;
/** A long answer with progress. */
const LINES_TIMEOUT_MS = 600_000;
/** After this a person wants to know that the command waits. */
const SILENT_MS = 2_000;
const PROGRESS_MS = 1_000;

/** The shard is not reachable, or refuses the query. */
export class AskError extends ShardError {
  readonly code = 'ask_failed';
  readonly next = 'reject-input';
  /** The shard may answer later, so a watch continues. */
  readonly isPassing: boolean;

  constructor(message: string, isPassing: boolean) {
    super(message);
    this.isPassing = isPassing;
  }
}

export type Parameters = Readonly<Record<string, string | number | boolean | undefined>>;

export class ApiClient {
  readonly #base: string;
  readonly #parse: (text: string) => unknown;
  readonly #onWait: ((seconds: number) => void) | null;

  /** Providers and operators choose names. On a terminal none may act as an escape sequence; programs get them unchanged. */
  constructor(base: string, isForTerminal: boolean, onWait: ((seconds: number) => void) | null = null) {
    this.#onWait = onWait;
    this.#base = base.replace(/\/+$/, '');
    this.#parse = isForTerminal ? (text) => JSON.parse(text, printable) : JSON.parse;
  }

  async get<T>(path: string, parameters: Parameters = {}): Promise<T> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) {
      if (value !== undefined && value !== false) query.set(name, String(value));
    }
    const text = query.size === 0 ? '' : `?${query}`;
    const response = await this.#fetch(`${this.#base}/api/v1/${path}${text}`);
    const body = this.read(await response.text().catch(() => '')) as T | ApiError | null;
    if (response.ok && body !== null) return body as T;
    throw refusal(this.#base, response.status, body);
  }

  /** The lines of a long answer as they come; each is JSON. */
  async *lines<T extends object>(
    path: string,
    parameters: readonly (readonly [name: string, value: string])[],
  ): AsyncGenerator<T> {
    const query = new URLSearchParams(parameters.map(([name, value]): [string, string] => [name, value]));
    const response = await this.#fetch(`${this.#base}/api/v1/${path}?${query}`, LINES_TIMEOUT_MS);
    if (!response.ok || response.body === null)
      throw refusal(this.#base, response.status, this.read(await response.text().catch(() => '')));
    let rest = '';
    try {
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
        const whole = (rest + chunk).split('\n');
        rest = whole.pop()!;
        for (const text of whole) yield this.#line<T>(text, response.status);
      }
    } catch (error) {
      throw error instanceof AskError ? error : unreachable(this.#base, error as Error);
    }
  }

  /** An answer that ended before its end. */
  broken(): AskError {
    return new AskError(`The shard at ${this.#base} ended before it had answered. Ask again.`, true);
  }

  #line<T extends object>(text: string, status: number): T {
    const line = this.read(text) as T | ApiError | null;
    if (line === null || 'error' in line) throw refusal(this.#base, status, line);
    return line;
  }

  /** The content of an answer; null if it is not JSON. */
  read(text: string): unknown {
    try {
      return this.#parse(text);
    } catch {
      return null;
    }
  }

  async #fetch(url: string, timeoutMs = TIMEOUT_MS): Promise<Response> {
    const beganMs = Date.now();
    const tell = () => {
      const waitedMs = Date.now() - beganMs;
      if (waitedMs >= SILENT_MS) this.#onWait?.(Math.floor(waitedMs / 1_000));
    };
    const progress = setInterval(tell, PROGRESS_MS);
    try {
      return await fetch(url, { signal: AbortSignal.timeout(timeoutMs) });
    } catch (error) {
      throw unreachable(this.#base, error as Error);
    } finally {
      clearInterval(progress);
      this.#onWait?.(0);
    }
  }
}

/** Cleans field names too, since labels are fields. A page's `next` is never shown and must go back unchanged. */
function printable(key: string, value: unknown): unknown {
  if (typeof value === 'string') return key === 'next' ? value : withoutControls(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  // A copy of every object would double the memory of an answer; nearly all names are clean.
  for (const name in value) if (withoutControls(name) !== name) return withPrintableNames(value);
  return value;
}

function withPrintableNames(value: object): object {
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [withoutControls(name), part]));
}

function refusal(base: string, status: number, body: unknown): AskError {
  if (typeof body === 'object' && body !== null && 'error' in body) {
    const { what, why, next } = (body as ApiError).error;
    return new AskError([what, why, next].filter((text) => text !== '').join(' '), status === 503);
  }
  const words = `The server at ${base} answered with status ${status} and is not a shard. Set --api to the HTTP address of a shard.`;
  return new AskError(words, status >= 500);
}

function unreachable(base: string, error: Error): AskError {
  if (error.name === 'TimeoutError') {
    const seconds = TIMEOUT_MS / 1_000;
    const words = `The shard at ${base} accepts connections, but did not answer within ${seconds} s. Look at its log, and at ${base}/healthz.`;
    return new AskError(words, true);
  }
  const cause = error.cause as { code?: string; message?: string } | undefined;
  if (cause?.code === 'ECONNREFUSED') {
    const words = `No server listens at ${base}. Start a shard with \`flotilla shard\`, or set --api to its HTTP address.`;
    return new AskError(words, true);
  }
  return new AskError(`Cannot reach the shard at ${base}: ${cause?.message ?? error.message}.`, true);
}
