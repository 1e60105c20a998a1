/**
 * Properties that every decision of the oracle must have, over random histories. A plain program can still be wrong; these
 * properties follow from the rules but are not written in the oracle.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { MachineState } from '../../src/machine/state.ts';
import { isNothing } from './amounts.ts';
import { randomWorld, step } from './generator.ts';
import { MACHINES_MAX } from './generator-machines.ts';
import { CLUSTER_IDS, NEEDS_MAX } from './generator-needs.ts';
import { normalise, originalNeeds } from './normalise.ts';
import { decide } from './oracle.ts';
import { domainOf } from './profile.ts';
import { isLeaving, stateOf } from './view.ts';
import {
  needKey,
  type OracleAction,
  type OracleResult,
  UnmetReason,
  type World,
  type WorldMachine,
} from './world.ts';

const HISTORY_STEPS = 6;
const HISTORIES = 40;
/** Fixed, because each property also counts its interesting cases, and the count must not vary. */
const SEED = 20;

/** Runs a check on every world of `HISTORIES` random histories. */
function overHistories(check: (world: World, result: OracleResult, random: Random) => void): void {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 31 }), (seed) => {
      const random = new Random(seed);
      let world = randomWorld(random);
      for (let count = 0; count < HISTORY_STEPS; count++) {
        const result = decide(world);
        check(world, result, random);
        world = step(world, result, random);
      }
    }),
    { numRuns: HISTORIES, seed: SEED },
  );
}

it('A0: never gives one machine to two needs or two actions, and each action fits its machine', () => {
  const neededState = {
    Bootstrap: MachineState.Idle,
    Provision: MachineState.Speculative,
    Preempt: MachineState.Configured,
    Reclaim: MachineState.Configured,
    Delete: MachineState.Idle,
    Withdraw: MachineState.Creating,
  };
  const seen = new Set<string>();
  overHistories((world, result) => {
    const acted = result.actions.map((action) => action.machine);
    expect(new Set(acted).size).toBe(acted.length);
    for (const action of result.actions) {
      const machine = world.machines.find(({ id }) => id === action.machine)!;
      expect(stateOf(machine)).toBe(neededState[action.kind]);
      // X3: an action that waits is withdrawn whatever happened to its machine.
      expect(machine.backoff && action.kind !== 'Withdraw').toBe(false);
      expect(machine.waiting).toBe(action.kind === 'Withdraw');
      seen.add(action.kind);
    }
  });
  expect([...seen].sort()).toEqual(Object.keys(neededState).sort());
});

it('N4: gives the same decision for any order of machines, clusters, needs, requirements and spread', () => {
  overHistories((world, result, random) => {
    const shuffled = structuredClone(world);
    random.shuffle(shuffled.machines);
    random.shuffle(shuffled.clusters);
    for (const cluster of shuffled.clusters) {
      random.shuffle(cluster.needs);
      for (const need of cluster.needs) {
        random.shuffle(need.requirements);
        random.shuffle(need.spread);
        for (const requirement of need.requirements) random.shuffle(requirement.values);
      }
    }
    expect(decide(shuffled)).toEqual(result);
  });
});

it('never changes the world it decides on', () => {
  overHistories((world) => {
    const before = structuredClone(world);
    decide(world);
    expect(world).toEqual(before);
  });
});

it('A8: a need is satisfied exactly if nothing is missing, and has a reason exactly if something is', () => {
  const reasons = new Set<UnmetReason>();
  overHistories((world, result) => {
    const needCount = world.clusters.reduce((count, cluster) => count + cluster.needs.length, 0);
    expect(result.verdicts.length).toBe(needCount);
    for (const verdict of result.verdicts) {
      expect(verdict.satisfied).toBe(isNothing(verdict.deficit));
      expect(verdict.satisfied).toBe(verdict.reason === UnmetReason.None);
      reasons.add(verdict.reason);
      if (verdict.satisfied) continue;
      const key = needKey(verdict.cluster, verdict.group, verdict.fingerprint);
      // H4: counts stand still while a pause hides machines, or bars the cluster.
      const { paused = false } = world.clusters.find(({ id }) => id === verdict.cluster)!;
      const counts = world.ordinary && world.countsHeld !== true && !paused;
      expect(result.unmet.get(key) ?? 0).toBe((world.unmet.get(key) ?? 0) + (counts ? 1 : 0));
    }
  });
  expect([...reasons].sort()).toEqual(Object.values(UnmetReason).sort());
});

