/** Phase 2 (P1–P4, P6): which machines drain for the deficits that phase 1 left. */
import { MachineState } from '../../src/machine/state.ts';
import { isSpreadAllowed, spreadConstraintOf } from './acquire.ts';
import { hasSomeOf, isNothing, subtract } from './amounts.ts';
import { compareNumbers, firstDifference } from './bytes.ts';
import { isInDomain } from './credit.ts';
import { missingBesideHeld } from './leaving.ts';
import { barredBy, beginPhase2, countTaken, exhausted, isOfCluster } from './limits.ts';
import { attributeOf } from './profile.ts';
import {
  byId,
  type Cycle,
  compareA3,
  countedOf,
  dollars,
  fits,
  inState,
  isCordoned,
  isDrainingFor,
  isKept,
  isOrphan,
  type LiveNeed,
  type Turn,
} from './view.ts';
import type { OracleAction, World, WorldMachine } from './world.ts';

/**
 * P1: "Only for phase 1's deficits, in A3's order". P6: "first, for every deficit, the need's own draining machines […]; then,
 * in P1's order, those that no owner counts".
 */
export function preempt(cycle: Cycle): void {
  const victims = new Set<string>();
  beginPhase2(cycle);
  const turns = cycle.needs.toSorted(compareA3).map((need) => cycle.turns.get(need.key)!);
  for (const turn of turns) turn.missing = missingBesideHeld(turn);
  // P1: "Never for parked needs (A7) or those of A9"; P6: they "count nothing".
  const served = turns.filter((turn) => !isNothing(turn.missing) && !turn.isParked && !turn.isBarred);
  // X11: a stuck machine is "no longer counted in […] P6".
  const draining = inState(cycle.world, MachineState.Draining)
    .filter((machine) => !machine.stuck && !isCordoned(machine))
    .filter((machine) => machine.drainFor !== null || machine.foundDraining)
    .sort(byId);
  for (const turn of served) countOwn(cycle, turn, draining);
  const counted = new Set(served.flatMap((turn) => turn.draining));
  const pool = draining.filter((machine) => !counted.has(machine));
  for (const turn of served) {
    countPool(cycle, turn, pool);
    chooseVictims(cycle, turn, victims);
  }
}

/**
 * P6: "first, for every deficit, the need's own draining machines, by id, as far as A2's taking rule lets it use them (Same: in
 * its chosen domain)".
 * READING: under A4 they count whatever the skew is now, because it was met when they were chosen; but not without the key.
 */
function countOwn(cycle: Cycle, turn: Turn, draining: readonly WorldMachine[]): void {
  const constraint = spreadConstraintOf(turn.need);
  for (const machine of draining) {
    if (!isDrainingFor(machine, turn.need) || !isUseful(turn, machine)) continue;
    if (barredBy(cycle, turn.need.cluster, machine) !== '') continue;
    if (constraint === null || attributeOf(machine, constraint.key) !== null) count(cycle, turn, machine);
  }
}

/**
 * P6: "then, in P1's order, those that no owner counts […], by id, for the first deficit that could take them as victims".
 * READING: under A4 each step starts again with the smallest id, as with victims.
 */
function countPool(cycle: Cycle, turn: Turn, pool: WorldMachine[]): void {
  for (;;) {
    const place = pool.findIndex(
      (machine) => isWanted(turn, machine) && barredBy(cycle, turn.need.cluster, machine) === '',
    );
    if (place < 0) return;
    count(cycle, turn, ...pool.splice(place, 1));
  }
}

function count(cycle: Cycle, turn: Turn, ...machines: WorldMachine[]): void {
  for (const machine of machines) {
    turn.draining.push(machine);
    countTaken(cycle, turn.need.cluster, machine);
    turn.missing = subtract(turn.missing, countedOf(machine, turn.need));
  }
}

/**
 * P2: "Best score first, then id asc, until the freed capacity covers the deficit." P1: "Same needs only within their
 * chosen domain, and only if the whole need is then covered".
 * READING: under A4 each step starts again with the best machine that A4 allows, the first tier before the second.
 */
