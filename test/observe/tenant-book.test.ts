import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../src/base/clock.ts';
import { TENANTS_KEPT_MAX, TenantBook } from '../../src/observe/tenant-book.ts';
import { listingReport } from './records.ts';

const rejectedRollup = (clusterId: string, detail: string) =>
  ({ kind: 'rollup_rejected', level: 'warn', clusterId, detail }) as const;
const rejectedRecord = (provider: string, detail: string) =>
  ({ kind: 'record_rejected', level: 'warn', provider, reason: 'structural', detail }) as const;

describe('the last refusal of each tenant', () => {
  it('is kept with its reason, its time and the number of refusals', () => {
    const clock = new ManualClock(1_000);
    const book = new TenantBook(clock);
    book.happened(rejectedRollup('c-1', 'row 3 has no resources'));
    clock.advance(500);
    book.happened(rejectedRollup('c-1', 'row 7 is too large'));
    expect(book.of('cluster', 'c-1')).toEqual({
      kind: 'cluster',
      name: 'c-1',
      refused: 2,
      reason: 'row 7 is too large',
      atMs: 1_500,
    });
    expect(book.of('provider', 'c-1')).toBeNull();
  });

  it('counts every rejected row of a listing, of which one is reported', () => {
    const book = new TenantBook(new ManualClock(1_000));
    book.happened(rejectedRecord('rack-a', 'machine m-1 has no id'));
    book.listingEnded(listingReport({ rejected: { price: 2, interruption_probability: 0, structural: 5 } }));
    book.happened(rejectedRecord('rack-a', 'machine m-2 has a negative price'));
    expect(book.of('provider', 'rack-a')).toMatchObject({
      refused: 8,
      reason: expect.stringContaining('m-2'),
    });
    expect(book.rejectedRows()).toEqual({ 'rack-a': 8 });
  });

  it('T10: counts the ids of other providers in the last full listing', () => {
    const book = new TenantBook(new ManualClock(1_000));
    book.listingEnded(listingReport({ isFull: true, foreignCount: 7 }));
    expect(book.listing('rack-a')!.foreignIds).toBe(7);
    book.listingEnded(listingReport({ isFull: false, foreignCount: 0 }));
    book.listingEnded(listingReport({ isFull: true, foreignCount: 0, failure: 'unreachable' }));
    expect(book.listing('rack-a')!.foreignIds).toBe(7);
    book.listingEnded(listingReport({ isFull: true, foreignCount: 2 }));
    expect(book.listing('rack-a')!.foreignIds).toBe(2);
  });

  it('remembers the last listing, and the machines of the last one that succeeded', () => {
    const clock = new ManualClock(1_000);
    const book = new TenantBook(clock);
    expect(book.listing('rack-a')).toBeNull();
    book.listingEnded(listingReport({ listedCount: 10 }));
    clock.advance(1_000);
    book.listingEnded(listingReport({ failure: 'unreachable: connection refused', listedCount: 0 }));
    expect(book.listing('rack-a')).toEqual({
      atMs: 2_000,
      completeAtMs: 1_000,
      held: null,
      machines: 10,
      foreignIds: 0,
      failure: 'unreachable: connection refused',
    });
    expect(book.rejectedRows()).toEqual({ 'rack-a': 0 });
  });

  it('is bounded in number and in length', () => {
    const book = new TenantBook(new ManualClock(1_000));
    for (let index = 0; index < TENANTS_KEPT_MAX; index++) book.happened(rejectedRollup(`c-${index}`, 'bad'));
    book.happened(rejectedRollup('c-0', 'x'.repeat(100_000)));
    book.happened(rejectedRollup('c-new', 'bad'));
    expect([...book.all()]).toHaveLength(TENANTS_KEPT_MAX);
    expect(book.of('cluster', 'c-1')).toBeNull();
    expect(book.of('cluster', 'c-0')!.reason.length).toBeLessThan(600);
  });
});
