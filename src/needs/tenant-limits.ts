/**
 * What one cluster may take of the tables that all clusters share (T1). A roll-up over a limit is refused whole while its
 * draft is made: the tables never hold more than one entry too many, and no cycle meets a full table.
 *
 * Counting costs a roll-up of usual size one comparison a row. Profiles are counted always; groups and vectors only if the
 * number of rows does not rule out that they exceed the share.
 */
import type { StringTable } from '../base/string-table.ts';
import { GROUP_BYTES_MAX, KEY_BYTES_MAX } from '../base/text-limits.ts';
import { VECTORS_MAX } from '../base/vectors.ts';
import type { NeedColumns } from './need-columns.ts';
import type { ProfileTable } from './profiles.ts';
import { ROLLUP_DIMENSIONS_MAX, RollupOverLimitError } from './rollup.ts';

/** A decision matches each profile with each family. Real clusters have tens; the largest fleets have 10,000 in all. */
export const PROFILES_PER_CLUSTER_MAX = 8_192;
/**
 * Requirements, and values in them, of all distinct profiles: 32 for each of 8,192; usual ones have ten. Each is an object or a
 * text, 200 bytes with its copies, and a decision asks each requirement of each family. A roll-up of 32 MiB could have millions.
 */
export const PROFILE_PARTS_PER_CLUSTER_MAX = 262_144;
/** Three clusters that do their worst leave a quarter to the others. */
export const TABLE_SHARE_DEFAULT = 0.25;
/** Any cluster may have this many rows, whatever the size of the tables: 388 are usual. */
const SHARE_ROWS_MIN = 1_024;
/** A gang has a profile with and one without Same requirements, a group of its own and a fold, two vectors. */
const ENTRIES_PER_ROW = 2;
/** `fold:` and for each dimension a name, `=`, up to 16 digits, a suffix of two letters and `,`. */
const FOLD_NAME_BYTES_MAX = 5 + ROLLUP_DIMENSIONS_MAX * (KEY_BYTES_MAX + 20);

export interface LimitedTables {
  readonly profiles: ProfileTable;
  readonly fingerprints: StringTable;
  readonly groups: StringTable;
}

interface Share {
  readonly entriesMax: number;
  readonly bytesMax: number;
}

export class AcceptanceLimits {
  readonly fingerprints: Share;
  readonly groups: Share;
  readonly vectorsMax: number;
  readonly needsMax: number;

  constructor(
    { fingerprints, groups }: LimitedTables,
    needsMax: number,
    share: number,
    rowsMin = SHARE_ROWS_MIN,
  ) {
    const entriesMin = ENTRIES_PER_ROW * rowsMin;
    this.fingerprints = shareOf(fingerprints, share, entriesMin);
    this.groups = shareOf(groups, share, entriesMin);
    this.vectorsMax = atLeast(entriesMin, VECTORS_MAX, share);
    this.needsMax = atLeast(rowsMin, needsMax, share);
  }
}

/** Counts one draft at a time. */
export class TenantCounter {
  readonly #limits: AcceptanceLimits;
  readonly #tables: LimitedTables;
  readonly #profiles = new SeenRefs();
  readonly #fingerprints = new SeenRefs();
  readonly #groups = new SeenRefs();
  readonly #vectors = new SeenRefs();
  #profileCount = 0;
  #partCount = 0;
  #fingerprintCount = 0;
  #fingerprintBytes = 0;
  #groupCount = 0;
  #groupBytes = 0;
  #mayExceedGroups = false;
  #clusterId = '';

  constructor(limits: AcceptanceLimits, tables: LimitedTables) {
    this.#limits = limits;
    this.#tables = tables;
  }

