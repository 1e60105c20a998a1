/**
 * The machines at one moment, for a decision in another thread: columns, shapes, vectors and the strings that rows name, as
 * views (base/image.ts). The caller copies the views before the next write. Ids and hosts are left out: a decision needs
 * only the ranks of ids.
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
  /** Machines' own labels; null if no need asks for one. */
  readonly texts: StringImage | null;
}

/** Ids must be ranked. Own labels are as many bytes as all other strings together, so they are optional. */
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

/** Room that a copy needs beyond its image. */
export interface ImageRoom {
  readonly clusters: number;
  readonly groups: number;
}

/** An inventory with the same machines in the same slots, under the same refs. */
export function restoreInventory(image: InventoryImage, room?: ImageRoom): Inventory {
  const inventory = new Inventory({
    vectors: VectorTable.restore(image.vectors),
    machinesMax: Math.max(1, image.columns.state.length - 1),
    ownLabelKeys: image.ownLabelKeys,
    shapeKeys: StringTable.restore(image.shapeKeys, 0),
    clusters: StringTable.restore(image.clusters, room?.clusters ?? 0), // refs of clusters are u16
    fingerprints: StringTable.restore(image.fingerprints),
    groups: StringTable.restore(image.groups, room?.groups),
    ...(image.texts === null ? {} : { texts: StringTable.restore(image.texts, 0) }),
  });
  inventory.restore(image.columns);
  if (image.texts === null) inventory.columns.ownLabels.fill(0);
  return inventory;
}
