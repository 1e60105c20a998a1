/**
 * What budgets have used (H9): per budget, how many machines left their clusters, and when. Times are rounded up to a part of the window,
 * so a list has at most WINDOW_PARTS + 1 entries, and a machine counts a little longer than the window, never shorter.
 */

/** A window of an hour is counted in parts of 28 s. */
const WINDOW_PARTS = 128;
/** 256 budgets with 129 entries of 40 characters each, and names of 64, take 1.4 MB. */
const STORED_CHARS_MAX = 2_097_152;
/** As many as the configuration may declare, and as many that it declared before. */
const NAMES_MAX = 512;

interface Entry {
  /** The end of its part of the window: no machine in it left later. */
  readonly atMs: number;
  reclaimed: number;
  preempted: number;
}

interface Used {
  windowMs: number;
  entries: Entry[];
}

export type UsedKind = 'reclaimed' | 'preempted';

export class Usage {
  readonly #byName = new Map<string, Used>();
  /** What was used before this time could not be read; null: everything is known. */
  #unreadMs: number | null = null;

  /** Everything counts as used up for a window from now on. */
  forget(nowMs: number): void {
    this.#byName.clear();
    this.#unreadMs = nowMs;
  }

  isUnread(windowMs: number, nowMs: number): boolean {
    return this.#unreadMs !== null && nowMs < this.#unreadMs + windowMs;
  }

  count(name: string, windowMs: number, kind: UsedKind, nowMs: number): number {
    const used = this.#byName.get(name);
    if (used === undefined) return 0;
    let sum = 0;
    for (const entry of used.entries) if (entry.atMs + windowMs > nowMs) sum += entry[kind];
    return sum;
  }

  /** When the first machine that counts stops to count; null if none does. */
  givenBackMs(name: string, windowMs: number, nowMs: number): number | null {
    const entries = this.#byName.get(name)?.entries ?? [];
    const first = entries.find(({ atMs, reclaimed }) => reclaimed > 0 && atMs + windowMs > nowMs);
    return first === undefined ? null : first.atMs + windowMs;
  }

  add(name: string, windowMs: number, kind: UsedKind, count: number, nowMs: number): void {
    const used = this.#byName.get(name) ?? { windowMs, entries: [] };
    this.#byName.set(name, used);
    used.windowMs = windowMs;
    used.entries = used.entries.filter(({ atMs }) => atMs + windowMs > nowMs);
    const last = used.entries.at(-1);
    // A clock that was set back: the last part is later than now, and the machine counts until that part is over.
    if (last !== undefined && last.atMs >= nowMs) {
      last[kind] += count;
      return;
    }
    const partMs = windowMs / WINDOW_PARTS;
    const entry: Entry = { atMs: Math.ceil(Math.ceil(nowMs / partMs) * partMs), reclaimed: 0, preempted: 0 };
    entry[kind] += count;
    used.entries.push(entry);
  }

  /** Budgets that are not declared any more stay until their window is over: a budget that returns has used what it used. */
  write(nowMs: number): string {
    const budgets: object[] = [];
    for (const [name, { windowMs, entries }] of this.#byName) {
      const counting = entries.filter(({ atMs }) => atMs + windowMs > nowMs);
      if (counting.length === 0) this.#byName.delete(name);
      else
        budgets.push({
          name,
          windowMs,
          entries: counting.map(({ atMs, reclaimed, preempted }) => [atMs, reclaimed, preempted]),
        });
    }
    return JSON.stringify({ version: 1, unreadMs: this.#unreadMs, budgets: budgets.slice(-NAMES_MAX) });
  }

  /** False: no shard wrote this. Nothing changes then. */
  read(text: string): boolean {
    if (text.length > STORED_CHARS_MAX) return false;
    let stored: unknown;
    try {
      stored = JSON.parse(text);
    } catch {
      return false;
    }
    const { version, unreadMs, budgets } = (stored ?? {}) as Record<string, unknown>;
    const isKnown = version === 1 && (unreadMs === null || isTime(unreadMs)) && Array.isArray(budgets);
    if (!isKnown || !budgets.every(isStored)) return false;
    this.#unreadMs = unreadMs;
    for (const { name, windowMs, entries } of budgets)
      this.#byName.set(name, {
        windowMs,
        entries: entries.map(([atMs, reclaimed, preempted]) => ({ atMs, reclaimed, preempted })),
      });
    return true;
  }
}

interface StoredBudget {
  readonly name: string;
  readonly windowMs: number;
  readonly entries: readonly (readonly [atMs: number, reclaimed: number, preempted: number])[];
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isStored(value: unknown): value is StoredBudget {
  const { name, windowMs, entries } = (value ?? {}) as Record<string, unknown>;
  return (
    typeof name === 'string' &&
    isTime(windowMs) &&
    Array.isArray(entries) &&
    entries.every((entry) => Array.isArray(entry) && entry.length === 3 && entry.every(isTime))
  );
}
