/**
 * The needs that credit did not satisfy, in A3's order (priority, penalties, then as N4), and what a cycle does for each.
 * They stay from cycle to cycle: `begin` removes and inserts those that changed, and an entry that nothing changed keeps
 * the outcome that it had. A covered need has no entry and costs nothing.
 *
 *   by entry   need                    u32
 *              assignment, cluster     u32           of the need, which tell whether its number names another one now
 *              settledAt               f64           families.openVersion when its scan found nothing; 0 = scan it
 *              isChanged, isNew        u8            its outcome may differ from that of the last cycle; it had none
 *              rest                    f64 × width   what phase 1 leaves uncovered, then …
 *              missing                 f64 × width   … what phase 2 leaves
 *              acquired, bootstraps,   u32           counts of machines
 *              provisions, victims
 *              limitedBy               u8            Limit (T8, E7) that keeps machines from it
 *              gangsHeld               f64           of a fold, after phase 1: whole gangs that fit its machines
 *              reason                  u8            UnmetReason; 0 = it acquired all that it lacked
 *              counted                 u8            Counted: whose cycles unmet (A8) this entry counts
 *              shortOf                 u32           fingerprint whose shortfall (P5) it is part of; 0 = none
 *   by need    entryOf                 u32           entry + 1, valid if that entry names the need
 *              wanted                  u32           the `begin` for which it is to have an entry
 *              isEvaluated             u8            credited again since the last `begin`
 */
import type { VectorTable } from '../../base/vectors.ts';
import type { ClusterState } from '../cluster-state.ts';
import { columnF64, columnU8, columnU32, widerF64, widerU8, widerU32 } from '../columns/columns.ts';
import type { EngineNeeds } from '../demand/engine-needs.ts';
import type { ServingOrder } from '../demand/serving-order.ts';
import type { Spreading } from './spread.ts';

/** A8: an entry counts for nothing, for its need, or for the members of its fold that lack a machine. */
export const Counted = { No: 0, Need: 1, Members: 2 } as const;

const Touch = { None: 0, Credited: 1, Forgotten: 2 } as const;

/** Columns that move with their entries. The others are written again in every cycle. */
const MOVED = [
  'need',
  'assignment',
  'cluster',
  'settledAt',
  'isChanged',
  'isNew',
  'acquired',
  'bootstraps',
  'provisions',
  'limitedBy',
  'gangsHeld',
  'reason',
  'counted',
  'shortOf',
] as const;

export class UnmetNeeds {
  readonly #needs: EngineNeeds;
  readonly #order: ServingOrder;
  count = 0;
  width = 4;
  need = columnU32(256);
  assignment = columnU32(256);
  cluster = columnU32(256);
  settledAt = columnF64(256);
  isChanged = columnU8(256);
  isNew = columnU8(256);
  rest = columnF64(1024);
  missing = columnF64(1024);
  acquired = columnU32(256);
  bootstraps = columnU32(256);
  provisions = columnU32(256);
  victims = columnU32(256);
  limitedBy = columnU8(256);
  gangsHeld = columnF64(256);
  reason = columnU8(256);
  counted = columnU8(256);
  shortOf = columnU32(256);
  #entryOf = columnU32(256);
  #wanted = columnU32(256);
  #isEvaluated = columnU8(256);
  /** By entry: the counts by domain of a need with a spread constraint (A4). */
  readonly spreading = new Map<number, Spreading>();
  /** Entries that `begin` removed: assignment, counted and shortOf of each, in turn. */
  readonly left: number[] = [];
  /** Clusters that were credited in this cycle, with their deficits. */
  readonly #credited = new Map<number, readonly number[]>();
  /** Clusters whose needs have other numbers now, or are gone. */
  readonly #forgotten = new Set<number>();
  /** By cluster ref: Touch. */
  #touch = columnU8(256);
  #begun = 0;
  readonly #gaps: number[] = [];
  readonly #inserted: number[] = [];
  readonly #places: number[] = [];

