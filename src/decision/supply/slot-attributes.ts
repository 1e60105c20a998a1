/** Attributes of single machines (V4: instance type and zone, else labels): the shape's, and the machine's own labels. */
import type { Inventory } from '../../inventory/inventory.ts';
import { attributeOf } from '../../inventory/shapes.ts';

export class SlotAttributes {
  readonly #inventory: Inventory;
  /** Labels whose value is different on every machine, such as the host name; shapes leave them out. */
  readonly ownKeys: ReadonlySet<string>;

  constructor(inventory: Inventory) {
    this.#inventory = inventory;
    this.ownKeys = new Set(inventory.tables.ownLabelKeys);
  }

  of(slot: number, key: string): string | undefined {
    const { columns, shapes } = this.#inventory;
    const value = attributeOf(shapes.get(columns.shape[slot]!), key);
    if (value !== undefined || !this.ownKeys.has(key) || columns.ownLabels[slot] === 0) return value;
    return this.#inventory.labelsOf(slot)[key];
  }
}