it('A5: keeps every gang in one domain: its acquired machines are in the domain of its verdict', () => {
  let acquiredCount = 0;
  overHistories((world, result) => {
    const needs = normalise(world, originalNeeds(world));
    for (const action of result.actions) {
      if (action.kind !== 'Bootstrap' && action.kind !== 'Provision') continue;
      const key = needKey(action.cluster, action.group, action.fingerprint);
      const need = needs.find((live) => live.key === key)!;
      if (need.sameKeys.length === 0) continue;
      const machine = world.machines.find(({ id }) => id === action.machine)!;
      const verdict = result.verdicts.find(
        (one) => needKey(one.cluster, one.group, one.fingerprint) === key,
      )!;
      expect(domainOf(machine, need.sameKeys)?.join(',')).toBe(verdict.domain);
      acquiredCount++;
    }
  });
  expect(acquiredCount).toBeGreaterThan(20);
});

it('A9: acquires and preempts for no cluster without a session', () => {
  overHistories((world, result) => {
    const away = new Set(world.clusters.filter(({ hasSession }) => !hasSession).map(({ id }) => id));
    for (const { kind, cluster, forCluster } of result.actions) {
      if (kind === 'Bootstrap' || kind === 'Provision') expect(away.has(cluster)).toBe(false);
      if (kind === 'Preempt') expect(away.has(forCluster)).toBe(false);
    }
  });
});

it('T8: no action takes a cluster beyond a limit, and a need without limits is never limited', () => {
  const { Creating, Configuring, Configured } = MachineState;
  let atLimitCount = 0;
  overHistories((world, result) => {
    for (const { id, limits } of world.clusters) {
      const verdicts = result.verdicts.filter(({ cluster }) => cluster === id);
      if (limits === undefined)
        for (const { limitedBy } of verdicts) expect(limitedBy).toMatch(/^(ceilings\..*)?$/);
      if (limits === undefined) continue;
      if (verdicts.some(({ limitedBy }) => /^max-/.test(limitedBy))) atLimitCount++;
      const before = world.machines.filter(
        (machine) =>
          machine.assignment?.cluster === id &&
          !isLeaving(machine) && // H5: it counts for no limit
          [Creating, Configuring, Configured].some((state) => state === stateOf(machine)),
      );
      const bound = result.actions
        .filter(({ kind, cluster }) => cluster === id && (kind === 'Bootstrap' || kind === 'Provision'))
        .map(({ machine }) => world.machines.find((one) => one.id === machine)!);
      if (bound.length === 0) continue;
      const sumOf = (amount: (machine: WorldMachine) => number) =>
        [...before, ...bound].reduce((total, machine) => total + amount(machine), 0);
      expect(sumOf(() => 1)).toBeLessThanOrEqual(limits.maxMachines);
      expect(sumOf(({ price }) => price)).toBeLessThanOrEqual(limits.maxDollarsPerHour);
      for (const [dimension, most] of Object.entries(limits.maxResources)) {
        if (bound.every(({ capacity }) => (capacity[dimension] ?? 0) === 0)) continue;
        expect(sumOf(({ capacity }) => capacity[dimension] ?? 0)).toBeLessThanOrEqual(most);
      }
    }
  });
  expect(atLimitCount).toBeGreaterThan(3);
});

it('E7: no action takes the fleet beyond a ceiling, and without ceilings none is named', () => {
  let atCeilingCount = 0;
  overHistories((world, result) => {
    const { ceilings } = world;
    const named = result.verdicts.filter(({ limitedBy }) => limitedBy.startsWith('ceilings.'));
    if (ceilings === undefined) expect(named).toEqual([]);
    if (named.length > 0) atCeilingCount++;
    const created = result.actions
      .filter(({ kind }) => kind === 'Provision')
      .map(({ machine }) => world.machines.find((one) => one.id === machine)!);
    if (ceilings === undefined) return;
    const before = world.machines.filter((machine) => stateOf(machine) !== MachineState.Speculative);
    const costOf = (machines: readonly WorldMachine[]) => machines.reduce((sum, { price }) => sum + price, 0);
    if (costOf(created) > 0)
      expect(costOf([...before, ...created])).toBeLessThanOrEqual(ceilings.maxDollarsPerHour);
    for (const [type, most] of ceilings.maxByCapacityType.entries()) {
      const isOfType = ({ capacityType }: WorldMachine) => capacityType === type;
      if (costOf(created.filter(isOfType)) > 0)
        expect(costOf([...before, ...created].filter(isOfType))).toBeLessThanOrEqual(most);
    }
  });
  expect(atCeilingCount).toBeGreaterThan(2);
});

