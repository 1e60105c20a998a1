/** The sources of a view, read from a running shard. */
import type { Clock, Scheduler } from '../../base/clock.ts';
import { ACTION_NAMES, ActionKind } from '../../decision/actions.ts';
import { INTENT_STATE } from '../../inventory/intent.ts';
import { MachineState } from '../../machine/state.ts';
import type { ActionView, BackoffView, SessionView } from '../ports/fleet-view.ts';
import type { ActionName } from '../ports/observer.ts';
import type { RollupLimits, TenantRefusals } from '../ports/tenants.ts';
import type { Shard } from '../shard.ts';
import type { ViewSources } from './sources.ts';

export interface ShardSourcesOptions {
  readonly shard: Shard;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly providerNames: readonly string[];
  /** The sessions, from the operators' edge. */
  readonly sessions: () => readonly SessionView[];
  readonly refusals: TenantRefusals;
  readonly rollupLimits: RollupLimits;
}

export function shardSources({
  shard,
  clock,
  scheduler,
  providerNames,
  sessions,
  refusals,
  rollupLimits,
}: ShardSourcesOptions): ViewSources {
  const { inventory, needs, engine, settings } = shard;
  return {
    inventory,
    needs,
    engine,
    clock,
    providerNames,
    nextCycle: () => shard.nextCycle(),
    nextTurn: () => scheduler.yield(),
    cycle: () => shard.cycle.number,
    status: () => {
      const notReadyReason = shard.notReady();
      return {
        shardId: settings.shardId,
        epoch: shard.epoch,
        startedAtMs: shard.startedAtMs,
        cycle: shard.cycle.number,
        lastCycleAtMs: shard.cycle.lastAtMs,
        isReady: notReadyReason === '',
        notReadyReason,
        isFenced: shard.isFenced,
        machines: inventory.count,
        needs: needs.count,
        clusters: shard.sessions.count,
      };
    },
    rails: () => ({
      ...shard.rails,
      isFenced: shard.isFenced,
      heldBack: shard.heldBack(),
      reclaimFraction: shard.rails.reclaimCapFraction,
      preemptionFraction: shard.rails.preemptionCapFraction,
      cycleIntervalMs: settings.cycleIntervalMs,
      holdOnDemandMs: settings.idleHoldOnDemandMs,
      holdSpotMs: settings.idleHoldSpotMs,
      stuckAfterMs: settings.stuckAfterMs,
      concurrency: settings.executeConcurrency,
      queueMax: 2 * settings.executeConcurrency,
    }),
    gauges: () => shard.gauges(),
    hasSession: (cluster) => settings.localBootstrapBlob !== null || shard.sessions.has(cluster),
    limitsOf: (cluster) => shard.tenants.of(cluster),
    sessions,
    refusals,
    rollupLimits,
    suspension: (cluster) => shard.suspensions.of(cluster),
    needBackoff: (cluster, fingerprint, group) => {
      const backoff = shard.needBackoffs.viewOf(cluster, fingerprint, group);
      if (backoff === null || backoff.untilMs <= clock.nowMs()) return null;
      return { untilMs: backoff.untilMs, failures: backoff.failuresInARow, text: backoff.text };
    },
    claimantsOf: (slot) => shard.disputes.claimantsOf(slot).map((index) => providerNames[index] ?? ''),
    machineBackoff: (slot) => backoffOf(shard, slot, shard.backoffs.ofMachine(slot)),
    offeringBackoff: (slot) => backoffOf(shard, slot, shard.backoffs.ofOffering(slot)),
    offeringsInBackoff: () =>
      shard.backoffs.offerings().map(({ provider, ...offering }) => ({
        provider: providerNames[provider] ?? '',
        ...offering,
      })),
    actionOf: (slot) => actionOf(shard, slot),
  };
}

function backoffOf(
  { inventory }: Shard,
  slot: number,
  backoff: { readonly untilMs: number; readonly failuresInARow: number } | null,
): BackoffView | null {
  if (backoff === null) return null;
  const text = inventory.tables.texts.get(inventory.columns.lastError[slot]!);
  return { untilMs: backoff.untilMs, failures: backoff.failuresInARow, text };
}

/** The machine's state shows the step: an action that has begun has moved the machine. */
function actionOf(shard: Shard, slot: number): ActionView | null {
  const { inventory } = shard;
  if (inventory.columns.intent[slot] === 0) return null;
  const action = shard.executor.actionOn(slot);
  if (action === null) return null;
  const { kind, machineId, enqueuedMs, blobMs } = action;
  const state = inventory.stateOf(slot);
  const isBootstrap = kind === ActionKind.Bootstrap || kind === ActionKind.Provision;
  const waitsForBlob = isBootstrap && state === MachineState.Configuring && blobMs === 0;
  const step = state === INTENT_STATE[kind] ? 'queued' : waitsForBlob ? 'bootstrap_blob' : 'provider_call';
  return { kind: ACTION_NAMES[kind] as ActionName, machineId, step, sinceMs: enqueuedMs };
}
