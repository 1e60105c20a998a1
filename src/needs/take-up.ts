/**
 * A large roll-up in parts (T7). A decision costs microseconds for each new need and for each need that it cannot serve, and a
 * roll-up may have 131,072 of them. So the rows that the engine sees, the cluster's slice of the need table, follow the
 * accepted roll-up by a counted number of rows in each cycle:
 *
 *   1. rows that the roll-up does not have any more are withdrawn;
 *   2. rows that ask for something else change;
 *   3. rows that the slice lacks are added, in order, as long as few needs of the cluster are unmet.
 *
 * Withdrawn rows go first, because then the machines that they leave serve the added rows, and none is created for nothing.
 * The cluster's unclaimed machines stay (N6) until every row had its turn: a row that waits may be theirs.
 *
 * If rows wait and the unmet needs are many, some of the unmet rows without a machine go back and wait, and the next ones get
 * their turn, in ordinary cycles. So no row waits for ever behind rows that cannot be served.
 *
 *   target                   the accepted roll-up: its needs in order, with references of its own
 *   by row of the target     #state      u8    Waiting, Live, or Differs: live, and the slice asks for something else
 *                            #isTried    u8    1 = it had its turn: it was live, in this roll-up or in one before
 *                            #weight     u8    what it weighs while it is unmet; 0 = not asked yet
 *   by row of the slice      #targetRow  u32   1 + its row in the target; 0 = withdrawn
 */
import { assert } from '../base/assert.ts';
import { NeedColumns, type NeedRefs, releaseRow, retainRow } from './need-columns.ts';
import type { ProfileTable } from './profiles.ts';
import type { RollupDraft } from './rollup-draft.ts';

/**
 * Rows that one cycle takes up of one cluster, about 5 µs each; a usual cluster has 388 and is always taken up whole. Rows are
 * added while the unmet ones weigh less than as many: a cycle spends 1 to 8 µs on an unmet need that it cannot serve …
 */
export const TAKE_UP_ROWS = 1_024;
/** A row with a longer fingerprint counts as several rows of this size: its texts are hashed when it comes and when it goes. */
const ROW_BYTES = 1_024;
/** A decision asks each requirement of each family of machines: 2 µs. Usual rows have five; each more counts as half a row. */
const USUAL_REQUIREMENTS = 16;
/** … and 20 to 400 µs on a need that compares racks: a gang, a need with a spread, or one that asks for a rack by name. */
export const GANG_WEIGHT = 64;
/** A cycle reads all rows of a cluster that changed. So a large slice grows by this share: all parts cost as much as eight readings. */
const TAKE_UP_SHARE = 1 / 8;
/** While at most this share of the weight is unmet, a part may weigh twice as much as the one before, up to so many times the maximum. */
const TRUSTED_UNMET_SHARE = 1 / 8;
const TRUST_MAX = 64;
/** Less than a millisecond each. */
const RELEASED_PER_STEP = 1_024;
const COPIED_PER_STEP = 8_192;

const Waiting = 0;
const Live = 1;
const Differs = 2;

/** What the last decision says about the rows of a cluster's slice. */
export interface Backlog {
  /** Rows that are not satisfied, ascending … */
  readonly unmet: readonly number[];
  /** … and those of them that have no machine, also none on its way. */
  readonly idle: readonly number[];
}

/** The cluster's rows in the need table: they have room for the target, and for what is there now. */
export interface LiveSlice {
  readonly columns: NeedColumns;
  readonly start: number;
  readonly count: number;
}

export interface Part {
  /** Rows of the slice afterwards. */
  readonly count: number;
  readonly hasChanged: boolean;
}

/** How many rows one of this profile counts as. */
export function rowsOfProfile(profiles: ProfileTable, profile: number): number {
  const { fingerprint, requirements } = profiles.get(profile);
  const texts = Math.floor(fingerprint.length / ROW_BYTES);
  return Math.max(1, texts, Math.floor((requirements.length - USUAL_REQUIREMENTS) / 2));
}

