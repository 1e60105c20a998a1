import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Holder, healthyStarts, openOnce, startHolder, temporaryDirectory, track } from './fixture.ts';

const ROUNDS = fileURLToPath(new URL('rounds.mjs', import.meta.url));

async function killed(holder: Holder): Promise<void> {
  holder.child.kill('SIGKILL');
  await holder.exited;
}

/** `T` in /proc: stopped by a signal. The name in parentheses may hold anything. */
function isStopped(pid: number): boolean {
  return /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

describe('I1: the lock between processes', () => {
  it('a running process prevents a start, a killed one never does', async () => {
    const path = temporaryDirectory();
    for (let round = 1; round <= 5; round++) {
      const holder = startHolder(path);
      expect(await holder.said).toMatchObject({ epoch: round });
      const refused = await openOnce(path);
      expect(refused).toMatchObject({ code: 'data_directory_held', next: 'refuse-to-start' });
      expect(refused?.message).toContain(`process ${holder.child.pid} on `);
      await killed(holder);
    }
    expect(await openOnce(path)).toMatchObject({ epoch: 6 });
  });

  it('a stopped process still holds the lock, even with a full connection queue', async () => {
    const path = temporaryDirectory();
    const holder = startHolder(path);
    await holder.said;
    holder.child.kill('SIGSTOP');
    expect(await openOnce(path)).toMatchObject({ code: 'data_directory_held' });
    const lock = readdirSync(path).find((name) => name.startsWith('lock.'))!;
    const callers: Socket[] = [];
    let isFull = false;
    while (!isFull && callers.length < 20_000) {
      isFull = await new Promise((resolve) => {
        const caller = connect(join(path, lock));
        callers.push(caller);
        caller.once('connect', () => resolve(false));
        caller.once('error', () => resolve(true));
      });
    }
    expect(isFull).toBe(true);
    expect(await openOnce(path)).toMatchObject({ code: 'data_directory_held' });
    await killed(holder);
    for (const caller of callers) caller.destroy();
    expect(await openOnce(path)).toMatchObject({ epoch: 2 });
  });

  it('exactly one of ten processes wins the lock of a dead one, every time', async () => {
    const path = temporaryDirectory();
    let lastEpoch = 0;
    for (let round = 1; round <= 4; round++) {
      const racers = Array.from({ length: 10 }, () => startHolder(path));
      const said = await Promise.all(racers.map((racer) => racer.said));
      const winners = said.filter((one) => one?.epoch !== undefined);
      expect(winners).toHaveLength(1);
      expect(said.filter((one) => one?.code === 'data_directory_held')).toHaveLength(9);
      expect(winners[0]!.epoch).toBe(lastEpoch + 1);
      lastEpoch = winners[0]!.epoch!;
      await Promise.all(racers.map(killed));
    }
  });

  it('a process that was suspended during its start does not act on an old lock', async () => {
    const path = temporaryDirectory();
    expect(await openOnce(path)).toMatchObject({ epoch: 1 });
    const late = startHolder(path, { fault: 'stop:linkSync' }); // it saw that lock.1 is dead, and is about to link lock.2
    await expect.poll(() => isStopped(late.child.pid!)).toBe(true);
    expect(await openOnce(path)).toMatchObject({ epoch: 2 });
    const owner = startHolder(path); // it takes lock.3 and removes lock.2
    expect(await owner.said).toMatchObject({ epoch: 3 });
    expect(readdirSync(path)).not.toContain('lock.2');
    late.child.kill('SIGCONT');
    expect(await late.said).toMatchObject({ code: 'data_directory_held' });
    await killed(owner);
    expect(await openOnce(path)).toMatchObject({ epoch: 4 });
  });

  it('processes that come and go never hold the lock together, and each epoch is used once', async () => {
    const path = temporaryDirectory();
    const mark = join(temporaryDirectory(), 'inside');
    const runs = Array.from({ length: 6 }, (_, index) => {
      const ending = index % 2 === 0 ? 'kill' : 'close';
      const child = track(
        spawn(process.execPath, [ROUNDS, path, mark, '25', ending], { stdio: ['ignore', 'pipe', 'pipe'] }),
      );
      let text = '';
      let errors = '';
      child.stdout.on('data', (chunk) => {
        text += chunk;
      });
      child.stderr.on('data', (chunk) => {
        errors += chunk;
      });
      return new Promise<{ epochs: number[]; refusedCount: number }>((resolve, reject) => {
        child.once('close', () => (text === '' ? reject(new Error(errors)) : resolve(JSON.parse(text))));
      });
    });
    const results = await Promise.all(runs);
    const epochs = results.flatMap((result) => result.epochs);
    expect(epochs.sort((a, b) => a - b)).toEqual(Array.from({ length: 150 }, (_, index) => index + 1));
    expect(results.reduce((sum, result) => sum + result.refusedCount, 0)).toBeGreaterThan(0);
    expect(await openOnce(path)).toMatchObject({ epoch: 151 });
  });
});

/** File-system calls of a first and a later start that the tests interrupt. */
const CALL_COUNT_MIN = 12;

describe('I1: an interrupted start', () => {
  for (const kind of ['kill', 'tear']) {
    it(`by ${kind} at any step leaves a usable directory, and repeats no epoch`, async () => {
      const path = join(temporaryDirectory(), 'data');
      const healthyStart = healthyStarts(path);
      let lastEpoch = 0;
      let cutCount = 0;
      for (let step = 1; ; step++) {
        const cut = await openOnce(path, { fault: `${kind}:${step}` });
        if (cut === null) cutCount++;
        else expect(cut.epoch).toBeGreaterThan(lastEpoch); // the step is after the last one: nothing was interrupted
        const next = await healthyStart();
        expect(next.epoch).toBeGreaterThan(Math.max(lastEpoch, cut?.epoch ?? 0));
        lastEpoch = next.epoch!;
        if (cut !== null) break;
      }
      expect(cutCount).toBeGreaterThanOrEqual(CALL_COUNT_MIN);
      expect(readdirSync(path).filter((name) => name.startsWith('claim.'))).toEqual([]);
    });
  }

  for (const code of ['ENOSPC', 'EROFS', 'EIO']) {
    it(`by ${code} at any step gives an error or has no effect, and the next start works`, async () => {
      const path = join(temporaryDirectory(), 'data');
      const healthyStart = healthyStarts(path);
      let lastEpoch = 0;
      let refusedCount = 0;
      for (let step = 1, isBehindLast = false; !isBehindLast; step++) {
        const said = await openOnce(path, { fault: `${code}:${step}` });
        if (said?.epoch === undefined) {
          refusedCount++;
          expect(said).toMatchObject({ code: 'data_directory_unusable', next: 'refuse-to-start' });
          expect(said?.message).toContain(code);
        }
        isBehindLast = said?.callCount !== undefined && said.callCount < step;
        const next = await healthyStart();
        expect(next.epoch).toBeGreaterThan(Math.max(lastEpoch, said?.epoch ?? 0));
        lastEpoch = next.epoch!;
      }
      expect(refusedCount).toBeGreaterThanOrEqual(8);
    });
  }
});
