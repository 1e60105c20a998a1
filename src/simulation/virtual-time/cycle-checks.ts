/** Rules for every cycle, checked on the columns right after it. */
import { Flag, Intent, isBinding } from '../../inventory/intent.ts';
import { CapacityType } from '../../machine/capacity-type.ts';
import { MachineState } from '../../machine/state.ts';
import type { CycleReport } from '../../shard/ports/observer.ts';
import type { Shard } from '../../shard/shard.ts';
import { checkAcquisitions, checkPreemptions } from './acquisition-checks.ts';
import { Violation } from './invariants.ts';
import { checkLeaving } from './leaving-checks.ts';
import { checkPreemptionCap } from './preemption-checks.ts';
import { servedNeeds } from './served-needs.ts';
import type { Memory } from './watch.ts';
import type { Process } from './world.ts';

const S = MachineState;
/** X12: a machine whose call failed is left alone for 30 s or more. X5: so is a need without a blob, for 10 s or more. */
const MACHINE_BACKOFF_MS = 30_000;
const NEED_BACKOFF_MS = 10_000;
/** Sums of prices as dollars are not exact. Machines of a simulation cost more. */
const CENT = 0.01;

/** `isListed`: the process has a listing of every provider. */
export function checkCycle(
  process: Process,
  memory: Memory,
  report: CycleReport,
  isListed: boolean,
  checkPaused: (slot: number) => void,
): void {
  const { shard } = process;
  if (!isListed) checkNothingCounted(shard);
  const begunSlots = newActions(process, memory);
  checkRails(shard, report, begunSlots.length);
  // S4: the shard defers listed rows only for machines in flight.
  if (shard.reads.deferredCount > memory.inFlight.size)
    throw new Violation(
      `S4: the shard defers rows of ${shard.reads.deferredCount} machines, but only ${memory.inFlight.size} are in flight`,
    );
  // X8: a fenced process stops executing and ends its sessions.
  if (memory.isFenced && begunSlots.length > 0) throw new Violation('X8: a fenced process begins actions');
  if (memory.isFenced && process.operators.ended === '')
    throw new Violation('X8: a fenced process keeps its sessions');
  checkWaiting(shard, begunSlots);
  for (const slot of begunSlots) {
    checkAction(process, memory, slot);
    checkPaused(slot);
  }
  memory.burns.checkCycle(process, begunSlots);
  checkReclaims(process, report, begunSlots);
  const served = servedNeeds(shard);
  checkAcquisitions(shard, served, begunSlots);
  checkCeiling(shard, begunSlots);
  if (report.withdrawn === 0) checkSpotShare(shard, begunSlots);
  checkLeaving(shard, served, begunSlots);
  checkPreemptions(shard, memory, served, begunSlots);
  checkPreemptionCap(process, memory, report, served, begunSlots);
}

/** E7: no cycle creates machines beyond the ceiling. The fleet may cost more by itself: prices move. */
function checkCeiling({ rails, inventory }: Shard, begunSlots: readonly number[]): void {
  const { state, intent, pricePerHourUsd, slotLimit } = inventory.columns;
  const most = rails.ceilings?.maxDollarsPerHour ?? Number.POSITIVE_INFINITY;
  const isCreated = (slot: number) => intent[slot] === Intent.Provision && pricePerHourUsd[slot]! > 0;
  if (most === Number.POSITIVE_INFINITY || !begunSlots.some(isCreated)) return;
  let cost = 0;
  for (let slot = 1; slot < slotLimit; slot++)
    if (state[slot] !== 0 && (state[slot] !== S.Speculative || intent[slot] === Intent.Provision))
      cost += pricePerHourUsd[slot]!;
  if (cost > most + CENT)
    throw new Violation(
      `E7: the cycle creates machines, and the fleet costs $${cost} an hour, more than $${most}`,
    );
}

/**
 * E8: no cycle binds spot machines beyond the share. Machines that a cycle drains still count; withdrawn actions and a cap on
 * actions (C3) can leave out machines that are not spot.
 */
function checkSpotShare({ rails, inventory, tenants }: Shard, begunSlots: readonly number[]): void {
  const { state, intent, cluster, capacityType, slotLimit } = inventory.columns;
  if (rails.actionsPerCycleMax > 0) return;
  const isSpot = (slot: number) => capacityType[slot] === CapacityType.Spot;
  const binders = begunSlots.filter((slot) => isBinding(intent[slot]!) && isSpot(slot));
  for (const ref of new Set(binders.map((slot) => cluster[slot]!))) {
    const share = tenants.of(ref)?.minNonSpotShare ?? 0;
    let machines = 0;
    let spot = 0;
    for (let slot = 1; slot < slotLimit; slot++) {
      const isHeld =
        isBinding(intent[slot]!) ||
        state[slot] === S.Creating ||
        state[slot] === S.Configuring ||
        state[slot] === S.Configured;
      if (state[slot] === 0 || cluster[slot] !== ref || !isHeld) continue;
      machines++;
      if (isSpot(slot)) spot++;
    }
    if (machines - spot < share * machines - CENT)
      throw new Violation(
        `E8: the cycle binds spot machines, and ${spot} of ${machines} machines of the cluster are spot; at least ${share} must not be`,
      );
  }
}

