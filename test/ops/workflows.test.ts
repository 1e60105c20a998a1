/** The workflows and the repository's files for GitHub: they run commands that exist, on the versions of Node that we support. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { helpText } from '../../src/cli/main.ts';
import { UP_HELP } from '../../src/cli/up-flags.ts';
import { instructionOf, stagesOf } from './dockerfile.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly needs?: string;
  readonly 'timeout-minutes'?: number;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly matrix: { readonly node: readonly number[] } };
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}
interface Update {
  readonly 'package-ecosystem': string;
  readonly groups?: Readonly<Record<string, Group>>;
}
interface Group {
  readonly 'dependency-type': string;
  readonly 'exclude-patterns': readonly string[];
}

const manifest = JSON.parse(read('package.json')) as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
  readonly homepage: string;
  readonly repository: { readonly url: string };
};
const FILES = readdirSync(join(ROOT, '.github'), { recursive: true, encoding: 'utf8' }).map((path) =>
  join('.github', path),
);
const YAML_FILES = FILES.filter((path) => path.endsWith('.yml'));
const parsed = <Kind>(path: string) => parseDocument(read(path)).toJS() as Kind;
const ci = parsed<Workflow>('.github/workflows/ci.yml');
const release = parsed<Workflow>('.github/workflows/release.yml');
const jobs = [ci, release].flatMap((workflow) => Object.values(workflow.jobs));
const steps = jobs.flatMap((job) => job.steps);
const commandsOf = (workflow: Workflow) =>
  Object.values(workflow.jobs).flatMap((job) => job.steps.flatMap(({ run }) => run ?? []));
const commands = [...commandsOf(ci), ...commandsOf(release)];

/** Majors that a range like `^20.19.0 || >=22.12.0` begins with, and whether later ones are allowed. */
function majorsOf(range: string): { readonly exact: readonly number[]; readonly from: number } {
  const parts = range.split('||').map((part) => /^\s*(\^|>=)(\d+)\.\d+\.\d+\s*$/.exec(part));
  expect(parts, `the engines ${range} are not of the form that this test reads`).not.toContain(null);
  const exact = parts.filter((part) => part![1] === '^').map((part) => Number(part![2]));
  const open = parts.filter((part) => part![1] === '>=').map((part) => Number(part![2]));
  return { exact, from: Math.min(...open) };
}

