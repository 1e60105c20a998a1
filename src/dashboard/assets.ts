/**
 * The files behind the pages, read once and kept in memory: compiled client modules, style and icon. When this module runs
 * from source, it serves the client from dist.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { ShardError } from '../base/errors.ts';
import { ICON } from './style/icon.ts';
import { STYLE } from './style/style.ts';

export interface Asset {
  readonly contentType: string;
  readonly body: Buffer;
  readonly etag: string;
}

export class ClientNotBuiltError extends ShardError {
  readonly code = 'client_not_built';
  readonly next = 'refuse-to-start';

  constructor(folder: string) {
    super(
      `The compiled client of the dashboard is missing in ${folder}. ` +
        'The shard cannot serve the dashboard. Run `npm run build` and start again.',
    );
  }
}

const SCRIPT = 'text/javascript; charset=utf-8';

/** All assets by path. Throws ClientNotBuiltError. */
export function loadAssets(): ReadonlyMap<string, Asset> {
  const assets = new Map<string, Asset>();
  const folder = clientFolder();
  for (const name of scriptNames(folder)) {
    assets.set(`/assets/client/${name}`, asset(SCRIPT, readFileSync(new URL(name, folder))));
  }
  assets.set('/assets/style.css', asset('text/css; charset=utf-8', Buffer.from(STYLE)));
  assets.set('/assets/icon.svg', asset('image/svg+xml', Buffer.from(ICON)));
  return assets;
}

function clientFolder(): URL {
  const here = import.meta.url;
  return here.endsWith('.ts')
    ? new URL('../../dist/src/dashboard/client/', here)
    : new URL('./client/', here);
}

function scriptNames(folder: URL): string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.js'));
    if (names.includes('main.js')) return names;
  } catch {
    // Reported below.
  }
  throw new ClientNotBuiltError(folder.pathname);
}

function asset(contentType: string, body: Buffer): Asset {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 20)}"`;
  return { contentType, body, etag };
}
