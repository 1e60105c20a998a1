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
    nextCycle: () => shard.loop.nextCycle(),
    nextTurn: () => scheduler.yield(),
    cycle: () => shard.cycle.number,
    status: () => {
      const notReadyReason = shard.readiness.notReady();
      return {
        shardId: settings.shardId,
        epoch: shard.epoch,
        startedAtMs: shard.startedAtMs,
        cycle: shard.cycle.number,
        lastCycleAtMs: shard.cycle.lastAtMs,
        isReady: notReadyReason === '',
        notReadyReason,
        isFenced: shard.fence.isRaised,
        replica: shard.replica?.view() ?? null,
        machines: inventory.count,
        needs: needs.count,
        clusters: shard.sessions.count,
      };
    },
    rails: () => ({
      ...shard.rails,
      isFenced: shard.fence.isRaised,
      heldBack: shard.readiness.heldBack(),
      reclaimFraction: shard.rails.reclaimCapFraction,
      preemptionFraction: shard.rails.preemptionCapFraction,
      cycleIntervalMs: settings.cycleIntervalMs,
      holdOnDemandMs: shard.rails.idleHoldOnDemandMs,
      holdSpotMs: shard.rails.idleHoldSpotMs,
      stuckAfterMs: shard.rails.stuckAfterMs,
      concurrency: settings.executeConcurrency,
      queueMax: 2 * settings.executeConcurrency,
    }),
    gauges: () => shard.gauges(),
    hasSession: (cluster) => settings.localBootstrapBlob !== null || shard.sessions.has(cluster),
    limitsOf: (cluster) => shard.tenants.of(cluster),
    ceilings: () => shard.tenants.ceilings,
    sessions,
    refusals,
    rollupLimits,
    clusterPause: (cluster) => shard.pauses.ofCluster(inventory.tables.clusters.get(cluster)),
    machinePause: (slot, flag) => shard.pauses.keeping(slot, flag),
    budgets: () => shard.budgets.views(),
    machineBudget: (slot) => shard.budgets.keeping(slot),
    foreignDrainUntil: (slot) => shard.foreignDrains.untilMs(slot),
    suspension: (cluster) => shard.suspensions.of(cluster),
    needBackoff: (cluster, fingerprint, group) => {
      const backoff = shard.needBackoffs.viewOf(cluster, fingerprint, group);
      if (backoff === null || backoff.failuresInARow === 0) return null;
      const { untilMs, failuresInARow: failures, text, probe, spent } = backoff;
      return { untilMs, failures, text, probe: probe === 0 ? '' : inventory.idOf(probe), spent };
    },
    claimantsOf: (slot) => shard.disputes.claimantsOf(slot).map((index) => providerNames[index] ?? ''),
    machineBackoff: (slot) =>
      backoffOf(shard, slot, shard.backoffs.ofMachine(slot)) ?? drainBackoff(shard, slot),
    offeringBackoff: (slot) =>
      backoffOf(shard, slot, shard.backoffs.ofOffering(slot) ?? shard.failures.faults.ofMachine(slot)),
    offeringsInBackoff: () =>
      shard.backoffs.offerings().map(({ provider, ...offering }) => ({
        provider: providerNames[provider] ?? '',
        ...offering,
      })),
    sharedFaults: () => shard.failures.faults.inBackoff(),
    providerWork: (provider) => {
      const known = shard.reconciler.view()[provider];
      return {
        isOptional: known?.isOptional ?? false,
        isListing: known?.isListing ?? false,
        refusal: known?.refusal ?? '',
        callsInFlight: shard.executor.inFlightAt(provider),
        readsInFlight: shard.reads.inFlightAt(provider),
        readsWaiting: shard.reads.waitingAt(provider),
      };
    },
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

/** X5: the drains of its cluster fail, so the shard does not drain the machine. */
function drainBackoff({ inventory, failures }: Shard, slot: number): BackoffView | null {
  const { state, cluster } = inventory.columns;
  if (state[slot] !== MachineState.Configured) return null;
  const backoff = failures.drains.viewOf(cluster[slot]!, 0, 0);
  if (backoff === null || !failures.drains.isBarred(cluster[slot]!, 0, 0)) return null;
  const { failuresInARow, untilMs, text, spent } = backoff;
  const why = `a drain of another machine of its cluster failed: ${text}`;
  return { untilMs: spent?.untilMs ?? untilMs, failures: failuresInARow, text: why };
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
