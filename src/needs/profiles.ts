/**
 * Profiles: the kind of machine that needs ask for, shared by all needs that ask for the same kind. A fleet of
 * 776,000 needs has a few thousand profiles, so each is one object, counted, with a small ref that a need's row
 * carries. The requirement sets of profiles are interned too: matching depends on nothing else, so two profiles
 * that differ in priority or penalties share its results.
 *
 * A profile is its structure, not its fingerprint: a label value with a comma in it can make two profiles
 * print alike, and one cluster's odd value must not change what another cluster's need matches.
 */
import { compareBytewise } from '../base/dimensions.ts';
import type { StringTable } from '../base/string-table.ts';
import type { PenaltyBucket } from '../machine/penalty.ts';
import { FingerprintRanks } from './fingerprint-ranks.ts';
import { InternTable } from './intern-table.ts';
import { LabelUses } from './label-uses.ts';
import { ProfileColumns } from './profile-columns.ts';
import { ProfileMemo } from './profile-memo.ts';
import {
  fingerprintOfNormal,
  normalRequirements,
  normalSpread,
  type ProfileParts,
  type Requirement,
  type Spread,
  sameKeysOf,
  withoutSameRequirements,
} from './requirements.ts';

/** Takes about a millisecond. */
const PENDING_RANKS_MAX = 512;

export interface RequirementSet {
  readonly ref: number;
  readonly requirements: readonly Requirement[];
}

export interface Profile extends ProfileParts {
  readonly ref: number;
  /** Ref in `requirementSets`: equal for profiles that match the same machines. */
  readonly requirementSet: number;
  readonly fingerprint: string;
  /** Ref in the table of fingerprints, comparable with the assignments of machines: of a long one, the ref of its digest (T4). */
  readonly fingerprintRef: number;
  /** Keys of Same requirements; empty for a plain need. */
  readonly sameKeys: readonly string[];
}

/** The keys of requirement sets and of profiles, a line for each ref. */
export interface ProfileImage {
  readonly version: number;
  readonly sets: string;
  readonly profiles: string;
}

/** The requirement sets, read-only: profiles hold their references. */
export type RequirementSets = Pick<
  InternTable<RequirementSet>,
  'count' | 'refLimit' | 'version' | 'get' | 'isHeld' | 'referenceCount'
>;

export class ProfileTable {
  readonly #fingerprints: StringTable;
  readonly #sets = new InternTable<RequirementSet>();
  readonly #profiles = new InternTable<Profile>();
  readonly #ranks: FingerprintRanks;
  readonly #memo = new ProfileMemo();
  readonly #labelUses = new LabelUses();
  /** The profiles as columns by ref. A profile holds a reference to its `withoutSame`. */
  readonly columns = new ProfileColumns();

  #image: ProfileImage | null = null;

  constructor(fingerprints: StringTable) {
    this.#fingerprints = fingerprints;
    this.#ranks = new FingerprintRanks(fingerprints);
  }

  /** All profiles with their refs; made again only if a profile was added or dropped. */
  image(): ProfileImage {
    if (this.#image?.version !== this.version) {
      const { version } = this;
      this.#image = { version, sets: this.#sets.keyLines(), profiles: this.#profiles.keyLines() };
    }
    return this.#image;
  }

  /** Interns the profiles of an image. Returns their refs in this table, by their refs in the image. */
  restore(image: ProfileImage): Uint32Array {
    const sets = image.sets.split('\n').map((key) => (key === '' ? [] : requirementsOfKey(key)));
    const keys = image.profiles.split('\n');
    return Uint32Array.from(keys, (key) => (key === '' ? 0 : this.intern(partsOfKey(key, sets))));
  }

  get count(): number {
    return this.#profiles.count;
  }

  get refLimit(): number {
    return this.#profiles.refLimit;
  }

  /** Grows whenever a profile is added or dropped. */
  get version(): number {
    return this.#profiles.version;
  }

  get requirementSets(): RequirementSets {
    return this.#sets;
  }

  get(ref: number): Profile {
    return this.#profiles.get(ref);
  }

  /** Whether a profile's requirements or spread name this label. */
  usesLabel(key: string): boolean {
    return this.#labelUses.has(key);
  }

  /**
   * The ref of the profile with these parts, in any order, with one more reference. Interns what remains without Same
   * requirements too (T1): a full table refuses the roll-up here, never a cycle later. If it throws, nothing changes.
   */
  intern(parts: ProfileParts): number {
    const remembered = this.#memo.find(parts);
    if (remembered !== 0) {
      this.#profiles.retain(remembered);
      return remembered;
    }
    const ref = this.#internNormal(parts);
    if (this.columns.withoutSame[ref] === 0) this.#internWithoutSame(ref);
    this.#memo.remember(ref, parts);
    return ref;
  }

  retain(ref: number): void {
    this.#profiles.retain(ref);
  }

