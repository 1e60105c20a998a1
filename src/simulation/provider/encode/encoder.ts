/**
 * Encodes a MachineList of 500,000 machines without message objects. The source fills one reused row per
 * machine; the parts that machines share (kind, binding) are bytes that were encoded once (parts.ts). So a
 * listing is half a million short copies:
 *
 *   const kindBytes = kinds.map(encodeShape);                                  // once
 *   const list = new MachineListEncoder().encodeList({
 *     rowCount: rows.length,
 *     read: (index, row) => { row.id = ids[rows[index]]; row.shape = kindBytes[kind[rows[index]]]; … },
 *   }, { revision });
 *
 * The fields of a machine are not in the order of their numbers; protobuf does not require it.
 */
import { ByteWriter } from '../../../base/byte-writer.ts';
import { NO_BYTES } from './parts.ts';

/** One machine. A source must set every field, because the row still holds the previous machine. */
export class MachineRow {
  id = '';
  state = 0;
  pricePerHourUsd = 0;
  interruptionProbability = 0;
  /** Both empty: no host. */
  hostProvider = '';
  hostRef = '';
  cluster = '';
  lastError = '';
  /** From encodeShape. */
  shape: Uint8Array = NO_BYTES;
  /** From encodeLabels: labels in addition to those of the shape. */
  ownLabels: Uint8Array = NO_BYTES;
  /** From shardMetadataView. */
  shardMetadata: Uint8Array = NO_BYTES;
}

export interface MachineRowSource {
  readonly rowCount: number;
  read(index: number, row: MachineRow): void;
}

export interface ListEnd {
  readonly revision?: Uint8Array;
  readonly deletedIds?: readonly string[];
}

/** Bytes per machine until the first listing has measured them. */
const MACHINE_BYTES_GUESS = 512;
/** Enough for a machine of 128 to 16,383 bytes. */
const MACHINE_LENGTH_BYTES = 2;
/** Spare room, so that a slightly larger listing needs no second buffer. */
const HEADROOM = 1.1;

export class MachineListEncoder {
  readonly #writer = new ByteWriter();
  readonly #row = new MachineRow();
  #machineBytes = MACHINE_BYTES_GUESS;

  encodeList(source: MachineRowSource, end: ListEnd = {}): Buffer {
    const writer = this.#writer;
    const row = this.#row;
    const { rowCount } = source;
    writer.open(Math.ceil(rowCount * this.#machineBytes * HEADROOM));
    for (let index = 0; index < rowCount; index++) {
      source.read(index, row);
      writer.tag(0x0a);
      const start = writer.openLength(MACHINE_LENGTH_BYTES);
      writeMachine(writer, row);
      writer.closeLength(start, MACHINE_LENGTH_BYTES);
    }
    if (rowCount > 0) this.#machineBytes = writer.at / rowCount;
    if (end.revision !== undefined && end.revision.length > 0) {
      writer.tag(0x12);
      writer.varint(end.revision.length);
      writer.raw(end.revision);
    }
    for (const id of end.deletedIds ?? []) writer.text(0x1a, id);
    return writer.take();
  }
}

/** One Machine message. */
export function encodeMachine(row: MachineRow): Buffer {
  const writer = new ByteWriter();
  writeMachine(writer, row);
  return writer.take();
}

/** Writes the fields of one machine. */
export function writeMachine(writer: ByteWriter, row: MachineRow): void {
  if (row.id !== '') writer.text(0x0a, row.id);
  if (row.state !== 0) {
    writer.tag(0x10);
    writer.varint(row.state);
  }
  if (row.hostProvider !== '' || row.hostRef !== '') {
    writer.tag(0x1a);
    const start = writer.openLength();
    if (row.hostProvider !== '') writer.text(0x0a, row.hostProvider);
    if (row.hostRef !== '') writer.text(0x12, row.hostRef);
    writer.closeLength(start);
  }
  if (row.pricePerHourUsd !== 0) {
    writer.tag(0x39);
    writer.double(row.pricePerHourUsd);
  }
  if (row.interruptionProbability !== 0) {
    writer.tag(0x41);
    writer.double(row.interruptionProbability);
  }
  writer.raw(row.shape);
  writer.raw(row.ownLabels);
  if (row.lastError !== '') writer.text(0x62, row.lastError);
  if (row.cluster !== '') writer.text(0x72, row.cluster);
  writer.raw(row.shardMetadata);
}