function chooseVictims(cycle: Cycle, turn: Turn, victims: Set<string>): void {
  const missingBefore = turn.missing;
  const { cluster } = turn.need;
  const takenBefore = cycle.limitTaken.get(cluster.id) ?? [];
  // T8: a gang that a limit barred in phase 1 "may preempt machines of its own cluster only".
  const isLimitedGang = turn.need.sameKeys.length > 0 && isOfCluster(turn.limitedBy);
  for (;;) {
    const next = candidates(cycle, turn).find(
      (machine) =>
        !victims.has(machine.id) &&
        isWanted(turn, machine) &&
        barredBy(cycle, cluster, machine) === '' &&
        (!isLimitedGang || machine.assignment?.cluster === cluster.id),
    );
    if (next === undefined || isNothing(turn.missing)) break;
    victims.add(next.id);
    turn.victims.push(next);
    countTaken(cycle, cluster, next);
    turn.missing = subtract(turn.missing, countedOf(next, turn.need));
  }
  noteLimit(cycle, turn, victims);
  if (turn.need.sameKeys.length > 0 && !isNothing(turn.missing)) {
    for (const victim of turn.victims) victims.delete(victim.id);
    turn.victims = [];
    turn.missing = missingBefore;
    cycle.limitTaken.set(cluster.id, takenBefore);
  }
  for (const victim of turn.victims) emit(cycle, turn.need, victim);
}

/** T8, as in phase 1: the first victim that the need could use and that a limit bars; else the limit that leaves no room. */
function noteLimit(cycle: Cycle, turn: Turn, victims: ReadonlySet<string>): void {
  const { need } = turn;
  if (isNothing(turn.missing) || turn.limitedBy !== '') return;
  if (need.sameKeys.length > 0 && turn.domain === null) return;
  const limits = candidates(cycle, turn)
    .filter((machine) => !victims.has(machine.id) && isUseful(turn, machine))
    .map((machine) => barredBy(cycle, need.cluster, machine));
  turn.limitedBy = limits.find((limit) => limit !== '') ?? exhausted(cycle, need.cluster, turn.missing);
}

/** P1: "match, cover min_unit and have some of a dimension still missing"; "Same needs only within their chosen domain". */
function isUseful(turn: Turn, machine: WorldMachine): boolean {
  const { need } = turn;
  if (!fits(machine, need) || !hasSomeOf(machine.capacity, turn.missing)) return false;
  return need.sameKeys.length === 0 || isInDomain(machine, turn);
}

/** P1: "needs under A4 only in domains where A4 would let them take a machine, P6's and this cycle's victims counted in". */
function isWanted(turn: Turn, machine: WorldMachine): boolean {
  const constraint = spreadConstraintOf(turn.need);
  if (!isUseful(turn, machine)) return false;
  return constraint === null || isSpreadAllowed(turn, constraint, machine);
}

/**
 * P1, first: machines whose action waits for its turn (X3), unclaimed ones, then those of strictly lower priority. Their
 * actions are withdrawn, and nothing is drained. Then "Configured machines […]. First those that no need claims (of clusters past N6), then claimed ones of strictly lower
 * priority […]; each tier by P2 […]; machines in back-off are left out".
 */
