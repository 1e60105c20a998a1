/**
 * What the phases share: machines in the role that X1 gives them (an enqueued action counts as what it will be), needs
 * after normalisation (A1), and what each need got so far. One `Turn` per live need, one `Cycle` for all; both last for one
 * cycle.
 */
import { BUCKET_DOLLARS } from '../../src/machine/penalty.ts';
import { MachineState } from '../../src/machine/state.ts';
import { covers, hasSomeOf, times, wholeGangs } from './amounts.ts';
import { names } from './assigned-text.ts';
import { compareBytes, compareNumbers, firstDifference } from './bytes.ts';
import { matches, type Profile } from './profile.ts';
import type {
  Amounts,
  Assignment,
  LimitName,
  OracleAction,
  Paused,
  World,
  WorldCluster,
  WorldMachine,
} from './world.ts';

/** X12: in back-off; H3: or under a pause of this; H6: or cordoned. The shard does not do it with the machine. */
export function isKept(machine: WorldMachine, from: Paused): boolean {
  if (isCordoned(machine) && from !== 'reclaim') return true;
  return machine.backoff || (machine.pauses ?? []).includes(from);
}

/** H6; R3: a machine that a person gives back is as good as cordoned. */
export function isCordoned({ cordoned, releasing }: WorldMachine): boolean {
  return cordoned === true || releasing === true;
}

/** H5: it counts while the machine is Configured. */
export function isLeaving(machine: WorldMachine): boolean {
  return stateOf(machine) === MachineState.Configured && machine.leaving !== undefined;
}

/** A need as a cluster sent it. */
export interface OriginalNeed extends Profile {
  key: string;
  cluster: WorldCluster;
  fingerprint: string;
  /** T8: as the cluster sent it; `priority` is the one that counts. */
  statedPriority: number;
  group: string;
  aggregate: Amounts;
  minUnit: Amounts;
  arrivalMs: number;
  backoff: boolean;
  /** Empty: the need wants no co-location. */
  sameKeys: string[];
}

/** A need as the phases see it: an original one, or a fold of several (A1). */
export interface LiveNeed extends OriginalNeed {
  isFold: boolean;
  /** A fold whose machines may carry the empty group. OURS: not if a need has that name (docs/adr/0040). */
  ownsEmptyGroup: boolean;
  /** The original needs that it serves, in order N4; of an unfolded need: itself. */
  members: OriginalNeed[];
}

/** What one live need got in this cycle. */
export interface Turn {
  need: LiveNeed;
  /** A7: credit alone serves the gang in this cycle. */
  isParked: boolean;
  /** A9: no session, or the need is in back-off: "credit only". */
  isBarred: boolean;
  /** A5: the chosen domain; null without one, and for needs without Same. */
  domain: string[] | null;
  /** Whether the chosen domain's total covers the aggregate; true for needs without Same. */
  isSatisfiable: boolean;
  /** A5: reserved machines, which no other Same need acquires. */
  reserved: Set<string>;
  credited: WorldMachine[];
  /** H5: leaving machines that stay for it; and those of a gang outside its domain. */
  held: WorldMachine[];
  heldOutside: WorldMachine[];
  /** Orphan Creating, Idle and Speculative machines, in the order in which they were taken. */
  acquired: WorldMachine[];
  bootstrapCount: number;
  provisionCount: number;
  /** What phase 1 leaves unmet. */
  remaining: Amounts;
  /** A4: the domains that count for the minimum, as of the need's turn in A3. */
  spreadDomains: Set<string>;
  /** P6: draining machines that count for it. */
  draining: WorldMachine[];
  victims: WorldMachine[];
  /** What phase 2 leaves missing. */
  missing: Amounts;
  /** T8: the limit that kept a machine from it. */
  limitedBy: LimitName;
}

export interface Cycle {
  world: World;
  /** In order N4. */
  needs: LiveNeed[];
  turns: Map<string, Turn>;
  /** By machine id. */
  claims: Map<string, LiveNeed>;
  actions: OracleAction[];
  /** T8: by cluster id, what its needs took in this cycle. */
  limitTaken: Map<string, WorldMachine[]>;
  /** E8: by cluster, what it had after phase 1; absent in phase 1. */
  afterPhase1?: Map<string, WorldMachine[]>;
}

/**
 * X1: "From enqueue on it counts in every rule as what it will be: Bootstrap and Provision as Creating, assigned;
 * Reclaim and Preempt as Draining; Delete as Deleting."
 */
