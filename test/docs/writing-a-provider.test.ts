/** The page for authors of providers names every check of the suite, and its example passes. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { serveMinimalProvider } from '../../docs/examples/minimal-provider.ts';
import { runConformance } from '../../src/conformance/run.ts';
import type { Settings } from '../../src/conformance/settings.ts';
import { CHECKS, CLOSING_CHECKS } from '../../src/conformance/suite.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const PAGE = read('docs/writing-a-provider.md');
const EXAMPLE = read('docs/examples/minimal-provider.ts');
const IDS = [...CHECKS, ...CLOSING_CHECKS].map(({ id }) => id);
const AREAS = new Set(IDS.map((id) => id.split('/')[0]!));

describe('docs/writing-a-provider.md', () => {
  it('names every check of the suite', () => {
    expect(IDS.filter((id) => !PAGE.includes(`\`${id}\``))).toEqual([]);
  });

  it('names no check that does not exist', () => {
    const named = [...PAGE.matchAll(/`([a-z]+\/[a-z0-9-]+)`/g)].map(([, id]) => id!);
    const ofTheSuite = named.filter((id) => AREAS.has(id.split('/')[0]!));
    expect(ofTheSuite.length).toBeGreaterThanOrEqual(IDS.length);
    expect(ofTheSuite.filter((id) => !IDS.includes(id))).toEqual([]);
  });

  it('shows code that is in the example, word for word', () => {
    const squeezed = (text: string) => text.replaceAll(/\s+/g, ' ').trim();
    const blocks = [...PAGE.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => squeezed(code!));
    expect(blocks.length).toBeGreaterThan(1);
    for (const block of blocks) expect(squeezed(EXAMPLE)).toContain(block);
  });

  it('has an example in fewer than 80 lines that keeps the contract: every check passes, or does not apply to it', async () => {
    expect(EXAMPLE.split('\n').length).toBeLessThan(80);
    const served = await serveMinimalProvider('127.0.0.1:0', 20);
    // For the checks about FAILED machines.
    await served.report('m-6', { state: 'failed', reason: 'the power supply is on fire' });
    const settings: Settings = {
      target: served.address,
      transitionTimeoutMs: 30_000,
      callTimeoutMs: 30_000,
      style: 'async',
      shardId: 'conformance-docs',
      epoch: Date.now(),
      allowDelete: true,
      only: [],
    };
    const { results, isComplete } = await runConformance(settings);
    await served.close();
    expect(isComplete).toBe(true);
    expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    // Its offers do not change while the suite runs.
    const skipped = results.filter(({ outcome }) => outcome === 'skipped').map(({ id }) => id);
    expect(skipped).toEqual(['cursor/tombstones']);
  });

  it('lists every metric of the kit', async () => {
    const served = await serveMinimalProvider('127.0.0.1:0', 20);
    const names = served.registry.getMetricsAsArray().map(({ name }) => name);
    await served.close();
    expect(names.length).toBeGreaterThan(4);
    const isListed = (name: string) => PAGE.includes(`\`${name}\``) || name.startsWith('flotilla_tls_');
    expect(names.filter((name) => !isListed(name))).toEqual([]);
  });
});
