/**
 * Selects the machines of a List: all of them or those that changed since a cursor, filtered by state, up to
 * a limit. Without a limit the order is that of the rows, the same each time, which readers use as a hint. A
 * limited listing is in order of change, and its revision is that of its last machine, so that the next
 * listing after this revision continues there.
 */
import type { Random } from '../../base/random.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import type { Fleet } from './fleet.ts';
import type { Removals } from './removals.ts';
import type { ListCall } from './requests.ts';
import type { ProviderSettings } from './settings.ts';

export interface SelectedRows {
  readonly rows: Uint32Array;
  /** Empty: this provider has no cursors. */
  readonly revision: Uint8Array;
  readonly deletedIds: readonly string[];
}

export interface ListingSource {
  readonly fleet: Fleet;
  readonly removals: Removals;
  readonly incarnation: number;
  readonly settings: Pick<ProviderSettings, 'cursors' | 'deletedIds'>;
}

const NO_REVISION = new Uint8Array(0);

/** Older than any change: a listing after it has all machines, in order of change. */
const BEFORE_ALL = -1;

export function selectListing(source: ListingSource, call: ListCall): SelectedRows {
  const { fleet } = source;
  const since = recognisedRevision(source, call.sinceRevision);
  const limit = call.maxResults ?? 0;
  let shown = keepStates(fleet, since === null ? fleet.rowsInPlace() : fleet.rowsChangedAfter(since), call);
  let revision = fleet.revision;
  if (limit > 0 && shown.length > limit) {
    if (since === null) shown = keepStates(fleet, fleet.rowsChangedAfter(BEFORE_ALL), call);
    shown = shown.subarray(0, limit);
    revision = fleet.changedAt[shown[limit - 1]!]!;
  }
  return {
    rows: shown,
    revision: source.settings.cursors ? encodeCursor(source.incarnation, revision) : NO_REVISION,
    deletedIds: since === null || !source.settings.deletedIds ? [] : removedBetween(source, since, revision),
  };
}

/** As a provider lists that reads a hash map. The revision of a limited listing stays that of its selection. */
export function shuffle(rows: Uint32Array, random: Random): void {
  for (let last = rows.length - 1; last > 0; last--) {
    const other = random.below(last + 1);
    const held = rows[last]!;
    rows[last] = rows[other]!;
    rows[other] = held;
  }
}

function recognisedRevision(source: ListingSource, cursor: Uint8Array | undefined): number | null {
  if (!source.settings.cursors || cursor === undefined || cursor.byteLength === 0) return null;
  const revision = decodeCursor(cursor, source.incarnation, source.fleet.revision);
  if (revision === null) return null;
  const isComplete = !source.settings.deletedIds || source.removals.remembersSince(revision);
  return isComplete ? revision : null;
}

/** A machine that exists again under its old id is not a removal, whichever of the two a reader applies first. */
function removedBetween(source: ListingSource, since: number, upTo: number): string[] {
  return source.removals.between(since, upTo).filter((id) => source.fleet.rowOf(id) < 0);
}

function keepStates(fleet: Fleet, rows: Uint32Array, call: ListCall): Uint32Array {
  const { states } = call;
  if (states === undefined || states.length === 0) return rows;
  // An unknown state matches no machine.
  let mask = 0;
  for (const state of states) if (Number.isInteger(state) && state > 0 && state < 31) mask |= 1 << state;
  let keptCount = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]!;
    if (((mask >> fleet.state[row]!) & 1) === 1) rows[keptCount++] = row;
  }
  return rows.subarray(0, keptCount);
}
