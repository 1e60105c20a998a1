/** F7, F8: several shards as one, as users run them: separate processes, a real etcd, and providers that record every call. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { MachineState as S } from '../../src/machine/state.ts';
import { Operator } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { SimulatedOperator } from '../../src/simulation/operators/operator.ts';
import { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import { serveProvider } from '../../src/simulation/provider/server.ts';
import type { ListShardReportsResponse, ListShardsResponse } from '../../src/wire/protocol.generated.ts';
import { coordinatorService } from '../../src/wire/services.ts';
import { EtcdServer } from '../directory/etcd-server.ts';
import { machines } from '../shard/fixture.ts';
import { metric, Processes, type ShardProgram, until } from './processes.ts';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const TIMEOUT_MS = 240_000;
const FAST = [
  '--cycle-interval',
  '300ms',
  '--reclaim-cap-fraction',
  '0',
  '--empty-rollup-guard=false',
  '--coordinator-heartbeat-interval',
  '300ms',
];

let processes = new Processes();
let etcd: EtcdServer;
const closers: (() => void | Promise<void>)[] = [];
beforeAll(async () => {
  etcd = await EtcdServer.start();
}, 400_000);
afterAll(() => etcd.close());
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  await processes.end();
  processes = new Processes();
});

/** A shard with a provider of its own. */
class Member {
  readonly provider = new SimulatedProvider({ settings: { seed: 1 } });
  readonly id: string;
  #address = '';

  constructor(id: string) {
    this.id = id;
  }

  async open(): Promise<this> {
    for (const machine of machines(30, this.id, { state: S.Idle })) this.provider.add(machine);
    const served = await serveProvider(this.provider, '127.0.0.1:0', { closeGraceMs: 50 });
    closers.push(() => served.close());
    this.#address = served.address;
    return this;
  }

  start(...flags: string[]): Promise<ShardProgram> {
    const directory = ['--directory', `etcd://${etcd.address}`, '--lease', '2s', '--id', this.id];
    return processes.shard(`rack-${this.id}=${this.#address}`, ...directory, ...FAST, ...flags);
  }

  count(call: 'configure' | 'drain'): number {
    return this.provider.ledger.count(call);
  }
}

function rows(count: number): RollupRow[] {
  return Array.from({ length: count }, (_, index) => ({
    requirements: [{ key: 'topology.kubernetes.io/zone', operator: Operator.Exists, values: [] }],
    aggregate: { cpu: '1' },
    minUnit: { cpu: '1' },
    priority: 1_000,
    spread: [],
    interruptionBucket: 1,
    reclamationBucket: 1,
    group: `g-${String(index).padStart(4, '0')}`,
  }));
}

function operatorOf({ address }: ShardProgram, clusterId: string): SimulatedOperator {
  const operator = new SimulatedOperator({ address, clusterId, reconnect: { initialMs: 50 } });
  closers.push(() => operator.close());
  void operator.connect().catch(() => {}); // it goes on trying
  return operator;
}

function hasNodes(operator: SimulatedOperator, count: number): Promise<unknown> {
  return until(
    `${count} nodes of ${operator.clusterId}`,
    () => operator.nodesIn(S.Configured).length,
    (nodes) => nodes === count,
  );
}

function hasRole({ http }: ShardProgram, role: string): Promise<unknown> {
  return until(
    `the replica is ${role}`,
    () => metric(http, 'flotilla_replica_role'),
    (roles) => roles[`role="${role}"`] === 1,
  );
}

/** A call of the Coordinator service, at any replica. */
function coordinator<Reply>(
  { address }: { address: string },
  name: keyof typeof coordinatorService,
  request: object,
): Promise<Reply> {
  const { path, requestSerialize, responseDeserialize } = coordinatorService[name];
  const client = new Client(address, credentials.createInsecure());
  return new Promise<Reply>((resolve, reject) => {
    client.makeUnaryRequest(
      path,
      requestSerialize as (value: object) => Buffer,
      responseDeserialize as (bytes: Buffer) => Reply,
      request,
      { deadline: Date.now() + 60_000 },
      (error, reply) => (error === null ? resolve(reply!) : reject(error)),
    );
  }).finally(() => client.close());
}

const shardsAt = (shard: ShardProgram) =>
  coordinator<ListShardsResponse>(shard, 'ListShards', {}).then(({ shards }) =>
    shards.map(({ shardId, address }) => `${shardId} ${address}`).sort(),
  );

