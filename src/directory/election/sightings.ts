/**
 * When a replica counts as confirmed (F2). A *sighting* is a keepalive that was answered and then a read of `active` that showed
 * the replica's own entry. It holds for the granted time to live less a margin, from before its first request was sent.
 *
 * A replica is confirmed while its last sighting holds, and only after sightings without a break for `waitsMs`: one lease, unless
 * its predecessor gave the epoch up. So two replicas are never confirmed at once, not even if the directory lost a lease early
 * or was restored: when this one saw itself first, the last sighting of any other was at most a moment old, and held for less
 * than a lease (docs/adr/0053).
 */
import { Confirmation } from '../../base/confirmation.ts';
import { instantOf, type ReplicaClocks } from './options.ts';

export class Sightings {
  readonly confirmation: Confirmation;
  readonly #clocks: ReplicaClocks;
  readonly #marginMs: number;
  /** Holds on its own, also while the replica waits. */
  readonly #last = Confirmation.create();
  #waitsMs: number;
  /** Of uptime: when the first request of the last sighting was sent. */
  #lastMs: number;
  /** Of uptime. A suspended machine waits longer. null: no sighting yet since the last break. */
  #unbrokenSinceMs: number | null = null;

  constructor(
    clocks: ReplicaClocks,
    marginMs: number,
    waitsMs: number,
    confirmation: Confirmation = Confirmation.create(),
  ) {
    this.confirmation = confirmation;
    this.#clocks = clocks;
    this.#marginMs = marginMs;
    this.#waitsMs = waitsMs;
    this.#lastMs = clocks.uptime();
  }

  /** Since the last sighting; at first, since the replica became active. */
  get ageMs(): number {
    return this.#clocks.uptime() - this.#lastMs;
  }

  get isConfirmed(): boolean {
    return this.confirmation.isConfirmed(instantOf(this.#clocks));
  }

  /** After a sighting whose first request was sent at `startedAt`. */
  seen(startedAt: ReturnType<typeof instantOf>, ttlMs: number): void {
    const now = instantOf(this.#clocks);
    const isBroken = this.#unbrokenSinceMs !== null && !this.#last.isConfirmed(now);
    if (isBroken) this.broken(ttlMs);
    this.#unbrokenSinceMs ??= now.uptimeMs;
    this.#lastMs = startedAt.uptimeMs;
    const holdsMs = ttlMs - this.#marginMs;
    const until = { uptimeMs: startedAt.uptimeMs + holdsMs, wallMs: startedAt.wallMs + holdsMs };
    this.#last.extend(until);
    if (now.uptimeMs - this.#unbrokenSinceMs >= this.#waitsMs) this.confirmation.extend(until);
  }

  /** Not confirmed from now on, until sightings have lasted for a lease again. */
  broken(leaseMs: number): void {
    this.confirmation.clear();
    this.#last.clear();
    this.#unbrokenSinceMs = null;
    this.#waitsMs = Math.max(this.#waitsMs, leaseMs);
  }
}
