import { describe, expect, it, vi } from 'vitest';
import type { RollupOutcome } from '../../src/needs/need-table.ts';
import {
  NEW_ROWS_BURST,
  NEW_ROWS_PER_SECOND,
  ROLLUP_QUANTUM_BYTES,
  ROLLUP_STEP_BYTES,
  ROLLUPS_OPEN_MAX,
} from '../../src/session/limits.ts';
import { RollupQueue, type RollupResult, rollupTurnMs } from '../../src/session/rollup-queue.ts';
import { encode } from '../../src/wire/codec.ts';
import { needs } from './operator.ts';

/** Rows of more than a megabyte. */
const LARGE = [20_000, 'group-with-a-long-name'.repeat(2)] as const;
const STEPS_PER_VISIT = ROLLUP_QUANTUM_BYTES / ROLLUP_STEP_BYTES;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Accepts roll-ups after a given number of steps, and records their cluster and rows. */
function rig(
  options: {
    isReady?: (rows: number, steps: number) => boolean;
    bytesMax?: number;
    clusterBytesMax?: number;
    isNew?: boolean;
  } = {},
) {
  const accepted: string[] = [];
  const steps: string[] = [];
  const rejected: string[] = [];
  const queue = new RollupQueue(
    {
      *acceptRollup(clusterId, digests, decodeRow): Generator<void, RollupOutcome> {
        const rows = digests.length / 2;
        for (let row = 0; options.isNew === true && row < rows; row++) decodeRow(row);
        steps.push(clusterId);
        for (let count = 0; options.isReady?.(rows, count) === false; count++) {
          yield;
          steps.push(clusterId);
        }
        accepted.push(`${clusterId} ${rows}`);
        return 'applied';
      },
      rejectRollup: (_, why) => void rejected.push(why),
    },
    undefined,
    options.bytesMax,
    options.clusterBytesMax,
  );
  const results: RollupResult[] = [];
  const offer = (clusterId: string, rows: number, prefix = 'g', sender: object = queue) => {
    const bytes = encode('ClusterCapacityNeeds', { clusterId, needs: needs(rows, prefix) });
    return new Promise<RollupResult>((resolve) => {
      queue.offer(clusterId, sender, bytes, (result) => {
        results.push(result);
        resolve(result);
      });
    });
  };
  return { queue, offer, accepted, steps, rejected, results };
}