function flotilla(...argv: string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...argv], (failure, out, error) =>
      resolve({ code: typeof failure?.code === 'number' ? failure.code : 0, out: `${out}${error}` }),
    );
  });
}

it(
  'F7: one address serves the clusters of all shards, and a new, empty shard is given none of a full one',
  async () => {
    const full = await new Member('full').open();
    const empty = await new Member('empty').open();
    const a = await full.start();
    const east = operatorOf(a, 'east');
    east.setDemand(rows(6));
    await hasNodes(east, 6);

    // The cluster of the full shard asks the new one, before that has listed anything.
    const b = await empty.start();
    east.close();
    const again = operatorOf(b, 'east');
    again.setDemand(rows(7));
    await until(
      'the seventh machine',
      () => full.count('configure'),
      (count) => count === 7,
    );
    const west = operatorOf(b, 'west');
    west.setDemand(rows(4));
    await hasNodes(west, 4);
    west.close();
    const far = operatorOf(a, 'west');
    await far.connect();
    far.setDemand(rows(5));
    await until(
      'the fifth machine',
      () => empty.count('configure'),
      (count) => count === 5,
    );
    expect([full.count('configure'), full.count('drain'), empty.count('drain')]).toEqual([7, 0, 0]);

    const clusters = await flotilla('fleet', 'clusters', '--api', b.http, '--json');
    expect(JSON.parse(clusters.out).clusters).toEqual([
      { cluster: 'east', shard: 'full' },
      { cluster: 'west', shard: 'empty' },
    ]);
    const shards = await flotilla('fleet', 'shards', '--api', a.http, '-o', 'wide');
    expect(shards).toMatchObject({ code: 0, out: expect.stringContaining('2 of 2 shards of fleet default') });
    expect(shards.out).toContain(b.address);
    expect((await flotilla('fleet', 'clusters', '--api', a.http, '--shard', 'full', '-o', 'name')).out).toBe(
      'east\n',
    );
    expect(await metric(a.http, 'flotilla_shards_not_adopted')).toEqual({ '': 0 });

    // F8: one of the two is the coordinator; both answer for it, and both report to it.
    const both = [`empty ${b.address}`, `full ${a.address}`];
    for (const asked of [a, b])
      await until(
        'the registered shards',
        () => shardsAt(asked),
        (shards) => JSON.stringify(shards) === JSON.stringify(both),
      );
    for (const [at, asked] of [a, b].entries())
      await coordinator(asked, 'AssignDomain', {
        topologyKey: 'rack',
        topologyValue: `r${at}`,
        shardId: 'empty',
      });
    const domains = () => flotilla('fleet', 'domains', '--api', a.http, '-o', 'name');
    await until('both domains', domains, ({ out }) => out === 'rack=r0\nrack=r1\n');
    const reported = () => coordinator<ListShardReportsResponse>(a, 'ListShardReports', { shardId: 'empty' });
    await until(
      'a report with machines',
      reported,
      ({ reports }) => reports[0]?.summary?.totalMachines === 30,
    );
    const unknown = coordinator(b, 'AssignDomain', { topologyKey: 'r', topologyValue: 'x', shardId: 'none' });
    await expect(unknown).rejects.toThrow('No shard "none" has reported');
  },
  TIMEOUT_MS,
);

it(
  'F7: routes outlive the processes, and a session waits for the shard of its cluster while that is away',
  async () => {
    const one = await new Member('one').open();
    const two = await new Member('two').open();
    const fleet = ['--fleet', 'restarts'];
    const a = await one.start(...fleet);
    const b = await two.start(...fleet);
    await hasRole(b, 'adrift');
    const home = operatorOf(a, 'home');
    home.setDemand(rows(3));
    await hasNodes(home, 3);
    home.close();
    a.program.child.kill('SIGTERM');
    expect(await a.program.exited).toBe(0);
    const waiting = operatorOf(b, 'home');
    waiting.setDemand(rows(5));
    await until(
      'the session is held',
      () => metric(b.http, 'flotilla_relay_held_streams'),
      (held) => held['']! >= 1,
    );
    expect(two.count('configure')).toBe(0);
    await one.start(...fleet);
    await hasNodes(waiting, 5);
    expect([one.count('configure'), one.count('drain'), two.count('configure')]).toEqual([5, 0, 0]);
  },
  TIMEOUT_MS,
);
