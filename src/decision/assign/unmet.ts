/**
 * The needs that credit did not satisfy, in A3's order (priority, penalties, then as N4), and what the rest of the cycle
 * does for each. Filled again in every cycle; a covered need has no entry and costs nothing.
 *
 *   by entry   need                    u32
 *              rest                    f64 × width   what phase 1 leaves uncovered, then …
 *              missing                 f64 × width   … what phase 2 leaves
 *              acquired, bootstraps,   u32           counts of machines
 *              provisions, victims
 *              limitedBy               u8            Limit (T8) that keeps machines from it
 *              gangsHeld               f64           of a fold, after phase 1: whole gangs that fit its machines
 */
import type { VectorTable } from '../../base/vectors.ts';
import { columnF64, columnU8, columnU32, widerF64, widerU8, widerU32 } from '../columns/columns.ts';
import type { EngineNeeds } from '../demand/engine-needs.ts';
import type { Spreading } from './spread.ts';

export class UnmetNeeds {
  count = 0;
  width = 4;
  need = columnU32(256);
  rest = columnF64(1024);
  missing = columnF64(1024);
  acquired = columnU32(256);
  bootstraps = columnU32(256);
  provisions = columnU32(256);
  victims = columnU32(256);
  limitedBy = columnU8(256);
  gangsHeld = columnF64(256);
  /** By entry: the counts by domain of a need with a spread constraint (A4). */
  readonly spreading = new Map<number, Spreading>();

  /** Begins a cycle with these needs, already in order. */
  begin(sorted: readonly number[], needs: EngineNeeds): void {
    this.count = sorted.length;
    this.width = needs.width;
    this.spreading.clear();
    const last = Math.max(0, sorted.length - 1);
    this.need = widerU32(this.need, last);
    this.acquired = widerU32(this.acquired, last);
    this.bootstraps = widerU32(this.bootstraps, last);
    this.provisions = widerU32(this.provisions, last);
    this.victims = widerU32(this.victims, last);
    this.limitedBy = widerU8(this.limitedBy, last);
    this.gangsHeld = widerF64(this.gangsHeld, last);
    this.rest = widerF64(this.rest, (last + 1) * this.width);
    this.missing = widerF64(this.missing, (last + 1) * this.width);
    for (let entry = 0; entry < sorted.length; entry++) {
      const need = sorted[entry]!;
      this.need[entry] = need;
      this.limitedBy[entry] = 0;
      this.acquired[entry] = this.bootstraps[entry] = this.provisions[entry] = this.victims[entry] = 0;
      for (let index = 0; index < this.width; index++) {
        this.rest[entry * this.width + index] = needs.remaining[need * this.width + index]!;
      }
    }
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
