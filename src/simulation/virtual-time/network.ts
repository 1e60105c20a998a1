/**
 * A network whose delays and losses are drawn from the seed. A call may lose its request (the peer never sees it) or its
 * answer (the peer carried it out), or the peer may be down. The caller sees what gRPC shows: unavailable, or nothing until
 * the deadline.
 */
import type { Random } from '../../base/random.ts';
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

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  /** Delivers a request to the peer and its answer back. `handle` runs at the peer if the request arrives. */
  call<Answer>(withinMs: number, handle: () => Answer | null): Promise<Answer | Undelivered> {
    const { requestLoss, answerLoss } = this.faults;
    return new Promise((resolve) => {
      const end = (answer: Answer | Undelivered) => {
        deadline.cancel();
        resolve(answer);
      };
      const deadline = this.#time.after(withinMs, () => end('timeout'));
      if (this.isDown || this.#random.chance(requestLoss)) {
        this.#lose(() => end('unavailable'));
        return;
      }
      this.#time.after(this.delayMs(), () => {
        const answer = handle();
        if (answer === null) return; // the peer carried the call out and never answers
        if (this.isDown || this.#random.chance(answerLoss)) this.#lose(() => end('unavailable'));
        else this.#time.after(this.delayMs(), () => end(answer));
      });
    });
  }

  delayMs(): number {
    return -Math.log(1 - this.#random.unit()) * this.faults.delayMsMean;
  }

  #lose(notice: () => void): void {
    if (this.#random.chance(this.faults.noticedShare)) this.#time.after(this.delayMs(), notice);
  }
}
