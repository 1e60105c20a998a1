import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BadCursorError, search } from '../../src/events/search.ts';
import { EventStore } from '../../src/events/store.ts';
import type { FleetEvent } from '../../src/machine/event.ts';
import type { EventsQuery } from '../../src/shard/ports/events.ts';
import { anyEvent, blockWith, eventAt } from './event-arbitrary.ts';

const MIB = 1_048_576;
const nextTurn = () => Promise.resolve();

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'flotilla-events-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Oldest first, without sentences. */
async function found(store: EventStore, query: Partial<EventsQuery> = {}): Promise<FleetEvent[]> {
  const { events } = await search(store, { limit: 10_000, ...query }, nextTurn);
  return events.map(({ sentence: _, ...event }) => event).reverse();
}

describe('the history on disk', () => {
  it('gives back every event, in the order in which it was written, after it is opened again', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(anyEvent, { minLength: 1, maxLength: 30 }), { maxLength: 6 }),
        async (blocks) => {
          const path = mkdtempSync(join(tmpdir(), 'flotilla-events-'));
          try {
            const store = new EventStore(path, MIB);
            for (const events of blocks) store.append(blockWith(events));
            expect(await found(store)).toEqual(blocks.flat());
            store.close();
            expect(await found(new EventStore(path, MIB))).toEqual(blocks.flat());
          } finally {
            rmSync(path, { recursive: true });
          }
        },
      ),
      { numRuns: 12 },
    );
  });

  it('Y3: reads a file that was cut at any byte up to the last whole event, and goes on after it', async () => {
    const path = folder();
    const store = new EventStore(path, 1024 * MIB);
    const written: FleetEvent[][] = [];
    let salvaged = 0;
    const blocks = fc.sample(fc.array(anyEvent, { minLength: 6, maxLength: 6 }), { numRuns: 2, seed: 1 });
    for (const events of blocks) {
      store.append(blockWith(events));
      written.push(events);
    }
    store.close();
    const [name] = readdirSync(path);
    const file = join(path, name!);
    const whole = readFileSync(file);
    const ends = written.map((_, index) =>
      blocks.slice(0, index + 1).reduce((sum, events) => sum + blockWith(events).length, 0),
    );
    for (let cut = 0; cut <= whole.length; cut++) {
      writeFileSync(file, whole.subarray(0, cut));
      const events = await found(new EventStore(path, 1024 * MIB));
      const wholeCount = written.slice(0, ends.filter((end) => end <= cut).length).flat().length;
      expect(events, `cut at ${cut}`).toEqual(written.flat().slice(0, events.length));
      expect(events.length, `cut at ${cut}`).toBeGreaterThanOrEqual(wholeCount);
      if (events.length > wholeCount) salvaged++;
    }
    expect(salvaged).toBeGreaterThan(whole.length / 4); // most cuts leave part of a block
    writeFileSync(file, whole.subarray(0, whole.length - 3));
    const again = new EventStore(path, 1024 * MIB);
    const before = await found(again);
    again.append(blockWith([eventAt(9)]));
    expect(await found(again)).toEqual([...before, eventAt(9)]);
    expect(readdirSync(path)).toHaveLength(2); // a cut block is never continued
  }, 60_000);

  it('skips a damaged block and gives back the others', async () => {
    const path = folder();
    const store = new EventStore(path, MIB);
    const sizes = [1, 2, 3].map((atMs) => {
      store.append(blockWith([eventAt(atMs)]));
      return store.bytes;
    });
    store.close();
    const file = join(path, readdirSync(path)[0]!);
    const bytes = readFileSync(file);
    bytes[sizes[1]! - 1]! ^= 0xff; // inside the records of the second block
    writeFileSync(file, bytes);
    expect(await found(new EventStore(path, MIB))).toEqual([eventAt(1), eventAt(3)]);
  });

  it('stays within its limit and forgets the oldest events first', async () => {
    const path = folder();
    const bytesMax = 40_000;
    const store = new EventStore(path, bytesMax);
    const size = () => readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0);
    let atMs = 0;
    for (let block = 0; block < 500; block++) {
      store.append(blockWith([eventAt(++atMs, { machineId: `m-${Math.imul(atMs, 2654435761) >>> 0}` })]));
      if (block % 10 === 0) expect(size()).toBeLessThanOrEqual(bytesMax);
    }
    const events = await found(store);
    expect(events.length).toBeGreaterThan(200);
    expect(events.length).toBeLessThan(500);
    expect(events.at(-1)!.atMs).toBe(500);
    expect(events[0]!.atMs).toBe(500 - events.length + 1);
    expect(store.beginsAtMs).toBe(events[0]!.atMs);
    expect(store.gaps()).toEqual({ gaps: [], wholeSinceMs: store.beginsAtMs });
  });

  it('Y3: says from when on it is whole: after a restart, and after events were lost', () => {
    const store = new EventStore(folder(), MIB);
    store.append(blockWith([eventAt(100), eventAt(200)], 0, 1));
    expect(store.gaps()).toEqual({ gaps: [], wholeSinceMs: 100 });
    store.append(blockWith([eventAt(500)], 0, 2));
    const restart = { fromMs: 200, toMs: 500, why: expect.stringContaining('did not run') };
    expect(store.gaps()).toEqual({ gaps: [restart], wholeSinceMs: 500 });
    store.append(blockWith([eventAt(900)], 41, 2));
    const loss = { fromMs: 500, toMs: 900, why: expect.stringContaining('41 events') };
    expect(store.gaps()).toEqual({ gaps: [loss, restart], wholeSinceMs: 900 });
  });

  it('goes on in the same file after a clean stop', async () => {
    const path = folder();
    for (const atMs of [1, 2, 3]) {
      const store = new EventStore(path, MIB);
      store.append(blockWith([eventAt(atMs)]));
      store.close();
    }
    expect(readdirSync(path)).toEqual(['00000001.events']);
    expect(await found(new EventStore(path, MIB))).toEqual([1, 2, 3].map((atMs) => eventAt(atMs)));
  });
});

