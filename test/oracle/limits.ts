/** What the limits of a cluster (T8) and the ceilings of the fleet (E7) bar. Counted each time from the world and from what the cycle took so far. */
import { CAPACITY_TYPE_NAMES, CapacityType } from '../../src/machine/capacity-type.ts';
import { MachineState } from '../../src/machine/state.ts';
import { amountOf } from './amounts.ts';
import { type Cycle, isLeaving, stateOf } from './view.ts';
import type { Amounts, CeilingName, LimitName, WorldCluster, WorldMachine } from './world.ts';

/** "a higher priority is decided and assigned at the maximum". */
export function cappedPriority(cluster: WorldCluster | undefined, priority: number): number {
  return Math.min(priority, cluster?.limits?.maxPriority ?? Number.POSITIVE_INFINITY);
}

/** "over all machines of the cluster that are Creating, Configuring, Configured or enqueued for it". */
function isCounted(machine: WorldMachine, { id }: WorldCluster): boolean {
  const state = stateOf(machine);
  const isHeld =
    state === MachineState.Creating ||
    state === MachineState.Configuring ||
    (state === MachineState.Configured && !isLeaving(machine)); // H5: "it counts in no quota"
  return isHeld && machine.assignment?.cluster === id;
}

/** The cluster's machines, and what its needs took in this cycle. READING: a machine that is both counts once. */
function machinesOf(cycle: Cycle, cluster: WorldCluster, also: readonly WorldMachine[]): Set<WorldMachine> {
  const taken = cycle.limitTaken.get(cluster.id) ?? [];
  return new Set([
    ...cycle.world.machines.filter((machine) => isCounted(machine, cluster)),
    ...taken,
    ...also,
  ]);
}

function offeringOf({ instanceType, zone, capacityType }: WorldMachine): string {
  return JSON.stringify([instanceType, zone, capacityType]);
}

/** "Prices count in millionths of a dollar". */
function millionths(usd: number): number {
  return Math.round(usd * 1_000_000);
}

/**
 * The limit that bars the machine: "a machine that would exceed a limit is skipped". READING: a machine that counts already
 * adds nothing, and no limit bars it; nor does one on something that the machine has none of. `also` counts as taken.
 */
export function barredBy(
  cycle: Cycle,
  cluster: WorldCluster,
  machine: WorldMachine,
  also: readonly WorldMachine[] = [],
): LimitName {
  return barredByOwn(cycle, cluster, machine, also) || ceilingBarring(cycle, machine, also);
}

/** E7: "an offer that would exceed a ceiling is skipped", after the limits of the cluster. */
function ceilingBarring(
  { world: { machines, ceilings }, limitTaken }: Cycle,
  machine: WorldMachine,
  also: readonly WorldMachine[],
): CeilingName | '' {
  if (ceilings === undefined || !isOffer(machine) || millionths(machine.price) === 0) return '';
  // "Every machine that is not Speculative, and every offer with an enqueued Provision": stateOf says Creating.
  const counted = machines.filter((one) => !isOffer(one));
  const after = [...new Set([...counted, ...[...limitTaken.values()].flat(), ...also, machine])];
  const cost = (some: readonly WorldMachine[]) => total(some, (one) => millionths(one.price));
  if (cost(after) > millionths(ceilings.maxDollarsPerHour)) return 'ceilings.usd-per-hour';
  const { capacityType } = machine;
  const ofType = after.filter((one) => one.capacityType === capacityType);
  if (cost(ofType) <= millionths(ceilings.maxByCapacityType[capacityType]!)) return '';
  return `ceilings.${CAPACITY_TYPE_NAMES[capacityType]}-usd-per-hour` as CeilingName;
}

function isOffer(machine: WorldMachine): boolean {
  return stateOf(machine) === MachineState.Speculative;
}

/** Whether a limit of the cluster bars something, and not a ceiling. */
export function isOfCluster(limit: LimitName): boolean {
  return limit !== '' && !limit.startsWith('ceilings.');
}

function barredByOwn(
  cycle: Cycle,
  cluster: WorldCluster,
  machine: WorldMachine,
  also: readonly WorldMachine[],
): LimitName {
  const { limits } = cluster;
  if (limits === undefined) return '';
  const before = machinesOf(cycle, cluster, also);
  if (before.has(machine)) return '';
  const after = [...before, machine];
  if (after.length > limits.maxMachines) return 'max-machines';
  for (const [dimension, most] of Object.entries(limits.maxResources)) {
    if (amountOf(machine.capacity, dimension) === 0) continue;
    if (total(after, (one) => amountOf(one.capacity, dimension)) > most) return 'max-resources';
  }
  const dollars = total(after, (one) => millionths(one.price));
  if (machine.price > 0 && dollars > millionths(limits.maxDollarsPerHour)) return 'max-dollars-per-hour';
  const isSame = (one: WorldMachine) => offeringOf(one) === offeringOf(machine);
  const most = Math.max(1, Math.floor(limits.maxOfferingShare * cycle.world.machines.filter(isSame).length));
  if (after.filter(isSame).length > most) return 'max-offering-share';
  return isShareExceeded(cycle, cluster, machine, after) ? 'min-non-spot-share' : '';
}

