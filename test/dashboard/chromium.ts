/**
 * A real browser for the dashboard's tests. The usual paths are searched first. If there is none and the process may
 * install packages, it installs Chromium; otherwise the tests fail and say what to do.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type BrowserContext, chromium, type Page } from 'playwright-core';

const run = promisify(execFile);
const INSTALL_MS_MAX = 300_000;

const USUAL_PATHS = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/opt/google/chrome/chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

async function findChromium(): Promise<string> {
  const named = process.env.FLOTILLA_CHROMIUM;
  if (named !== undefined && named !== '') return named;
  const found = USUAL_PATHS.find((path) => existsSync(path));
  if (found !== undefined) return found;
  const advice =
    'The dashboard’s tests need a Chromium: `apt-get install chromium`, or FLOTILLA_CHROMIUM=/path/to/chrome.';
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) throw new Error(advice);
  try {
    const options = { timeout: INSTALL_MS_MAX, env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
    await run('apt-get', ['update', '-qq'], options);
    await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], options);
  } catch (error) {
    throw new Error(`${advice} Installing it here failed: ${(error as Error).message.split('\n')[0]}`);
  }
  return '/usr/bin/chromium';
}

export class Browser {
  readonly #context: BrowserContext;
  readonly #folder: string;

  private constructor(context: BrowserContext, folder: string) {
    this.#context = context;
    this.#folder = folder;
  }

  static async start(): Promise<Browser> {
    const executablePath = await findChromium();
    const folder = mkdtempSync(join(tmpdir(), 'flotilla-chromium-'));
    const context = await chromium.launchPersistentContext(folder, {
      executablePath,
      headless: true,
      args: FLAGS,
    });
    return new Browser(context, folder);
  }

  /** Opens a page and records everything that goes wrong in it. */
  async open(look: Look): Promise<WatchedPage> {
    const page = await this.#context.newPage();
    page.setDefaultTimeout(60_000);
    await page.setViewportSize(look.size);
    await page.emulateMedia({ colorScheme: look.scheme });
    const troubles: string[] = [];
    const hosts = new Set<string>();
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') troubles.push(message.text());
    });
    page.on('pageerror', (error) => troubles.push(error.message));
    page.on('request', (request) => hosts.add(new URL(request.url()).host));
    page.on('response', (response) => {
      if (response.status() >= 400) troubles.push(`${response.status()} ${response.url()}`);
    });
    return { page, troubles, hosts };
  }

  async close(): Promise<void> {
    await this.#context.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export interface WatchedPage {
  readonly page: Page;
  /** Console errors and warnings, exceptions, and failed requests. */
  readonly troubles: string[];
  readonly hosts: Set<string>;
}

export interface Look {
  readonly name: string;
  readonly scheme: 'light' | 'dark';
  readonly size: { readonly width: number; readonly height: number };
}

export const LOOKS: readonly Look[] = [
  { name: 'light', scheme: 'light', size: { width: 1440, height: 900 } },
  { name: 'dark', scheme: 'dark', size: { width: 1440, height: 900 } },
  { name: 'phone', scheme: 'light', size: { width: 360, height: 740 } },
];
