/**
 * Replicas of one shard as users run them: separate processes and a real etcd. The provider runs in this process, so that its ledger
 * shows every call with the epoch of the process that sent it.
 */
import { ChannelCredentials } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AdminClient } from '../../src/admin/client.ts';
import type { ApiEvents } from '../../src/dashboard/api/types.ts';
import { AdminFolder } from '../../src/identity/admin-folder.ts';
import { MachineState as S } from '../../src/machine/state.ts';
import { Operator } from '../../src/needs/requirements.ts';
import type { RollupRow } from '../../src/needs/rollup.ts';
import { Balancer } from '../../src/simulation/chaos/balancer.ts';
import { SimulatedOperator } from '../../src/simulation/operators/operator.ts';
import { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import { serveProvider } from '../../src/simulation/provider/server.ts';
import { EtcdServer } from '../directory/etcd-server.ts';
import { machines } from '../shard/fixture.ts';
import { metric, Processes, type ShardProgram, until } from './processes.ts';

const TIMEOUT_MS = 180_000;
const LEASE = ['--lease', '2s'];
const FAST = ['--cycle-interval', '300ms', '--reclaim-cap-fraction', '0', '--empty-rollup-guard=false'];
const MUTATING = ['create', 'configure', 'drain', 'delete'];

let processes = new Processes();
let etcd: EtcdServer;
let fleets = 0;
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

/** A provider, and a fleet of its own in the directory. */
class World {
  readonly provider = new SimulatedProvider({ settings: { seed: 1 } });
  readonly fleet = `test-${++fleets}`;
  #address = '';

  async open(): Promise<this> {
    for (const machine of machines(40, 'm', { state: S.Idle })) this.provider.add(machine);
    const served = await serveProvider(this.provider, '127.0.0.1:0', { closeGraceMs: 50 });
    closers.push(() => served.close());
    this.#address = served.address;
    return this;
  }

  replica(name: string, ...flags: string[]): Promise<ShardProgram> {
    const directory = ['--directory', `etcd://${etcd.address}`, '--fleet', this.fleet, '--replica', name];
    return processes.shard(this.#address, ...directory, ...LEASE, ...FAST, ...flags);
  }

  /** Epochs of all calls that changed machines, or tried to. */
  get epochs(): number[] {
    const entries = this.provider.ledger.entries().filter(({ event }) => MUTATING.includes(event));
    return [...new Set(entries.map(({ token }) => Number(token?.epoch ?? 0)))];
  }
}

/** Needs for so many machines, one each. */
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

async function connect({ address }: { address: string }, clusterId = 'blue'): Promise<SimulatedOperator> {
  const operator = new SimulatedOperator({ address, clusterId, reconnect: { initialMs: 50 } });
  closers.push(() => operator.close());
  await operator.connect();
  return operator;
}

function hasNodes(operator: SimulatedOperator, count: number): Promise<unknown> {
  return until(
    `${count} nodes`,
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

async function withAdmin<Reply>(
  dataDir: string,
  run: (admin: AdminClient) => Promise<Reply>,
): Promise<Reply> {
  const folder = AdminFolder.find(dataDir);
  const admin = new AdminClient(`unix:${folder.socketPath}`, ChannelCredentials.createInsecure());
  try {
    return await run(admin);
  } finally {
    admin.close();
    folder.close();
  }
}

function isStandby({ http }: ShardProgram): Promise<unknown> {
  return until(
    'the standby is ready',
    async () => (await fetch(`${http}readyz`)).text(),
    (text) => text === 'standby\n',
  );
}

async function overviewOf({ http }: ShardProgram): Promise<{ epoch: number; cycle: number }> {
  return (await (await fetch(`${http}api/v1/overview`)).json()) as { epoch: number; cycle: number };
}

async function eventsOf({ http }: ShardProgram, kinds: string): Promise<ApiEvents> {
  return (await (await fetch(`${http}api/v1/events?limit=500&kind=${kinds}`)).json()) as ApiEvents;
}

async function epochOf({ http }: ShardProgram): Promise<number> {
  return (await metric(http, 'flotilla_epoch'))['']!;
}

describe('replicas of a shard', { timeout: TIMEOUT_MS }, () => {
  it('F4, F5, F6: a standby relays and sends no mutating call, and takes over at SIGTERM: no node is drained or bound twice', async () => {
    const world = await new World().open();
    const { ledger } = world.provider;
    const a = await world.replica('a');
    await hasRole(a, 'active');
    const b = await world.replica('b');
    await isStandby(b);
    const operator = await connect(b); // which relays it to the active one
    operator.setDemand(rows(10));
    await hasNodes(operator, 10);
    expect(world.epochs).toEqual([await epochOf(a)]);
    expect(await epochOf(b)).toBe(0);
    expect(await (await fetch(`${b.http}api/v1/overview`)).json()).toMatchObject({
      machines: 40,
      replica: { name: 'b', role: 'standby', activeReplica: 'a', activeAddress: a.address },
    });

    a.program.child.kill('SIGTERM');
    expect(await a.program.exited).toBe(0);
    // Confirmed without waiting for a lease: the former replica gave its epoch up.
    await hasRole(b, 'active');
    operator.setDemand(rows(12)); // it connects again, and b serves it itself
    await hasNodes(operator, 12);
    expect(ledger.count('configure')).toBe(12);
    expect(ledger.count('drain')).toBe(0);
    // The API and the pages show the shard that decides now, not the retired one of the standby.
    const { cycle } = await overviewOf(b);
    await until(
      'the overview follows the new cycles',
      () => overviewOf(b),
      (overview) => overview.cycle > cycle,
    );
    await hasRole(b, 'active'); // on a busy machine it may be adrift for a moment
    expect((await overviewOf(b)).epoch).toBe(await epochOf(b));
    // Y1: as a standby it recorded what its listings showed.
    const { events } = await eventsOf(b, 'bound,takeover');
    const bound = new Set(events.filter(({ kind }) => kind === 'bound').map(({ machineId }) => machineId));
    expect(bound.size).toBe(12);
    const took = events.find(({ kind }) => kind === 'takeover')!;
    expect(took.sentence).toMatch(/^This process took over the shard: replica b is active with epoch \d+\.$/);
    for (const { atMs, epoch } of events) expect(epoch > 0).toBe(atMs >= took.atMs);
    operator.setDemand(rows(11));
    await until(
      'a drain',
      () => ledger.count('drain'),
      (count) => count === 1,
    );
    const epoch = await epochOf(b);
    expect(world.epochs.at(-1)).toBe(epoch);
    expect(Math.min(...world.epochs)).toBeLessThan(epoch);
  });

  it('F3: adrift, a replica binds and removes nothing; replaced while it stood still, it exits with 75', async () => {
    const world = await new World().open();
    const { ledger } = world.provider;
    const a = await world.replica('a');
    const operator = await connect(a);
    operator.setDemand(rows(10));
    await hasNodes(operator, 10);
    await hasRole(a, 'active');
    etcd.pause();
    try {
      await hasRole(a, 'adrift');
      operator.setDemand(rows(12));
      await hasNodes(operator, 12);
      operator.setDemand(rows(9));
      await until(
        'held removals',
        () => metric(a.http, 'flotilla_removals_held_total'),
        (held) => held['']! > 0,
      );
      expect(ledger.count('drain')).toBe(0);
      expect(operator.reclaims).toEqual([]);
      const { replica } = (await (await fetch(`${a.http}api/v1/overview`)).json()) as {
        replica: { role: string; text: string };
      };
      expect(replica.role).toBe('adrift');
      expect(replica.text).toContain('removals are held');
    } finally {
      etcd.unpause();
    }
    await until(
      'the held drains',
      () => ledger.count('drain'),
      (count) => count === 3,
    );

    const b = await world.replica('b');
    await isStandby(b);
    a.program.child.kill('SIGSTOP');
    await hasRole(b, 'active');
    a.program.child.kill('SIGCONT');
    expect(await a.program.exited).toBe(75);
    expect(a.program.output.join('\n')).toContain('"event":"replaced"');
  });

  it('C4, H2, F4: kill switch and pauses of a killed replica hold the next one back, until people lift them there', async () => {
    const world = await new World().open();
    const [dataA, dataB] = [processes.folder(), processes.folder()];
    const a = await world.replica('a', '--actuation-paused', '--data-dir', dataA);
    await hasRole(a, 'active');
    const b = await world.replica('b', '--standby', 'cold', '--data-dir', dataB);
    await isStandby(b);
    const by = { who: 'ann', why: 'a drill' };
    await expect(withAdmin(dataB, (admin) => admin.pause({ pauses: ['bind'], ...by }))).rejects.toThrow(
      'This replica is a standby',
    );
    const forMs = 3_600_000;
    const { warning } = await withAdmin(dataA, (admin) => admin.pause({ pauses: ['bind'], forMs, ...by }));
    expect(warning).toBe('');
    a.program.child.kill('SIGKILL');
    await hasRole(b, 'active');
    await until(
      'the pause at the next replica',
      () => withAdmin(dataB, (admin) => admin.controls()),
      ({ controls }) =>
        controls.length === 1 && controls[0]!.who === 'ann' && controls[0]!.pauses[0] === 'bind',
    );
    await withAdmin(dataB, (admin) => admin.resume({ id: 'c1', ...by }));
    const operator = await connect(b);
    operator.setDemand(rows(3));
    await until(
      'suppressed actions',
      () => metric(b.http, 'bigfleet_shard_actions_suppressed_total'),
      (counts) => counts['kind="Bootstrap"']! > 0,
    );
    expect(world.epochs).toEqual([]);
    b.program.child.kill('SIGHUP');
    await hasNodes(operator, 3);
  });

  it('F1: another shard with the same provider does not start', async () => {
    const world = await new World().open();
    const a = await world.replica('a');
    await hasRole(a, 'adrift');
    const failure = await world.replica('x', '--id', 'other').catch((error: Error) => error);
    expect(String(failure)).toContain('it ended with 2');
    expect(String(failure)).toContain('Provider sim belongs to shard shard-0');
  });

  it('F5, F6: a rolling update of both replicas under load refuses no session, and loses or doubles no action', async () => {
    const world = await new World().open();
    const { ledger } = world.provider;
    const balancer = await Balancer.listen();
    closers.push(() => balancer.close());
    const a = await world.replica('a');
    await hasRole(a, 'active');
    const b = await world.replica('b');
    await isStandby(b);
    balancer.targets = [a, b];
    const clusters = Array.from({ length: 8 }, (_, index) => `c-${index}`);
    const operators = await Promise.all(clusters.map((clusterId) => connect(balancer, clusterId)));
    expect(Object.values(await metric(b.http, 'flotilla_relayed_streams'))).toEqual([clusters.length / 2]);

    let demand = 0;
    const more = () => {
      if (demand < 4) demand++;
      for (const operator of operators) operator.setDemand(rows(demand));
    };
    const load = setInterval(more, 500);
    closers.push(() => clearInterval(load));
    const replace = async (old: ShardProgram, name: string): Promise<ShardProgram> => {
      const next = await world.replica(name);
      await isStandby(next);
      balancer.targets = [...balancer.targets.filter((target) => target !== old), next, old];
      old.program.child.kill('SIGTERM');
      expect(await old.program.exited).toBe(0);
      balancer.targets = balancer.targets.filter((target) => target !== old);
      return next;
    };
    const nextB = await replace(b, 'b-2');
    more();
    const nextA = await replace(a, 'a-2');
    more();
    await Promise.race([hasRole(nextA, 'active'), hasRole(nextB, 'active')]);
    await until(
      'all nodes',
      () => operators.map((operator) => operator.nodesIn(S.Configured).length),
      (nodes) => nodes.every((count) => count === demand),
    );
    expect(demand).toBe(4);
    expect(ledger.count('configure')).toBe(clusters.length * demand);
    expect(ledger.count('drain')).toBe(0);
    for (const { counters, endings, isConnected } of operators)
      expect(endings.slice(counters.sessionsOpened - (isConnected ? 1 : 0))).toEqual([]);
  });
});
