/** The files, links, commands and metrics that the pages name exist. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { helpText } from '../../src/cli/main.ts';
import { allMetrics } from '../../src/observe/metric-docs.ts';
import { ABSENT_SHARD_SERIES } from '../../src/observe/reference-metrics.ts';
import { ProviderMetrics } from '../../src/provider-kit/metrics.ts';

const ROOT = join(import.meta.dirname, '../..');

interface Page {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly text: string;
}

function pagesOf(folder: string, recursive: boolean): Page[] {
  return readdirSync(join(ROOT, folder), { recursive, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => ({
      path: join(folder, file),
      text: readFileSync(join(ROOT, folder, file), 'utf8'),
    }));
}

const pages = [...pagesOf('.', false), ...pagesOf('docs', true), ...pagesOf('bench', true)];

/** As GitHub makes them from headings (lower case, spaces to dashes, other signs away), and those that a page sets itself. */
function anchorsOf(text: string): Set<string> {
  const own = [...text.matchAll(/^<a id="([^"]+)"><\/a>$/gm)].map(([, id]) => id!);
  const headings = [...text.replaceAll(/^```.*?^```/gms, '').matchAll(/^#+ (.*)$/gm)];
  const slugs = headings.map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set([...own, ...slugs]);
}

/** Links and pictures, in Markdown and in HTML. */
function linksOf(text: string): string[] {
  const prose = text.replaceAll(/^```.*?^```/gms, '').replaceAll(/`[^`\n]*`/g, '');
  const markdown = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target!);
  const html = [...prose.matchAll(/\b(?:src|srcset|href)="([^"]+)"/g)].map(([, target]) => target!);
  return [...markdown, ...html];
}

function whyBroken({ path, text }: Page, link: string): string | null {
  if (/^[a-z]+:/.test(link)) return null; // another site: not checked
  const [file, anchor] = link.split('#') as [string, string?];
  const target = file === '' ? path : relative(ROOT, join(ROOT, dirname(path), file));
  if (!existsSync(join(ROOT, target))) return `${path}: ${link} is not there`;
  if (anchor === undefined || !target.endsWith('.md')) return null;
  const anchors = anchorsOf(file === '' ? text : readFileSync(join(ROOT, target), 'utf8'));
  return anchors.has(anchor) ? null : `${path}: ${link}: there is no such heading`;
}

/** Code, inline and in blocks, that a reader would type. */
function codeOf(text: string): string {
  return [...text.matchAll(/^```.*?\n(.*?)^```|`([^`\n]+)`/gms)]
    .map(([, block, inline]) => block ?? inline)
    .join('\n');
}

const COMMANDS = [...helpText().matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name!);
const SCRIPTS = Object.keys(
  (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object }).scripts,
);

describe('the pages', () => {
  it('link only to pages and anchors that exist', () => {
    const links = pages.flatMap((page) => linksOf(page.text).map((link) => ({ page, link })));
    expect(links.length).toBeGreaterThan(40);
    expect(links.flatMap(({ page, link }) => whyBroken(page, link) ?? [])).toEqual([]);
  });

  it('name only commands of flotilla that exist', () => {
    const named = pages.flatMap(({ path, text }) =>
      [
        ...codeOf(text).matchAll(
          /(?:^|[\s(/])(?:flotilla|npm run flotilla --|cli\/main\.js) ([a-z]+(?:-[a-z]+)*)\b/gm,
        ),
      ].map(([, command]) => ({ path, command: command! })),
    );
    expect(named.length).toBeGreaterThan(20);
    const known = [...COMMANDS, 'help', 'version'];
    expect(named.filter(({ command }) => !known.includes(command))).toEqual([]);
  });

  it('name only npm scripts that exist', () => {
    const named = pages.flatMap(({ path, text }) =>
      [...codeOf(text).matchAll(/\bnpm run (?:--silent )?([a-z:-]+)/g)].map(([, script]) => ({
        path,
        script: script!,
      })),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter(({ script }) => !SCRIPTS.includes(script))).toEqual([]);
  });

  it('name only metrics that exist, and those of the reference that are listed as absent', async () => {
    const ofTheKit = new ProviderMetrics(
      () => ({}),
      () => false,
    ).registry.getMetricsAsArray();
    const known = new Set([...(await allMetrics(true)), ...ofTheKit].map(({ name }) => name));
    for (const { name } of ABSENT_SHARD_SERIES) known.add(name);
    const named = pages.flatMap(({ path, text }) =>
      [
        ...codeOf(text).matchAll(/\b(?:bigfleet_shard|flotilla|nodejs|process)_[a-z0-9_]*[a-z0-9]\b(?!_)/g),
      ].map(([metric]) => ({ path, metric })),
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ metric }) => !known.has(metric))).toEqual([]);
  });

  it('the README has a row for every command', () => {
    const readme = pages.find(({ path }) => path === 'README.md')!.text;
    const cells = [...readme.matchAll(/^\| (`flotilla [^|]*) \|/gm)].map(([, cell]) => cell!);
    const rows = cells.flatMap((cell) =>
      [...cell.matchAll(/`(?:flotilla )?([a-z-]+)`/g)].map(([, name]) => name),
    );
    expect(rows.sort()).toEqual(COMMANDS.filter((name) => name !== 'version').sort());
  });

  it('exist if messages and comments refer to them', () => {
    const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.ts'),
    );
    const named = files.flatMap((file) =>
      [...readFileSync(join(ROOT, 'src', file), 'utf8').matchAll(/\bdocs\/[\w/.-]*\w\.\w+/g)].map(
        ([page]) => page,
      ),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((page) => !existsSync(join(ROOT, page)))).toEqual([]);
  });

  it('in docs are all linked from another page', () => {
    const linked = new Set(
      pages.flatMap(({ path, text }) =>
        linksOf(text).map((link) => join(dirname(path), link.split('#')[0]!)),
      ),
    );
    const alone = pages.filter(({ path }) => path.startsWith('docs/') && !linked.has(path));
    expect(alone.map(({ path }) => path)).toEqual([]);
  });
});

describe('pictures', () => {
  const pictures = readdirSync(join(ROOT, 'docs/images')).filter((file) => file.endsWith('.png'));

  it('are small enough for a page that is read on a phone', () => {
    expect(pictures.length).toBeGreaterThanOrEqual(5);
    const large = pictures.filter((file) => statSync(join(ROOT, 'docs/images', file)).size > 150_000);
    expect(large).toEqual([]);
  });

  it('are all shown on a page', () => {
    const shown = pages.flatMap(({ text }) => linksOf(text)).join('\n');
    expect(pictures.filter((file) => !shown.includes(`images/${file}`))).toEqual([]);
  });
});

async function flagsOf(command: string): Promise<Set<string>> {
  const main = join(ROOT, 'dist/src/cli/main.js');
  const { stdout } = await promisify(execFile)(process.execPath, [main, command, '--help']);
  return new Set(['--help', ...[...stdout.matchAll(/--[a-z][a-z-]*/g)].map(([flag]) => flag)]);
}

describe('flags', () => {
  it('in an example of a command are flags of that command', async () => {
    const helpByCommand = new Map<string, Set<string>>();
    const mistakes: string[] = [];
    let seen = 0;
    for (const { path, text } of pages) {
      const code = codeOf(text).replaceAll(/\\\n\s*/g, '');
      for (const [, command, words] of code.matchAll(
        /(?:^|[\s(/])(?:flotilla|npm run flotilla --|cli\/main\.js) ([a-z]+(?:-[a-z]+)*)\b([^|#\n]*)/gm,
      )) {
        const own = words!.split(' -- ')[0]!;
        const flags = [...own.matchAll(/(?:^|\s)(--[a-z][a-z-]*)/g)].map(([, flag]) => flag!);
        if (flags.length === 0 || !COMMANDS.includes(command!)) continue;
        if (!helpByCommand.has(command!)) helpByCommand.set(command!, await flagsOf(command!));
        const known = helpByCommand.get(command!)!;
        seen += flags.length;
        for (const flag of flags)
          if (!known.has(flag)) mistakes.push(`${path}: flotilla ${command} has no ${flag}`);
      }
    }
    expect(seen).toBeGreaterThan(15);
    expect(mistakes).toEqual([]);
  });
});
