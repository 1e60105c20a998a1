/** The pages in a real Chromium, with a simulated fleet behind them. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MachineState } from '../../src/machine/state.ts';
import { listingReport } from '../observe/records.ts';
import { Browser, LOOKS, type Look, type WatchedPage } from './chromium.ts';
import { LiveWorld } from './live-world.ts';

const START_MS_MAX = 360_000;
const MARKUP = '<img src=x onerror="document.title=1"> & <b>bold</b>';

let live: LiveWorld;
let browser: Browser;
let url = '';

beforeAll(async () => {
  live = new LiveWorld(2_000);
  for (let step = 0; step < 30; step++) live.step();
  const detail =
    'Row 17 has 70,000 bytes, and a row may have 65,536. The shard kept the demand before. Send a smaller row.';
  const event = { kind: 'rollup_rejected', level: 'warn', clusterId: 'cluster-0002', detail } as const;
  live.world.refusals.happened(event);
  live.world.suspensions.set('cluster-0003', { reason: 'its need web threw', sinceMs: 0, untilMs: 600_000 });
  live.world.refusals.listingEnded(listingReport({ provider: 'test', listedCount: 2_000 }));
  url = await live.serve();
  browser = await Browser.start();
}, START_MS_MAX);

afterAll(async () => {
  await browser?.close();
  await live?.close();
});

async function visit(path: string, look: Look, use: (watched: WatchedPage) => Promise<void>): Promise<void> {
  const watched = await browser.open(look);
  try {
    await watched.page.goto(`${url}${path}`);
    await use(watched);
    expect(watched.troubles).toEqual([]);
    expect([...watched.hosts]).toEqual([new URL(url).host]);
  } finally {
    await watched.page.close();
  }
}

const [DESKTOP] = LOOKS as [Look];
const texts = (page: Page, selector: string) => page.locator(selector).allTextContents();
const isLive = (page: Page) => page.locator('#live[data-state="live"]').waitFor();

const someMachine = () => {
  const { inventory } = live.world;
  return inventory.idOf(inventory.indexes.slotsInState(5)[7]!);
};

/** One that a fold serves. */
const someGang = async () => {
  const { needs } = await live.world.view.needsPage({ gangs: 'all' }, '');
  const { clusterId, group } = needs.find(({ shared = 0 }) => shared > 0)!;
  return `${clusterId}/${group}`;
};

describe('every page', () => {
  for (const look of LOOKS) {
    for (const [path, shown] of [
      ['/', '2,000'],
      ['/needs', 'cluster-000'],
      ['/needs?unmet=1', 'Why?'],
      ['/machines', 'Configured'],
      ['/machine', 'It counts for a need of'],
      ['/actions', 'Bootstrap'],
      ['/events', 'instance lost: host power failure'],
      ['/clusters', 'connected for'],
      ['/clusters/cluster-0002', 'Its operator has been connected for'],
      ['/gangs', 'need several machines'],
      ['/gang', 'Machines that serve it'],
      ['/shards', 'without replicas'],
      ['/shard', 'It decides nothing for 1 suspended cluster.'],
      ['/providers', 'test'],
      ['/providers/test', 'The last complete listing of provider test ended'],
      ['/offerings', 'on-demand'],
      ['/offering', 'Not in back-off.'],
      ['/tenants', 'Row 17 has 70,000 bytes'],
      ['/what-if?demand=*%3D1.5', 'Unmet needs by priority'],
    ] as const) {
      it(`${path} (${look.name}) shows live data, fits the screen and logs no errors`, async () => {
        const at =
          path === '/machine'
            ? `/machines/${encodeURIComponent(someMachine())}`
            : path === '/offering'
              ? `/offerings/${encodeURIComponent((await live.world.view.offerings()).offerings[0]!.name)}`
              : path === '/gang'
                ? `/gangs/${encodeURIComponent(await someGang())}`
                : path === '/shard'
                  ? `/shards/${live.world.view.status().shardId}`
                  : path;
        await visit(at, look, async ({ page }) => {
          await page.locator('main', { hasText: shown }).waitFor();
          await isLive(page);
          const overflow = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
          expect(overflow).toBeLessThanOrEqual(0);
          const cutOff = await page
            .locator('main .scroll')
            .evaluateAll((tables) =>
              (tables as unknown as { scrollWidth: number; clientWidth: number; textContent: string }[])
                .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
                .map(({ textContent }) => textContent.slice(0, 60)),
            );
          expect(cutOff).toEqual([]);
          const unnamed = await page.locator('main :is(input, select, button):not([aria-label])').evaluateAll(
            (controls) =>
              controls.filter((control) => {
                const { labels, textContent } = control as unknown as {
                  labels: object[];
                  textContent: string;
                };
                return labels.length === 0 && textContent.trim() === '';
              }).length,
          );
          expect(unnamed).toBe(0);
          expect(await page.locator('nav a[aria-current="page"]').count()).toBe(1);
        });
      });
    }
  }
});

