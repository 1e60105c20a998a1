/**
 * A preload (`--import`) in each thread of a program that moves the wall clock and ends worker threads, controlled by a file.
 * Setting the clock of one process needs rights over the whole machine, and threads have no signals. The program itself is
 * unchanged.
 */
import { readFileSync } from 'node:fs';
import { isMainThread, type Worker } from 'node:worker_threads';

/** Content of the file that CHAOS_TAMPER_FILE names. */
export interface Tampering {
  /** How far `Date` is ahead of the real time. */
  readonly clockAheadMs: number;
  /** All worker threads are ended each time this grows. */
  readonly threadEndings: number;
}

export const TAMPER_VARIABLE = 'CHAOS_TAMPER_FILE';
const LOOK_EVERY_MS = 20;

let aheadMs = 0;
const TrueDate = Date;
const now = () => TrueDate.now() + aheadMs;

const TamperedDate = new Proxy(TrueDate, {
  apply: () => new TrueDate(now()).toString(),
  construct: (date, parts, newTarget) =>
    Reflect.construct(date, parts.length === 0 ? [now()] : parts, newTarget),
  get: (date, key, receiver) => (key === 'now' ? now : Reflect.get(date, key, receiver)),
});

function tamper(path: string): void {
  const workers = new Set<Worker>();
  let threadEndings = 0;
  globalThis.Date = TamperedDate;
  if (isMainThread) {
    process.on('worker', (worker) => {
      workers.add(worker);
      worker.once('exit', () => workers.delete(worker));
    });
  }
  const look = () => {
    const wanted = read(path);
    if (wanted === null) return;
    aheadMs = wanted.clockAheadMs;
    if (wanted.threadEndings > threadEndings) for (const worker of workers) void worker.terminate();
    threadEndings = wanted.threadEndings;
  };
  setInterval(look, LOOK_EVERY_MS).unref();
}

/** null: the file does not exist yet or is being written. */
function read(path: string): Tampering | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

const path = process.env[TAMPER_VARIABLE];
if (path !== undefined) tamper(path);
