/** A part of a listing that arrives too late in the main thread, and one that the main thread never requests. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { FencingTokens } from '../../../src/provider/client/fencing.ts';
import { ListRunner } from '../../../src/provider/pool/list-runner.ts';
import {
  LISTING_WATCHDOG_GRACE_MS,
  ListingThread,
  type ListTask,
} from '../../../src/provider/pool/listing-thread.ts';
import { inventory } from '../../inventory/machines.ts';
import { rig, seed } from '../../simulation/provider/fixture.ts';
import { serve } from '../client/fixture.ts';
import { later } from './fixture.ts';

const FULL = new Uint8Array(0);
const LIST = { kind: 'list', sinceRevision: FULL } as const;

afterEach(() => {
  vi.useRealTimers();
});

async function runner(partWaitMsMax?: number): Promise<ListRunner> {
  const { provider } = rig(
    {},
    Array.from({ length: 60 }, (_, index) => seed(`m-${index}`)),
  );
  const { address } = await serve(provider);
  const setup = {
    endpoints: [{ name: 'p0', address }],
    fencing: FencingTokens.create('shard-1', 1).shared,
    limits: {},
    inventory: inventory().share(),
    partBytes: 2_000,
  };
  return new ListRunner(setup, partWaitMsMax);
}

describe('a part of a listing', () => {
  it('that does not arrive ends as timeout, and the thread is told to drop it when it arrives late', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const lister = await runner();
    const tasks: ListTask['kind'][] = [];
    let late: () => void = () => {};
    const listings = new ListingThread({
      clock: systemClock,
      onListed: () => {},
      run: async (task) => {
        tasks.push(task.kind);
        if (task.kind === 'list') return lister.list(task);
        if (task.kind === 'drop') return lister.drop(task.provider);
        await new Promise<void>((resolve) => {
          late = resolve;
        });
        return lister.next(task.provider);
      },
    });
    const first = await listings.list({ ...later(), sinceRevision: FULL });
    if (first.kind !== 'listed' || first.next === undefined) throw new Error('the listing is not in parts');
    const second = first.next();
    await vi.advanceTimersByTimeAsync(LISTING_WATCHDOG_GRACE_MS);
    expect((await second).kind).toBe('timeout');
    expect((await listings.list({ ...later(), sinceRevision: FULL })).kind).toBe('unavailable');
    late();
    await vi.advanceTimersByTimeAsync(1);
    expect(tasks).toEqual(['list', 'next', 'drop']);
    expect(lister.next(0).answer.kind).toBe('worker_lost'); // the rest is gone
  });

  it('that is not requested is dropped after a while, and not while requests arrive', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const lister = await runner(1_000);
    const first = await lister.list({ ...LIST, ...later() });
    expect(first).toMatchObject({ hasMore: true });
    for (let asked = 0; asked < 2; asked++) {
      vi.advanceTimersByTime(900);
      expect(lister.next(0)).toMatchObject({ hasMore: true, answer: { kind: 'listed' } });
    }
    vi.advanceTimersByTime(1_001);
    expect(lister.next(0)).toMatchObject({ hasMore: false, answer: { kind: 'worker_lost' } });
  });
});
