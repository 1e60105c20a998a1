/** Leaving machines (H5): which need each of them stays for. */
import { MachineState } from '../../src/machine/state.ts';
import { hasSomeOf, isNothing, subtract } from './amounts.ts';
import { isInDomain } from './credit.ts';
import {
  type Cycle,
  compareKeep,
  countedOf,
  fits,
  isAssignedTo,
  isLeaving,
  type LiveNeed,
  stateOf,
  type Turn,
} from './view.ts';
import type { Amounts, WorldMachine } from './world.ts';

/**
 * "Until Configured machines cover a need without them, the need holds them: first its own, then others of its cluster, each in
 * keep order, by the taking rule." "One that goes now is held by none."
 */
export function holdLeaving(cycle: Cycle): void {
  const staying = cycle.world.machines
    .filter((machine) => isLeaving(machine) && machine.leaving !== 'now')
    .sort(compareKeep);
  if (staying.length === 0) return;
  for (const need of cycle.needs) {
    const turn = cycle.turns.get(need.key)!;
    const own = staying.filter((machine) => isAssignedTo(machine.assignment, need));
    const gap = gapOf(turn);
    if (isNothing(gap)) continue;
    keepOutside(cycle, turn, own);
    hold(cycle, turn, own, gap);
  }
  for (const need of cycle.needs) {
    const turn = cycle.turns.get(need.key)!;
    const others = staying.filter(
      (machine) => machine.assignment?.cluster === need.cluster.id && mayServe(cycle, need, machine),
    );
    hold(cycle, turn, others, gapOf(turn));
  }
}

/** What the Configured machines that are credited to the need, and those that it holds, leave uncovered. */
function gapOf({ need, credited, held }: Turn): Amounts {
  const configured = credited.filter((machine) => stateOf(machine) === MachineState.Configured);
  return [...configured, ...held].reduce(
    (gap, machine) => subtract(gap, countedOf(machine, need)),
    need.aggregate,
  );
}

function hold(cycle: Cycle, turn: Turn, machines: readonly WorldMachine[], gapBefore: Amounts): void {
  const { need } = turn;
  const isGang = need.sameKeys.length > 0;
  let gap = gapBefore;
  for (const machine of machines) {
    if (cycle.claims.has(machine.id) || !fits(machine, need) || !hasSomeOf(machine.capacity, gap)) continue;
    if (isGang && !isInDomain(machine, turn)) continue;
    cycle.claims.set(machine.id, need);
    turn.held.push(machine);
    gap = subtract(gap, countedOf(machine, need));
  }
}

/** A6: a gang that moves keeps its leaving machines elsewhere too, until those in its domain cover it. */
function keepOutside(cycle: Cycle, turn: Turn, own: readonly WorldMachine[]): void {
  if (turn.need.sameKeys.length === 0 || turn.domain === null || !turn.isSatisfiable) return;
  for (const machine of own) {
    if (isInDomain(machine, turn)) continue;
    cycle.claims.set(machine.id, turn.need);
    turn.heldOutside.push(machine);
  }
}

/** A5, A1: a gang is credited no machine of another live gang, a fold none of another live need. */
function mayServe(cycle: Cycle, need: LiveNeed, machine: WorldMachine): boolean {
  if (isAssignedTo(machine.assignment, need)) return true;
  const owners = cycle.needs.filter((other) => isAssignedTo(machine.assignment, other));
  if (need.isFold) return owners.length === 0;
  return need.sameKeys.length === 0 || !owners.some((owner) => owner.sameKeys.length > 0);
}

/** "Replacements never preempt": what the machines that a need holds give is not missing. */
export function missingBesideHeld({ need, remaining, held, heldOutside }: Turn): Amounts {
  return [...held, ...heldOutside].reduce(
    (missing, machine) => subtract(missing, countedOf(machine, need)),
    remaining,
  );
}
