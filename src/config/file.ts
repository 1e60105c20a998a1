/**
 * A config file: one flat YAML mapping (JSON is valid YAML) from flag names to values. Scalars are read as the text in
 * the file (`10s`, `0.05`, `true`), so that a value means the same in every source.
 */
import { readFileSync, statSync } from 'node:fs';
import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  type ParsedNode,
  parseDocument,
  type YAMLMap,
} from 'yaml';
import { ConfigError, type Problem } from './problems.ts';
import type { FlagShape, FlagShapes, Given, GivenByFlag } from './sources.ts';
import { suggestion } from './sources.ts';

/** There are some fifty settings; a file of this size is not a config file. */
const FILE_BYTES_MAX = 1_048_576;

/** The file's text. Throws at once if the file cannot be read, because no other check makes sense without it. */
export function loadConfigText(path: string, origin: string): string {
  const refuse = (what: string, remedy: string) =>
    new ConfigError([{ key: '--config', origin, what: `${path} ${what}`, remedy }]);
  try {
    if (statSync(path).size > FILE_BYTES_MAX) {
      throw refuse(`is larger than ${FILE_BYTES_MAX} bytes`, 'Name a config file');
    }
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw refuse(`cannot be read (${code})`, 'Name an existing file that the shard can read');
  }
}

export function readConfigText(
  text: string,
  path: string,
  shapes: FlagShapes,
  problems: Problem[],
): GivenByFlag {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const lineOf = (offset: number) => `${path}:${lines.linePos(offset).line}`;
  const found: GivenByFlag = new Map();
  for (const { message, pos } of document.errors) {
    const what = `invalid YAML: ${message.replace(/\.$/, '')}`;
    problems.push({ key: '--config', origin: lineOf(pos[0]), what, remedy: 'Fix the file' });
  }
  if (document.errors.length > 0 || document.contents === null) return found;
  if (!isMap(document.contents)) {
    const what = 'the file is not a mapping of settings';
    problems.push({ key: '--config', origin: path, what, remedy: 'Write lines such as cycle-interval: 10s' });
    return found;
  }
  for (const pair of document.contents.items as Pair<ParsedNode, ParsedNode | null>[]) {
    const key = isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
    const given = { key, origin: lineOf(pair.key.range[0]) };
    const add = (what: string, remedy: string) => problems.push({ ...given, what, remedy });
    const shape = shapes.get(key);
    if (shape === undefined) {
      add(
        'unknown setting',
        suggestion(key, [...shapes.keys()], (name) => name),
      );
    } else if (found.has(key)) {
      add(`already set at ${found.get(key)!.origin}`, 'Set it once');
    } else {
      readValue(given, pair.value, shape, found, add);
    }
  }
  return found;
}

function readValue(
  given: Omit<Given, 'texts'>,
  node: ParsedNode | null,
  { isRepeatable, mappingKey = '', isMapping }: FlagShape,
  found: GivenByFlag,
  add: (what: string, remedy: string) => void,
): void {
  const single = textOf(node);
  if (single !== null) {
    found.set(given.key, { ...given, texts: [single] });
  } else if (isRepeatable && isSeq(node)) {
    const items = node.items as (ParsedNode | null)[];
    const texts = items.map(
      (item) => textOf(item) ?? (mappingKey === '' ? null : mappingText(item, mappingKey)),
    );
    if (texts.every((text) => text !== null)) found.set(given.key, { ...given, texts });
    else if (mappingKey === '')
      add('the list contains something other than strings', 'Write a list of strings: [a, b]');
    else
      add(
        'the list contains something other than mappings',
        `Write a list of mappings with ${mappingKey}: NAME`,
      );
  } else if (isMapping === true && isMap(node)) {
    const parts = partsOf(node, '');
    if (parts === null)
      add(
        'the mapping contains something other than single values',
        'Write lines such as NAME: VALUE below it',
      );
    else
      found.set(given.key, { ...given, texts: [parts.map(([key, value]) => `${key}=${value}`).join('; ')] });
  } else if (isMapping === true && !isScalar(node) && node !== null) {
    add('takes a mapping', `Write ${given.key}: { NAME: VALUE }`);
  } else if (node === null || isScalar(node)) {
    add('the value is missing', 'Add a value or remove the line');
  } else {
    add(
      isRepeatable ? 'takes a list of strings' : 'takes a single value',
      isRepeatable ? 'Write a list of strings: [a, b]' : `Write ${given.key}: VALUE`,
    );
  }
}

/** A mapping as one text: `NAME; key=value; outer.inner=value`. Null if it is none, or if a text contains the separator. */
function mappingText(node: ParsedNode | null, nameKey: string): string | null {
  const parts = isMap(node) ? partsOf(node, '') : null;
  const name = parts?.find(([key]) => key === nameKey)?.[1];
  if (parts === null || name === undefined) return null;
  const texts = [name, ...parts.filter(([key]) => key !== nameKey).map(([key, value]) => `${key}=${value}`)];
  return texts.some((text) => text.includes(';')) ? null : texts.join('; ');
}

function partsOf(node: YAMLMap, prefix: string): (readonly [key: string, value: string])[] | null {
  const parts: (readonly [string, string])[] = [];
  for (const { key: keyNode, value } of node.items as Pair<ParsedNode, ParsedNode | null>[]) {
    const key = textOf(keyNode);
    const text = textOf(value);
    if (key === null) return null;
    const inner = text === null && isMap(value) ? partsOf(value, `${prefix}${key}.`) : null;
    if (text !== null) parts.push([`${prefix}${key}`, text]);
    else if (inner !== null) parts.push(...inner);
    else return null;
  }
  return parts;
}

/** The scalar as the file spells it; null for an absent value and for anything else. */
function textOf(node: ParsedNode | null): string | null {
  if (!isScalar(node) || node.value === null) return null;
  return typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
}
