/**
 * docs/rules.md is the authority on what the shard does, and code, tests and pages cite its rules by number. A number that
 * leads nowhere, or a rule that no test checks, is worse than none; so both are followed here, whichever folder they are in.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const RULES_PAGE = 'docs/rules.md';
const CITING_FOLDERS = ['src', 'workers', 'test', 'bench', 'docs'];
/** What people write. JSON is left out: here it is recorded measurements. */
const CITING_EXTENSIONS = new Set([
  '.ts',
  '.mts',
  '.js',
  '.mjs',
  '.md',
  '.yaml',
  '.yml',
  '.css',
  '.html',
  '.fbs',
]);
/** This file plants numbers that are not rules. */
const THIS_FILE = relative(ROOT, import.meta.filename);

/** Letter and number of a rule are also these, and then they are no citation. */
const KNOWN_NON_RULES: ReadonlyMap<string, string> = new Map([
  ['V8', 'the JavaScript engine of Node'],
  ['F0', 'a byte of a fingerprint, in hexadecimal'],
  ['P99', 'the 99th percentile, in the help of flags that take a latency'],
]);

interface TextFile {
  /** From the top of the repository. */
  readonly path: string;
  readonly text: string;
}

function filesBelow(folder: string): TextFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => CITING_EXTENSIONS.has(extname(file)))
    .map((file) => join(folder, file))
    .filter((path) => path !== THIS_FILE)
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

