/**
 * The inventory: every machine of the shard, in shared columns with live indexes (docs/adr/0002, 0003). This class takes
 * and returns objects, for code that handles one machine at a time; row-store.ts has the same operations in numbers and
 * refs.
 *
 * Only the main thread writes. A snapshot costs nothing: it is the live columns, which no code may write while it is open;
 * `guards` asserts that. Workers attach an InventoryReader to `share()`.
 */
import { assert } from '../base/assert.ts';
import type { SharedKeyTable } from '../base/key-table.ts';
import type { SharedStringTable } from '../base/string-table.ts';
import { ownerOf } from '../base/table-shares.ts';
import { Utf8Scratch } from '../base/utf8.ts';
import { type CapacityType, isCapacityType } from '../machine/capacity-type.ts';
import {
  type Assignment,
  type HostRef,
  InvalidMachineError,
  type Machine,
  type ResourceAmounts,
} from '../machine/machine.ts';
import type { MachineState } from '../machine/state.ts';
import { type Binding, emptyBinding, hasAssignment, loadBinding } from './binding.ts';
import type { InventoryColumns } from './columns.ts';
import { WrongSlotError } from './errors.ts';
import type { SharedHosts } from './hosts.ts';
import type { Flag, Intent } from './intent.ts';
import { MachineRow } from './machine-row.ts';
import { enqueueIntent, restartRow, settleIntent, writeFlag } from './row-intents.ts';
import { RowStore } from './row-store.ts';
import { parseOwnLabels } from './shape-key-reader.ts';
import type { Shape, ShapeTable } from './shapes.ts';
import type { InventoryOptions } from './tables.ts';

/** A field that is absent keeps its value, unless a rule clears it (binding.ts). */
export interface MachineChange {
  readonly state?: MachineState;
  readonly host?: HostRef | null;
  readonly instanceType?: string;
  readonly zone?: string;
  readonly capacityType?: CapacityType;
  readonly pricePerHourUsd?: number;
  readonly interruptionProbability?: number;
  readonly capacity?: ResourceAmounts;
  readonly labels?: Readonly<Record<string, string>>;
  readonly cluster?: string;
  readonly assignment?: Assignment | null;
  readonly lastError?: string;
}

export interface ApplyOptions {
  /** S2: a confirmed observation overrides the transition table. Skips that check and no other. */
  readonly force?: boolean;
  /** Refuse if the slot has passed to another machine since this generation. */
  readonly generation?: number;
}

/** The live inventory at one moment: valid until it is closed. No code may write before that. */
export interface InventorySnapshot {
  readonly inventory: Omit<Inventory, 'insert' | 'insertRow' | 'apply' | 'applyRow' | 'move' | 'remove'>;
  close(): void;
}

/** A copy of the columns and the tables that they refer to; can be posted to another thread. */
export interface InventoryCopy {
  /** For InventoryColumns.open. */
  readonly buffer: SharedArrayBuffer;
  readonly shapes: readonly Shape[];
  /** By vector ref, of the shapes' capacities. */
  readonly capacities: ReadonlyMap<number, ResourceAmounts>;
}

/** For InventoryReader.attach in a worker; can be posted. */
export interface SharedInventory {
  readonly columns: SharedArrayBuffer;
  readonly ids: SharedKeyTable;
  readonly hosts: SharedHosts;
  readonly texts: SharedStringTable;
  readonly shapeKeys: SharedStringTable;
  readonly clusters: SharedStringTable;
  readonly fingerprints: SharedStringTable;
  readonly groups: SharedStringTable;
  readonly ownLabelKeys: readonly string[];
}

export class Inventory extends RowStore {
  readonly #guards: boolean;
  readonly #row = new MachineRow();
  readonly #idScratch = new Utf8Scratch();
  readonly #hostScratch = new Utf8Scratch();
  readonly #taken = { shape: 0, texts: [0, 0], binding: emptyBinding() };
  readonly #binding = emptyBinding();
  /** T1: whose shares the texts of `#row` count for. */
  #owner = 0;
  #openSnapshots = 0;

