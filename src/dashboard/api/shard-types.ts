/** Answers about shards. */
import type { ApiCounts, ApiReplicaLine } from './types.ts';

/** The shard that answers. */
export interface ApiShard {
  readonly shardId: string;
  /** `single`: it runs without other replicas. */
  readonly role: 'single' | 'standby' | 'active' | 'adrift';
  readonly replica: string;
  readonly epoch: number;
  readonly version: string;
  readonly startedAtMs: number;
  readonly cycle: number;
  readonly lastCycleAtMs: number;
  readonly isReady: boolean;
  readonly notReadyReason: string;
  readonly machines: number;
  readonly byState: ApiCounts;
  readonly usdPerHour: number;
  readonly clusters: number;
  readonly providers: number;
  readonly needs: number;
  readonly unmetNeeds: number;
  readonly replicas: readonly ApiReplicaLine[];
  /** What keeps it from its work; empty if nothing does. */
  readonly troubles: readonly string[];
  /** Machines, needs and offerings that it leaves alone for a while. */
  readonly notes: readonly string[];
}

export interface ApiShards {
  readonly nowMs: number;
  readonly shards: readonly ApiShard[];
  readonly next: string;
}

export interface ApiShardInFull {
  readonly nowMs: number;
  readonly shard: ApiShard;
  /** The same in words, the answer first. */
  readonly sentences: readonly string[];
}
