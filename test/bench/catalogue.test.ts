import { describe, expect, it } from 'vitest';
import { FleetChurn } from '../../bench/catalogue/churn.ts';
import { DimensionTable } from '../../src/base/dimensions.ts';
import { parseDemand } from '../../src/base/quantity.ts';
import { StringTable } from '../../src/base/string-table.ts';
import { VectorTable } from '../../src/base/vectors.ts';
import { CAPACITY_TYPE_NAMES, type CapacityType } from '../../src/machine/capacity-type.ts';
import { findInvalid, type Machine } from '../../src/machine/machine.ts';
import { BUCKET_DOLLARS } from '../../src/machine/penalty.ts';
import { canMove, MachineState } from '../../src/machine/state.ts';
import { NeedTable } from '../../src/needs/need-table.ts';
import { Operator, type Requirement } from '../../src/needs/requirements.ts';
import type { PlannedNeed } from '../../src/simulation/catalogue/demand.ts';
import { SteadyFleet } from '../../src/simulation/catalogue/fleet.ts';
import { RACK_KEY, RACK_MACHINES_MAX } from '../../src/simulation/catalogue/hardware.ts';
import { assignmentOf, rowsOf } from '../../src/simulation/catalogue/rollup.ts';
import { MACHINES_PER_CLUSTER } from '../../src/simulation/catalogue/steady-demand.ts';

const S = MachineState;
const CLUSTERS = 8;
const fleet = new SteadyFleet(CLUSTERS * MACHINES_PER_CLUSTER);
const machines = [...fleet.machines()];

function isValid(machine: Machine): boolean {
  return (
    findInvalid(machine.id, {
      ...machine,
      hasHost: machine.host !== null,
      hasCluster: machine.cluster !== '',
      hasLastError: false,
    }) === null
  );
}

/** Written for this test alone, so that the catalogue is not checked with its own code. */
function satisfies(machine: Machine, { key, operator, values }: Requirement): boolean {
  const attributes: Record<string, string> = {
    ...machine.labels,
    'node.kubernetes.io/instance-type': machine.instanceType,
    'topology.kubernetes.io/zone': machine.zone,
  };
  const value = attributes[key];
  if (operator === Operator.In) return value !== undefined && values.includes(value);
  if (operator === Operator.NotIn) return value === undefined || !values.includes(value);
  if (operator === Operator.DoesNotExist) return value === undefined;
  return value !== undefined;
}

const byAssignment = new Map<string, Machine[]>();
for (const machine of machines) {
  const key = `${machine.cluster} ${machine.assignment?.fingerprint} ${machine.assignment?.group}`;
  byAssignment.set(key, [...(byAssignment.get(key) ?? []), machine]);
}

function heldBy(cluster: string, need: PlannedNeed): Machine[] {
  const { fingerprint, group } = assignmentOf(need);
  return byAssignment.get(`${cluster} ${fingerprint} ${group}`) ?? [];
}

