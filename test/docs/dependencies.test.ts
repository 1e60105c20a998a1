/** docs/dependencies.md names each package with its reason, and its claims about the lock file are true. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly overrides: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}
interface Locked {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly hasInstallScript?: boolean;
}

const manifest = JSON.parse(read('package.json')) as Manifest;
const locked = Object.entries(
  (JSON.parse(read('package-lock.json')) as { packages: Record<string, Locked> }).packages,
).filter(([path]) => path !== '');

describe('dependencies', () => {
  it('have exact versions', () => {
    const { dependencies, devDependencies, overrides } = manifest;
    const versions = Object.values({ ...dependencies, ...devDependencies, ...overrides });
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });

  it('are named in docs/dependencies.md with their reasons, and no others are', () => {
    const [, atRunTime, forDevelopment] = read('docs/dependencies.md').split(/^## /m);
    const rows = (text: string) =>
      [...text.matchAll(/^\| `([^`]+)` \| .{5,}/gm)].map(([, name]) => name!).sort();
    expect(rows(atRunTime!)).toEqual(Object.keys(manifest.dependencies).sort());
    expect(rows(forDevelopment!)).toEqual(Object.keys(manifest.devDependencies).sort());
  });

  it('are locked by the digest of their contents, whatever the registry', () => {
    expect(locked.length).toBeGreaterThan(100);
    expect(locked.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
    expect(locked.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });

  it('have no install script but those that package.json denies by name', () => {
    // It would turn off `prepack` as well: a package without the compiled program.
    expect(read('.npmrc')).not.toContain('ignore-scripts');
    const withScripts = locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
    const names = new Set(withScripts.map((path) => path.split('node_modules/').at(-1)!));
    expect(manifest.allowScripts).toEqual(Object.fromEntries([...names].map((name) => [name, false])));
  });
});