  release(ref: number): void {
    const dropped = this.#profiles.release(ref);
    if (dropped === undefined) return;
    this.#ranks.removed(ref);
    this.#memo.forget(ref);
    this.#labelUses.removeSpread(dropped.spread);
    this.#releaseSet(dropped.requirementSet);
    this.#fingerprints.releaseWhole(dropped.fingerprintRef);
    const remaining = this.columns.withoutSame[ref]!;
    this.columns.withoutSame[ref] = 0;
    if (remaining !== ref) this.release(remaining);
  }

  referenceCount(ref: number): number {
    return this.#profiles.referenceCount(ref);
  }

  /**
   * The profile without its Same requirements: the profile itself if it has none. It lives as long as `ref`; a caller
   * that keeps it longer must retain it.
   */
  withoutSame(ref: number): number {
    return this.columns.withoutSame[ref]!;
  }

  /**
   * Order of fingerprints as numbers, by profile ref: `ranks[a] - ranks[b]` compares two profiles. Read it
   * again after anything that may intern a profile; the order of two profiles never changes.
   */
  fingerprintRanks(): Uint32Array {
    return this.#ranks.read();
  }

  /** Finds the ranks of new profiles if they are many: in one go, those of a large roll-up would take 20 ms. */
  settleRanks(): void {
    if (this.#ranks.pendingCount >= PENDING_RANKS_MAX) this.#ranks.read();
  }

  /** Orders profiles with equal fingerprints by their structure, so that the order does not depend on arrival. */
  compareStructure(refA: number, refB: number): number {
    const textOf = ({ requirements, spread }: Profile) => JSON.stringify([requirements, spread]);
    return refA === refB ? 0 : compareBytewise(textOf(this.get(refA)), textOf(this.get(refB)));
  }

  #internNormal(parts: ProfileParts): number {
    const requirements = normalRequirements(parts.requirements);
    const spread = normalSpread(parts.spread);
    const requirementSet = this.#internSet(requirements);
    const { priority, interruptionPenalty, reclamationPenalty } = parts;
    const spreadKey = spread.length === 0 ? '' : JSON.stringify(spread);
    const key = `${requirementSet}|${priority}|${interruptionPenalty}|${reclamationPenalty}|${spreadKey}`;
    const known = this.#profiles.retainKey(key);
    if (known !== 0) {
      this.#releaseSet(requirementSet); // the known profile holds its own reference
      return known;
    }
    try {
      const ref = this.#profiles.add(key, (newRef) => {
        const normal = { requirements, spread, priority, interruptionPenalty, reclamationPenalty };
        const fingerprint = fingerprintOfNormal(normal);
        const fingerprintRef = this.#fingerprints.internWhole(fingerprint);
        const sameKeys = sameKeysOf(requirements);
        return { ref: newRef, requirementSet, ...normal, fingerprint, fingerprintRef, sameKeys };
      });
      this.#labelUses.addSpread(spread);
      this.columns.write(this.get(ref));
      this.#ranks.added(ref, this.get(ref).fingerprintRef);
      return ref;
    } catch (error) {
      this.#releaseSet(requirementSet);
      throw error;
    }
  }

  #internWithoutSame(ref: number): void {
    const profile = this.get(ref);
    try {
      const requirements = withoutSameRequirements(profile.requirements);
      const remaining = this.intern({ ...profile, requirements });
      this.columns.withoutSame[ref] = remaining; // read after `intern`, which may replace the column
    } catch (error) {
      this.release(ref);
      throw error;
    }
  }

  #internSet(requirements: readonly Requirement[]): number {
    const key = JSON.stringify(requirements.map(({ key, operator, values }) => [key, operator, ...values]));
    const known = this.#sets.retainKey(key);
    if (known !== 0) return known;
    this.#labelUses.addRequirements(requirements);
    return this.#sets.add(key, (ref) => ({ ref, requirements }));
  }

  #releaseSet(ref: number): void {
    const dropped = this.#sets.release(ref);
    if (dropped !== undefined) this.#labelUses.removeRequirements(dropped.requirements);
  }
}

/** The inverse of the keys that `#internSet` (here) and `#internNormal` (below) make. */
function requirementsOfKey(key: string): readonly Requirement[] {
  return (JSON.parse(key) as [string, number, ...string[]][]).map(([name, operator, ...values]) => ({
    key: name,
    operator,
    values,
  }));
}

function partsOfKey(key: string, sets: readonly (readonly Requirement[])[]): ProfileParts {
  const [set, priority, interruptionPenalty, reclamationPenalty] = key.split('|', 4).map(Number);
  const spread = key.split('|').slice(4).join('|');
  return {
    requirements: sets[set!]!,
    spread: spread === '' ? [] : (JSON.parse(spread) as Spread[]),
    priority: priority!,
    interruptionPenalty: interruptionPenalty as PenaltyBucket,
    reclamationPenalty: reclamationPenalty as PenaltyBucket,
  };
}
