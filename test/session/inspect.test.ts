import { describe, expect, it } from 'vitest';
import type { NeedsQuery, NeedsReader, NeedView } from '../../src/shard/ports/view.ts';
import { inspect, VIEW } from './inspector.ts';
import { startRig } from './rig.ts';

/** Pages of one hundred. */
class Reader {
  readonly queries: NeedsQuery[] = [];
  readonly #total: number;
  pagesMade = 0;
  isEnded = false;
  failsAt = Number.POSITIVE_INFINITY;

  constructor(total: number) {
    this.#total = total;
  }

  inspectNeeds: NeedsReader['inspectNeeds'] = async (query) => {
    this.queries.push(query);
    const count =
      query.limit === 0 || query.limit === undefined ? this.#total : Math.min(this.#total, query.limit);
    const header = { cycle: 42, computedAtMs: 1_700_000_000_500, totalNeeds: this.#total, unmetNeeds: 1 };
    return { header, pages: this.#pages(count) };
  };

  async *#pages(count: number): AsyncGenerator<NeedView[]> {
    try {
      for (let start = 0; start < count; start += 100) {
        if (start >= this.failsAt) throw new Error('the table is on fire');
        this.pagesMade++;
        const rows = Math.min(100, count - start);
        yield Array.from({ length: rows }, (_, index) => ({ ...VIEW, group: `g-${start + index}` }));
      }
    } finally {
      this.isEnded = true;
    }
  }
}

describe('InspectNeeds', () => {
  it('streams the header, then every need with its verdict', async () => {
    const { server } = await startRig({ needs: new Reader(1) });
    const { code, frames } = await inspect(server.address, { clusterId: 'east', limit: 0 });
    expect(code).toBe('OK');
    expect(frames[0]!.header).toEqual({ cycle: 42, computedAtUnixNanos: 1_700_000_000_500e6, totalNeeds: 1 });
    expect(frames[1]!.need).toEqual({
      need: {
        requirements: [{ key: 'zone', operator: 1, values: ['a'] }],
        aggregateResources: { cpu: '8', memory: '16Gi' },
        priority: 100,
        spread: [{ topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 1 }],
        interruptionPenaltyBucket: 3,
        reclamationPenaltyBucket: 4,
        minUnit: { cpu: '500m' },
        group: 'g-0',
      },
      clusterId: 'east',
      arrivalUnixNanos: 1_700_000_000_000e6,
      profileFingerprint: 'p=100|…',
      satisfied: false,
      residualDeficit: { resources: { cpu: '4' } },
      claimedMachineCount: 1,
      bootstrapCount: 2,
      provisionCount: 3,
      sameDomain: 'rack=r1',
      sameSatisfiable: true,
      acquisitionParked: true,
      parkedAgeCycles: 9,
      ageCyclesUnmet: 12,
      unmetReason: 2,
      matchingSupply: { idle: 0, configured: 7, speculative: 2, capped: true },
      preemption: { victimsFound: 3, capacityFreed: { resources: { cpu: '12' } } },
      sameCandidates: [{ domain: 'rack=r1', coveragePerMille: 750, satisfiable: false }],
    });
    expect(frames).toHaveLength(2);
  });

  it('passes on filter and limit, and refuses a negative limit', async () => {
    const reader = new Reader(1_000);
    const { server } = await startRig({ needs: reader });
    const { frames } = await inspect(server.address, { clusterId: 'west', limit: 250 });
    expect(frames).toHaveLength(251);
    expect(frames[0]!.header!.totalNeeds).toBe(1_000);
    expect(reader.queries).toEqual([{ clusterId: 'west', limit: 250 }]);
    expect((await inspect(server.address, { limit: -1 })).code).toBe('INVALID_ARGUMENT');
  });

  it('reads pages at the reader’s pace', async () => {
    const reader = new Reader(20_000);
    const { server } = await startRig({ needs: reader });
    let madeWhilePaused = 0;
    const pause = async () => {
      let before = -1;
      while (before !== reader.pagesMade) {
        before = reader.pagesMade;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      madeWhilePaused = reader.pagesMade;
    };
    const { code, frames } = await inspect(server.address, {}, undefined, (count) =>
      count === 5 ? pause() : true,
    );
    expect([code, frames.length]).toEqual(['OK', 20_001]);
    expect(madeWhilePaused).toBeLessThan(150);
    expect(reader.pagesMade).toBe(200);
  });

  it('stops reading pages when the reader disconnects', async () => {
    const reader = new Reader(100_000);
    const { server } = await startRig({ needs: reader });
    expect((await inspect(server.address, {}, undefined, (count) => count < 300)).code).toBe('CANCELLED');
    await expect.poll(() => reader.isEnded).toBe(true);
    expect(reader.pagesMade).toBeLessThan(1_000);
  });

  it('ends with INTERNAL and the reason when reading the needs fails', async () => {
    const reader = new Reader(1_000);
    reader.failsAt = 200;
    const { server } = await startRig({ needs: reader });
    const { code, details } = await inspect(server.address, {});
    expect([code, details]).toEqual(['INTERNAL', 'the table is on fire']);
  });
});
