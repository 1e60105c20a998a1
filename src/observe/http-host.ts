/**
 * Whether a Host header names this server. A browser sends the name from the address bar, so a page on `evil.example`
 * whose name points at 127.0.0.1 sends `evil.example`. An IP address is safe: it is the address the browser connected to.
 */
import { isIP } from 'node:net';

export function isHostAllowed(header: string | undefined, names: readonly string[]): boolean {
  if (header === undefined) return false;
  const host = /^(?<host>\[[^\]]+\]|[^:]*)(?::\d{1,5})?$/.exec(header)?.groups?.host?.toLowerCase();
  if (host === undefined || host === '') return false;
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return host === 'localhost' || isIP(bare) !== 0 || names.some((name) => name.toLowerCase() === bare);
}
