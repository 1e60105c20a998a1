/**
 * Recent cycles and actions, in ring buffers of fixed size. The shard fills them as it runs, so that a page opened now can
 * show the last hours without a database.
 */
import { SharedTexts } from '../base/shared-texts.ts';
import type {
  ActionRecord,
  CyclePhase,
  CycleReport,
  KindCounts,
  ShardObserver,
} from '../shard/ports/observer.ts';
import type { ShardReader } from '../shard/ports/reader.ts';

/** Two hours of ordinary cycles, or 12 minutes if the shard is woken every second. About 600 bytes each. */
export const SAMPLES_MAX = 720;
/** Cycles that end within this time form one sample, so that ten woken cycles per second are not ten points of a curve. */
const SAMPLE_MS = 1_000;
/** A few minutes of a busy shard. About 400 bytes each. */
export const ACTIONS_MAX = 4_096;
/** Of distinct long texts in ACTIONS_MAX actions: 256 fingerprints of 64 KiB. Later ones are cut. */
const TEXT_CHARS_MAX = 16_777_216;

export interface CycleSample {
  atMs: number;
  cycle: number;
  cycles: number;
  isOrdinary: boolean;
  durationMs: number;
  phaseMs: Readonly<Record<CyclePhase, number>>;
  enqueued: Record<keyof KindCounts, number>;
  changedMachines: number;
  unmetNeeds: number;
  capped: number;
  dropped: number;
  queueDepth: number;
  inFlight: number;
  stateCounts: readonly number[];
}

export class ShardHistory implements Pick<ShardObserver, 'audits' | 'cycleEnded' | 'actionEnded'> {
  readonly audits = false;
  readonly #samples: CycleSample[] = [];
  #samplesFrom = 0;
  readonly #actions: ActionRecord[] = [];
  readonly #texts = new SharedTexts(TEXT_CHARS_MAX);
  #lastAction = 0;
  #reader: Pick<ShardReader, 'stateCounts' | 'gauges'> | null = null;

  /** Adds the shard's counts to samples from now on. Called later than the constructor, as observers exist before the shard. */
  watch(reader: Pick<ShardReader, 'stateCounts' | 'gauges'>): void {
    this.#reader = reader;
  }

  cycleEnded(report: CycleReport): void {
    const last = this.#samples.at(this.#samplesFrom - 1); // the newest is just before the oldest
    if (last !== undefined && this.#samples.length > 0 && report.atMs - last.atMs < SAMPLE_MS) {
      this.#merge(last, report);
      return;
    }
    const sample = this.#sampleOf(report);
    if (this.#samples.length < SAMPLES_MAX) {
      this.#samples.push(sample);
      return;
    }
    this.#samples[this.#samplesFrom] = sample;
    this.#samplesFrom = (this.#samplesFrom + 1) % SAMPLES_MAX;
  }

  actionEnded(record: ActionRecord): void {
    const at = this.#lastAction++ % ACTIONS_MAX;
    // T3: records share long texts, at most TEXT_CHARS_MAX of this round of the buffer and as many of the one before.
    if (at === 0) this.#texts.clear();
    this.#actions[at] = this.#texts.shareIn(record);
  }

  /** Samples after this time, oldest first. */
  samples(sinceMs: number): CycleSample[] {
    const ordered = [...this.#samples.slice(this.#samplesFrom), ...this.#samples.slice(0, this.#samplesFrom)];
    return ordered.filter(({ atMs }) => atMs > sinceMs);
  }

  /** Sequence number of the newest action; the first is 1. */
  get lastAction(): number {
    return this.#lastAction;
  }

  get firstAction(): number {
    return Math.max(1, this.#lastAction - ACTIONS_MAX + 1);
  }

  /** The newest actions after `since` that match, oldest first. */
  actions(
    since: number,
    limit: number,
    fits: (record: ActionRecord) => boolean = () => true,
  ): { readonly sequence: number; readonly record: ActionRecord }[] {
    const found: { sequence: number; record: ActionRecord }[] = [];
    for (let sequence = this.#lastAction; sequence > since && sequence >= this.firstAction; sequence--) {
      if (found.length === limit) break;
      const record = this.#actions[(sequence - 1) % ACTIONS_MAX]!;
      if (fits(record)) found.push({ sequence, record });
    }
    return found.reverse();
  }

  #sampleOf(report: CycleReport): CycleSample {
    const gauges = this.#reader?.gauges();
    return {
      atMs: report.atMs,
      cycle: report.cycle,
      cycles: 1,
      isOrdinary: report.isOrdinary,
      durationMs: report.durationMs,
      phaseMs: report.phaseMs,
      enqueued: { ...report.enqueued },
      changedMachines: report.changedMachines,
      unmetNeeds: report.unmetNeeds,
      capped: report.capped,
      dropped: report.dropped,
      queueDepth: gauges?.queueDepth ?? 0,
      inFlight: gauges?.inFlight ?? 0,
      stateCounts: this.#reader?.stateCounts() ?? [],
    };
  }

  #merge(sample: CycleSample, report: CycleReport): void {
    const next = this.#sampleOf(report);
    sample.cycle = next.cycle;
    sample.cycles++;
    sample.isOrdinary ||= next.isOrdinary;
    if (next.durationMs > sample.durationMs) {
      sample.durationMs = next.durationMs;
      sample.phaseMs = next.phaseMs;
    }
    for (const kind of Object.keys(next.enqueued) as (keyof KindCounts)[]) {
      sample.enqueued[kind] += next.enqueued[kind];
    }
    sample.changedMachines += next.changedMachines;
    sample.capped += next.capped;
    sample.dropped += next.dropped;
    sample.unmetNeeds = next.unmetNeeds;
    sample.queueDepth = next.queueDepth;
    sample.inFlight = next.inFlight;
    sample.stateCounts = next.stateCounts;
  }
}
