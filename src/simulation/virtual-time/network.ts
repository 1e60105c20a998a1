/**
 * A network whose every delay and loss is drawn from the seed. A call may lose its request (it was never made), its
 * answer (it was made, and nobody knows), or meet a peer that is down; all of it shows to the caller as gRPC shows it:
 * unavailable, or nothing until the deadline.
 */
import type { Random } from '../../base/random.ts';
import type { VirtualTime } from './time.ts';

export interface NetworkFaults {
  /** Of each way; exponential. */
  readonly delayMsMean: number;
  readonly requestLoss: number;
  readonly answerLoss: number;
  /** Of the losses: seen at once as a broken connection, and not only at the deadline. */
  readonly noticedShare: number;
}

export const QUIET_NETWORK: NetworkFaults = {
  delayMsMean: 2,
  requestLoss: 0,
  answerLoss: 0,
  noticedShare: 0.5,
};

/** What the caller sees instead of an answer. */
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

  /** Carries a request to the other side and its answer back. `handle` runs on the other side, if it gets there. */
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
        if (answer === null) return; // carried out, and never answered
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
