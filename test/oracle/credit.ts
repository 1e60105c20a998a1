/** Credit (A2), gangs (A5) and make before break (A6): which machines of its cluster each need keeps, and a gang's domain. */
import { effectiveCostUsd } from '../../src/machine/cost.ts';
import { MachineState } from '../../src/machine/state.ts';
import { coverage, covers, hasSomeOf, isNothing, subtract, sum, uncappedCoverage } from './amounts.ts';
import { compareBytes, compareNumbers, firstDifference } from './bytes.ts';
import { gangBarredBy } from './limits.ts';
import { domainOf } from './profile.ts';
import { planByValue } from './value.ts';
import {
  byId,
  type Cycle,
  canTake,
  compareKeep,
  countedOf,
  dollars,
  fits,
  inState,
  isAssignedTo,
  isCordoned,
  isDrainingFor,
  isKept,
  isLeaving,
  isOrphan,
  type LiveNeed,
  stateOf,
  type Turn,
} from './view.ts';
import type { Amounts, World, WorldMachine } from './world.ts';

/** A2: "Credit, needs in order N4". */
export function credit(cycle: Cycle): void {
  for (const need of cycle.needs) {
    const turn = cycle.turns.get(need.key)!;
    const machines = creditableMachines(cycle, need);
    if (need.sameKeys.length === 0) {
      takeInOrder(cycle, turn, machines);
      continue;
    }
    chooseDomain(cycle, turn, [...machines, ...leavingOf(cycle, need)]);
    takeInOrder(cycle, turn, inDomain(machines, turn));
    keepOwnOutside(cycle, turn);
  }
}

/**
 * "scan first the machines assigned to this very need (cluster, fingerprint, group: Configured, Configuring, then Creating
 * and enqueued), then the cluster's other Configured, then its other Configuring machines, each part in keep order".
 * READING: five parts, each in keep order; Creating and enqueued are one part.
 * X11: a stuck machine is "no longer counted in A2".
 */
function creditWalk(world: World, need: LiveNeed): WorldMachine[] {
  const ofCluster = world.machines.filter(
    (machine) => machine.assignment?.cluster === need.cluster.id && !machine.stuck && !isLeaving(machine),
  );
  const part = (isOwn: boolean, state: MachineState) =>
    ofCluster
      .filter((machine) => isAssignedTo(machine.assignment, need) === isOwn && stateOf(machine) === state)
      .filter((machine) => isOwn || !isCordoned(machine)) // H6: "credited only to the need that it is assigned to"
      .sort(compareKeep);
  return [
    ...part(true, MachineState.Configured),
    ...part(true, MachineState.Configuring),
    ...part(true, MachineState.Creating),
    ...part(false, MachineState.Configured),
    ...part(false, MachineState.Configuring),
  ];
}

/**
 * The machines of A2's scan that the need may take. For a Same need "less those assigned to another live Same need" (A5).
 * READING: a machine without any wanted dimension is neither creditable nor acquirable.
 */
function creditableMachines(cycle: Cycle, need: LiveNeed): WorldMachine[] {
  const machines = creditWalk(cycle.world, need).filter((machine) =>
    canTake(cycle, machine, need, need.aggregate),
  );
  if (need.isFold) return machines.filter((machine) => !isOthersOwn(cycle, machine, need));
  if (need.sameKeys.length === 0) return machines;
  const otherGangs = cycle.needs.filter((other) => other.sameKeys.length > 0 && other.key !== need.key);
  return machines.filter((machine) => !otherGangs.some((other) => isAssignedTo(machine.assignment, other)));
}

/** H5: "a gang's replacement comes from its domain": the gang's own leaving machines count for the choice as if they stayed. */
function leavingOf(cycle: Cycle, need: LiveNeed): WorldMachine[] {
  return cycle.world.machines.filter(
    (machine) =>
      isLeaving(machine) &&
      machine.leaving !== 'now' &&
      isAssignedTo(machine.assignment, need) &&
      canTake(cycle, machine, need, need.aggregate),
  );
}

/** OURS: a fold is credited no machine that is assigned to another live need (docs/adr/0039). */
function isOthersOwn(cycle: Cycle, machine: WorldMachine, fold: LiveNeed): boolean {
  if (isAssignedTo(machine.assignment, fold)) return false;
  return cycle.needs.some((other) => isAssignedTo(machine.assignment, other));
}

/** "subtract its capacity (never below zero per dimension); stop when nothing remains". OURS: of a fold, `countedOf`. */
function takeInOrder(cycle: Cycle, turn: Turn, machines: readonly WorldMachine[]): void {
  for (const machine of machines) {
    if (isNothing(turn.remaining)) return;
    if (!canTake(cycle, machine, turn.need, turn.remaining)) continue;
    cycle.claims.set(machine.id, turn.need);
    turn.credited.push(machine);
    turn.remaining = subtract(turn.remaining, countedOf(machine, turn.need));
  }
}

