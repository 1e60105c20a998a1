/**
 * How many unassigned machines match a requirement set. O5: hints tell operators about available capacity. Requirements are
 * matched with shapes and never with machines, each requirement once per shape; a set's answer is kept until a matching
 * shape has another number of unassigned machines or another cheapest price.
 *
 *   by entry    a shape that has, or had, unassigned machines
 *     idle, offers    u32    Idle and Speculative machines of the shape
 *     cheapest        f64    lowest price among them, USD per hour
 *     changedAt       f64    number of the refresh that last found a change
 *   by requirement set ref
 *     availableCount  u32    matching unassigned machines
 *     confidence      u8     HintConfidence
 *     cheapestUsd     f64    0 if there is none
 *     madeAt          f64    number of the refresh that the answer reflects
 *
 * Counts are exact at every refresh. A shape's price is read again when its counts change, and all shapes take turns besides: a
 * price that changes alone is found within a few refreshes, because reading every machine each time would cost too much.
 * Labels of single machines, such as the host name, are ignored: a hint says what may be available.
 */
import type { Inventory } from '../../inventory/inventory.ts';
import { attributeOf, type Shape } from '../../inventory/shapes.ts';
import { MachineState } from '../../machine/state.ts';
import type { RequirementSet, RequirementSets } from '../../needs/profiles.ts';
import { matches, type Requirement } from '../../needs/requirements.ts';
import type { HintConfidence } from '../ports/operators.ts';

const S = MachineState;
/** Machines whose price one refresh reads again, besides those of changed shapes: a tenth of a millisecond. */
const PRICES_PER_REFRESH = 8_192;
const FEW_ENTRIES = 64;
/** To read 32 matching entries costs as much as to match one. A set may match every rack of the fleet, and a cluster may have thousands of such sets. */
const SUMS_PER_MATCH_SHIFT = 5;
/** Requirements whose answers are kept. A fleet has a few hundred; beyond this limit the cache is cleared. */
const REQUIREMENTS_MAX = 2_048;
/** A requirement with more text than this is asked again for each set: a row may have 64 KiB of it, and no other set repeats that. */
const KEPT_CHARS_MAX = 256;

/** The entries that a requirement set matches. */
interface Matching {
  readonly set: RequirementSet;
  /** Entries that match, `count` of them. */
  entries: Uint32Array<ArrayBuffer>;
  count: number;
  /** Entries tested so far. */
  asked: number;
}

interface RequirementAnswers {
  readonly requirement: Requirement;
  /** By entry: 0 not tested, 1 matches, 2 does not. */
  answers: Uint8Array<ArrayBuffer>;
}

export class HintSupply {
  readonly #inventory: Inventory;
  readonly #sets: RequirementSets;
  readonly #ownKeys: ReadonlySet<string>;
  #shapes: (Shape | null)[] = [];
  #idle = new Uint32Array(256);
  #offers = new Uint32Array(256);
  #cheapest = new Float64Array(256);
  #changedAt = new Float64Array(256);
  /** By shape ref: its entry + 1; 0 = none. */
  #entryOf = new Uint32Array(256);
  #priceCursor = 0;
  #refreshes = 0;
  #seenIndexes = -1;
  #seenCordons = -1;
  /** H6: by shape, the cordoned ones, which are not available. */
  readonly #cordonedIdle = new Map<number, number>();
  readonly #cordonedOffers = new Map<number, number>();
  #seenShapes = -1;
  #seenSets = -1;
  availableCount = new Uint32Array(256);
  confidence = new Uint8Array(256);
  cheapestUsd = new Float64Array(256);
  #madeAt = new Float64Array(256).fill(-1);
  readonly #matching: (Matching | undefined)[] = [];
  readonly #requirements = new Map<string, RequirementAnswers>();
  /** Matches computed so far, and entries read, as so many matches: the cost of the hints. */
  matchesAsked = 0;

  constructor(inventory: Inventory, sets: RequirementSets) {
    this.#inventory = inventory;
    this.#sets = sets;
    this.#ownKeys = new Set(inventory.tables.ownLabelKeys);
  }

