/** Acquisition (A3), spread (A4) and barred needs (A9): needs with a deficit take orphan Creating, Idle and Speculative machines. */
import { effectiveCostUsd } from '../../src/machine/cost.ts';
import { MachineState } from '../../src/machine/state.ts';
import { coverage, isNothing, subtract } from './amounts.ts';
import { compareBytes, compareNumbers, firstDifference } from './bytes.ts';
import { acquireWalk, isInDomain, planGang, reservedByOthers } from './credit.ts';
import { barredBy, countTaken, exhausted, gangBarredBy, isNeededForShare } from './limits.ts';
import { attributeOf, sortedSpread } from './profile.ts';
import { costOfAll, planByValue } from './value.ts';
import {
  byId,
  type Cycle,
  canTake,
  compareA3,
  countedOf,
  dollars,
  fits,
  isCordoned,
  isOrphan,
  type LiveNeed,
  stateOf,
  type Turn,
} from './view.ts';
import { type Spread, WhenUnsatisfiable, type WorldMachine } from './world.ts';

/** A3: "needs with a deficit by priority desc, interruption bucket desc, reclamation bucket desc, then as N4". */
export function acquire(cycle: Cycle): void {
  const deficits = cycle.needs.filter((need) => !isNothing(cycle.turns.get(need.key)!.remaining));
  for (const need of cycle.needs.toSorted(compareA3)) {
    const turn = cycle.turns.get(need.key)!;
    if (isNothing(turn.remaining)) continue;
    const constraint = spreadConstraintOf(need);
    if (constraint !== null) turn.spreadDomains = domainsAtTurn(cycle, turn, constraint);
    // A7: "credit only, no acquisition"; A9: "credit only: no Bootstrap, no Provision, no preemption".
    if (turn.isParked || turn.isBarred) continue;
    if (need.sameKeys.length > 0) acquireGang(cycle, turn);
    else if (cycle.world.value !== undefined) acquireByValue(cycle, turn, constraint, deficits);
    else if (constraint === null) acquireInOrder(cycle, turn);
    else acquireSpread(cycle, turn, constraint);
    noteLimit(cycle, turn);
  }
  if (cycle.world.value !== undefined) exchange(cycle, deficits);
}

const EXCHANGE = { needs: 32, machines: 32, plans: 256, rounds: 2, factor: 0.99 };

/**
 * E9: "for two needs that acquired in this cycle, the second chooses first, from the machines of both and those that are free,
 * and the first chooses again from the rest. If both are covered and pay less, each keeps what it chose."
 */
