/**
 * Keeps a page up to date: queries the shard, draws, waits, and repeats. It stops while the page is hidden, waits longer
 * while the shard does not answer, and shows the age of the data in the corner. Data older than two intervals is stale, whether
 * the shard refused, or hangs and does not answer at all. What had the keyboard's focus keeps it, also if it was drawn again.
 */
import type { ApiError } from '../api/types.ts';
import { setText } from './dom.ts';
import { age, clock } from './format.ts';

const WAIT_MS_MAX = 30_000;
/** Longer than an answer takes at 500,000 machines on a busy host; a connection that hangs is given up and tried again. */
const ANSWER_MS_MAX = 30_000;
/** Beside two intervals: an answer may take this long. */
const SLACK_MS = 1_000;

export class AskFailed extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

export async function ask<T>(path: string, signal: AbortSignal): Promise<T> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)]);
  const response = await fetch(path, { signal: patience, headers: { Accept: 'application/json' } });
  const body = (await response.json().catch(() => null)) as T | ApiError | null;
  if (response.ok && body !== null) return body as T;
  const error = body !== null && typeof body === 'object' && 'error' in body ? body.error : null;
  throw new AskFailed(
    error === null ? `The shard answered with status ${response.status}.` : `${error.what} ${error.why}`,
    response.status,
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
  #askedAtMs = Date.now();
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
    this.#askedAtMs = Date.now();
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
    const focused = focusMark();
    try {
      await this.#turn(signal);
      focused();
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
    // A page that was hidden has not asked meanwhile: its time begins when it asks again.
    const sinceMs = Date.now() - this.#updatedAtMs;
    const waitedMs = Date.now() - Math.max(this.#updatedAtMs, this.#askedAtMs);
    const isStale = !this.#isHeld && (this.#failures > 0 || waitedMs > 2 * this.#everyMs + SLACK_MS);
    live.dataset.state = this.#isHeld ? 'held' : isStale ? 'stale' : this.#updatedAtMs === 0 ? 'new' : 'live';
    const current =
      this.#updatedAtMs === 0 ? 'connecting' : sinceMs < 10_000 ? 'live' : `updated ${age(sinceMs)} ago`;
    const text = this.#isHeld
      ? 'paused'
      : isStale
        ? this.#updatedAtMs === 0
          ? 'no answer'
          : `no answer since ${clock(this.#updatedAtMs)}`
        : current;
    setText(document.getElementById('live-text')!, text);
    live.title = this.#message;
    const why = this.#message || 'The shard does not answer.';
    const shown = this.#updatedAtMs === 0 ? '' : ` This page shows its state of ${clock(this.#updatedAtMs)}.`;
    showNotice('connection', isStale ? `${why}${shown}` : '');
  }
}

/** Remembers what has the focus. The returned function gives it back to the element that was drawn in its place. */
function focusMark(): () => void {
  const before = document.activeElement;
  const page = document.getElementById('page')!;
  if (!(before instanceof HTMLElement) || !page.contains(before)) return () => {};
  const like = (element: Element) =>
    [
      element.tagName,
      element.getAttribute('href'),
      element.getAttribute('name'),
      element.getAttribute('aria-label'),
      element.textContent,
    ].join('|');
  const mark = like(before);
  const all = () =>
    [...page.querySelectorAll<HTMLElement>(before.tagName)].filter((one) => like(one) === mark);
  const place = all().indexOf(before);
  return () => {
    const isLost = document.activeElement === document.body || document.activeElement === null;
    if (!before.isConnected && isLost) (all()[place] ?? all()[0])?.focus({ preventScroll: true });
  };
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
