/** Normalisation (A1): gangs that fit one machine need no co-location; equal ones become one plain need. */
import { MachineState } from '../../src/machine/state.ts';
import { covers, maximum, sum, wholeGangs } from './amounts.ts';
import { cappedPriority } from './limits.ts';
import { fingerprintOf, foldGroupOf, matches, sameKeysOf, withoutSame } from './profile.ts';
import {
  compareN4,
  isAssignedTo,
  isCordoned,
  isDrainingFor,
  isLeaving,
  isOrphan,
  type LiveNeed,
  type OriginalNeed,
  stateOf,
} from './view.ts';
import { needKey, type World, type WorldMachine } from './world.ts';

/** Every need of every cluster, in order N4. */
export function originalNeeds(world: World): OriginalNeed[] {
  return world.clusters
    .flatMap((cluster) =>
      cluster.needs.map((need) => {
        const fingerprint = fingerprintOf(need);
        const key = needKey(cluster.id, need.group, fingerprint);
        return {
          ...need,
          key,
          cluster,
          fingerprint,
          priority: cappedPriority(cluster, need.priority),
          statedPriority: need.priority,
          sameKeys: sameKeysOf(need.requirements),
        };
      }),
    )
    .sort(compareN4);
}

/** The needs that the phases serve, in order N4. */
export function normalise(world: World, originals: readonly OriginalNeed[]): LiveNeed[] {
  const possible = possibleNeeds(originals);
  const folds = new Map<string, OriginalNeed[]>();
  const live: LiveNeed[] = [];
  for (const need of originals) {
    const fold = need.sameKeys.length === 0 ? null : foldOf([need]);
    const joined = folds.get(fold?.key ?? '') ?? [];
    if (fold !== null && joined.length < gangsWithoutColocation(world, possible, need, fold)) {
      folds.set(fold.key, [...joined, need]);
    } else {
      live.push(alone(need));
    }
  }
  for (const members of folds.values()) live.push(foldOf(members));
  return live.sort(compareN4);
}

function alone(need: OriginalNeed): LiveNeed {
  return { ...need, isFold: false, ownsEmptyGroup: false, members: [need] };
}

/**
 * "Such needs of one cluster with equal remaining profile and equal aggregate fold into one plain need without the Same
 * requirement. […] The fold's group is `fold:` and the canonical aggregate of one gang […]; its arrival is the earliest of
 * its members'; aggregates add; min_unit = the maximum of one gang's aggregate and min_unit."
 * READING: with several Same requirements all of them are dropped. READING: members whose min_unit differs fold together
 * and the fold takes the greatest. READING: the fold is in X5's back-off if a member is.
 */
function foldOf(members: OriginalNeed[]): LiveNeed {
  const first = members[0]!;
  const requirements = withoutSame(first.requirements);
  const fingerprint = fingerprintOf({ ...first, priority: first.statedPriority, requirements });
  const group = foldGroupOf(first.aggregate);
  return {
    ...first,
    requirements,
    sameKeys: [],
    fingerprint,
    group,
    key: needKey(first.cluster.id, group, fingerprint),
    aggregate: sum(members.map((member) => member.aggregate)),
    minUnit: maximum([first.aggregate, ...members.map((member) => member.minUnit)]),
    arrivalMs: Math.min(...members.map((member) => member.arrivalMs)),
    backoff: members.some((member) => member.backoff),
    isFold: true,
    ownsEmptyGroup: !first.cluster.needs.some(
      (need) => need.group === '' && fingerprintOf(need) === fingerprint,
    ),
    members,
  };
}

/**
 * "A need with a Same requirement needs no co-location if its whole aggregate and its min_unit fit one machine that matches
 * it […], and it holds no machine assigned its own fingerprint and group (Creating, Configuring, Configured, enqueued, or
 * draining for it)." The first half is `gangsThatFit` being at least 1. 0: it needs co-location.
 * READING: a stuck machine is held too, since X11 excludes it from A2 and P6 only. OURS: nothing folds if a need has the
 * fold's name (docs/adr/0040).
 */
function gangsWithoutColocation(
  world: World,
  possible: readonly LiveNeed[],
  need: OriginalNeed,
  fold: LiveNeed,
): number {
  if (isNameTaken(fold)) return 0;
  const holds = world.machines.some(
    (machine) =>
      isDrainingFor(machine, need) || (isHeld(machine) && isAssignedTo(machine.assignment, alone(need))),
  );
  return holds ? 0 : gangsThatFit(world, possible, need, fold);
}

function isNameTaken(fold: LiveNeed): boolean {
  return fold.cluster.needs.some(
    (other) => other.group === fold.group && fingerprintOf(other) === fold.fingerprint,
  );
}

function isHeld(machine: WorldMachine): boolean {
  if (isLeaving(machine) && machine.leaving === 'now') return false;
  const state = stateOf(machine);
  return (
    state === MachineState.Creating || state === MachineState.Configuring || state === MachineState.Configured
  );
}

/**
 * "members beyond the number of whole gangs that fit into those machines, in order N4, stay Same needs", where those
 * machines are "all Idle and Speculative ones, and the cluster's own that are assigned to the fold it would join", and A3's
 * orphans, which "A1 […] treat[s] as Idle".
 * READING: an unassigned machine must match the need with its Same requirement: it has the key. OURS: the fold's own
 * machines need only match the fold, which may take one without the key (docs/adr/0040). READING: back-off does not matter here
 * ("all"). READING: the cluster's own are those Creating (enqueued ones included), Configuring and Configured. READING: members
 * with different Same keys each count the machines that match them, against the members that joined before.
 */
function gangsThatFit(
  world: World,
  possible: readonly LiveNeed[],
  need: OriginalNeed,
  fold: LiveNeed,
): number {
  let gangCount = 0;
  for (const machine of world.machines) {
    const state = stateOf(machine);
    const isFree = state === MachineState.Idle || state === MachineState.Speculative;
    const isOwn = isHeld(machine) && isAssignedTo(machine.assignment, fold);
    if (!isFree && !isOwn && !isOrphan(machine, possible)) continue;
    if (!isOwn && isCordoned(machine)) continue; // H6
    const { requirements } = isOwn ? fold : need;
    if (!matches(requirements, machine) || !covers(machine.capacity, need.minUnit)) continue;
    gangCount += wholeGangs(machine.capacity, need.aggregate);
  }
  return gangCount;
}

/**
 * READING: which folds exist is not known yet, and depends on which Creating machines are orphans. So here a Creating
 * machine is an orphan if it is assigned neither to an original need nor to a fold that a Same need of its cluster could
 * join, whether one joins or not. (A3 asks again, once the needs are known.)
 */
function possibleNeeds(originals: readonly OriginalNeed[]): LiveNeed[] {
  const folds = originals.filter((need) => need.sameKeys.length > 0).map((need) => foldOf([need]));
  return [...originals.map(alone), ...folds];
}
