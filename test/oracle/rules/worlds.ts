/**
 * Hand-made worlds with harmless defaults. A machine is 4 cpu of bare metal (never released) at $1 in `rack-1` of
 * `zone-1`; a need wants 4 cpu at priority 100; a cluster has reported and has a session.
 */
import { CapacityType } from '../../../src/machine/capacity-type.ts';
import { MachineState } from '../../../src/machine/state.ts';
import { fingerprintOf, withoutSame } from '../profile.ts';
import {
  type Assignment,
  needKey,
  Operator,
  type OracleResult,
  type OracleVerdict,
  type Requirement,
  type Spread,
  WhenUnsatisfiable,
  type World,
  type WorldCluster,
  type WorldMachine,
  type WorldNeed,
} from '../world.ts';

export const NOW_MS = 1_000_000_000;
export const ZONE = 'topology.kubernetes.io/zone';
export const RACK = 'rack';

export function machine(id: string, state: MachineState, facts: Partial<WorldMachine> = {}): WorldMachine {
  return {
    id,
    state,
    intent: 'none',
    waiting: false,
    instanceType: 'standard',
    zone: 'zone-1',
    capacityType: CapacityType.BareMetal,
    price: 1,
    probability: 0,
    capacity: { cpu: 4_000 },
    labels: { rack: 'rack-1' },
    assignment: null,
    stuck: false,
    backoff: false,
    stateSinceMs: NOW_MS,
    drainFor: null,
    foundDraining: false,
    ...facts,
  };
}

export const idle = (id: string, facts: Partial<WorldMachine> = {}) => machine(id, MachineState.Idle, facts);
export const speculative = (id: string, facts: Partial<WorldMachine> = {}) =>
  machine(id, MachineState.Speculative, facts);
export const configured = (id: string, assignment: Assignment, facts: Partial<WorldMachine> = {}) =>
  machine(id, MachineState.Configured, { assignment, ...facts });
export const configuring = (id: string, assignment: Assignment, facts: Partial<WorldMachine> = {}) =>
  machine(id, MachineState.Configuring, { assignment, ...facts });
export const creating = (id: string, assignment: Assignment | null, facts: Partial<WorldMachine> = {}) =>
  machine(id, MachineState.Creating, { assignment, ...facts });
export const draining = (id: string, assignment: Assignment, facts: Partial<WorldMachine> = {}) =>
  machine(id, MachineState.Draining, { assignment, ...facts });

export const inRack = (rack: string) => ({ labels: { rack } });
export const cpus = (count: number) => ({ cpu: count * 1_000 });

export function need(facts: Partial<WorldNeed> = {}): WorldNeed {
  return {
    requirements: [],
    spread: [],
    priority: 100,
    interruptionPenalty: 0,
    reclamationPenalty: 0,
    aggregate: cpus(4),
    minUnit: {},
    group: '',
    arrivalMs: NOW_MS,
    backoff: false,
    ...facts,
  };
}

export const same = (key: string, ...values: string[]): Requirement => ({
  key,
  operator: Operator.Same,
  values,
});
export const isIn = (key: string, ...values: string[]): Requirement => ({
  key,
  operator: Operator.In,
  values,
});
export const spreadOver = (key: string, maxSkew = 1): Spread => ({
  key,
  maxSkew,
  whenUnsatisfiable: WhenUnsatisfiable.DoNotSchedule,
});

/** A need whose machines must share a rack. */
export function gang(group: string, cpuCount: number, facts: Partial<WorldNeed> = {}): WorldNeed {
  return need({ group, aggregate: cpus(cpuCount), requirements: [same(RACK)], ...facts });
}

export function cluster(id: string, needs: WorldNeed[], facts: Partial<WorldCluster> = {}): WorldCluster {
  return { id, hasSession: true, reported: true, needs, ...facts };
}

export function world(machines: WorldMachine[], clusters: WorldCluster[], facts: Partial<World> = {}): World {
  return {
    nowMs: NOW_MS,
    cycle: 1,
    ordinary: true,
    machines,
    clusters,
    parking: new Map(),
    unmet: new Map(),
    holdOnDemandMs: 600_000,
    holdSpotMs: 60_000,
    ...facts,
  };
}

export function assignmentFor(clusterId: string, of: WorldNeed, facts: Partial<Assignment> = {}): Assignment {
  const { group, priority, interruptionPenalty, reclamationPenalty } = of;
  const fingerprint = fingerprintOf(of);
  return {
    cluster: clusterId,
    fingerprint,
    group,
    priority,
    interruptionPenalty,
    reclamationPenalty,
    ...facts,
  };
}

/** The assignment of a machine that is bound to the cluster, but whose need is unknown. */
export function boundTo(clusterId: string, facts: Partial<Assignment> = {}): Assignment {
  return {
    cluster: clusterId,
    fingerprint: '',
    group: '',
    priority: 0,
    interruptionPenalty: 0,
    reclamationPenalty: 0,
    ...facts,
  };
}

/** P6: the need that a machine drains for. */
export function drainFor(clusterId: string, of: WorldNeed) {
  return { drainFor: { cluster: clusterId, fingerprint: fingerprintOf(of), group: of.group } };
}

export const keyOf = (clusterId: string, of: WorldNeed) => needKey(clusterId, of.group, fingerprintOf(of));

/** The fingerprint of the fold that this gang joins. */
export const foldFingerprint = (of: WorldNeed) =>
  fingerprintOf({ ...of, requirements: withoutSame(of.requirements) });

/** `Bootstrap m-1`, …, in the order of the actions. */
export function did(result: OracleResult): string[] {
  return result.actions.map(({ kind, machine: id }) => `${kind} ${id}`);
}

/** The machines that a need claims, by id. */
export function claimedBy(result: OracleResult, key: string): string[] {
  return [...result.claims]
    .filter(([, claimer]) => claimer === key)
    .map(([id]) => id)
    .sort();
}

export function verdictOf(result: OracleResult, clusterId: string, of: WorldNeed): OracleVerdict {
  const fingerprint = fingerprintOf(of);
  const verdict = result.verdicts.find(
    (one) => one.cluster === clusterId && one.fingerprint === fingerprint && one.group === of.group,
  );
  if (verdict === undefined) throw new Error(`no verdict for ${clusterId} ${of.group} ${fingerprint}`);
  return verdict;
}
