/**
 * Ceilings on what the fleet costs per hour (E7): over all machines, and over those of a capacity type. They bar Provisions and
 * nothing else: an Idle machine, a victim and a machine that drains cost their price already. So a need that found nothing
 * to acquire need not look again when the cost changes, and phase 2 never asks. The fleet is counted once in a cycle in which
 * a need looks at an offer: one pass over two columns, a few milliseconds for half a million machines.
 *
 * Prices count in millionths of a dollar, as in limits.ts: 2^53 of them are nine billion dollars per hour.
 */
import { Intent } from '../inventory/intent.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { CAPACITY_TYPE_COUNT, type CapacityType } from '../machine/capacity-type.ts';
import { MachineState } from '../machine/state.ts';

/** What is not limited is infinite. */
export interface Ceilings {
  readonly maxDollarsPerHour: number;
  /** By capacity type. */
  readonly maxByCapacityType: readonly number[];
}

/** No ceiling bars the machine. */
export const WITHIN = -2;
/** The ceiling over all machines bars it; else the answer is the capacity type whose ceiling does. */
export const WHOLE_FLEET = -1;

const MILLIONTHS = 1_000_000;

/** What the fleet costs, what the needs took in this cycle included. */
export class FleetCost {
  readonly #inventory: Inventory;
  readonly #max: number;
  readonly #maxByType: Float64Array;
  /** By capacity type: at the start of the cycle, once it is counted … */
  #atStart: Float64Array | null = null;
  /** … and now. */
  #millionths: Float64Array | null = null;

  constructor(ceilings: Ceilings, inventory: Inventory) {
    this.#inventory = inventory;
    this.#max = Math.round(ceilings.maxDollarsPerHour * MILLIONTHS);
    this.#maxByType = Float64Array.from(ceilings.maxByCapacityType, (usd) => Math.round(usd * MILLIONTHS));
  }

  /** The costs as they are now, for `restore`. Null: not counted yet, so nothing was taken. */
  save(): Float64Array | null {
    return this.#millionths?.slice() ?? null;
  }

  restore(saved: Float64Array | null): void {
    this.#millionths = saved ?? this.#atStart?.slice() ?? null;
  }

  /** WITHIN, WHOLE_FLEET or a capacity type. */
  barredBy(slot: number): number {
    if (!this.#isOffer(slot)) return WITHIN;
    const price = this.#millionthsOf(slot);
    if (price === 0) return WITHIN;
    const costs = this.#counted();
    const type = this.#inventory.columns.capacityType[slot]!;
    let total = price;
    for (let one = 0; one < CAPACITY_TYPE_COUNT; one++) total += costs[one]!;
    if (total > this.#max) return WHOLE_FLEET;
    return costs[type]! + price > this.#maxByType[type]! ? type : WITHIN;
  }

  /** The machine costs its price from now on. */
  take(slot: number): void {
    if (!this.#isOffer(slot)) return;
    this.#counted()[this.#inventory.columns.capacityType[slot]!]! += this.#millionthsOf(slot);
  }

  #counted(): Float64Array {
    if (this.#millionths === null) {
      this.#atStart = countCosts(this.#inventory.columns);
      this.#millionths = this.#atStart.slice();
    }
    return this.#millionths;
  }

  /** X1: an enqueued Provision counts as Creating. */
  #isOffer(slot: number): boolean {
    const { state, intent } = this.#inventory.columns;
    return state[slot] === MachineState.Speculative && intent[slot] !== Intent.Provision;
  }

  #millionthsOf(slot: number): number {
    return Math.round(this.#inventory.columns.pricePerHourUsd[slot]! * MILLIONTHS);
  }
}

/** For metrics: a ceiling, and what counts for it. */
export interface CeilingUse {
  /** Null: the ceiling over all machines. */
  readonly capacityType: CapacityType | null;
  readonly maxDollarsPerHour: number;
  readonly dollarsPerHour: number;
}

/** Counts the fleet again. */
export function ceilingUses(ceilings: Ceilings, { columns }: Inventory): CeilingUse[] {
  const uses: CeilingUse[] = [];
  const costs = countCosts(columns);
  const add = (capacityType: CapacityType | null, maxDollarsPerHour: number, millionths: number) => {
    if (maxDollarsPerHour !== Number.POSITIVE_INFINITY)
      uses.push({ capacityType, maxDollarsPerHour, dollarsPerHour: millionths / MILLIONTHS });
  };
  add(
    null,
    ceilings.maxDollarsPerHour,
    costs.reduce((sum, cost) => sum + cost, 0),
  );
  for (const [type, max] of ceilings.maxByCapacityType.entries())
    add(type as CapacityType, max, costs[type]!);
  return uses;
}

/** X1: an enqueued Provision counts as Creating; every other offer costs nothing yet. */
function countCosts({
  state,
  intent,
  capacityType,
  pricePerHourUsd,
  slotLimit,
}: Inventory['columns']): Float64Array {
  const costs = new Float64Array(CAPACITY_TYPE_COUNT);
  for (let slot = 1; slot < slotLimit; slot++) {
    if (state[slot] === 0) continue;
    if (state[slot] === MachineState.Speculative && intent[slot] !== Intent.Provision) continue;
    costs[capacityType[slot]!]! += Math.round(pricePerHourUsd[slot]! * MILLIONTHS);
  }
  return costs;
}