  constructor(options: InventoryOptions) {
    super(options);
    this.#guards = options.guards ?? false;
  }

  get shapes(): ShapeTable {
    return this.tables.shapes;
  }

  /** The slot of an id, 0 if there is none. */
  find(machineId: string): number {
    const end = this.#idScratch.write(machineId);
    return this.findBytes(this.#idScratch.bytes, 0, end);
  }

  /** `provider` is the index of the configured provider that listed it. */
  insert(machine: Machine, provider: number, nowMs: number): number {
    const { id } = machine;
    checkFacts(id, machine.capacityType, machine.capacity);
    const row = this.#row;
    this.#owner = ownerOf(provider);
    try {
      this.#fillShape(
        machine.instanceType,
        machine.zone,
        machine.capacityType,
        machine.labels,
        machine.capacity,
      );
      row.state = machine.state;
      row.pricePerHourUsd = machine.pricePerHourUsd;
      row.interruptionProbability = machine.interruptionProbability;
      this.#fillHost(machine.host);
      this.#fillCluster(machine.cluster);
      this.#fillAssignment(machine.assignment);
      this.#fillLastError(machine.lastError);
      const end = this.#idScratch.write(id);
      return this.insertRow(this.#idScratch.bytes, 0, end, row, provider, nowMs);
    } finally {
      this.#releaseTaken();
    }
  }

  /** Whether anything changed. */
  apply(slot: number, change: MachineChange, nowMs: number, options: ApplyOptions = {}): boolean {
    if (options.generation !== undefined && !this.isCurrent(slot, options.generation)) {
      throw new WrongSlotError(slot, 'has passed to another machine');
    }
    const { columns } = this;
    const state = this.stateOf(slot);
    const row = this.#row;
    this.#owner = ownerOf(columns.provider[slot]!);
    row.state = change.state ?? state;
    row.pricePerHourUsd = change.pricePerHourUsd ?? columns.pricePerHourUsd[slot]!;
    row.interruptionProbability = change.interruptionProbability ?? columns.interruptionProbability[slot]!;
    row.saysHost = row.saysCluster = row.saysAssignment = row.saysLastError = false;
    try {
      if (changesShape(change)) this.#fillChangedShape(slot, change);
      else {
        row.shape = columns.shape[slot]!;
        row.ownLabels = columns.ownLabels[slot]!;
      }
      if (change.host !== undefined) this.#fillHost(change.host);
      if (change.cluster !== undefined) this.#fillCluster(change.cluster);
      if (change.assignment !== undefined) this.#fillAssignment(change.assignment);
      if (change.lastError !== undefined) this.#fillLastError(change.lastError);
      return this.applyRow(slot, row, nowMs, options.force ?? false);
    } finally {
      this.#releaseTaken();
    }
  }

  get(slot: number): Machine {
    const { columns, tables } = this;
    const state = this.stateOf(slot);
    const shape = tables.shapes.get(columns.shape[slot]!);
    return {
      id: this.idOf(slot),
      state,
      host: tables.hosts.get(columns.host[slot]!),
      instanceType: shape.instanceType,
      zone: shape.zone,
      capacityType: shape.capacityType,
      pricePerHourUsd: columns.pricePerHourUsd[slot]!,
      interruptionProbability: columns.interruptionProbability[slot]!,
      capacity: tables.shapes.vectors.amountsOf(shape.capacity),
      labels: this.labelsOf(slot),
      cluster: tables.clusters.get(columns.cluster[slot]!),
      assignment: this.assignmentOf(slot),
      lastError: tables.texts.get(columns.lastError[slot]!),
    };
  }

  /** All labels of a machine, its own ones too. */
  labelsOf(slot: number): Record<string, string> {
    const { columns, tables } = this;
    const labels = Object.fromEntries(tables.shapes.get(columns.shape[slot]!).labels);
    const own = columns.ownLabels[slot]!;
    if (own === 0) return labels;
    const bytes = new Uint8Array(tables.texts.byteLength(own));
    tables.texts.copyBytes(own, bytes, 0);
    return Object.assign(labels, parseOwnLabels(bytes, bytes.length, tables.ownLabelKeys));
  }

  /** Null if the machine has none. An assignment without any value counts as none. */
  assignmentOf(slot: number): Assignment | null {
    const binding = this.#binding;
    loadBinding(this.columns, slot, binding);
    if (!hasAssignment(binding)) return null;
    return {
      fingerprint: this.tables.fingerprints.get(binding.need),
      group: this.tables.groups.get(binding.group),
      priority: binding.priority,
      interruptionPenalty: binding.interruptionPenalty,
      reclamationPenalty: binding.reclamationPenalty,
    };
  }

  /** X1: one action per machine, counted from the moment it is enqueued. Bootstrap and Provision bind the row at once. */
  setIntent(slot: number, intent: Intent, cluster = '', assignment: Assignment | null = null): void {
    this.#owner = 0;
    try {
      this.#fillCluster(cluster);
      this.#fillAssignment(assignment);
      this.setIntentRefs(slot, intent, cluster === '' ? undefined : this.#row);
    } finally {
      this.#releaseTaken();
    }
  }

  /** The same with refs that the caller holds. */
  setIntentRefs(slot: number, intent: Intent, binding?: Binding, isWaiting = false): void {
    enqueueIntent(this, slot, intent, binding, isWaiting);
  }

  clearIntent(slot: number): void {
    settleIntent(this, slot);
  }

  setFlag(slot: number, flag: Flag, on: boolean): void {
    writeFlag(this, slot, flag, on);
  }

  /** F4: as if every machine had been inserted at this moment by the first listing after a start. */
  beginAgain(nowMs: number): void {
    const { columns } = this;
    for (let slot = 1; slot < columns.slotLimit; slot++) {
      if (columns.state[slot] !== 0) restartRow(this, slot, nowMs);
    }
  }

  /** Whether the machine has one of these flags. */
  hasFlag(slot: number, flags: number): boolean {
    return (this.columns.flags[slot]! & flags) !== 0;
  }

  /** O(1): the live columns and indexes, until it is closed. */
  snapshot(): InventorySnapshot {
    this.#openSnapshots++;
    let isOpen = true;
    return {
      inventory: this,
      close: () => {
        if (isOpen) this.#openSnapshots--;
        isOpen = false;
      },
    };
  }

  /** For readers that outlive the cycle: later writes do not affect it. */
  snapshotCopy(): InventoryCopy {
    this.ensureRanks();
    const shapes: Shape[] = [];
    const capacities = new Map<number, ResourceAmounts>();
    for (let ref = 1; ref < this.shapes.refLimit; ref++) {
      if (!this.shapes.isHeld(ref)) continue;
      const shape = this.shapes.get(ref);
      shapes.push(shape);
      capacities.set(shape.capacity, this.shapes.vectors.amountsOf(shape.capacity));
    }
    return { buffer: this.columns.copy().buffer, shapes, capacities };
  }

  share(): SharedInventory {
    const { tables } = this;
    return {
      columns: this.columns.buffer,
      ids: tables.ids.share(),
      hosts: tables.hosts.share(),
      texts: tables.texts.share(),
      shapeKeys: tables.shapes.shareKeys(),
      clusters: tables.clusters.share(),
      fingerprints: tables.fingerprints.share(),
      groups: tables.groups.share(),
      ownLabelKeys: tables.ownLabelKeys,
    };
  }

  override guardWrite(): void {
    if (this.#guards) assert(this.#openSnapshots === 0, 'no code writes while a snapshot is open');
  }

  #fillShape(
    instanceType: string,
    zone: string,
    capacityType: CapacityType,
    labels: Readonly<Record<string, string>>,
    capacity: ResourceAmounts,
  ): void {
    const { shapes, texts } = this.tables;
    const { builder } = shapes;
    const shape = shapes.intern(instanceType, zone, capacityType, labels, capacity, this.#owner);
    this.#row.shape = this.#taken.shape = shape;
    const ownLabels = texts.internBytes(builder.ownBytes, 0, builder.ownLength, this.#owner);
    this.#row.ownLabels = this.#taken.texts[0] = ownLabels;
  }

  #fillChangedShape(slot: number, change: MachineChange): void {
    const shape = this.shapes.get(this.columns.shape[slot]!);
    const capacityType = change.capacityType ?? shape.capacityType;
    const capacity = change.capacity ?? this.shapes.vectors.amountsOf(shape.capacity);
    checkFacts(this.idOf(slot), capacityType, capacity);
    this.#fillShape(
      change.instanceType ?? shape.instanceType,
      change.zone ?? shape.zone,
      capacityType,
      change.labels ?? this.labelsOf(slot),
      capacity,
    );
  }

  #fillHost(host: HostRef | null): void {
    const row = this.#row;
    const scratch = this.#hostScratch;
    row.saysHost = true;
    row.hasHost = host !== null;
    if (host === null) return;
    row.hostProviderStart = 0;
    row.hostProviderEnd = row.hostRefStart = scratch.write(host.provider);
    row.hostRefEnd = scratch.write(host.ref, row.hostRefStart);
    row.hostProviderBytes = row.hostRefBytes = scratch.bytes;
  }

  #fillCluster(cluster: string): void {
    this.#row.saysCluster = true;
    this.#row.cluster = this.#taken.binding.cluster = this.tables.clusters.intern(cluster, this.#owner);
  }

