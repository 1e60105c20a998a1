/** Settings of the shard, with the defaults that users of the reference know. */
import { CHEAPEST, type Placement } from '../decision/assign/placement.ts';
import type { Ceilings } from '../decision/ceilings.ts';
import type { PreemptionWeights } from '../decision/preempt/victim-lists.ts';
import type { ProviderIdPrefix } from '../listing/apply/id-prefixes.ts';
import { TABLE_SHARE_DEFAULT } from '../needs/tenant-limits.ts';
import type { DisruptionBudget } from './ports/budgets.ts';
import type { DeclaredControl } from './ports/controls.ts';
import type { TenantLimits } from './tenants.ts';

export interface ShardSettings {
  readonly shardId: string;
  readonly cycleIntervalMs: number;
  readonly machinesMax: number;
  /** T1: largest share of each shared table that one cluster may have. */
  readonly tableShare: number;
  /** T1: part of each table that is reserved for providers, in equal parts. */
  readonly providerTableReserve: number;
  /** S1: list changes since a cursor, and everything only now and then. */
  readonly isIncremental: boolean;
  /** S5: in incremental mode, ordinary cycles between two full listings; 0 = never. */
  readonly fullListEveryCycles: number;
  /** S1: shortest time between two full listings of a provider because its connection was lost; 0 = none. */
  readonly lossRelistMs: number;
  /** S6: a listing that lacks many machines, more than a tenth of those known, removes none for so long. */
  readonly removalHoldMs: number;
  /** S6: the same for one that is empty or lacks more than half. */
  readonly vanishingHoldMs: number;
  /** H7: a machine that somebody drained at the provider is left alone for so long once it is Idle; 0: not at all. */
  readonly foreignDrainHoldMs: number;
  /** C2: no action before every provider has been listed once, except these, by name. */
  readonly optionalProviders: readonly string[];
  /** T10: machine ids with this prefix belong to this provider, and it may have no others. */
  readonly providerIdPrefixes: readonly ProviderIdPrefix[];
  /** T10: a binding without an assignment of any shard satisfies no need, and the shard leaves the machine alone. */
  readonly ignoresUnassignedBindings: boolean;
  readonly listTimeoutMs: number;
  readonly executeConcurrency: number;
  /** X13: waiting reads of one provider from which on listings of its changes take their place. */
  readonly readsListedMin: number;
  readonly executeTimeoutMs: number;
  readonly bootstrapTimeoutMs: number;
  /** Bootstrap data for all nodes, so that no operator is needed; null: ask the operators. */
  readonly localBootstrapBlob: Uint8Array | null;
  /** C3: actions beyond this number wait for the next cycle; 0 = no limit. */
  readonly actionsPerCycleMax: number;
  /** C4: the kill switch; nothing executes. */
  readonly isPaused: boolean;
  readonly isDryRun: boolean;
  /** R2: largest share of a cluster's machines reclaimed per cycle; 0 = no limit. */
  readonly reclaimCapFraction: number;
  /** T9: largest share of a cluster's machines that higher priorities take per cycle interval; 0 = no limit. */
  readonly preemptionCapFraction: number;
  /** X14: largest share of the matching free machines that a cluster may burn in an hour; 0 = no limit. */
  readonly burnFraction: number;
  /** N7: a roll-up that drops most of a cluster's rows is quarantined. */
  readonly hasRollupGuard: boolean;
  /** R3: an Idle machine is released after its hold. */
  readonly idleHoldOnDemandMs: number;
  readonly idleHoldSpotMs: number;
  /** X16: after the main loop stood still for longer, what it decided before is dropped. */
  readonly stallAfterMs: number;
  /** X11: a machine that is transitional for longer is stuck. */
  readonly stuckAfterMs: number;
  /** O5: shortest time between two hints with one key. */
  readonly hintIntervalMs: number;
  /** Ordinary cycles between two from-scratch checks; 0 = never. */
  readonly checkEveryCycles: number;
  readonly preemptionWeights: PreemptionWeights | null;
  /** E1: by which rule needs acquire. */
  readonly placement: Placement;
  /** T8: limits by cluster; the first entry that matches counts. */
  readonly tenants: readonly TenantLimits[];
  /** E7: what the fleet may cost; null: no ceilings. */
  readonly ceilings: Ceilings | null;
  /** H9: how many machines of a place may be reclaimed, and when. */
  readonly budgets: readonly DisruptionBudget[];
  /** H2: pauses that the configuration declares. */
  readonly controls: readonly DeclaredControl[];
}

export const SHARD_DEFAULTS: ShardSettings = {
  shardId: 'shard-0',
  cycleIntervalMs: 10_000,
  machinesMax: 1_048_576,
  tableShare: TABLE_SHARE_DEFAULT,
  providerTableReserve: 0.5,
  isIncremental: false,
  fullListEveryCycles: 360,
  lossRelistMs: 60_000,
  removalHoldMs: 60_000,
  vanishingHoldMs: 600_000,
  foreignDrainHoldMs: 600_000,
  optionalProviders: [],
  providerIdPrefixes: [],
  ignoresUnassignedBindings: false,
  listTimeoutMs: 120_000,
  executeConcurrency: 256,
  readsListedMin: 32,
  executeTimeoutMs: 30_000,
  bootstrapTimeoutMs: 30_000,
  localBootstrapBlob: null,
  actionsPerCycleMax: 0,
  isPaused: false,
  isDryRun: false,
  reclaimCapFraction: 0.05,
  preemptionCapFraction: 0.2,
  burnFraction: 0.1,
  hasRollupGuard: true,
  idleHoldOnDemandMs: 600_000,
  idleHoldSpotMs: 60_000,
  stallAfterMs: 2_000,
  stuckAfterMs: 900_000,
  hintIntervalMs: 5_000,
  checkEveryCycles: 360,
  preemptionWeights: null,
  placement: CHEAPEST,
  tenants: [],
  ceilings: null,
  budgets: [],
  controls: [],
};

/** H11: settings that may change while the shard runs. Its parts read them whenever they use them. */
export type Rails = Pick<
  ShardSettings,
  | 'actionsPerCycleMax'
  | 'isPaused'
  | 'isDryRun'
  | 'reclaimCapFraction'
  | 'preemptionCapFraction'
  | 'burnFraction'
  | 'hasRollupGuard'
  | 'tenants'
  | 'ceilings'
  | 'budgets'
  | 'controls'
  | 'idleHoldOnDemandMs'
  | 'idleHoldSpotMs'
  | 'removalHoldMs'
  | 'vanishingHoldMs'
  | 'lossRelistMs'
  | 'fullListEveryCycles'
  | 'stuckAfterMs'
  | 'executeTimeoutMs'
  | 'bootstrapTimeoutMs'
  | 'checkEveryCycles'
>;