  constructor(needs: EngineNeeds, order: ServingOrder) {
    this.#needs = needs;
    this.#order = order;
  }

  /** Credit evaluated the need: what it lacks may have changed. */
  evaluated(need: number): void {
    this.#isEvaluated = widerU8(this.#isEvaluated, need);
    this.#isEvaluated[need] = 1;
  }

  /** The cluster was credited, and these needs have a deficit. */
  credited({ ref }: ClusterState, deficits: readonly number[]): void {
    this.#credited.set(ref, deficits);
  }

  /** The cluster's needs are about to get other numbers, or to go. */
  forget({ ref }: ClusterState): void {
    this.#credited.delete(ref);
    this.#forgotten.add(ref);
  }

  /** Begins phase 1's second part. */
  begin(): void {
    this.spreading.clear();
    this.left.length = 0;
    if (this.width !== this.#needs.width) this.#respace();
    if (this.#credited.size + this.#forgotten.size > 0) this.#update();
    this.victims.fill(0, 0, this.count);
  }

  /** Entry of a need; -1 if credit satisfied it. */
  entryFor(need: number): number {
    const entry = (this.#entryOf[need] ?? 0) - 1;
    return entry >= 0 && entry < this.count && this.need[entry] === need ? entry : -1;
  }

  /** Undoes what the last cycle did for an entry, before this cycle decides about it. */
  reset(entry: number): void {
    if (this.isChanged[entry] === 0 && this.acquired[entry] === 0 && this.limitedBy[entry] === 0) return;
    this.isChanged[entry] = 1;
    this.limitedBy[entry] = 0;
    this.acquired[entry] = this.bootstraps[entry] = this.provisions[entry] = 0;
    const row = entry * this.width;
    const from = this.need[entry]! * this.width;
    for (let index = 0; index < this.width; index++)
      this.rest[row + index] = this.#needs.remaining[from + index]!;
  }

  #update(): void {
    const begun = ++this.#begun;
    this.#wanted = widerU32(this.#wanted, this.#needs.limit);
    this.#isEvaluated = widerU8(this.#isEvaluated, this.#needs.limit);
    for (const [ref, deficits] of this.#credited) {
      this.#setTouch(ref, Touch.Credited);
      for (const need of deficits) this.#wanted[need] = begun;
    }
    for (const ref of this.#forgotten) this.#setTouch(ref, Touch.Forgotten);
    this.#findGaps(begun);
    this.#inserted.length = 0;
    for (const [ref, deficits] of this.#credited) {
      this.#touch[ref] = Touch.None;
      for (const need of deficits) if (this.#wanted[need] === begun) this.#inserted.push(need);
    }
    for (const ref of this.#forgotten) this.#touch[ref] = Touch.None;
    this.#credited.clear();
    this.#forgotten.clear();
    if (this.#gaps.length + this.#inserted.length === 0) return;
    this.#closeGaps();
    this.#insert();
    this.#entryOf = widerU32(this.#entryOf, this.#needs.limit);
    for (let entry = 0; entry < this.count; entry++) this.#entryOf[this.need[entry]!] = entry + 1;
  }

  #setTouch(ref: number, touch: number): void {
    this.#touch = widerU8(this.#touch, ref);
    this.#touch[ref] = touch;
  }

  /** Finds the entries that go. Those that stay are wanted no longer, and change if credit evaluated their need. */
  #findGaps(begun: number): void {
    const { assignment } = this.#needs;
    this.#gaps.length = 0;
    for (let entry = 0; entry < this.count; entry++) {
      const touch = this.#touch[this.cluster[entry]!] ?? Touch.None;
      if (touch === Touch.None) continue;
      const need = this.need[entry]!;
      const isSame = touch === Touch.Credited && assignment[need] === this.assignment[entry];
      if (!isSame || this.#wanted[need] !== begun) {
        this.#gaps.push(entry);
        this.left.push(this.assignment[entry]!, this.counted[entry]!, this.shortOf[entry]!);
        continue;
      }
      this.#wanted[need] = 0;
      if (this.#isEvaluated[need] === 0) continue;
      this.#isEvaluated[need] = 0;
      this.#change(entry);
    }
  }

  #change(entry: number): void {
    this.isChanged[entry] = 1;
    this.settledAt[entry] = 0;
  }

  #closeGaps(): void {
    const gaps = this.#gaps;
    for (let index = 0; index < gaps.length; index++) {
      const from = gaps[index]! + 1;
      this.#move(from, index + 1 < gaps.length ? gaps[index + 1]! : this.count, from - index - 1);
    }
    this.count -= gaps.length;
  }

  #insert(): void {
    const inserted = this.#inserted.sort(this.#order.compareAcquire);
    const places = this.#places;
    places.length = 0;
    for (const need of inserted) places.push(this.#placeOf(need, places[places.length - 1] ?? 0));
    const before = this.count;
    this.#widen(before + inserted.length);
    for (let index = inserted.length - 1, end = before; index >= 0; index--) {
      this.#move(places[index]!, end, places[index]! + index + 1);
      end = places[index]!;
    }
    this.count = before + inserted.length;
    for (const [index, need] of inserted.entries()) this.#write(places[index]! + index, need);
  }

  /** Entries before this one, from `from` on, precede the need. */
  #placeOf(need: number, from: number): number {
    let low = from;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#order.compareAcquire(this.need[middle]!, need) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #write(entry: number, need: number): void {
    this.need[entry] = need;
    this.assignment[entry] = this.#needs.assignment[need]!;
    this.cluster[entry] = this.#needs.cluster[need]!;
    this.gangsHeld[entry] = 0;
    this.reason[entry] = 0;
    this.counted[entry] = Counted.No;
    this.shortOf[entry] = 0;
    this.isNew[entry] = 1;
    this.#isEvaluated[need] = 0;
    this.#change(entry);
  }

  #move(from: number, end: number, to: number): void {
    if (from === end) return;
    for (const column of MOVED) this[column].copyWithin(to, from, end);
    this.rest.copyWithin(to * this.width, from * this.width, end * this.width);
  }

  #widen(count: number): void {
    this.need = widerU32(this.need, count);
    this.assignment = widerU32(this.assignment, count);
    this.cluster = widerU32(this.cluster, count);
    this.settledAt = widerF64(this.settledAt, count);
    this.isChanged = widerU8(this.isChanged, count);
    this.isNew = widerU8(this.isNew, count);
    this.acquired = widerU32(this.acquired, count);
    this.bootstraps = widerU32(this.bootstraps, count);
    this.provisions = widerU32(this.provisions, count);
    this.victims = widerU32(this.victims, count);
    this.limitedBy = widerU8(this.limitedBy, count);
    this.gangsHeld = widerF64(this.gangsHeld, count);
    this.reason = widerU8(this.reason, count);
    this.counted = widerU8(this.counted, count);
    this.shortOf = widerU32(this.shortOf, count);
    this.rest = widerF64(this.rest, count * this.width);
    this.missing = widerF64(this.missing, count * this.width);
  }

  /** Rows of units have another width: every entry is decided again. */
  #respace(): void {
    this.width = this.#needs.width;
    this.rest = widerF64(this.rest, this.count * this.width);
    this.missing = widerF64(this.missing, this.count * this.width);
    for (let entry = 0; entry < this.count; entry++) this.#change(entry);
  }

  /** What a row of units has of a dimension; the row is laid out as the aggregate. */
  static unitsOf(
    units: Float64Array,
    row: number,
    { start, length, dims }: VectorTable,
    aggregate: number,
    dim: number,
  ): number {
    for (let index = 0; index < length[aggregate]!; index++)
      if (dims[start[aggregate]! + index] === dim) return units[row + index]!;
    return 0;
  }

  /** How many dimensions of the demand remain. */
  static left(units: Float64Array, row: number, vectors: VectorTable, aggregate: number): number {
    let left = 0;
    const count = vectors.length[aggregate]!;
    for (let index = 0; index < count; index++) if (units[row + index]! > 0) left++;
    return left;
  }
}
