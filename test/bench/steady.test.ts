/** The steady fleet under a plain reading of the rules: no need lacks a machine and no action is needed. */
import { describe, expect, it } from 'vitest';
import type { Machine } from '../../src/machine/machine.ts';
import type { PlannedNeed } from '../../src/simulation/catalogue/demand.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { decide } from '../oracle/oracle.ts';
import type { Operator, WhenUnsatisfiable, World, WorldMachine, WorldNeed } from '../oracle/world.ts';

function worldOf(fleet: SteadyFleet): World {
  return {
    nowMs: 1_000,
    cycle: 1,
    ordinary: true,
    machines: [...fleet.machines()].map(worldMachine),
    clusters: Array.from({ length: fleet.clusterCount }, (_, cluster) => ({
      id: fleet.clusterId(cluster),
      hasSession: true,
      reported: true,
      needs: fleet.plan(cluster).flatMap(worldNeeds),
    })),
    parking: new Map(),
    unmet: new Map(),
    holdOnDemandMs: 600_000,
    holdSpotMs: 60_000,
  };
}

function worldMachine(machine: Machine): WorldMachine {
  return {
    id: machine.id,
    state: machine.state,
    intent: 'none',
    waiting: false,
    instanceType: machine.instanceType,
    zone: machine.zone,
    capacityType: machine.capacityType,
    price: machine.pricePerHourUsd,
    probability: machine.interruptionProbability,
    capacity: { ...machine.capacity },
    labels: { ...machine.labels },
    assignment: machine.assignment === null ? null : { cluster: machine.cluster, ...machine.assignment },
    stuck: false,
    backoff: false,
    stateSinceMs: 1_000,
    drainFor: null,
    foundDraining: false,
  };
}

function worldNeeds(need: PlannedNeed): WorldNeed[] {
  const { requirements, spread, priority, interruptionPenalty, reclamationPenalty } = need.profile;
  return need.groups.map((group) => ({
    requirements: requirements.map(({ key, operator, values }) => ({
      key,
      operator: operator as Operator,
      values: [...values],
    })),
    spread: spread.map(({ topologyKey, maxSkew, whenUnsatisfiable }) => ({
      key: topologyKey,
      maxSkew,
      whenUnsatisfiable: whenUnsatisfiable as WhenUnsatisfiable,
    })),
    priority,
    interruptionPenalty,
    reclamationPenalty,
    aggregate: { ...need.aggregate },
    minUnit: { ...need.minUnit },
    group,
    arrivalMs: 0,
    backoff: false,
  }));
}

describe('the steady fleet under the rules of the decision', () => {
  it('given every machine in place, when a cycle is decided, then every need is satisfied and there is no action', () => {
    const fleet = new SteadyFleet(750);
    const { actions, claims, verdicts } = decide(worldOf(fleet));
    expect(actions).toEqual([]);
    expect(verdicts.length).toBeGreaterThan(1_100);
    expect(verdicts.filter((verdict) => !verdict.satisfied)).toEqual([]);
    expect(claims.size).toBe([...fleet.machines()].filter((machine) => machine.cluster !== '').length);
  });

  it('given one lost machine, when a cycle is decided, then a need is unmet', () => {
    const world = worldOf(new SteadyFleet(250));
    world.machines.splice(
      world.machines.findIndex((machine) => machine.assignment !== null),
      1,
    );
    const { actions, verdicts } = decide(world);
    const missed = verdicts.filter((verdict) => !verdict.satisfied).length;
    expect(missed + actions.length).toBeGreaterThan(0);
  });
});
