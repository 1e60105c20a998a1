/** Samples of spending on real files: what is kept, for how long, and what a crash costs. */
import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import type { SpendingGrain, SpendingSample } from '../../src/shard/ports/spending.ts';
import { InterruptionCounts } from '../../src/spending/interruptions.ts';
import { SpendingSampler } from '../../src/spending/sampler.ts';
import { DAY_MS, HOUR_MS, HOURS_KEPT_MS, SpendingStore } from '../../src/spending/store.ts';

const START_MS = 20_000 * DAY_MS;
const MINUTE_MS = 60_000;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'flotilla-spending-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const row = (clusterId: string, usdPerHour: number, instanceType = 'large') => ({
  clusterId,
  instanceType,
  capacityType: CapacityType.OnDemand,
  machines: 2,
  configured: 1,
  usdPerHour,
});
const sample = (atMs: number, usdPerHour: number): SpendingSample => ({
  atMs,
  rows: [row('red', usdPerHour)],
});
const open = (nowMs: number, bytesMax?: number) =>
  SpendingStore.open({ folder, teams: [], ...(bytesMax === undefined ? {} : { bytesMax }) }, nowMs);

async function collect(store: SpendingStore, grain: SpendingGrain): Promise<SpendingSample[]> {
  const found: SpendingSample[] = [];
  for await (const one of store.samples(0, Number.MAX_SAFE_INTEGER, grain)) found.push(one);
  return found;
}

/** Time since START_MS, and dollars per hour of the first row. */
async function read(store: SpendingStore, grain: SpendingGrain): Promise<[number, number][]> {
  return (await collect(store, grain)).map(({ atMs, rows }) => [atMs - START_MS, rows[0]!.usdPerHour]);
}

