/**
 * Notices that the connection for listings was lost. The provider behind it may have restarted without its memory, and some
 * providers then take an old cursor for a new one of theirs: they answer that nothing changed, and the shard believes it
 * until the next full listing. The library reconnects by itself without a word, so this class watches the channel.
 *
 * Not lost is a connection that we closed, and one that no call used for a while: providers, proxies and the library close
 * idle connections, and a listing of 500,000 machines for each of those would cost more than it finds.
 */
import { type Client, connectivityState } from '@grpc/grpc-js';
import type { Clock } from '../../base/clock.ts';

/** Load balancers close a connection after one to six minutes without traffic. */
const IDLE_MS = 300_000;

export class ConnectionLoss {
  readonly #clock: Clock;
  #watched: Client | null = null;
  #usedMs = 0;
  #isLost = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Since the last `settle`. */
  get isLost(): boolean {
    return this.#isLost;
  }

  settle(): void {
    this.#isLost = false;
  }

  /** An answer came over this client, so it has a connection. */
  answered(client: Client): void {
    this.#usedMs = this.#clock.nowMs();
    if (this.#watched === client) return;
    this.#watched = client;
    const channel = client.getChannel();
    if (channel.getConnectivityState(false) !== connectivityState.READY) {
      this.#left(client); // it was lost right after the answer
      return;
    }
    channel.watchConnectivityState(connectivityState.READY, Number.POSITIVE_INFINITY, () =>
      this.#left(client),
    );
  }

  /** We close the connection on purpose: that is no loss. */
  closing(): void {
    this.#watched = null;
  }

  #left(client: Client): void {
    if (this.#watched !== client) return;
    this.#watched = null;
    if (this.#clock.nowMs() - this.#usedMs < IDLE_MS) this.#isLost = true;
  }
}