function inDomain(machines: readonly WorldMachine[], turn: Turn): WorldMachine[] {
  return machines.filter((machine) => isInDomain(machine, turn));
}

export function isInDomain(machine: WorldMachine, { need, domain }: Turn): boolean {
  const values = domainOf(machine, need.sameKeys);
  return values !== null && domain !== null && compareDomains(values, domain) === 0;
}

/** READING: tuples compare value by value. */
function compareDomains(left: readonly string[], right: readonly string[]): number {
  return firstDifference(...left.map((value, index) => compareBytes(value, right[index]!)));
}

/**
 * The order in which A3 takes: orphan Creating ("id asc"), "then Idle (price asc, id asc); then Speculative (effective
 * cost asc with the need's interruption penalty, id asc)". A9: "Not acquirable: machines and offerings in back-off". H3: nor under a pause.
 * READING: that holds for orphan Creating machines too. READING: a stuck orphan counts, as X11 names A2 and P6 only.
 */
export function acquireWalk(cycle: Cycle, need: LiveNeed): WorldMachine[] {
  const cost = (machine: WorldMachine) =>
    effectiveCostUsd(machine.price, machine.probability, dollars(need.interruptionPenalty));
  const orphans = cycle.world.machines.filter((machine) => isOrphan(machine, cycle.needs)).sort(byId);
  const idle = inState(cycle.world, MachineState.Idle).sort((left, right) =>
    firstDifference(compareNumbers(left.price, right.price), byId(left, right)),
  );
  const speculative = inState(cycle.world, MachineState.Speculative).sort((left, right) =>
    firstDifference(compareNumbers(cost(left), cost(right)), byId(left, right)),
  );
  return [...orphans, ...idle, ...speculative].filter((machine) => !isKept(machine, 'acquire'));
}

interface Domain {
  values: string[];
  machineCount: number;
  coversAll: boolean;
  creditableCovers: boolean;
  byTotal: number;
  byTotalUncapped: number;
  byCreditable: number;
  byOwn: number;
  creditable: Amounts;
}

/**
 * A5: "chosen at the need's turn in A2, over its creditable machines […] plus its acquirable ones (unclaimed Idle and
 * Speculative, less what earlier Same needs, in N4 order over all clusters, reserved) plus those draining for it (P6)."
 * A7, parked: "totals are its creditable machines alone".
 * READING: A9 does not change the totals, only what is reserved. READING: a machine draining for it counts if it fits and is
 * not stuck; those found draining (P6) do not count here.
 */
function chooseDomain(cycle: Cycle, turn: Turn, creditable: readonly WorldMachine[]): void {
  const { need } = turn;
  const reserved = reservedByOthers(cycle, need);
  const acquirable = acquireWalk(cycle, need).filter(
    (machine) => canTake(cycle, machine, need, need.aggregate) && !reserved.has(machine.id),
  );
  const draining = cycle.world.machines.filter(
    (machine) =>
      isDrainingFor(machine, need) &&
      !machine.stuck &&
      !isCordoned(machine) &&
      fits(machine, need) &&
      hasSomeOf(machine.capacity, need.aggregate),
  );
  const pool = turn.isParked ? [...creditable] : [...creditable, ...acquirable, ...draining];
  const chosen = domainsOf(pool, creditable, need).sort(compareRank)[0];
  turn.domain = chosen?.values ?? null;
  // READING: without a domain the capacity is zero, which covers an empty aggregate.
  turn.isSatisfiable = chosen?.coversAll ?? isNothing(need.aggregate);
  if (chosen === undefined || turn.isParked || turn.isBarred) return;
  reserve(cycle, turn, inDomain(acquirable, turn), chosen.creditable);
}

export function reservedByOthers(cycle: Cycle, need: LiveNeed): Set<string> {
  const others = [...cycle.turns.values()].filter((turn) => turn.need.key !== need.key);
  return new Set(others.flatMap((turn) => [...turn.reserved]));
}

/** "What it will take is A3's scan in its domain for the aggregate less creditable; it reserves that". */
function reserve(cycle: Cycle, turn: Turn, acquirable: readonly WorldMachine[], creditable: Amounts): void {
  const wanted = subtract(turn.need.aggregate, creditable);
  const planned = planGang(cycle, turn.need, acquirable, wanted);
  const remaining = planned.reduce((left, { capacity }) => subtract(left, capacity), wanted);
  // T8: a gang that does not fit whole "reserves nothing".
  turn.limitedBy = gangBarredBy(cycle, turn.need.cluster, planned, remaining);
  if (turn.limitedBy !== '') return;
  for (const { id } of planned) turn.reserved.add(id);
}

