/**
 * The demonstration: a fleet of half a million machines in one process, filled, moved, asked and counted,
 * with the times that it took on the machine in front of you. Nothing is listed from a provider and nothing
 * is decided; it shows what the inventory costs. The fleet comes from a seed and is the same every time.
 */
import { systemClock } from '../base/clock.ts';
import { DimensionTable } from '../base/dimensions.ts';
import { Random } from '../base/random.ts';
import { VectorTable } from '../base/vectors.ts';
import { Inventory } from '../inventory/inventory.ts';
import { CapacityType } from '../machine/capacity-type.ts';
import type { Assignment, Machine } from '../machine/machine.ts';
import { ALL_STATES, MachineState, STATE_NAMES } from '../machine/state.ts';

const MACHINES = 500_000;
const CLUSTERS = 2_000;
const MACHINES_PER_RACK = 40;
/** Machines that go once round: drained, idle, configured for another cluster. Four transitions each. */
const ROUND_TRIPS = 250_000;
const LOOK_UPS = 500_000;
/** Changes between two readings of an order: what a busy cycle brings. */
const CHANGES_PER_CYCLE = 1_000;

const S = MachineState;

const TYPES = [
  { name: 'general-16', cpu: 16, memoryGib: 64, price: 0.81 },
  { name: 'general-32', cpu: 32, memoryGib: 128, price: 1.62 },
  { name: 'compute-64', cpu: 64, memoryGib: 128, price: 2.84 },
  { name: 'memory-32', cpu: 32, memoryGib: 512, price: 4.1 },
] as const;
const ZONES = ['north-a', 'north-b', 'north-c'] as const;

function machineOf(index: number, random: Random): Machine {
  const rack = Math.floor(index / MACHINES_PER_RACK);
  const type = TYPES[rack % TYPES.length]!;
  const zone = ZONES[rack % ZONES.length]!;
  const isSpot = rack % 5 === 0;
  const chance = random.unit();
  const state = chance < 0.96 ? S.Configured : chance < 0.98 ? S.Idle : S.Speculative;
  const isBound = state === S.Configured;
  return {
    id: `${type.name}-${zone}-${String(index).padStart(6, '0')}`,
    state,
    host: state === S.Speculative ? null : { provider: 'demo', ref: `host-${index}` },
    instanceType: type.name,
    zone,
    capacityType: isSpot ? CapacityType.Spot : CapacityType.OnDemand,
    pricePerHourUsd: isSpot ? type.price * (0.3 + random.below(20) / 100) : type.price,
    interruptionProbability: isSpot ? 0.05 : 0,
    capacity: { cpu: type.cpu * 1_000, memory: type.memoryGib * 1_024 * 1_024 },
    labels: { 'topology.kubernetes.io/rack': `rack-${rack}` },
    cluster: isBound ? clusterOf(random.below(CLUSTERS)) : '',
    assignment: isBound ? assignmentOf(index % 3) : null,
    lastError: '',
  };
}

const clusterOf = (cluster: number) => `cluster-${cluster}`;

function assignmentOf(kind: number): Assignment {
  const priority = [100, 1_000, 1_000_000][kind]!;
  const fingerprint = `p=${priority}|ipb=12|rpb=12|reqs=|spr=`;
  return { fingerprint, group: '', priority, interruptionPenalty: 12, reclamationPenalty: 12 };
}

function fill(inventory: Inventory, random: Random): number {
  const nowMs = systemClock.nowMs();
  return timeMs(() => {
    for (let index = 0; index < MACHINES; index++) inventory.insert(machineOf(index, random), 0, nowMs);
  });
}

/** Drawn before the clock runs. */
function configuredSlots(inventory: Inventory, random: Random): Uint32Array {
  const configured = inventory.indexes.slotsInState(S.Configured);
  const slots = configured.slice(0, inventory.indexes.countInState(S.Configured));
  for (let last = slots.length - 1; last > 0; last--) {
    const other = random.below(last + 1);
    const held = slots[last]!;
    slots[last] = slots[other]!;
    slots[other] = held;
  }
  return slots.subarray(0, ROUND_TRIPS);
}

function roundTrips(inventory: Inventory, slots: Uint32Array, random: Random): number {
  const nowMs = systemClock.nowMs();
  const bindings = Array.from({ length: CLUSTERS }, (_, cluster) => ({
    state: S.Configuring,
    cluster: clusterOf(cluster),
    assignment: assignmentOf(cluster % 3),
  }));
  return timeMs(() => {
    for (const slot of slots) {
      inventory.move(slot, S.Draining, nowMs);
      inventory.move(slot, S.Idle, nowMs);
      inventory.apply(slot, bindings[random.below(CLUSTERS)]!, nowMs);
      inventory.move(slot, S.Configured, nowMs);
    }
  });
}

