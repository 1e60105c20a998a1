/**
 * Copies the new and changed rows of a listing: their columns and the bytes that they point at. All in one buffer, which
 * is then moved to the main thread. So the answer (400 MB) can be freed, the decoder's columns are ready for the next
 * listing, and the main thread need not hurry.
 *
 *   per row       2 × f64    16     16 × u32   64     i32   4     4 × u8   4       88 bytes
 *   per shape     2 × u32     8     per string 2 × u32  8
 *   bytes         ids, hosts, own labels, errors; each shape's key and each string once
 *
 * Widest column first, so all are aligned. Sizes are summed before the buffer is allocated: a first listing is too large
 * to copy twice.
 */

import type { ListingRows } from '../../shard/ports/providers.ts';
import type { MachineBatch } from '../decode/batch.ts';
import { endOf, startOf } from '../decode/range-table.ts';
import type { RowList } from './row-list.ts';
import { RowTexts } from './row-texts.ts';
import type { ShapeKeys } from './shape-keys.ts';

/** What to copy, and its size. */
interface Extent {
  readonly rowCount: number;
  /** By shape of the listing: 1 + index in the output, 0 = not in use. */
  readonly shapeIndex: Uint32Array;
  readonly shapes: number[];
  /** By string of the listing: index in the output, 0 = not in use, or ''. */
  readonly stringIndex: Uint32Array;
  readonly strings: number[];
  byteCount: number;
}

const ROW_F64_COLUMNS = 2;
const ROW_U32_COLUMNS = 16;
const ROW_U8_COLUMNS = 4;

export function cutOutRows(batch: MachineBatch, changed: RowList, keys: ShapeKeys): ListingRows {
  const view = new DataView(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength);
  const extent = measure(batch, changed, keys, view);
  const rows = allocate(extent);
  const writer = new RowWriter(batch, rows, view);
  for (const [index, shape] of extent.shapes.entries()) {
    rows.shapeKeyStart[index] = writer.at;
    writer.put(keys.bytes, keys.startOf(shape), keys.end[shape]!);
    rows.shapeKeyEnd[index] = writer.at;
  }
  for (const [index, text] of extent.strings.entries()) {
    rows.stringStart[index + 1] = writer.at;
    writer.put(batch.bytes, startOf(batch.strings, text), endOf(batch.strings, text));
    rows.stringEnd[index + 1] = writer.at;
  }
  for (let index = 0; index < changed.count; index++) {
    const row = changed.row[index]!;
    rows.slot[index] = changed.slot[index]!;
    rows.generation[index] = changed.generation[index]!;
    rows.shape[index] = extent.shapeIndex[batch.shape[row]!]! - 1;
    rows.cluster[index] = extent.stringIndex[batch.cluster[row]!]!;
    writer.putFacts(index, row);
    if (batch.assignmentKeys[row] !== 0) putAssignment(batch, row, rows, index, extent.stringIndex);
  }
  return rows;
}

function measure(batch: MachineBatch, changed: RowList, keys: ShapeKeys, view: DataView): Extent {
  const extent: Extent = {
    rowCount: changed.count,
    shapeIndex: new Uint32Array(batch.shapes.count),
    shapes: [],
    stringIndex: new Uint32Array(batch.strings.count + 1),
    strings: [],
    byteCount: 0,
  };
  const texts = new RowTexts();
  for (let index = 0; index < changed.count; index++) {
    const row = changed.row[index]!;
    useShape(extent, keys, batch.shape[row]!);
    useString(extent, batch, batch.cluster[row]!);
    if (batch.assignmentKeys[row] !== 0) {
      useString(extent, batch, batch.need[row]!);
      useString(extent, batch, batch.group[row]!);
    }
    extent.byteCount += batch.idEnd[row]! - batch.idStart[row]!;
    extent.byteCount += batch.hostProviderEnd[row]! - batch.hostProviderStart[row]!;
    extent.byteCount += batch.hostRefEnd[row]! - batch.hostRefStart[row]!;
    texts.ownLabels(batch, row);
    extent.byteCount += texts.end - texts.start;
    texts.lastError(batch, row, view);
    extent.byteCount += texts.end - texts.start;
  }
  return extent;
}

function useShape(extent: Extent, keys: ShapeKeys, shape: number): void {
  if (extent.shapeIndex[shape] !== 0) return;
  extent.shapeIndex[shape] = extent.shapes.push(shape);
  extent.byteCount += keys.end[shape]! - keys.startOf(shape);
}

function useString(extent: Extent, batch: MachineBatch, text: number): void {
  if (text === 0 || extent.stringIndex[text] !== 0) return;
  extent.stringIndex[text] = extent.strings.push(text);
  extent.byteCount += endOf(batch.strings, text) - startOf(batch.strings, text);
}

