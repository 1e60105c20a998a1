import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { MachineState } from '../../../src/machine/state.ts';
import { SMALL } from '../../../src/simulation/catalogue/catalogue.ts';
import { FleetReporter, progressLine, summaryText } from '../../../src/simulation/operators/fleet-report.ts';
import { type FleetSettings, OperatorFleet } from '../../../src/simulation/operators/operator-fleet.ts';
import { DEFAULT_BEHAVIOUR, DEFAULT_RECONNECT } from '../../../src/simulation/operators/settings.ts';
import { ScriptedShard, type ScriptedShardSettings } from './scripted-shard.ts';

const S = MachineState;
const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const NEVER = { share: 0, everyMs: 60_000, lengthMs: 1_000 };

async function rig(shardSettings: ScriptedShardSettings = {}, change: Partial<FleetSettings> = {}) {
  const shard = await new ScriptedShard(shardSettings).listen();
  closing.push(() => shard.close());
  const fleet = new OperatorFleet({
    address: shard.address,
    tls: undefined,
    connectionCount: 0,
    catalogue: SMALL,
    clusterCount: 5,
    machineCount: 50,
    seed: 1,
    churnShare: 0,
    rampMs: 0,
    weather: { burst: NEVER, shrink: NEVER },
    behaviour: { ...DEFAULT_BEHAVIOUR, rollupIntervalMs: 30 },
    reconnect: { ...DEFAULT_RECONNECT, initialMs: 5, maxMs: 100 },
    ...change,
  });
  closing.push(() => fleet.close());
  fleet.start();
  return { shard, fleet, report: () => new FleetReporter(fleet).report() };
}

const wantedOf = (shard: ScriptedShard, cluster: string) =>
  shard
    .session(cluster)
    .last('rollup')!
    .rollup!.needs.reduce((sum, need) => sum + Number(need.aggregateResources.cpu) / 4, 0);

describe('a fleet of operators', () => {
  it('opens a session for every cluster, each with its share of the machines', async () => {
    const { shard, fleet } = await rig();
    await expect.poll(() => fleet.standingCount).toBe(5);
    await expect.poll(() => shard.all.every((session) => session.count('rollup') > 1)).toBe(true);
    expect([...shard.sessions.keys()].sort()).toEqual(Array.from({ length: 5 }, (_, n) => `cluster-000${n}`));
    const wanted = [...shard.sessions.keys()].map((cluster) => wantedOf(shard, cluster));
    expect(wanted.reduce((sum, count) => sum + count)).toBe(49); // 97 % of 50, rounded
    expect(fleet.wantedCount).toBe(49);
  });

  it('shares connections if configured', async () => {
    const { fleet, shard } = await rig({}, { connectionCount: 2 });
    await expect.poll(() => fleet.standingCount).toBe(5);
    expect(new Set(shard.streams.map((call) => call.getPeer())).size).toBe(2);
  });

  it('measures each binding from the roll-up that asked for it until the node is Configured', async () => {
    const { report } = await rig({ binds: true });
    await expect.poll(() => report().binds.latencyMs.count).toBe(49);
    const { binds, nodes, bootstraps } = report();
    expect(binds).toMatchObject({ count: 49, waiting: 0, extra: 0 });
    expect(binds.latencyMs.count).toBe(49);
    expect(nodes).toMatchObject({ wanted: 49, found: 0, configuring: 0 });
    expect(bootstraps).toMatchObject({ requests: 49, answers: 49 });
  });

  it('does not count nodes that were bound before as bindings', async () => {
    const { report } = await rig({ binds: true, boundBefore: 6 });
    await expect.poll(() => report().binds.count).toBe(19);
    expect(report().nodes).toMatchObject({ found: 30, configured: 49 });
  });

  it('changes its demand with every roll-up, so that the shard binds and reclaims machines', async () => {
    const { report, fleet } = await rig({ binds: true }, { churnShare: 0.2 });
    await expect.poll(() => report().reclaims.nodes, { interval: 50 }).toBeGreaterThan(10);
    await expect.poll(() => report().binds.count, { interval: 50 }).toBeGreaterThan(60);
    expect(Math.abs(fleet.wantedCount - 49)).toBeLessThan(20);
    expect(report().malformedFrames).toBe(0);
  });

  it('asks for more machines during a burst', async () => {
    const burst = { share: 0.5, everyMs: 100, lengthMs: 500 };
    const { fleet } = await rig({ binds: true }, { weather: { burst, shrink: NEVER } });
    await expect.poll(() => fleet.wantedCount, { interval: 10 }).toBeGreaterThan(60);
  });

  it('shrinks and grows again', async () => {
    const shrink = { share: 1, everyMs: 100, lengthMs: 50 };
    const { fleet } = await rig({}, { weather: { burst: NEVER, shrink } });
    await expect.poll(() => fleet.wantedCount, { interval: 5 }).toBeLessThan(45);
    await expect.poll(() => fleet.wantedCount, { interval: 5 }).toBe(49);
  });

  it('reconnects after a session ended and counts no node twice', async () => {
    const { shard, fleet, report } = await rig({ binds: true });
    await expect.poll(() => report().nodes.configured).toBe(49);
    const session = shard.session('cluster-0002');
    session.end(status.UNAVAILABLE, 'going down');
    await expect.poll(() => fleet.counters.sessionsOpened).toBe(6);
    const again = shard.session('cluster-0002');
    for (const [machineId, state] of session.announced) again.announce(machineId, state);
    await expect.poll(() => again.count('rollup')).toBeGreaterThan(3);
    await expect.poll(() => report().nodes.configured).toBe(49);
    expect(report().sessions.ended).toEqual({ UNAVAILABLE: 1 });
  });

  it('forgets nodes that a new session does not report', async () => {
    const { shard, report } = await rig({ boundBefore: 3 });
    await expect.poll(() => report().nodes.configured).toBe(15);
    for (let machine = 0; machine < 4; machine++) {
      shard.session('cluster-0000').announce(`other-${machine}`, S.Configured);
    }
    await expect.poll(() => report().nodes.configured).toBe(19);
    shard.session('cluster-0000').end(status.UNAVAILABLE, 'a new shard');
    await expect.poll(() => report().nodes.forgotten).toBe(4);
    expect(report().nodes.configured).toBe(15);
  });

  it('opens a ticket for a node that is lost', async () => {
    const { shard, report } = await rig({ binds: true });
    await expect.poll(() => report().nodes.configured).toBe(49);
    const session = shard.session('cluster-0001');
    const [machineId] = [...session.announced.keys()];
    session.announce(machineId!, S.Failed, 'small-4', 'lost power');
    await expect.poll(() => report().nodes.failed).toBe(1);
    expect(report().binds.waiting).toBe(1);
    session.announce('spare', S.Configuring);
    session.announce('spare', S.Configured);
    await expect.poll(() => report().binds.replacementMs.count).toBe(1);
  });

  it('reports progress in one line and a summary at the end', async () => {
    const { report } = await rig({ binds: true });
    await expect.poll(() => report().binds.latencyMs.count).toBe(49);
    const now = report();
    expect(progressLine(now, null)).toMatch(/sessions 5\/5 .* nodes 49 of 49 {2}binds 49 .* missing 0 /);
    expect(progressLine(now, now)).toContain('0 roll-ups/s');
    expect(summaryText(now)).toMatch(/for new demand +49: p50 .*\n/);
  });
});
