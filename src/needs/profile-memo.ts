/**
 * Recognises a profile by the way it was last written, without sorting or printing it. After a restart every cluster
 * sends all its rows at once, hundreds of thousands with a few thousand profiles; bringing each profile to its normal
 * form for the look-up would be most of the cost of reading a row.
 *
 * One spelling per profile, the latest: a copy, compared in full, so a stale or colliding hash costs a
 * look-up and never gives a wrong answer. There are at most as many entries as profiles.
 */
import type { ProfileParts } from './requirements.ts';

interface Spelling {
  readonly hash: number;
  readonly parts: ProfileParts;
}

export class ProfileMemo {
  readonly #refByHash = new Map<number, number>();
  readonly #spellings: (Spelling | undefined)[] = [];

  /** The ref of a profile that was last written exactly like this, 0 if there is none. */
  find(parts: ProfileParts): number {
    const ref = this.#refByHash.get(hashOf(parts)) ?? 0;
    const spelling = this.#spellings[ref];
    return spelling !== undefined && isWrittenAlike(spelling.parts, parts) ? ref : 0;
  }

  remember(ref: number, parts: ProfileParts): void {
    this.forget(ref);
    const hash = hashOf(parts);
    this.#refByHash.set(hash, ref);
    this.#spellings[ref] = { hash, parts: copyOf(parts) };
  }

  forget(ref: number): void {
    const spelling = this.#spellings[ref];
    if (spelling === undefined) return;
    this.#spellings[ref] = undefined;
    if (this.#refByHash.get(spelling.hash) === ref) this.#refByHash.delete(spelling.hash);
  }
}

/** 31 bits, so that a map keeps the key without boxing it. */
function hashOf(parts: ProfileParts): number {
  let hash = Math.imul(parts.priority ^ 0x51ed270b, 0x9e3779b1);
  hash = Math.imul(hash ^ (parts.interruptionPenalty * 32 + parts.reclamationPenalty), 0x85ebca77);
  for (const { key, operator, values } of parts.requirements) {
    hash = hashText(hash ^ operator, key);
    for (const value of values) hash = hashText(hash, value);
  }
  for (const { topologyKey, maxSkew } of parts.spread) hash = hashText(hash ^ maxSkew, topologyKey);
  return (hash ^ (hash >>> 15)) & 0x3fff_ffff;
}

function hashText(seed: number, text: string): number {
  let hash = seed ^ text.length;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash ^ (hash >>> 16);
}

function isWrittenAlike(a: ProfileParts, b: ProfileParts): boolean {
  if (a.priority !== b.priority) return false;
  if (a.interruptionPenalty !== b.interruptionPenalty) return false;
  if (a.reclamationPenalty !== b.reclamationPenalty) return false;
  if (a.requirements.length !== b.requirements.length || a.spread.length !== b.spread.length) return false;
  for (let index = 0; index < a.requirements.length; index++) {
    const { key, operator, values } = a.requirements[index]!;
    const other = b.requirements[index]!;
    if (key !== other.key || operator !== other.operator || values.length !== other.values.length)
      return false;
    for (let at = 0; at < values.length; at++) if (values[at] !== other.values[at]) return false;
  }
  for (let index = 0; index < a.spread.length; index++) {
    const { topologyKey, maxSkew, whenUnsatisfiable } = a.spread[index]!;
    const other = b.spread[index]!;
    if (topologyKey !== other.topologyKey || maxSkew !== other.maxSkew) return false;
    if (whenUnsatisfiable !== other.whenUnsatisfiable) return false;
  }
  return true;
}

/** A copy, because the caller may reuse its arrays for the next row. */
function copyOf(parts: ProfileParts): ProfileParts {
  return {
    ...parts,
    requirements: parts.requirements.map((requirement) => ({
      ...requirement,
      values: [...requirement.values],
    })),
    spread: parts.spread.map((spread) => ({ ...spread })),
  };
}
