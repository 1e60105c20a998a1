/** What happens when things overlap: rails with a full queue, reads with listings, full tables with answers. */
import { describe, expect, it } from 'vitest';
import { Fixture, machines, need, S } from './fixture.ts';

describe('C3: the surplus of a cycle', () => {
  it('C3: with a full queue the surplus waits for room, and cycles do not follow each other meanwhile', async () => {
    const fixture = new Fixture({
      machines: machines(20, 'm', { state: S.Idle }),
      demand: { c1: [need(20)] },
      settings: { actionsPerCycleMax: 2, executeConcurrency: 1 },
      provider: { operations: { configure: { silenceProbability: 1 } } },
    });
    let cycles = 0;
    await fixture.world.time.advance(5_000, () => {
      if (++cycles > 5_000) throw new Error('cycles follow each other without end');
    });
    expect(fixture.cycles.length).toBeLessThan(20);
  });
});