describe('the overview', () => {
  it('refreshes itself, and its charts have a point for each cycle', async () => {
    await visit('/', DESKTOP, async ({ page }) => {
      const cycle = page.locator('.tile', { hasText: 'Last cycle' });
      await cycle.filter({ hasText: `cycle ${live.world.cycle}` }).waitFor();
      live.step();
      await cycle.filter({ hasText: `cycle ${live.world.cycle}` }).waitFor();
      expect(await page.locator('.chart').first().locator('rect').count()).toBeGreaterThan(30);
      await page.locator('.frame').first().focus();
      await page.keyboard.press('ArrowLeft');
      expect(await page.locator('.tip:not([hidden])').textContent()).toMatch(/cycle \d+.*assign/);
    });
  });

  it('has each chart as a table too, opened by keyboard, which a refresh leaves open', async () => {
    await visit('/', DESKTOP, async ({ page }) => {
      await isLive(page);
      const charts = page.locator('.chart');
      expect(await charts.count()).toBe(4);
      expect(await page.locator('.chart details summary').count()).toBe(4);
      await charts.last().locator('summary').focus();
      await page.keyboard.press('Enter');
      const first = charts.last().locator('tbody tr').first();
      await first.waitFor();
      live.step();
      const { unmetNeeds } = live.history.samples(0).at(-1)!;
      await expect.poll(() => first.locator('td').textContent()).toBe(unmetNeeds.toLocaleString('en-US'));
    });
  });

  it('shows the kill switch on every page', async () => {
    const { rails } = live.world;
    live.world.rails = { ...rails, isPaused: true };
    try {
      for (const path of ['/', '/machines']) {
        await visit(path, DESKTOP, async ({ page }) => {
          await page.locator('#notices', { hasText: 'The kill switch is on' }).waitFor();
        });
      }
    } finally {
      live.world.rails = rails;
    }
  });
});

describe('the needs page', () => {
  it('opens an explanation by keyboard, and keeps it open on refresh', async () => {
    await visit('/needs?unmet=1', DESKTOP, async ({ page }) => {
      const first = page.getByRole('button', { name: 'Why?' }).first();
      await first.focus();
      await page.keyboard.press('Enter');
      await page.locator('.why .answer', { hasText: 'Unmet: needs' }).waitFor();
      expect(await first.getAttribute('aria-expanded')).toBe('true');
      live.step();
      await page.locator('.summary', { hasText: `cycle ${live.world.cycle}` }).waitFor();
      expect(await page.locator('.why .answer').count()).toBe(1);
    });
  });

  it('filters by cluster, and puts the filter into the address', async () => {
    await visit('/needs', DESKTOP, async ({ page }) => {
      await page.getByLabel('Cluster').fill('cluster-0003');
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.waitForURL('**/needs?cluster=cluster-0003');
      await expect
        .poll(async () => new Set(await texts(page, 'tbody td.id')))
        .toEqual(new Set(['cluster-0003']));
    });
  });

  it('goes to the next page and back to the same rows', async () => {
    await visit('/needs', DESKTOP, async ({ page }) => {
      await page.locator('tbody tr').nth(50).waitFor();
      const before = await texts(page, 'tbody td.need');
      await page.getByRole('button', { name: 'Next' }).click();
      await expect.poll(() => texts(page, 'tbody td.need')).not.toEqual(before);
      await page.getByRole('button', { name: 'Previous' }).click();
      await expect.poll(() => texts(page, 'tbody td.need')).toEqual(before);
    });
  });
});

