/** What no cycle may do, checked on the columns right after it: the plain statement of the rule, and its number. */
import { Flag, Intent, isBinding } from '../../inventory/intent.ts';
import { CapacityType } from '../../machine/capacity-type.ts';
import { MachineState } from '../../machine/state.ts';
import type { CycleReport } from '../../shard/ports/observer.ts';
import type { Shard } from '../../shard/shard.ts';
import { checkAcquisitions, checkPreemptions } from './acquisition-checks.ts';
import { Violation } from './invariants.ts';
import { servedNeeds } from './served-needs.ts';
import type { Memory } from './watch.ts';
import type { Process } from './world.ts';

const S = MachineState;
/** X12, X5: the shortest back-offs. */
const MACHINE_BACKOFF_MS = 30_000;
const NEED_BACKOFF_MS = 10_000;

export function checkCycle(process: Process, memory: Memory, report: CycleReport): void {
  const { shard } = process;
  const fresh = newActions(shard, memory);
  checkRails(shard, report, fresh.length);
  if (shard.reads.deferredCount > memory.underWay.size)
    throw new Violation(
      `S4: rows of ${shard.reads.deferredCount} machines are deferred, ${memory.underWay.size} are in flight`,
    );
  if (memory.isFenced && fresh.length > 0) throw new Violation('X8: a fenced process begins actions');
  if (memory.isFenced && process.operators.ended === '')
    throw new Violation('X8: a fenced process keeps its sessions');
  for (const slot of fresh) checkAction(process, memory, slot);
  checkReclaims(process, report, fresh);
  const served = servedNeeds(shard);
  checkAcquisitions(shard, served, fresh);
  checkPreemptions(shard, memory, served, fresh);
}

/** Machines whose action was enqueued by this cycle. */
function newActions(shard: Shard, memory: Memory): number[] {
  const { inventory } = shard;
  const { columns } = inventory;
  const fresh: number[] = [];
  for (let slot = 1; slot < columns.slotLimit; slot++) {
    if (columns.state[slot] === 0 || columns.intent[slot] === Intent.None) continue;
    const id = inventory.idOf(slot);
    if (memory.underWay.has(id)) continue;
    memory.underWay.add(id);
    fresh.push(slot);
  }
  return fresh;
}

/** C3, C4, X3. */
function checkRails(shard: Shard, report: CycleReport, begun: number): void {
  const { settings, rails, executor } = shard;
  const enqueued = Object.values(report.enqueued).reduce((sum, count) => sum + count, 0);
  if (enqueued !== begun)
    throw new Violation(`X1: ${enqueued} actions enqueued, ${begun} machines carry one`);
  if (rails.isPaused && begun > 0) throw new Violation(`C4: ${begun} actions while the kill switch is on`);
  if (rails.actionsPerCycleMax > 0 && begun > rails.actionsPerCycleMax)
    throw new Violation(`C3: ${begun} actions in one cycle`);
  if (executor.inFlight > settings.executeConcurrency)
    throw new Violation(`X3: ${executor.inFlight} actions in flight`);
  // A provision that goes on to its bootstrap waits again: the bound is for what is taken in.
  if (begun > 0 && executor.queueDepth > 2 * settings.executeConcurrency)
    throw new Violation(`X3: ${executor.queueDepth} actions in the queue`);
}

/** X12, R3, X5, A9. */
function checkAction(process: Process, memory: Memory, slot: number): void {
  const { inventory } = process.shard;
  const { columns, tables } = inventory;
  const id = inventory.idOf(slot);
  const nowMs = process.life.nowMs();
  if (inventory.hasFlag(slot, Flag.Backoff))
    throw new Violation(`X12: an action for ${id}, which is in back-off`);
  const failedAtMs = memory.failedAtMs.get(id);
  if (failedAtMs !== undefined && nowMs - failedAtMs >= 0 && nowMs - failedAtMs < MACHINE_BACKOFF_MS)
    throw new Violation(`X12: an action for ${id}, which failed ${nowMs - failedAtMs} ms ago`);
  if (columns.intent[slot] === Intent.Delete) checkRelease(process, memory, slot);
  if (!isBinding(columns.intent[slot]!)) return;
  const clusterId = tables.clusters.get(columns.cluster[slot]!);
  const need = `${clusterId}|${tables.fingerprints.get(columns.need[slot]!)}|${tables.groups.get(columns.group[slot]!)}`;
  if (clusterId === '') throw new Violation(`X1: ${id} is enqueued for nobody`);
  if (!process.operators.hasSession(clusterId))
    throw new Violation(`A9: ${id} for ${clusterId}, which has no session`);
  const needFailedAtMs = memory.needFailedAtMs.get(need);
  if (needFailedAtMs !== undefined && nowMs - needFailedAtMs >= 0 && nowMs - needFailedAtMs < NEED_BACKOFF_MS)
    throw new Violation(`X5: ${id} for a need that got no blob ${nowMs - needFailedAtMs} ms ago`);
}

/** R3: after its hold, and never where a machine is paid for anyway. */
function checkRelease({ shard, life }: Process, memory: Memory, slot: number): void {
  const { inventory, settings } = shard;
  const id = inventory.idOf(slot);
  const type = inventory.columns.capacityType[slot];
  const isSpot = type === CapacityType.Spot;
  if (!isSpot && type !== CapacityType.OnDemand)
    throw new Violation(`R3: ${id} is released and paid for anyway`);
  const idleMs = life.nowMs() - (memory.idleSinceMs.get(id) ?? Number.NaN);
  const holdMs = isSpot ? settings.idleHoldSpotMs : settings.idleHoldOnDemandMs;
  if (!(idleMs >= holdMs)) throw new Violation(`R3: ${id} is released after ${idleMs} ms`);
}

/** N6, C1, R2. */
function checkReclaims(process: Process, report: CycleReport, fresh: readonly number[]): void {
  const { inventory, rails } = process.shard;
  const { columns, tables } = inventory;
  const reclaims = new Map<number, number>();
  for (const slot of fresh) {
    if (columns.intent[slot] !== Intent.Reclaim) continue;
    const cluster = columns.cluster[slot]!;
    reclaims.set(cluster, (reclaims.get(cluster) ?? 0) + 1);
    const clusterId = tables.clusters.get(cluster);
    if (!process.reported.has(clusterId))
      throw new Violation(`N6: ${inventory.idOf(slot)} is reclaimed before ${clusterId} has reported`);
  }
  if (!report.isOrdinary && reclaims.size > 0) throw new Violation('C1: a woken cycle reclaims');
  if (rails.reclaimCapFraction === 0) return;
  for (const [cluster, count] of reclaims) {
    let configured = 0;
    for (let slot = 1; slot < columns.slotLimit; slot++) {
      const isOurs = columns.state[slot] === S.Configured && columns.cluster[slot] === cluster;
      // What an earlier cycle has enqueued counts as what it will be (X1).
      if (isOurs && (columns.intent[slot] === Intent.None || fresh.includes(slot))) configured++;
    }
    const most = Math.max(1, Math.floor(rails.reclaimCapFraction * configured + 1e-9));
    if (count > most)
      throw new Violation(
        `R2: ${count} of ${configured} machines of ${tables.clusters.get(cluster)} reclaimed`,
      );
  }
}