describe('the history of spending', () => {
  it('E6: keeps the declared and the observed interruptions of each minute, and of each hour in all', async () => {
    const store = await open(START_MS);
    const of = { provider: 'aws', offering: 'large/a/spot', configured: 4 };
    for (const [minute, observed] of [
      [0, 2],
      [30, 1],
    ] as const)
      await store.add({
        ...sample(START_MS + minute * MINUTE_MS, 10),
        interruptions: [{ ...of, declaredPerHour: minute === 0 ? 0.4 : 0.2, observed }],
      });
    await store.add(sample(START_MS + HOUR_MS, 10));
    const [hour] = await collect(store, 'hour');
    expect(hour!.interruptions).toEqual([{ ...of, declaredPerHour: 0.3, observed: 3 }]);
    const minutes = await collect(store, 'minute');
    expect(minutes.map(({ interruptions }) => interruptions!.map(({ observed }) => observed))).toEqual([
      [2],
      [1],
      [],
    ]);
  });

  it('E6: an interruption counts once, and in the next sample if one cannot be written', async () => {
    const store = await open(START_MS);
    const counts = new InterruptionCounts();
    const offering = { provider: 'aws', offering: 'large/a/spot' };
    counts.observer.noted!({ kind: 'interrupted', ...offering });
    counts.observer.noted!({ kind: 'bound', ...offering });
    let failing = true;
    const add = store.add.bind(store);
    store.add = async (one) => {
      if (failing) throw new Error('no space');
      await add(one);
    };
    const declared = { ...offering, configured: 3, declaredPerHour: 0.3, observed: 0 };
    let minute = 0;
    const read = async () => ({ ...sample(START_MS + minute++ * MINUTE_MS, 10), interruptions: [declared] });
    const sampler = new SpendingSampler({
      store,
      read,
      onProblem: () => {},
      interruptions: counts,
      everyMs: 1e9,
    });
    for (failing of [true, false, false]) {
      sampler.sample();
      await sampler.close();
    }
    const samples = await collect(store, 'minute');
    expect(samples.map(({ interruptions }) => interruptions)).toEqual([
      [{ ...declared, observed: 1 }],
      [declared],
    ]);
  });

  it('E5: keeps each minute, and of each hour the average over its samples', async () => {
    const store = await open(START_MS);
    await store.add(sample(START_MS, 10));
    await store.add(sample(START_MS + 30 * MINUTE_MS, 20));
    expect(await read(store, 'hour')).toEqual([[0, 15]]);
    await store.add(sample(START_MS + HOUR_MS, 40));
    expect(await read(store, 'minute')).toEqual([
      [0, 10],
      [30 * MINUTE_MS, 20],
      [HOUR_MS, 40],
    ]);
    expect(await read(store, 'hour')).toEqual([
      [0, 15],
      [HOUR_MS, 40],
    ]);
  });

  it('E5: a row that a sample lacks counts as zero in it', async () => {
    const store = await open(START_MS);
    await store.add({ atMs: START_MS, rows: [row('red', 10), row('blue', 8)] });
    await store.add({ atMs: START_MS + MINUTE_MS, rows: [row('red', 10)] });
    const [hour] = await collect(store, 'hour');
    expect(hour!.rows.map(({ clusterId, usdPerHour }) => [clusterId, usdPerHour])).toEqual([
      ['red', 10],
      ['blue', 4],
    ]);
  });

  it('E5: a process that starts goes on with the hour that runs', async () => {
    await (await open(START_MS)).add(sample(START_MS, 10));
    const later = await open(START_MS + MINUTE_MS);
    await later.add(sample(START_MS + MINUTE_MS, 30));
    expect(await read(later, 'hour')).toEqual([[0, 20]]);
  });

  it('E5: a part of a block that a crash left is cut off, and what follows is read', async () => {
    await (await open(START_MS)).add(sample(START_MS, 10));
    const [file] = readdirSync(folder);
    appendFileSync(join(folder, file!), Buffer.from([200, 0, 0, 0, 1, 2, 3]));
    const store = await open(START_MS + MINUTE_MS);
    await store.add(sample(START_MS + MINUTE_MS, 30));
    expect(await read(store, 'minute')).toEqual([
      [0, 10],
      [MINUTE_MS, 30],
    ]);
  });

  it('E5: drops minutes after a day and hours after 90', async () => {
    const store = await open(START_MS);
    for (const atMs of [0, HOUR_MS, 26 * HOUR_MS]) await store.add(sample(START_MS + atMs, 1));
    expect((await read(store, 'minute')).map(([atMs]) => atMs)).toEqual([26 * HOUR_MS]);
    expect((await read(store, 'hour')).map(([atMs]) => atMs)).toEqual([0, HOUR_MS, 26 * HOUR_MS]);
    await store.add(sample(START_MS + HOURS_KEPT_MS + DAY_MS, 1));
    expect((await read(store, 'hour')).map(([atMs]) => atMs)).toEqual([26 * HOUR_MS, HOURS_KEPT_MS + DAY_MS]);
  });

  it('E5: drops the oldest files first when they have more than their bytes', async () => {
    const bytesMax = 2_048;
    const store = await open(START_MS, bytesMax);
    for (let hour = 0; hour < 20; hour++) {
      const rows = Array.from({ length: 20 }, (_, index) =>
        row(`cluster-${index}-${hour}`, hour + index / 7),
      );
      await store.add({ atMs: START_MS + hour * HOUR_MS, rows });
    }
    const minutes = readdirSync(folder).filter((name) => name.startsWith('minutes-'));
    const bytes = minutes.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    expect(minutes.length).toBeLessThan(10);
    expect(bytes).toBeLessThan(bytesMax);
    expect((await read(store, 'minute')).at(-1)![0]).toBe(19 * HOUR_MS);
  });

  it('a sample that cannot be written is reported, and the next is tried', async () => {
    const store = await open(START_MS);
    const problems: string[] = [];
    let reads = 0;
    const read = () =>
      ++reads === 1 ? Promise.reject(new Error('no space')) : Promise.resolve(sample(START_MS, 5));
    const sampler = new SpendingSampler({
      store,
      read,
      onProblem: (detail) => problems.push(detail),
      everyMs: 1e9,
    });
    sampler.sample();
    await sampler.close();
    sampler.sample();
    await sampler.close();
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain('no space');
    expect(await collect(store, 'minute')).toHaveLength(1);
  });
});
