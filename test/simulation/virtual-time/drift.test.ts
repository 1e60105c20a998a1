/**
 * The whole shard on virtual time, with names and amounts that differ in every cycle. In a process of its own: other tests
 * share the memory of this one. `npm run sim -- drift` runs ten times as long.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import type { DriftResult } from '../../../src/simulation/virtual-time/drift.ts';

const MAIN = join(import.meta.dirname, '../../../dist/src/simulation/virtual-time/main.js');

it('T12: a shard under drift gives back every entry of every table, and all but a tenth of its memory', async () => {
  const command = [MAIN, 'drift', '--cycles', '200', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, command).catch((error) => error);
  const result = JSON.parse(stdout.slice(0, stdout.lastIndexOf('}') + 1)) as DriftResult;
  expect(result.faults).toEqual([]);
  expect(result.last.entries).toEqual(result.fresh.entries);
  expect(result.last.entries).toMatchObject({ machines: 24, clusters: 1, groups: 0, 'resource names': 2 });
  // It really happened.
  expect(result.bindings).toBeGreaterThan(200);
  expect(result.checks).toBeGreaterThan(5);
});
