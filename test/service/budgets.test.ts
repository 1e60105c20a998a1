/** H9 on real processes: what a budget has used outlives a kill, and a damaged record counts as used up. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { ApiBudgets } from '../../src/dashboard/api/types.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { SimulatedOperator } from '../../src/simulation/operators/operator.ts';
import { metric, Processes, ProviderTruth, until } from './processes.ts';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const PATIENCE_MS = 120_000;
const NEED: RollupRow = {
  requirements: [],
  aggregate: { cpu: '200' },
  minUnit: { cpu: '1' },
  priority: 1_000,
  spread: [],
  interruptionBucket: 1,
  reclamationBucket: 1,
  group: '',
};

function flotilla(...words: string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...words], { timeout: PATIENCE_MS }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), out: stdout + stderr }),
    );
  });
}

describe('disruption budgets of a real shard', { timeout: 300_000 }, () => {
  const processes = new Processes();
  const closers: (() => void | Promise<void>)[] = [];
  afterAll(async () => {
    for (const close of closers.reverse()) await close();
    await processes.end();
  });

  it('H9: what is used outlives a kill, a reload gives more, and use that cannot be read counts as used up', async () => {
    const provider = await processes.provider('--machines', '40', '--configured', '0', '--idle', '1');
    const truth = new ProviderTruth(provider.address);
    closers.push(() => truth.close());
    const dataDir = processes.folder();
    const config = join(dataDir, 'shard.yaml');
    const budget = (max: number) =>
      writeFileSync(
        config,
        `disruption-budgets:\n  - { budget: slow, cluster: east, max: ${max}, window: 1h }\n`,
      );
    budget(2);
    const flags = ['--config', config, '--data-dir', dataDir, '--cycle-interval', '200ms', '--workers', '1'];
    const fast = [...flags, '--empty-rollup-guard=false', '--reclaim-cap-fraction', 'unlimited'];
    let shard = await processes.shard(provider.address, ...fast);
    const bound = async () => (await truth.machines()).filter(({ cluster }) => cluster === 'east').length;
    const connect = async (rows: RollupRow[]) => {
      const operator = new SimulatedOperator({ address: shard.address, clusterId: 'east' });
      closers.push(() => operator.close());
      await operator.connect();
      operator.setDemand(rows);
      return operator;
    };
    const held = async () =>
      Object.values(await metric(shard.http, 'flotilla_reclaims_held_by_budgets_total'))[0] ?? 0;
    const budgets = async () => (await (await fetch(`${shard.http}api/v1/budgets`)).json()) as ApiBudgets;
    const restart = async () => {
      shard.program.child.kill('SIGKILL');
      await shard.program.exited;
      shard = await processes.shard(provider.address, ...fast);
      await connect([]);
    };
    const operator = await connect([NEED]);
    const machines = await until('machines are bound', bound, (count) => count >= 8, PATIENCE_MS);
    operator.setDemand([]);
    await until('two are reclaimed', bound, (count) => count === machines - 2, PATIENCE_MS);
    await until('the others are held', held, (count) => count > 10, PATIENCE_MS);
    expect(await bound()).toBe(machines - 2);

    await operator.close();
    await restart();
    await until('the next process holds them', held, (count) => count > 10, PATIENCE_MS);
    expect(await bound()).toBe(machines - 2);
    const listed = await flotilla('budgets', '--api', shard.http, '--json');
    expect(JSON.parse(listed.out).budgets).toMatchObject([
      { name: 'slow', place: 'cluster east', used: 2, max: 2, holds: 'used_up', open: true },
    ]);
    expect(await flotilla('budgets', '--api', shard.http)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/slow +cluster east +2\/2 +1h? ?h? .*used up/s),
    });
    const one = (await truth.machines()).find(({ cluster }) => cluster === 'east')!;
    const explained = await flotilla('explain', 'machine', one.id, '--api', shard.http);
    expect(explained.out).toContain('disruption budget slow is used up (2 of 2 machines in 1 h)');

    budget(5);
    shard.program.child.kill('SIGHUP');
    await until('three more are reclaimed', bound, (count) => count === machines - 5, PATIENCE_MS);

    writeFileSync(join(dataDir, 'usage'), 'no shard wrote this');
    await restart();
    await until(
      'the budget counts as used up',
      budgets,
      (found) => found.budgets[0]?.holds === 'unread',
      PATIENCE_MS,
    );
    await until('the process holds them', held, (count) => count > 10, PATIENCE_MS);
    expect(await bound()).toBe(machines - 5);
    expect(shard.program.output.join('\n')).toContain('budget_usage_unread');
  });
});
