/**
 * Keeps a page up to date: queries the shard, draws, waits, and repeats. It stops while the page is hidden, waits longer
 * while the shard does not answer, and shows the age of the data in the corner.
 */
import type { ApiError } from '../api/types.ts';
import { setText } from './dom.ts';
import { age } from './format.ts';

const WAIT_MS_MAX = 30_000;

export class AskFailed extends Error {}

export async function ask<T>(path: string, signal: AbortSignal): Promise<T> {
  const response = await fetch(path, { signal, headers: { Accept: 'application/json' } });
  const body = (await response.json().catch(() => null)) as T | ApiError | null;
  if (response.ok && body !== null) return body as T;
  const error = body !== null && typeof body === 'object' && 'error' in body ? body.error : null;
  throw new AskFailed(
    error === null ? `The shard answered with status ${response.status}.` : `${error.what} ${error.why}`,
  );
}

/** A query string of all parameters that are set, in their order. */
export function queryOf(parameters: Readonly<Record<string, string | number | boolean>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== '' && value !== false && value !== 0) query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

export class Poller {
  readonly #everyMs: number;
  readonly #turn: (signal: AbortSignal) => Promise<void>;
  #stopping = new AbortController();
  #timer = 0;
  #failures = 0;
  #updatedAtMs = 0;
  #message = '';
  #isHeld = false;

  constructor(everyMs: number, turn: (signal: AbortSignal) => Promise<void>) {
    this.#everyMs = everyMs;
    this.#turn = turn;
    document.addEventListener('visibilitychange', () => (document.hidden ? this.#pause() : this.now()));
    setInterval(() => this.#show(), 1_000);
  }

  /** Aborts the current query, if any, and starts a new one. */
  now(): void {
    this.#pause();
    this.#stopping = new AbortController();
    void this.#run(this.#stopping.signal);
  }

  /** Pauses or resumes the page for the reader. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (isHeld) this.#pause();
    else this.now();
    this.#show();
  }

  #pause(): void {
    clearTimeout(this.#timer);
    this.#stopping.abort();
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      await this.#turn(signal);
      this.#failures = 0;
      this.#message = '';
      this.#updatedAtMs = Date.now();
    } catch (error) {
      if (signal.aborted) return;
      this.#failures++;
      this.#message = error instanceof AskFailed ? error.message : 'The shard does not answer.';
    }
    this.#show();
    if (signal.aborted || document.hidden || this.#isHeld) return;
    const waitMs = Math.min(WAIT_MS_MAX, this.#everyMs * 2 ** Math.min(this.#failures, 5));
    this.#timer = window.setTimeout(() => void this.#run(signal), waitMs);
  }

  #show(): void {
    const live = document.getElementById('live')!;
    const sinceMs = Date.now() - this.#updatedAtMs;
    const isStale = this.#failures > 0;
    live.dataset.state = this.#isHeld ? 'held' : isStale ? 'stale' : this.#updatedAtMs === 0 ? 'new' : 'live';
    const current =
      this.#updatedAtMs === 0 ? 'connecting' : sinceMs < 10_000 ? 'live' : `updated ${age(sinceMs)} ago`;
    const text = this.#isHeld
      ? 'paused'
      : isStale
        ? this.#updatedAtMs === 0
          ? 'no answer'
          : `updated ${age(sinceMs)} ago`
        : current;
    setText(document.getElementById('live-text')!, text);
    live.title = this.#message;
    showNotice('connection', isStale ? this.#message : '');
  }
}

const notices = new Map<string, string>();

/** Shows a line above the page under this name; an empty text removes it. */
export function showNotice(name: string, text: string, level: 'warn' | 'bad' = 'bad'): void {
  const entry = text === '' ? '' : `${level}|${text}`;
  if ((notices.get(name) ?? '') === entry) return;
  notices.set(name, entry);
  const box = document.getElementById('notices')!;
  box.replaceChildren();
  for (const one of notices.values()) {
    if (one === '') continue;
    const line = document.createElement('p');
    line.className = `notice ${one.slice(0, one.indexOf('|'))}`;
    line.textContent = one.slice(one.indexOf('|') + 1);
    box.append(line);
  }
}