function exchange(cycle: Cycle, competitors: readonly LiveNeed[]): void {
  const turns = cycle.needs.toSorted(compareA3).map((need) => cycle.turns.get(need.key)!);
  const parts = turns.filter((turn) => mayExchange(cycle, turn)).slice(0, EXCHANGE.needs);
  const wanting = cycle.needs.filter((need) => !isNothing(cycle.turns.get(need.key)!.remaining));
  let plans = 0;
  const lackedBy = ({ need, credited }: Turn) =>
    credited.reduce((left, machine) => subtract(left, countedOf(machine, need)), need.aggregate);
  // "It costs the taker, by the share of what it lacked, less than 0.99 times what the taker pays for each dimension."
  const mayGain = (turn: Turn, machine: WorldMachine) => {
    const lacked = lackedBy(turn);
    const dimensions = Object.values(lacked).filter((units) => units > 0).length;
    const paid = costOfAll(turn.acquired, turn.need) / dimensions;
    const share = coverage(countedOf(machine, turn.need), lacked);
    return costOfAll([machine], turn.need) / share < EXCHANGE.factor * paid;
  };
  const choose = (turn: Turn): WorldMachine[] | null => {
    const { need } = turn;
    plans++;
    const wanted = lackedBy(turn);
    const free = { competitors, isAllowed: () => true, mayLose: () => true };
    const chosen = planByValue(cycle, need, acquireWalk(cycle, need), wanted, free);
    const left = chosen.reduce((rest, machine) => subtract(rest, countedOf(machine, need)), wanted);
    return isNothing(left) ? chosen : null;
  };
  const claim = ({ need }: Turn, machines: readonly WorldMachine[]) => {
    for (const { id } of machines) cycle.claims.set(id, need);
  };
  const exchangeTwo = (giver: Turn, taker: Turn): boolean => {
    if (plans >= EXCHANGE.plans) return false;
    if (!giver.acquired.some((machine) => fits(machine, taker.need) && mayGain(taker, machine))) return false;
    const before = [...giver.acquired, ...taker.acquired];
    for (const { id } of before) cycle.claims.delete(id);
    const first = choose(taker);
    if (first?.some((machine) => giver.acquired.includes(machine))) {
      claim(taker, first);
      const second = choose(giver);
      const after = [...(second ?? []), ...first];
      const isWanted = (machine: WorldMachine) => wanting.some((need) => fits(machine, need));
      const isBetter =
        second !== null &&
        costOfAll(second, giver.need) + costOfAll(first, taker.need) <
          EXCHANGE.factor * (costOfAll(giver.acquired, giver.need) + costOfAll(taker.acquired, taker.need)) &&
        !before.some((machine) => !after.includes(machine) && isWanted(machine));
      if (isBetter) {
        giver.acquired = second;
        taker.acquired = first;
        claim(giver, second);
        return true;
      }
      for (const { id } of first) cycle.claims.delete(id);
    }
    claim(giver, giver.acquired);
    claim(taker, taker.acquired);
    return false;
  };
  let isChanged = parts.length > 1;
  for (let round = 0; round < EXCHANGE.rounds && isChanged; round++) {
    isChanged = false;
    for (const giver of parts)
      for (const taker of parts) if (giver !== taker && exchangeTwo(giver, taker)) isChanged = true;
  }
  cycle.actions.length = 0;
  for (const turn of turns) {
    turn.bootstrapCount = turn.provisionCount = 0;
    for (const machine of turn.acquired) act(cycle, turn, machine);
  }
}

/** "Plain needs without a spread, without limits or ceilings, that are covered by machines that they took, none of them Creating." */
function mayExchange({ world }: Cycle, { need, acquired, remaining }: Turn): boolean {
  const isPlain = need.sameKeys.length === 0 && spreadConstraintOf(need) === null;
  const isFree = need.cluster.limits === undefined && world.ceilings === undefined;
  const isCreated = acquired.some((machine) => stateOf(machine) === MachineState.Creating);
  const isFew = acquired.length > 0 && acquired.length <= EXCHANGE.machines;
  return isPlain && isFree && isFew && !isCreated && isNothing(remaining);
}

function acquireInOrder(cycle: Cycle, turn: Turn): void {
  const { need } = turn;
  while (!isNothing(turn.remaining)) {
    // E8: a machine that is not spot may allow a spot machine that was skipped before it.
    const next = acquireWalk(cycle, need).find(
      (machine) =>
        canTake(cycle, machine, need, turn.remaining) && barredBy(cycle, need.cluster, machine) === '',
    );
    if (next === undefined) return;
    take(cycle, turn, next);
  }
}

/** A5: "credit and acquisition stay in the domain"; "no other Same need acquires" what one has reserved. */
function acquireGang(cycle: Cycle, turn: Turn): void {
  const { need } = turn;
  const reserved = reservedByOthers(cycle, need);
  const inDomain = acquireWalk(cycle, need).filter(
    (machine) => isInDomain(machine, turn) && !reserved.has(machine.id),
  );
  const planned = planGang(cycle, need, inDomain, turn.remaining);
  const remaining = planned.reduce(
    (left, machine) => subtract(left, countedOf(machine, need)),
    turn.remaining,
  );
  // It "is barred for the whole cycle" if a limit barred it when it would have reserved.
  if (turn.domain === null || turn.limitedBy !== '') return;
  turn.limitedBy = gangBarredBy(cycle, need.cluster, planned, remaining);
  if (turn.limitedBy !== '') return;
  for (const machine of planned) take(cycle, turn, machine);
}

