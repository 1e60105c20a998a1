/**
 * Binding latency, as a cluster can see it. Nobody tells an operator which node serves which need, so it is
 * counted: the n-th machine of a type that a cluster is short of is given the n-th node of that type that
 * becomes Configured. A ticket is one machine that is asked for and not there:
 *
 *   asked      opened when the roll-up that first asks for it is sent
 *   lost       opened when a node that is still asked for stops being Configured (failed, preempted)
 *   withdrawn  the roll-up no longer asks for it: the newest ticket goes, unmeasured
 *
 * A node closes the oldest ticket of its type. It is a binding, and its latency counts, only if it was bound
 * just now: it was seen Configuring on this stream, or a blob for its type was handed out that no other node has
 * accounted for. Otherwise it is a node that was there before (the resync after Hello), and closes the ticket as
 * *found*. The first in, first out order keeps sums exact; a single latency may be another machine's.
 *
 * Until the resync is over nobody knows which of the tickets of the first roll-up are for nodes that are there. So
 * bindings wait until then, and are given their tickets when those of found nodes are gone.
 */
import { LatencyHistogram } from './latency-histogram.ts';

/** Shared by all clusters. */
export class BindTotals {
  /** Of tickets that a roll-up opened: since the start, and since whoever reports last cleared it. */
  readonly asked = new LatencyHistogram();
  readonly askedLately = new LatencyHistogram();
  readonly lost = new LatencyHistogram();
  found = 0;
  withdrawn = 0;
  /** Bindings that nobody was waiting for: another zone or payment than a spare machine had, or a late one. */
  extra = 0;

  get bindCount(): number {
    return this.asked.count + this.lost.count + this.extra;
  }
}

interface TypeTickets {
  /** When each was opened, oldest first. */
  readonly openedMs: number[];
  /** Beside it. */
  readonly isLoss: boolean[];
  /** When bindings happened that wait for the end of the resync, oldest first. */
  waitingBindsMs: number[];
  /** Blobs handed out that no node has accounted for. */
  blobs: number;
  wanted: number;
  configured: number;
}

export class BindTickets {
  readonly #types: readonly TypeTickets[];
  readonly #totals: BindTotals;
  #isSettled = false;

  constructor(typeCount: number, totals: BindTotals) {
    this.#totals = totals;
    this.#types = Array.from({ length: typeCount }, () => ({
      openedMs: [],
      isLoss: [],
      waitingBindsMs: [],
      blobs: 0,
      wanted: 0,
      configured: 0,
    }));
  }

  get openCount(): number {
    let count = 0;
    for (const tickets of this.#types) count += openCount(tickets);
    return count;
  }

  oldestMs(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { openedMs } of this.#types) oldest = Math.min(oldest, openedMs[0] ?? oldest);
    return oldest;
  }

  /** A new stream: blobs of the one before may have gone nowhere, and there will be a resync. */
  onStream(): void {
    this.settle();
    this.#isSettled = false;
    for (const tickets of this.#types) tickets.blobs = 0;
  }

  /** The resync is over. */
  settle(): void {
    this.#isSettled = true;
    for (const tickets of this.#types) {
      const bindsMs = tickets.waitingBindsMs;
      tickets.waitingBindsMs = [];
      for (const boundMs of bindsMs) this.#close(tickets, boundMs);
    }
  }

  onRollup(wantedByType: Int32Array, nowMs: number): void {
    for (let type = 0; type < this.#types.length; type++) {
      const tickets = this.#types[type]!;
      tickets.wanted = wantedByType[type]!;
      this.#adjust(tickets, nowMs, false);
    }
  }

  onBlob(type: number): void {
    const tickets = this.#types[type];
    if (tickets !== undefined) tickets.blobs++;
  }

  /** A node of the type became Configured; whether it was seen Configuring on this stream. Whether it was bound now. */
  onConfigured(type: number, wasConfiguring: boolean, nowMs: number): boolean {
    const tickets = this.#types[type];
    if (tickets === undefined) return wasConfiguring;
    tickets.configured++;
    const isBinding = wasConfiguring || tickets.blobs > 0;
    if (tickets.blobs > 0) tickets.blobs--;
    const isAwaited = openCount(tickets) > 0;
    if (!isBinding) {
      this.#totals.found++;
      if (isAwaited) {
        tickets.openedMs.shift();
        tickets.isLoss.shift();
      }
    } else if (!isAwaited) this.#totals.extra++;
    else if (this.#isSettled) this.#close(tickets, nowMs);
    else tickets.waitingBindsMs.push(nowMs);
    return isBinding;
  }

  /** A node of the type is no longer Configured. */
  onLost(type: number, nowMs: number): void {
    const tickets = this.#types[type];
    if (tickets === undefined) return;
    tickets.configured--;
    this.#adjust(tickets, nowMs, true);
  }

  #close(tickets: TypeTickets, boundMs: number): void {
    const latencyMs = boundMs - tickets.openedMs.shift()!;
    const isLoss = tickets.isLoss.shift()!;
    if (latencyMs < 0)
      this.#totals.extra++; // the one that it was bound for had been there all the time
    else if (isLoss) this.#totals.lost.add(latencyMs);
    else {
      this.#totals.asked.add(latencyMs);
      this.#totals.askedLately.add(latencyMs);
    }
  }

  /** As many tickets as machines are missing. */
  #adjust(tickets: TypeTickets, nowMs: number, isLoss: boolean): void {
    const missing = Math.max(0, tickets.wanted - tickets.configured);
    while (openCount(tickets) < missing) {
      tickets.openedMs.push(nowMs);
      tickets.isLoss.push(isLoss);
    }
    while (openCount(tickets) > missing) {
      tickets.openedMs.pop();
      tickets.isLoss.pop();
      this.#totals.withdrawn++;
    }
  }
}

/** Tickets less the bindings that have yet to be given one. */
function openCount({ openedMs, waitingBindsMs }: TypeTickets): number {
  return openedMs.length - waitingBindsMs.length;
}
