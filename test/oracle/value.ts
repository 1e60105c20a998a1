/** Acquisition by value (E1–E4): which machines a need takes, if needs acquire by what they get for their money. */
import { marginalUsd, riskUsd } from '../../src/machine/cost.ts';
import { MachineState } from '../../src/machine/state.ts';
import { coverage, covers, isNothing, subtract } from './amounts.ts';
import { compareNumbers, firstDifference } from './bytes.ts';
import { meets } from './profile.ts';
import { byId, type Cycle, canTake, countedOf, dollars, isOrphan, type LiveNeed, stateOf } from './view.ts';
import type { Amounts, WorldMachine } from './world.ts';

/** What decides besides the machines themselves. */
export interface ValueRules {
  /** A4, T8, A5: whether the need may take the machine, with those that it has planned. */
  isAllowed: (machine: WorldMachine, planned: readonly WorldMachine[]) => boolean;
  /** A4: whether the skew permits that of these machines one is given back. */
  mayLose: (machine: WorldMachine, planned: readonly WorldMachine[]) => boolean;
  /** E2: the needs with a deficit; none for a gang. */
  competitors: readonly LiveNeed[];
}

/** The machines that the need takes of `walk` (A3's machines), in order. */
export function planByValue(
  cycle: Cycle,
  need: LiveNeed,
  walk: readonly WorldMachine[],
  wanted: Amounts,
  rules: ValueRules,
): WorldMachine[] {
  const { isAllowed, mayLose, competitors } = rules;
  const factor = 1 - cycle.world.value!.offerMargin;
  const planned: WorldMachine[] = [];
  let remaining = wanted;
  let closing: WorldMachine[] | null = null;
  while (!isNothing(remaining)) {
    const open = walk.filter(
      (machine) =>
        !planned.includes(machine) && canTake(cycle, machine, need, remaining) && isAllowed(machine, planned),
    );
    const best = orphanOf(cycle, open) ?? bestOf(open, need, remaining, competitors, factor);
    if (best === undefined) break;
    if (orphanOf(cycle, open) === undefined) {
      const ends = open.filter((machine) => covers(countedOf(machine, need), remaining));
      const end = ends.sort((left, right) => compareCost(left, right, need))[0];
      if (end !== undefined && (closing === null || endsCheaper([...planned, end], closing, need)))
        closing = [...planned, end];
    }
    planned.push(best);
    remaining = subtract(remaining, countedOf(best, need));
  }
  const trim = (machines: readonly WorldMachine[]) => trimmed(machines, need, wanted, mayLose);
  const whole = trim(planned);
  if (!isNothing(remaining) || closing === null || planned.length < 2) return whole;
  const closed = trim(closing);
  const idleCount = (machines: readonly WorldMachine[]) =>
    machines.filter((machine) => stateOf(machine) === MachineState.Idle).length;
  const isByOffer =
    stateOf(closing.at(-1)!) === MachineState.Speculative && idleCount(closed) < idleCount(whole);
  return costOfAll(closed, need) < (isByOffer ? factor : 1) * costOfAll(whole, need) ? closed : whole;
}

function orphanOf(cycle: Cycle, open: readonly WorldMachine[]): WorldMachine | undefined {
  return open.filter((machine) => isOrphan(machine, cycle.needs)).sort(byId)[0];
}

/** E1: the marginal price, and the risk. An orphan costs nothing: it is being created. */
function costOf(machine: WorldMachine, need: LiveNeed): number {
  if (stateOf(machine) === MachineState.Creating) return 0;
  const isIdle = stateOf(machine) === MachineState.Idle;
  return (
    marginalUsd(isIdle, machine.capacityType, machine.price) +
    riskUsd(machine.probability, dollars(need.interruptionPenalty))
  );
}

export function costOfAll(machines: readonly WorldMachine[], need: LiveNeed): number {
  return machines.reduce((sum, machine) => sum + costOf(machine, need), 0);
}

function priceOfAll(machines: readonly WorldMachine[]): number {
  const priced = machines.filter((machine) => stateOf(machine) !== MachineState.Creating);
  return priced.reduce((sum, machine) => sum + machine.price, 0);
}

function compareCost(left: WorldMachine, right: WorldMachine, need: LiveNeed): number {
  return firstDifference(
    compareNumbers(costOf(left, need), costOf(right, need)),
    compareNumbers(left.price, right.price),
    byId(left, right),
  );
}

function endsCheaper(one: readonly WorldMachine[], other: readonly WorldMachine[], need: LiveNeed): boolean {
  const order = firstDifference(
    compareNumbers(costOfAll(one, need), costOfAll(other, need)),
    compareNumbers(priceOfAll(one), priceOfAll(other)),
  );
  return order < 0;
}

/** E2: the best Idle machine, unless the best offer costs less than the factor of it. */
function bestOf(
  open: readonly WorldMachine[],
  need: LiveNeed,
  remaining: Amounts,
  competitors: readonly LiveNeed[],
  factor: number,
): WorldMachine | undefined {
  const share = (machine: WorldMachine) => coverage(countedOf(machine, need), remaining);
  const costPerShare = (machine: WorldMachine) => costOf(machine, need) / share(machine);
  const compare = (left: WorldMachine, right: WorldMachine) =>
    firstDifference(
      compareNumbers(costPerShare(left), costPerShare(right)),
      compareNumbers(left.price / share(left), right.price / share(right)),
      compareNumbers(competing(left, competitors), competing(right, competitors)),
      byId(left, right),
    );
  const idle = open.filter((machine) => stateOf(machine) === MachineState.Idle).sort(compare)[0];
  const offer = open.filter((machine) => stateOf(machine) === MachineState.Speculative).sort(compare)[0];
  if (idle === undefined || offer === undefined) return idle ?? offer;
  return costPerShare(offer) < factor * costPerShare(idle) ? offer : idle;
}

/** How many needs compete for the machine, as far as its size, zone and instance type tell. */
function competing(machine: WorldMachine, needs: readonly LiveNeed[]): number {
  const facts = new Map([
    ['topology.kubernetes.io/zone', machine.zone],
    ['node.kubernetes.io/instance-type', machine.instanceType],
  ]);
  const isMet = (requirement: LiveNeed['requirements'][number]) =>
    (facts.get(requirement.key) ?? '') === '' || meets(requirement, facts.get(requirement.key)!);
  return needs.filter(
    ({ minUnit, requirements }) => covers(machine.capacity, minUnit) && requirements.every(isMet),
  ).length;
}

/** E3: without what the need does not need, most expensive first, then id descending. */
function trimmed(
  machines: readonly WorldMachine[],
  need: LiveNeed,
  wanted: Amounts,
  mayLose: ValueRules['mayLose'],
): WorldMachine[] {
  const leftBy = (some: readonly WorldMachine[]) =>
    JSON.stringify(some.reduce((left, machine) => subtract(left, countedOf(machine, need)), wanted));
  let kept = [...machines];
  const acquired = machines.filter((machine) => stateOf(machine) !== MachineState.Creating);
  for (const machine of acquired.sort((left, right) => compareCost(right, left, need))) {
    const without = kept.filter((one) => one !== machine);
    if (leftBy(without) === leftBy(kept) && mayLose(machine, kept)) kept = without;
  }
  return kept;
}
