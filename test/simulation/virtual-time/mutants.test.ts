/**
 * Each mutant is a shard with one bug, and the simulator must find a violation within a bounded number of histories. `npm test`
 * runs a few mutants, `npm run sim:mutants` all; FLOTILLA_TEST_PLACEMENT=value runs those that need no placement under that one.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { MUTANTS, type Mutant } from './mutants.ts';

const DIST = new URL('../../../dist/src/', import.meta.url);
const MAIN = fileURLToPath(new URL('simulation/virtual-time/main.js', DIST));
const MUTATE = fileURLToPath(new URL('mutate.mjs', import.meta.url));
/** A mutant without a violation in this many histories counts as not found. */
const HISTORIES_MAX = '120';
const runsAll = process.env.FLOTILLA_TEST_MUTANTS === 'all';

function simulate(mutant: Mutant): Promise<{ code: number | null; output: string }> {
  const flags = ['--seed', '1', '--histories', HISTORIES_MAX];
  if (mutant.profile === 'replicas') flags.unshift('replicas');
  else flags.push('--profile', mutant.profile, '--brief');
  if (mutant.isHostile === true) flags.push('--hostile');
  const placement = mutant.isByValue === true ? 'value' : process.env.FLOTILLA_TEST_PLACEMENT;
  if (placement !== undefined) flags.push('--placement', placement);
  const child = spawn(process.execPath, ['--import', MUTATE, MAIN, ...flags], {
    env: { ...process.env, FLOTILLA_MUTANT: JSON.stringify(mutant) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (bytes) => {
    output += bytes;
  });
  child.stderr.on('data', (bytes) => {
    output += bytes;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}

/** Two mutants run at a time, one per core of the test machine. */
const queues = [Promise.resolve<unknown>(null), Promise.resolve<unknown>(null)];
let queuedCount = 0;

function inTurn<T>(run: () => Promise<T>): Promise<T> {
  const queue = queuedCount++ % queues.length;
  const done = queues[queue]!.then(run);
  queues[queue] = done.catch(() => {}); // the caller gets the error from `done`
  return done;
}

describe('mutants', () => {
  it('are at least twenty, and each text to replace occurs once in the compiled shard', () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(20);
    for (const { file, find, why } of MUTANTS) {
      const source = readFileSync(new URL(file, DIST), 'utf8');
      expect(source.split(find).length - 1, `${why}: in ${file}`).toBe(1);
    }
  });

  describe.concurrent('found by the simulator', { timeout: 1_800_000 }, () => {
    for (const mutant of MUTANTS) {
      if (!runsAll && mutant.isQuick !== true) continue;
      it(mutant.why, async ({ expect }) => {
        const { code, output } = await inTurn(() => simulate(mutant));
        const caught = /^=== seed (\d+), profile (\w+): (.*)$/m.exec(output);
        if (runsAll) process.stdout.write(`${mutant.why} ⇒ ${caught?.[0] ?? 'NOT CAUGHT'}\n`);
        expect(code, output.slice(-2_000)).toBe(1);
        expect(caught).not.toBeNull();
      });
    }
  });
});
