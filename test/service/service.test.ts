/**
 * Shard, provider and operators as users run them: separate processes, real threads, real gRPC on loopback. The tests assert
 * on the provider's own record and on the updates that the operator received.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { MachineState as S } from '../../src/machine/state.ts';
import { Operator } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { SimulatedOperator } from '../../src/simulation/operators/operator.ts';
import { TestCoordinator } from '../coordination/coordinator.ts';
import { metric, Processes, type Program, ProviderTruth, type ShardProgram, until } from './processes.ts';

const TIMEOUT_MS = 120_000;
const FAST = ['--cycle-interval', '500ms', '--reclaim-cap-fraction', '0', '--empty-rollup-guard=false'];
const COORDINATED = ['--coordinator-heartbeat-interval', '200ms', '--advertise-addr', 'shard.example:7780'];
const ASYNCHRONOUS = ['--latency', '150ms/400ms'];

let processes = new Processes();
const closers: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  await processes.end();
  processes = new Processes();
});

/** Needs for so many machines of any kind, one machine each. */
function rows(count: number, priority = 1_000): RollupRow[] {
  return Array.from({ length: count }, (_, index) => ({
    requirements: [{ key: 'topology.kubernetes.io/zone', operator: Operator.Exists, values: [] }],
    aggregate: { cpu: '1' },
    minUnit: { cpu: '1' },
    priority,
    spread: [],
    interruptionBucket: 1,
    reclamationBucket: 1,
    group: `g-${String(index).padStart(4, '0')}`,
  }));
}

async function world(providerFlags: readonly string[], ...shardFlags: string[]) {
  const provider = await processes.provider('--machines', '40', '--idle', '0.5', ...providerFlags);
  const truth = new ProviderTruth(provider.address);
  closers.push(() => truth.close());
  const shard = await processes.shard(provider.address, ...FAST, ...shardFlags);
  return { provider, truth, shard };
}

async function connect(shard: ShardProgram, clusterId = 'blue'): Promise<SimulatedOperator> {
  const operator = new SimulatedOperator({ address: shard.address, clusterId });
  closers.push(() => operator.close());
  await operator.connect();
  return operator;
}

function nodesIn(operator: SimulatedOperator, state: number): string[] {
  return [...operator.nodes.values()]
    .filter((node) => node.state === state)
    .map(({ machineId }) => machineId);
}

async function stopped(program: Program): Promise<string> {
  program.child.kill('SIGTERM');
  await program.exited;
  return program.output.join('\n');
}