  /** Reads the fleet's counts and prices. Returns whether any of them changed. */
  refresh(): boolean {
    const { indexes, shapes } = this.#inventory;
    const { cordonVersion } = this.#inventory;
    const isSame = indexes.version === this.#seenIndexes && cordonVersion === this.#seenCordons;
    if (isSame && this.#sets.version === this.#seenSets) return false;
    this.#refreshes++;
    if (this.#sets.version !== this.#seenSets) this.#dropDeadSets();
    this.#seenSets = this.#sets.version; // a ref may mean another set by now, so every answer is checked again
    this.#reserve();
    if (isSame) return false;
    this.#seenIndexes = indexes.version;
    this.#seenCordons = cordonVersion;
    this.#countCordoned();
    let hasChanged = this.#dropDeadShapes();
    for (let shape = 1; shape < shapes.refLimit; shape++) {
      const idle = indexes.countOfShape(S.Idle, shape) - (this.#cordonedIdle.get(shape) ?? 0);
      const offers = indexes.countOfShape(S.Speculative, shape) - (this.#cordonedOffers.get(shape) ?? 0);
      let entry = this.#entryOf[shape]! - 1;
      if (entry < 0) {
        if (idle + offers === 0) continue;
        entry = this.#add(shape);
      } else if (this.#idle[entry] === idle && this.#offers[entry] === offers) continue;
      this.#idle[entry] = idle;
      this.#offers[entry] = offers;
      this.#changedAt[entry] = this.#refreshes;
      this.#cheapest[entry] = this.#cheapestOf(shape);
      hasChanged = true;
    }
    return this.#rereadPrices() || hasChanged;
  }

  #countCordoned(): void {
    const { columns, cordoned } = this.#inventory;
    this.#cordonedIdle.clear();
    this.#cordonedOffers.clear();
    for (const slot of cordoned) {
      const state = columns.state[slot]!;
      const counts =
        state === S.Idle ? this.#cordonedIdle : state === S.Speculative ? this.#cordonedOffers : null;
      const shape = columns.shape[slot]!;
      counts?.set(shape, (counts.get(shape) ?? 0) + 1);
    }
  }

  /** Brings a set's columns up to the last refresh; false if it had to stop at so many matches: call it again. */
  answer(setRef: number, matchesMax: number): boolean {
    const madeAt = this.#madeAt[setRef]!;
    if (madeAt === this.#refreshes) return true;
    const set = this.#sets.get(setRef);
    let matching = this.#matching[setRef];
    const isNew = matching?.set !== set;
    if (matching === undefined || isNew) {
      matching = { set, entries: new Uint32Array(16), count: 0, asked: 0 };
      this.#matching[setRef] = matching;
    }
    const before = matching.count;
    this.#askNew(matching, matchesMax);
    if (matching.asked < this.#shapes.length) {
      this.#madeAt[setRef] = -1; // what it found is not summed yet
      return false;
    }
    this.#madeAt[setRef] = this.#refreshes;
    const hasMore = matching.count > before || madeAt < 0;
    this.matchesAsked += matching.count >>> SUMS_PER_MATCH_SHIFT;
    if (isNew || hasMore || this.#hasChanged(matching, madeAt)) this.#sum(setRef, matching);
    return true;
  }

  #hasChanged({ entries, count }: Matching, since: number): boolean {
    for (let index = 0; index < count; index++) if (this.#changedAt[entries[index]!]! > since) return true;
    return false;
  }

  #sum(setRef: number, { entries, count }: Matching): void {
    let idle = 0;
    let offers = 0;
    let cheapest = Number.POSITIVE_INFINITY;
    for (let index = 0; index < count; index++) {
      const entry = entries[index]!;
      if (this.#idle[entry]! + this.#offers[entry]! === 0) continue;
      idle += this.#idle[entry]!;
      offers += this.#offers[entry]!;
      if (this.#cheapest[entry]! < cheapest) cheapest = this.#cheapest[entry]!;
    }
    const confidence: HintConfidence = idle > 0 ? 4 : offers > 0 ? 3 : 1;
    this.availableCount[setRef] = idle + offers;
    this.confidence[setRef] = confidence;
    this.cheapestUsd[setRef] = idle + offers === 0 ? 0 : cheapest;
  }

  /** Tests the entries that are new since the last time, until so many matches were asked. */
  #askNew(matching: Matching, matchesMax: number): void {
    if (matching.asked === this.#shapes.length) return;
    const asked = matching.set.requirements
      .filter(({ key }) => !this.#ownKeys.has(key))
      .map((requirement) => this.#answersOf(requirement));
    for (; matching.asked < this.#shapes.length && this.matchesAsked < matchesMax; matching.asked++) {
      const entry = matching.asked;
      this.matchesAsked += asked.length >>> SUMS_PER_MATCH_SHIFT;
      if (!asked.every((requirement) => this.#isMatch(requirement, entry))) continue;
      if (matching.count === matching.entries.length) {
        matching.entries = wider(matching.entries, 2 * matching.count);
      }
      matching.entries[matching.count++] = entry;
    }
  }

  #isMatch(asked: RequirementAnswers, entry: number): boolean {
    if (entry >= asked.answers.length) asked.answers = wider(asked.answers, 2 * entry + 64);
    const known = asked.answers[entry]!;
    if (known !== 0) return known === 1;
    const shape = this.#shapes[entry];
    if (shape === null || shape === undefined) return false;
    this.matchesAsked++;
    const isMatch = matches(asked.requirement, attributeOf(shape, asked.requirement.key));
    asked.answers[entry] = isMatch ? 1 : 2;
    return isMatch;
  }

  #answersOf(requirement: Requirement): RequirementAnswers {
    if (isLong(requirement)) return { requirement, answers: new Uint8Array(this.#shapes.length) };
    const key = JSON.stringify([requirement.key, requirement.operator, ...requirement.values]);
    let known = this.#requirements.get(key);
    if (known === undefined) {
      if (this.#requirements.size === REQUIREMENTS_MAX) this.#requirements.clear();
      known = { requirement, answers: new Uint8Array(this.#shapes.length + 64) };
      this.#requirements.set(key, known);
    }
    return known;
  }

  #reserve(): void {
    const { shapes } = this.#inventory;
    if (shapes.refLimit > this.#entryOf.length) this.#entryOf = wider(this.#entryOf, 2 * shapes.refLimit);
    const refs = this.#sets.refLimit;
    const length = this.#madeAt.length;
    if (refs <= length) return;
    this.availableCount = wider(this.availableCount, 2 * refs);
    this.confidence = wider(this.confidence, 2 * refs);
    this.cheapestUsd = wider(this.cheapestUsd, 2 * refs);
    this.#madeAt = wider(this.#madeAt, 2 * refs).fill(-1, length);
  }

  #add(shape: number): number {
    const entry = this.#shapes.length;
    if (entry === this.#idle.length) {
      this.#idle = wider(this.#idle, 2 * entry);
      this.#offers = wider(this.#offers, 2 * entry);
      this.#cheapest = wider(this.#cheapest, 2 * entry);
      this.#changedAt = wider(this.#changedAt, 2 * entry);
    }
    this.#shapes.push(this.#inventory.shapes.get(shape));
    this.#entryOf[shape] = entry + 1;
    return entry;
  }

  /** Their texts may be long. */
  #dropDeadSets(): void {
    const sets = this.#sets;
    for (let ref = 1; ref < this.#matching.length; ref++) {
      const matching = this.#matching[ref];
      const isHere = matching !== undefined && sets.isHeld(ref) && sets.get(ref) === matching.set;
      if (matching !== undefined && !isHere) this.#matching[ref] = undefined;
    }
  }

  /** A ref may mean another shape by now. A dead shape's entry stays, empty, until half of the entries are dead. */
  #dropDeadShapes(): boolean {
    const { shapes } = this.#inventory;
    if (shapes.version === this.#seenShapes) return false;
    this.#seenShapes = shapes.version;
    let deadCount = 0;
    let hasChanged = false;
    for (let entry = 0; entry < this.#shapes.length; entry++) {
      const shape = this.#shapes[entry]!;
      if (shape === null) deadCount++;
      if (shape === null || (shapes.isHeld(shape.ref) && shapes.get(shape.ref) === shape)) continue;
      this.#shapes[entry] = null;
      this.#entryOf[shape.ref] = 0;
      if (this.#idle[entry]! + this.#offers[entry]! > 0) hasChanged = true;
      this.#idle[entry] = this.#offers[entry] = 0;
      this.#changedAt[entry] = this.#refreshes;
    }
    if (deadCount * 2 <= this.#shapes.length || deadCount < FEW_ENTRIES) return hasChanged;
    this.#shapes = [];
    this.#entryOf.fill(0);
    this.#requirements.clear();
    this.#matching.length = 0;
    this.#madeAt.fill(-1);
    return true;
  }

  #rereadPrices(): boolean {
    const count = this.#shapes.length;
    let hasChanged = false;
    let left = PRICES_PER_REFRESH;
    for (let seen = 0; seen < count && left > 0; seen++) {
      this.#priceCursor = (this.#priceCursor + 1) % count;
      const entry = this.#priceCursor;
      const shape = this.#shapes[entry];
      const machines = this.#idle[entry]! + this.#offers[entry]!;
      if (shape === null || shape === undefined || machines === 0) continue;
      left -= machines;
      const cheapest = this.#cheapestOf(shape.ref);
      if (cheapest === this.#cheapest[entry]) continue;
      this.#cheapest[entry] = cheapest;
      this.#changedAt[entry] = this.#refreshes;
      hasChanged = true;
    }
    return hasChanged;
  }

  #cheapestOf(shape: number): number {
    const { columns, indexes, cordoned } = this.#inventory;
    const price = columns.pricePerHourUsd;
    let cheapest = Number.POSITIVE_INFINITY;
    for (const state of UNASSIGNED_STATES) {
      const start = indexes.startOfShape(state, shape);
      const end = start + indexes.countOfShape(state, shape);
      const slots = indexes.shapeSlots;
      for (let at = start; at < end; at++) {
        if (price[slots[at]!]! < cheapest && !cordoned.has(slots[at]!)) cheapest = price[slots[at]!]!;
      }
    }
    return cheapest;
  }
}

function isLong({ key, values }: Requirement): boolean {
  let chars = key.length;
  for (let at = 0; at < values.length && chars <= KEPT_CHARS_MAX; at++) chars += 1 + values[at]!.length;
  return chars > KEPT_CHARS_MAX;
}

const UNASSIGNED_STATES = [S.Idle, S.Speculative] as const;

type Column = Uint8Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

function wider<T extends Column>(from: T, length: number): T {
  const to = new (from.constructor as new (length: number) => T)(length);
  to.set(from);
  return to;
}
