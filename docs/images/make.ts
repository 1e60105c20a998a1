/**
 * Takes the pictures of the dashboard for the documentation from a real run of `flotilla up`. `npm run screenshots` takes
 * all of them again; that needs about two minutes, most of them to give the fleet a history to show.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { Browser, type Look } from '../../test/dashboard/chromium.ts';
import { shrinkPng } from './png.ts';

/** Compiled, this file is dist/docs/images/make.js. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const MAIN = join(ROOT, 'dist/src/cli/main.js');
const FOLDER = join(ROOT, 'docs/images');
/** A page of documentation is read on phones too. */
const PICTURE_BYTES_MAX = 150_000;
/** Long enough for two bursts of demand (every 45 s), and for charts that show more than a start. */
const PAST_MS = 110_000;
const WAIT_MS_MAX = 180_000;

const DESKTOP = { width: 1280, height: 800 };
const LIGHT: Look = { name: 'light', scheme: 'light', size: DESKTOP };
const DARK: Look = { name: 'dark', scheme: 'dark', size: DESKTOP };
const PHONE: Look = { name: 'phone', scheme: 'light', size: { width: 390, height: 844 } };

interface Picture {
  readonly file: string;
  readonly path: string;
  readonly look: Look;
  readonly prepare?: (page: Page) => Promise<void>;
}

const PICTURES: readonly Picture[] = [
  { file: 'needs.png', path: '/needs?unmet=1', look: LIGHT, prepare: openAnExplanation },
  { file: 'overview-light.png', path: '/', look: LIGHT },
  { file: 'overview-dark.png', path: '/', look: DARK },
  { file: 'machines.png', path: '/machines', look: LIGHT },
  { file: 'phone.png', path: '/', look: PHONE },
];

/** Demand comes in bursts: waits until a need is unmet. */
async function openAnExplanation(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Why?' }).first().click({ timeout: WAIT_MS_MAX });
  await page.locator('.why .answer').waitFor();
}

async function take(browser: Browser, url: string, picture: Picture): Promise<void> {
  const { page } = await browser.open(picture.look);
  await page.goto(new URL(picture.path, url).href);
  await page.locator('#live[data-state="live"]').waitFor();
  await page.locator('main table tbody tr, main .tiles, main svg').first().waitFor();
  await picture.prepare?.(page);
  await page.waitForTimeout(1_000); // for parts that are drawn after the first answer
  const png = shrinkPng(await page.screenshot());
  await page.close();
  process.stdout.write(`${picture.file}  ${png.length} bytes\n`);
  writeFileSync(join(FOLDER, picture.file), png);
  if (png.length > PICTURE_BYTES_MAX)
    throw new Error(`${picture.file} is larger than ${PICTURE_BYTES_MAX} bytes`);
}

async function main(): Promise<void> {
  const flags = ['up', '--plain', '--listen', '127.0.0.1:0', '--metrics-addr', '127.0.0.1:0'];
  const up = spawn(process.execPath, [MAIN, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise<void>((resolve) => up.once('exit', () => resolve()));
  try {
    const url = await new Promise<string>((resolve, reject) => {
      createInterface(up.stdout).on('line', (line) => {
        const found = /dashboard (http:\S+)/.exec(line)?.[1];
        if (found !== undefined) resolve(found);
      });
      void exited.then(() => reject(new Error('flotilla up ended by itself')));
    });
    await new Promise((resolve) => setTimeout(resolve, PAST_MS));
    const browser = await Browser.start();
    try {
      for (const picture of PICTURES) await take(browser, url, picture);
    } finally {
      await browser.close();
    }
  } finally {
    up.kill('SIGTERM');
    await exited;
  }
}

await main();