  #fillAssignment(assignment: Assignment | null): void {
    const row = this.#row;
    const taken = this.#taken.binding;
    row.saysAssignment = true;
    row.need = taken.need = this.tables.fingerprints.intern(assignment?.fingerprint ?? '', this.#owner);
    row.group = taken.group = this.tables.groups.intern(assignment?.group ?? '', this.#owner);
    row.priority = assignment?.priority ?? 0;
    row.interruptionPenalty = assignment?.interruptionPenalty ?? 0;
    row.reclamationPenalty = assignment?.reclamationPenalty ?? 0;
  }

  #fillLastError(lastError: string): void {
    this.#row.saysLastError = true;
    this.#row.lastError = this.#taken.texts[1] = this.tables.texts.intern(lastError, this.#owner);
  }

  /** The row in the columns has its own references by now: releases those taken to fill `#row`. */
  #releaseTaken(): void {
    const { tables } = this;
    const taken = this.#taken;
    if (taken.shape !== 0) tables.shapes.release(taken.shape);
    tables.texts.release(taken.texts[0]!);
    tables.texts.release(taken.texts[1]!);
    tables.releaseBinding(taken.binding);
    taken.shape = taken.texts[0] = taken.texts[1] = 0;
    taken.binding.cluster = taken.binding.need = taken.binding.group = 0;
  }
}

function changesShape(change: MachineChange): boolean {
  return (
    change.instanceType !== undefined ||
    change.zone !== undefined ||
    change.capacityType !== undefined ||
    change.capacity !== undefined ||
    change.labels !== undefined
  );
}

function checkFacts(machineId: string, capacityType: number, capacity: ResourceAmounts): void {
  const refuse = (what: string) => new InvalidMachineError(machineId, 'structural', what);
  if (!isCapacityType(capacityType)) throw refuse(`unknown capacity type ${capacityType}`);
  for (const name of Object.keys(capacity)) {
    const units = capacity[name]!;
    if (!Number.isSafeInteger(units) || units < 0)
      throw refuse(`${name} is ${units} units, which is not a valid amount`);
  }
}

export type { Binding, InventoryColumns, InventoryOptions };
