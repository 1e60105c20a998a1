/** From settings as people write them to those of a shard. */
import type { CeilingName, CeilingValues } from '../config/ceilings.ts';
import { CronSchedule } from '../config/schedule.ts';
import type { ShardConfig } from '../config/shard-config.ts';
import type { Ceilings } from '../decision/ceilings.ts';
import { CAPACITY_TYPE_COUNT, CAPACITY_TYPE_NAMES, type CapacityType } from '../machine/capacity-type.ts';
import type { Logger } from '../observe/log.ts';
import { checkScope, readPauses, WHOLE_FLEET } from '../shard/controls/control.ts';
import type { DisruptionBudget } from '../shard/ports/budgets.ts';
import type { DeclaredControl } from '../shard/ports/controls.ts';
import { type Rails, SHARD_DEFAULTS, type ShardSettings } from '../shard/settings.ts';
import { tenantLimits } from '../shard/tenants.ts';

const LOCAL_BOOTSTRAP_BLOB = new TextEncoder().encode(
  '#!/bin/sh\n# flotilla --local-bootstrap: no operator was asked\n',
);

export function railsOf(config: ShardConfig): Rails {
  return {
    isPaused: config.actuationPaused,
    isDryRun: config.dryRun,
    actionsPerCycleMax: config.maxActionsPerCycle,
    reclaimCapFraction: capOf(config.reclaimCapFraction),
    preemptionCapFraction: config.preemptionCapFraction,
    burnFraction: config.burnFraction,
    hasRollupGuard: config.emptyRollupGuard,
    tenants: config.tenants.map(tenantLimits),
    ceilings: ceilingsOf(config.ceilings),
    fullListEveryCycles: config.fullListEvery,
    lossRelistMs: config.relistAfterLossMs,
    removalHoldMs: config.removalHoldMs,
    vanishingHoldMs: config.vanishingHoldMs,
    executeTimeoutMs: config.executeTimeoutMs,
    bootstrapTimeoutMs: config.bootstrapTimeoutMs,
    idleHoldOnDemandMs: config.idleHoldOnDemandMs,
    idleHoldSpotMs: config.idleHoldSpotMs,
    stuckAfterMs: config.stuckAfterMs,
    checkEveryCycles: config.fromScratchCheckEvery,
    budgets: config.disruptionBudgets.map((entry) => budgetOf(entry, config)),
    controls: [
      ...config.controls.map((entry) => declaredControl(entry, config)),
      ...(config.reclaimCapFraction === 'none' ? [NO_RECLAIMS] : []),
    ],
  };
}

/** E7: null without ceilings, so that the decision does not look for them. */
export function ceilingsOf(values: CeilingValues): Ceilings | null {
  if (Object.keys(values).length === 0) return null;
  const none = Number.POSITIVE_INFINITY;
  return {
    maxDollarsPerHour: values['usd-per-hour'] ?? none,
    maxByCapacityType: Array.from({ length: CAPACITY_TYPE_COUNT }, (_, type) => {
      const name = `${CAPACITY_TYPE_NAMES[type as CapacityType]}-usd-per-hour`;
      return values[name as CeilingName] ?? none;
    }),
  };
}

/** R2: 0 is no cap. `none` is a pause, and as loud as one. */
function capOf(fraction: ShardConfig['reclaimCapFraction']): number {
  return typeof fraction === 'number' ? fraction : 0;
}

const NO_RECLAIMS: DeclaredControl = {
  pauses: ['reclaim'],
  scope: WHOLE_FLEET,
  who: 'configuration',
  why: 'reclaim-cap-fraction is none',
  untilMs: null,
};

/** R2: a person who types 0 to stop reclaims lifts their cap. */
export function warnOfRails({ reclaimCapFraction }: ShardConfig, log: Logger): void {
  if (reclaimCapFraction !== 0) return;
  const next = 'write none to stop reclaims, or unlimited if you mean no limit';
  log.warn('reclaim_cap_off', { detail: 'reclaim-cap-fraction 0 means no limit, as in BigFleet', next });
}

function declaredControl(entry: ShardConfig['controls'][number], config: ShardConfig): DeclaredControl {
  const { pauses, who, why, untilMs, cluster, provider, zone, instanceType, capacityType } = entry;
  const scope = { ...WHOLE_FLEET, cluster, provider, zone, instanceType, capacityType };
  const names = config.providers.map(({ name }) => name);
  checkScope(scope, names);
  return { pauses: readPauses(pauses, scope), scope, who, why, untilMs };
}

function budgetOf(entry: ShardConfig['disruptionBudgets'][number], config: ShardConfig): DisruptionBudget {
  const { name, cluster, provider, zone, instanceType, capacityType, max, windowMs, atATime } = entry;
  const scope = { ...WHOLE_FLEET, cluster, provider, zone, instanceType, capacityType };
  const names = config.providers.map((one) => one.name);
  checkScope(scope, names);
  return {
    name,
    scope,
    perWindow: max === null ? null : { most: max, windowMs },
    atATime,
    schedule: entry.open === '' ? null : new CronSchedule(entry.open, entry.forMs, entry.timeZone),
  };
}

export function settingsOf(config: ShardConfig): ShardSettings {
  return {
    ...SHARD_DEFAULTS,
    ...railsOf(config),
    shardId: config.id,
    cycleIntervalMs: config.cycleIntervalMs,
    machinesMax: config.maxMachines,
    tableShare: config.tenantTableShare,
    providerTableReserve: config.providerTableReserve,
    isIncremental: config.incrementalReconcile,
    placement: { kind: config.placement, offerMargin: config.placementOfferMargin },
    foreignDrainHoldMs: config.foreignDrainHoldMs,
    optionalProviders: config.optionalProviders,
    providerIdPrefixes: config.providerIdPrefixes,
    ignoresUnassignedBindings: config.unassignedBindings === 'ignore',
    executeConcurrency: config.executeConcurrency,
    localBootstrapBlob: config.localBootstrap ? LOCAL_BOOTSTRAP_BLOB : null,
    stallAfterMs: config.stallAfterMs,
    hintIntervalMs: config.availableCapacityIntervalMs,
    preemptionWeights: {
      gap: config.preemptionWeightGap,
      drain: config.preemptionWeightDrain,
      interruption: config.preemptionWeightInterruption,
      reclamation: config.preemptionWeightReclamation,
    },
  };
}
