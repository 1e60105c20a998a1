/** Provider, shard and operators as three processes that share only a seed. */
import { afterEach, describe, expect, it } from 'vitest';
import type { FleetReport } from '../../../src/simulation/operators/fleet-report.ts';
import { Processes, type Program, until } from '../../service/processes.ts';

const processes = new Processes();
afterEach(() => processes.end());

const SIZE = ['--machines', '750', '--clusters', '3', '--seed', '6'];
/** 97 % of 750, rounded. */
const WANTED = 728;

async function worldOf(providerFlags: readonly string[], operatorsFlags: readonly string[]) {
  const { program: provider, address } = await processes.provider(...SIZE, ...providerFlags);
  const shard = await processes.shard(address, '--cycle-interval', '300ms');
  const flags = ['--rollup-interval', '300ms', '--ramp', '0s', '--report-every', '100ms', '--json'];
  const operators = processes.start(
    'operators',
    '--shard',
    shard.address,
    ...SIZE,
    ...flags,
    ...operatorsFlags,
  );
  expect(JSON.parse(await operators.firstLine)).toMatchObject({ event: 'connected', clusters: 3 });
  return { provider, operators };
}

function lastReport({ output }: Program): FleetReport | null {
  const line = output.findLast((candidate) => candidate.includes('"event":"progress"'));
  return line === undefined ? null : (JSON.parse(line) as FleetReport);
}

/** Calls of the provider, by operation and result. */
async function ledgerOf({ child, exited, output }: Program): Promise<Record<string, number>> {
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
  return JSON.parse(output.at(-1)!.slice('SIGTERM: '.length)) as Record<string, number>;
}

describe('a shard between a simulated provider and simulated operators of one seed', () => {
  it('finds every need covered: it binds, drains, creates and deletes no machine', async () => {
    const { provider, operators } = await worldOf(['--configured', '97%'], []);
    const inPlace = (report: FleetReport | null) =>
      report !== null && report.sessions.settled === 3 && report.rollups.acked > 20;
    const report = await until('settled sessions', () => lastReport(operators), inPlace);
    expect(report).toMatchObject({
      nodes: { wanted: WANTED, configured: WANTED, found: WANTED },
      binds: { count: 0, waiting: 0 },
      reclaims: { nodes: 0 },
    });
    expect(Object.keys(await ledgerOf(provider))).toEqual(['list ok']);
  });

  it('binds and reclaims machines under churn, and the operators measure the latency', async () => {
    const { provider, operators } = await worldOf(['--configured', '97%'], ['--churn', '2%']);
    const isBusy = (report: FleetReport | null) =>
      report !== null && report.binds.latencyMs.count > 20 && report.reclaims.nodes > 20;
    const report = await until('bindings', () => lastReport(operators), isBusy);
    expect(report!.binds.latencyMs.maxMs).toBeGreaterThan(0);
    expect(report!.malformedFrames).toBe(0);
    const ledger = await ledgerOf(provider);
    expect(ledger['configure started']).toBeGreaterThan(20);
    expect(ledger['drain started']).toBeGreaterThan(20);
  });

  it('binds machines for clusters that have none yet', async () => {
    const { operators } = await worldOf(['--configured', '0'], []);
    const isServed = (report: FleetReport | null) =>
      report !== null && report.nodes.configured > WANTED * 0.9;
    const report = await until('nodes', () => lastReport(operators), isServed);
    expect(report!.nodes.found).toBe(0);
  });
});
