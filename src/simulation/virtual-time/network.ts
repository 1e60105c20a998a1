/**
 * A network whose delays and losses are drawn from the seed. A call may lose its request (the peer never sees it) or its
 * answer (the peer carried it out), or the peer may be down. The caller sees what gRPC shows: unavailable, or nothing until
 * the deadline.
 */
import { Random } from '../../base/random.ts';
import type { VirtualTime } from './time.ts';

export interface NetworkFaults {
  /** Mean delay of each direction, exponentially distributed. */
  readonly delayMsMean: number;
  readonly requestLoss: number;
  readonly answerLoss: number;
  /** Share of the losses that the caller notices soon as a broken connection, and not only at the deadline. */
  readonly noticedShare: number;
}

export const QUIET_NETWORK: NetworkFaults = {
  delayMsMean: 2,
  requestLoss: 0,
  answerLoss: 0,
  noticedShare: 0.5,
};

/** The caller gets this instead of an answer. */
export type Undelivered = 'unavailable' | 'timeout';

export class Network {
  faults: NetworkFaults = QUIET_NETWORK;
  isDown = false;
  readonly #time: VirtualTime;
  readonly #random: Random;
  /** By machine; null: all calls draw from one stream. */
  readonly #streams: Map<string, Random> | null;

  /** `isByMachine`: the order of calls for different machines does not matter for their delays. */
  constructor(time: VirtualTime, random: Random, isByMachine = false) {
    this.#time = time;
    this.#random = random;
    this.#streams = isByMachine ? new Map() : null;
  }

  /**
   * Delivers a request to the peer and its answer back. `handle` runs at the peer if the request arrives. `machineId` is ''
   * for a listing.
   */
  call<Answer>(
    withinMs: number,
    machineId: string,
    handle: () => Answer | null,
  ): Promise<Answer | Undelivered> {
    const { requestLoss, answerLoss } = this.faults;
    const random = this.#streamOf(machineId);
    return new Promise((resolve) => {
      const end = (answer: Answer | Undelivered) => {
        deadline.cancel();
        resolve(answer);
      };
      const deadline = this.#time.after(withinMs, () => end('timeout'));
      if (this.isDown || random.chance(requestLoss)) {
        this.#lose(random, () => end('unavailable'));
        return;
      }
      this.#time.after(this.delayMs(random), () => {
        const answer = handle();
        if (answer === null) return; // the peer carried the call out and never answers
        if (this.isDown || random.chance(answerLoss)) this.#lose(random, () => end('unavailable'));
        else this.#time.after(this.delayMs(random), () => end(answer));
      });
    });
  }

  delayMs(random: Random): number {
    return -Math.log(1 - random.unit()) * this.faults.delayMsMean;
  }

  #lose(random: Random, notice: () => void): void {
    if (random.chance(this.faults.noticedShare)) this.#time.after(this.delayMs(random), notice);
  }

  /** The first number for a machine depends on its id alone. */
  #streamOf(machineId: string): Random {
    if (this.#streams === null) return this.#random;
    let stream = this.#streams.get(machineId);
    if (stream === undefined) {
      let seed = 0;
      for (const character of machineId) seed = Math.imul(seed ^ character.charCodeAt(0), 0x01000193);
      stream = new Random(seed);
      this.#streams.set(machineId, stream);
    }
    return stream;
  }
}
