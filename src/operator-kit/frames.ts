/**
 * Frames that an operator sends. It sends a roll-up of 388 rows, about 100 KB, every few seconds whether it
 * changed or not, so the roll-up is assembled from parts that were encoded before. All other frames are
 * small and rare.
 *
 *   OperatorMessage.rollup (field 2)  = cluster_id (1), timestamp_unix_nanos (2), needs (3) …
 */
import { ByteWriter } from '../base/byte-writer.ts';
import type { RollupRow } from '../needs/rollup.ts';
import { encode } from '../wire/codec.ts';
import type { BootstrapBlobResponseInit, CapacityNeedInit } from '../wire/protocol.generated.ts';

export const PROTOCOL_VERSION = 'v1alpha1';

/** A cluster's demand. */
export interface DemandSource {
  readonly rowCount: number;
  /** Appends every row as a `needs` field of ClusterCapacityNeeds: `openRow`, its fields, `closeRow`. */
  writeRows(writer: ByteWriter): void;
}

/** For a row of 128 to 16,383 bytes and a roll-up of 16 KB to 2 MB. Other sizes also work, a little slower. */
const ROW_LENGTH_BYTES = 2;
const ROLLUP_LENGTH_BYTES = 3;
const ROW_BYTES_GUESS = 320;

export function openRow(writer: ByteWriter): number {
  writer.tag(0x1a);
  return writer.openLength(ROW_LENGTH_BYTES);
}

export function closeRow(writer: ByteWriter, start: number): void {
  writer.closeLength(start, ROW_LENGTH_BYTES);
}

export function helloFrame(clusterId: string): Buffer {
  return encode('OperatorMessage', { hello: { clusterId, protocolVersion: PROTOCOL_VERSION } });
}

/** Writers kept for reuse: 64 × 128 KB = 8 MB. */
const IDLE_WRITERS_MAX = 64;
const idleWriters: ByteWriter[] = [];

/** The bytes stay valid until the caller calls `release`, after the network has taken them. */
export interface RollupFrame {
  readonly bytes: Buffer;
  /** Lets the buffer be reused: 200 new buffers of 100 KB per second cost more in garbage collection than in writing. */
  release(): void;
}

export function rollupFrame(clusterId: string, nowMs: number, demand: DemandSource): RollupFrame {
  const writer = idleWriters.pop() ?? new ByteWriter();
  writer.rewind();
  writer.reserve(demand.rowCount * ROW_BYTES_GUESS);
  writer.tag(0x12);
  const start = writer.openLength(ROLLUP_LENGTH_BYTES);
  writer.text(0x0a, clusterId);
  writer.tag(0x10);
  writer.raw(varint64(BigInt(Math.round(nowMs)) * 1_000_000n));
  demand.writeRows(writer);
  writer.closeLength(start, ROLLUP_LENGTH_BYTES);
  return {
    bytes: writer.take(),
    release: () => {
      if (idleWriters.length < IDLE_WRITERS_MAX) idleWriters.push(writer);
    },
  };
}

export function bootstrapFrame(bootstrapResponse: BootstrapBlobResponseInit): Buffer {
  return encode('OperatorMessage', { bootstrapResponse });
}

export function reclaimAckFrame(instructionId: string, nodesStarted: number): Buffer {
  return encode('OperatorMessage', { reclaimAck: { instructionId, nodesStarted } });
}

/** A row as its message. */
export function needOf(row: RollupRow): CapacityNeedInit {
  return {
    requirements: row.requirements,
    aggregateResources: row.aggregate,
    priority: row.priority,
    spread: row.spread,
    interruptionPenaltyBucket: row.interruptionBucket,
    reclamationPenaltyBucket: row.reclamationBucket,
    minUnit: row.minUnit,
    group: row.group,
  };
}

/** Demand that is encoded once and sent many times. */
export class EncodedRows implements DemandSource {
  readonly rowCount: number;
  /** Of the longest row, without its tag and length. */
  readonly rowBytesMax: number;
  readonly #bytes: Buffer;

  constructor(rows: readonly RollupRow[]) {
    const writer = new ByteWriter();
    let rowBytesMax = 0;
    for (const row of rows) {
      const bytes = encode('CapacityNeed', needOf(row));
      rowBytesMax = Math.max(rowBytesMax, bytes.length);
      const start = openRow(writer);
      writer.raw(bytes);
      closeRow(writer, start);
    }
    this.rowCount = rows.length;
    this.rowBytesMax = rowBytesMax;
    this.#bytes = Buffer.from(writer.take()); // without the room that the writer kept to grow
  }

  get bytes(): number {
    return this.#bytes.length;
  }

  writeRows(writer: ByteWriter): void {
    writer.raw(this.#bytes);
  }
}

function varint64(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let left = value;
  while (left > 0x7fn) {
    bytes.push(Number(left & 0x7fn) | 0x80);
    left >>= 7n;
  }
  bytes.push(Number(left));
  return Uint8Array.from(bytes);
}
