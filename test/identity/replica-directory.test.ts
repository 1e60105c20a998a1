import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/base/clock.ts';
import type { SeenMarks } from '../../src/directory/election/marks.ts';
import { openDataDirectory } from '../../src/identity/data-directory.ts';
import { openReplicaDirectory } from '../../src/identity/replica-directory.ts';

describe('the data directory of a replica', () => {
  let path: string;
  const clock = new ManualClock();
  const open = (minEpoch?: number) => openReplicaDirectory(path, () => clock.nowMs(), minEpoch);

  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), 'flotilla-replica-'));
  });
  afterEach(() => rmSync(path, { recursive: true, force: true }));

  it('F1: keeps the highest epoch that it has seen, over restarts and never lower', async () => {
    const first = await open();
    expect([first.epoch, first.position]).toEqual([0, null]);
    const marks: SeenMarks = first;
    marks.raiseEpoch(1_700_000_000);
    marks.raiseEpoch(5);
    await first.close();
    const second = await open();
    expect(second.epoch).toBe(1_700_000_000);
    await second.close();
  });

  it('F1: is the same file as that of a shard without a directory, so a change of mode repeats no epoch', async () => {
    const alone = await openDataDirectory({ path, minEpoch: 41 });
    await alone.close();
    const replica = await open();
    expect(replica.epoch).toBe(41);
    replica.raiseEpoch(50);
    await expect(open()).rejects.toThrow('holds the data directory');
    await replica.close();
    const again = await openDataDirectory({ path });
    expect(again.epoch).toBe(51);
    await again.close();
  });

  it('F2: keeps how far the directory had come, at once for another cluster and else once a minute', async () => {
    const steps = [
      [{ clusterId: 'a1', revision: 7 }, 0, 7],
      [{ clusterId: 'a1', revision: 8 }, 10_000, 7],
      [{ clusterId: 'a1', revision: 9 }, 60_000, 9],
      [{ clusterId: 'b2', revision: 3 }, 1, 3],
    ] as const;
    const replica = await open();
    for (const [position, passMs, stored] of steps) {
      clock.advance(passMs);
      replica.notePosition(position);
      expect(replica.position).toEqual(position);
      expect(readFileSync(join(path, 'position'), 'utf8')).toBe(
        `flotilla-position ${position.clusterId} ${stored}\n`,
      );
    }
    await replica.close();
    const again = await open();
    expect(again.position).toEqual({ clusterId: 'b2', revision: 3 });
    await again.close();
  });

  it('F1: refuses a corrupt epoch, and takes a corrupt position for none', async () => {
    writeFileSync(join(path, 'position'), 'flotilla-position a1 seven\n');
    const replica = await open();
    expect(replica.position).toBeNull();
    await replica.close();
    writeFileSync(join(path, 'epoch'), 'flotilla-epoch 7 0000000000000000\n');
    await expect(open()).rejects.toThrow('--min-epoch');
    const repaired = await open(100);
    expect(repaired.epoch).toBe(100);
    await repaired.close();
  });
});