export function stateOf(machine: WorldMachine): MachineState {
  switch (machine.intent) {
    case 'bootstrap':
    case 'provision':
      return MachineState.Creating;
    case 'reclaim':
    case 'preempt':
      return MachineState.Draining;
    case 'delete':
      return MachineState.Deleting;
    case 'none':
      return machine.state;
  }
}

export function inState(world: World, state: MachineState): WorldMachine[] {
  return world.machines.filter((machine) => stateOf(machine) === state);
}

/** N4: "priority desc, arrival asc, cluster id asc, then fingerprint, then group". */
export function compareN4(left: OriginalNeed, right: OriginalNeed): number {
  return firstDifference(
    compareNumbers(right.priority, left.priority),
    compareNumbers(left.arrivalMs, right.arrivalMs),
    compareBytes(left.cluster.id, right.cluster.id),
    compareBytes(left.fingerprint, right.fingerprint),
    compareBytes(left.group, right.group),
  );
}

/**
 * A3: "by priority desc, interruption bucket desc, reclamation bucket desc, then as N4".
 * READING: the bucket's number decides, so that zero comes before unspecified.
 */
export function compareA3(left: LiveNeed, right: LiveNeed): number {
  return firstDifference(
    compareNumbers(right.priority, left.priority),
    compareNumbers(right.interruptionPenalty, left.interruptionPenalty),
    compareNumbers(right.reclamationPenalty, left.reclamationPenalty),
    compareN4(left, right),
  );
}

/**
 * A2: "keep order (price asc, assigned reclamation penalty desc, id asc)".
 * READING: the penalty is compared in dollars, so that unspecified and zero tie (M5, N5); a missing one is $0.
 */
export function compareKeep(left: WorldMachine, right: WorldMachine): number {
  return firstDifference(
    compareNumbers(left.price, right.price),
    compareNumbers(
      dollars(right.assignment?.reclamationPenalty),
      dollars(left.assignment?.reclamationPenalty),
    ),
    compareBytes(left.id, right.id),
  );
}

/** N5: a bucket counts as its upper bound; a missing one as 0. */
export function dollars(bucket: number | undefined): number {
  return BUCKET_DOLLARS[bucket ?? 0]!;
}

export function byId(left: WorldMachine, right: WorldMachine): number {
  return compareBytes(left.id, right.id);
}

/** Whether the assignment names this need. A fold: "machines with its fingerprint and the empty group are its own too". */
export function isAssignedTo(assignment: Assignment | null, need: LiveNeed): boolean {
  return (
    assignment !== null &&
    assignment.cluster === need.cluster.id &&
    names('fingerprint', assignment.fingerprint, need.fingerprint) &&
    (names('group', assignment.group, need.group) || (need.ownsEmptyGroup && assignment.group === ''))
  );
}

export function isDrainingFor(machine: WorldMachine, need: OriginalNeed): boolean {
  const target = machine.drainFor;
  return (
    stateOf(machine) === MachineState.Draining &&
    target !== null &&
    target.cluster === need.cluster.id &&
    names('fingerprint', target.fingerprint, need.fingerprint) &&
    names('group', target.group, need.group)
  );
}

/** Whether the machine could ever serve the need: "matches, covers min_unit". */
export function fits(machine: WorldMachine, need: OriginalNeed): boolean {
  return matches(need.requirements, machine) && covers(machine.capacity, need.minUnit);
}

/**
 * What a machine gives to the need: "its capacity". OURS: to a fold the whole gangs that the machine holds (docs/adr/0040),
 * so that a fold lacks nothing only if every member fits.
 */
export function countedOf(machine: WorldMachine, need: LiveNeed): Amounts {
  if (!need.isFold) return machine.capacity;
  const gang = need.members[0]!.aggregate;
  return times(gang, wholeGangs(machine.capacity, gang));
}

/** A2's taking rule: "unclaimed, matches, covers min_unit and has more than zero of a dimension that still remains". */
export function canTake(cycle: Cycle, machine: WorldMachine, need: LiveNeed, remaining: Amounts): boolean {
  return !cycle.claims.has(machine.id) && fits(machine, need) && hasSomeOf(machine.capacity, remaining);
}

/** A3: "Creating machines assigned to no live need (found after a restart, or their need is gone)". */
export function isOrphan(machine: WorldMachine, liveNeeds: readonly LiveNeed[]): boolean {
  return (
    stateOf(machine) === MachineState.Creating &&
    !liveNeeds.some((need) => isAssignedTo(machine.assignment, need))
  );
}