describe('the steady fleet', () => {
  it('is the same for the same seed and different for another', () => {
    const again = new SteadyFleet(fleet.machineCount);
    expect([...again.machines()]).toEqual(machines);
    expect([...again.rollups()]).toEqual([...fleet.rollups()]);
    const other = new SteadyFleet(fleet.machineCount, 7);
    expect([...other.rollups()]).not.toEqual([...fleet.rollups()]);
  });

  for (const machineCount of [1, 7, 100, 250, 1_000, 2_613]) {
    it(`of ${machineCount} has that many valid machines with distinct ids`, () => {
      const all = [...new SteadyFleet(machineCount).machines()];
      expect(all).toHaveLength(machineCount);
      expect(all.every(isValid)).toBe(true);
      expect(new Set(all.map((machine) => machine.id)).size).toBe(machineCount);
    });
  }

  it('has 97 % of its machines Configured and assigned, the others Idle or Speculative and unassigned', () => {
    const inState = (state: MachineState) => machines.filter((machine) => machine.state === state);
    expect(inState(S.Configured)).toHaveLength(Math.round(machines.length * 0.97));
    expect(inState(S.Idle).length).toBeGreaterThan(0);
    expect(inState(S.Speculative).length).toBeGreaterThan(0);
    for (const machine of machines) {
      const isBound = machine.state === S.Configured;
      expect(machine.cluster !== '').toBe(isBound);
      expect(machine.assignment !== null).toBe(isBound);
      if (!isBound) expect([S.Idle, S.Speculative]).toContain(machine.state);
    }
  });

  it('asks for the 250 machines of a cluster in about 388 rows, four fifths of them gangs smaller than a machine', () => {
    for (let cluster = 0; cluster < CLUSTERS; cluster++) {
      const { rows } = fleet.rollup(cluster);
      expect(Math.abs(rows.length - 388)).toBeLessThanOrEqual(4);
      const small = fleet.plan(cluster).filter((need) => need.form === 'small');
      const smallRows = small.reduce((count, need) => count + need.groups.length, 0);
      expect(smallRows / rows.length).toBeGreaterThan(0.7);
      expect(smallRows / rows.length).toBeLessThan(0.85);
    }
  });

  it('has racks of at most forty machines of one type, zone and capacity type', () => {
    const racks = new Map<string, Machine[]>();
    for (const machine of machines) {
      const name = machine.labels[RACK_KEY]!;
      racks.set(name, [...(racks.get(name) ?? []), machine]);
    }
    for (const inRack of racks.values()) {
      expect(inRack.length).toBeLessThanOrEqual(RACK_MACHINES_MAX);
      expect(new Set(inRack.map((m) => `${m.instanceType} ${m.zone} ${m.capacityType}`)).size).toBe(1);
    }
  });

  it('has three zones, four capacity types, three priorities and penalties from $64 to $65,536', () => {
    const distinct = <T>(of: (machine: Machine) => T) => new Set(machines.map(of));
    expect(distinct((machine) => machine.zone).size).toBe(3);
    const payment = [...distinct((machine) => CAPACITY_TYPE_NAMES[machine.capacityType as CapacityType])];
    expect(payment.sort()).toEqual(['bare-metal', 'on-demand', 'reserved', 'spot']);
    const needs = Array.from({ length: CLUSTERS }, (_, cluster) => fleet.plan(cluster)).flat();
    expect([...new Set(needs.map((need) => need.profile.priority))].sort((a, b) => a - b)).toEqual([
      100, 1_000, 1_000_000,
    ]);
    const penalties = needs.map((need) => BUCKET_DOLLARS[need.profile.interruptionPenalty]!);
    expect(Math.min(...penalties)).toBe(64);
    expect(Math.max(...penalties)).toBe(65_536);
  });
});

describe('the demand of the steady fleet', () => {
  const needs = Array.from({ length: CLUSTERS }, (_, cluster) =>
    fleet.plan(cluster).map((need) => ({ cluster: fleet.clusterId(cluster), need })),
  ).flat();

  it('is covered exactly: every need has its machines, and with one machine less it would be short', () => {
    for (const { cluster, need } of needs) {
      const held = heldBy(cluster, need);
      expect(held).toHaveLength(need.places.length);
      const { scarce, capacity } = need.places[0]!.type;
      for (const [name, units] of Object.entries(need.aggregate)) {
        const wanted = units * need.groups.length;
        expect(held.length * capacity[name]!).toBeGreaterThanOrEqual(wanted);
        if (name === scarce) expect((held.length - 1) * capacity[name]!).toBeLessThan(wanted);
      }
    }
  });

  it('is met by machines that match every requirement and cover the smallest unit', () => {
    for (const { cluster, need } of needs) {
      for (const machine of heldBy(cluster, need)) {
        for (const requirement of need.profile.requirements)
          expect(satisfies(machine, requirement)).toBe(true);
        for (const [name, units] of Object.entries(need.minUnit)) {
          expect(machine.capacity[name]).toBeGreaterThanOrEqual(units);
        }
      }
    }
  });

  it('has spanning gangs of three to eight machines, each in one rack', () => {
    const spanning = needs.filter(({ need }) => need.form === 'spanning');
    expect(spanning.length).toBeGreaterThan(CLUSTERS * 5);
    for (const { cluster, need } of spanning) {
      const held = heldBy(cluster, need);
      expect(held.length).toBeGreaterThanOrEqual(3);
      expect(held.length).toBeLessThanOrEqual(8);
      expect(new Set(held.map((machine) => machine.labels[RACK_KEY])).size).toBe(1);
    }
  });

  it('has small gangs of which as many fit on a machine as their fold assumes', () => {
    for (const { need } of needs.filter((candidate) => candidate.need.form === 'small')) {
      const { capacity } = need.places[0]!.type;
      const fit = Math.min(
        ...Object.entries(need.aggregate).map(([name, units]) => Math.floor(capacity[name]! / units)),
      );
      expect(fit).toBe(need.gangsPerMachine);
      expect(fit * need.places.length).toBeGreaterThanOrEqual(need.groups.length);
      expect(need.profile.requirements.some(({ operator }) => operator === Operator.Same)).toBe(true);
    }
  });

  it('spreads needs with a spread constraint over the zones, one by one', () => {
    const spread = needs.filter(({ need }) => need.profile.spread.length > 0);
    expect(spread.length).toBeGreaterThan(0);
    for (const { need } of spread) {
      expect(new Set(need.places.map((place) => place.zone)).size).toBe(need.places.length);
    }
  });

  it('has no two rows that would merge, and quantities that parse to the same units', () => {
    for (let cluster = 0; cluster < CLUSTERS; cluster++) {
      const plan = fleet.plan(cluster);
      const keys = plan.flatMap((need) =>
        need.groups.map((group) => `${JSON.stringify(need.profile)} ${group}`),
      );
      expect(new Set(keys).size).toBe(keys.length);
      for (const need of plan) {
        for (const [name, text] of Object.entries(rowsOf(need)[0]!.aggregate)) {
          expect(parseDemand(name, text)).toBe(need.aggregate[name]);
        }
      }
    }
  });
});