describe('a search', () => {
  it('finds exactly the events that fit, page by page, the newest first', async () => {
    const path = folder();
    const store = new EventStore(path, MIB);
    const blocks = fc.sample(fc.array(anyEvent, { minLength: 1, maxLength: 12 }), { numRuns: 40, seed: 2 });
    for (const events of blocks) store.append(blockWith(events));
    const all = blocks.flat();
    const queries = fc.sample(
      fc.record({
        machineId: fc.constantFrom('', 'm-1', 'm-ü3', 'm-none'),
        clusterId: fc.constantFrom('', 'c-1', 'c-2'),
        group: fc.constantFrom('', 'g-4'),
        offering: fc.constantFrom('', '', 'o-1'),
        kinds: fc.constantFrom([], ['bound' as const], ['interrupted' as const, 'preempted' as const]),
        sinceMs: fc.constantFrom(0, 1_700_000_050_000),
        untilMs: fc.constantFrom(2_000_000_000_000, 1_700_000_080_000),
        limit: fc.integer({ min: 1, max: 9 }),
      }),
      { numRuns: 60, seed: 3 },
    );
    let several = 0;
    for (const query of queries) {
      const expected = all.filter(
        (event) =>
          (query.machineId === '' || event.machineId === query.machineId) &&
          (query.clusterId === '' || [event.clusterId, event.forClusterId].includes(query.clusterId)) &&
          (query.group === '' || event.group === query.group) &&
          (query.offering === '' || event.offering === query.offering) &&
          (query.kinds.length === 0 || query.kinds.some((kind) => kind === event.kind)) &&
          event.atMs >= query.sinceMs &&
          event.atMs <= query.untilMs,
      );
      const pages: FleetEvent[] = [];
      let before = '';
      do {
        const page = await search(store, { ...query, before }, nextTurn);
        expect(page.events.length).toBeLessThanOrEqual(query.limit);
        pages.push(...page.events.map(({ sentence: _, ...event }) => event));
        before = page.next;
      } while (before !== '');
      expect(pages.reverse()).toEqual(expected);
      if (expected.length > query.limit) several++;
    }
    expect(several).toBeGreaterThan(8);
  });

  it('refuses a cursor that is not one', async () => {
    const store = new EventStore(folder(), MIB);
    await expect(search(store, { limit: 1, before: '1.2' }, nextTurn)).rejects.toThrow(BadCursorError);
  });
});
