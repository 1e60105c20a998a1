/**
 * Binding latency as a cluster can measure it. The shard does not tell an operator which node serves which
 * need, so the operator counts: the n-th node of a type that becomes Configured is matched with the n-th
 * machine of that type that the cluster lacks. A ticket stands for one machine that the cluster lacks:
 *
 *   asked      opened when the operator sends the first roll-up that asks for the machine
 *   lost       opened when a node that the roll-up still asks for stops being Configured (failed, preempted)
 *   withdrawn  the roll-up no longer asks for the machine: the newest ticket is dropped without a latency
 *
 * A node closes the oldest ticket of its type. It counts as a binding, with a latency, only if the shard bound
 * it just now: the operator saw it Configuring on this stream, or handed out a blob for its type that no other
 * node has used. Otherwise the node was bound before (the resync after Hello shows it) and closes the ticket
 * as *found*. First in, first out keeps the sums exact; a single latency may be that of another machine.
 *
 * Each latency has two parts, and the shard's request for a blob is between them: until then the need waited for a machine
 * (to be found, created or drained), and from then on the machine was being bound. Only the shard knows what a need waited
 * for: its metric flotilla_binding_seconds tells that apart.
 *
 * Until the resync is over, the operator cannot know which tickets of the first roll-up are for nodes that are
 * already bound. So bindings wait until then and get the tickets that found nodes have left.
 */
import { LatencyHistogram } from './latency-histogram.ts';

/** Shared by all clusters. */
export class BindTotals {
  /** Latency of tickets that a roll-up opened: since the start, and since the last report. */
  readonly asked = new LatencyHistogram();
  readonly askedLately = new LatencyHistogram();
  readonly lost = new LatencyHistogram();
  /** The two parts of each latency for which a blob was handed out. */
  readonly untilBlob = new LatencyHistogram();
  readonly fromBlob = new LatencyHistogram();
  found = 0;
  withdrawn = 0;
  /** Bindings without a ticket: the shard needed another zone or capacity type, or the demand had changed. */
  extra = 0;

  get bindCount(): number {
    return this.asked.count + this.lost.count + this.extra;
  }
}

interface Binding {
  readonly boundMs: number;
  /** NaN: the operator knows of no blob for it. */
  readonly blobMs: number;
}

interface TypeTickets {
  /** When each was opened, oldest first. */
  readonly openedMs: number[];
  /** Parallel to `openedMs`. */
  readonly isLoss: boolean[];
  /** The bindings that wait for the end of the resync, oldest first. */
  waitingBinds: Binding[];
  /** When each blob was handed out that no node has used yet, oldest first. */
  readonly blobsMs: number[];
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
      waitingBinds: [],
      blobsMs: [],
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

  /** A new stream begins: blobs of the old one may be lost, and a resync follows. */
  onStream(): void {
    this.settle();
    this.#isSettled = false;
    for (const tickets of this.#types) tickets.blobsMs.length = 0;
  }

  /** The resync is over. */
  settle(): void {
    this.#isSettled = true;
    for (const tickets of this.#types) {
      const bindings = tickets.waitingBinds;
      tickets.waitingBinds = [];
      for (const binding of bindings) this.#close(tickets, binding);
    }
  }

  onRollup(wantedByType: Int32Array, nowMs: number): void {
    for (let type = 0; type < this.#types.length; type++) {
      const tickets = this.#types[type]!;
      tickets.wanted = wantedByType[type]!;
      this.#adjust(tickets, nowMs, false);
    }
  }

  onBlob(type: number, nowMs: number): void {
    this.#types[type]?.blobsMs.push(nowMs);
  }

  /**
   * A node of the type became Configured. `wasConfiguring`: this stream showed it Configuring before. Returns
   * whether the node counts as a binding.
   */
  onConfigured(type: number, wasConfiguring: boolean, nowMs: number): boolean {
    const tickets = this.#types[type];
    if (tickets === undefined) return wasConfiguring;
    tickets.configured++;
    const isBinding = wasConfiguring || tickets.blobsMs.length > 0;
    const binding = { boundMs: nowMs, blobMs: tickets.blobsMs.shift() ?? Number.NaN };
    const isAwaited = openCount(tickets) > 0;
    if (!isBinding) {
      this.#totals.found++;
      if (isAwaited) {
        tickets.openedMs.shift();
        tickets.isLoss.shift();
      }
    } else if (!isAwaited) this.#totals.extra++;
    else if (this.#isSettled) this.#close(tickets, binding);
    else tickets.waitingBinds.push(binding);
    return isBinding;
  }

  /** A node of the type is no longer Configured. */
  onLost(type: number, nowMs: number): void {
    const tickets = this.#types[type];
    if (tickets === undefined) return;
    tickets.configured--;
    this.#adjust(tickets, nowMs, true);
  }

  #close(tickets: TypeTickets, { boundMs, blobMs }: Binding): void {
    const openedMs = tickets.openedMs.shift()!;
    const latencyMs = boundMs - openedMs;
    const isLoss = tickets.isLoss.shift()!;
    if (latencyMs < 0) {
      this.#totals.extra++; // the remaining ticket is younger than the binding
      return;
    }
    if (blobMs >= openedMs) {
      this.#totals.untilBlob.add(blobMs - openedMs);
      this.#totals.fromBlob.add(boundMs - blobMs);
    }
    if (isLoss) this.#totals.lost.add(latencyMs);
    else {
      this.#totals.asked.add(latencyMs);
      this.#totals.askedLately.add(latencyMs);
    }
  }

  /** Opens or drops tickets until there is one for each missing machine. */
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

/** Tickets without a waiting binding. */
function openCount({ openedMs, waitingBinds }: TypeTickets): number {
  return openedMs.length - waitingBinds.length;
}