/** Whether a decision compares each shape of machines, and not only each family, with the needs of a profile. */
export type ComparesShapes = (profile: number) => boolean;

export class TakeUp {
  readonly target: NeedColumns;
  readonly targetCount: number;
  readonly #refs: NeedRefs;
  readonly #rowsMax: number;
  readonly #profiles: ProfileTable;
  readonly #state: Uint8Array;
  readonly #isTried: Uint8Array;
  readonly #weight: Uint8Array;
  #untriedCount: number;
  #targetRow: Uint32Array;
  #withdrawnCount = 0;
  #differingCount = 0;
  #waitingCount: number;
  /** The row of the target from which waiting rows are looked for next. */
  #next = 0;
  /** The last part added no row, because too many needs are unmet. */
  #isHeld = false;
  /** How many times the maximum the next added rows may weigh. */
  #trust = 1;
  #hasAdded = false;
  #comparesShapes: ComparesShapes = () => false;
  /** Rows that the current part takes from the slice. */
  #goneCount = 0;
  #releasedCount = 0;

  constructor(
    target: NeedColumns,
    targetCount: number,
    refs: NeedRefs,
    rowsMax: number,
    profiles: ProfileTable,
  ) {
    this.target = target;
    this.targetCount = targetCount;
    this.#refs = refs;
    this.#rowsMax = rowsMax;
    this.#profiles = profiles;
    this.#state = new Uint8Array(targetCount);
    this.#isTried = new Uint8Array(targetCount);
    this.#weight = new Uint8Array(targetCount);
    this.#untriedCount = targetCount;
    this.#targetRow = new Uint32Array(0);
    this.#waitingCount = targetCount;
  }

  get isComplete(): boolean {
    return this.#withdrawnCount + this.#differingCount + this.#waitingCount === 0;
  }