function pagesAtTheTop(): TextFile[] {
  return readdirSync(ROOT)
    .filter((file) => file.endsWith('.md'))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

interface Rule {
  /** As it is cited: `A5`. */
  readonly code: string;
  readonly letter: string;
  readonly number: number;
  /** The heading that follows its anchor. */
  readonly heading: string;
}

function rulesOf(page: string): Rule[] {
  return [...page.matchAll(/^<a id="([a-z])(\d+)"><\/a>\n\n(.*)$/gm)].map(([, letter, number, heading]) => ({
    code: `${letter!.toUpperCase()}${number}`,
    letter: letter!.toUpperCase(),
    number: Number(number),
    heading: heading!,
  }));
}

interface Citation {
  readonly code: string;
  readonly line: number;
}

/**
 * A citation is a letter of the page and a number of one or two digits, with nothing of a longer name around it. So A100 and X509
 * (three digits), K8s and E2E (letters behind), m5.large and M5.large (a dot and more behind) and #A10 or 0xA5 (part of a
 * colour or a number) are none. Neither is `M5` in the outline of a picture, where it means "move to".
 */
function citationsIn(text: string, letters: string): Citation[] {
  const pattern = new RegExp(`(?<![\\w#$.-])[${letters}](?:0|[1-9]\\d?)(?![\\w$]|\\.\\w)`, 'g');
  return text
    .replaceAll(/\bd="[^"]*"/g, (outline) => outline.replaceAll(/\S/g, ' '))
    .split('\n')
    .flatMap((line, index) => [...line.matchAll(pattern)].map(([code]) => ({ code, line: index + 1 })))
    .filter(({ code }) => !KNOWN_NON_RULES.has(code));
}

/** The codes at the front of the names of tests: `M2: …`, `A1, A2: …`. */
function codesNamedByTests(text: string): string[] {
  const titles = text.matchAll(/\b(?:it|test)(?:\.\w+)*\(\s*['"`]([A-Z]\d+(?:, [A-Z]\d+)*): /g);
  return [...titles].flatMap(([, codes]) => codes!.split(', '));
}

const page = readFileSync(join(ROOT, RULES_PAGE), 'utf8');
const rules = rulesOf(page);
const codes = new Set(rules.map(({ code }) => code));
const letters = [...new Set(rules.map(({ letter }) => letter))].join('');

describe('what counts as a citation', () => {
  const cited = (text: string) =>
    citationsIn(text, letters).map(({ code, line }) => `${code} in line ${line}`);

  it('is a rule in a comment, a name of a test, a range and a page', () => {
    const text =
      '// Newest wins (N1).\nit(`A1, A2: keeps it`)\n/** S1–S7, X12’s back-off; P6. */\n[A5](rules.md#a5)';
    expect(cited(text)).toEqual([
      'N1 in line 1',
      'A1 in line 2',
      'A2 in line 2',
      'S1 in line 3',
      'S7 in line 3',
      'X12 in line 3',
      'P6 in line 3',
      'A5 in line 4',
    ]);
  });

  it('is an unknown number of a known letter, which then has no anchor', () => {
    const planted = citationsIn('/** A need waits (A42), then again (X99). */', letters);
    expect(planted.map(({ code }) => code)).toEqual(['A42', 'X99']);
    expect(planted.some(({ code }) => codes.has(code))).toBe(false);
  });

  for (const text of [
    'eight A100 or H100 a machine',
    'an X509 certificate',
    'K8s, E2E, D1, N-API and I/O',
    'an M5.large',
    'the colour #A10 and the number 0xA5',
    'V8 collects garbage',
    '--latency MEAN[/P99]',
    '<path d="M5 12h6M10 4v8"/>',
  ]) {
    it(`is none in "${text}"`, () => {
      expect(cited(text)).toEqual([]);
    });
  }
});

describe('docs/rules.md', () => {
  it('has one anchor for each rule, before its heading', () => {
    expect(rules.length).toBeGreaterThanOrEqual(74);
    expect(codes.size).toBe(rules.length);
    const headings = [...page.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading!);
    expect(rules.map(({ heading }) => heading)).toEqual(headings.map((heading) => `### ${heading}`));
    expect(rules.filter(({ code, heading }) => !heading.startsWith(`### ${code}. `))).toEqual([]);
  });

  it('has the rules of a letter together, in order, and names the numbers that are reserved', () => {
    const reserved = new Set(
      [...page.matchAll(/^Reserved: (.*)\.$/gm)].flatMap(([, codes]) => codes!.split(', ')),
    );
    const outOfOrder = rules.filter(({ letter, number }, index) => {
      const before = rules[index - 1];
      if (before?.letter === letter) {
        let next = before.number + 1;
        while (next < number && 'HT'.includes(letter) && reserved.has(`${next}`)) next++;
        return number !== next;
      }
      return number > 1 || rules.slice(0, index).some((earlier) => earlier.letter === letter);
    });
    expect(outOfOrder.map(({ code }) => code)).toEqual([]);
  });

  it('begins with a table of contents that agrees with it', () => {
    const rows = [...page.matchAll(/^\| \[([A-Z])\]\(#[^)]+\) \| [^|]+ \| (\S+) \|$/gm)];
    const expected = [...letters].map((letter) => {
      const ofLetter = rules.filter((rule) => rule.letter === letter).map(({ code }) => code);
      return [letter, ofLetter.length === 1 ? ofLetter[0] : `${ofLetter[0]}–${ofLetter.at(-1)}`];
    });
    expect(rows.map(([, letter, range]) => [letter, range])).toEqual(expected);
  });

  it('names only settings that there are', () => {
    const settings = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8');
    const flags = [...page.matchAll(/`--([a-z-]+)/g)].map(([, flag]) => flag!);
    expect(flags.length).toBeGreaterThan(30);
    expect(flags.filter((flag) => !settings.includes(`| \`${flag}\` `))).toEqual([]);
  });
});

describe('rules', () => {
  it('that are cited anywhere are in docs/rules.md', () => {
    const files = [...CITING_FOLDERS.flatMap(filesBelow), ...pagesAtTheTop()];
    const citations = files.flatMap(({ path, text }) =>
      citationsIn(text, letters).map(({ code, line }) => ({ code, where: `${path}:${line}` })),
    );
    expect(citations.length).toBeGreaterThan(1_000);
    const unknown = citations.filter(({ code }) => !codes.has(code));
    expect(unknown.map(({ code, where }) => `${where}: there is no rule ${code}`)).toEqual([]);
  });

  it('are each named by a test that checks them', () => {
    const tests = filesBelow('test').filter(({ path }) => path.endsWith('.test.ts'));
    const named = new Set(tests.flatMap(({ text }) => codesNamedByTests(text)));
    const unnamed = rules.filter(({ code }) => !named.has(code));
    expect(unnamed.map(({ code }) => `no test has a name that begins with "${code}: "`)).toEqual([]);
  });
});