describe('.github', () => {
  it('has YAML without mistakes', () => {
    expect(YAML_FILES.length).toBeGreaterThanOrEqual(5);
    const documents = YAML_FILES.map((path) => parseDocument(read(path)));
    expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
  });

  it('gives one address of the project, that of package.json', () => {
    const pages = ['SECURITY.md', 'CODE_OF_CONDUCT.md', ...FILES.filter((path) => /\.(md|yml)$/.test(path))];
    const addresses = pages.flatMap(
      (path) => read(path).match(/https:\/\/github\.com\/[\w-]+\/[\w-]+/g) ?? [],
    );
    expect(addresses.length).toBeGreaterThanOrEqual(4);
    const [own] = /https:[^#]+/.exec(manifest.homepage)!;
    expect(manifest.repository.url).toBe(`git+${own}.git`);
    expect(new Set(addresses)).toEqual(new Set([own]));
  });
});

describe('the workflows', () => {
  it('run npm scripts that package.json has', () => {
    const named = commands.flatMap((command) =>
      [...command.matchAll(/\bnpm (?:run (?:--silent )?([\w:-]+)|(start|test)\b)/g)].map(
        ([, script, short]) => script ?? short!,
      ),
    );
    expect(named.length).toBeGreaterThan(2);
    expect(named.filter((script) => manifest.scripts[script] === undefined)).toEqual([]);
  });

  it('run the two commands of the README', () => {
    const inReadme = new Set(read('README.md').match(/npm ci && npm (?:start|test)/g));
    expect(inReadme).toEqual(new Set(['npm ci && npm start', 'npm ci && npm test']));
    for (const command of inReadme)
      expect(
        commandsOf(ci).some((each) => each.startsWith(command)),
        command,
      ).toBe(true);
    expect(commandsOf(release)).toContain('npm ci && npm test');
  });

  it('name commands and flags of flotilla, files and folders that there are', () => {
    const known = [...helpText().matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name!);
    const named = commands.flatMap((command) => [...command.matchAll(/(?:^|\s)flotilla ([a-z]+)(.*)/g)]);
    expect(named.length).toBeGreaterThan(2);
    expect(named.filter(([, name]) => !known.includes(name!))).toEqual([]);
    const flags = commands
      .filter((command) => /npm start|flotilla up/.test(command))
      .flatMap((command) => command.replace(/.*(?:npm start --|flotilla up)/, '').match(/--[a-z-]+/g) ?? []);
    expect(flags.length).toBeGreaterThan(2);
    expect(flags.filter((flag) => !UP_HELP.includes(`  ${flag} `))).toEqual([]);
    const paths = commands.flatMap((command) => command.match(/\b(?:test|docs)\/[\w./-]+/g) ?? []);
    expect(paths).toContain('test/wire');
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('test every supported line of Node, and release on the one of the image', () => {
    const { node } = ci.jobs.test!.strategy!.matrix;
    const { exact, from } = majorsOf(manifest.engines.node);
    expect(node.filter((major) => !exact.includes(major) && major < from)).toEqual([]);
    for (const major of [...exact, from]) expect(node).toContain(major);
    const ours = Number(read('.nvmrc'));
    expect(node).toContain(ours);
    const image = read('docs/ops/Dockerfile').match(/^ARG NODE_IMAGE=node:(\d+)/m)!;
    expect(Number(image[1])).toBe(ours);
    const setups = steps.filter(({ uses }) => uses?.startsWith('actions/setup-node@'));
    const versions = setups.map(
      ({ with: given }) => `${given?.['node-version'] ?? given?.['node-version-file']}`,
    );
    expect(versions.filter((version) => version !== '.nvmrc' && !version.includes('matrix.node'))).toEqual(
      [],
    );
  });

  it('use actions by major version, with bounded time and no more rights than they need', () => {
    const actions = steps.flatMap(({ uses }) => uses ?? []);
    expect(actions.filter((action) => !/^(actions|docker)\/[\w-]+@v\d+$/.test(action))).toEqual([]);
    for (const job of jobs) expect(job['timeout-minutes']).toBeGreaterThan(0);
    for (const { permissions } of [ci, release]) expect(permissions).toEqual({ contents: 'read' });
    for (const job of Object.values(ci.jobs)) expect(job.permissions).toBeUndefined();
  });

  it('build the image from the Dockerfile that the tests read', () => {
    const file = 'docs/ops/Dockerfile';
    expect(commandsOf(ci)).toContain(`docker build -f ${file} -t flotilla .`);
    const push = release.jobs.image!.steps.find(({ uses }) => uses?.startsWith('docker/build-push-action@'));
    expect(push?.with).toMatchObject({ file, provenance: 'mode=max', sbom: true });
    const last = stagesOf(read(file)).at(-1)!;
    expect(instructionOf(last, 'ENTRYPOINT')).toContain('cli/main.js');
  });

  it('publish the package with provenance, after the tests, from a tag of its version', () => {
    expect(release.on).toEqual({ push: { tags: ['v*'] } });
    for (const name of ['package', 'image']) expect(release.jobs[name]!.needs).toBe('verify');
    const publish = commandsOf(release).find((command) => command.startsWith('npm publish'));
    expect(publish).toContain('--provenance');
    expect(release.jobs.package!.permissions).toMatchObject({ 'id-token': 'write' });
    const version = (JSON.parse(read('package.json')) as { version: string }).version;
    expect(read('CHANGELOG.md')).toMatch(new RegExp(`^## ${version.replaceAll('.', '\\.')}\\b`, 'm'));
  });
});

describe('dependency updates', () => {
  const { updates } = parsed<{ readonly updates: readonly Update[] }>('.github/dependabot.yml');

  it('raise @grpc/grpc-js alone, and pull requests run the wire tests', () => {
    const groups = updates.flatMap((update) => Object.values(update.groups ?? {}));
    expect(groups.length).toBeGreaterThan(0);
    for (const group of groups) {
      expect(group['dependency-type']).toBe('development');
      expect(group['exclude-patterns']).toContain('@grpc/*');
    }
    expect(Object.keys(ci.on)).toContain('pull_request');
    expect(commandsOf(ci)).toContain('npx vitest run test/wire');
    expect(YAML_FILES.map(read).join('\n')).not.toMatch(/auto-?merge: true|gh pr merge/);
  });

  it('cover npm and the actions', () => {
    expect(updates.map((update) => update['package-ecosystem'])).toEqual(['npm', 'github-actions']);
  });
});
