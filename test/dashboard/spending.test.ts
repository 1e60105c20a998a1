/** The page, the API and the CSV of spending, with two weeks of samples on disk behind them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiClusters, ApiSpending } from '../../src/dashboard/api/types.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { MachineState } from '../../src/machine/state.ts';
import { DAY_MS, HOUR_MS, SpendingStore } from '../../src/spending/store.ts';
import { Browser, LOOKS } from './chromium.ts';
import { LiveWorld } from './live-world.ts';

const START_MS_MAX = 360_000;
const WEEK_HOURS = 7 * 24;
const { OnDemand, Spot } = CapacityType;

const SPOT_OFFERING = { provider: 'aws', offering: 'cpu-32/zone-a/spot' };

let folder = '';
let live: LiveWorld;
let browser: Browser;
let url = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'flotilla-spending-page-'));
  live = new LiveWorld(1_000);
  live.step(); // lists of clusters wait for a first cycle
  const nowMs = live.world.clock.nowMs();
  const firstMs = nowMs - 14 * DAY_MS;
  const store = await SpendingStore.open({ folder, teams: [{ name: 'web', pattern: 'prod-*' }] }, firstMs);
  // Two weeks of hours: in the second, prod-eu-1 has twice the on-demand machines, and its spot machines cost a tenth more.
  for (let hour = 0; hour < 2 * WEEK_HOURS; hour++) {
    const isSecond = hour >= WEEK_HOURS;
    const machines = isSecond ? 20 : 10;
    const of = { configured: machines, clusterId: 'prod-eu-1', instanceType: 'cpu-32' };
    await store.add({
      atMs: firstMs + hour * HOUR_MS + 1,
      rows: [
        { ...of, capacityType: OnDemand, machines, usdPerHour: machines },
        { ...of, capacityType: Spot, machines: 10, usdPerHour: isSecond ? 5.5 : 5 },
        { ...of, clusterId: 'dev, "old"', capacityType: Spot, machines: 1, usdPerHour: 0.5 },
      ],
      interruptions: [
        {
          ...SPOT_OFFERING,
          configured: 10,
          declaredPerHour: 0.02,
          observed: isSecond && hour % 24 === 0 ? 2 : 0,
        },
      ],
    });
  }
  url = await live.serve(store);
  browser = await Browser.start();
}, START_MS_MAX);

afterAll(async () => {
  await browser?.close();
  await live?.close();
  rmSync(folder, { recursive: true });
});

async function get<T>(path: string): Promise<T> {
  const response = await fetch(`${url}/api/v1/${path}`);
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

describe('the API of spending', () => {
  it('E6: says what a cluster cost in a span, what before, and what made the difference, the largest change first', async () => {
    const found = await get<ApiSpending>('spending?cluster=prod-eu-1&days=7');
    expect(found.usd).toBeGreaterThan(25 * (WEEK_HOURS - 2));
    expect(found.usd).toBeLessThan(26 * (WEEK_HOURS + 1));
    expect(found.usdBefore).toBeGreaterThan(15 * (WEEK_HOURS - 2));
    expect(found.parts.map(({ name }) => name)).toEqual(['cpu-32 on-demand', 'cpu-32 spot']);
    const [onDemand, spot] = found.parts;
    expect(onDemand!.machineHours / onDemand!.machineHoursBefore).toBeCloseTo(2, 1);
    expect(spot!.usd / spot!.usdBefore).toBeCloseTo(1.1, 1);
    expect(found.points.length).toBeGreaterThan(100);
    expect(found.usdPerDay).toBeCloseTo((24 * found.usd) / found.hours, 6);
    expect(found.idleUsd).toBe(0);
  });

  it('E6: sums by cluster, team, type and purchase option are all of the same total', async () => {
    const of = async (by: string) => get<ApiSpending>(`spending?by=${by}`);
    const totals = await Promise.all(['offering', 'cluster', 'team', 'type', 'capacity'].map(of));
    for (const { usd, parts } of totals) {
      expect(usd).toBeCloseTo(totals[0]!.usd, 6);
      expect(parts.reduce((sum, part) => sum + part.usd, 0)).toBeCloseTo(usd, 6);
    }
    expect(totals[2]!.parts.map(({ name }) => name)).toEqual(['web', 'no team']);
    const web = await get<ApiSpending>('spending?team=web&by=cluster');
    expect(web.parts.map(({ name }) => name)).toEqual(['prod-eu-1']);
  });

  it('E6: has the commitment use and the spot share of the fleet as it is now', async () => {
    const { commitmentUse, spotShare, usdPerHour } = await get<ApiSpending>('spending');
    const { cost, byCapacityType } = await live.world.view.summary();
    expect(usdPerHour).toBeCloseTo(cost.totalUsd, 6);
    expect(commitmentUse).toBeGreaterThan(0.5);
    expect(spotShare).toBeGreaterThan(0);
    expect(byCapacityType.length).toBeGreaterThan(0);
    const { interruptions } = await live.world.view.spending();
    const { columns } = live.world.inventory;
    let declared = 0;
    for (let slot = 1; slot < columns.slotLimit; slot++)
      if (columns.state[slot] === MachineState.Configured) declared += columns.interruptionProbability[slot]!;
    expect(declared).toBeGreaterThan(0);
    expect(interruptions!.reduce((sum, { declaredPerHour }) => sum + declaredPerHour, 0)).toBeCloseTo(
      declared,
      6,
    );
    for (const { offering, observed } of interruptions!) {
      expect(offering).toMatch(/^[^/]+\/[^/]+\/[^/]+$/);
      expect(observed).toBe(0);
    }
  });

  it('E6: as CSV, one line for each hour and row; texts are quoted', async () => {
    const response = await fetch(`${url}/api/v1/spending.csv?days=7`);
    expect(response.headers.get('content-type')).toContain('text/csv');
    const lines = (await response.text()).trimEnd().split('\r\n');
    expect(lines[0]).toBe('hour,cluster,team,instance_type,capacity_type,machines,configured,usd_per_hour');
    expect(lines.at(-1)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:00:00.000Z,"dev, ""old""",,cpu-32,spot,1,20,0.5$/);
    expect(
      lines.filter((line) => line.includes('prod-eu-1,web,cpu-32,on-demand,20,20,20')).length,
    ).toBeGreaterThan(150);
  });

  it('E6: compares the interruptions of each offering with those that its provider declares', async () => {
    const { interruptions } = await get<ApiSpending>('spending?days=7');
    expect(interruptions).toHaveLength(1);
    const [of] = interruptions!;
    expect(of).toMatchObject(SPOT_OFFERING);
    expect(of!.declared).toBeCloseTo(0.02 * WEEK_HOURS, 0);
    expect(of!.machineHours / WEEK_HOURS).toBeCloseTo(10, 0);
    expect(of!.observed).toBeGreaterThanOrEqual(12);
    expect(of!.observed).toBeLessThanOrEqual(14);
    // They are the fleet's: a cluster has too few machines to say anything of an offering.
    expect((await get<ApiSpending>('spending?cluster=prod-eu-1')).interruptions).toBeNull();
  });

  it('clusters have their cost', async () => {
    const { clusters } = await get<ApiClusters>('clusters?limit=2');
    for (const { usdPerHour, machines } of clusters) expect(usdPerHour > 0).toBe(machines > 0);
  });

  it('refuses a parameter that it does not know, in both forms', async () => {
    for (const path of [
      'spending?weeks=2',
      'spending.csv?weeks=2',
      'spending?days=90',
      'spending?by=colour',
    ]) {
      const response = await fetch(`${url}/api/v1/${path}`);
      expect(response.status, path).toBe(400);
    }
  });
});

describe('the page of spending', () => {
  for (const look of LOOKS) {
    it(`E6: answers in one look what a cluster cost and why more than before (${look.name})`, async () => {
      const { page, troubles } = await browser.open(look);
      await page.goto(`${url}/spending?cluster=prod-eu-1`);
      const sentence = page.locator('main .summary');
      await sentence.filter({ hasText: 'prod-eu-1 cost $' }).waitFor();
      const text = (await sentence.textContent())!;
      expect(text).toMatch(
        /^prod-eu-1 cost \$4[.,\d k]+ in the last 7 days, \$1[.,\d k]+ more than in the 7 days before \(\$2[.,\d k]+\): \+\$1[.,\d k]+ cpu-32 on-demand \(\+\d+ ?% machine-hours\); \+\$[.,\d]+ cpu-32 spot \(.*price \+[\d.]+ ?%\)\.$/,
      );
      await page.locator('main tbody tr').nth(1).waitFor();
      await page.locator('main .chart polyline').waitFor({ state: 'attached' });
      const overflow = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
      expect(overflow).toBeLessThanOrEqual(0);
      expect(await page.locator('main a[download]').getAttribute('href')).toContain('cluster=prod-eu-1');
      await page.goto(`${url}/spending`);
      const offering = page.locator('main tbody tr').filter({ hasText: SPOT_OFFERING.offering });
      await offering.waitFor();
      expect(await offering.textContent()).toMatch(/3\.[34].*1[234]$/);
      expect(
        await page.evaluate('document.documentElement.scrollWidth - window.innerWidth'),
      ).toBeLessThanOrEqual(0);
      expect(troubles).toEqual([]);
      await page.close();
    });
  }
});