  begin(clusterId: string, rowCount: number): void {
    const { groups } = this.#limits;
    this.#clusterId = clusterId;
    this.#profileCount = this.#fingerprintCount = this.#fingerprintBytes = 0;
    this.#partCount = 0;
    this.#groupCount = this.#groupBytes = 0;
    this.#profiles.clear();
    this.#fingerprints.clear();
    this.#mayExceedGroups =
      rowCount * ENTRIES_PER_ROW > groups.entriesMax ||
      rowCount * (GROUP_BYTES_MAX + FOLD_NAME_BYTES_MAX) > groups.bytesMax;
    if (this.#mayExceedGroups) this.#groups.clear();
  }

  /** Counts what a row of the draft brings; throws a RollupOverLimitError. `foldGroup` is 0 unless the row is a gang. */
  count(profile: number, group: number, foldGroup: number, index: number): void {
    if (this.#profiles.isNew(profile)) this.#countProfile(profile, index);
    if (!this.#mayExceedGroups) return;
    if (group !== 0 && this.#groups.isNew(group)) this.#countGroup(group, index);
    if (foldGroup !== 0 && this.#groups.isNew(foldGroup)) this.#countGroup(foldGroup, index);
  }

  /** After the last row, with the needs of the draft: throws if those are too many or have too many vectors. */
  end(columns: NeedColumns, needCount: number): void {
    const { needsMax, vectorsMax } = this.#limits;
    if (needCount > needsMax) this.#refuse('needs', 'needs', needCount, needsMax);
    if (needCount * ENTRIES_PER_ROW <= vectorsMax) return;
    this.#vectors.clear();
    let vectorCount = 0;
    for (let row = 0; row < needCount; row++) {
      if (this.#vectors.isNew(columns.aggregate[row]!)) vectorCount++;
      if (this.#vectors.isNew(columns.minUnit[row]!)) vectorCount++;
    }
    if (vectorCount > vectorsMax) {
      this.#refuse('needs', 'distinct resource vectors', vectorCount, vectorsMax);
    }
  }

  #countProfile(profile: number, index: number): void {
    const { fingerprints } = this.#limits;
    const at = `needs[${index}]`;
    this.#profileCount++;
    if (this.#profileCount > PROFILES_PER_CLUSTER_MAX) {
      this.#refuse(at, 'distinct profiles', this.#profileCount, PROFILES_PER_CLUSTER_MAX);
    }
    for (const { values } of this.#tables.profiles.get(profile).requirements)
      this.#partCount += 1 + values.length;
    if (this.#partCount > PROFILE_PARTS_PER_CLUSTER_MAX) {
      const what = 'requirements and values of distinct profiles';
      this.#refuse(at, what, this.#partCount, PROFILE_PARTS_PER_CLUSTER_MAX);
    }
    this.#countFingerprint(profile);
    this.#countFingerprint(this.#tables.profiles.withoutSame(profile));
    if (this.#fingerprintCount > fingerprints.entriesMax) {
      this.#refuse(at, 'distinct fingerprints', this.#fingerprintCount, fingerprints.entriesMax);
    }
    if (this.#fingerprintBytes > fingerprints.bytesMax) {
      this.#refuse(at, 'bytes of fingerprints', this.#fingerprintBytes, fingerprints.bytesMax);
    }
  }

  #countFingerprint(profile: number): void {
    const { profiles, fingerprints } = this.#tables;
    const fingerprint = profiles.columns.fingerprint[profile]!;
    if (!this.#fingerprints.isNew(fingerprint)) return;
    this.#fingerprintCount++;
    this.#fingerprintBytes += fingerprints.wholeByteLength(fingerprint);
  }

  #countGroup(group: number, index: number): void {
    const { entriesMax, bytesMax } = this.#limits.groups;
    const at = `needs[${index}]`;
    this.#groupCount++;
    this.#groupBytes += this.#tables.groups.wholeByteLength(group);
    if (this.#groupCount > entriesMax) this.#refuse(at, 'distinct groups', this.#groupCount, entriesMax);
    if (this.#groupBytes > bytesMax) this.#refuse(at, 'bytes of groups', this.#groupBytes, bytesMax);
  }

  #refuse(field: string, what: string, count: number, limit: number): never {
    throw new RollupOverLimitError(this.#clusterId, field, what, count, limit);
  }
}

/** Which refs of a table were seen since the last `clear`, which costs nothing. */
class SeenRefs {
  /** By ref: the round in which it was seen last. */
  #seenIn = new Uint32Array(64);
  #round = 0;

  clear(): void {
    if (++this.#round < 2 ** 32) return;
    this.#seenIn.fill(0);
    this.#round = 1;
  }

  isNew(ref: number): boolean {
    if (ref >= this.#seenIn.length) {
      const wider = new Uint32Array(2 * ref);
      wider.set(this.#seenIn);
      this.#seenIn = wider;
    }
    if (this.#seenIn[ref] === this.#round) return false;
    this.#seenIn[ref] = this.#round;
    return true;
  }
}

function shareOf(table: StringTable, share: number, entriesMin: number): Share {
  const entriesMax = atLeast(entriesMin, table.entriesMax, share);
  return { entriesMax, bytesMax: Math.floor((table.bytesMax * entriesMax) / table.entriesMax) };
}

function atLeast(entriesMin: number, entriesMax: number, share: number): number {
  return Math.min(entriesMax, Math.max(entriesMin, Math.floor(share * entriesMax)));
}
