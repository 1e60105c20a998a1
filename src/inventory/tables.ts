/**
 * The tables that rows refer to, and the references that a row holds. The caller may pass the tables that machines and
 * needs share (clusters, fingerprints, groups), so that both compare by ref; the inventory owns the rest. Sizes are
 * virtual: pages that were never touched cost nothing.
 */
import { assert } from '../base/assert.ts';
import { KeyTable } from '../base/key-table.ts';
import { StringTable } from '../base/string-table.ts';
import { type SharedAmong, TableShares } from '../base/table-shares.ts';
import { ASSIGNED_FINGERPRINT_BYTES_MAX, ASSIGNED_GROUP_BYTES_MAX } from '../base/text-limits.ts';
import type { VectorTable } from '../base/vectors.ts';
import type { Binding } from './binding.ts';
import { Hosts } from './hosts.ts';
import { OWN_LABEL_KEYS_DEFAULT } from './shape-key.ts';
import { SHAPES_MAX_DEFAULT, ShapeTable } from './shapes.ts';

export const MACHINES_MAX_DEFAULT = 1_048_576;
/** Clusters are u16 in the columns. */
export const CLUSTERS_MAX = 65_535;
/** Ids and hosts are 20 to 30 bytes long; this leaves four times that. */
const BYTES_PER_MACHINE_MAX_DEFAULT = 128;
/** Profiles repeat over clusters: a fleet has hundreds to thousands of fingerprints. */
const FINGERPRINTS_MAX_DEFAULT = 131_072;
/** Twice, because readers of changes hold the shape that a machine just left for a moment. */
const SHAPES_PER_MACHINE_MAX = 2;
/** T1: of the tables that machines and needs share, providers leave half to demand, which T1 divides among clusters. */
const DEMAND_RESERVE = 0.5;

export interface InventoryOptions {
  readonly vectors: VectorTable;
  readonly machinesMax?: number;
  readonly shapesMax?: number;
  /** Labels that are unique per machine and stay out of shapes. */
  readonly ownLabelKeys?: readonly string[];
  /** Shared with the needs; at most 65,535 clusters. */
  readonly clusters?: StringTable;
  readonly fingerprints?: StringTable;
  readonly groups?: StringTable;
  /** Restored texts (image.ts). */
  readonly texts?: StringTable;
  readonly shapeKeys?: StringTable;
  /** Bytes of ids, of hosts, and of errors and own labels: this many each, on average. */
  readonly bytesPerMachineMax?: number;
  /** Assert that no code writes while a snapshot is open. */
  readonly guards?: boolean;
}

export class InventoryTables {
  readonly machinesMax: number;
  readonly ownLabelKeys: readonly string[];
  /** Id → slot. */
  readonly ids: KeyTable;
  readonly hosts: Hosts;
  /** Errors and own labels. */
  readonly texts: StringTable;
  readonly shapes: ShapeTable;
  readonly clusters: StringTable;
  readonly fingerprints: StringTable;
  readonly groups: StringTable;
  /** T1: slots, and bytes of ids; null while one provider alone uses them. */
  rowShares: TableShares | null = null;

  constructor(options: InventoryOptions) {
    const machinesMax = options.machinesMax ?? MACHINES_MAX_DEFAULT;
    const bytesMax = machinesMax * (options.bytesPerMachineMax ?? BYTES_PER_MACHINE_MAX_DEFAULT);
    const shapesMax = options.shapesMax ?? Math.min(SHAPES_MAX_DEFAULT, machinesMax * SHAPES_PER_MACHINE_MAX);
    this.machinesMax = machinesMax;
    this.ownLabelKeys = options.ownLabelKeys ?? OWN_LABEL_KEYS_DEFAULT;
    this.ids = KeyTable.create(machinesMax, bytesMax);
    this.hosts = Hosts.create(bytesMax, machinesMax);
    this.texts =
      options.texts ??
      StringTable.create({ name: 'errors and own labels', entriesMax: 2 * machinesMax, bytesMax });
    const { vectors, shapeKeys } = options;
    this.shapes = new ShapeTable({
      vectors,
      shapesMax,
      ownLabelKeys: this.ownLabelKeys,
      ...(shapeKeys === undefined ? {} : { keys: shapeKeys }),
    });
    const clustersMax = Math.min(CLUSTERS_MAX, machinesMax);
    this.clusters = options.clusters ?? strings('clusters', clustersMax, clustersMax * 256);
    const fingerprintsMax = Math.min(FINGERPRINTS_MAX_DEFAULT, machinesMax);
    this.fingerprints =
      options.fingerprints ??
      strings('fingerprints', fingerprintsMax, fingerprintsMax * 1024, ASSIGNED_FINGERPRINT_BYTES_MAX);
    this.groups = options.groups ?? strings('groups', machinesMax, bytesMax, ASSIGNED_GROUP_BYTES_MAX);
    assert(this.clusters.entriesMax <= CLUSTERS_MAX, `at most ${CLUSTERS_MAX} clusters: a ref is a u16`);
  }

  /** T1: from now on each provider has a part of each table. Nothing is reserved before. */
  shareAmong(among: SharedAmong): void {
    const size = { name: 'machines', entriesMax: this.machinesMax, bytesMax: this.ids.arena.bytes.length };
    this.rowShares = TableShares.create(size, among);
    this.hosts.shareAmong(among);
    this.shapes.shareAmong(among);
    this.texts.shareAmong(among);
    for (const table of [this.clusters, this.fingerprints, this.groups])
      table.shareAmong(among, DEMAND_RESERVE);
  }

  retainRow(shape: number, binding: Binding, lastError: number, ownLabels: number): void {
    this.shapes.retain(shape);
    this.retainBinding(binding);
    this.texts.retain(lastError);
    this.texts.retain(ownLabels);
  }

  releaseRow(shape: number, binding: Binding, lastError: number, ownLabels: number): void {
    this.shapes.release(shape);
    this.releaseBinding(binding);
    this.texts.release(lastError);
    this.texts.release(ownLabels);
  }

  retainBinding(binding: Binding): void {
    this.clusters.retain(binding.cluster);
    this.fingerprints.retain(binding.need);
    this.groups.retain(binding.group);
  }

  releaseBinding(binding: Binding): void {
    this.releaseRefs(binding.cluster, binding.need, binding.group);
  }

  releaseRefs(cluster: number, need: number, group: number): void {
    this.clusters.release(cluster);
    this.fingerprints.release(need);
    this.groups.release(group);
  }
}

function strings(name: string, entriesMax: number, bytesMax: number, textBytesMax?: number): StringTable {
  return StringTable.create({ name, entriesMax, bytesMax, ...(textBytesMax && { textBytesMax }) });
}
