/**
 * The tables of a shard, created before the parts that use them: worker threads attach to the inventory, and needs and
 * machines share their strings, so that a cluster, a fingerprint or a group is one number on both sides.
 */
import { DimensionTable } from '../base/dimensions.ts';
import { StringTable } from '../base/string-table.ts';
import { ASSIGNED_FINGERPRINT_BYTES_MAX, ASSIGNED_GROUP_BYTES_MAX } from '../base/text-limits.ts';
import { VectorTable } from '../base/vectors.ts';
import { Inventory } from '../inventory/inventory.ts';
import { NeedTable } from '../needs/need-table.ts';
import { TAKE_UP_ROWS } from '../needs/take-up.ts';
import { TABLE_SHARE_DEFAULT } from '../needs/tenant-limits.ts';

export interface ShardTables {
  readonly inventory: Inventory;
  readonly needs: NeedTable;
}

/** A ref of a cluster is a u16 in the columns. */
const CLUSTERS_MAX = 65_535;
const CLUSTER_ID_BYTES_MAX = 256;
/** Clusters share profiles: the largest fleets seen have thousands. */
const FINGERPRINTS_MAX = 262_144;
const FINGERPRINT_BYTES = 512;
/** Most needs have their own group, 640,000 in the largest fleets, and a new roll-up's groups coexist with the old one's. */
const GROUPS_MAX = 3_145_728;
const GROUPS_PER_MACHINE_MAX = 3;
/** Tables of a small shard have at least this many entries. */
const ENTRIES_MIN_DEFAULT = 16_384;
const GROUP_BYTES = 64;

export interface TablesOptions {
  readonly machinesMax: number;
  readonly hasRollupGuard: boolean;
  /** T1: largest share of each table that one cluster may have. */
  readonly tableShare?: number;
  /** Assert that no part writes while a cycle decides. */
  readonly guards?: boolean;
  /** For tests that create thousands of small shards: the smallest tables, and the rows of a cluster that always fit in them. */
  readonly entriesMin?: number;
  readonly shareRowsMin?: number;
  /** T7: for tests: rows of a roll-up that one cycle takes up. */
  readonly takeUpRows?: number;
}

export function createTables(options: TablesOptions): ShardTables {
  const { machinesMax, hasRollupGuard, guards = false, entriesMin = ENTRIES_MIN_DEFAULT } = options;
  const { tableShare = TABLE_SHARE_DEFAULT } = options;
  const vectors = new VectorTable(new DimensionTable());
  const sized = (entriesMax: number, perMachine: number) =>
    Math.min(entriesMax, Math.max(entriesMin, machinesMax * perMachine));
  const clusters = strings('clusters', sized(CLUSTERS_MAX, 1), CLUSTER_ID_BYTES_MAX);
  const fingerprints = strings(
    'fingerprints',
    sized(FINGERPRINTS_MAX, 1),
    FINGERPRINT_BYTES,
    ASSIGNED_FINGERPRINT_BYTES_MAX,
  );
  const groups = strings(
    'groups',
    sized(GROUPS_MAX, GROUPS_PER_MACHINE_MAX),
    GROUP_BYTES,
    ASSIGNED_GROUP_BYTES_MAX,
  );
  const inventory = new Inventory({ vectors, machinesMax, clusters, fingerprints, groups, guards });
  const quarantine = hasRollupGuard;
  const needs = new NeedTable({
    clusters,
    fingerprints,
    groups,
    vectors,
    quarantine,
    tableShare,
    takeUpRows: options.takeUpRows ?? TAKE_UP_ROWS,
    ...(options.shareRowsMin === undefined ? {} : { shareRowsMin: options.shareRowsMin }),
  });
  return { inventory, needs };
}

function strings(name: string, entriesMax: number, bytesEach: number, textBytesMax?: number): StringTable {
  const bytesMax = entriesMax * bytesEach;
  return StringTable.create({ name, entriesMax, bytesMax, ...(textBytesMax && { textBytesMax }) });
}
