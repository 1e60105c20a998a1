/**
 * The machines of one moment for another thread to decide on: columns, shapes, vectors and the strings that rows name, as
 * views (base/image.ts) that whoever wants a copy copies at once. Ids and hosts are not in it: the ranks of ids say all
 * that a decision asks of them.
 */
import { type StringImage, StringTable } from '../base/string-table.ts';
import { type VectorImage, VectorTable } from '../base/vectors.ts';
import type { ColumnsImage } from './columns.ts';
import { Inventory } from './inventory.ts';

export interface InventoryImage {
  readonly ownLabelKeys: readonly string[];
  readonly columns: ColumnsImage;
  readonly vectors: VectorImage;
  readonly shapeKeys: StringImage;
  readonly clusters: StringImage;
  readonly fingerprints: StringImage;
  readonly groups: StringImage;
  /** Machines' own labels; null: nobody asks for one. */
  readonly texts: StringImage | null;
}

/** Ids must be ranked. `withOwnLabels`: own labels too, which are as many bytes as all the rest of the strings. */
export function imageOf(inventory: Inventory, withOwnLabels: boolean): InventoryImage {
  const { columns, shapes, tables } = inventory;
  return {
    ownLabelKeys: tables.ownLabelKeys,
    columns: columns.image(),
    vectors: shapes.vectors.image(),
    shapeKeys: shapes.keyImage(),
    clusters: tables.clusters.image(),
    fingerprints: tables.fingerprints.image(),
    groups: tables.groups.image(),
    texts: withOwnLabels ? tables.texts.image() : null,
  };
}

/** An inventory with the same machines in the same slots, under the same refs. */
export function restoreInventory(image: InventoryImage): Inventory {
  const inventory = new Inventory({
    vectors: VectorTable.restore(image.vectors),
    machinesMax: Math.max(1, image.columns.state.length - 1),
    ownLabelKeys: image.ownLabelKeys,
    shapeKeys: StringTable.restore(image.shapeKeys, 0),
    clusters: StringTable.restore(image.clusters, 0), // refs of clusters are u16
    fingerprints: StringTable.restore(image.fingerprints),
    groups: StringTable.restore(image.groups),
    ...(image.texts === null ? {} : { texts: StringTable.restore(image.texts, 0) }),
  });
  inventory.restore(image.columns);
  if (image.texts === null) inventory.columns.ownLabels.fill(0);
  return inventory;
}
