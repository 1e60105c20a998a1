import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openDataDirectory } from '../../src/identity/data-directory.ts';
import {
  DataDirectoryHeldError,
  DataDirectoryUnusableError,
  EpochCorruptError,
} from '../../src/identity/errors.ts';
import { openOnce, temporaryDirectory } from './fixture.ts';

const ATTEMPT_COUNT_MAX = 8;

/**
 * The epoch of one life. A thread of this process that starts programs (processes.test.ts) gives each a copy of every socket until
 * the program runs, so on a stalled machine a lock that was just released may look held, by a process that does not answer.
 */
async function live(path: string, minEpoch = 0): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      const directory = await openDataDirectory({ path, minEpoch });
      await directory.close();
      return directory.epoch;
    } catch (error) {
      const isSilent = error instanceof DataDirectoryHeldError && !error.message.includes('(process');
      if (!isSilent || attempt === ATTEMPT_COUNT_MAX) throw error;
    }
  }
}

const failureOf = (path: string, minEpoch = 0) =>
  live(path, minEpoch).then(
    (epoch) => `epoch ${epoch}`,
    (error: unknown) => error,
  );

describe('I1: the epoch', () => {
  it('is 1 in a new directory, which is made for its owner alone, and goes up by one with every start', async () => {
    const path = join(temporaryDirectory(), 'not', 'there', 'yet');
    expect([await live(path), await live(path), await live(path)]).toEqual([1, 2, 3]);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    expect(statSync(join(path, 'epoch')).mode & 0o777).toBe(0o600);
  });

  it('is on the disk when the directory is given, and stays there', async () => {
    const path = temporaryDirectory();
    const directory = await openDataDirectory({ path });
    expect(readFileSync(join(path, 'epoch'), 'utf8')).toMatch(/^flotilla-epoch 1 [0-9a-f]{16}\n$/);
    await directory.close();
    expect(await live(path)).toBe(2);
  });

  for (const [last, minEpoch, epoch, because] of [
    [0, 7, 7, 'a lost file is replaced by what the person says'],
    [3, 2, 4, 'a lower one changes nothing'],
    [3, 4, 4, 'the one that would come anyway'],
    [3, 100, 100, 'a higher one is taken at once'],
  ] as const) {
    it(`--min-epoch ${minEpoch} after ${last} gives ${epoch}: ${because}`, async () => {
      const path = temporaryDirectory();
      for (let life = 1; life <= last; life++) await live(path);
      expect(await live(path, minEpoch)).toBe(epoch);
      expect(await live(path)).toBe(epoch + 1);
    });
  }

  for (const [what, damage] of [
    ['empty', () => ''],
    ['cut', (line: string) => line.slice(0, -3)],
    ['another number with the old digest', (line: string) => line.replace(' 3 ', ' 2 ')],
    ['a number alone', () => '3\n'],
    ['zeros, as a power failure leaves them', () => '\0'.repeat(36)],
    ['with something after it', (line: string) => `${line}x`],
    ['beyond what can be counted', () => `flotilla-epoch 9999999999999999 ${'0'.repeat(16)}\n`],
    ['enormous', () => 'x'.repeat(1_000_000)],
  ] as const) {
    it(`a file that is ${what} refuses the start with the remedy, and the remedy works`, async () => {
      const path = temporaryDirectory();
      for (let life = 1; life <= 3; life++) await live(path);
      const file = join(path, 'epoch');
      writeFileSync(file, damage(readFileSync(file, 'utf8')));
      const failure = await failureOf(path);
      expect(failure).toBeInstanceOf(EpochCorruptError);
      expect(failure).toMatchObject({ code: 'epoch_corrupt', next: 'refuse-to-start' });
      expect((failure as Error).message).toContain('--min-epoch');
      expect(await failureOf(path)).toBeInstanceOf(EpochCorruptError); // the lock was given back both times
      expect(await live(path, 50)).toBe(50);
      expect(await live(path)).toBe(51);
    });
  }

  it('never repeats and never goes back, whatever is asked for', async () => {
    let jumpCount = 0;
    const starts = fc.array(fc.oneof(fc.constant(0), fc.nat({ max: 60 })), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(starts, async (minEpochs) => {
        const path = temporaryDirectory();
        let last = 0;
        for (const minEpoch of minEpochs) {
          const epoch = await live(path, minEpoch);
          expect(epoch).toBe(Math.max(last + 1, minEpoch));
          if (epoch > last + 1) jumpCount++;
          last = epoch;
        }
      }),
      { numRuns: 40 },
    );
    expect(jumpCount).toBeGreaterThan(20);
  });
});

