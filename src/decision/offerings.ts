/** Counts the machines of offerings for T8's max-offering-share. */
import type { Inventory } from '../inventory/inventory.ts';
import { ALL_STATES } from '../machine/state.ts';

/** Providers are u8 in the machine columns. */
const PROVIDERS = 256;

/** Machines by offering: provider, instance type, zone and capacity type. Each is counted at most once per cycle. */
export class Offerings {
  readonly #inventory: Inventory;
  #shapesVersion = Number.NaN;
  /** By shape: its kind, which is its offering without the provider; 0: no machine has the shape. */
  #kindOf = new Uint32Array(0);
  /** By kind. */
  #shapesOf: number[][] = [];
  readonly #counts = new Map<number, number>();
  readonly #byProvider = new Uint32Array(PROVIDERS);

  constructor(inventory: Inventory) {
    this.#inventory = inventory;
  }

  beginCycle(): void {
    this.#counts.clear();
  }

  of(slot: number): number {
    const { shapes, columns } = this.#inventory;
    if (this.#shapesVersion !== shapes.version) this.#sortShapes();
    return this.#kindOf[columns.shape[slot]!]! * PROVIDERS + columns.provider[slot]!;
  }

  countOf(offering: number): number {
    if (!this.#counts.has(offering)) this.#count(Math.floor(offering / PROVIDERS));
    return this.#counts.get(offering)!;
  }

  /** Counts the machines of all offerings of a kind. */
  #count(kind: number): void {
    const { indexes, columns } = this.#inventory;
    const byProvider = this.#byProvider.fill(0);
    for (const shape of this.#shapesOf[kind]!) {
      for (const state of ALL_STATES) {
        const start = indexes.startOfShape(state, shape);
        const end = start + indexes.countOfShape(state, shape);
        for (let position = start; position < end; position++)
          byProvider[columns.provider[indexes.shapeSlots[position]!]!]!++;
      }
    }
    for (let provider = 0; provider < PROVIDERS; provider++)
      if (byProvider[provider]! > 0) this.#counts.set(kind * PROVIDERS + provider, byProvider[provider]!);
  }

  #sortShapes(): void {
    const { shapes } = this.#inventory;
    const kinds = new Map<string, number>();
    this.#shapesVersion = shapes.version;
    this.#kindOf = new Uint32Array(shapes.refLimit);
    this.#shapesOf = [[]];
    for (let shape = 1; shape < shapes.refLimit; shape++) {
      if (!shapes.isHeld(shape)) continue;
      const name = `${shapes.instanceTypeOf[shape]}|${shapes.zoneOf[shape]}|${shapes.capacityTypeOf[shape]}`;
      let kind = kinds.get(name);
      if (kind === undefined) {
        kind = this.#shapesOf.push([]) - 1;
        kinds.set(name, kind);
      }
      this.#kindOf[shape] = kind;
      this.#shapesOf[kind]!.push(shape);
    }
  }
}