function candidates(cycle: Cycle, { need }: Turn): WorldMachine[] {
  // H3: a pause of preemption protects Configured machines; nothing is drained for one whose action waits.
  const acted = (state: MachineState) =>
    inState(cycle.world, state).filter((machine) =>
      state === MachineState.Configured
        ? !isKept(machine, 'preempt') && machine.leaving !== 'now'
        : !machine.backoff && !isCordoned(machine),
    );
  const configured = acted(MachineState.Configured);
  const waiting = acted(MachineState.Creating).filter(
    (machine) => machine.waiting && !isOrphan(machine, cycle.needs),
  );
  const ranked = (tier: WorldMachine[]) =>
    tier.sort((left, right) =>
      firstDifference(
        compareNumbers(scoreOf(cycle, need, right), scoreOf(cycle, need, left)),
        byId(left, right),
      ),
    );
  const unclaimed = configured.filter(
    (machine) => !cycle.claims.has(machine.id) && isPastGate(cycle.world, machine),
  );
  const lower = configured.filter(
    (machine) => cycle.claims.has(machine.id) && priorityOf(cycle, machine) < need.priority,
  );
  const unclaimedWaiting = waiting.filter((machine) => !cycle.claims.has(machine.id));
  const lowerWaiting = waiting.filter(
    (machine) => cycle.claims.has(machine.id) && priorityOf(cycle, machine) < need.priority,
  );
  return [...ranked(unclaimedWaiting), ...ranked(lowerWaiting), ...ranked(unclaimed), ...ranked(lower)];
}

/** N6: "until a cluster has reported once since start, nothing of it is reclaimed". */
export function isPastGate(world: World, machine: WorldMachine): boolean {
  return world.clusters.some((cluster) => cluster.id === machine.assignment?.cluster && cluster.reported);
}

/** P1: "a machine's priority is that of the need that claims it in this cycle, else its assignment; […] a missing assignment value is 0". */
function priorityOf(cycle: Cycle, machine: WorldMachine): number {
  return cycle.claims.get(machine.id)?.priority ?? machine.assignment?.priority ?? 0;
}

/** X3: the action that waits for its turn ends; for phase 2 it names the need that wants the machine. */
export function withdrawal(machine: WorldMachine, need: LiveNeed | null): OracleAction {
  return {
    kind: 'Withdraw',
    machine: machine.id,
    cluster: machine.assignment?.cluster ?? '',
    forCluster: need?.cluster.id ?? '',
    fingerprint: need?.fingerprint ?? '',
    group: need?.group ?? '',
    reason: 'waiting.withdrawn',
    graceSeconds: 0,
    isClaimedVictim: false,
    isGangVictim: false,
  };
}

const DRAIN_SECONDS = 30;

/**
 * P2: "score = gap × 1.0 + (1 / drain seconds) × 0.1 + (1 / interruption penalty) × 0.1 + (1 / reclamation penalty) × 0.1;
 * drain seconds 30, floored at 1; penalties floored at $0.01", added from left to right.
 */
function scoreOf(cycle: Cycle, need: LiveNeed, machine: WorldMachine): number {
  const gap = need.priority - priorityOf(cycle, machine);
  const interruptionUsd = Math.max(0.01, dollars(machine.assignment?.interruptionPenalty));
  const reclamationUsd = Math.max(0.01, dollars(machine.assignment?.reclamationPenalty));
  return (
    gap * 1.0 +
    (1 / Math.max(1, DRAIN_SECONDS)) * 0.1 +
    (1 / interruptionUsd) * 0.1 +
    (1 / reclamationUsd) * 0.1
  );
}

/** P3: "Grace by gap (preemptor − victim): > 900,000: 10 s; > 500,000: 30 s; > 100,000: 2 min; else 10 min". */
function graceSecondsOf(gap: number): number {
  if (gap > 900_000) return 10;
  if (gap > 500_000) return 30;
  return gap > 100_000 ? 120 : 600;
}

function emit(cycle: Cycle, need: LiveNeed, victim: WorldMachine): void {
  if (victim.waiting) {
    cycle.actions.push(withdrawal(victim, need));
    return;
  }
  cycle.actions.push({
    kind: 'Preempt',
    machine: victim.id,
    cluster: victim.assignment?.cluster ?? '',
    forCluster: need.cluster.id,
    fingerprint: need.fingerprint,
    group: need.group,
    reason: 'phase2.inversion',
    graceSeconds: graceSecondsOf(need.priority - priorityOf(cycle, victim)),
    isClaimedVictim: cycle.claims.has(victim.id),
    isGangVictim: need.sameKeys.length > 0,
  });
}
