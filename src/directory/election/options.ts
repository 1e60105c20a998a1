/** What a replica needs to stand for election, and what it reports. */
import type { Clock, Scheduler, Stopwatch } from '../../base/clock.ts';
import type { Confirmation, Instant } from '../../base/confirmation.ts';
import type { FleetKeys } from '../keys.ts';
import type { Directory } from '../port.ts';
import type { SeenMarks } from './marks.ts';

export interface ReplicaOptions {
  readonly directory: Directory;
  readonly keys: FleetKeys;
  readonly shard: string;
  /** For people. */
  readonly replica: string;
  /** Each process draws its own, at least 64 random bits. */
  readonly instance: string;
  /** Where operators and other replicas reach this one. */
  readonly addresses: readonly string[];
  readonly leaseMs: number;
  /** Clocks of two machines run at different speeds, and a call that was checked is sent a moment later. */
  readonly marginMs: number;
  readonly marks: SeenMarks;
  /** Where the threads that send calls look. Default: one that only this thread knows. */
  readonly confirmation?: Confirmation;
  readonly clocks: ReplicaClocks;
  readonly scheduler: Scheduler;
  readonly onEvent: (event: ReplicaEvent) => void;
}

export interface ReplicaClocks {
  readonly wall: Clock;
  readonly uptime: Stopwatch;
}

export type ReplicaEvent =
  | { readonly kind: 'standby'; readonly activeReplica: string }
  | { readonly kind: 'took-over'; readonly epoch: number; readonly waitsMs: number }
  | { readonly kind: 'confirmed' }
  | { readonly kind: 'adrift'; readonly detail: string }
  | { readonly kind: 'stuck' }
  | { readonly kind: 'lease-lost' }
  | { readonly kind: 'resumed' }
  | { readonly kind: 'restored'; readonly detail: string }
  | { readonly kind: 'directory-failed'; readonly detail: string };

export function instantOf({ wall, uptime }: ReplicaClocks): Instant {
  return { uptimeMs: uptime(), wallMs: wall.nowMs() };
}

/** Back-off after a failed call: at most a quarter of a lease, so that a lease outlives several attempts. */
export function retryMsOf(leaseMs: number): number {
  return leaseMs / 4;
}
