/** The check in a real worker thread, from the build. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { copyImage } from '../../../src/base/image.ts';
import { Random } from '../../../src/base/random.ts';
import { CheckThreads } from '../../../src/cli/check-thread.ts';
import { ClosedLoop } from '../../decision/closed-loop.ts';
import { steadyWorld } from '../../decision/steady-worlds.ts';
import { copyOfCycle, countsOf, NO_DIFFERENCES } from './checked.ts';

const folder = mkdtempSync(join(tmpdir(), 'flotilla-check-'));
afterAll(() => rmSync(folder, { recursive: true }));

function program(source: string): URL {
  const path = join(folder, `${source.length}.mjs`);
  writeFileSync(path, `import { parentPort } from 'node:worker_threads';\n${source}`);
  return pathToFileURL(path);
}

function cycleImage() {
  const random = new Random(7);
  const world = steadyWorld(random);
  const pace = { beginMax: 1, createMax: 1, configureMax: 1, drainMax: 1, reclaimsMax: 1 };
  const loop = new ClosedLoop(world, pace, random);
  for (const cluster of world.clusters) loop.report(cluster);
  for (let cycle = 0; cycle < 10; cycle++) loop.cycle();
  return copyOfCycle(loop.engine, loop.options, { nowMs: loop.nowMs, isOrdinary: true });
}

describe('the thread of a check', () => {
  it('compares its image, and reports a planted fault', { timeout: 60_000 }, async () => {
    const threads = new CheckThreads();
    const image = cycleImage();
    const right = await threads.open(1 << 24);
    expect(countsOf(await right.run(copyImage(image, right.buffer)!))).toEqual(NO_DIFFERENCES);
    const wrong = await threads.open(1 << 24);
    const copy = copyImage(image, wrong.buffer)!;
    const slot = copy.result.claims.claim.findIndex((claim) => claim !== 0);
    copy.result.claims.claim[slot] = 0;
    const found = await wrong.run(copy);
    expect(countsOf(found)).toEqual({ ...NO_DIFFERENCES, claims: 1 });
    expect(found.examples[0]!.slot).toBe(slot);
    await threads.close();
  });

  for (const [name, source] of [
    ['throws', "parentPort.once('message', () => { throw new Error('broken on purpose'); });"],
    ['ends', "parentPort.once('message', () => process.exit(3));"],
  ] as const) {
    it(`a thread that ${name} fails only the check`, { timeout: 60_000 }, async () => {
      const threads = new CheckThreads(
        program(`${source}\nparentPort.postMessage(new SharedArrayBuffer(64));`),
      );
      const check = await threads.open(64);
      await expect(check.run({})).rejects.toThrow(/broken on purpose|ended with code 3/);
      await threads.close();
    });
  }

  it('a thread that ends early makes the check fail', { timeout: 60_000 }, async () => {
    const threads = new CheckThreads(program('parentPort.postMessage(new SharedArrayBuffer(64));'));
    const check = await threads.open(64);
    await threads.close();
    await expect(check.run({})).rejects.toThrow(/ended/);
  });

  it('fails to open without enough memory', { timeout: 60_000 }, async () => {
    const threads = new CheckThreads();
    await expect(threads.open(2 ** 45)).rejects.toThrow();
    await threads.close();
  });
});
