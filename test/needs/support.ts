/** Small tables and rows for tests of demand. */
import { DimensionTable } from '../../src/base/dimensions.ts';
import { StringTable } from '../../src/base/string-table.ts';
import { VectorTable } from '../../src/base/vectors.ts';
import { NeedTable } from '../../src/needs/need-table.ts';
import { Operator, type Requirement } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';

export function strings(name: string, entriesMax = 4_096): StringTable {
  return StringTable.create({ name, entriesMax, bytesMax: 64 * entriesMax + 4_096 });
}

export interface Demand {
  readonly table: NeedTable;
  readonly clusters: StringTable;
  readonly fingerprints: StringTable;
  readonly groups: StringTable;
  readonly vectors: VectorTable;
}

export function demand(
  options: { quarantine?: boolean; groupsMax?: number; takeUpRows?: number } = {},
): Demand {
  const clusters = strings('clusters');
  const fingerprints = strings('fingerprints');
  const groups = strings('groups', options.groupsMax);
  const vectors = new VectorTable(new DimensionTable());
  const quarantine = options.quarantine ?? true;
  const { takeUpRows = Number.POSITIVE_INFINITY } = options;
  const table = new NeedTable({ clusters, fingerprints, groups, vectors, quarantine, takeUpRows });
  return { table, clusters, fingerprints, groups, vectors };
}

/** A capacity of machines with these resources; returns its vector. */
export function supply({ vectors }: Demand, names: readonly string[]): number {
  const capacity = vectors.intern(Object.fromEntries(names.map((name) => [name, 1])));
  vectors.changeSupply(capacity, 1);
  return capacity;
}

export function row(parts: Partial<RollupRow> = {}): RollupRow {
  return {
    requirements: [],
    aggregate: { cpu: '8' },
    minUnit: {},
    priority: 100,
    spread: [],
    interruptionBucket: 1,
    reclamationBucket: 1,
    group: '',
    ...parts,
  };
}

export function isIn(key: string, ...values: string[]): Requirement {
  return { key, operator: Operator.In, values };
}

export function isSame(key: string, ...values: string[]): Requirement {
  return { key, operator: Operator.Same, values };
}

/** Rows that differ in their group only. */
export function rowsOf(count: number): RollupRow[] {
  return Array.from({ length: count }, (_, index) => row({ group: `group-${index}` }));
}

export interface ReadNeed {
  readonly fingerprint: string;
  readonly group: string;
  readonly priority: number;
  readonly aggregate: Readonly<Record<string, number>>;
  readonly minUnit: Readonly<Record<string, number>>;
  readonly arrivalMs: number;
}

/** A cluster's needs in the order of the table. */
export function needsOf({ table, clusters, groups, vectors }: Demand, clusterId: string): ReadNeed[] {
  const cluster = clusters.find(clusterId);
  const start = table.sliceStart(cluster);
  return Array.from({ length: table.sliceCount(cluster) }, (_, position) => {
    const profile = table.profiles.get(table.profile[start + position]!);
    return {
      fingerprint: profile.fingerprint,
      group: groups.get(table.group[start + position]!),
      priority: profile.priority,
      aggregate: vectors.amountsOf(table.aggregate[start + position]!),
      minUnit: vectors.amountsOf(table.minUnit[start + position]!),
      arrivalMs: table.arrivalMs[start + position]!,
    };
  });
}

export function dirtyOf({ table, clusters }: Demand): string[] {
  const refs: number[] = [];
  table.takeDirty(refs);
  return refs.map((ref) => clusters.get(ref)).sort();
}

/** References that are still held; a test expects none. */
export function leftovers({ table, fingerprints, groups, vectors }: Demand): Record<string, number> {
  return {
    needs: table.count,
    profiles: table.profiles.count,
    requirementSets: table.profiles.requirementSets.count,
    fingerprints: fingerprints.count,
    groups: groups.count,
    vectors: vectors.count,
  };
}

export const NOTHING_LEFT = {
  needs: 0,
  profiles: 0,
  requirementSets: 0,
  fingerprints: 0,
  groups: 0,
  vectors: 0,
};
