/**
 * A block is what one write to the disk holds: about a second of events, compressed, with what a search has to know to skip
 * it. All numbers are little-endian.
 *
 *   offset   bytes   field
 *   0        4       magic, with the version of the format
 *   4        4       bytes of the whole block
 *   8        4       crc32 of everything after this field
 *   12       4       number of events
 *   16       8       epoch, f64
 *   24       8       time of the earliest event, ms since 1970, f64
 *   32       8       time of the latest, f64
 *   40       4       events that were lost between the block before and this one
 *   44       4       bytes of the filter
 *   48       …       filter (key-filter.ts)
 *   …        …       records (record.ts), raw deflate
 */
import { constants, crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import type { FleetEvent } from '../machine/event.ts';
import { filterOf } from './key-filter.ts';
import { type EncodedEvents, eventsIn } from './record.ts';

const MAGIC = 0x3145_4c46; // "FLE1"
export const HEADER_BYTES = 48;
const CRC_FROM = 12;
/** The encoder hands over 64 KiB and one event at most; deflate may add a little. A larger block is not one of ours. */
export const BLOCK_BYTES_MAX = 1_048_576;
/** Of the records: a block of zeros, compressed, must not fill the memory. */
const RECORD_BYTES_MAX = 8_388_608;
/** Fast: a second of the busiest shard is 100 KB. */
const DEFLATE_LEVEL = 6;

export interface BlockHeader {
  readonly blockBytes: number;
  readonly crc: number;
  readonly count: number;
  readonly epoch: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly lost: number;
  readonly filterBytes: number;
}

/** `events` are those of the records, which the caller may have decoded already. */
export function blockOf(
  { bytes, count, minMs, maxMs, lost }: EncodedEvents,
  epoch: number,
  events: readonly FleetEvent[] = eventsIn(bytes, epoch),
): Buffer {
  const filter = filterOf(events);
  const records = deflateRawSync(bytes, { level: DEFLATE_LEVEL });
  const block = Buffer.alloc(HEADER_BYTES + filter.length + records.length);
  block.writeUInt32LE(MAGIC, 0);
  block.writeUInt32LE(block.length, 4);
  block.writeUInt32LE(count, 12);
  block.writeDoubleLE(epoch, 16);
  block.writeDoubleLE(minMs, 24);
  block.writeDoubleLE(maxMs, 32);
  block.writeUInt32LE(Math.min(lost, 0xffff_ffff), 40);
  block.writeUInt32LE(filter.length, 44);
  block.set(filter, HEADER_BYTES);
  block.set(records, HEADER_BYTES + filter.length);
  block.writeUInt32LE(crc32(block.subarray(CRC_FROM)), 8);
  return block;
}

/** Null if the bytes are no header. */
export function headerOf(bytes: Buffer): BlockHeader | null {
  if (bytes.length < HEADER_BYTES || bytes.readUInt32LE(0) !== MAGIC) return null;
  const header = {
    blockBytes: bytes.readUInt32LE(4),
    crc: bytes.readUInt32LE(8),
    count: bytes.readUInt32LE(12),
    epoch: bytes.readDoubleLE(16),
    minMs: bytes.readDoubleLE(24),
    maxMs: bytes.readDoubleLE(32),
    lost: bytes.readUInt32LE(40),
    filterBytes: bytes.readUInt32LE(44),
  };
  const isPossible =
    header.blockBytes <= BLOCK_BYTES_MAX && HEADER_BYTES + header.filterBytes <= header.blockBytes;
  return isPossible ? header : null;
}

/** The events of a block, oldest first; null if its bytes are damaged. */
export function eventsOfBlock(block: Buffer, header: BlockHeader): FleetEvent[] | null {
  if (crc32(block.subarray(CRC_FROM)) !== header.crc) return null;
  return eventsIn(inflated(block, header), header.epoch);
}

/** The whole events in the first part of a block that a crash cut off. The end of the file decides, not the checksum. */
export function eventsOfCutBlock(part: Buffer, header: BlockHeader): FleetEvent[] {
  const events = eventsIn(inflated(part, header), header.epoch);
  return events.slice(0, header.count);
}

/** As much as can be read. */
function inflated(block: Buffer, { filterBytes }: BlockHeader): Uint8Array {
  const records = block.subarray(HEADER_BYTES + filterBytes);
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: RECORD_BYTES_MAX };
    return inflateRawSync(records, options);
  } catch {
    return new Uint8Array(0);
  }
}
