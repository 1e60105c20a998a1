/**
 * Random events: spot machines are interrupted, machines vanish, prices change. Every interval draws the
 * number of events for the whole fleet from a Poisson distribution and then picks the machines, so a second
 * without events costs three draws for 500,000 machines.
 */
import type { Random } from '../../base/random.ts';
import { CapacityType } from '../../machine/capacity-type.ts';
import { isMaterial } from './lifecycle.ts';
import type { World } from './world.ts';

const MS_PER_HOUR = 3_600_000;

/** A new price differs from the list price by at most a quarter. */
const PRICE_SWING = 0.25;

export class Weather {
  readonly #world: World;
  readonly #random: Random;
  /** By offering and kind: the first price, so that changes do not accumulate over hours. */
  readonly #listPrices = new Map<number, Map<number, number>>();
  #cancel: () => void = () => {};

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
    const { interruptionsPerHourFactor, vanishingPerHour, priceChangesPerHour } = world.settings.weather;
    if (interruptionsPerHourFactor + vanishingPerHour + priceChangesPerHour > 0) this.#waitForNext();
  }

  stop(): void {
    this.#cancel();
    this.#cancel = () => {};
  }

  #waitForNext(): void {
    this.#cancel = this.#world.timers.after(this.#world.settings.weather.intervalMs, () => {
      this.#waitForNext();
      this.#happen();
    });
  }

  #happen(): void {
    const { settings, fleet, kinds } = this.#world;
    const { intervalMs, interruptionsPerHourFactor, vanishingPerHour, priceChangesPerHour } =
      settings.weather;
    const hours = intervalMs / MS_PER_HOUR;
    // Drawn as if every machine had probability 1; each pick is then kept with the machine's own probability.
    this.#times(fleet.machineCount * interruptionsPerHourFactor * hours, () => this.#interruptOne());
    this.#times(fleet.machineCount * vanishingPerHour * hours, () => this.#removeOne());
    this.#times(kinds.offeringNames.length * priceChangesPerHour * hours, () => this.#repriceOne());
  }

  #interruptOne(): void {
    const { fleet, kinds, settings } = this.#world;
    const row = this.#pickRow();
    if (row < 0 || kinds.kinds[fleet.kind[row]!]!.capacityType !== CapacityType.Spot) return;
    if (!isMaterial(this.#world.stateOf(row))) return;
    if (!this.#random.chance(fleet.interruptionProbability[row]!)) return;
    const id = fleet.ids[row]!;
    const { interruptionOutcome } = settings.weather;
    if (interruptionOutcome === 'failed') this.#world.fail(id, 'spot capacity was taken back (simulated)');
    else if (interruptionOutcome === 'speculative') this.#world.reset(id);
    else this.#world.remove(id);
  }

  #removeOne(): void {
    const row = this.#pickRow();
    if (row >= 0) this.#world.remove(this.#world.fleet.ids[row]!);
  }

  #repriceOne(): void {
    const { fleet, kinds } = this.#world;
    const offering = this.#random.below(kinds.offeringNames.length);
    const factor = 1 + (this.#random.unit() * 2 - 1) * PRICE_SWING;
    const listPrices = this.#listPricesOf(offering);
    for (let row = 0; row < fleet.rowEnd; row++) {
      const kind = fleet.kind[row]!;
      if (fleet.state[row] === 0 || kinds.offeringOf[kind] !== offering) continue;
      let listPrice = listPrices.get(kind);
      if (listPrice === undefined) {
        listPrice = fleet.pricePerHourUsd[row]!;
        listPrices.set(kind, listPrice);
      }
      this.#world.reprice(fleet.ids[row]!, listPrice * factor);
    }
  }

  #listPricesOf(offering: number): Map<number, number> {
    let prices = this.#listPrices.get(offering);
    if (prices === undefined) {
      prices = new Map();
      this.#listPrices.set(offering, prices);
    }
    return prices;
  }

  /** A random machine, or -1 if the drawn row is unused. Rows are reused, so few are. */
  #pickRow(): number {
    const { fleet } = this.#world;
    if (fleet.machineCount === 0) return -1;
    const row = this.#random.below(fleet.rowEnd);
    return fleet.state[row] === 0 ? -1 : row;
  }

  #times(expected: number, happen: () => void): void {
    for (let left = drawPoisson(expected, this.#random); left > 0; left--) happen();
  }
}

/** A Poisson draw is the sum of Poisson draws of its parts; e^−500 is well within the range of a double. */
const COUNTED_EXPECTATION_MAX = 500;

/** Knuth's method: how many uniform draws can be multiplied before the product falls below e^−expected. */
export function drawPoisson(expected: number, random: Random): number {
  let drawn = 0;
  for (let left = expected; left > 0; left -= COUNTED_EXPECTATION_MAX) {
    const floor = Math.exp(-Math.min(left, COUNTED_EXPECTATION_MAX));
    for (let product = random.unit(); product > floor; product *= random.unit()) drawn++;
  }
  return drawn;
}
