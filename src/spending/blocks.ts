/**
 * A file of samples: one compressed block after the other, each with its length before it, so that adding one writes nothing
 * else. A process that ends in the middle of a block leaves a part of it; reading ends there, and the next process cuts it off.
 *
 *   4 bytes        length of the block, little-endian
 *   length bytes   gzip of JSON: { atMs, rows: [clusterId, instanceType, capacityType, machines, configured, usdPerHour][],
 *                  interruptions: [provider, offering, configured, declaredPerHour, observed][] }
 */
import { appendFile, readFile, truncate } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { CapacityType } from '../machine/capacity-type.ts';
import type { InterruptionRow, SpendingSample } from '../shard/ports/spending.ts';

const LENGTH_BYTES = 4;
/** A sample of 65,535 clusters with twenty kinds of machines each has some megabytes. */
const BLOCK_BYTES_MAX = 64 << 20;

const compress = promisify(gzip);
const expand = promisify(gunzip);

type Row = readonly [string, string, number, number, number, number];
type Interruption = readonly [string, string, number, number, number];

interface Block {
  readonly atMs: number;
  readonly rows: readonly Row[];
  readonly interruptions?: readonly Interruption[];
}

export async function appendSample(
  file: string,
  { atMs, rows, interruptions = [] }: SpendingSample,
): Promise<number> {
  const packed = rows.map(
    (row): Row => [
      row.clusterId,
      row.instanceType,
      row.capacityType,
      row.machines,
      row.configured,
      row.usdPerHour,
    ],
  );
  const packedInterruptions = interruptions.map(
    (one): Interruption => [one.provider, one.offering, one.configured, one.declaredPerHour, one.observed],
  );
  const whole: Block = { atMs, rows: packed, interruptions: packedInterruptions };
  const block = await compress(JSON.stringify(whole));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(block.length);
  await appendFile(file, Buffer.concat([length, block]));
  return LENGTH_BYTES + block.length;
}

/** The samples of a file, as far as its blocks are whole. */
export async function* readSamples(file: string): AsyncGenerator<SpendingSample> {
  const bytes = await readFile(file);
  for (const { from, end } of blocksOf(bytes)) {
    let parsed: Block;
    try {
      parsed = JSON.parse((await expand(bytes.subarray(from, end))).toString());
    } catch {
      return; // not a block: a part of one that a crash left, or a file that something else wrote
    }
    const rows = parsed.rows.map(
      ([clusterId, instanceType, capacityType, machines, configured, usdPerHour]) => ({
        clusterId,
        instanceType,
        capacityType: capacityType as CapacityType,
        machines,
        configured,
        usdPerHour,
      }),
    );
    yield { atMs: parsed.atMs, rows, interruptions: (parsed.interruptions ?? []).map(interruptionOf) };
  }
}

function interruptionOf([
  provider,
  offering,
  configured,
  declaredPerHour,
  observed,
]: Interruption): InterruptionRow {
  return { provider, offering, configured, declaredPerHour, observed };
}

/** Cuts off the part of a block that a crash left at the end of the file. */
export async function repair(file: string): Promise<void> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  });
  const wholeBytes = blocksOf(bytes).at(-1)?.end ?? 0;
  if (wholeBytes < bytes.length) await truncate(file, wholeBytes);
}

function blocksOf(bytes: Buffer): { readonly from: number; readonly end: number }[] {
  const blocks: { from: number; end: number }[] = [];
  for (let at = 0; at + LENGTH_BYTES <= bytes.length; ) {
    const length = bytes.readUInt32LE(at);
    const from = at + LENGTH_BYTES;
    if (length === 0 || length > BLOCK_BYTES_MAX || from + length > bytes.length) break;
    blocks.push({ from, end: from + length });
    at = from + length;
  }
  return blocks;
}
