/** What a shard is constructed with: its settings and tables, the ports to the outside, and what an earlier process or role left. */
import type { Clock, Scheduler, Stopwatch } from '../base/clock.ts';
import type { Pulse } from '../base/pulse.ts';
import type { EngineOptions } from '../decision/engine.ts';
import type { ProviderNames } from '../listing/apply/provider-names.ts';
import type { DisruptionBudgetsOptions } from './disruption/budgets.ts';
import type { CheckPort } from './ports/check.ts';
import type { Control, ControlStore } from './ports/controls.ts';
import type { ShardObserver } from './ports/observer.ts';
import type { OperatorsPort } from './ports/operators.ts';
import type { ProviderPort } from './ports/providers.ts';
import type { ReplicaPort } from './ports/replica.ts';
import type { WhatIfThreads } from './ports/what-if.ts';
import type { ListingCursors } from './reconcile/reconciler.ts';
import type { ShardSettings } from './settings.ts';
import type { ShardTables } from './tables.ts';

export interface ShardOptions {
  readonly settings: ShardSettings;
  readonly tables: ShardTables;
  /** I1: the epoch of this process is higher than that of any before it. */
  readonly epoch: number;
  readonly providers: ProviderPort;
  /** Constructed first, and told to serve this shard afterwards. Default: no cluster can connect. */
  readonly operators?: OperatorsPort;
  readonly observer: ShardObserver;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly stopwatch: Stopwatch;
  /** X16: beaten by this shard, and read by the threads that send its calls. Default: it never stands still. */
  readonly pulse?: Pulse | null;
  /** F1–F5: the replica that this shard runs in. Default: the shard has no other replicas. */
  readonly replica?: ReplicaPort;
  /** F4: from the standby whose tables this shard goes on with. */
  readonly inherited?: Inheritance;
  /** H2: the controls that the last process stored, and where this one stores them. Default: they end with the process. */
  readonly controls?: { readonly stored: readonly Control[]; readonly store: ControlStore };
  /** H9: what the last process used of the disruption budgets, and where this one writes what it uses. Default: it ends with the process. */
  readonly usage?: NonNullable<DisruptionBudgetsOptions['usage']>;
  /** Derives cycles again from scratch. Default: no checks. */
  readonly checker?: CheckPort;
  /** Y4: threads for what-if questions. Default: the shard answers none. */
  readonly whatIfThreads?: WhatIfThreads;
  /** For tests: lets decisions throw. */
  readonly probe?: NonNullable<EngineOptions['probe']>;
}

/** F4: what a shard that becomes active takes over from the standby, besides the tables. Neither clocks nor counts are among it. */
export interface Inheritance {
  readonly cursors: ListingCursors;
  readonly resourceNames: ProviderNames;
}