function allocate({ rowCount, shapes, strings, byteCount }: Extent): ListingRows {
  const stringCount = strings.length + 1;
  const words = rowCount * (ROW_U32_COLUMNS + 1) + 2 * shapes.length + 2 * stringCount;
  const fixedBytes = 8 * ROW_F64_COLUMNS * rowCount + 4 * words + ROW_U8_COLUMNS * rowCount;
  const buffer = new ArrayBuffer(fixedBytes + byteCount);
  let at = 0;
  const next = (bytesPerValue: number, length: number) => {
    const start = at;
    at += bytesPerValue * length;
    return start;
  };
  const f64 = () => new Float64Array(buffer, next(8, rowCount), rowCount);
  const u32 = (length = rowCount) => new Uint32Array(buffer, next(4, length), length);
  const u8 = () => new Uint8Array(buffer, next(1, rowCount), rowCount);
  return {
    count: rowCount,
    pricePerHourUsd: f64(),
    interruptionProbability: f64(),
    slot: u32(),
    generation: u32(),
    idStart: u32(),
    idEnd: u32(),
    hostProviderStart: u32(),
    hostProviderEnd: u32(),
    hostRefStart: u32(),
    hostRefEnd: u32(),
    ownLabelsStart: u32(),
    ownLabelsEnd: u32(),
    lastErrorStart: u32(),
    lastErrorEnd: u32(),
    shape: u32(),
    cluster: u32(),
    need: u32(),
    group: u32(),
    priority: new Int32Array(buffer, next(4, rowCount), rowCount),
    shapeCount: shapes.length,
    shapeKeyStart: u32(shapes.length),
    shapeKeyEnd: u32(shapes.length),
    stringCount,
    stringStart: u32(stringCount),
    stringEnd: u32(stringCount),
    state: u8(),
    hasAssignment: u8(),
    interruptionPenalty: u8(),
    reclamationPenalty: u8(),
    bytes: new Uint8Array(buffer, at, byteCount),
  };
}

function putAssignment(
  batch: MachineBatch,
  row: number,
  rows: ListingRows,
  index: number,
  stringIndex: Uint32Array,
): void {
  rows.hasAssignment[index] = 1;
  rows.need[index] = stringIndex[batch.need[row]!]!;
  rows.group[index] = stringIndex[batch.group[row]!]!;
  rows.priority[index] = batch.priority[row]!;
  rows.interruptionPenalty[index] = batch.interruptionPenalty[row]!;
  rows.reclamationPenalty[index] = batch.reclamationPenalty[row]!;
}

class RowWriter {
  at = 0;
  readonly #batch: MachineBatch;
  readonly #rows: ListingRows;
  readonly #view: DataView;
  readonly #texts = new RowTexts();

  constructor(batch: MachineBatch, rows: ListingRows, view: DataView) {
    this.#batch = batch;
    this.#rows = rows;
    this.#view = view;
  }

  put(bytes: Uint8Array, start: number, end: number): void {
    const out = this.#rows.bytes;
    let { at } = this;
    for (let from = start; from < end; from++) out[at++] = bytes[from]!;
    this.at = at;
  }

  putFacts(index: number, row: number): void {
    const batch = this.#batch;
    const rows = this.#rows;
    const { bytes } = batch;
    rows.state[index] = batch.state[row]!;
    rows.pricePerHourUsd[index] = batch.pricePerHourUsd[row]!;
    rows.interruptionProbability[index] = batch.interruptionProbability[row]!;
    rows.idStart[index] = this.at;
    this.put(bytes, batch.idStart[row]!, batch.idEnd[row]!);
    rows.idEnd[index] = this.at;
    if (batch.hostRefEnd[row] !== 0 || batch.hostProviderEnd[row] !== 0) {
      rows.hostProviderStart[index] = this.at;
      this.put(bytes, batch.hostProviderStart[row]!, batch.hostProviderEnd[row]!);
      rows.hostProviderEnd[index] = rows.hostRefStart[index] = this.at;
      this.put(bytes, batch.hostRefStart[row]!, batch.hostRefEnd[row]!);
      rows.hostRefEnd[index] = this.at;
    }
    const texts = this.#texts;
    texts.ownLabels(batch, row);
    rows.ownLabelsStart[index] = this.at;
    this.put(texts.bytes, texts.start, texts.end);
    rows.ownLabelsEnd[index] = this.at;
    texts.lastError(batch, row, this.#view);
    rows.lastErrorStart[index] = this.at;
    this.put(texts.bytes, texts.start, texts.end);
    rows.lastErrorEnd[index] = this.at;
  }
}