/** E1: "what it gets for its money", within A4's skew and T8's limits. */
function acquireByValue(
  cycle: Cycle,
  turn: Turn,
  constraint: Spread | null,
  competitors: readonly LiveNeed[],
): void {
  const { need } = turn;
  const planned = planByValue(cycle, need, acquireWalk(cycle, need), turn.remaining, {
    competitors,
    isAllowed: (machine, so) =>
      (constraint === null || isSpreadAllowed({ ...turn, acquired: [...so] }, constraint, machine)) &&
      barredBy(cycle, need.cluster, machine, so) === '',
    mayLose: (machine, so) =>
      (constraint === null || mayLose(turn, constraint, machine, so)) &&
      !isNeededForShare(cycle, need.cluster, machine, so),
  });
  for (const machine of planned) take(cycle, turn, machine);
}

/** E3: "never below A4's skew": no domain may be ahead of a minimum that is lower than before. */
function mayLose(
  turn: Turn,
  { key, maxSkew }: Spread,
  machine: WorldMachine,
  planned: readonly WorldMachine[],
): boolean {
  const countsIn = (machines: readonly WorldMachine[]) => (value: string) =>
    [...turn.credited, ...machines].filter((one) => attributeOf(one, key) === value).length;
  const minimum = (machines: readonly WorldMachine[]) =>
    Math.min(...[...turn.spreadDomains].map(countsIn(machines)));
  const without = planned.filter((one) => one !== machine);
  if (minimum(without) >= minimum(planned)) return true;
  const counts = [...valuesOf([...turn.credited, ...without], key)].map(countsIn(without));
  return Math.max(0, ...counts) <= minimum(without) + Math.max(1, maxSkew);
}

/**
 * T8: the limit that keeps a machine from a need: of the first machine that the need could use and that a limit bars, whatever
 * the spread; else the one that leaves no room.
 */
function noteLimit(cycle: Cycle, turn: Turn): void {
  const { need } = turn;
  if (isNothing(turn.remaining) || turn.limitedBy !== '') return;
  if (need.sameKeys.length === 0) {
    const limits = acquireWalk(cycle, need)
      .filter((machine) => canTake(cycle, machine, need, turn.remaining))
      .map((machine) => barredBy(cycle, need.cluster, machine));
    turn.limitedBy = limits.find((limit) => limit !== '') ?? '';
  } else if (turn.domain === null) return;
  if (turn.limitedBy === '') turn.limitedBy = exhausted(cycle, need.cluster, turn.remaining);
}

/** "Idle gives a Bootstrap, Speculative a Provision"; an orphan is "counted as claimed, without an action". */
function take(cycle: Cycle, turn: Turn, machine: WorldMachine): void {
  const { need } = turn;
  cycle.claims.set(machine.id, need);
  turn.acquired.push(machine);
  countTaken(cycle, need.cluster, machine);
  turn.remaining = subtract(turn.remaining, countedOf(machine, need));
  act(cycle, turn, machine);
}

function act(cycle: Cycle, turn: Turn, machine: WorldMachine): void {
  const { need } = turn;
  const action = {
    machine: machine.id,
    cluster: need.cluster.id,
    forCluster: '',
    fingerprint: need.fingerprint,
    group: need.group,
    graceSeconds: 0,
    isClaimedVictim: false,
    isGangVictim: false,
  };
  if (stateOf(machine) === MachineState.Idle) {
    turn.bootstrapCount++;
    cycle.actions.push({ kind: 'Bootstrap', ...action, reason: 'phase1.idle' });
  } else if (stateOf(machine) === MachineState.Speculative) {
    turn.provisionCount++;
    cycle.actions.push({ kind: 'Provision', ...action, reason: 'phase1.speculative' });
  }
}

/**
 * A4: "first constraint with DO_NOT_SCHEDULE"; A5: "Same wins over spread".
 * READING: the first in N2's order, by key.
 */
export function spreadConstraintOf(need: LiveNeed): Spread | null {
  if (need.sameKeys.length > 0) return null;
  const constraints = sortedSpread(need.spread);
  return (
    constraints.find(({ whenUnsatisfiable }) => whenUnsatisfiable === WhenUnsatisfiable.DoNotSchedule) ?? null
  );
}

