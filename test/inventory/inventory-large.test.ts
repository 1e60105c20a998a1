/** Thousands of machines, so that blocks and chunks are split and joined, and orders are updated change by change. */
import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { Intent } from '../../src/inventory/intent.ts';
import type { Inventory } from '../../src/inventory/inventory.ts';
import { BUCKET_DOLLARS } from '../../src/machine/penalty.ts';
import { ALL_STATES, MachineState as S } from '../../src/machine/state.ts';
import { inState, inventory } from './machines.ts';

const MACHINES = 4_000;
const CLUSTERS = 6;

/** One event of a machine; machines are added and removed too. */
function happen(fleet: Inventory, random: Random, serial: number): void {
  const slots = fleet.columns.slotLimit;
  const slot = random.between(1, slots);
  const state = slot < slots ? fleet.columns.state[slot]! : 0;
  const cluster = `cluster-${random.below(CLUSTERS)}`;
  const reclamationPenalty = random.below(28);
  const draw = random.unit();
  const assignment = {
    fingerprint: `p=${random.below(9)}`,
    group: '',
    priority: 1,
    interruptionPenalty: 1,
    reclamationPenalty,
  };
  if (state === 0 || (fleet.count < MACHINES && random.chance(0.4))) {
    const machine = inState(random.pick([S.Speculative, S.Idle, S.Configured, S.Configured, S.Configured]), {
      id: `${random.pick(['aws', 'gcp'])}-${random.below(1_000)}-${serial}`,
      pricePerHourUsd: random.below(40) / 8,
      labels: { rack: `r-${random.below(120)}` },
      zone: random.pick(['a', 'b']),
    });
    if (fleet.count < MACHINES)
      fleet.insert(machine.cluster === '' ? machine : { ...machine, cluster, assignment }, 0, 1);
  } else if (draw < 0.1) fleet.remove(slot);
  else if (draw < 0.28) fleet.apply(slot, { pricePerHourUsd: random.below(40) / 8 }, 1);
  else if (draw < 0.35) fleet.apply(slot, { labels: { rack: `r-${random.below(120)}` } }, 1);
  else if (state === S.Configured) fleet.move(slot, S.Draining, 1);
  else if (state === S.Draining) fleet.move(slot, S.Idle, 1);
  else if (state === S.Configuring) {
    fleet.clearIntent(slot);
    fleet.apply(slot, { state: S.Configured, cluster, assignment }, 1);
  } else if (state === S.Idle && fleet.columns.intent[slot] === 0) {
    fleet.setIntent(slot, Intent.Bootstrap, cluster, assignment);
  } else if (state === S.Idle) fleet.move(slot, S.Configuring, 1);
}

/** Compares by ids, not by ranks: the ranks are under test. */
function expectInOrder(fleet: Inventory, checkNumber: number): void {
  const { columns, indexes, orders } = fleet;
  const ids = new Map<number, Buffer>();
  for (let slot = 1; slot < columns.slotLimit; slot++) {
    if (columns.state[slot] !== 0) ids.set(slot, Buffer.from(fleet.idOf(slot)));
  }
  const byId = (a: number, b: number) => Buffer.compare(ids.get(a)!, ids.get(b)!);
  const byPrice = (a: number, b: number) => columns.pricePerHourUsd[a]! - columns.pricePerHourUsd[b]!;
  const dollars = (slot: number) => BUCKET_DOLLARS[columns.reclamationPenalty[slot]!]!;
  const byDollars = (a: number, b: number) =>
    dollars(a) === dollars(b) ? 0 : dollars(a) > dollars(b) ? -1 : 1;
  const all = [...ids.keys()];
  expect([...fleet.slotsById]).toEqual([...all].sort(byId));
  for (const state of ALL_STATES) {
    const members = all.filter((slot) => columns.state[slot] === state);
    const indexed = indexes.slotsInState(state).slice(0, indexes.countInState(state)).sort();
    expect([...indexed]).toEqual(members);
    expect([...orders.acquireOrder(state)]).toEqual([...members].sort((a, b) => byPrice(a, b) || byId(a, b)));
    for (let cluster = 1; cluster < fleet.tables.clusters.refLimit; cluster++) {
      // Some orders are first read late, others every time.
      if (cluster > 1 + checkNumber) continue;
      const bound = members.filter((slot) => columns.cluster[slot] === cluster);
      const start = indexes.startOfCluster(cluster, state);
      const listed = indexes.clusterSlots.slice(start, start + indexes.countOfCluster(cluster, state)).sort();
      expect([...listed]).toEqual(bound);
      const kept = bound.sort((a, b) => byPrice(a, b) || byDollars(a, b) || byId(a, b));
      expect([...orders.keepOrder(cluster, state)]).toEqual(kept);
    }
    let inShapes = 0;
    for (let shape = 1; shape < fleet.shapes.refLimit; shape++) {
      const start = indexes.startOfShape(state, shape);
      const listed = indexes.shapeSlots.subarray(start, start + indexes.countOfShape(state, shape));
      expect(listed.every((slot) => columns.shape[slot] === shape && columns.state[slot] === state)).toBe(
        true,
      );
      inShapes += new Set(listed).size;
    }
    expect(inShapes).toBe(members.length);
  }
}

describe('a fleet of thousands', () => {
  for (const seed of [1, 2]) {
    it(`keeps every index and order correct through 60,000 events (seed ${seed})`, () => {
      const fleet = inventory({ machinesMax: MACHINES });
      const random = new Random(seed);
      let largest = 0;
      // Different numbers of events between two reads: few changes are merged, many make the order sort again.
      const stretches = [20_000, 15_000, 300, 60, 1, 10_000, 400, 14_239];
      let serial = 0;
      stretches.forEach((events, index) => {
        for (let event = 0; event < events; event++) happen(fleet, random, serial++);
        expectInOrder(fleet, index);
        largest = Math.max(largest, fleet.count);
      });
      expect(serial).toBe(60_000);
      expect(largest).toBeGreaterThan(MACHINES * 0.6);
      for (const slot of fleet.slotsById.slice()) fleet.remove(slot);
      const { shapes, clusters, fingerprints, texts, hosts } = fleet.tables;
      expect([shapes.count, clusters.count, fingerprints.count, texts.count, hosts.bytesUsed]).toEqual([
        0, 0, 0, 0, 0,
      ]);
    });
  }
});