function lookUps(inventory: Inventory, random: Random): { readonly tookMs: number; readonly found: number } {
  const ids = Array.from({ length: LOOK_UPS }, () => inventory.idOf(1 + random.below(MACHINES)));
  let found = 0;
  const tookMs = timeMs(() => {
    for (const id of ids) if (inventory.find(id) !== 0) found++;
  });
  return { tookMs, found };
}

/** The cheapest idle machines, as a need that wants one would get them. */
function cheapestIdle(inventory: Inventory, count: number): Machine[] {
  const snapshot = inventory.snapshot();
  const { orders } = snapshot.inventory;
  const machines: Machine[] = [];
  for (const slot of orders.acquireOrder(S.Idle).subarray(0, count))
    machines.push(snapshot.inventory.get(slot));
  snapshot.close();
  return machines;
}

function timeMs(work: () => void): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}

/** Prices move: what a listing of spot machines brings every few seconds. */
function reprice(inventory: Inventory, random: Random): void {
  const nowMs = systemClock.nowMs();
  for (let change = 0; change < CHANGES_PER_CYCLE; change++) {
    const slot = 1 + random.below(MACHINES);
    inventory.apply(slot, { pricePerHourUsd: 0.25 + random.unit() * 4 }, nowMs);
  }
}

function report(what: string, figure: string, remark = ''): void {
  console.log(`  ${what.padEnd(52)} ${figure.padStart(9)}   ${remark}`.trimEnd());
}

const count = (value: number) => Math.round(value).toLocaleString('en-US');
const milliseconds = (ms: number) =>
  ms >= 1_000 ? `${(ms / 1_000).toFixed(2)} s` : `${ms.toPrecision(3)} ms`;
const nanoseconds = (ms: number, operations: number) => `${count((ms * 1e6) / operations)} ns`;

function main(): void {
  const random = new Random(1);
  const inventory = new Inventory({ vectors: new VectorTable(new DimensionTable()) });
  console.log(`\nFlotilla: ${count(MACHINES)} machines of ${count(CLUSTERS)} clusters in one process\n`);

  const fillMs = fill(inventory, random);
  report(
    'fill the inventory',
    milliseconds(fillMs),
    `${count((MACHINES / fillMs) * 1_000)} machines a second`,
  );

  const found = lookUps(inventory, random);
  report(
    `find ${count(LOOK_UPS)} random ids`,
    nanoseconds(found.tookMs, LOOK_UPS),
    `each; ${count(found.found)} found`,
  );

  const slots = configuredSlots(inventory, random);
  const moveCount = slots.length * 4;
  const moveMs = roundTrips(inventory, slots, random);
  report(
    `make ${count(moveCount)} random transitions`,
    nanoseconds(moveMs, moveCount),
    'each, checked and indexed; a quarter bind to a cluster',
  );

  let cheapest: Machine[] = [];
  const firstMs = timeMs(() => {
    cheapest = cheapestIdle(inventory, 3);
  });
  report(
    'ask for the cheapest idle machines, first time',
    milliseconds(firstMs),
    'ranks every id, sorts the idle ones',
  );

  const changeMs = timeMs(() => reprice(inventory, random));
  report(`change ${count(CHANGES_PER_CYCLE)} prices`, milliseconds(changeMs));
  const againMs = timeMs(() => {
    cheapest = cheapestIdle(inventory, 3);
  });
  report('ask again', milliseconds(againMs), 'a snapshot is the live columns: nothing is copied');

  console.log('\n  The cheapest now');
  for (const { id, pricePerHourUsd } of cheapest)
    console.log(`    ${id}  $${pricePerHourUsd.toFixed(3)} an hour`);
  console.log('\n  The fleet now');
  for (const state of ALL_STATES) {
    const machines = inventory.indexes.countInState(state);
    if (machines > 0) console.log(`    ${STATE_NAMES[state].padEnd(12)} ${count(machines).padStart(9)}`);
  }
  console.log(`    ${'shapes'.padEnd(12)} ${count(inventory.shapes.count).padStart(9)}`);
  console.log(
    `\n  ${count(process.memoryUsage().rss / 1e6)} MB resident. This is the inventory alone; README.md says what else there is.\n`,
  );
}

main();