/** C2: cycles advance no count before every provider has been listed once, so none has begun. */
function checkNothingCounted({ engine, needs }: Shard): void {
  for (const cluster of needs.clusterRefs()) {
    engine.verdictsOf(cluster, (_, { cyclesUnmet, parkedCycles }) => {
      if (cyclesUnmet > 0 || parkedCycles > 0)
        throw new Violation(
          `C2: a cycle before the first listings counts ${cyclesUnmet} cycles unmet and ${parkedCycles} without a domain`,
        );
    });
  }
  for (const { ageCycles } of engine.shortfalls)
    if (ageCycles > 0)
      throw new Violation(`C2: a shortfall is ${ageCycles} cycles old before the first listings`);
}

/** Slots of the machines for which this cycle enqueued an action. */
function newActions(process: Process, memory: Memory): number[] {
  const { inventory } = process.shard;
  const { columns } = inventory;
  const begunSlots: number[] = [];
  for (let slot = 1; slot < columns.slotLimit; slot++) {
    if (columns.state[slot] === 0 || columns.intent[slot] === Intent.None) continue;
    const id = inventory.idOf(slot);
    if (memory.inFlight.has(id)) continue;
    memory.inFlight.add(id);
    memory.stalls.decided(process, id);
    begunSlots.push(slot);
  }
  return begunSlots;
}

/**
 * C3: a cycle has a limit on actions. C4: the kill switch suppresses all of them. X3: actions in flight and in the queue are
 * limited. X1: every enqueued action shows on its machine.
 */
function checkRails(shard: Shard, report: CycleReport, begun: number): void {
  const { settings, rails, executor } = shard;
  const enqueued = Object.values(report.enqueued).reduce((sum, count) => sum + count, 0);
  if (enqueued !== begun)
    throw new Violation(`X1: the cycle reports ${enqueued} enqueued actions, but ${begun} machines have one`);
  if (rails.isPaused && begun > 0)
    throw new Violation(`C4: the cycle begins ${begun} actions while the kill switch is on`);
  if (rails.actionsPerCycleMax > 0 && begun > rails.actionsPerCycleMax)
    throw new Violation(`C3: the cycle begins ${begun} actions, the limit is ${rails.actionsPerCycleMax}`);
  if (executor.inFlight > settings.executeConcurrency)
    throw new Violation(
      `X3: ${executor.inFlight} actions are in flight, the limit is ${settings.executeConcurrency}`,
    );
  // A Provision queues again before its Bootstrap, so the limits apply to both together.
  if (executor.queueDepth + executor.inFlight > 3 * settings.executeConcurrency)
    throw new Violation(
      `X3: ${executor.queueDepth} actions are in the queue, the limit is ${2 * settings.executeConcurrency}`,
    );
}

/** X3: no binding waits while the queue has room: neither after a cycle nor after an action has ended. */
export function checkRoom({ executor, settings, fence }: Shard): void {
  if (!fence.isRaised && executor.waitingCount > 0 && executor.queueDepth < settings.executeConcurrency)
    throw new Violation(`X3: ${executor.waitingCount} bindings wait, and the queue has room`);
}

/** X3: a binding waits only while the queue has no room for it and a need claims its machine; C4: none waits while the shard may not act. */
function checkWaiting(shard: Shard, begunSlots: readonly number[]): void {
  const { inventory, engine, executor, rails } = shard;
  if (executor.waitingCount === 0) return;
  if (rails.isPaused || rails.isDryRun || shard.readiness.heldBack() !== '')
    throw new Violation('C4: actions wait for their turn while the shard may not act');
  checkRoom(shard);
  const { flags, slotLimit, state } = inventory.columns;
  for (let slot = 1; slot < slotLimit; slot++) {
    if (state[slot] === 0 || (flags[slot]! & Flag.Waiting) === 0) continue;
    if (engine.claimOf(slot) === null && !begunSlots.includes(slot))
      throw new Violation(`X3: the action of ${inventory.idOf(slot)} waits, and no need claims the machine`);
  }
}