for (const [name, providerFlags] of [
  ['a synchronous provider', []],
  ['an asynchronous provider', ASYNCHRONOUS],
] as const) {
  describe(`with ${name}`, { timeout: TIMEOUT_MS }, () => {
    it('turns a need into nodes, reports them to the operator, and reclaims them when the need is withdrawn', async () => {
      const { truth, shard } = await world(providerFlags);
      const operator = await connect(shard);
      operator.setDemand(rows(25)); // more than the Idle machines, so some are created first
      await until(
        '25 nodes',
        () => nodesIn(operator, S.Configured).length,
        (count) => count === 25,
      );
      const bound = (await truth.machines()).filter(({ cluster }) => cluster === 'blue');
      expect(bound.map(({ id }) => id).sort()).toEqual(nodesIn(operator, S.Configured).sort());
      expect(operator.bootstrapRequests).toHaveLength(25);
      const states = operator.nodeHistory.map(({ state }) => state);
      expect(states).toContain(S.Configuring);
      operator.setDemand(rows(5));
      await until(
        '20 nodes reported as gone',
        () => nodesIn(operator, S.Idle).length,
        (count) => count === 20,
      );
      expect(operator.reclaims.flatMap(({ nodes }) => nodes)).toHaveLength(20);
      await until(
        'their machines Idle',
        () => truth.counts(),
        ({ Configured }) => Configured === 5,
      );
    });

    it('preempts machines of a lower priority', async () => {
      const { truth, shard } = await world(providerFlags);
      const low = await connect(shard, 'low');
      low.setDemand(rows(40, 100));
      await until(
        'everything bound',
        () => nodesIn(low, S.Configured).length,
        (count) => count === 40,
      );
      const high = await connect(shard, 'high');
      high.setDemand(rows(3, 1_000_000));
      await until(
        'three taken',
        () => nodesIn(high, S.Configured).length,
        (count) => count === 3,
      );
      // P6: three needs, three victims, in any order of drains.
      const told = low.reclaims.flatMap(({ nodes }) => nodes);
      expect(new Set(told).size).toBe(3);
      expect(told).toHaveLength(3);
      expect(low.reclaims.every(({ preemptorPriority }) => preemptorPriority === 1_000_000)).toBe(true);
      const configuredFor = async (id: string) =>
        (await truth.machines()).filter((one) => one.cluster === id && one.state === S.Configured);
      expect(await configuredFor('low')).toHaveLength(37);
      expect(await configuredFor('high')).toHaveLength(3);
      await until(
        'the lower one knows',
        () => nodesIn(low, S.Configured).length,
        (count) => count === 37,
      );
    });

    it('resyncs an operator that reconnects', async () => {
      const { truth, shard } = await world(providerFlags);
      const operator = await connect(shard);
      operator.setDemand(rows(6));
      await until(
        '6 nodes',
        () => nodesIn(operator, S.Configured).length,
        (count) => count === 6,
      );
      await operator.close();
      const later = new SimulatedOperator({ address: shard.address, clusterId: 'blue' });
      closers.push(() => later.close());
      later.setDemand(rows(6)); // without demand the shard would rightly reclaim its nodes
      await later.connect();
      await until(
        'the resync',
        () => nodesIn(later, S.Configured).length,
        (count) => count === 6,
      );
      expect((await truth.counts()).Configured).toBe(6);
    });

    it('binds nothing twice and loses nothing after a kill in the middle of a burst', async () => {
      const dataDir = ['--data-dir', processes.folder()];
      const { provider, truth, shard } = await world(providerFlags, ...dataDir);
      const operator = await connect(shard);
      operator.setDemand(rows(30));
      await until(
        'the burst has begun',
        () => operator.bootstrapRequests.length,
        (count) => count > 3,
      );
      shard.program.child.kill('SIGKILL');
      await shard.program.exited;
      await operator.close();
      const again = await processes.shard(provider.address, ...FAST, ...dataDir);
      const second = await connect(again);
      second.setDemand(rows(30));
      await until(
        '30 nodes',
        () => truth.counts(),
        ({ Configured }) => Configured === 30,
      );
      await until(
        'and reported',
        () => nodesIn(second, S.Configured).length,
        (count) => count === 30,
      );
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      expect((await truth.counts()).Configured).toBe(30);
      const ledger = JSON.parse((await stopped(provider.program)).split('SIGTERM: ')[1]!) as Record<
        string,
        number
      >;
      expect(ledger['drain started'] ?? 0).toBe(0);
      expect(ledger['configure started']).toBe(30);
    });
  });
}