describe('the roll-ups of the catalogue', () => {
  const strings = (name: string) => StringTable.create({ name, entriesMax: 65_536, bytesMax: 4_194_304 });
  const needs = new NeedTable({
    clusters: strings('clusters'),
    fingerprints: strings('fingerprints'),
    groups: strings('groups'),
    vectors: new VectorTable(new DimensionTable()),
  });

  it('are accepted by the table of needs, one need per row, and change nothing when they are repeated', () => {
    for (const { clusterId, rows } of fleet.rollups()) {
      expect(needs.accept(clusterId, rows, 1, 0)).toBe('applied');
      expect(needs.accept(clusterId, rows.toReversed(), 2, 0)).toBe('unchanged');
    }
    for (const cluster of needs.clusterRefs())
      expect(Math.abs(needs.sliceCount(cluster) - 388)).toBeLessThanOrEqual(4);
  });

  it('are accepted after any churn', () => {
    const churn = new FleetChurn(fleet);
    for (let round = 0; round < 5; round++) {
      for (const { clusterId, rows } of churn.churnRollups(0.5, 0.02)) {
        expect(needs.accept(clusterId, rows, 3 + round, 0)).toBe('applied');
      }
    }
  });
});

describe('churn', () => {
  const changing = new SteadyFleet(fleet.machineCount);
  const churn = new FleetChurn(changing);

  it('changes the given share of the machines, each by a legal step or another price', () => {
    const known = new Map([...changing.machines()].map((machine) => [machine.id, machine]));
    let moveCount = 0;
    let priceCount = 0;
    for (let round = 0; round < 40; round++) {
      const changed = churn.churnMachines(0.05);
      expect(changed).toHaveLength(changing.machineCount * 0.05);
      for (const machine of changed) {
        const before = known.get(machine.id)!;
        known.set(machine.id, machine);
        expect(isValid(machine)).toBe(true);
        if (machine.state === before.state) {
          expect(machine.pricePerHourUsd).not.toBe(before.pricePerHourUsd);
          priceCount++;
        } else {
          expect(canMove(before.state, machine.state)).toBe(true);
          moveCount++;
        }
      }
    }
    expect(moveCount).toBeGreaterThan(1_000);
    expect(priceCount).toBeGreaterThan(100);
  });

  it('changes the given share of the rows in the given share of the clusters', () => {
    const last = new Map([...changing.rollups()].map((rollup) => [rollup.clusterId, rollup.rows]));
    for (let round = 0; round < 10; round++) {
      const rollups = churn.churnRollups(0.25, 0.1);
      expect(rollups).toHaveLength(CLUSTERS / 4);
      for (const { clusterId, rows } of rollups) {
        const before = last.get(clusterId)!;
        last.set(clusterId, rows);
        const changedCount = rows.filter(
          (row, index) => JSON.stringify(row) !== JSON.stringify(before[index]),
        ).length;
        expect(rows).toHaveLength(before.length);
        expect(changedCount).toBe(Math.round(before.length * 0.1));
      }
    }
  });

  it('changes only roll-ups and machines of the given clusters, by legal steps', () => {
    const known = new Map([...changing.machines()].map((machine) => [machine.id, machine]));
    const clusterByRow = new Map(
      Array.from(changing.cluster, (cluster, row) => [changing.idAt(row), cluster]),
    );
    const { rollups, machines: changed } = churn.churnClusters(0.25, 0.05, 0.1);
    expect(rollups).toHaveLength(CLUSTERS / 4);
    expect(changed.length).toBeGreaterThan(0);
    const touched = new Set(rollups.map(({ clusterId }) => clusterId));
    for (const machine of changed) {
      const before = known.get(machine.id)!;
      expect(touched).toContain(changing.clusterId(clusterByRow.get(machine.id)!));
      expect(isValid(machine)).toBe(true);
      expect(machine.state === before.state || canMove(before.state, machine.state)).toBe(true);
    }
  });

  it('is the same for the same seed', () => {
    const run = () => {
      const one = new FleetChurn(new SteadyFleet(500), 3);
      return [one.churnMachines(0.1), one.churnRollups(1, 0.1), one.churnMachines(0.1)];
    };
    expect(run()).toEqual(run());
  });
});
