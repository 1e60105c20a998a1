/**
 * Connections that arrive. Node accepts one connection in each turn of the event loop (libuv does since 1.45). On a busy shard
 * a turn takes 150 ms, so 2,000 operators that reconnect would wait for five minutes. In a turn that accepted a connection,
 * work that comes in turns therefore stops early, and the next turn accepts the next one.
 */

/** With this much of a few kinds of work, a hundred turns fit into the rest between two cycles. */
const ARRIVAL_TURN_MS = 0.5;

export class Arrivals {
  #isArriving = false;

  /** A connection was accepted in this turn. */
  note(): void {
    if (this.#isArriving) return;
    this.#isArriving = true;
    setImmediate(() => {
      this.#isArriving = false;
    });
  }

  /** How long work that may take this long in a turn may take in this one. */
  turnMs(ms: number): number {
    return this.#isArriving ? Math.min(ARRIVAL_TURN_MS, ms) : ms;
  }
}
