/**
 * The fields of profiles that loops over rows read, as columns by ref. A realistic fleet has ten thousand profiles: as
 * objects of a few hundred bytes, with arrays behind them, they would miss the cache for most of 776,000 rows.
 *
 *   column                bytes   meaning
 *   fingerprint           4       u32, ref in the table of fingerprints
 *   requirementSet        4       u32, ref
 *   withoutSame           4       u32, the profile without its Same requirements, itself if it has none
 *   priority              4       i32
 *   interruptionPenalty   1       u8, bucket
 *   reclamationPenalty    1       u8, bucket
 *   hasSame               1       u8, 1 = it has Same requirements
 *
 * The arrays are replaced when they grow: read them again after anything that may add a profile.
 */
import { grown } from '../base/vectors.ts';
import type { Profile } from './profiles.ts';

const PROFILES_AT_START = 64;

export class ProfileColumns {
  fingerprint = new Uint32Array(PROFILES_AT_START);
  requirementSet = new Uint32Array(PROFILES_AT_START);
  withoutSame = new Uint32Array(PROFILES_AT_START);
  priority = new Int32Array(PROFILES_AT_START);
  interruptionPenalty = new Uint8Array(PROFILES_AT_START);
  reclamationPenalty = new Uint8Array(PROFILES_AT_START);
  hasSame = new Uint8Array(PROFILES_AT_START);

  write(profile: Profile): void {
    const { ref } = profile;
    if (ref >= this.fingerprint.length) this.#grow(2 * ref);
    this.fingerprint[ref] = profile.fingerprintRef;
    this.requirementSet[ref] = profile.requirementSet;
    this.priority[ref] = profile.priority;
    this.interruptionPenalty[ref] = profile.interruptionPenalty;
    this.reclamationPenalty[ref] = profile.reclamationPenalty;
    this.hasSame[ref] = profile.sameKeys.length > 0 ? 1 : 0;
    this.withoutSame[ref] = profile.sameKeys.length > 0 ? 0 : ref;
  }

  #grow(length: number): void {
    this.fingerprint = grown(this.fingerprint, new Uint32Array(length));
    this.requirementSet = grown(this.requirementSet, new Uint32Array(length));
    this.withoutSame = grown(this.withoutSame, new Uint32Array(length));
    this.priority = grown(this.priority, new Int32Array(length));
    this.interruptionPenalty = grown(this.interruptionPenalty, new Uint8Array(length));
    this.reclamationPenalty = grown(this.reclamationPenalty, new Uint8Array(length));
    this.hasSame = grown(this.hasSame, new Uint8Array(length));
  }
}
