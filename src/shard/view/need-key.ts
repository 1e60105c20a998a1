/**
 * A need's place in the order of all needs, as values and not as a position in a table: a page that begins after such a key
 * stays right however the tables change. As text it is the cursor of a page. N4: priority, then arrival, then cluster,
 * fingerprint and group.
 */
import { compareBytewise } from '../../base/dimensions.ts';
import { ShardError } from '../../base/errors.ts';
import type { NeedTable } from '../../needs/need-table.ts';

export interface NeedKey {
  readonly priority: number;
  readonly arrivalMs: number;
  readonly clusterId: string;
  readonly fingerprint: string;
  readonly group: string;
  /** Needs of equal name before it: profiles with unusual label values may have the same text. */
  readonly twin: number;
}

export class BadCursorError extends ShardError {
  readonly code = 'bad_cursor';
  readonly next = 'reject-input';

  constructor() {
    super(
      'The cursor is not valid: a cursor is the `next` of the page before, unchanged. ' +
        'The shard read nothing. Leave the cursor out to begin with the first page.',
    );
  }
}

export function encodeCursor(key: NeedKey): string {
  const parts = [key.priority, key.arrivalMs, key.twin, key.clusterId, key.fingerprint, key.group];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

export function decodeCursor(text: string): NeedKey {
  const parts = parse(text);
  if (!Array.isArray(parts) || parts.length !== 6) throw new BadCursorError();
  const [priority, arrivalMs, twin, clusterId, fingerprint, group] = parts;
  if (![priority, arrivalMs, twin].every((part) => typeof part === 'number')) throw new BadCursorError();
  if (![clusterId, fingerprint, group].every((part) => typeof part === 'string')) throw new BadCursorError();
  return { priority, arrivalMs, clusterId, fingerprint, group, twin };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return null;
  }
}

/** How many of these ordered rows of a cluster come at or before the key. */
export function rowsUpTo(
  needs: NeedTable,
  groups: { get(ref: number): string },
  start: number,
  clusterId: string,
  rows: RowList,
  key: NeedKey,
): number {
  const ofCluster = compareBytewise(clusterId, key.clusterId);
  const compare = (row: number): number => {
    const profile = needs.profiles.get(needs.profile[start + row]!);
    return (
      key.priority - profile.priority ||
      needs.arrivalMs[start + row]! - key.arrivalMs ||
      ofCluster ||
      compareBytewise(profile.fingerprint, key.fingerprint) ||
      compareBytewise(groups.get(needs.group[start + row]!), key.group)
    );
  };
  let low = 0;
  let high = rows.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(rows.at(middle)) < 0) low = middle + 1;
    else high = middle;
  }
  for (let twin = 0; twin <= key.twin && low < rows.count && compare(rows.at(low)) === 0; twin++) low++;
  return low;
}

/** Rows of a cluster's slice, in order: all of them, or some. */
export interface RowList {
  readonly count: number;
  at(position: number): number;
}

export function allRows(count: number): RowList {
  return { count, at: (position) => position };
}

export function someRows(rows: Uint32Array): RowList {
  return { count: rows.length, at: (position) => rows[position]! };
}
