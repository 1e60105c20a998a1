/**
 * No need gets more than it lacks, neither unassigned machines nor the machines of other needs. Every need of a
 * simulation asks for machines of one type, so the checks only count.
 */
import { CORDONED, Flag, Intent, isBinding } from '../../inventory/intent.ts';
import { MachineState } from '../../machine/state.ts';
import type { Shard } from '../../shard/shard.ts';
import { Violation } from './invariants.ts';
import { assignmentKey, isLeaving, isMatch, needKey, rackOf, type ServedNeed } from './served-needs.ts';
import type { Memory } from './watch.ts';

const S = MachineState;

type Served = ReadonlyMap<string, ServedNeed>;

/**
 * A2: a need claims machines only until they cover it. X1: an enqueued action counts as its result. So claimed and
 * coming machines together never exceed the need, and no machine counts twice.
 */
export function checkAcquisitions(shard: Shard, served: Served, begunSlots: readonly number[]): void {
  const { inventory, engine } = shard;
  const { columns } = inventory;
  for (const need of served.values()) {
    // A0: a machine serves one need. A6: a gang's machines outside its domain do not count.
    if (
      need.isGang ? need.claimedReported > need.claimed.length : need.claimedReported !== need.claimed.length
    )
      throw new Violation(
        `A0: the verdict of a need of ${need.clusterId} reports ${need.claimedReported} machines, but it claims ${need.claimed.length}`,
      );
    if (!need.isGang) checkCount(shard, need, need.claimed);
  }
  const asking = new Map<string, number[]>();
  for (const slot of begunSlots) {
    if (!isBinding(columns.intent[slot]!)) continue;
    const key = assignmentKey(shard, slot);
    asking.set(key, [...(asking.get(key) ?? []), slot]);
  }
  if (asking.size === 0) return;
  const assigned = new Map<string, number[]>();
  for (let slot = 1; slot < columns.slotLimit; slot++) {
    if (columns.state[slot] === 0 || !isComing(shard, slot)) continue;
    const key = assignmentKey(shard, slot);
    if (!asking.has(key)) continue;
    const claim = engine.claimOf(slot);
    if (claim !== null && needKey(claim) !== key) continue; // another need of the cluster claims it
    assigned.set(key, [...(assigned.get(key) ?? []), slot]);
  }
  for (const [key, slots] of assigned) {
    const need = served.get(key);
    if (need === undefined) continue;
    // A6: a gang that moves keeps its old rack until the new one is ready, so only the new rack is counted.
    const racks = new Set(asking.get(key)!.map((slot) => rackOf(shard, slot)));
    for (const rack of need.isGang ? racks : [null]) {
      checkCount(shard, need, rack === null ? slots : slots.filter((slot) => rackOf(shard, slot) === rack));
    }
  }
}

/** Bound or being bound, and not stuck. */
function isComing(shard: Shard, slot: number): boolean {
  const { columns } = shard.inventory;
  const state = columns.state[slot];
  const intent = columns.intent[slot]!;
  if (shard.inventory.hasFlag(slot, Flag.Stuck) || isLeaving(shard, slot)) return false;
  if (intent !== Intent.None) return isBinding(intent);
  return state === S.Creating || state === S.Configuring || state === S.Configured;
}

function checkCount(shard: Shard, need: ServedNeed, slots: readonly number[]): void {
  if (slots.length <= need.machinesWanted) return;
  const ids = slots.map((slot) => shard.inventory.idOf(slot)).join(' ');
  throw new Violation(
    `A2: a need of ${need.clusterId} asks for ${need.machinesWanted} machines and gets ${slots.length}: ${ids}`,
  );
}

/**
 * P6: a draining machine counts as capacity of the need that it drains for, or else of the next need that can use it,
 * however long the drain takes. So the shard never preempts more machines than needs lack.
 */
export function checkPreemptions(
  shard: Shard,
  memory: Memory,
  served: Served,
  begunSlots: readonly number[],
): void {
  const { inventory, executor } = shard;
  const { columns } = inventory;
  const asking = new Set<string>();
  for (const id of memory.drainingFor.keys()) {
    const slot = inventory.find(id);
    const isDraining =
      slot !== 0 && (columns.state[slot] === S.Draining || columns.intent[slot] === Intent.Preempt);
    // H6: no need gets a cordoned machine, so it does not count as freed.
    if (!isDraining || inventory.hasFlag(slot, Flag.Stuck | CORDONED)) memory.drainingFor.delete(id);
  }
  for (const slot of begunSlots) {
    if (columns.intent[slot] !== Intent.Preempt) continue;
    const { needCluster: cluster, needFingerprint: fingerprint, needGroup: group } = executor.actionOn(slot)!;
    const key = needKey({ cluster, fingerprint, group });
    memory.drainingFor.set(inventory.idOf(slot), key);
    asking.add(key);
  }
  for (const key of asking) {
    const need = served.get(key);
    if (need === undefined || need.isGang) continue;
    let draining = 0;
    for (const other of memory.drainingFor.values()) if (other === key) draining++;
    // H5: replacements of leaving machines never preempt.
    if (need.claimed.length + need.held.length + draining > need.machinesWanted)
      throw new Violation(
        `P6: ${draining} machines drain for a need of ${need.clusterId} that has ${need.claimed.length} and ${need.held.length} leaving ones of ${need.machinesWanted} machines`,
      );
    if (!need.isSpread) checkSurplus(shard, memory, served, need);
  }
}

/**
 * The asking need could use every draining machine that matches. So each of them already counts for the need that it
 * drains for, or for a need that precedes the asking one. Their number never exceeds what these needs lack.
 */
function checkSurplus(shard: Shard, memory: Memory, served: Served, asking: ServedNeed): void {
  const { inventory } = shard;
  const ownedBy = new Map<string, number>();
  let draining = 0;
  for (const [id, owner] of memory.drainingFor) {
    if (!isMatch(shard, inventory.find(id), asking)) continue;
    draining++;
    ownedBy.set(owner, (ownedBy.get(owner) ?? 0) + 1);
  }
  let lacking = 0;
  for (const { key, type, priority, machinesWanted, claimedReported, held } of served.values()) {
    if (type !== asking.type) continue;
    const lack = Math.max(0, machinesWanted - claimedReported - held.length);
    lacking += priority >= asking.priority ? lack : Math.min(lack, ownedBy.get(key) ?? 0);
  }
  if (draining > lacking)
    throw new Violation(
      `P6: a need of ${asking.clusterId} preempts although ${draining} matching machines drain and only ${lacking} are lacking`,
    );
}
