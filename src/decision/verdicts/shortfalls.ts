/**
 * Shortfalls (P5): what phase 2 left missing, summed per fingerprint over clusters. A cycle counts only which fingerprints
 * have entries that miss something; the sums are made when a reader asks for them.
 */
import type { VectorTable } from '../../base/vectors.ts';
import type { UnmetNeeds } from '../assign/unmet.ts';
import type { EngineNeeds } from '../demand/engine-needs.ts';
import type { CurrentCycle, EngineTables } from '../engine-tables.ts';

/** The demand of one fingerprint that is still missing after phase 2, summed over clusters. */
export interface Shortfall {
  readonly fingerprint: number;
  readonly profile: number;
  readonly priority: number;
  readonly missing: Map<number, number>;
  readonly ageCycles: number;
}

interface Short {
  /** Entries of unmet needs that are part of it. */
  entries: number;
  /** `#ordinaryCount` when it began. */
  readonly since: number;
}

export class Shortfalls {
  readonly #cycle: CurrentCycle;
  readonly #vectors: VectorTable;
  readonly #needs: EngineNeeds;
  readonly #unmet: UnmetNeeds;
  readonly #byFingerprint = new Map<number, Short>();
  /** Fingerprints that perhaps have no entry any more. */
  readonly #ended: number[] = [];
  /** Ordinary cycles decided. */
  #ordinaryCount = 0;
  #list: Shortfall[] = [];
  /** The cycle that `#list` is of. */
  #listedIn = 0;

  constructor({ cycle, vectors, needs, unmet }: EngineTables) {
    this.#cycle = cycle;
    this.#vectors = vectors;
    this.#needs = needs;
    this.#unmet = unmet;
  }

  /** Takes over the ages of another engine. */
  adopt(other: Shortfalls): void {
    this.#ordinaryCount = other.#ordinaryCount;
    for (const [fingerprint, { since }] of other.#byFingerprint) {
      this.#byFingerprint.set(fingerprint, { entries: 0, since });
      this.#ended.push(fingerprint); // unless the next cycle has it too
    }
  }

  /** An entry misses something from this cycle on … */
  begin(entry: number, fingerprint: number): void {
    this.#unmet.shortOf[entry] = fingerprint;
    const short = this.#byFingerprint.get(fingerprint);
    if (short === undefined) this.#byFingerprint.set(fingerprint, { entries: 1, since: this.#ordinaryCount });
    else short.entries++;
  }

  /** … until now … */
  leave(entry: number): void {
    this.end(this.#unmet.shortOf[entry]!);
    this.#unmet.shortOf[entry] = 0;
  }

  /** … or until the entry is gone. */
  end(fingerprint: number): void {
    if (--this.#byFingerprint.get(fingerprint)!.entries === 0) this.#ended.push(fingerprint);
  }

  /** Ends a cycle, after all of these calls: what is met is forgotten. */
  endCycle(): void {
    for (const fingerprint of this.#ended)
      if (this.#byFingerprint.get(fingerprint)?.entries === 0) this.#byFingerprint.delete(fingerprint);
    this.#ended.length = 0;
    if (this.#cycle.isCounting) this.#ordinaryCount++;
  }

  /** In A3's order of the first need of each. */
  list(): readonly Shortfall[] {
    if (this.#listedIn !== this.#cycle.number) this.#list = this.#sum();
    this.#listedIn = this.#cycle.number;
    return this.#list;
  }

  #sum(): Shortfall[] {
    const { count, need: needOf, shortOf, missing, width } = this.#unmet;
    const { start, length, dims } = this.#vectors;
    const sums = new Map<number, Shortfall>();
    for (let entry = 0; entry < count; entry++) {
      const fingerprint = shortOf[entry]!;
      if (fingerprint === 0) continue;
      const need = needOf[entry]!;
      let shortfall = sums.get(fingerprint);
      if (shortfall === undefined) {
        const ageCycles = this.#ordinaryCount - this.#byFingerprint.get(fingerprint)!.since;
        const profile = this.#needs.profile[need]!;
        const priority = this.#needs.priority[need]!;
        shortfall = { fingerprint, profile, priority, missing: new Map(), ageCycles };
        sums.set(fingerprint, shortfall);
      }
      const aggregate = this.#needs.aggregate[need]!;
      for (let index = 0; index < length[aggregate]!; index++) {
        const units = missing[entry * width + index]!;
        const dim = dims[start[aggregate]! + index]!;
        if (units > 0) shortfall.missing.set(dim, (shortfall.missing.get(dim) ?? 0) + units);
      }
    }
    return [...sums.values()];
  }
}
