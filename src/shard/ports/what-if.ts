/**
 * What would happen if (Y4): a question about the fleet, and its answer. The shard copies its tables; a thread decides on the copy,
 * with the same engine and rails, and lets virtual time pass until nothing more happens.
 */
import type { ActionName, KindCounts } from './observer.ts';

/** A question as people write it. Each list may be empty, and what it says adds up. */
export interface WhatIfTexts {
  /** Machines that are gone: `zone=eu-north-1b`, `provider=aws,type=general-16`, `machine=m-1`. */
  readonly without: readonly string[];
  /** Demand of clusters times a number: `prod-eu-1=2`, `team-a-*=0.5`. */
  readonly demand: readonly string[];
  /** More machines like those: `200:zone=eu-north-1a,type=general-16`. */
  readonly add: readonly string[];
  /** Other prices: `capacity-type=spot:x1.5`, `zone=eu-north-1b:0.25`. */
  readonly price: readonly string[];
  /** Other settings: `reclaim-cap-fraction=0.2`. */
  readonly set: readonly string[];
  /** How long the providers take: `create=2m`. */
  readonly latency: readonly string[];
  /** Roll-up files, as JSON: other demand of a cluster. */
  readonly rollups: readonly string[];
}

/** By step of an action. */
export interface WhatIfLatencies {
  readonly createMs: number;
  readonly configureMs: number;
  readonly drainMs: number;
  readonly deleteMs: number;
}

/** What the run does now. `running`: virtual time passes. */
export type WhatIfPhase = 'copying' | 'restoring' | 'deciding' | 'running';

export interface WhatIfProgress {
  readonly phase: WhatIfPhase;
  /** Since the question arrived. */
  readonly elapsedMs: number;
  /** Virtual time since the change. */
  readonly virtualMs: number;
  readonly cycles: number;
  /** Actions that began, and those that have not ended. */
  readonly actions: number;
  readonly inFlight: number;
  readonly unmetNeeds: number;
}

/** One cluster, before the change and at rest. */
export interface WhatIfCluster {
  readonly clusterId: string;
  /** Bound to it. */
  readonly machinesBefore: number;
  readonly machinesAfter: number;
  /** Actions that began for it. */
  readonly actions: KindCounts;
  /** Its machines that the change takes away. */
  readonly gone: number;
}

/** Machines that one cluster loses to the needs of another. */
export interface WhatIfLoss {
  readonly from: string;
  readonly to: string;
  readonly machines: number;
}

export interface WhatIfPriority {
  readonly priority: number;
  readonly unmetBefore: number;
  readonly unmetAfter: number;
}

export interface WhatIfAnswer {
  readonly shardId: string;
  /** When the shard was copied. */
  readonly atMs: number;
  /** What the question changes, in words. */
  readonly question: readonly string[];
  readonly machinesGone: number;
  readonly machinesAdded: number;
  readonly machinesRepriced: number;
  /** Whether the copy came to rest; false: it did not within six hours of virtual time. */
  readonly isAtRest: boolean;
  /** Virtual time until the last action ended. */
  readonly settleMs: number;
  readonly cycles: number;
  readonly actions: KindCounts;
  /** Clusters with an action or another number of machines, those that lose most at the head. */
  readonly clusters: readonly WhatIfCluster[];
  readonly losses: readonly WhatIfLoss[];
  /** Pairs of clusters that `losses` leaves out. */
  readonly lossesLeftOut: number;
  readonly priorities: readonly WhatIfPriority[];
  readonly unmetBefore: number;
  readonly unmetAfter: number;
  readonly usdPerHourBefore: number;
  readonly usdPerHourAfter: number;
  /** What the answer assumes, and what keeps the shard from acting. */
  readonly notes: readonly string[];
  /** Real time: the copy on the main thread, until the first decision, in all. */
  readonly copyMs: number;
  readonly firstDecisionMs: number;
  readonly elapsedMs: number;
}

export const WHAT_IF_KINDS: readonly ActionName[] = [
  'Bootstrap',
  'Provision',
  'Reclaim',
  'Preempt',
  'Delete',
];

/** Answers questions. Changes nothing in the shard. */
export interface WhatIfPort {
  /**
   * Rejects with a ShardError: for a question that cannot be asked, while another one is being answered, and if the thread fails.
   * An aborted question ends its thread.
   */
  ask(
    texts: WhatIfTexts,
    onProgress: (progress: WhatIfProgress) => void,
    signal?: AbortSignal,
  ): Promise<WhatIfAnswer>;
}

/** Where the shard gets a thread, with memory for the copy. */
export interface WhatIfThreads {
  open(bytes: number): Promise<OpenWhatIf>;
}

export interface OpenWhatIf {
  /** Where the copy goes. */
  readonly buffer: SharedArrayBuffer;
  /** Decides on the image, which is plain data over the buffer. */
  run(image: object, onProgress: (progress: object) => void): Promise<object>;
  /** Ends the thread, also while it works: then `run` rejects. */
  close(): void;
}
