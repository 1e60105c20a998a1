/**
 * Remembers when each disconnected cluster left and from which peer. The session server forgets a session when it ends, but
 * an engineer who looks for a missing cluster asks this first.
 */
import type { SessionView as OpenSession, OperatorEvent } from '../session/operators.ts';
import type { SessionView } from '../shard/ports/fleet-view.ts';

/** The number of clusters that a shard can tell apart. Beyond it, the cluster that left first is forgotten. */
const GONE_MAX = 65_535;

interface Gone {
  readonly sinceMs: number;
  readonly peer: string;
}

export class SessionBook {
  /** By cluster, in the order in which they left. */
  readonly #gone = new Map<string, Gone>();

  note(event: OperatorEvent, nowMs: number): void {
    if (event.kind !== 'session_ended' && event.kind !== 'session_opened') return;
    const { kind, clusterId, peer } = event;
    this.#gone.delete(clusterId);
    if (kind === 'session_opened') return;
    this.#gone.set(clusterId, { sinceMs: nowMs, peer });
    const [first] = this.#gone.keys();
    if (this.#gone.size > GONE_MAX) this.#gone.delete(first!);
  }

  views(open: readonly OpenSession[]): SessionView[] {
    const views = open.map(({ clusterId, sinceMs, peer, outboxDepth, lastRollupMs }) => ({
      clusterId,
      isConnected: true,
      sinceMs,
      peer,
      outboxFrames: outboxDepth,
      lastRollupAtMs: lastRollupMs ?? 0,
    }));
    for (const [clusterId, { sinceMs, peer }] of this.#gone) {
      views.push({ clusterId, isConnected: false, sinceMs, peer, outboxFrames: 0, lastRollupAtMs: 0 });
    }
    return views;
  }
}