describe('when something breaks', { timeout: TIMEOUT_MS }, () => {
  it('a stopped provider delays no cycle, and the shard catches up when it continues', async () => {
    const { provider, truth, shard } = await world(ASYNCHRONOUS, '--execute-timeout', '2s');
    const operator = await connect(shard);
    operator.setDemand(rows(4));
    await until(
      '4 nodes',
      () => nodesIn(operator, S.Configured).length,
      (count) => count === 4,
    );
    provider.program.child.kill('SIGSTOP');
    operator.setDemand(rows(12));
    const cyclesBefore = (await metric(shard.http, 'bigfleet_shard_cycle_duration_seconds_count'))['']!;
    await until(
      'cycles go on',
      async () => (await metric(shard.http, 'bigfleet_shard_cycle_duration_seconds_count'))['']!,
      (count) => count > cyclesBefore + 4,
    );
    provider.program.child.kill('SIGCONT');
    await until(
      '12 nodes',
      () => truth.counts(),
      ({ Configured }) => Configured === 12,
      90_000,
    );
    await until(
      'and reported',
      () => nodesIn(operator, S.Configured).length,
      (count) => count === 12,
    );
  });

  it('a provider that lost its memory is believed, and the demand is met again', async () => {
    const { provider, shard } = await world([]);
    const operator = await connect(shard);
    operator.setDemand(rows(8));
    await until(
      '8 nodes',
      () => nodesIn(operator, S.Configured).length,
      (count) => count === 8,
    );
    provider.program.child.kill('SIGKILL');
    await provider.program.exited;
    const again = await processes.provider('--listen', provider.address, '--machines', '40', '--idle', '0.5');
    const truth = new ProviderTruth(again.address);
    closers.push(() => truth.close());
    await until(
      '8 nodes again',
      () => truth.counts(),
      ({ Configured }) => Configured === 8,
      90_000,
    );
    await until(
      'and reported',
      async () => {
        const bound = (await truth.machines())
          .filter(({ cluster }) => cluster === 'blue')
          .map(({ id }) => id);
        return JSON.stringify(bound.sort()) === JSON.stringify(nodesIn(operator, S.Configured).sort());
      },
      (isSame) => isSame,
    );
  });

  it('of two processes with one shard id the older is fenced, stops executing, turns unready and says why', async () => {
    const { provider, shard } = await world([], '--id', 'twin');
    const operator = await connect(shard);
    operator.setDemand(rows(2));
    await until(
      '2 nodes',
      () => nodesIn(operator, S.Configured).length,
      (count) => count === 2,
    );
    const younger = await processes.shard(provider.address, ...FAST, '--id', 'twin', '--min-epoch', '50');
    const other = await connect(younger, 'other');
    other.setDemand(rows(30));
    await until(
      'the younger one works',
      () => nodesIn(other, S.Configured).length,
      (count) => count === 30,
    );
    other.setDemand([]);
    await until(
      'machines were touched by both',
      () => nodesIn(other, S.Idle).length,
      (count) => count === 30,
    );
    operator.setDemand(rows(20));
    await until(
      'a log line',
      () => shard.program.output.join('\n'),
      (text) => text.includes('"fenced"'),
    );
    const ready = await fetch(`${shard.http}readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.text()).toContain('another process owns shard twin');
    await until(
      'its sessions end',
      () => operator.endings.length,
      (count) => count > 0,
    );
    expect(operator.endings[0]).toMatchObject({ status: 14 });
  });

  it('T10: makes no call for machines that two providers list, until a prefix decides', async () => {
    const first = await processes.provider('--machines', '40', '--idle', '0.5');
    const other = await processes.provider('--machines', '40', '--idle', '0.5');
    const two = [...FAST, '--provider-addr', `other=${other.address}`];
    const shard = await processes.shard(first.address, ...two);
    const operator = await connect(shard);
    operator.setDemand(rows(5));
    await until(
      'disputes',
      () => metric(shard.http, 'flotilla_disputed_machines'),
      (samples) => samples[''] === 40,
    );
    await until(
      'cycles',
      () => metric(shard.http, 'flotilla_cycles_total'),
      (samples) => samples['trigger="ordinary"']! > 5,
    );
    const actions = await metric(shard.http, 'bigfleet_shard_actions_total');
    expect(Object.values(actions).reduce((sum, count) => sum + count, 0)).toBe(0);
    shard.program.child.kill('SIGKILL');
    // The catalogue's types begin with these.
    const prefixes = ['cpu-', 'gpu-', 'mem-', 'realtime-'];
    const decided = await processes.shard(
      first.address,
      ...[...two, '--provider-optional', 'other', '--min-epoch', '9'],
      ...prefixes.flatMap((prefix) => ['--provider-id-prefix', `sim=${prefix}`]),
    );
    const again = await connect(decided);
    again.setDemand(rows(5));
    await until(
      'nodes',
      () => nodesIn(again, S.Configured).length,
      (count) => count === 5,
    );
    expect(await metric(decided.http, 'flotilla_disputed_machines')).toEqual({ '': 0 });
    for (const [{ address }, configured] of [
      [first, 5],
      [other, 0],
    ] as const) {
      const truth = new ProviderTruth(address);
      closers.push(() => truth.close());
      expect((await truth.counts()).Configured ?? 0).toBe(configured);
    }
  });

  it('the second process on a data directory refuses to start, with one line', async () => {
    const dataDir = processes.folder();
    const { provider } = await world([], '--data-dir', dataDir);
    const second = processes.start(
      'shard',
      ...[
        '--provider-addr',
        provider.address,
        '--data-dir',
        dataDir,
        '--listen',
        '127.0.0.1:0',
        '--metrics-addr',
        '0',
      ],
    );
    expect(await second.exited).toBe(2);
    expect(second.output).toHaveLength(1);
    expect(second.output[0]).toContain(dataDir);
  });

  it('SIGTERM ends a working shard in order, with exit code 0', async () => {
    const { shard } = await world(['--latency', '5s/6s']);
    const operator = await connect(shard);
    operator.setDemand(rows(30));
    await until(
      'work has begun',
      () => operator.bootstrapRequests.length,
      (count) => count > 0,
    );
    shard.program.child.kill('SIGTERM');
    expect(await shard.program.exited).toBe(0);
    expect(shard.program.output.at(-1)).toContain('stopped');
    expect(operator.endings[0]).toMatchObject({ status: 14 });
  });

  it('a shard without a provider refuses to start and names what to do', async () => {
    const program = processes.start('shard');
    expect(await program.exited).toBe(2);
    expect(program.output.join('\n')).toContain('flotilla up');
  });
});

describe('with a coordinator', { timeout: TIMEOUT_MS }, () => {
  it('K1: the shard reports to it, acks its instructions and passes on its term, and works on without it', async () => {
    const coordinator = await TestCoordinator.serve();
    closers.push(() => coordinator.close());
    const { state } = coordinator;
    state.term = 7;
    const { shard } = await world([], ...['--coordinator-addr', coordinator.address], ...COORDINATED);
    const operator = await connect(shard);
    operator.setDemand(rows(50)); // ten more than there are
    await until(
      '40 nodes',
      () => nodesIn(operator, S.Configured).length,
      (count) => count === 40,
    );
    const report = await until(
      'a report of it',
      () => state.reports.at(-1)!,
      ({ shortfalls, summary }) => summary!.totalMachines === 40 && shortfalls.length === 1,
    );
    expect(report).toMatchObject({ shardId: 'shard-0', shardAddress: 'shard.example:7780' });
    expect(report.shortfalls[0]).toMatchObject({ priority: 1_000, deficit: { resources: { cpu: '10' } } });
    state.instruct('shard-0', { assignDomain: { topologyKey: 'zone', topologyValue: 'a' } });
    await until(
      'the ack',
      () => state.acks.length,
      (count) => count === 1,
    );
    expect(state.acks[0]).toMatchObject({ outcome: 1 });
    const term = await until(
      'the term',
      async () => {
        const second = await connect(shard, 'second');
        return second.coordinatorTerm;
      },
      (seen) => seen === 7,
    );
    expect(term).toBe(7);
    await coordinator.close();
    operator.setDemand(rows(3));
    await until(
      'work goes on',
      () => nodesIn(operator, S.Configured).length,
      (count) => count === 3,
    );
    expect((await fetch(`${shard.http}readyz`)).status).toBe(200);
  });
});
