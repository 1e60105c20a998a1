/**
 * Reads verdicts from the columns of a result, of a live engine or copied. A8: every need has a verdict with what it lacks
 * and why. A test checks that it agrees with `Engine.verdictsOf`.
 */
import { joined } from '../../base/image.ts';
import type { VectorTable } from '../../base/vectors.ts';
import { UnmetNeeds } from '../../decision/assign/unmet.ts';
import { Mark, NeedKind } from '../../decision/demand/engine-needs.ts';
import { isParkedAt } from '../../decision/restrictions.ts';
import type { EngineResult } from '../../decision/verdicts/result.ts';

/** A verdict in numbers. */
export interface VerdictFacts {
  satisfied: boolean;
  /** Dimension and missing units, in pairs. */
  deficit: number[];
  claimed: number;
  bootstraps: number;
  provisions: number;
  domain: string;
  satisfiable: boolean;
  parked: boolean;
  parkedCycles: number;
  cyclesUnmet: number;
  reason: number;
  /** Limit (T8). */
  limitedBy: number;
}

interface Counts {
  readonly unmetCount: number;
  readonly parkCount: number;
  readonly parkFor: number;
}

const NO_COUNTS: Counts = { unmetCount: 0, parkCount: 0, parkFor: 0 };

export class VerdictReader {
  readonly #result: EngineResult;
  readonly #vectors: VectorTable;
  readonly #rowNeed: Uint32Array;
  readonly #rowAssignment: Uint32Array;
  /** By cluster ref: its index in the result's clusters, and its first row. */
  readonly #places = new Map<number, { readonly index: number; readonly start: number }>();
  readonly #entryOf: Uint32Array;
  readonly #counts = new Map<number, Counts>();
  readonly #domainTexts: ReadonlyMap<string, readonly string[]>;
  /** By need: rows read so far. */
  readonly #members: Uint32Array;

  constructor(result: EngineResult, vectors: VectorTable) {
    const { clusters, unmet, counts, needs } = result;
    this.#result = result;
    this.#vectors = vectors;
    this.#rowNeed = joined(clusters.rowNeed);
    this.#rowAssignment = joined(clusters.rowAssignment);
    this.#entryOf = new Uint32Array(needs.assignment.length);
    this.#members = new Uint32Array(needs.assignment.length);
    for (let index = 0, start = 0; index < clusters.ref.length; index++) {
      this.#places.set(clusters.ref[index]!, { index, start });
      start += clusters.rowCount[index]!;
    }
    for (let entry = 0; entry < unmet.need.length; entry++) this.#entryOf[unmet.need[entry]!] = entry + 1;
    for (let index = 0; index < counts.assignment.length; index++) {
      this.#counts.set(counts.assignment[index]!, {
        unmetCount: counts.unmetCount[index]!,
        parkCount: counts.parkCount[index]!,
        parkFor: counts.parkFor[index]!,
      });
    }
    this.#domainTexts = new Map(
      result.domainTexts.map(([keys, texts]) => [keys, JSON.parse(texts) as string[]]),
    );
  }

  rowCount(cluster: number): number {
    const place = this.#places.get(cluster);
    return place === undefined ? 0 : this.#result.clusters.rowCount[place.index]!;
  }

  /** Rows of a cluster must be read in order from the first: the order distinguishes the members of a fold. */
  read(cluster: number, row: number, sameKeys: readonly string[]): VerdictFacts {
    const { needs, unmet, cycle, isOrdinary } = this.#result;
    const at = this.#places.get(cluster)!.start + row;
    const need = this.#rowNeed[at]!;
    const counts = this.#counts.get(this.#rowAssignment[at]!) ?? NO_COUNTS;
    const entry = this.#entryOf[need]! - 1;
    const isFold = needs.kind[need] === NeedKind.Fold;
    const isGang = needs.kind[need] === NeedKind.Gang;
    const member = this.#members[need]!++;
    const isFirst = !isFold || member === 0;
    const satisfied =
      entry < 0 || (isFold ? member < unmet.gangsHeld[entry]! : this.#missingCount(need, entry) === 0);
    return {
      satisfied,
      deficit: satisfied ? [] : this.#deficitOf(need, entry, isFold),
      claimed: isFirst ? needs.creditCount[need]! + (entry < 0 ? 0 : unmet.acquired[entry]!) : 0,
      bootstraps: isFirst && entry >= 0 ? unmet.bootstraps[entry]! : 0,
      provisions: isFirst && entry >= 0 ? unmet.provisions[entry]! : 0,
      domain: isGang ? this.#domainOf(need, sameKeys) : '',
      satisfiable: !isGang || this.#has(need, Mark.Satisfiable),
      parked: isGang && (satisfied ? this.#isParked(need, isOrdinary) : this.#has(need, Mark.Parked)),
      parkedCycles: isGang && counts.parkFor === cycle + 1 ? counts.parkCount : 0,
      cyclesUnmet: satisfied ? 0 : counts.unmetCount,
      reason: satisfied || entry < 0 ? 0 : unmet.reason[entry]!,
      limitedBy: satisfied || entry < 0 ? 0 : unmet.limitedBy[entry]!,
    };
  }

  #has(need: number, mark: number): boolean {
    return (this.#result.needs.marks[need]! & mark) !== 0;
  }

  #isParked(need: number, isOrdinary: boolean): boolean {
    const { parkFor, parkCount } = this.#counts.get(this.#result.needs.assignment[need]!) ?? NO_COUNTS;
    return parkFor === this.#result.cycle && isParkedAt(parkCount, isOrdinary);
  }

  #domainOf(need: number, sameKeys: readonly string[]): string {
    const domain = this.#result.needs.domain[need]!;
    return this.#domainTexts.get(JSON.stringify(sameKeys))?.[domain] ?? '';
  }

  #missingCount(need: number, entry: number): number {
    const { rest, width } = this.#result.unmet;
    return UnmetNeeds.left(rest, entry * width, this.#vectors, this.#result.needs.aggregate[need]!);
  }

  #deficitOf(need: number, entry: number, isFold: boolean): number[] {
    const { start, length, dims, units } = this.#vectors;
    const { rest, width } = this.#result.unmet;
    const aggregate = this.#result.needs.aggregate[need]!;
    const deficit: number[] = [];
    for (let index = 0; index < length[aggregate]!; index++) {
      const at = start[aggregate]! + index;
      const missing = isFold ? units[at]! : rest[entry * width + index]!;
      if (missing > 0) deficit.push(dims[at]!, missing);
    }
    return deficit;
  }
}