  /** Whether every row had its turn. Rows may wait again. */
  get isTried(): boolean {
    return this.#withdrawnCount + this.#differingCount + this.#untriedCount === 0;
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** Rows of the target that the slice has, as the target asks for them. */
  get takenUp(): number {
    return this.targetCount - this.#waitingCount - this.#differingCount;
  }

  /** Whether the next part would change something now. */
  get canGoOn(): boolean {
    return !this.isComplete && !(this.#isHeld && this.#withdrawnCount + this.#differingCount === 0);
  }

  /** Rows of the roll-up before that had their turn need not have it again. `placeOf`: the target's row of a row before, -1 = none. */
  takeOver(before: TakeUp, placeOf: (row: number) => number): void {
    this.#next = -1;
    for (let row = before.targetCount - 1; row >= 0; row--) {
      const place = placeOf(row);
      if (place < 0) continue;
      if (before.#isTried[row] === 1) this.#try(place);
      if (row >= before.#next) this.#next = place;
    }
    this.#next = Math.max(0, this.#next);
  }

  #try(row: number): void {
    this.#untriedCount -= 1 - this.#isTried[row]!;
    this.#isTried[row] = 1;
  }

  /** Compares the slice with the target. `targetRowOf`: the target's row of the need at this row of the slice, -1 = none. */
  begin({ columns, start, count }: LiveSlice, targetRowOf: (row: number) => number): void {
    this.#targetRow = new Uint32Array(count);
    for (let position = 0; position < count; position++) {
      const row = start + position;
      const inTarget = targetRowOf(row);
      // A need that was left out for a roll-up has another arrival, and with it another place in the order.
      if (inTarget < 0 || this.target.arrivalMs[inTarget] !== columns.arrivalMs[row]) {
        this.#withdrawnCount++;
        continue;
      }
      const differs = !this.target.asksTheSame(inTarget, columns, row);
      this.#targetRow[position] = inTarget + 1;
      this.#state[inTarget] = differs ? Differs : Live;
      this.#try(inTarget);
      this.#waitingCount--;
      if (differs) this.#differingCount++;
    }
    if (this.#untriedCount > 0) this.#next = this.#isTried.indexOf(0);
  }

  /** Takes up the next part in the slice; marks rows that it adds or changes with `version`. Uses `scratch`. */
  advance(
    slice: LiveSlice,
    backlog: Backlog,
    isOrdinary: boolean,
    version: number,
    scratch: NeedColumns,
    comparesShapes: ComparesShapes,
  ): Part {
    assert(this.#targetRow.length === slice.count, 'the slice is as the last part left it');
    this.#comparesShapes = comparesShapes;
    let rowsLeft = Math.max(this.#rowsMax, Math.floor(slice.count * TAKE_UP_SHARE));
    const isGone = new Uint8Array(slice.count);
    this.#goneCount = 0;
    rowsLeft -= this.#withdraw(slice, isGone, rowsLeft);
    const unmetWeight = this.#weigh(backlog.unmet);
    if (unmetWeight > this.#rowsMax * TRUSTED_UNMET_SHARE) this.#trust = 1;
    else if (this.#hasAdded) this.#trust = Math.min(TRUST_MAX, 2 * this.#trust);
    let weightLeft = this.#rowsMax * this.#trust - unmetWeight;
    const isSettled = this.#withdrawnCount === 0 && this.#waitingCount > 0;
    if (isOrdinary && isSettled && weightLeft <= 0) weightLeft = this.#putBack(backlog.idle, isGone);
    const added = isSettled ? this.#chooseWaiting(rowsLeft, weightLeft) : [];
    this.#hasAdded = added.length > 0;
    for (const row of added) rowsLeft -= rowsOfProfile(this.#profiles, this.target.profile[row]!);
    const changesMax = this.#differingCount > 0 ? rowsLeft : 0;
    if (this.#goneCount + added.length === 0 && changesMax <= 0)
      return { count: slice.count, hasChanged: false };
    return { count: this.#merge(slice, isGone, added, changesMax, version, scratch), hasChanged: true };
  }

  #withdraw({ columns, start, count }: LiveSlice, isGone: Uint8Array, rowsMax: number): number {
    let rows = 0;
    for (let position = 0; rows < rowsMax && this.#withdrawnCount > 0 && position < count; position++) {
      if (this.#targetRow[position] !== 0) continue;
      isGone[position] = 1;
      this.#goneCount++;
      rows += rowsOfProfile(this.#profiles, columns.profile[start + position]!);
      this.#withdrawnCount--;
    }
    return rows;
  }

  /** Of a row of the target, as it was when it was asked first: labels turn fine rarely, and a row may have 1,024 requirements. */
  #weightOf(row: number): number {
    if (this.#weight[row] !== 0) return this.#weight[row]!;
    const profile = this.target.profile[row]!;
    const comparesDomains =
      this.#profiles.columns.hasSame[profile] === 1 || this.#profiles.get(profile).spread.length > 0;
    const weight = comparesDomains || this.#comparesShapes(profile) ? GANG_WEIGHT : 1;
    this.#weight[row] = weight;
    return weight;
  }

  #weigh(positions: readonly number[]): number {
    let weight = 0;
    for (const position of positions) {
      const row = this.#targetRow[position]! - 1;
      if (row >= 0) weight += this.#weightOf(row);
    }
    return weight;
  }

  /**
   * The idle rows wait again, except the first ones in order, which weigh half of the maximum. Returns what the next ones may
   * weigh: at least the other half, because unmet rows that have machines stay.
   */
  #putBack(idle: readonly number[], isGone: Uint8Array): number {
    let kept = this.#rowsMax / 2;
    let free = 0;
    for (const position of idle) {
      const row = this.#targetRow[position]! - 1;
      if (row < 0) continue;
      const weight = this.#weightOf(row);
      kept -= weight;
      if (kept >= 0) continue;
      if (this.#state[row] === Differs) this.#differingCount--;
      this.#state[row] = Waiting;
      this.#waitingCount++;
      isGone[position] = 1;
      this.#goneCount++;
      free += weight;
    }
    return Math.max(free, this.#rowsMax / 2);
  }

  /** Waiting rows of the target from `#next` on, ascending. */
  #chooseWaiting(rowsMax: number, weightMax: number): number[] {
    const chosen: number[] = [];
    let weight = 0;
    let rows = 0;
    for (let looked = 0; looked < this.targetCount && rows < rowsMax; looked++) {
      const row = this.#next;
      if (this.#state[row] === Waiting) {
        weight += this.#weightOf(row);
        if (weight > weightMax && (chosen.length > 0 || weightMax <= 0)) break;
        this.#state[row] = Live;
        this.#try(row);
        rows += rowsOfProfile(this.#profiles, this.target.profile[row]!);
        chosen.push(row);
      }
      this.#next = row + 1 === this.targetCount ? 0 : row + 1;
    }
    this.#waitingCount -= chosen.length;
    this.#isHeld = chosen.length === 0 && rowsMax > 0;
    return chosen.sort((a, b) => a - b);
  }

  #merge(
    { columns, start, count }: LiveSlice,
    isGone: Uint8Array,
    added: readonly number[],
    changesMax: number,
    version: number,
    scratch: NeedColumns,
  ): number {
    const refs = this.#refs;
    const targetRow = new Uint32Array(count + added.length);
    scratch.reserve(count + added.length);
    let changesLeft = changesMax;
    let at = 0;
    let next = 0;
    const add = (row: number): void => {
      scratch.copyRow(at, this.target, row);
      retainRow(scratch, at, refs);
      scratch.changedAt[at] = version;
      targetRow[at++] = row + 1;
    };
    for (let position = 0; position < count; position++) {
      const row = start + position;
      if (isGone[position] === 1) {
        releaseRow(columns, row, refs);
        continue;
      }
      const inTarget = this.#targetRow[position]! - 1;
      while (next < added.length && inTarget >= 0 && added[next]! < inTarget) add(added[next++]!);
      if (inTarget >= 0 && this.#state[inTarget] === Differs && changesLeft > 0) {
        changesLeft -= rowsOfProfile(this.#profiles, this.target.profile[inTarget]!);
        this.#state[inTarget] = Live;
        this.#differingCount--;
        add(inTarget);
        releaseRow(columns, row, refs);
        continue;
      }
      scratch.copyRow(at, columns, row);
      targetRow[at++] = inTarget + 1;
    }
    while (next < added.length) add(added[next++]!);
    for (let row = 0; row < at; row++) columns.copyRow(start + row, scratch, row);
    if (at < count) columns.profile.fill(0, start + at, start + count);
    this.#targetRow = targetRow.subarray(0, at);
    return at;
  }

  /** The same, and all of them at once if the caller gives up half-way. */
  *releaseAll(): Generator<void> {
    try {
      yield* this.release();
    } finally {
      for (const _ of this.release());
    }
  }

  /** Releases the target's references in steps. A caller that gives up half-way releases the rest by another call. */
  *release(): Generator<void> {
    while (this.#releasedCount < this.targetCount) {
      releaseRow(this.target, this.#releasedCount++, this.#refs);
      if (this.#releasedCount % RELEASED_PER_STEP === 0) yield;
    }
  }
}

/** A copy of the draft's rows in order; the references stay the draft's. */
export function* inOrder(draft: RollupDraft, order: Uint32Array): Generator<void, NeedColumns> {
  const columns = new NeedColumns(order.length);
  for (let place = 0; place < order.length; place++) {
    columns.copyRow(place, draft.columns, order[place]!);
    if (place % COPIED_PER_STEP === COPIED_PER_STEP - 1) yield;
  }
  return columns;
}
