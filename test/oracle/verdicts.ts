/** Parking (A7) and verdicts (A8): what the cycle says about each need, and the counts that the next cycle continues. */
import { MachineState } from '../../src/machine/state.ts';
import { isNothing, sum, wholeGangs, withoutZeros } from './amounts.ts';
import { compareBytes, compareNumbers, firstDifference } from './bytes.ts';
import {
  type Cycle,
  fits,
  isAssignedTo,
  isDrainingFor,
  type OriginalNeed,
  stateOf,
  type Turn,
} from './view.ts';
import { type LimitName, type OracleResult, type OracleVerdict, UnmetReason } from './world.ts';

/**
 * A7: "count consecutive ordinary cycles in which a Same need is unsatisfied, no domain's total covers it, it acquired
 * nothing, and nothing is enqueued, Creating or draining (P6) for it; any cycle in which that is not so resets the count. […]
 * Absent or satisfied: forgotten." C1: a woken cycle "advances no count", and C2: so does one that may not act; both are
 * cycles that are not ordinary here.
 * READING: a woken cycle resets but does not advance. READING: a claimed orphan is acquired. READING: a Creating machine
 * counts even if stuck (X11 names A2 and P6 only), a stuck drain does not; only the gang's own drains count.
 */
export function parkingAfter(cycle: Cycle): Map<string, number> {
  const after = new Map<string, number>();
  for (const turn of cycle.turns.values()) {
    const { need } = turn;
    if (need.sameKeys.length === 0 || isNothing(turn.remaining) || turn.isSatisfiable) continue;
    // T8: a gang that a limit bars "is not parked".
    if (turn.acquired.length > 0 || limitOf(turn) !== '') continue;
    const isComing = cycle.world.machines.some(
      (machine) =>
        (stateOf(machine) === MachineState.Creating && isAssignedTo(machine.assignment, need)) ||
        (isDrainingFor(machine, need) && !machine.stuck),
    );
    if (isComing) continue;
    const before = cycle.world.parking.get(need.key) ?? 0;
    // H4: "no gang is parked because of a pause"; the count of a parked gang goes on.
    const advances = before >= 8 ? cycle.world.ordinary : isCounting(cycle, need);
    const count = before + (advances ? 1 : 0);
    if (count > 0) after.set(need.key, count);
  }
  return after;
}

/** C1: a woken cycle advances no count. H4: nor does one while a pause hides machines, nor one for a paused cluster. */
function isCounting({ world }: Cycle, need: OriginalNeed): boolean {
  return world.ordinary && world.countsHeld !== true && need.cluster.paused !== true;
}

/** A8, in order N4 of the original needs. */
export function verdictsOf(cycle: Cycle, originals: readonly OriginalNeed[]): OracleVerdict[] {
  return originals.map((original) => {
    const turn = [...cycle.turns.values()].find(({ need }) => need.members.includes(original))!;
    return turn.need.isFold ? memberVerdict(cycle, turn, original) : ownVerdict(cycle, turn);
  });
}

function ownVerdict(cycle: Cycle, turn: Turn): OracleVerdict {
  const { need } = turn;
  const satisfied = isNothing(turn.remaining);
  return {
    cluster: need.cluster.id,
    fingerprint: need.fingerprint,
    group: need.group,
    satisfied,
    deficit: withoutZeros(turn.remaining),
    claimed: turn.credited.length + turn.acquired.length,
    bootstraps: turn.bootstrapCount,
    provisions: turn.provisionCount,
    // READING: an unsatisfied need shows its chosen domain too.
    domain: turn.domain?.join(',') ?? '',
    satisfiable: turn.isSatisfiable,
    parked: turn.isParked,
    cyclesUnmet: cyclesUnmetAfter(cycle, need, satisfied),
    reason: satisfied ? UnmetReason.None : reasonOf(cycle, turn),
    limitedBy: satisfied ? '' : limitOf(turn),
  };
}

/**
 * A1: "Verdicts are per original need: members in order N4, satisfied while whole gangs fit into what the fold got; an
 * unsatisfied member's deficit is its whole aggregate, its reason the fold's; counts belong to the first member."
 * READING: whole gangs are counted machine by machine, as A1 does for folding.
 */
