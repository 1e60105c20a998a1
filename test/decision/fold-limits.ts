/**
 * Where the rules do not promise rest. A1 folds a gang that fits one machine by what is free at the moment, and three of
 * its sentences let a fold that is covered come undone when a price or a free machine moves: fold-limits.test.ts has each
 * in its smallest world. A fold that none of them touches is promised as any other need.
 */
import type { Machine } from '../../src/machine/machine.ts';
import { wantedDimensions, wholeGangs } from '../oracle/amounts.ts';
import { fingerprintOf, foldGroupOf, matches, sameKeysOf, withoutSame } from '../oracle/profile.ts';
import type { WorldCluster, WorldMachine, WorldNeed } from '../oracle/world.ts';
import type { ClosedLoop } from './closed-loop.ts';

/** Whether some fold of a covered loop is one of those that may come undone. */
export function hasLooseFold(loop: ClosedLoop): boolean {
  const { inventory, engine } = loop;
  const { clusters, fingerprints, groups } = inventory.tables;
  for (const slot of inventory.slotsById) {
    const claim = engine.claimOf(slot);
    if (claim === null || !groups.get(claim.group).startsWith('fold:')) continue;
    const cluster = loop.clusters.find(({ id }) => id === clusters.get(claim.cluster))!;
    const fingerprint = fingerprints.get(claim.fingerprint);
    const members = membersOf(cluster, fingerprint, groups.get(claim.group));
    const machine = asWorldMachine(inventory.get(slot));
    if (!members.every(({ requirements }) => matches(requirements, machine))) return true;
    if (sharesStamps(cluster, fingerprint)) return true;
    if (members.length > 1 && hasRest(machine, members[0]!)) return true;
  }
  return false;
}

function membersOf(cluster: WorldCluster, fingerprint: string, group: string): WorldNeed[] {
  return cluster.needs.filter(
    (need) =>
      sameKeysOf(need.requirements).length > 0 &&
      fingerprintOf({ ...need, requirements: withoutSame(need.requirements) }) === fingerprint &&
      foldGroupOf(need.aggregate) === group,
  );
}

/** A1: "machines with its fingerprint and the empty group are its own too", and also a plain need's. */
function sharesStamps(cluster: WorldCluster, fingerprint: string): boolean {
  return cluster.needs.some((need) => need.group === '' && fingerprintOf(need) === fingerprint);
}

/** A1 counts whole gangs machine by machine, A2 stops when their sum is covered: a rest of a machine fools it. */
function hasRest({ capacity }: WorldMachine, { aggregate }: WorldNeed): boolean {
  const gangCount = wholeGangs(capacity, aggregate);
  return wantedDimensions(aggregate).some(
    (dimension) => (capacity[dimension] ?? 0) > gangCount * aggregate[dimension]!,
  );
}

/** As far as matching looks. */
function asWorldMachine(machine: Machine): WorldMachine {
  const { id, state, instanceType, zone, capacityType, capacity, labels } = machine;
  return {
    id,
    state,
    intent: 'none',
    instanceType,
    zone,
    capacityType,
    price: machine.pricePerHourUsd,
    probability: machine.interruptionProbability,
    capacity: { ...capacity },
    labels: { ...labels },
    stamp: null,
    stuck: false,
    backoff: false,
    stateSinceMs: 0,
    drainFor: null,
    foundDraining: false,
  };
}