describe('the machines page', () => {
  it('filters while the reader types an id, and links to the machine', async () => {
    const id = someMachine();
    await visit('/machines', DESKTOP, async ({ page }) => {
      await page.getByRole('searchbox', { name: 'Id', exact: true }).fill(id.slice(0, -1));
      await expect
        .poll(async () => (await texts(page, 'tbody th')).every((one) => one.startsWith(id.slice(0, -1))))
        .toBe(true);
      await page.getByRole('link', { name: id }).click();
      await page.locator('h1', { hasText: id }).waitFor();
      await page.locator('.why .answer', { hasText: 'Configured for' }).waitFor();
    });
  });

  it('filters by state, and shows markup from a provider as text', async () => {
    const { inventory, clock } = live.world;
    const [slot] = inventory.indexes.slotsInState(MachineState.Failed); // one that has not recovered meanwhile
    inventory.apply(slot!, { lastError: MARKUP }, clock.nowMs());
    await visit('/machines?state=Failed', DESKTOP, async ({ page }) => {
      await page.locator('tbody', { hasText: MARKUP }).waitFor();
      expect(new Set(await texts(page, 'tbody .badge'))).toEqual(new Set(['Failed']));
      expect(await page.locator('tbody img').count()).toBe(0);
    });
  });

  it('says that a machine, a cluster or a page does not exist, as a page of its own', async () => {
    for (const [path, said] of [
      ['/machines/no-such-machine', 'No provider of this shard lists this machine.'],
      ['/clusters/no-such-cluster', 'There is no cluster no-such-cluster.'],
      ['/providers/nobody', 'There is no provider nobody.'],
      ['/nowhere', 'There is no page at /nowhere.'],
    ] as const) {
      const { page } = await browser.open(DESKTOP);
      await page.goto(`${url}${path}`);
      await page.locator('main', { hasText: said }).waitFor();
      expect(await page.locator('#notices p').count()).toBe(0); // the shard is fine
      await page.close();
    }
  });

  it('keeps the focus of the keyboard when it draws a row again', async () => {
    await visit('/', DESKTOP, async ({ page }) => {
      await isLive(page);
      const link = page.locator('.legend a', { hasText: 'Configured' });
      await link.focus();
      live.step();
      await page.locator('.tile', { hasText: `cycle ${live.world.cycle}` }).waitFor();
      expect(await page.evaluate('document.activeElement.textContent')).toContain('Configured');
    });
  });
});

describe('the actions page', () => {
  it('shows new actions, unless the reader pauses it', async () => {
    await visit('/actions', DESKTOP, async ({ page }) => {
      await page.locator('tbody tr').nth(5).waitFor();
      live.step();
      const shown = () => page.locator('.summary').textContent();
      await expect.poll(shown).toContain(`${live.history.lastAction.toLocaleString('en-US')} actions since`);
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.locator('#live[data-state="held"]').waitFor();
      const before = await shown();
      live.step();
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      expect(await shown()).toBe(before);
      await page.getByRole('button', { name: 'Resume' }).click();
      await expect.poll(shown).not.toBe(before);
    });
  });

  it('sends no requests while it is hidden', async () => {
    await visit('/actions', DESKTOP, async ({ page }) => {
      await isLive(page);
      await page.evaluate(
        "Object.defineProperty(document, 'hidden', { value: true, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))",
      );
      let asked = 0;
      page.on('request', () => asked++);
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      expect(asked).toBe(0);
      await page.evaluate(
        "Object.defineProperty(document, 'hidden', { value: false, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))",
      );
      await expect.poll(() => asked).toBeGreaterThan(0);
    });
  });
});

describe('the what-if page', () => {
  it('asks with the keyboard, tells the progress, and keeps the question in the address', async () => {
    await visit('/what-if', DESKTOP, async ({ page }) => {
      let open = () => {};
      live.threads.gate = new Promise((resolve) => {
        open = resolve;
      });
      await page.getByLabel('Without machines').focus();
      const zone = live.world.inventory.shapes.zones.get(1);
      await page.keyboard.type(`zone=${zone}`);
      await page.keyboard.press('Enter');
      await page.locator('.summary', { hasText: 'The shard copies its tables' }).waitFor();
      open();
      await page.locator('.summary', { hasText: `What if: without zone ${zone}` }).waitFor();
      await page.getByRole('region', { name: 'Clusters that change' }).waitFor();
      expect(new URL(page.url()).searchParams.get('without')).toBe(`zone=${zone}`);
    });
  });

  it('tells what is wrong with a question, and what there is instead', async () => {
    const { page } = await browser.open(DESKTOP); // the refusal is a 400 in its console
    await page.goto(`${url}/what-if?without=zone%3Dnowhere`);
    await page.locator('.summary', { hasText: 'There is no zone "nowhere"' }).waitFor();
    await page.close();
  });
});

describe('a page whose shard hangs', () => {
  it('is stale after two intervals without an answer, in red, and says since when', async () => {
    const { page } = await browser.open(DESKTOP);
    await page.goto(url);
    await isLive(page);
    await page.route('**/api/**', () => {}); // requests get no answer, as from a stopped process
    await page.locator('#live[data-state="stale"]').waitFor();
    expect(await page.locator('#live-text').textContent()).toMatch(/^no answer since \d\d:\d\d:\d\d$/);
    const notice = await page.locator('#notices').textContent();
    expect(notice).toMatch(/The shard does not answer. This page shows its state of \d\d:\d\d:\d\d/);
    await page.close();
  });
});

describe('a page whose shard has stopped', () => {
  it('says so, and keeps its last data', async () => {
    const other = new LiveWorld(500);
    other.step();
    const address = await other.serve();
    const { page } = await browser.open(DESKTOP);
    await page.goto(address);
    await page.locator('.tile', { hasText: '500' }).waitFor();
    await other.close();
    await page.locator('#notices', { hasText: 'The shard does not answer' }).waitFor();
    expect(await page.locator('.tile', { hasText: '500' }).count()).toBe(1);
    await page.close();
  });
});
