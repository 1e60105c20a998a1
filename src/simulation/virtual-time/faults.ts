/** T2: decisions that throw, in some histories: sometimes once, sometimes until the shard suspends the cluster. */
import { Random } from '../../base/random.ts';
import type { WorldOptions } from './world.ts';

export const INJECTED = 'injected by the simulation';

/** One in five histories has them, and about one in three hundred of its evaluated needs throws. */
const HISTORIES_WITH_ONE = 5;
const THROW_PROBABILITY = 0.003;

export class Faults {
  readonly #random: Random;
  readonly #isUsed: boolean;
  /** Further throws for the same cluster. */
  #left = 0;
  #clusterId = '';
  isOver = false;

  constructor(seed: number) {
    this.#random = new Random(seed ^ 0x5eed);
    this.#isUsed = seed % HISTORIES_WITH_ONE === 2;
  }

  readonly probe: NonNullable<WorldOptions['probe']> = (stage, clusterId) => {
    if (!this.#isUsed || this.isOver || (stage !== 'acquire' && stage !== 'preempt')) return;
    if (this.#left > 0 && clusterId === this.#clusterId) this.#left--;
    else if (this.#random.chance(THROW_PROBABILITY)) {
      this.#clusterId = clusterId;
      this.#left = this.#random.pick([0, 1]);
    } else return;
    throw new Error(INJECTED);
  };
}
