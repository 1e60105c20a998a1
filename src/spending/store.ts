/**
 * E5: samples of what the fleet costs, on disk: minutes for a day, hours for 90 days. The hour that runs is kept in memory and
 * written when it ends; a process that starts reads its minutes again.
 *
 *   minutes-<start>   the samples of one hour
 *   hours-<start>     the averages of the hours of one day
 *
 * Both together have at most 256 MiB. Beyond, the oldest file of the grain that has more than its half goes first.
 */
import { mkdir, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { matchesPattern } from '../base/pattern.ts';
import type { SpendingGrain, SpendingPast, SpendingSample } from '../shard/ports/spending.ts';
import { appendSample, readSamples, repair } from './blocks.ts';
import { Hour } from './hour.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
export const MINUTES_KEPT_MS = DAY_MS;
export const HOURS_KEPT_MS = 90 * DAY_MS;
export const BYTES_MAX = 256 << 20;

/** How much time one file of a grain has, and for how long it is kept. */
const GRAINS = {
  minute: { prefix: 'minutes-', fileMs: HOUR_MS, keptMs: MINUTES_KEPT_MS },
  hour: { prefix: 'hours-', fileMs: DAY_MS, keptMs: HOURS_KEPT_MS },
} as const;

export interface Team {
  readonly name: string;
  /** A cluster id; `*` stands for any characters. */
  readonly pattern: string;
}

export interface SpendingStoreOptions {
  readonly folder: string;
  /** The first that matches a cluster counts. */
  readonly teams: readonly Team[];
  readonly bytesMax?: number;
}

interface StoredFile {
  readonly path: string;
  readonly startMs: number;
}

export class SpendingStore implements SpendingPast {
  readonly #folder: string;
  readonly #teams: readonly Team[];
  readonly #bytesMax: number;
  #hour: Hour | null = null;
  /** The file that was repaired last: it is appended to. */
  readonly #repaired = new Map<SpendingGrain, string>();

  private constructor({ folder, teams, bytesMax = BYTES_MAX }: SpendingStoreOptions) {
    this.#folder = folder;
    this.#teams = teams;
    this.#bytesMax = bytesMax;
  }

  /** Reads the minutes of the hour that runs. */
  static async open(options: SpendingStoreOptions, nowMs: number): Promise<SpendingStore> {
    await mkdir(options.folder, { recursive: true });
    const store = new SpendingStore(options);
    const hour = new Hour(startOf(nowMs, HOUR_MS));
    for await (const sample of store.samples(hour.startMs, nowMs + 1, 'minute')) hour.add(sample);
    store.#hour = hour;
    return store;
  }

  teamOf(clusterId: string): string {
    return this.#teams.find(({ pattern }) => matchesPattern(clusterId, pattern))?.name ?? '';
  }

  async add(sample: SpendingSample): Promise<void> {
    const startMs = startOf(sample.atMs, HOUR_MS);
    const ended = this.#hour;
    // A clock that was set back stays in the hour that runs.
    if (ended === null || startMs > ended.startMs) {
      this.#hour = new Hour(startMs);
      const average = ended?.average() ?? null;
      if (average !== null) await this.#append('hour', average);
      await this.#drop(sample.atMs);
    }
    this.#hour!.add(sample);
    await this.#append('minute', sample);
  }

  async *samples(fromMs: number, toMs: number, grain: SpendingGrain): AsyncGenerator<SpendingSample> {
    const { fileMs } = GRAINS[grain];
    for (const { path, startMs } of await this.#files(grain)) {
      if (startMs >= toMs || startMs + fileMs <= fromMs) continue;
      try {
        for await (const sample of readSamples(path))
          if (sample.atMs >= fromMs && sample.atMs < toMs) yield sample;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // dropped since it was listed
      }
    }
    const running = grain === 'hour' ? (this.#hour?.average() ?? null) : null;
    if (running !== null && running.atMs >= fromMs && running.atMs < toMs) yield running;
  }

  async #append(grain: SpendingGrain, sample: SpendingSample): Promise<void> {
    const { prefix, fileMs } = GRAINS[grain];
    const file = join(this.#folder, `${prefix}${startOf(sample.atMs, fileMs)}`);
    if (this.#repaired.get(grain) !== file) {
      await repair(file);
      this.#repaired.set(grain, file);
    }
    await appendSample(file, sample);
  }

  /** Oldest first. */
  async #files(grain: SpendingGrain): Promise<StoredFile[]> {
    const { prefix } = GRAINS[grain];
    const names = await readdir(this.#folder);
    return names
      .filter((name) => name.startsWith(prefix) && /^\d{1,15}$/.test(name.slice(prefix.length)))
      .map((name) => ({ path: join(this.#folder, name), startMs: Number(name.slice(prefix.length)) }))
      .sort((a, b) => a.startMs - b.startMs);
  }

  async #drop(nowMs: number): Promise<void> {
    for (const grain of ['minute', 'hour'] as const) {
      const { fileMs, keptMs } = GRAINS[grain];
      const kept: { path: string; bytes: number }[] = [];
      for (const { path, startMs } of await this.#files(grain)) {
        if (startMs + fileMs <= nowMs - keptMs) await unlink(path);
        else kept.push({ path, bytes: (await stat(path)).size });
      }
      let bytes = kept.reduce((sum, file) => sum + file.bytes, 0);
      for (const file of kept.slice(0, -1)) {
        if (bytes <= this.#bytesMax / 2) break;
        await unlink(file.path);
        bytes -= file.bytes;
      }
    }
  }
}

function startOf(atMs: number, stepMs: number): number {
  return Math.floor(atMs / stepMs) * stepMs;
}
