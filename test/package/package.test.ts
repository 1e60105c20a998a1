/**
 * The package as a user gets it: packed from the build that is there, installed from the tarball into an empty folder without
 * development packages, run, and imported from TypeScript. Needs the npm registry for its dependencies.
 */
import { execFile, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const INSTALL_TIMEOUT_MS = 300_000;
/** The run ends at the first line that shows actions; this bounds a run that never shows any. */
const UP_SECONDS_MAX = 90;

const folder = mkdtempSync(join(tmpdir(), 'flotilla-package-'));
const app = join(folder, 'app');
let packed: { readonly filename: string; readonly files: readonly { readonly path: string }[] };
let paths: readonly string[];

beforeAll(async () => {
  const stage = join(folder, 'stage');
  copyPackage(stage);
  const { stdout } = await run(
    'npm',
    ['pack', '--ignore-scripts', '--json', '--pack-destination', folder],
    stage,
  );
  [packed] = JSON.parse(stdout) as [typeof packed];
  paths = packed.files.map(({ path }) => path);
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{ "private": true, "type": "module" }');
}, INSTALL_TIMEOUT_MS);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What npm may pack, but no file of dist whose source is gone: an older build left it. */
function copyPackage(stage: string): void {
  const isBuilt = existsSync(join(ROOT, 'dist/src/index.d.ts'));
  expect(isBuilt, 'npm run build comes first').toBe(true);
  for (const path of ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'proto'])
    cpSync(join(ROOT, path), join(stage, path), { recursive: true });
  for (const path of ['src', 'workers']) {
    const filter = (file: string) => {
      const source = relative(join(ROOT, 'dist'), file).replace(/\.d\.ts$|\.js(\.map)?$/, '.ts');
      return existsSync(join(ROOT, source));
    };
    cpSync(join(ROOT, 'dist', path), join(stage, 'dist', path), { recursive: true, filter });
  }
  for (const path of ['dist/bench/a.js', 'dist/test/a.js', 'bench/a.ts', 'src/a.ts', 'test/a.test.ts']) {
    mkdirSync(dirname(join(stage, path)), { recursive: true });
    writeFileSync(join(stage, path), '// not for the package\n');
  }
}

function run(program: string, words: readonly string[], cwd: string) {
  return promisify(execFile)(program, words, { cwd, maxBuffer: 64 << 20 });
}

const NO_NETWORK =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ERR_SOCKET_TIMEOUT)\b/;

/** Installs once, for whichever test comes first. */
let installing: Promise<void> | null = null;
function installed(): Promise<void> {
  installing ??= install();
  return installing;
}

async function install(): Promise<void> {
  const words = [
    'install',
    '--omit=dev',
    '--prefer-offline',
    '--fetch-retries=1',
    '--no-audit',
    '--no-fund',
    join(folder, packed.filename),
  ];
  try {
    await run('npm', words, app);
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string };
    if (!NO_NETWORK.test(stderr)) throw new Error(`npm install of the package failed: ${stderr || message}`);
    throw new Error(
      'The npm registry cannot be reached, and this test installs the dependencies of the package from it. ' +
        `Run it where the registry answers. npm said: ${NO_NETWORK.exec(stderr)![0]}`,
    );
  }
}

