/**
 * One stored measurement: a file for each, so that a run that was cut short can resume and the page can be written again
 * without measuring. A record holds everything that the page shows, because the scenario may have changed since.
 */
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ShardError } from '../../src/base/errors.ts';
import type { Growth, Params, ScenarioResult } from '../harness.ts';
import type { Host, Load } from './host.ts';

export type Outcome =
  | { readonly kind: 'measured'; readonly result: ScenarioResult }
  | { readonly kind: 'failed' | 'timed out'; readonly message: string };

export interface RunRecord {
  readonly format: typeof FORMAT;
  readonly scenario: string;
  readonly question: string;
  readonly params: Params;
  /** Whether the targets are for these parameters. */
  readonly isDefault: boolean;
  /** A point of a growth curve, not the scenario itself. */
  readonly isGrowth: boolean;
  readonly growth: Growth | null;
  readonly command: string;
  readonly version: string;
  readonly startedAt: string;
  readonly tookSeconds: number;
  readonly host: Host;
  readonly load: Load;
  readonly outcome: Outcome;
}

/** Records of another format are refused, not guessed at. */
export const FORMAT = 'flotilla-bench-1';
const SUFFIX = '.generated.json';

export class UnreadableRecordError extends ShardError {
  readonly code = 'unreadable_record';
  readonly next = 'reject-input';
}

export function recordName(scenario: string, machines: number, isGrowth: boolean): string {
  return `${scenario}${isGrowth ? `.growth-${machines}` : ''}${SUFFIX}`;
}

/** Written to a temporary name and renamed, so that a run that is cut short leaves no partial record. */
export async function writeRecord(folder: string, record: RunRecord): Promise<void> {
  const name = recordName(record.scenario, record.params.machines, record.isGrowth);
  await writeGenerated(folder, name, record);
}

export async function writeGenerated(folder: string, name: string, content: unknown): Promise<void> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, name);
  await writeFile(`${file}.part`, `${JSON.stringify(content, null, 1)}\n`);
  await rename(`${file}.part`, file);
}

/** All records of the folder, by scenario and size; other files (a soak's, for example) are left out. */
export async function readRecords(folder: string): Promise<RunRecord[]> {
  const files = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const records: RunRecord[] = [];
  for (const name of files.filter((file) => file.endsWith(SUFFIX)).sort()) {
    const record = await readGenerated<RunRecord>(folder, name);
    if (record?.format === FORMAT) records.push(record);
  }
  return records.sort(byScenarioAndSize);
}

export async function readGenerated<T>(folder: string, name: string): Promise<T | null> {
  const file = join(folder, name);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new UnreadableRecordError(
      `${file} is not JSON (${(error as Error).message}). The page was not written. Remove the file and measure again.`,
    );
  }
}

function byScenarioAndSize(a: RunRecord, b: RunRecord): number {
  if (a.scenario !== b.scenario) return a.scenario < b.scenario ? -1 : 1;
  if (a.isGrowth !== b.isGrowth) return a.isGrowth ? 1 : -1;
  return a.params.machines - b.params.machines;
}
