/**
 * What the pages are made of, read once and kept in memory: the compiled client modules, the style and the icon. The client
 * is TypeScript like everything else and compiled by the same build; run from sources, its compiled form in dist is used.
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
      `The dashboard’s client is not in ${folder}: it was never compiled. ` +
        'The dashboard cannot be served; run `npm run build` and start again.',
    );
  }
}

const SCRIPT = 'text/javascript; charset=utf-8';

/** By path. Throws ClientNotBuiltError. */
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
    // said below
  }
  throw new ClientNotBuiltError(folder.pathname);
}

function asset(contentType: string, body: Buffer): Asset {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 20)}"`;
  return { contentType, body, etag };
}
