/**
 * Seeded randomness: the same seed gives the same history on every machine. Generators, simulated providers and
 * benchmarks all draw from it; no code calls `Math.random`.
 */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Uniform in [0, 2^32). One add and two multiply-mixes per draw: good spread, no state but one word. */
  uint32(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }

  /** Uniform in [0, 1). */
  unit(): number {
    return this.uint32() / 0x1_0000_0000;
  }

  /** Uniform integer in [0, count). */
  below(count: number): number {
    return Math.floor(this.unit() * count);
  }

  /** Uniform integer in [low, high], both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** Index drawn with the given weights. */
  weighted(weights: readonly number[]): number {
    let total = 0;
    for (const weight of weights) total += weight;
    let left = this.unit() * total;
    for (let index = 0; index < weights.length; index++) {
      left -= weights[index]!;
      if (left < 0) return index;
    }
    return weights.length - 1;
  }

  shuffle<T>(items: T[]): T[] {
    for (let last = items.length - 1; last > 0; last--) {
      const other = this.below(last + 1);
      const held = items[last]!;
      items[last] = items[other]!;
      items[other] = held;
    }
    return items;
  }

  /** An independent generator: drawing more from one does not change what the other draws. */
  fork(): Random {
    return new Random(this.uint32());
  }
}
