/**
 * Roll-ups of a hostile cluster: as large, as many and as different as the protocol lets them be. No machine has the label
 * that they ask for, so a roll-up that the shard accepts takes no machine from another cluster.
 */
import { Operator, type Requirement } from '../../needs/requirements.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import { EncodedRows, rollupFrame } from '../../operator-kit/frames.ts';

const LABEL = 'hostile.example/label';
const RACK = 'topology.kubernetes.io/rack';

export function hostileRow(parts: Partial<RollupRow> = {}): RollupRow {
  return {
    requirements: [labelled('none')],
    aggregate: { cpu: '1' },
    minUnit: { cpu: '1' },
    priority: 1,
    spread: [],
    interruptionBucket: 1,
    reclamationBucket: 1,
    group: '',
    ...parts,
  };
}

/** Gangs with a label value and a group each. */
export function gangs(count: number): RollupRow[] {
  const same = { key: RACK, operator: Operator.Same, values: [] };
  return indexes(count).map((index) =>
    hostileRow({ requirements: [same, labelled(`job-${index}`)], group: `job-${index}` }),
  );
}

/** Rows with a requirement set each. */
export function distinctProfiles(count: number, series = ''): RollupRow[] {
  return indexes(count).map((index) => hostileRow({ requirements: [labelled(`${series}value-${index}`)] }));
}

/** Rows with a profile each, and so many requirements that machines meet: none has the labels. */
export function manyRequirements(count: number, requirements: number): RollupRow[] {
  const absent = indexes(requirements).map((index) => ({
    key: `k${index}`,
    operator: Operator.DoesNotExist,
    values: [],
  }));
  return indexes(count).map((priority) => hostileRow({ requirements: absent, priority }));
}

/** Rows that differ in their group; 0 groups: the same row again and again. */
export function manyRows(count: number, groups: number): RollupRow[] {
  if (groups === 0) return new Array<RollupRow>(count).fill(hostileRow());
  return indexes(count).map((index) => hostileRow({ group: `g-${index % groups}` }));
}

/** A row of about this many bytes, in values of at most 1,000 bytes. */
export function wideRow(bytes: number, series = ''): RollupRow {
  const values = indexes(Math.ceil(bytes / 1_000)).map((index) =>
    `${series}${index}-`.padEnd(1_000 - 3, 'v'),
  );
  return hostileRow({ requirements: [labelled(...values)], group: series });
}

/** One row that asks for so many resources that no machine has. */
export function inventedNames(count: number, series = ''): RollupRow {
  const invented = indexes(count).map((index) => [`hostile.example/r${series}-${index}`, '1'] as const);
  return hostileRow({ aggregate: { cpu: '1', ...Object.fromEntries(invented) } });
}

/** The frame of a roll-up. */
export function frameOf(clusterId: string, rows: readonly RollupRow[]): Buffer {
  return Buffer.from(rollupFrame(clusterId, Date.now(), new EncodedRows(rows)).bytes); // a copy: the writer is reused
}

function labelled(...values: readonly string[]): Requirement {
  return { key: LABEL, operator: Operator.In, values };
}

function indexes(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
