/** The page, its plots and the README's figures come from the stored records alone. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderHighlights, withHighlights } from '../../bench/report/highlights.ts';
import { renderPage } from '../../bench/report/page.ts';
import { readGenerated, readRecords } from '../../bench/report/record.ts';
import { SOAK_FILE, type SoakRecord } from '../../bench/soak/section.ts';

const ROOT = join(import.meta.dirname, '../..');
const RESULTS = join(ROOT, 'bench/results');
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** A number with its unit, as the page writes it. */
const FIGURE = /\d[\d,.]*(?:e-?\d+)? (?:ns|µs|ms|s|×|%|MB|GB|[a-zA-Z]+\/(?:s|machine))(?![a-z])/g;

describe('the published results', async () => {
  const records = await readRecords(RESULTS);
  const soak = await readGenerated<SoakRecord>(RESULTS, SOAK_FILE);
  const page = renderPage(records, soak);

  it('are rendered from the stored records, figure by figure (npm run bench -- --report)', () => {
    expect(records.length).toBeGreaterThan(20);
    expect(textOf('docs/results.md')).toBe(page.markdown);
  });

  it('have the plots that belong to them, and no others', () => {
    for (const [path, svg] of page.images) expect(textOf(`docs/${path}`), path).toBe(svg);
    const files = readdirSync(join(ROOT, 'docs/images/results')).map((file) => `images/results/${file}`);
    expect(files.sort()).toEqual([...page.images.keys()].sort());
  });

  it('are quoted in the README unchanged', () => {
    const readme = textOf('README.md');
    expect(readme).toBe(withHighlights(readme, renderHighlights(records, soak)));
    const section = readme.slice(readme.indexOf('## Results'), readme.indexOf('## Run it'));
    const quoted = [...section.matchAll(FIGURE)].map(([figure]) => figure);
    expect(quoted.length).toBeGreaterThan(8);
    expect(quoted.filter((figure) => !page.markdown.includes(figure))).toEqual([]);
  });

  it('name every scenario with its command, measured or not', () => {
    for (const { scenario, command } of records.filter(({ isGrowth }) => !isGrowth)) {
      expect(page.markdown).toContain(`### ${scenario}\n`);
      expect(page.markdown).toContain(`\`${command}\``);
    }
  });
});