it('P6: while its victims drain, a need that got all its victims preempts no more', () => {
  let servedCount = 0;
  overHistories((world) => {
    const draining = structuredClone(world);
    const isPreempt = ({ kind }: OracleAction) => kind === 'Preempt';
    const preemptorOf = (action: OracleAction) =>
      needKey(action.forCluster, action.group, action.fingerprint);
    const before = decide(world);
    const short = new Set(before.shortfalls.map(({ fingerprint }) => fingerprint));
    const victims = before.actions.filter(isPreempt);
    for (const { machine: id, forCluster, fingerprint, group } of victims) {
      const machine = draining.machines.find((one) => one.id === id)!;
      machine.state = MachineState.Draining;
      machine.drainFor = { cluster: forCluster, fingerprint, group };
    }
    const after = decide(draining);
    // A gang may choose another rack, because A5 counts drains there, and machines that move with it (A6) may come from
    // other needs: a need that then lacks more preempts more. A need that lacks the same preempts nothing.
    const lackOf = (result: OracleResult, key: string) => {
      const verdict = result.verdicts.find((one) => needKey(one.cluster, one.group, one.fingerprint) === key);
      return verdict === undefined ? 'folded' : JSON.stringify([verdict.domain, verdict.deficit]);
    };
    const stayed = (key: string) =>
      lackOf(before, key) !== 'folded' && lackOf(before, key) === lackOf(after, key);
    const served = victims.filter(({ fingerprint }) => !short.has(fingerprint)).map(preemptorOf);
    servedCount += new Set(served.filter(stayed)).size;
    const again = after.actions.filter(isPreempt).map(preemptorOf);
    expect(again.filter((key) => served.includes(key) && stayed(key))).toEqual([]);
  });
  expect(servedCount).toBeGreaterThan(3);
});

it('generates small, valid worlds of every kind, and histories that keep them valid', () => {
  const kinds = { folds: 0, spans: 0, parked: 0, orphans: 0, empty: 0, drains: 0, waiting: 0, woken: 0 };
  overHistories((world) => {
    const originals = originalNeeds(world);
    const needs = normalise(world, originals);
    expect(world.machines.length).toBeLessThanOrEqual(MACHINES_MAX);
    expect(world.clusters.length).toBeLessThanOrEqual(CLUSTER_IDS.length);
    expect(originals.length).toBeLessThanOrEqual(NEEDS_MAX);
    expect(new Set(world.machines.map(({ id }) => id)).size).toBe(world.machines.length);
    expect(new Set(originals.map(({ key }) => key)).size).toBe(originals.length);
    for (const { state, intent, assignment } of world.machines) {
      if (state === MachineState.Configured || state === MachineState.Draining)
        expect(assignment).not.toBeNull();
      if (state === MachineState.Idle || state === MachineState.Speculative) {
        expect(assignment !== null).toBe(intent === 'bootstrap' || intent === 'provision');
      }
    }
    for (const cluster of world.clusters) if (!cluster.reported) expect(cluster.needs).toEqual([]);
    kinds.folds += needs.filter((need) => need.members.length > 1).length;
    kinds.spans += needs.filter((need) => need.sameKeys.length > 0).length;
    kinds.parked += decide(world).verdicts.filter((verdict) => verdict.parked).length;
    kinds.orphans += world.machines.filter(
      (one) => one.state === MachineState.Creating && one.assignment === null,
    ).length;
    kinds.drains += world.machines.filter((one) => one.drainFor !== null || one.foundDraining).length;
    kinds.waiting += world.machines.filter((one) => one.waiting).length;
    kinds.empty += world.machines.length === 0 || originals.length === 0 ? 1 : 0;
    kinds.woken += world.ordinary ? 0 : 1;
  });
  for (const [kind, count] of Object.entries(kinds)) expect(count, kind).toBeGreaterThan(3);
});
