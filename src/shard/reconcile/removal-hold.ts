/**
 * Holds the removals of one provider while its listings lack suspiciously many machines (S6). A provider that answers with an
 * empty or halved fleet has more often lost its memory than its machines, and a person needs time to look. So such a listing
 * waits for a person or for a long agreement; one that lacks less waits for a short one.
 */
import type { Commander } from '../ports/controls.ts';

/** S6: a listing that lacks more than this is suspect, … */
const SUSPECT_MISSING_SHARE = 0.1;
/** … if that is at least this many machines: a small fleet must not page a person for each machine. */
const SUSPECT_MISSING_MIN = 10;
/** A listing that lacks more than this is vanishing, however small the fleet. */
const VANISHING_MISSING_SHARE = 0.5;
/** However long they have agreed: the provider may have been unreachable between two of them. */
const AGREEING_LISTINGS = 3;
/** A listing agrees with an earlier one if it lacks at most this share of the known machines beyond it: fleets go on changing. */
const FURTHER_MISSING_SHARE = 0.1;

export interface HoldTimes {
  /** For a suspect listing. */
  readonly removalHoldMs: number;
  /** For a vanishing one: empty, or without more than half of the known machines. */
  readonly vanishingHoldMs: number;
}

/** What a full listing says about the machines that the shard knows. */
export interface ListedFacts {
  readonly listedCount: number;
  readonly knownCount: number;
  /** Slots of the known machines that it lacks, ascending. */
  readonly missing: Uint32Array;
  /** T5: a record without a readable id may be that of a machine that the listing seems to lack. */
  readonly unnamedCount: number;
}

/** `ended`: the listing is usual, and the one before it was held. */
export type HoldVerdict = 'usual' | 'ended' | 'held' | 'agreed' | 'confirmed';

export interface HeldListing {
  /** Before the hold: machines that the provider lists instead of the missing ones must not make these look few. */
  readonly knownCount: number;
  readonly missing: Uint32Array;
  readonly isVanishing: boolean;
  /** Listings that agree, this one included, and when the first of them came. */
  readonly inARow: number;
  readonly sinceMs: number;
  /** What the first of them lacked. A fleet that shrinks step by step must not be believed because of its first steps. */
  readonly missingAtFirst: Uint32Array;
  readonly confirmation: Commander | null;
}

export interface BelievedListing {
  readonly missingCount: number;
  /** null: the listings agreed for long enough. */
  readonly confirmation: Commander | null;
}

export class RemovalHold {
  readonly #times: HoldTimes;
  #held: HeldListing | null = null;
  #believed: BelievedListing | null = null;

  constructor(times: HoldTimes) {
    this.#times = times;
  }

  get held(): HeldListing | null {
    return this.#held;
  }

  /** The last listing that was held and then believed. */
  get believed(): BelievedListing | null {
    return this.#believed;
  }

  /** A full listing came. `nowMs` is that of a stopwatch, so that a clock that is set cannot end a hold. */
  judge(listed: ListedFacts, nowMs: number): HoldVerdict {
    const before = this.#held;
    const knownCount = Math.min(listed.knownCount, before?.knownCount ?? listed.knownCount);
    const listing = { ...listed, knownCount };
    const isVanishing = lacksMost(listing);
    if (!isVanishing && !lacksMuch(listing)) {
      this.#held = null;
      return before === null ? 'usual' : 'ended';
    }
    const held = following(before, listing, isVanishing, nowMs);
    const { confirmation, inARow } = held;
    const hasAgreed = inARow >= AGREEING_LISTINGS && this.leftMs(held, nowMs) === 0;
    if (confirmation === null && !hasAgreed) {
      this.#held = held;
      return 'held';
    }
    this.#held = null;
    this.#believed = { missingCount: listing.missing.length, confirmation };
    return confirmation === null ? 'agreed' : 'confirmed';
  }

  /** A person says that the machines are gone: the next listing is believed if it lacks the same ones. */
  confirm({ who, why, via }: Commander): void {
    if (this.#held !== null) this.#held = { ...this.#held, confirmation: { who, why, via } };
  }

  /** How long the listings must go on to agree. */
  leftMs({ isVanishing, sinceMs }: HeldListing, nowMs: number): number {
    const { removalHoldMs, vanishingHoldMs } = this.#times;
    const holdMs = isVanishing ? vanishingHoldMs : removalHoldMs;
    return Math.max(0, sinceMs + holdMs - nowMs);
  }
}

/** A listing that does not agree with those before it begins the hold again. A confirmation is about what the person saw. */
function following(
  before: HeldListing | null,
  listing: ListedFacts,
  isVanishing: boolean,
  nowMs: number,
): HeldListing {
  const { knownCount, missing } = listing;
  const facts = { knownCount, missing, isVanishing };
  const first = { inARow: 1, sinceMs: nowMs, missingAtFirst: missing, confirmation: null };
  if (before === null) return { ...facts, ...first };
  const { inARow, sinceMs, missingAtFirst } = before;
  const confirmation = lacksLittleBeyond(before.missing, listing) ? before.confirmation : null;
  // The long hold begins with the first vanishing listing, not with a suspect one before it.
  const isSameKind = before.isVanishing || !isVanishing;
  if (!isSameKind || !lacksLittleBeyond(missingAtFirst, listing)) return { ...facts, ...first, confirmation };
  return { ...facts, inARow: inARow + 1, sinceMs, missingAtFirst, confirmation };
}

function lacksMost({ listedCount, knownCount, missing }: ListedFacts): boolean {
  return missing.length > 0 && (listedCount === 0 || missing.length > knownCount * VANISHING_MISSING_SHARE);
}

function lacksMuch({ knownCount, missing, unnamedCount }: ListedFacts): boolean {
  const isUnsure = unnamedCount > 0 && missing.length > 0;
  const isMuch = missing.length >= SUSPECT_MISSING_MIN && missing.length > knownCount * SUSPECT_MISSING_SHARE;
  return isUnsure || isMuch;
}

function lacksLittleBeyond(earlier: Uint32Array, { knownCount, missing }: ListedFacts): boolean {
  let further = 0;
  let at = 0;
  for (const slot of missing) {
    while (at < earlier.length && earlier[at]! < slot) at++;
    if (earlier[at] !== slot) further++;
  }
  return further <= knownCount * FURTHER_MISSING_SHARE;
}
