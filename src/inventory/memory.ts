/**
 * The memory of the inventory, part by part: pages that were ever touched, not what was reserved. For metrics and for the
 * benchmark that compares it with its limit.
 */
import { COLD_BYTES_PER_ROW, HOT_BYTES_PER_ROW } from './columns.ts';
import type { Inventory } from './inventory.ts';

export interface InventoryMemory {
  readonly columnBytes: number;
  /** Ids, their look-up table and their order. */
  readonly idBytes: number;
  readonly hostBytes: number;
  readonly indexBytes: number;
  /** Shape keys, clusters, errors, own labels, and the fingerprints and groups that the needs may share. */
  readonly stringBytes: number;
  readonly totalBytes: number;
}

export function memoryOf(inventory: Inventory): InventoryMemory {
  const { columns, tables, indexes } = inventory;
  const { slotLimit } = columns;
  const columnBytes = slotLimit * (HOT_BYTES_PER_ROW + COLD_BYTES_PER_ROW);
  const idBytes = tables.ids.bytesTouched(slotLimit) + slotLimit * 4;
  const hostBytes = tables.hosts.bytesTouched;
  const indexBytes = indexes.bytesTouched(slotLimit, tables.shapes.refLimit, tables.clusters.refLimit);
  const { texts, clusters, fingerprints, groups, shapes } = tables;
  let stringBytes = shapes.keyBytesTouched;
  for (const table of [texts, clusters, fingerprints, groups, shapes.instanceTypes, shapes.zones]) {
    stringBytes += table.bytesTouched;
  }
  const totalBytes = columnBytes + idBytes + hostBytes + indexBytes + stringBytes;
  return { columnBytes, idBytes, hostBytes, indexBytes, stringBytes, totalBytes };
}
