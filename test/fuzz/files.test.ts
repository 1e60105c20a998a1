/** Damaged files: the epoch, on which fencing depends, and the settings. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ShardError } from '../../src/base/errors.ts';
import { loadShardConfig } from '../../src/config/shard-config.ts';
import { openDataDirectory } from '../../src/identity/data-directory.ts';
import { readDeniedList } from '../../src/tls/denied.ts';
import { CASES_MIN, fuzz } from './fuzzer.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'flotilla-fuzz-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function codeOf(run: () => unknown): Promise<string> {
  try {
    await run();
    return 'accepted';
  } catch (error) {
    if (!(error instanceof ShardError)) throw error;
    return error.code;
  }
}

it('a damaged epoch file never leads to an epoch that was used before', async () => {
  const path = folder();
  const file = join(path, 'epoch');
  const open = async (minEpoch = 0) => {
    const directory = await openDataDirectory({ path, minEpoch });
    await directory.close();
    return directory.epoch;
  };
  const epoch = await open(41);
  const good = readFileSync(file);
  const report = await fuzz([good], (bytes) => {
    writeFileSync(file, bytes);
    return codeOf(async () => expect(await open()).toBe(epoch + 1));
  });
  expect(report.cases).toBeGreaterThanOrEqual(CASES_MIN);
  expect(report.outcomes.epoch_corrupt).toBeGreaterThan(0);
});

const SETTINGS = `# A shard
provider-addr:
  - rack-a=10.0.0.7:7790
  - rack-b=10.0.0.8:7790
cycle-interval: 10s
max-machines: 1048576
reclaim-cap: 0.05
incremental: true
log-level: info
`;

it('a damaged settings file is read, or refused with a list of all its mistakes', async () => {
  const file = join(folder(), 'shard.yaml');
  const sources = { argv: ['--config', file], environment: {}, coreCount: 4 };
  const inputs = [SETTINGS, 'a: &a [*a, *a]\n', '{"cycle-interval": "5s"}', '---\n- 1\n---\n? {x: y}\n: z\n'];
  const report = await fuzz(
    inputs.map((text) => Buffer.from(text)),
    (bytes) => {
      writeFileSync(file, bytes);
      return codeOf(() => loadShardConfig(sources));
    },
  );
  expect(report.cases).toBeGreaterThanOrEqual(CASES_MIN);
  expect(Object.keys(report.outcomes).length).toBeGreaterThan(1);
});

it('T14: a damaged file of denied identities is read, or refused as a whole', async () => {
  const file = join(folder(), 'denied');
  const good = `# why\nbigfleet://cluster/east\nsha256:${'0F:'.repeat(31)}0F\nbigfleet://readonly\n`;
  const report = await fuzz([Buffer.from(good)], (bytes) => {
    writeFileSync(file, bytes);
    return codeOf(() => expect(readDeniedList(file).identities.size).toBeLessThan(100));
  });
  expect(report.cases).toBeGreaterThanOrEqual(CASES_MIN);
  expect(report.outcomes.accepted).toBeGreaterThan(0);
  expect(report.outcomes.unusable_tls_file).toBeGreaterThan(0);
});