/** No action for a machine in back-off, and none for a need in back-off. A9: none for a cluster without a session. */
function checkAction(process: Process, memory: Memory, slot: number): void {
  const { inventory } = process.shard;
  const { columns, tables } = inventory;
  const id = inventory.idOf(slot);
  const nowMs = process.life.nowMs();
  if (process.shard.suspensions.has(columns.cluster[slot]!))
    throw new Violation(`T2: the cycle begins an action for ${id} of a suspended cluster`);
  if (inventory.hasFlag(slot, Flag.Backoff))
    throw new Violation(`X12: the cycle begins an action for ${id}, which is in back-off`);
  if (inventory.hasFlag(slot, Flag.Disputed))
    throw new Violation(`T10: the cycle begins an action for ${id}, which is in dispute`);
  const failedAtMs = memory.failedAtMs.get(id);
  if (failedAtMs !== undefined && nowMs - failedAtMs >= 0 && nowMs - failedAtMs < MACHINE_BACKOFF_MS)
    throw new Violation(
      `X12: the cycle begins an action for ${id}, which failed ${nowMs - failedAtMs} ms ago`,
    );
  if (columns.intent[slot] === Intent.Delete) checkRelease(process, memory, slot);
  if (!isBinding(columns.intent[slot]!)) return;
  const clusterId = tables.clusters.get(columns.cluster[slot]!);
  const need = `${clusterId}|${tables.fingerprints.get(columns.need[slot]!)}|${tables.groups.get(columns.group[slot]!)}`;
  if (clusterId === '') throw new Violation(`X1: ${id} is being bound without a cluster`);
  if (!process.operators.hasSession(clusterId))
    throw new Violation(`A9: ${id} is being bound for ${clusterId}, which has no session`);
  const needFailedAtMs = memory.needFailedAtMs.get(need);
  if (needFailedAtMs !== undefined && nowMs - needFailedAtMs >= 0 && nowMs - needFailedAtMs < NEED_BACKOFF_MS)
    throw new Violation(
      `X5: ${id} is being bound for a need that got no blob ${nowMs - needFailedAtMs} ms ago`,
    );
}

/** R3: the shard deletes an Idle machine after its hold, and only on-demand and spot machines. */
function checkRelease({ shard, life }: Process, memory: Memory, slot: number): void {
  const { inventory, settings } = shard;
  const id = inventory.idOf(slot);
  const type = inventory.columns.capacityType[slot];
  const isSpot = type === CapacityType.Spot;
  if (!isSpot && type !== CapacityType.OnDemand)
    throw new Violation(`R3: ${id} is released, but is neither on-demand nor spot`);
  const idleMs = life.nowMs() - (memory.idleSinceMs.get(id) ?? Number.NaN);
  const holdMs = isSpot ? settings.idleHoldSpotMs : settings.idleHoldOnDemandMs;
  if (!(idleMs >= holdMs))
    throw new Violation(`R3: ${id} is released after ${idleMs} ms, its hold is ${holdMs} ms`);
}

/**
 * N6: no reclaim before the cluster has reported. C1: no reclaim in a woken cycle. R2: no more reclaims per cluster and cycle
 * than the cap.
 */
function checkReclaims(process: Process, report: CycleReport, begunSlots: readonly number[]): void {
  const { inventory, needs, rails } = process.shard;
  const { columns, tables } = inventory;
  const reclaims = new Map<number, number>();
  for (const slot of begunSlots) {
    if (columns.intent[slot] !== Intent.Reclaim) continue;
    const cluster = columns.cluster[slot]!;
    reclaims.set(cluster, (reclaims.get(cluster) ?? 0) + 1);
    const clusterId = tables.clusters.get(cluster);
    if (!process.reported.has(clusterId))
      throw new Violation(`N6: ${inventory.idOf(slot)} is reclaimed before ${clusterId} has reported`);
    if (needs.isTakingUp(cluster))
      throw new Violation(
        `T7: ${inventory.idOf(slot)} is reclaimed while needs of ${clusterId} wait for their turn`,
      );
  }
  if (!report.isOrdinary && reclaims.size > 0) throw new Violation('C1: a woken cycle reclaims machines');
  if (rails.reclaimCapFraction === 0) return;
  for (const [cluster, count] of reclaims) {
    let configured = 0;
    for (let slot = 1; slot < columns.slotLimit; slot++) {
      const isOurs = columns.state[slot] === S.Configured && columns.cluster[slot] === cluster;
      // X1: an action of an earlier cycle counts as its result.
      if (isOurs && (columns.intent[slot] === Intent.None || begunSlots.includes(slot))) configured++;
    }
    const most = Math.max(1, Math.floor(rails.reclaimCapFraction * configured + 1e-9));
    if (count > most)
      throw new Violation(
        `R2: the cycle reclaims ${count} of ${configured} machines of ${tables.clusters.get(cluster)}, the cap is ${most}`,
      );
  }
}
