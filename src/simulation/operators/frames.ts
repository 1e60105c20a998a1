/**
 * What an operator writes. A roll-up of 388 rows is about 100 KB and is sent again every few seconds, changed
 * or not, so it is put together from bytes that were encoded before; all other frames are small and rare.
 *
 *   OperatorMessage.rollup (field 2)  = cluster_id (1), timestamp_unix_nanos (2), needs (3) …
 */
import { ByteWriter } from '../../base/byte-writer.ts';
import type { RollupRow } from '../../needs/rollup.ts';
import { encode } from '../../wire/codec.ts';
import type { BootstrapBlobResponseInit, CapacityNeedInit } from '../../wire/protocol.generated.ts';

export const PROTOCOL_VERSION = 'v1alpha1';

/** A cluster's demand, ready to be sent. */
export interface DemandSource {
  readonly rowCount: number;
  /** Appends every row as a `needs` field of ClusterCapacityNeeds: `openRow`, its fields, `closeRow`. */
  writeRows(writer: ByteWriter): void;
}

/** A row has 128 to 16,383 bytes, a roll-up 16 KB to 2 MB: other lengths are right too, and a little slower. */
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

/** Roll-ups under way at one time; beyond that a writer is made anew. 64 × 128 KB = 8 MB. */
const IDLE_WRITERS_MAX = 64;
const idleWriters: ByteWriter[] = [];

/** Bytes that stay as they are until `release` says that the network has taken them. */
export interface RollupFrame {
  readonly bytes: Buffer;
  /** Buffers of 100 KB, made and dropped 200 times a second, cost more in garbage collection than in writing. */
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

/** A row as the message that stands for it. */
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

/** Rows given one by one. A row that was there before is not encoded again, if it is the same object. */
export class RowDemand implements DemandSource {
  #known = new Map<RollupRow, Uint8Array>();
  #rows: readonly RollupRow[] = [];

  set(rows: readonly RollupRow[]): void {
    const before = this.#known;
    this.#known = new Map(
      rows.map((row) => [row, before.get(row) ?? encode('CapacityNeed', needOf(row))] as const),
    );
    this.#rows = [...rows];
  }

  get rowCount(): number {
    return this.#rows.length;
  }

  writeRows(writer: ByteWriter): void {
    for (const row of this.#rows) {
      const start = openRow(writer);
      writer.raw(this.#known.get(row)!);
      closeRow(writer, start);
    }
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
