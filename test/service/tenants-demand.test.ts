/** What a hostile cluster sends, on real processes beside an honest neighbour. One shard serves all these tests. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Operator } from '../../src/needs/requirements.ts';
import {
  distinctProfiles,
  frameOf,
  gangs,
  hostileRow,
  inventedNames,
  manyRequirements,
  manyRows,
  wideRow,
} from '../../src/simulation/chaos/hostile-rows.ts';
import { until } from './processes.ts';
import { honestRows, TenantStage } from './tenant-stage.ts';

const folder = mkdtempSync(join(tmpdir(), 'flotilla-'));
const auditLog = join(folder, 'audit.log');
let stage: TenantStage;

beforeAll(async () => {
  // With this share 8,192 profiles fit the tables of 20,000 machines.
  const tables = ['--max-machines', '20000', '--tenant-table-share', '0.5'];
  stage = await TenantStage.open({ shardFlags: [...tables, '--audit-log', auditLog] });
});
afterAll(async () => {
  await stage?.close();
  rmSync(folder, { recursive: true, force: true });
});

const keyed = (key: string, value = 'v') =>
  hostileRow({ requirements: [{ key, operator: Operator.In, values: [value] }] });

describe('a hostile cluster beside an honest one', { timeout: 300_000 }, () => {
  for (const [what, rows, reason] of [
    ['10,005 gangs with a label value each', () => gangs(10_005), 'distinct fingerprints'],
    ['8,193 profiles', () => distinctProfiles(8_193), 'distinct profiles'],
    ['131,072 rows with a group each', () => manyRows(131_072, 131_072), 'distinct groups'],
    ['263 profiles of 1,000 requirements', () => manyRequirements(263, 1_000), 'requirements and values'],
    ['131,073 rows', () => manyRows(131_073, 0), '131073 rows'],
    ['a row of 70 KB', () => [wideRow(70_000)], 'the limit'],
  ] as const)
    it(`T1: a roll-up with ${what} is refused, and harms only its cluster`, async () => {
      await stage.refusesFrames([frameOf('hostile', rows())], reason);
      await stage.staysWell();
    });

  it('T1: a roll-up with 8,192 profiles, which is allowed, harms no other cluster', async () => {
    stage.hostile.setDemand(distinctProfiles(8_192));
    await stage.accepted('hostile', 8_192);
    await stage.staysWell();
    stage.hostile.setDemand([]);
    await stage.accepted('hostile', 0);
  });

  for (const [what, row, reason] of [
    ['requirement value of 900 KB', keyed('a', 'v'.repeat(900_000)), 'limit'],
    ['requirement value of 1,025 bytes', keyed('a', 'v'.repeat(1_025)), 'the limit is 1024'],
    ['label key of 318 bytes', keyed('k'.repeat(318)), 'the limit is 317'],
    ['group of 4,097 bytes', hostileRow({ group: 'g'.repeat(4_097) }), 'the limit is 4096'],
    ['resource name of 318 bytes', hostileRow({ aggregate: { ['r'.repeat(318)]: '1' } }), '317'],
  ] as const)
    it(`T3: a ${what} is refused, and harms only its cluster`, async () => {
      await stage.refusesFrames([frameOf('hostile', [row])], reason);
      await stage.staysWell();
    });

  it('T3: the audit log has the actions of a need with the longest texts that are allowed', async () => {
    const values = Array.from({ length: 58 }, (_, index) => `${index}-`.padEnd(1_024, 'v'));
    const row = hostileRow({
      requirements: [{ key: 'k'.repeat(317), operator: Operator.NotIn, values }],
      group: 'g'.repeat(4_096),
    });
    stage.hostile.setDemand([row]);
    await stage.hostile.waitForNode(() => true);
    const lines = () =>
      readFileSync(auditLog, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as { cluster: string; kind: string });
    await until('a line of the hostile cluster', lines, (all) =>
      all.some(({ cluster }) => cluster === 'hostile'),
    );
    await stage.staysWell();
    stage.hostile.setDemand([]);
    await stage.accepted('hostile', 0);
  });

  it('T6: 256 invented resource names are refused, and 320 that come and go leave room for amd.com/gpu', async () => {
    await stage.refusesFrames([frameOf('hostile', [inventedNames(256)])], 'resource');
    for (let series = 0; series < 20; series++) {
      const row = inventedNames(16, String(series));
      stage.hostile.setDemand([row, ...manyRows(series, 0)]);
      await stage.accepted('hostile', series + 1);
    }
    const third = await stage.connect('third');
    third.setDemand(honestRows(2, 1_000, { cpu: '1', 'amd.com/gpu': '1' }));
    await stage.accepted('third', 2);
    expect((await stage.tenant('third'))!.refused).toBe(0);
    await stage.staysWell();
    await third.close();
    stage.hostile.setDemand([]);
    await stage.accepted('hostile', 0);
  });

  it('T7: 30 rows of 1 MB, 30 roll-ups of 1 MB and 131,072 requirement sets keep no other cluster from being served', async () => {
    const megabyte = 1_000_000;
    const before = (await stage.tenant('hostile'))!.refused;
    stage.hostile.sendBytes(
      frameOf(
        'hostile',
        Array.from({ length: 30 }, () => wideRow(megabyte)),
      ),
    );
    for (let at = 0; at < 30; at++) {
      const rows = Array.from({ length: 20 }, (_, row) => wideRow(megabyte / 20, `${at}-${row}-`));
      stage.hostile.sendBytes(frameOf('hostile', rows));
    }
    stage.hostile.sendBytes(frameOf('hostile', distinctProfiles(131_072)));
    await stage.staysWell();
    await stage.refused('cluster', 'hostile', before + 2, 'distinct profiles');
    await stage.staysWell();
    stage.hostile.setDemand([]);
    await stage.accepted('hostile', 0);
  });

  // The last test: after so many new rows, T7 lets the next roll-up of the cluster wait for a minute.
  it('T1: a roll-up with 131,072 equal rows, which is allowed, harms no other cluster', async () => {
    stage.hostile.setDemand(manyRows(131_072, 0));
    await stage.accepted('hostile', 131_072);
    await stage.staysWell();
  });
});
