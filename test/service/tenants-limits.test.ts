/** A hostile cluster that asks for everything, or whose need makes decisions throw, on real processes beside an honest one. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MachineState as S } from '../../src/machine/state.ts';
import { Operator } from '../../src/needs/requirements.ts';
import { hostileRow } from '../../src/simulation/chaos/hostile-rows.ts';
import type { SimulatedOperator } from '../../src/simulation/operators/operator.ts';
import { until } from './processes.ts';
import { honestRows, TenantStage } from './tenant-stage.ts';

const TIMEOUT_MS = 300_000;

const has = (operator: SimulatedOperator, nodes: number) =>
  until(
    `${nodes} nodes of ${operator.clusterId}`,
    () => operator.nodesIn(S.Configured).length,
    (count) => count === nodes,
  );

describe('a hostile cluster with the highest priority', { timeout: TIMEOUT_MS }, () => {
  const HIGHEST = 2_147_483_647;
  const VICTIMS = ['red', 'green', 'blue'];
  const NODES = 20;
  /** A fifth of 20. */
  const CAP = 4;
  const folder = mkdtempSync(join(tmpdir(), 'flotilla-'));
  const configFile = join(folder, 'shard.yaml');
  const auditLog = join(folder, 'audit.log');
  const victims: SimulatedOperator[] = [];
  let stage: TenantStage;

  /** Victims by cycle and cluster, from the audit log. */
  const preemptions = () => {
    const taken = new Map<string, number>();
    for (const line of readFileSync(auditLog, 'utf8').split('\n').slice(0, -1)) {
      const { cycle, kind, cluster } = JSON.parse(line) as Record<'cycle' | 'kind' | 'cluster', string>;
      const key = `${cycle} ${cluster}`;
      if (kind === 'Preempt') taken.set(key, (taken.get(key) ?? 0) + 1);
    }
    return taken;
  };
  const reloads = () =>
    stage.shard.program.output.filter((line) => line.includes('"event":"reloaded"')).length;
  /** Waits until the file is in force: a roll-up can overtake the signal, and a lower limit takes no machine back. */
  const reload = async (text: string) => {
    const before = reloads();
    writeFileSync(configFile, text);
    stage.shard.program.child.kill('SIGHUP');
    await until('the reload', reloads, (count) => count > before);
  };

  beforeAll(async () => {
    writeFileSync(configFile, '');
    stage = await TenantStage.open({
      providerFlags: ['--machines', '66', '--idle', '1'],
      shardFlags: ['--config', configFile, '--audit-log', auditLog],
    });
    for (const clusterId of VICTIMS) {
      const operator = await stage.connect(clusterId);
      operator.setDemand(honestRows(NODES, 100));
      victims.push(operator);
    }
    for (const operator of victims) await has(operator, NODES);
  });
  afterAll(async () => {
    await stage?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('T9: a cycle takes at most a fifth of the machines of each of three clusters', async () => {
    stage.hostile.setDemand(honestRows(40, HIGHEST));
    await has(stage.hostile, 40);
    const taken = await until('preemptions', preemptions, (seen) => seen.size > 3);
    expect(Math.max(...taken.values())).toBeLessThanOrEqual(CAP);
    expect(await stage.witness.metric('flotilla_preemptions_capped_total')).toBeGreaterThan(0);
  });

  it('T8: a maximum priority from the reloaded file gives the three clusters their machines back', async () => {
    await reload('tenants:\n  - cluster: host*\n    max-priority: 50\n');
    for (const operator of victims) await has(operator, NODES);
    await stage.staysWell();
  });

  it('T8: a maximum of machines bars more of them, and is reloaded', async () => {
    stage.hostile.setDemand([]);
    await has(stage.hostile, 0);
    await reload('tenants:\n  - cluster: host*\n    max-priority: 50\n    max-machines: 1\n');
    stage.hostile.setDemand(honestRows(4, HIGHEST));
    await has(stage.hostile, 1);
    const limitedBy = async () => {
      const response = await fetch(`${stage.shard.http}api/v1/needs?cluster=hostile&unmet=true`);
      const { needs } = (await response.json()) as { needs: { limitedBy: string }[] };
      return needs.map((need) => need.limitedBy);
    };
    await until(
      'the API names the limit',
      limitedBy,
      (limits) => limits.length === 3 && limits.every((limit) => limit === 'max-machines'),
    );
    await stage.staysWell();
    await has(stage.hostile, 1);
    await reload('tenants:\n  - cluster: host*\n    max-priority: 50\n    max-machines: 2\n');
    await has(stage.hostile, 2);
    for (const operator of victims) await has(operator, NODES);
  });
});

describe('a need for which decisions throw', { timeout: TIMEOUT_MS }, () => {
  const PRELOAD = new URL('./throw-at-need.mjs', import.meta.url).href;
  /** Needs with these requirements throw; the second as if the engine worked on no need. */
  const THROWS = 'hostile.example/throws';
  const THROWS_NAMELESS = 'hostile.example/throws-nameless';
  let stage: TenantStage;

  beforeAll(async () => {
    stage = await TenantStage.open({
      environment: { NODE_OPTIONS: `--import ${PRELOAD}` },
    });
  });
  afterAll(() => stage?.close());

  const throwing = (key: string) =>
    hostileRow({
      requirements: [{ key, operator: Operator.DoesNotExist, values: [] }],
      aggregate: { cpu: '10000' }, // more than it has, so that the need acquires
    });
  const logged = (event: string) =>
    until(
      `the log has ${event}`,
      () => stage.shard.program.output.some((line) => line.includes(`"${event}"`)),
      (isLogged) => isLogged,
    );

  it('T2: the shard suspends its cluster, says so, and serves the others until the demand changes', async () => {
    stage.hostile.setDemand([throwing(THROWS)]);
    await until(
      'the suspension',
      async () => (await stage.tenant('hostile'))?.cluster?.suspended,
      (reason) => reason?.includes('injected') === true,
    );
    expect(await stage.witness.metric('flotilla_clusters_suspended')).toBe(1);
    await logged('cluster_suspended');
    await stage.staysWell();
    expect(stage.hostile.nodes.size).toBe(0);
    stage.hostile.setDemand(honestRows(1));
    await has(stage.hostile, 1);
    expect(await stage.witness.metric('flotilla_clusters_suspended')).toBe(0);
  });

  it('T2: without a known need the shard turns unready with the reason, makes no call, and recovers', async () => {
    const throws = await stage.witness.metric('flotilla_decision_throws_total');
    stage.hostile.setDemand([throwing(THROWS_NAMELESS)]);
    await until(
      'the reason',
      () => stage.witness.notReady(),
      (reason) => reason.includes('injected'),
    );
    expect(await stage.witness.metric('flotilla_decision_throws_total')).toBeGreaterThan(throws + 1);
    await logged('decision_failed');
    expect((await fetch(`${stage.shard.http}healthz`)).status).toBe(200);
    const before = await stage.witness.metric('bigfleet_shard_actions_total');
    stage.neighbour.setDemand(honestRows(10));
    await stage.accepted('neighbour', 10);
    const throwsThen = await stage.witness.metric('flotilla_decision_throws_total');
    await until(
      'three more tries',
      () => stage.witness.metric('flotilla_decision_throws_total'),
      (count) => count >= throwsThen + 3,
    );
    expect(await stage.witness.metric('bigfleet_shard_actions_total')).toBe(before);
    stage.hostile.setDemand([]);
    await has(stage.neighbour, 10);
    await stage.staysWell();
  });
});