/**
 * E8: "a spot machine that would leave too small a share of others is skipped". READING: not an unassigned Creating machine in
 * phase 1, which is bound later; in phase 2 the others are those after phase 1.
 */
function isShareExceeded(
  cycle: Cycle,
  cluster: WorldCluster,
  machine: WorldMachine,
  after: readonly WorldMachine[],
): boolean {
  const share = cluster.limits?.minNonSpotShare ?? 0;
  if (share === 0 || !isSpot(machine)) return false;
  if (cycle.afterPhase1 === undefined && stateOf(machine) === MachineState.Creating) return false;
  const others = (cycle.afterPhase1?.get(cluster.id) ?? after).filter((one) => !isSpot(one)).length;
  return !isShareOf(share, others, others + after.filter(isSpot).length);
}

/** "Shares count in millionths." */
function isShareOf(share: number, others: number, all: number): boolean {
  return others * 1_000_000 >= Math.round(share * 1_000_000) * all;
}

function isSpot({ capacityType }: WorldMachine): boolean {
  return capacityType === CapacityType.Spot;
}

/** E8: the trim keeps a machine without which the share would no longer hold, if it keeps a spot machine too. */
export function isNeededForShare(
  cycle: Cycle,
  cluster: WorldCluster,
  machine: WorldMachine,
  planned: readonly WorldMachine[],
): boolean {
  const share = cluster.limits?.minNonSpotShare ?? 0;
  if (share === 0 || isSpot(machine) || !planned.some(isSpot)) return false;
  const all = [...machinesOf(cycle, cluster, planned)];
  const others = all.filter((one) => !isSpot(one)).length;
  return isShareOf(share, others, all.length) && !isShareOf(share, others - 1, all.length - 1);
}

/** E8: begins phase 2, in which machines that are not spot do not add to the share before they are bound. */
export function beginPhase2(cycle: Cycle): void {
  cycle.afterPhase1 = new Map(
    cycle.world.clusters.map((cluster) => [cluster.id, [...machinesOf(cycle, cluster, [])]]),
  );
}

/** The limit that leaves no room for what a need still lacks, whatever machine would bring it. */
export function exhausted(cycle: Cycle, cluster: WorldCluster, lacking: Amounts): LimitName {
  const { limits } = cluster;
  if (limits === undefined) return '';
  const machines = [...machinesOf(cycle, cluster, [])];
  if (machines.length >= limits.maxMachines) return 'max-machines';
  for (const [dimension, most] of Object.entries(limits.maxResources)) {
    if (amountOf(lacking, dimension) === 0) continue;
    if (total(machines, (one) => amountOf(one.capacity, dimension)) >= most) return 'max-resources';
  }
  const dollars = total(machines, (one) => millionths(one.price));
  return dollars >= millionths(limits.maxDollarsPerHour) ? 'max-dollars-per-hour' : '';
}

/**
 * The limit that a gang would exceed with these machines: "a gang that does not fit whole acquires nothing". READING: for what
 * they leave uncovered it needs one more machine at least, and that much of the resources.
 */
export function gangBarredBy(
  cycle: Cycle,
  cluster: WorldCluster,
  machines: readonly WorldMachine[],
  lacking: Amounts,
): LimitName {
  const { limits } = cluster;
  for (const [place, machine] of machines.entries()) {
    const limit = barredBy(cycle, withoutShare(cluster), machine, machines.slice(0, place));
    if (limit !== '') return limit;
  }
  // E8: "the share judges the machines of a gang together".
  const held = machinesOf(cycle, cluster, []);
  const withGang = [...machinesOf(cycle, cluster, machines)];
  if (machines.some((one) => !held.has(one) && isShareExceeded(cycle, cluster, one, withGang)))
    return 'min-non-spot-share';
  if (limits === undefined || Object.values(lacking).every((amount) => amount === 0)) return '';
  const after = [...machinesOf(cycle, cluster, machines)];
  if (after.length + 1 > limits.maxMachines) return 'max-machines';
  for (const [dimension, most] of Object.entries(limits.maxResources)) {
    const wanted = amountOf(lacking, dimension);
    if (wanted > 0 && total(after, (one) => amountOf(one.capacity, dimension)) + wanted > most)
      return 'max-resources';
  }
  return '';
}

function withoutShare(cluster: WorldCluster): WorldCluster {
  return cluster.limits === undefined
    ? cluster
    : { ...cluster, limits: { ...cluster.limits, minNonSpotShare: 0 } };
}

/** The machine counts for the cluster from now on. */
export function countTaken(cycle: Cycle, cluster: WorldCluster, machine: WorldMachine): void {
  if (cluster.limits === undefined && cycle.world.ceilings === undefined) return;
  cycle.limitTaken.set(cluster.id, [...(cycle.limitTaken.get(cluster.id) ?? []), machine]);
}

function total(machines: readonly WorldMachine[], amount: (machine: WorldMachine) => number): number {
  return machines.reduce((sum, machine) => sum + amount(machine), 0);
}
