/**
 * Nobody asks for more than it lacks: neither free machines (A2, X1) nor other needs' machines (P6). Needs of a simulation
 * want machines of one type, so this is counting.
 */
import { Flag, Intent, isBinding } from '../../inventory/intent.ts';
import { MachineState } from '../../machine/state.ts';
import type { Shard } from '../../shard/shard.ts';
import { Violation } from './invariants.ts';
import { assignmentKey, isMatch, needKey, rackOf, type ServedNeed } from './served-needs.ts';
import type { Memory } from './watch.ts';

const S = MachineState;

type Served = ReadonlyMap<string, ServedNeed>;

/** A2, X1: with what is under way, nobody asks for more than it lacks; and no machine counts twice. */
export function checkAcquisitions(shard: Shard, served: Served, fresh: readonly number[]): void {
  const { inventory, engine } = shard;
  const { columns } = inventory;
  for (const need of served.values()) {
    // What a gang holds outside of its domain counts for nothing (A6).
    if (need.isGang ? need.claimedSaid > need.claimed.length : need.claimedSaid !== need.claimed.length)
      throw new Violation(
        `A0: a need of ${need.clusterId} counts ${need.claimedSaid} machines, ${need.claimed.length} are its own`,
      );
    if (!need.isGang) checkCount(shard, need, need.claimed);
  }
  const asking = new Map<string, number[]>();
  for (const slot of fresh) {
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
    if (claim !== null && needKey(claim) !== key) continue; // another need of the cluster took it first
    assigned.set(key, [...(assigned.get(key) ?? []), slot]);
  }
  for (const [key, slots] of assigned) {
    const need = served.get(key);
    if (need === undefined) continue;
    // A gang that moves keeps its old rack until the new one is ready (A6): only where it asks must it be exact.
    const racks = new Set(asking.get(key)!.map((slot) => rackOf(shard, slot)));
    for (const rack of need.isGang ? racks : [null]) {
      checkCount(shard, need, rack === null ? slots : slots.filter((slot) => rackOf(shard, slot) === rack));
    }
  }
}

/** Bound to its need or on the way to it, and not given up. */
function isComing(shard: Shard, slot: number): boolean {
  const { columns } = shard.inventory;
  const state = columns.state[slot];
  const intent = columns.intent[slot]!;
  if (shard.inventory.hasFlag(slot, Flag.Stuck)) return false;
  if (intent !== Intent.None) return isBinding(intent);
  return state === S.Creating || state === S.Configuring || state === S.Configured;
}

function checkCount(shard: Shard, need: ServedNeed, slots: readonly number[]): void {
  if (slots.length <= need.machinesWanted) return;
  const ids = slots.map((slot) => shard.inventory.idOf(slot)).join(' ');
  throw new Violation(
    `A2: ${slots.length} machines for a need of ${need.clusterId} that wants ${need.machinesWanted}: ${ids}`,
  );
}

/** P6: what drains counts as freed, however long it takes: for the need that it drains for, and else for the next. */
export function checkPreemptions(
  shard: Shard,
  memory: Memory,
  served: Served,
  fresh: readonly number[],
): void {
  const { inventory, executor } = shard;
  const { columns } = inventory;
  const asking = new Set<string>();
  for (const id of memory.drainingFor.keys()) {
    const slot = inventory.find(id);
    const isDraining =
      slot !== 0 && (columns.state[slot] === S.Draining || columns.intent[slot] === Intent.Preempt);
    if (!isDraining || inventory.hasFlag(slot, Flag.Stuck)) memory.drainingFor.delete(id);
  }
  for (const slot of fresh) {
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
    if (need.claimed.length + draining > need.machinesWanted)
      throw new Violation(
        `P6: ${draining} machines drain for a need of ${need.clusterId} that has ${need.claimed.length} of ${need.machinesWanted}`,
      );
    if (!need.isSpread) checkSurplus(shard, memory, served, need);
  }
}

/**
 * Who asks could use every machine that drains and matches, so each of them is counted already: by the need that it drains
 * for, or by one that is not after the asking one in order. Never are there more than those lack.
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
  for (const { key, type, priority, machinesWanted, claimedSaid } of served.values()) {
    if (type !== asking.type) continue;
    const lack = Math.max(0, machinesWanted - claimedSaid);
    lacking += priority >= asking.priority ? lack : Math.min(lack, ownedBy.get(key) ?? 0);
  }
  if (draining > lacking)
    throw new Violation(
      `P6: a need of ${asking.clusterId} preempts, ${draining} machines drain for ${lacking} that are lacking`,
    );
}