describe('I1: the lock', () => {
  it('is held against the same process, too, and names the holder', async () => {
    const path = temporaryDirectory();
    const directory = await openDataDirectory({ path });
    const failure = await failureOf(path);
    expect(failure).toBeInstanceOf(DataDirectoryHeldError);
    expect(failure).toMatchObject({ code: 'data_directory_held', next: 'refuse-to-start' });
    expect((failure as Error).message).toContain(`process ${process.pid} on `);
    await directory.close();
    await directory.close();
    expect(await live(path)).toBe(2);
  });

  it('is of the directory and not of its name', async () => {
    const path = temporaryDirectory();
    const link = join(temporaryDirectory(), 'link');
    symlinkSync(path, link);
    const directory = await openDataDirectory({ path });
    expect(await failureOf(link)).toBeInstanceOf(DataDirectoryHeldError);
    await directory.close();
  });

  it('fits a directory whose path is far longer than that of a socket may be', async () => {
    const path = join(
      temporaryDirectory(),
      ...Array.from({ length: 6 }, (_, depth) => `${depth}`.repeat(60)),
    );
    const directory = await openDataDirectory({ path });
    expect(await failureOf(path)).toBeInstanceOf(DataDirectoryHeldError);
    await directory.close();
    expect(await live(path)).toBe(2);
  });

  it('of a process that does not say its name, or says too much, is a lock all the same', async () => {
    for (const name of ['', 'x'.repeat(10_000), 'evil\n\u001b[2J']) {
      const path = temporaryDirectory();
      const server = createServer((caller) => {
        caller.on('error', () => {});
        if (name !== '') caller.end(name);
      });
      await new Promise<void>((resolve) => server.listen(join(path, 'lock.4'), resolve));
      const failure = await failureOf(path);
      expect(failure).toBeInstanceOf(DataDirectoryHeldError);
      expect((failure as Error).message).not.toMatch(/[\p{Cc}]/u);
      server.close();
    }
  });

  it('is taken over from anything that does not answer: a socket without a process, a file, a directory', async () => {
    const path = temporaryDirectory();
    writeFileSync(join(path, 'lock.8'), 'restored from a backup');
    expect(await live(path)).toBe(1);
    mkdirSync(join(path, 'lock.12'));
    expect(await live(path)).toBe(2);
    expect(await live(path)).toBe(3);
  });

  it('leaves nothing behind that grows: one lock and one epoch, however many starts there were', async () => {
    const path = temporaryDirectory();
    writeFileSync(join(path, 'claim.0123456789abcdef'), '');
    writeFileSync(join(path, 'audit.log'), 'not ours to clear');
    for (let life = 1; life <= 20; life++) await live(path);
    expect(readdirSync(path).sort()).toEqual(['audit.log', 'epoch', 'lock.20']);
  });

  it('is held by one at a time among forty that try at once in one process', async () => {
    const path = temporaryDirectory();
    const epochs: number[] = [];
    let insideCount = 0;
    const contend = async () => {
      for (let held = 0; held < 3; ) {
        try {
          const directory = await openDataDirectory({ path });
          expect(++insideCount).toBe(1);
          epochs.push(directory.epoch);
          await new Promise((resolve) => setImmediate(resolve));
          insideCount--;
          held++;
          await directory.close();
        } catch (error) {
          if (!(error instanceof DataDirectoryHeldError)) throw error;
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      }
    };
    await Promise.all(Array.from({ length: 40 }, contend));
    expect(epochs).toEqual(Array.from({ length: 120 }, (_, index) => index + 1));
  });
});

describe('I1: a directory that cannot be used refuses the start and says why', () => {
  it('because something else has its name', async () => {
    const path = join(temporaryDirectory(), 'file');
    writeFileSync(path, '');
    expect(await failureOf(path)).toMatchObject({
      code: 'data_directory_unusable',
      next: 'refuse-to-start',
      message: expect.stringContaining('not a directory'),
    });
    expect(await failureOf(join(path, 'below'))).toBeInstanceOf(DataDirectoryUnusableError);
  });

  it('because it cannot be made', async () => {
    const failure = await failureOf('/proc/self/flotilla');
    expect(failure).toBeInstanceOf(DataDirectoryUnusableError);
  });

  it('because everybody may write to it, and leaves its mode alone', async () => {
    const path = temporaryDirectory();
    chmodSync(path, 0o777);
    const failure = await failureOf(path);
    expect(failure).toBeInstanceOf(DataDirectoryUnusableError);
    expect((failure as Error).message).toContain('mode 700');
    expect(statSync(path).mode & 0o777).toBe(0o777);
    expect(readdirSync(path)).toEqual([]);
    chmodSync(path, 0o750);
    expect(await live(path)).toBe(1);
  });

  it('because the epoch is a directory', async () => {
    const path = temporaryDirectory();
    mkdirSync(join(path, 'epoch'));
    expect(await failureOf(path)).toBeInstanceOf(EpochCorruptError);
    expect(await failureOf(path, 5)).toBeInstanceOf(DataDirectoryUnusableError);
  });

  it('because this user may not write there', async () => {
    const path = join(temporaryDirectory(), 'locked');
    mkdirSync(path, { mode: 0o555 });
    // The superuser may write anywhere: then somebody else is asked.
    const uid = process.getuid?.() === 0 ? { uid: 65_534 } : {};
    const said = await openOnce(path, uid);
    expect(said).toMatchObject({ code: 'data_directory_unusable', next: 'refuse-to-start' });
    expect(said?.message).toContain('no right to');
    expect(existsSync(join(path, 'epoch'))).toBe(false);
  });
});
