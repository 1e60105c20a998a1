/**
 * Patterns that are trouble although every single event is in order: a machine that is acquired and given back at once, a need
 * that is unmet again and again, a machine or an offering that fails again and again. The thread of the history counts them
 * as it writes; metrics and alerts show the counts.
 */
import type { FleetEvent } from '../machine/event.ts';

/** Acquired and given back within this time: the shard paid for a start and a drain and got little work. */
export const CHURN_MS = 10 * 60_000;
/** Times within the hour at which something happens repeatedly: three failures are no accident any more. */
export const REPEATED = 3;
const HOUR_MS = 3_600_000;
/** Machines bound in the last ten minutes, and subjects that flipped or failed in the last hour. Beyond it the oldest go. */
const SUBJECTS_MAX = 100_000;

export interface PatternCounts {
  /** Machines that were given up within CHURN_MS of joining; since the start. */
  readonly churned: number;
  /** Needs, machines and offerings that did it REPEATED times or more in the last hour. */
  readonly flippingNeeds: number;
  readonly failingMachines: number;
  readonly failingOfferings: number;
}

export const NO_PATTERNS: PatternCounts = {
  churned: 0,
  flippingNeeds: 0,
  failingMachines: 0,
  failingOfferings: 0,
};

const FAILURES: ReadonlySet<string> = new Set([
  'create_failed',
  'bind_failed',
  'drain_failed',
  'release_failed',
  'failed',
]);

export class Patterns {
  readonly #boundAtMs = new Map<string, number>();
  readonly #needs = new Repeats();
  readonly #machines = new Repeats();
  readonly #offerings = new Repeats();
  #churned = 0;

  note(event: FleetEvent): void {
    const { kind, atMs, machineId, clusterId, fingerprint, group, provider, offering } = event;
    if (kind === 'bound') {
      this.#boundAtMs.delete(machineId); // to the end of the order
      this.#boundAtMs.set(machineId, atMs);
      if (this.#boundAtMs.size > SUBJECTS_MAX) this.#boundAtMs.delete(firstOf(this.#boundAtMs));
    } else if (kind === 'reclaim_started') {
      const boundAtMs = this.#boundAtMs.get(machineId);
      if (boundAtMs !== undefined && atMs - boundAtMs < CHURN_MS) this.#churned++;
      this.#boundAtMs.delete(machineId);
    } else if (kind === 'need_unmet') this.#needs.note(`${clusterId}\n${fingerprint}\n${group}`, atMs);
    else if (FAILURES.has(kind)) {
      this.#machines.note(machineId, atMs);
      if (kind === 'create_failed') this.#offerings.note(`${provider}\n${offering}`, atMs);
    }
  }

  counts(nowMs: number): PatternCounts {
    return {
      churned: this.#churned,
      flippingNeeds: this.#needs.count(nowMs),
      failingMachines: this.#machines.count(nowMs),
      failingOfferings: this.#offerings.count(nowMs),
    };
  }
}

/** Subjects to which the same thing happened several times in an hour. */
class Repeats {
  /** The last times, the newest last; subjects in the order of their last time. */
  readonly #timesMs = new Map<string, number[]>();

  note(subject: string, atMs: number): void {
    if (subject.trim() === '') return;
    const timesMs = [...(this.#timesMs.get(subject) ?? []), atMs].slice(-REPEATED);
    this.#timesMs.delete(subject);
    this.#timesMs.set(subject, timesMs);
    if (this.#timesMs.size > SUBJECTS_MAX) this.#timesMs.delete(firstOf(this.#timesMs));
  }

  count(nowMs: number): number {
    let count = 0;
    for (const [subject, timesMs] of this.#timesMs) {
      if (timesMs.at(-1)! < nowMs - HOUR_MS) this.#timesMs.delete(subject);
      else if (timesMs.length === REPEATED && timesMs[0]! >= nowMs - HOUR_MS) count++;
    }
    return count;
  }
}

function firstOf(map: ReadonlyMap<string, unknown>): string {
  return map.keys().next().value!;
}
