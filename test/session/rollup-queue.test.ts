import { describe, expect, it } from 'vitest';
import type { RollupOutcome } from '../../src/needs/need-table.ts';
import { RollupQueue, type RollupResult } from '../../src/session/rollup-queue.ts';
import { encode } from '../../src/wire/codec.ts';
import { needs } from './operator.ts';

/** Accepts roll-ups after a given number of steps, and records their cluster and rows. */
function rig(options: { isReady?: (rows: number, steps: number) => boolean; bytesMax?: number } = {}) {
  const accepted: string[] = [];
  const rejected: string[] = [];
  const queue = new RollupQueue(
    {
      *acceptRollup(clusterId, digests): Generator<void, RollupOutcome> {
        const rows = digests.length / 2;
        for (let steps = 0; options.isReady?.(rows, steps) === false; steps++) yield;
        accepted.push(`${clusterId} ${rows}`);
        return 'applied';
      },
      rejectRollup: (_, why) => void rejected.push(why),
    },
    options.bytesMax,
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
  return { queue, offer, accepted, rejected, results };
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

  it('do not wait behind a large one', async () => {
    let mayEnd = false;
    const { offer, accepted } = rig({ isReady: (rows) => rows < 1_000 || mayEnd });
    const large = offer('large', 20_000, 'group-with-a-long-name'.repeat(2));
    await new Promise((resolve) => setImmediate(resolve));
    for (let cluster = 0; cluster < 50; cluster++) await offer(`c-${cluster}`, 10);
    expect(accepted).toHaveLength(50);
    mayEnd = true;
    await large;
    expect(accepted.at(-1)).toBe('large 20000');
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
    await new Promise((resolve) => setImmediate(resolve));
    queue.clear();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([accepted, results, queue.bytes]).toEqual([[], [], 0]);
  });
});