describe('the packed files', () => {
  it('are the compiled program, its declarations, the protocol and the pages at the top', () => {
    const expected =
      /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|proto\/.+\.proto|dist\/src\/.+\.(js|d\.ts)|dist\/workers\/.+\.js)$/;
    expect(paths.filter((path) => !expected.test(path))).toEqual([]);
    for (const needed of ['README.md', 'LICENSE', 'CHANGELOG.md', 'proto/bigfleet/v1alpha1/shard.proto'])
      expect(paths).toContain(needed);
  });

  it('are not tools of development: fault injection, virtual time, generators', () => {
    expect(
      paths.filter((path) =>
        /\/(chaos|simulator|virtual-time|test|bench)\/|\/(wire\/generate(-\w+)?|write-docs)\.js$/.test(path),
      ),
    ).toEqual([]);
  });

  it('have every module that the command, the threads, the dashboard and the library load', () => {
    const isRoot = (path: string) =>
      path.startsWith('dist/workers/') ||
      path.startsWith('dist/src/dashboard/client/') ||
      path.endsWith('cli/main.js');
    const entryPoints = ['index.js', 'wire/index.js', 'operator-kit/index.js', 'provider-kit/index.js'].map(
      (path) => `dist/src/${path}`,
    );
    const roots = [...paths.filter(isRoot), ...entryPoints];
    const loaded = new Map(roots.map((path) => [path, path]));
    for (const [path, from] of loaded) {
      if (!paths.includes(path)) throw new Error(`${path}, which ${from} loads, is not in the package`);
      const source = readFileSync(join(folder, 'stage', path), 'utf8');
      for (const [, target] of source.matchAll(
        /(?:\bfrom |\bimport |\bimport\(|new URL\()['"](\.[^'"]+\.js)['"]/g,
      )) {
        const next = posix.join(posix.dirname(path), target!);
        if (!loaded.has(next)) loaded.set(next, path);
      }
    }
    expect(loaded.size).toBeGreaterThan(300);
  });

  it('fit the manifest: entry points, the command and the licence are there', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly bin: Record<string, string>;
      readonly exports: Record<string, string | { readonly types: string; readonly default: string }>;
      readonly private?: boolean;
    };
    expect(manifest.private).toBeUndefined();
    const targets = Object.values(manifest.exports).flatMap((target) =>
      typeof target === 'string' ? [target] : [target.types, target.default],
    );
    const named = [...Object.values(manifest.bin), ...targets.map((target) => target.replace('./', ''))];
    for (const path of named.filter((each) => !each.includes('*'))) expect(paths).toContain(path);
    expect(readFileSync(join(folder, 'stage', manifest.bin.flotilla!), 'utf8')).toMatch(
      /^#!\/usr\/bin\/env node\n/,
    );
  });
});

describe('the installed package', () => {
  it('has a command that knows its version', { timeout: INSTALL_TIMEOUT_MS }, async () => {
    await installed();
    expect(existsSync(join(app, 'node_modules/vitest')), 'no development package').toBe(false);
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const { stdout } = await run('npx', ['flotilla', '--version'], app);
    expect(stdout).toBe(`${version}\n`);
  });

  it('runs a shard, a provider and operators, and ends with 0', { timeout: INSTALL_TIMEOUT_MS }, async () => {
    await installed();
    const child = spawn(join(app, 'node_modules/.bin/flotilla'), [
      ...[
        'up',
        '--plain',
        '--machines',
        '400',
        '--seconds',
        `${UP_SECONDS_MAX}`,
        '--cycle-interval',
        '500ms',
      ],
      ...['--latency', '200ms/1s', '--listen', '127.0.0.1:0', '--metrics-addr', '127.0.0.1:0'],
    ]);
    const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const output: string[] = [];
    let moved = '';
    createInterface(child.stderr).on('line', (line) => output.push(line));
    createInterface(child.stdout).on('line', (line) => {
      output.push(line);
      if (moved !== '' || !/configured [1-9].*\b(Bootstrap|Provision) [1-9]/.test(line)) return;
      moved = line;
      child.kill('SIGINT');
    });
    const code = await exited;
    expect(moved, output.join('\n')).not.toBe('');
    expect(code, output.join('\n')).toBe(0);
  });

  it('ends with 0 after --seconds', { timeout: INSTALL_TIMEOUT_MS }, async () => {
    await installed();
    const flags = ['--seconds', '1', '--plain', '--machines', '60'];
    const ports = ['--listen', '127.0.0.1:0', '--metrics-addr', '127.0.0.1:0'];
    const { stdout } = await run('npx', ['flotilla', 'up', ...flags, ...ports], app);
    expect(stdout).toContain('flotilla up: 60 machines');
  });

  it('compiles under strict TypeScript, and runs, as a library', {
    timeout: INSTALL_TIMEOUT_MS,
  }, async () => {
    await installed();
    cpSync(join(import.meta.dirname, 'consumer.ts.txt'), join(app, 'consumer.ts'));
    const compilerOptions = {
      ...{ target: 'es2023', lib: ['es2023'], module: 'nodenext', types: ['node'], strict: true },
      ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false },
    };
    writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
    const compiled = await run(process.execPath, [TSC, '-p', app], app).catch(
      (error: { stdout: string }) => error,
    );
    expect(compiled.stdout).toBe('');
    const { stdout } = await run(process.execPath, ['consumer.js'], app);
    expect(stdout).toBe(
      [
        'Bootstrap m-1 for blue, short of cpu=8',
        'm-1 is Idle for /bigfleet.v1alpha1.Shard/Session',
        'blue is refused: rollup_rejected',
        '1 machine of 127.0.0.1',
        '',
      ].join('\n'),
    );
  });
});
