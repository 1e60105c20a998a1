/** Needs whose bootstraps break machines, beside healthy ones, on real processes: an asynchronous provider of 72 machines. */
import { afterAll, describe, expect, it } from 'vitest';
import { MachineState as S } from '../../src/machine/state.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import {
  BREAKING_TEXT,
  breakingProvider,
  breakingRow,
} from '../../src/simulation/chaos/breaking-provider.ts';
import { SimulatedOperator } from '../../src/simulation/operators/operator.ts';
import { metric, Processes, until } from './processes.ts';

const MACHINES = 72;
const LARGE = 24;
/** Healthy needs of each healthy cluster, one machine each. */
const HEALTHY = 6;
const LATE = 3;
const SMALL_FAILED_MAX = 4;
/**
 * Clusters with one need that is broken. Healthy needs are in others: within a cluster, a machine of one need counts for another
 * that it matches (A2), and a broken need would be met by them.
 */
const BROKEN = [
  ['red', 'one', 1],
  ['green', 'two', 2],
  ['blue', 'large', LARGE],
] as const;
const WELL = ['cyan', 'pink', 'gold'];

const healthy = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => breakingRow(`${prefix}-${index}`, 1, false));

async function explainedWords(http: string, cluster: string, group: string): Promise<string> {
  const response = await fetch(`${http}api/v1/needs/explain?cluster=${cluster}&group=${group}`);
  const { explanations } = (await response.json()) as {
    readonly explanations: readonly { readonly sentences: readonly string[] }[];
  };
  return explanations.flatMap(({ sentences }) => sentences).join(' ');
}

describe('needs with a broken bootstrap', { timeout: 240_000 }, () => {
  const processes = new Processes();
  const closers: (() => void | Promise<void>)[] = [];
  afterAll(async () => {
    for (const close of closers.reverse()) await close();
    await processes.end();
  });

  it('X5, X14: break a few machines, then one at a time, and leave the others to healthy needs', async () => {
    const provider = await breakingProvider(MACHINES);
    closers.push(() => provider.close());
    const shard = await processes.shard(
      provider.address,
      ...['--cycle-interval', '200ms', '--workers', '1', '--from-scratch-check-every', '5'],
    );
    const connect = async (clusterId: string, rows: RollupRow[]) => {
      const operator = new SimulatedOperator({ address: shard.address, clusterId });
      closers.push(() => operator.close());
      await operator.connect();
      operator.setDemand(rows);
      return operator;
    };
    for (const [cluster, name, count] of BROKEN) await connect(cluster, [breakingRow(name, count, true)]);
    const well = await Promise.all(WELL.map((cluster) => connect(cluster, healthy('early', HEALTHY))));
    const met = (nodes: number) =>
      until(
        `${nodes} nodes of each healthy cluster`,
        () => well.map((operator) => operator.nodesIn(S.Configured).length),
        (counts) => counts.every((count) => count === nodes),
      );
    const failed = (group: string) => provider.failedBy.get(group)?.size ?? 0;
    await met(HEALTHY);
    // The first back-off is over, and the first probe has failed.
    await until(
      'a second attempt for the need of one machine',
      () => failed('broken-one'),
      (count) => count >= 2,
    );
    // Healthy needs that come later find machines.
    for (const operator of well) operator.setDemand([...healthy('early', HEALTHY), ...healthy('late', LATE)]);
    await met(HEALTHY + LATE);
    expect(failed('broken-one')).toBeLessThanOrEqual(SMALL_FAILED_MAX);
    expect(failed('broken-two')).toBeLessThanOrEqual(SMALL_FAILED_MAX);
    expect(failed('broken-large')).toBeLessThanOrEqual(LARGE);
    for (const [cluster, name] of BROKEN) {
      const explained = await explainedWords(shard.http, cluster, `broken-${name}`);
      expect(explained).toContain(BREAKING_TEXT);
      expect(explained).toMatch(/one machine at a time|has burned/);
    }
    expect(Object.values(await metric(shard.http, 'flotilla_burned_machines'))[0]).toBeGreaterThanOrEqual(4);
    const differences = await metric(shard.http, 'flotilla_incremental_check_differences_total');
    expect(Object.values(differences).every((count) => count === 0)).toBe(true);
  });
});
