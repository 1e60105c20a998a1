/** T7 on a real server: one cluster's megabytes beside the roll-up of a neighbour. */
import { describe, expect, it } from 'vitest';
import type { RollupOutcome } from '../../src/needs/need-table.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { ROLLUP_STEP_BYTES } from '../../src/session/limits.ts';
import type { CapacityNeedInit } from '../../src/wire/protocol.generated.ts';
import { FakeShard } from './fake-shard.ts';
import { need, needs } from './operator.ts';
import { startRig } from './rig.ts';

const TIMEOUT_MS = 60_000;

/** Records of which cluster each step of an acceptance was, and how many bytes it decoded at most. */
class CountingShard extends FakeShard {
  readonly steps: string[] = [];
  stepBytesMax = 0;

  override *acceptRollup(
    clusterId: string,
    digests: Uint32Array,
    decodeRow: (index: number) => RollupRow,
  ): Generator<void, RollupOutcome> {
    let bytes = 0;
    const steps = super.acceptRollup(clusterId, digests, (index) => {
      const row = decodeRow(index);
      bytes += row.wireBytes ?? 0;
      return row;
    });
    for (;;) {
      bytes = 0;
      const step = steps.next();
      this.steps.push(clusterId);
      this.stepBytesMax = Math.max(this.stepBytesMax, bytes);
      if (step.done) return step.value;
      yield;
    }
  }
}

/** Rows of 60 KB, the same profile in each. */
function longRows(count: number): CapacityNeedInit[] {
  const values = Array.from({ length: 60 }, (_, index) => `${index}-`.padEnd(1_000, 'x'));
  const requirements = [{ key: 'example.com/pool', operator: 1, values }];
  return Array.from({ length: count }, (_, index) => need({ requirements, group: `long-${index}` }));
}

describe('a cluster that sends 30 MB', () => {
  it(
    'T7: delays a neighbour’s ack by a visit, not by its megabytes',
    async () => {
      const shard = new CountingShard();
      const { server, greeted } = await startRig({ shard });
      const [hostile, honest] = [await greeted('hostile'), await greeted('honest')];
      hostile.rollup(longRows(500));
      await expect.poll(() => shard.steps.length, { timeout: TIMEOUT_MS, interval: 1 }).toBeGreaterThan(0);
      const isRead = () => server.sessions().some((session) => session.lastRollupRows === 500);
      expect(isRead()).toBe(false);
      for (let round = 1; round <= 5; round++) {
        honest.rollup(needs(10 + round));
        await honest.receives(() => honest.acks('rollup') === round);
      }
      expect(isRead()).toBe(false);
      await expect.poll(isRead, { timeout: TIMEOUT_MS }).toBe(true);
      expect(shard.groupsOf('honest')).toHaveLength(15);
      expect(shard.groupsOf('hostile')).toHaveLength(500);
      expect(shard.stepBytesMax).toBeLessThanOrEqual(2 * ROLLUP_STEP_BYTES); // one row above the limit
    },
    TIMEOUT_MS,
  );
});