/**
 * "the minimum is over every domain in which a matching machine that covers min_unit is credited, Idle or Speculative at
 * the need's turn, exhausted ones included"; A3: "A4 […] treat[s orphans] as Idle".
 * READING: credited to this need; Idle or Speculative and not yet claimed by an earlier need; back-off does not matter.
 */
function domainsAtTurn(cycle: Cycle, turn: Turn, { key }: Spread): Set<string> {
  const free = cycle.world.machines.filter((machine) => {
    const state = stateOf(machine);
    const isFree =
      !isCordoned(machine) &&
      (state === MachineState.Idle || state === MachineState.Speculative || isOrphan(machine, cycle.needs));
    return isFree && !cycle.claims.has(machine.id) && fits(machine, turn.need);
  });
  return valuesOf([...turn.credited, ...free], key);
}

function valuesOf(machines: readonly WorldMachine[], key: string): Set<string> {
  const values = machines.map((machine) => attributeOf(machine, key)).filter((value) => value !== null);
  return new Set(values);
}

/**
 * Whether A4 lets the need take a machine there: "domains whose count is ≤ minimum count + max_skew − 1 (skew at least 1
 * […]). Count = machines of this need in the domain, credited ones included […]. Machines without the key do not qualify."
 * P1: "P6's and this cycle's victims counted in".
 * READING: their domains count for the minimum too; without any domain the minimum is 0.
 */
export function isSpreadAllowed(turn: Turn, { key, maxSkew }: Spread, machine: WorldMachine): boolean {
  const domain = attributeOf(machine, key);
  if (domain === null) return false;
  const freed = [...turn.draining, ...turn.victims];
  const ofNeed = [...turn.credited, ...turn.acquired, ...freed];
  const countIn = (value: string) => ofNeed.filter((one) => attributeOf(one, key) === value).length;
  const counts = [...turn.spreadDomains, ...valuesOf(freed, key)].map(countIn);
  const minimum = counts.length === 0 ? 0 : Math.min(...counts);
  return countIn(domain) <= minimum + Math.max(1, maxSkew) - 1;
}

/**
 * A4: "machines one by one, each the cheapest Idle head, else the cheapest Speculative head, among [allowed] domains […]
 * (tie: smaller domain value)", orphans "before the Idle head".
 * READING: orphans go by id alone, whatever their price and domain.
 */
function acquireSpread(cycle: Cycle, turn: Turn, constraint: Spread): void {
  const { need } = turn;
  while (!isNothing(turn.remaining)) {
    const heads = acquireWalk(cycle, need).filter(
      (machine) =>
        canTake(cycle, machine, need, turn.remaining) &&
        isSpreadAllowed(turn, constraint, machine) &&
        barredBy(cycle, need.cluster, machine) === '',
    );
    const next = heads.sort((left, right) => compareHeads(left, right, need, constraint))[0];
    if (next === undefined) return;
    take(cycle, turn, next);
  }
}

function compareHeads(left: WorldMachine, right: WorldMachine, need: LiveNeed, { key }: Spread): number {
  const kinds = compareNumbers(kindRank(left), kindRank(right));
  if (kinds !== 0 || kindRank(left) === 0) return firstDifference(kinds, byId(left, right));
  return firstDifference(
    compareNumbers(costOf(left, need), costOf(right, need)),
    compareBytes(attributeOf(left, key)!, attributeOf(right, key)!),
    byId(left, right),
  );
}

function kindRank(machine: WorldMachine): number {
  const state = stateOf(machine);
  if (state === MachineState.Creating) return 0;
  return state === MachineState.Idle ? 1 : 2;
}

/** A3: Idle by price, Speculative by effective cost. */
function costOf(machine: WorldMachine, need: LiveNeed): number {
  if (stateOf(machine) === MachineState.Idle) return machine.price;
  return effectiveCostUsd(machine.price, machine.probability, dollars(need.interruptionPenalty));
}
