/**
 * Sends a cluster's demand: at once when it changes, but not more often than the pace allows; again at intervals, because the
 * shard may have lost or quarantined a roll-up (N7); and first of all on every new session. One roll-up is awaited at a time:
 * an ack names no roll-up, so of two it would not say which.
 *
 *   idle ──due──▶ awaited ──ack──▶ idle                     due: the pace (changed) or the interval (not changed)
 *                 awaited ──ack timeout──▶ reported, sent again with the newest needs
 */
import type { Random } from '../base/random.ts';
import { RollupUnacknowledgedError } from './errors.ts';
import { type EncodedRows, type RollupFrame, rollupFrame } from './frames.ts';

export interface RollupSettings {
  /** Time between two roll-ups of unchanged needs. */
  readonly intervalMs: number;
  /** Time between two roll-ups at least, however often the needs change. */
  readonly paceMs: number;
  /** The operator reports a roll-up that the shard has not acked after this long, and sends the newest needs. */
  readonly ackTimeoutMs: number;
}

export const DEFAULT_ROLLUP: RollupSettings = { intervalMs: 10_000, paceMs: 1_000, ackTimeoutMs: 60_000 };

/** Each interval is longer or shorter by up to this share, so that clusters do not synchronise. */
const INTERVAL_JITTER = 0.1;

export interface RollupSenderOptions {
  readonly clusterId: string;
  readonly settings: RollupSettings;
  readonly random: Random;
  /** False if no stream can take the frame. */
  readonly write: (frame: RollupFrame) => boolean;
  readonly onFailed: (error: RollupUnacknowledgedError) => void;
}

interface Waiter {
  readonly version: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class RollupSender {
  readonly #options: RollupSenderOptions;
  /** Null until the first needs are set: an empty first roll-up would say that the cluster needs nothing. */
  #rows: EncodedRows | null = null;
  /** Counts the needs that were set. */
  #version = 0;
  #sentVersion = 0;
  #ackedVersion = 0;
  #isStanding = false;
  #isAwaited = false;
  #isFirstOfSession = false;
  #sentMs = Number.NEGATIVE_INFINITY;
  /** Of the next roll-up, or of the ack that is awaited. */
  #timer: NodeJS.Timeout | undefined;
  #waiters: Waiter[] = [];

  constructor(options: RollupSenderOptions) {
    this.#options = options;
  }

  set(rows: EncodedRows): void {
    this.#rows = rows;
    this.#version++;
    if (this.#isStanding && !this.#isAwaited) this.#schedule();
  }

  /** Resolves when the shard has acked the needs that are set now, or newer ones. */
  acknowledged(): Promise<void> {
    const version = this.#version;
    if (this.#ackedVersion >= version) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ version, resolve, reject }));
  }

  sessionStands(): void {
    this.#isStanding = true;
    this.#isFirstOfSession = true;
    this.#sentVersion = 0; // a restarted shard knows nothing
    this.#sentMs = Number.NEGATIVE_INFINITY;
    if (this.#rows !== null) this.#send();
  }

  sessionEnded(): void {
    clearTimeout(this.#timer);
    this.#isStanding = false;
    this.#isAwaited = false;
  }

  acked(): void {
    if (!this.#isAwaited) return; // a late ack of a roll-up that was given up
    this.#isAwaited = false;
    this.#ackedVersion = this.#sentVersion;
    const isDone = ({ version }: Waiter) => version <= this.#ackedVersion;
    const done = this.#waiters.filter(isDone);
    this.#waiters = this.#waiters.filter((waiter) => !isDone(waiter));
    for (const { resolve } of done) resolve();
    this.#schedule();
  }

  close(error: Error): void {
    this.sessionEnded();
    for (const { reject } of this.#waiters.splice(0)) reject(error);
  }

  #schedule(): void {
    const { settings, random } = this.#options;
    const paceMs = Math.max(0, this.#sentMs + settings.paceMs - performance.now());
    clearTimeout(this.#timer);
    if (this.#version !== this.#sentVersion) {
      this.#timer = setTimeout(() => this.#send(), paceMs);
      return;
    }
    // A random time within the interval for the second roll-up spreads clusters that connected together.
    const factor = this.#isFirstOfSession ? random.unit() : 1 + INTERVAL_JITTER * (2 * random.unit() - 1);
    this.#isFirstOfSession = false;
    this.#timer = setTimeout(() => this.#send(), Math.max(paceMs, settings.intervalMs * factor));
  }

  #send(): void {
    const { clusterId, settings, write } = this.#options;
    const rows = this.#rows!;
    clearTimeout(this.#timer);
    if (!write(rollupFrame(clusterId, Date.now(), rows))) return; // the stream is ending, and the next begins with a roll-up
    this.#sentVersion = this.#version;
    this.#sentMs = performance.now();
    this.#isAwaited = true;
    this.#timer = setTimeout(() => this.#unacked(rows.rowCount), settings.ackTimeoutMs);
  }

  #unacked(rowCount: number): void {
    const { clusterId, settings, onFailed } = this.#options;
    this.#isAwaited = false;
    this.#send();
    onFailed(new RollupUnacknowledgedError(clusterId, rowCount, settings.ackTimeoutMs));
  }
}