/** What a gang takes of the machines of A3's walk in its domain, or by value (E1). */
export function planGang(
  cycle: Cycle,
  need: LiveNeed,
  walk: readonly WorldMachine[],
  wanted: Amounts,
): WorldMachine[] {
  if (cycle.world.value !== undefined) {
    const rules = { isAllowed: () => true, mayLose: () => true, competitors: [] };
    return planByValue(cycle, need, walk, wanted, rules);
  }
  const planned: WorldMachine[] = [];
  let remaining = wanted;
  for (const machine of walk) {
    if (!canTake(cycle, machine, need, remaining)) continue;
    planned.push(machine);
    remaining = subtract(remaining, machine.capacity);
  }
  return planned;
}

function domainsOf(
  pool: readonly WorldMachine[],
  creditable: readonly WorldMachine[],
  need: LiveNeed,
): Domain[] {
  const byValues = new Map<string, WorldMachine[]>();
  for (const machine of pool) {
    const values = domainOf(machine, need.sameKeys);
    if (values === null) continue;
    const name = JSON.stringify(values);
    byValues.set(name, [...(byValues.get(name) ?? []), machine]);
  }
  return [...byValues].map(([name, machines]) => {
    const capacityOf = (some: readonly WorldMachine[]) => sum(some.map((machine) => machine.capacity));
    const total = capacityOf(machines);
    const credits = machines.filter((machine) => creditable.includes(machine));
    // READING: the gang's own are those of its creditable machines that are assigned to it.
    const own = credits.filter((machine) => isAssignedTo(machine.assignment, need));
    return {
      values: JSON.parse(name) as string[],
      machineCount: machines.length,
      coversAll: covers(total, need.aggregate),
      creditableCovers: covers(capacityOf(credits), need.aggregate),
      byTotal: coverage(total, need.aggregate),
      byTotalUncapped: uncappedCoverage(total, need.aggregate),
      byCreditable: coverage(capacityOf(credits), need.aggregate),
      byOwn: coverage(capacityOf(own), need.aggregate),
      creditable: capacityOf(credits.filter((machine) => !isLeaving(machine))),
    };
  });
}

/**
 * "Ranked: (1) a domain whose total covers the aggregate beats one that does not; (2) among covering ones: greater coverage
 * by creditable machines, then by the gang's own (equal group and fingerprint), then, where creditable machines alone cover
 * it, the smaller value, else the smaller total (sum of uncapped ratios); (3) among others: greater coverage by the gang's
 * own, then by the total, then by creditable machines; (4) more machines; (5) the smaller value." The best first.
 */
function compareRank(left: Domain, right: Domain): number {
  if (left.coversAll !== right.coversAll) return left.coversAll ? -1 : 1;
  const whenCovering = [
    compareNumbers(right.byCreditable, left.byCreditable),
    compareNumbers(right.byOwn, left.byOwn),
    left.creditableCovers ? compareDomains(left.values, right.values) : 0,
    compareNumbers(left.byTotalUncapped, right.byTotalUncapped),
  ];
  const whenNot = [
    compareNumbers(right.byOwn, left.byOwn),
    compareNumbers(right.byTotal, left.byTotal),
    compareNumbers(right.byCreditable, left.byCreditable),
  ];
  return firstDifference(
    ...(left.coversAll ? whenCovering : whenNot),
    compareNumbers(right.machineCount, left.machineCount),
    compareDomains(left.values, right.values),
  );
}

/**
 * A6: "While the chosen domain's total covers the need and its Configured machines inside do not yet, the gang's own
 * machines outside stay claimed by it (for A2, P1, R1) and count for nothing".
 * READING: its Configured machines inside are those credited to it. READING: its own outside are the unclaimed ones of A2's
 * first three parts, whether or not they still match; one that lacks a Same key is outside.
 */
function keepOwnOutside(cycle: Cycle, turn: Turn): void {
  const { need, domain, isSatisfiable } = turn;
  if (domain === null || !isSatisfiable) return;
  const configured = turn.credited.filter((machine) => stateOf(machine) === MachineState.Configured);
  if (covers(sum(configured.map((machine) => machine.capacity)), need.aggregate)) return;
  for (const machine of creditWalk(cycle.world, need)) {
    const isOwn = isAssignedTo(machine.assignment, need);
    if (!isOwn || isInDomain(machine, turn) || cycle.claims.has(machine.id)) continue;
    cycle.claims.set(machine.id, need);
  }
}
