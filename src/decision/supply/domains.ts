/**
 * Domains: the parts that one topology key, or several, divide the fleet into, for spread (A4) and gangs (A5). A domain
 * is the tuple of the keys' values; a machine that lacks one of them is in no domain (0). Where every key is a fact of
 * the family, all machines of a family share a domain and can be counted at once.
 */

import { compareBytewise } from '../../base/dimensions.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { attributeOf } from '../../inventory/shapes.ts';
import { columnU32, widerU32 } from '../columns/columns.ts';
import type { Families } from './families.ts';
import { MatchLevel } from './filters.ts';
import { leftBehindMax } from './left-behind.ts';
import type { SlotAttributes } from './slot-attributes.ts';

const UNKNOWN = 0;
const NOWHERE = 1; // stored numbers are domain + 1

export class Domains {
  readonly keys: readonly string[];
  readonly matchLevel: MatchLevel;
  readonly #inventory: Inventory;
  readonly #families: Families;
  readonly #attributes: SlotAttributes;
  #ofShape = columnU32(256);
  #ofFamily = columnU32(64);
  /** By domain, at MatchLevel.Shape: its shapes. */
  readonly #shapesIn: number[][] = [[]];
  readonly #byText = new Map<string, number>();
  readonly #values: (readonly string[])[] = [[]];
  #texts = { count: 0, json: '' };

  constructor(keys: readonly string[], inventory: Inventory, families: Families, attributes: SlotAttributes) {
    this.keys = keys;
    this.#inventory = inventory;
    this.#families = families;
    this.#attributes = attributes;
    const own = keys.some((key) => attributes.ownKeys.has(key));
    const fine = keys.some((key) => families.fineKeys.has(key));
    this.matchLevel = own ? MatchLevel.Machine : fine ? MatchLevel.Shape : MatchLevel.Family;
    for (let family = 1; family <= families.count; family++)
      families.shapesOf(family).forEach(this.admitShape, this);
  }

  /** T12: whether most domains were left behind by values that drift. */
  get areMostlyDead(): boolean {
    const { shapes, count } = this.#inventory;
    const liveMax = this.matchLevel === MatchLevel.Machine ? count : shapes.count;
    return this.#values.length > leftBehindMax(count) + 2 * liveMax;
  }

  /** The shapes of a domain; only at MatchLevel.Shape. */
  shapesIn(domain: number): readonly number[] {
    return this.#shapesIn[domain]!;
  }

  admitShape(shape: number): void {
    if (this.matchLevel === MatchLevel.Shape) this.#shapesIn[this.ofShape(shape)]!.push(shape);
  }

  ofSlot(slot: number): number {
    if (this.matchLevel !== MatchLevel.Machine) return this.ofShape(this.#inventory.columns.shape[slot]!);
    return this.#intern(this.keys.map((key) => this.#attributes.of(slot, key)));
  }

  ofShape(shape: number): number {
    if (this.matchLevel === MatchLevel.Family) return this.ofFamily(this.#families.familyOf[shape]!);
    this.#ofShape = widerU32(this.#ofShape, shape);
    let stored = this.#ofShape[shape]!;
    if (stored === UNKNOWN) {
      const known = this.#inventory.shapes.get(shape);
      stored = this.#intern(this.keys.map((key) => attributeOf(known, key))) + NOWHERE;
      this.#ofShape[shape] = stored;
    }
    return stored - NOWHERE;
  }

  /** Only at MatchLevel.Family. */
  ofFamily(family: number): number {
    this.#ofFamily = widerU32(this.#ofFamily, family);
    let stored = this.#ofFamily[family]!;
    if (stored === UNKNOWN) {
      const sample = this.#families.sampleOf(family);
      stored = this.#intern(this.keys.map((key) => attributeOf(sample, key))) + NOWHERE;
      this.#ofFamily[family] = stored;
    }
    return stored - NOWHERE;
  }

  /** Order of two domains by their values, key by key, bytewise. */
  compare(a: number, b: number): number {
    const valuesA = this.#values[a]!;
    const valuesB = this.#values[b]!;
    for (let index = 0; index < valuesA.length; index++) {
      const order = compareBytewise(valuesA[index]!, valuesB[index]!);
      if (order !== 0) return order;
    }
    return 0;
  }

  textOf(domain: number): string {
    return this.#values[domain]!.join(',');
  }

  /** The texts of all domains, by number, as JSON; domains are only ever added. */
  textsJson(): string {
    if (this.#texts.count !== this.#values.length) {
      const json = JSON.stringify(this.#values.map((values) => values.join(',')));
      this.#texts = { count: this.#values.length, json };
    }
    return this.#texts.json;
  }

  forgetShape(shape: number): void {
    if (this.matchLevel !== MatchLevel.Shape) return;
    const shapes = this.#shapesIn[this.ofShape(shape)]!;
    shapes[shapes.indexOf(shape)] = shapes[shapes.length - 1]!;
    shapes.pop();
    this.#ofShape[shape] = UNKNOWN;
  }

  #intern(values: readonly (string | undefined)[]): number {
    if (values.some((value) => value === undefined)) return 0;
    const text = JSON.stringify(values);
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const domain = this.#values.length;
    this.#values.push(values as readonly string[]);
    this.#shapesIn.push([]);
    this.#byText.set(text, domain);
    return domain;
  }
}
