/** What a gang reserves in its domain (A5): the machines that acquisition will take for it, which no other gang acquires. */
import type { VectorTable } from '../../base/vectors.ts';
import { columnF64 } from '../columns/columns.ts';
import { type EngineNeeds, subtractCapacity } from '../demand/engine-needs.ts';
import type { EngineTables } from '../engine-tables.ts';
import { type ClusterUsage, Limit, type Limits } from '../limits.ts';
import type { Fleet } from '../supply/fleet.ts';
import type { Supply } from '../supply/supply.ts';
import type { GangTurn } from './gang-turn.ts';
import { Scan } from './scan.ts';
import { UnmetNeeds } from './unmet.ts';
import { ValuePlan } from './value-plan.ts';

export class GangReservation {
  readonly #fleet: Fleet;
  readonly #vectors: VectorTable;
  readonly #needs: EngineNeeds;
  readonly #supply: Supply;
  readonly #limits: Limits;
  readonly #scan: Scan;
  /** E1: null unless needs acquire by value. */
  readonly #value: ValuePlan | null;
  #planned: readonly number[] = [];
  /** What the planned machines leave open, by wanted dimension. */
  #left = columnF64(8);

  constructor(tables: EngineTables) {
    const { fleet, vectors, needs, supply, limits, scans, placement } = tables;
    this.#value = placement.kind === 'value' ? new ValuePlan(tables, null) : null;
    this.#fleet = fleet;
    this.#vectors = vectors;
    this.#needs = needs;
    this.#supply = supply;
    this.#limits = limits;
    this.#scan = new Scan(scans);
  }

  /** A3's scan in its domain for what credit left open; nothing, if a limit bars the gang (T8). */
  reserve(turn: GangTurn): void {
    const { need } = turn;
    const aggregate = this.#needs.aggregate[need]!;
    const remaining = this.#plan(turn);
    const usage = this.#limits.usageOf(this.#needs.cluster[need]!);
    if (usage !== null && (remaining > 0 || this.#planned.length > 0)) {
      const before = usage.save();
      const left = remaining > 0 ? this.#left : null;
      const limit = planGang(usage, this.#planned, left, 0, this.#vectors, aggregate);
      usage.restore(before);
      if (limit !== Limit.None) {
        this.#limits.barredGangs.set(need, limit);
        return;
      }
    }
    for (const slot of this.#planned) this.#supply.reserve(slot, need);
  }

  /** Collects the machines in `#planned`; returns how many dimensions they leave uncovered. */
  #plan({ need, filter, domains }: GangTurn): number {
    const needs = this.#needs;
    const { families, shape } = this.#fleet;
    const aggregate = needs.aggregate[need]!;
    const width = this.#vectors.length[aggregate]!;
    if (this.#left.length < width) this.#left = columnF64(2 * width);
    const left = this.#left;
    let remaining = 0;
    for (let index = 0; index < width; index++) {
      left[index] = needs.remaining[need * needs.width + index]!;
      if (left[index]! > 0) remaining++;
    }
    this.#planned = [];
    if (remaining === 0) return 0;
    const penalty = needs.interruptionPenalty[need]!;
    if (this.#value !== null) {
      const gang = {
        filter,
        penaltyBucket: penalty,
        gang: need + 1,
        domains,
        domain: needs.domain[need]!,
        usage: null,
      };
      this.#planned = this.#value.make(need, gang, null, left, 0);
      return UnmetNeeds.left(left, 0, this.#vectors, aggregate);
    }
    const planned: number[] = [];
    this.#planned = planned;
    const scan = this.#scan.open(filter, penalty, need + 1, domains, needs.domain[need]!);
    for (let slot = scan.peek(); slot !== 0 && remaining > 0; slot = scan.peek()) {
      const family = families.familyOf[shape[slot]!]!;
      const after = subtractCapacity(left, 0, this.#vectors, aggregate, families, family);
      if (after < 0) {
        scan.skipFamily();
        continue;
      }
      planned.push(slot);
      remaining = after;
      scan.skip();
    }
    return remaining;
  }
}

/** T8: takes the machines of a gang; the limit that bars them or, in `left`, what they leave uncovered (null: nothing). */
export function planGang(
  usage: ClusterUsage,
  planned: readonly number[],
  left: Float64Array | null,
  row: number,
  vectors: VectorTable,
  aggregate: number,
): Limit {
  for (const slot of planned) {
    const limit = usage.barsOfGang(slot);
    if (limit !== Limit.None) return limit;
    usage.take(slot);
  }
  const limit = usage.barsGang(planned);
  if (left === null || limit !== Limit.None) return limit;
  return usage.barsRestOfGang((dim) => UnmetNeeds.unitsOf(left, row, vectors, aggregate, dim));
}
