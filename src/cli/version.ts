/** The version of this build, from package.json. */
import { readFileSync } from 'node:fs';

/** Compiled, this file is dist/src/cli/version.js: three folders below package.json. */
const PACKAGE_JSON = new URL('../../../package.json', import.meta.url);

export function versionOf(): string {
  return (JSON.parse(readFileSync(PACKAGE_JSON, 'utf8')) as { version: string }).version;
}