describe('waiting roll-ups', () => {
  it('N1: of one cluster, the first in the queue stays, and only the latest behind it is read', async () => {
    const { offer, accepted, results } = rig();
    void offer('east', 1);
    void offer('east', 2);
    void offer('east', 3);
    void offer('west', 9);
    await offer('east', 4);
    expect(accepted).toEqual(['east 1', 'west 9', 'east 4']);
    expect(results.map(({ rollups }) => rollups)).toEqual([1, 1, 3]); // the last one settles those that it replaced
  });

  it('O2: of a replaced session are not acked to the new one', async () => {
    const { offer, accepted } = rig();
    const [old, young] = [{}, {}];
    void offer('east', 1, 'g', old);
    void offer('east', 2, 'g', old);
    void offer('east', 3, 'g', young);
    const { rollups, acks } = await offer('east', 4, 'g', young);
    expect(accepted).toEqual(['east 1', 'east 4']);
    expect([rollups, acks]).toEqual([3, 2]);
  });

  it('T7: of other clusters do not wait behind a large one', async () => {
    let mayEnd = false;
    const { offer, accepted, steps } = rig({ isReady: (rows) => rows < 1_000 || mayEnd });
    const large = offer('large', ...LARGE);
    while (steps.length === 0) await turn();
    for (let cluster = 0; cluster < 50; cluster++) {
      const before = steps.length;
      await offer(`c-${cluster}`, 10);
      const between = steps.slice(before).lastIndexOf(`c-${cluster}`);
      expect(between).toBeLessThanOrEqual(2 * STEPS_PER_VISIT); // the visit under way, and at most one more
    }
    expect(accepted).toHaveLength(50);
    mayEnd = true;
    await large;
    expect(accepted.at(-1)).toBe('large 20000');
  });

  it('T7: of several clusters are read in turns of equal size, however large they are', async () => {
    const { offer, steps } = rig({ isReady: (_, count) => count === 500 });
    await Promise.all(['east', 'west', 'north'].map((cluster) => offer(cluster, ...LARGE)));
    const counts = { east: 0, west: 0, north: 0 };
    const differences: number[] = [];
    const last = Math.min(...Object.keys(counts).map((cluster) => steps.lastIndexOf(cluster)));
    for (const cluster of steps.slice(steps.indexOf('north'), last)) {
      counts[cluster as keyof typeof counts]++;
      differences.push(Math.max(...Object.values(counts)) - Math.min(...Object.values(counts)));
    }
    expect(differences.length).toBeGreaterThan(1_000);
    expect(Math.max(...differences)).toBeLessThanOrEqual(2 * STEPS_PER_VISIT);
  });

  it('T7: of a cluster that changed many rows wait, a later one replaces them, and other clusters pass', async () => {
    const { offer, accepted, results, queue } = rig({ isNew: true });
    await offer('east', NEW_ROWS_BURST + 2 * NEW_ROWS_PER_SECOND);
    void offer('east', 1);
    void offer('east', 2);
    const latest = offer('east', 3);
    await offer('west', 9);
    expect(accepted).toEqual([`east ${NEW_ROWS_BURST + 2 * NEW_ROWS_PER_SECOND}`, 'west 9']);
    const { rollups, acks } = await latest;
    expect(accepted.at(-1)).toBe('east 3');
    expect([rollups, acks]).toEqual([3, 3]);
    expect(results).toHaveLength(3);
    expect(queue.bytes).toBe(0);
  });

  it('T7: of a cluster that repeats its rows do not wait, however many they are', async () => {
    const { offer, accepted } = rig();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    try {
      await offer('east', NEW_ROWS_BURST * 2);
      await offer('east', NEW_ROWS_BURST * 2);
      expect(accepted).toHaveLength(2);
      expect(timers).not.toHaveBeenCalled(); // a cluster that waits for its pace waits for a timer
    } finally {
      timers.mockRestore();
    }
  });

  it('T7: are open only a few at a time, and small ones pass those that wait to be opened', async () => {
    let mayEnd = false;
    const { offer, accepted, steps } = rig({ isReady: (rows) => rows < 1_000 || mayEnd });
    const clusters = Array.from({ length: ROLLUPS_OPEN_MAX + 3 }, (_, index) => `large-${index}`);
    const large = clusters.map((cluster) => offer(cluster, ...LARGE));
    while (new Set(steps).size < ROLLUPS_OPEN_MAX) await turn();
    await offer('small', 10);
    expect(accepted).toEqual(['small 10']);
    expect(new Set(steps).size).toBe(ROLLUPS_OPEN_MAX + 1);
    mayEnd = true;
    await Promise.all(large);
    expect(accepted).toHaveLength(clusters.length + 1);
  });

  it('T7: of one cluster are bounded in bytes, and other clusters have room', async () => {
    const { offer, accepted, rejected } = rig({ clusterBytesMax: 2_000 });
    const first = offer('east', 20);
    expect((await offer('east', 60)).outcome).toBe('rejected');
    expect(rejected[0]).toMatch(/would make \d+ bytes of this cluster wait; the maximum is 2000/);
    void offer('west', 20);
    void offer('east', 10);
    await offer('east', 11); // replaces the one behind the first, so its bytes do not count
    await first;
    expect(accepted).toEqual(['east 20', 'west 20', 'east 11']);
  });

  it('leave event-loop turns to others', async () => {
    const { offer } = rig({ isReady: (_, steps) => steps === 200_000 });
    let turns = 0;
    const count = () => {
      turns++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    await offer('east', 100);
    clearImmediate(timer);
    expect(turns).toBeGreaterThan(3);
  });

  for (const [isLate, otherMs, turnMs, because] of [
    [false, 250, 5, 'they are not late'],
    [true, 2, 5, 'an idle thread comes back at once'],
    [true, 60, 30, 'late ones get a third of a busy thread'],
    [true, 250, 40, 'no turn delays other answers for longer'],
  ] as const)
    it(`T7: get ${turnMs} ms after ${otherMs} ms of other work: ${because}`, () =>
      expect(rollupTurnMs(isLate, otherMs)).toBeCloseTo(turnMs));

  it('are bounded in bytes: above the limit a new one is refused, and waiting ones stay', async () => {
    const { offer, accepted, rejected } = rig({ bytesMax: 2_000 });
    const first = offer('east', 20);
    const second = await offer('west', 60);
    expect(second).toEqual({ outcome: 'rejected', rowCount: 0, rollups: 1, acks: 0 });
    expect(rejected[0]).toContain('bytes of roll-ups wait to be read; the maximum is 2000');
    await first;
    await offer('west', 20);
    expect(accepted).toEqual(['east 20', 'west 20']);
  });

  it('are dropped when the queue is cleared, including the one being read', async () => {
    const { queue, offer, accepted, results } = rig({ isReady: () => false });
    void offer('east', 5);
    void offer('west', 5);
    await turn();
    queue.clear();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([accepted, results, queue.bytes]).toEqual([[], [], 0]);
  });
});
