/** docs/writing-an-operator.md shows code of the example, and names every error of the kit. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as kit from '../../src/operator-kit/index.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const page = readFileSync(join(DOCS, 'writing-an-operator.md'), 'utf8');
const example = readFileSync(join(DOCS, 'examples/minimal-operator.ts'), 'utf8');

describe('the guide for authors of operators', () => {
  it('shows the options of the example as they are', () => {
    const [first] = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code!);
    expect(example).toContain(first);
  });

  it('has a row for every error class of the kit', () => {
    const sources = ['operator-kit/errors.ts', 'needs/rollup.ts', 'tls/files.ts'].map((file) =>
      readFileSync(join(DOCS, '../src', file), 'utf8'),
    );
    const codes = Object.keys(kit)
      .filter((name) => name.endsWith('Error') && name !== 'ShardError')
      .map((name) => {
        const code = new RegExp(`class ${name} .*?code = '(\\w+)'`, 's');
        return sources.map((source) => code.exec(source)?.[1]).find((found) => found !== undefined);
      });
    const table = page.slice(page.indexOf('## Errors'), page.indexOf('## In other languages'));
    const rows = [...table.matchAll(/`([a-z_]+)`(?=[^|]*\|[^|]*\|[^|]*\|$)/gm)].map(([, code]) => code!);
    expect(codes.length).toBeGreaterThan(8);
    expect([...codes].sort()).toEqual(rows.sort());
  });
});
