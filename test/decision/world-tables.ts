/** Real tables for worlds of plain objects: a small inventory and need table, and functions that add machines and needs. */
import { DimensionTable } from '../../src/base/dimensions.ts';
import { StringTable } from '../../src/base/string-table.ts';
import { ASSIGNED_FINGERPRINT_BYTES_MAX, ASSIGNED_GROUP_BYTES_MAX } from '../../src/base/text-limits.ts';
import { VectorTable } from '../../src/base/vectors.ts';
import type { Engine } from '../../src/decision/engine.ts';
import { Flag, Intent } from '../../src/inventory/intent.ts';
import { Inventory } from '../../src/inventory/inventory.ts';
import type { Machine } from '../../src/machine/machine.ts';
import { MachineState } from '../../src/machine/state.ts';
import { NeedTable } from '../../src/needs/need-table.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import type { Amounts, IntentKind, WorldMachine, WorldNeed } from '../oracle/world.ts';

const S = MachineState;
const HOSTLESS: readonly MachineState[] = [S.Speculative, S.Creating];
const MACHINES_MAX = 256;

export const INTENTS: Record<IntentKind, Intent> = {
  none: Intent.None,
  bootstrap: Intent.Bootstrap,
  provision: Intent.Provision,
  reclaim: Intent.Reclaim,
  preempt: Intent.Preempt,
  delete: Intent.Delete,
};

export interface Tables {
  readonly inventory: Inventory;
  readonly needs: NeedTable;
}

export interface TablesOptions {
  readonly ownLabelKeys?: readonly string[];
  readonly machinesMax?: number;
}

export function makeTables({ ownLabelKeys, machinesMax = MACHINES_MAX }: TablesOptions = {}): Tables {
  const vectors = new VectorTable(new DimensionTable());
  const clusters = StringTable.create({ name: 'clusters', entriesMax: 64, bytesMax: 16_384 });
  const fingerprints = StringTable.create({
    name: 'fingerprints',
    entriesMax: 4096,
    bytesMax: 1 << 20,
    textBytesMax: ASSIGNED_FINGERPRINT_BYTES_MAX,
  });
  const groups = StringTable.create({
    name: 'groups',
    entriesMax: 4096,
    bytesMax: 1 << 18,
    textBytesMax: ASSIGNED_GROUP_BYTES_MAX,
  });
  const inventory = new Inventory({
    vectors,
    clusters,
    fingerprints,
    groups,
    machinesMax,
    guards: true,
    ...(ownLabelKeys === undefined ? {} : { ownLabelKeys }),
  });
  const needs = new NeedTable({ clusters, fingerprints, groups, vectors, quarantine: false });
  return { inventory, needs };
}

/** Inserts a machine with its enqueued action and the need that it drains for. Returns its slot. */
export function insertMachine(inventory: Inventory, engine: Engine, machine: WorldMachine): number {
  const slot = inventory.insert(recordOf(machine), 0, machine.stateSinceMs);
  if (machine.state === S.Creating && machine.assignment !== null) {
    const { cluster } = machine.assignment;
    inventory.apply(slot, { cluster, assignment: machine.assignment }, machine.stateSinceMs);
  }
  if (machine.intent !== 'none') enqueueIntent(inventory, slot, machine);
  setFlags(inventory, slot, machine);
  noteDrain(inventory, engine, slot, machine);
  return slot;
}

export function enqueueIntent(
  inventory: Inventory,
  slot: number,
  { intent, assignment }: WorldMachine,
): void {
  const isBinding = intent === 'bootstrap' || intent === 'provision';
  inventory.setIntent(
    slot,
    INTENTS[intent],
    isBinding ? assignment!.cluster : '',
    isBinding ? assignment : null,
  );
}

export function setFlags(inventory: Inventory, slot: number, machine: WorldMachine): void {
  for (const [flag, on] of [
    [Flag.Stuck, machine.stuck],
    [Flag.Backoff, machine.backoff],
    [Flag.FoundDraining, machine.foundDraining],
    [Flag.Waiting, machine.waiting],
    [Flag.NotAcquired, machine.pauses?.includes('acquire') === true],
    [Flag.NotReclaimed, machine.pauses?.includes('reclaim') === true],
    [Flag.NotPreempted, machine.pauses?.includes('preempt') === true && machine.state === S.Configured],
    [Flag.Leaving, machine.leaving !== undefined],
    [Flag.LeavingNow, machine.leaving === 'now'],
    [Flag.Cordoned, machine.cordoned === true],
    [Flag.Releasing, machine.releasing === true],
    [Flag.NotReleased, machine.pauses?.includes('release') === true],
  ] as const) {
    if (inventory.hasFlag(slot, flag) !== on) inventory.setFlag(slot, flag, on);
  }
}

export function noteDrain(
  inventory: Inventory,
  engine: Engine,
  slot: number,
  { drainFor }: WorldMachine,
): void {
  if (drainFor === null) return;
  const { clusters, fingerprints, groups } = inventory.tables;
  const cluster = clusters.intern(drainFor.cluster);
  const fingerprint = fingerprints.intern(drainFor.fingerprint);
  const group = groups.intern(drainFor.group);
  engine.preemptionBegan(slot, cluster, fingerprint, group);
  clusters.release(cluster);
  fingerprints.release(fingerprint);
  groups.release(group);
}

/** Sends one roll-up per arrival time, because a need's arrival is the time of the roll-up that first contained it. */
export function acceptAsArrived(
  needs: NeedTable,
  clusterId: string,
  kept: readonly WorldNeed[],
  arrived: readonly WorldNeed[],
): void {
  const sent = [...kept];
  needs.accept(clusterId, sent.map(rollupRowOf), 0, 0);
  for (const arrivalMs of [...new Set(arrived.map((need) => need.arrivalMs))].sort((a, b) => a - b)) {
    sent.push(...arrived.filter((need) => need.arrivalMs === arrivalMs));
    needs.accept(clusterId, sent.map(rollupRowOf), arrivalMs, 0);
  }
}

export function recordOf(machine: WorldMachine): Machine {
  const { state, assignment } = machine;
  const isBound =
    state === S.Configuring || state === S.Configured || state === S.Draining || state === S.Failed;
  return {
    id: machine.id,
    state,
    host: HOSTLESS.includes(state) ? null : { provider: 'test', ref: machine.id },
    instanceType: machine.instanceType,
    zone: machine.zone,
    capacityType: machine.capacityType,
    pricePerHourUsd: machine.price,
    interruptionProbability: machine.probability,
    capacity: machine.capacity,
    labels: machine.labels,
    cluster: isBound ? (assignment?.cluster ?? '') : '',
    assignment: isBound ? assignment : null,
    lastError: state === S.Failed ? 'broken' : '',
  };
}

export function rollupRowOf(need: WorldNeed): RollupRow {
  return {
    requirements: need.requirements,
    spread: need.spread.map(({ key, maxSkew, whenUnsatisfiable }) => ({
      topologyKey: key,
      maxSkew,
      whenUnsatisfiable,
    })),
    priority: need.priority,
    interruptionBucket: need.interruptionPenalty,
    reclamationBucket: need.reclamationPenalty,
    aggregate: quantities(need.aggregate),
    minUnit: quantities(need.minUnit),
    group: need.group,
  };
}

function quantities(amounts: Amounts): Record<string, string> {
  const text = (name: string, units: number) => `${units}${name === 'memory' ? 'Ki' : 'm'}`;
  return Object.fromEntries(Object.entries(amounts).map(([name, units]) => [name, text(name, units)]));
}
