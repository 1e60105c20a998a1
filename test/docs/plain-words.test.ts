/**
 * Texts that users read avoid words that hide who acts, or that are not English as engineers write it: help, settings, metric
 * help, alerts, dashboard, messages and pages. The reason and a better word stand beside each.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { helpText } from '../../src/cli/main.ts';
import { SHARD_SETTINGS } from '../../src/config/shard-settings.ts';
import { allMetrics } from '../../src/observe/metric-docs.ts';
import { textsOfPage, textsOfSource, type UserText } from './user-texts.ts';

const ROOT = join(import.meta.dirname, '../..');
const MAIN = join(ROOT, 'dist/src/cli/main.js');

interface Avoided {
  readonly words: RegExp;
  readonly because: string;
  readonly instead: string;
}

const AVOIDED: readonly Avoided[] = [
  { words: /\banew\b/i, because: 'archaic', instead: 'again, or from scratch' },
  {
    words: /\b(?:whoever|nobody|somebody|anybody)\b/i,
    because: 'hides who acts',
    instead: 'the operator, the provider, the shard, no need, no client',
  },
  { words: /\bwhom it concerns\b/i, because: 'hides who acts', instead: 'the affected clusters' },
  { words: /\bat the most\b/i, because: 'not idiomatic', instead: 'at most, or maximum' },
  { words: /\bwhat is free\b/i, because: 'names no thing', instead: 'unassigned machines' },
  {
    words: /\bwhat there is\b/i,
    because: 'names no thing',
    instead: 'the list of commands, settings, machines',
  },
  {
    words: /\b(?:comes?|came|coming) to nothing\b/i,
    because: 'a figure of speech',
    instead: 'is abandoned, fails, or has no effect',
  },
  { words: /\bis told (?:from|apart)\b/i, because: 'not idiomatic', instead: 'is distinguished from' },
  { words: /\bis told (?:of|that)\b/i, because: 'hides who acts', instead: 'the shard reports, or notifies' },
  { words: /\bdearest\b/i, because: 'reads as affection', instead: 'most expensive' },
  { words: /\bpaid as\b/i, because: 'not the term of the field', instead: 'purchase option, capacity type' },
  { words: /\blately\b/i, because: 'vague', instead: 'recent, with the time or number' },
  { words: /\bstamp(?:s|ed|ing)?\b/i, because: 'an invented name', instead: 'assignment, assigned' },
  {
    words: /\bon (?:its|their) way\b/i,
    because: 'a figure of speech',
    instead: 'in a transitional state, or being provisioned',
  },
  { words: /\blooks? at nothing\b/i, because: 'a riddle', instead: 'skips the decision' },
  { words: /\bhears? of\b/i, because: 'a figure of speech', instead: 'learns of, receives, or observes' },
  { words: /\bso that it be\b/i, because: 'not idiomatic', instead: 'so that it is' },
  { words: /\bfor ever\b/i, because: 'one word as an adverb', instead: 'forever, or without end' },
];

/** `file:line: "word" is …; write …`, one line for each offender. */
function offendersIn(texts: readonly UserText[]): string[] {
  return texts.flatMap(({ where, text }) =>
    AVOIDED.flatMap(({ words, because, instead }) => {
      const found = words.exec(text)?.[0];
      if (found === undefined) return [];
      return [`${where}: "${found}" in "${text.trim()}": ${because}; write ${instead}`];
    }),
  );
}

const SOURCE_FOLDERS = [
  'src/cli',
  'src/config',
  'src/observe',
  'src/dashboard',
  'src/shard/view',
  'src/conformance',
];

function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => join(folder, file))
    .sort();
}

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

describe('plain words', () => {
  for (const folder of SOURCE_FOLDERS) {
    it(`are used in the messages of ${folder}`, () => {
      const texts = filesBelow(folder, '.ts').flatMap((path) => textsOfSource(path, read(path)));
      expect(texts.length).toBeGreaterThan(20);
      expect(offendersIn(texts)).toEqual([]);
    });
  }

  it('are used in the README and the pages of docs', () => {
    const isCovered = (path: string) => !path.startsWith('docs/adr/') && path !== 'docs/results.md';
    const paths = ['README.md', ...filesBelow('docs', '.md').filter(isCovered)];
    expect(paths.length).toBeGreaterThan(8);
    expect(offendersIn(paths.flatMap((path) => textsOfPage(path, read(path))))).toEqual([]);
  });

  it('are used in the alerts', () => {
    expect(offendersIn(textsOfPage('docs/ops/alerts.yaml', read('docs/ops/alerts.yaml')))).toEqual([]);
  });

  it('are used in the help of settings and metrics', async () => {
    const settings = Object.entries(SHARD_SETTINGS).map(([where, { help }]) => ({ where, text: help }));
    const metrics = (await allMetrics()).map(({ name, help }) => ({ where: name, text: help }));
    expect(settings.length).toBeGreaterThan(40);
    expect(metrics.length).toBeGreaterThan(50);
    expect(offendersIn([...settings, ...metrics])).toEqual([]);
  });

  it('are used in the --help of every command', async () => {
    const commands = [...helpText().matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name!);
    const texts: UserText[] = [{ where: 'flotilla --help', text: helpText() }];
    for (const command of commands.filter((name) => name !== 'version')) {
      const { stdout } = await promisify(execFile)(process.execPath, [MAIN, command, '--help']);
      for (const text of stdout.split('\n')) texts.push({ where: `flotilla ${command} --help`, text });
    }
    expect(commands.length).toBeGreaterThan(10);
    expect(offendersIn(texts)).toEqual([]);
  });
});

describe('the check of plain words', () => {
  it('finds a planted offender in a source, with its line, and no comment', () => {
    const source = `// Whoever reads this comment is not a user.
const pattern = /'/; /* nobody */
const plain = 'It is decided anew.';
  return \`Claimed by \${name === "" ? "nobody at all" : \`need \${name}\`}
  and on its way.\`;`;
    expect(offendersIn(textsOfSource('src/planted.ts', source))).toEqual([
      'src/planted.ts:3: "anew" in "It is decided anew.": archaic; write again, or from scratch',
      expect.stringContaining('src/planted.ts:4: "nobody" in "nobody at all": hides who acts'),
      expect.stringContaining('src/planted.ts:5: "on its way" in "and on its way.": a figure of speech'),
    ]);
  });

  it('finds a planted offender in a page, but not in its code', () => {
    const page = ['# Whoever can connect', '', '```', 'anew', '```', '', 'A `stamp` and what is free.'].join(
      '\n',
    );
    expect(offendersIn(textsOfPage('docs/planted.md', page)).map((line) => line.split(' in ')[0])).toEqual([
      'docs/planted.md:1: "Whoever"',
      'docs/planted.md:7: "what is free"',
    ]);
  });

  it('accepts names that contain an avoided word', () => {
    const names = 'last_listing_timestamp_seconds and renewal';
    expect(offendersIn([{ where: 'here', text: names }])).toEqual([]);
  });
});