function memberVerdict(cycle: Cycle, turn: Turn, member: OriginalNeed): OracleVerdict {
  const machines = [...turn.credited, ...turn.acquired];
  const place = turn.need.members.indexOf(member);
  let gangCount = 0;
  for (const machine of machines) gangCount += wholeGangs(machine.capacity, member.aggregate);
  const satisfied = isNothing(member.aggregate) || place < gangCount;
  const isFirst = place === 0;
  return {
    cluster: member.cluster.id,
    fingerprint: member.fingerprint,
    group: member.group,
    satisfied,
    deficit: satisfied ? {} : withoutZeros(member.aggregate),
    claimed: isFirst ? machines.length : 0,
    bootstraps: isFirst ? turn.bootstrapCount : 0,
    provisions: isFirst ? turn.provisionCount : 0,
    domain: '',
    satisfiable: true,
    parked: false,
    cyclesUnmet: cyclesUnmetAfter(cycle, member, satisfied),
    reason: satisfied ? UnmetReason.None : reasonOf(cycle, turn),
    limitedBy: satisfied ? '' : limitOf(turn),
  };
}

/** T8: nothing bars a need whose machines drain already. */
function limitOf(turn: Turn): LimitName {
  return isNothing(turn.missing) ? '' : turn.limitedBy;
}

/** READING: cycles unmet, this one included if it is ordinary; 0 when satisfied, in a woken cycle too. */
function cyclesUnmetAfter(cycle: Cycle, need: OriginalNeed, satisfied: boolean): number {
  if (satisfied) return 0;
  return (cycle.world.unmet.get(need.key) ?? 0) + (isCounting(cycle, need) ? 1 : 0);
}

/**
 * A8: "checked in this order: TOPOLOGY_UNSATISFIABLE (a Same need that no domain can satisfy, or parked, or without a domain);
 * NO_MATCHING_SUPPLY (no machine, in any state, that matches and covers min_unit); PREEMPTION_EXHAUSTED (phase 2 preempted
 * for it, but not enough); PRIORITY_STARVED".
 * READING: any state includes Failed and Deleting. READING: preempted means victims of this cycle, not P6's.
 */
function reasonOf(cycle: Cycle, turn: Turn): UnmetReason {
  const { need } = turn;
  const isSame = need.sameKeys.length > 0;
  if (isSame && (!turn.isSatisfiable || turn.isParked || turn.domain === null)) {
    return UnmetReason.TopologyUnsatisfiable;
  }
  if (!cycle.world.machines.some((machine) => fits(machine, need))) return UnmetReason.NoMatchingSupply;
  // T8: "The reason on the wire is PRIORITY_STARVED".
  if (limitOf(turn) !== '') return UnmetReason.PriorityStarved;
  if (turn.victims.length > 0 && !isNothing(turn.missing)) return UnmetReason.PreemptionExhausted;
  return UnmetReason.PriorityStarved;
}

/** P4: "What is still missing is a shortfall." P5: "summed per fingerprint over clusters". */
export function shortfallsOf(cycle: Cycle): OracleResult['shortfalls'] {
  const byFingerprint = new Map<string, Turn[]>();
  for (const turn of cycle.turns.values()) {
    // T8: "What a limit bars is no shortfall".
    if (isNothing(turn.missing) || limitOf(turn) !== '') continue;
    // H4: "What a paused cluster lacks is no shortfall".
    if (turn.need.cluster.paused === true) continue;
    const { fingerprint } = turn.need;
    byFingerprint.set(fingerprint, [...(byFingerprint.get(fingerprint) ?? []), turn]);
  }
  return [...byFingerprint]
    .map(([fingerprint, turns]) => ({
      fingerprint,
      deficit: withoutZeros(sum(turns.map((turn) => turn.missing))),
      priority: turns[0]!.need.priority,
    }))
    .sort((left, right) =>
      firstDifference(
        compareNumbers(right.priority, left.priority),
        compareBytes(left.fingerprint, right.fingerprint),
      ),
    );
}
