/** Simulated operators with the shard's own session server. */
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/base/random.ts';
import { MachineState } from '../../../src/machine/state.ts';
import { REALISTIC } from '../../../src/simulation/catalogue/catalogue.ts';
import { SteadyFleet } from '../../../src/simulation/catalogue/fleet.ts';
import { SteadyDemand } from '../../../src/simulation/catalogue/steady-demand.ts';
import { FleetReporter } from '../../../src/simulation/operators/fleet-report.ts';
import { SimulatedOperator } from '../../../src/simulation/operators/operator.ts';
import { OperatorFleet } from '../../../src/simulation/operators/operator-fleet.ts';
import { DEFAULT_BEHAVIOUR, DEFAULT_RECONNECT } from '../../../src/simulation/operators/settings.ts';
import { closeAfterwards, startRig } from '../../session/rig.ts';

const NEVER = { share: 0, everyMs: 60_000, lengthMs: 1_000 };
const FIGURES = { machineCount: 750, clusterCount: 3 };

describe('simulated operators with the session server', () => {
  it('O1: receive their nodes in the resync, and the server accepts their demand row for row', async () => {
    const { shard, server } = await startRig();
    for (const machine of new SteadyFleet(FIGURES.machineCount, 4, FIGURES).machines()) shard.put(machine);
    const fleet = new OperatorFleet({
      ...FIGURES,
      address: server.address,
      tls: undefined,
      connectionCount: 0,
      catalogue: REALISTIC,
      seed: 4,
      churnShare: 0.05,
      rampMs: 0,
      weather: { burst: NEVER, shrink: NEVER },
      behaviour: { ...DEFAULT_BEHAVIOUR, rollupIntervalMs: 100 },
      reconnect: DEFAULT_RECONNECT,
    });
    closeAfterwards(() => fleet.close());
    fleet.start();
    const reporter = new FleetReporter(fleet);
    await expect.poll(() => fleet.counters.rollupsAcked).toBeGreaterThan(15);
    await expect.poll(() => reporter.report().nodes.configured).toBe(Math.round(750 * 0.97));
    expect(shard.rejections).toEqual([]);
    expect(reporter.report()).toMatchObject({ binds: { count: 0 }, malformedFrames: 0 });
    // The server recognises unchanged rows by their digest and does not decode them again.
    const planned = new SteadyDemand(FIGURES, new Random(4)).rollup(0).rows.length * 3;
    expect(shard.decodedRows.length).toBeGreaterThanOrEqual(planned);
    expect(shard.decodedRows.length).toBeLessThan(fleet.counters.rowsSent / 2);
  });

  it('O2, O3, X5: receive state changes, answer bootstrap requests, and learn when they are replaced', async () => {
    const { shard, server } = await startRig();
    const options = {
      address: server.address,
      clusterId: 'cluster-0000',
      behaviour: { rollupIntervalMs: 0 },
      reconnect: { isEnabled: false },
    };
    const first = new SimulatedOperator(options);
    closeAfterwards(() => first.close());
    await first.connect();
    expect(first.shardEpoch).toBe(shard.epoch);
    const machine = [...new SteadyFleet(250, 4).machines()].find(({ cluster }) => cluster !== '')!;
    shard.put(machine);
    const node = await first.waitForNode(({ state }) => state === MachineState.Configured);
    expect(node).toMatchObject({ machineId: machine.id, clusterId: 'cluster-0000' });
    expect(node.labels['node.kubernetes.io/instance-type']).toBe(machine.instanceType);
    const request = { clusterId: 'cluster-0000', requirements: [], timeoutMs: 20_000 };
    const answer = await server.requestBlob(request);
    if (answer.kind !== 'blob') throw new Error(answer.kind);
    expect(Buffer.from(answer.userData).toString()).toContain('joins cluster-0000');
    const second = new SimulatedOperator(options);
    closeAfterwards(() => second.close());
    await second.connect();
    await first.waitFor('its end', () => first.endings.length === 1);
    expect(first.endings[0]!.status).not.toBe(status.OK);
    await second.waitForNode(({ machineId }) => machineId === machine.id);
  });
});
