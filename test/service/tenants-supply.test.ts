/** What a hostile provider lists, on real processes beside an honest provider and an honest cluster. */
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { MachineState as S } from '../../src/machine/state.ts';
import { frameOf, inventedNames } from '../../src/simulation/chaos/hostile-rows.ts';
import { until } from './processes.ts';
import { honestRows, listedMachine, OtherProvider, TenantStage } from './tenant-stage.ts';

const TIMEOUT_MS = 300_000;

function names(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`other.example/r-${index}`, '1']));
}

const with256Names = (id: string) => listedMachine(id, { resources: { resources: names(256) } });

describe('a hostile provider beside an honest one', { timeout: TIMEOUT_MS }, () => {
  const other = new OtherProvider();
  let stage: TenantStage;

  /** Machines that the shard has of the other provider. */
  const known = async () => {
    const { byState } = (await stage.witness.tenant('provider', 'other'))!;
    return Object.values(byState).reduce((sum, count) => sum + count, 0);
  };
  const knows = (count: number) => until(`${count} machines`, known, (seen) => seen === count);

  beforeAll(async () => {
    other.machines.add({
      id: 'amd-0',
      kind: {
        instanceType: 'amd-8',
        zone: 'other-a',
        capacityType: CapacityType.OnDemand,
        labels: { 'topology.kubernetes.io/zone': 'other-a' },
        resources: { cpu: '8', memory: '64Gi', 'amd.com/gpu': '8' },
        allocatable: null,
      },
      pricePerHourUsd: 100,
      interruptionProbability: 0,
      state: S.Idle,
    });
    other.rows = [with256Names('first')];
    stage = await TenantStage.open({ other });
  });
  afterAll(() => stage?.close());

  it('T6: a machine with 256 resource names in the first listing hides no other machine and no other name', async () => {
    await stage.refused('provider', 'other', 1, 'resource names');
    await knows(1);
    const third = await stage.connect('third');
    third.setDemand(honestRows(1, 1_000, { cpu: '1', 'amd.com/gpu': '1' }));
    await third.waitForNode(({ state }) => state === S.Configured);
    await stage.staysWell();
    third.setDemand([]);
    await third.waitForNode(({ state }) => state === S.Idle);
    await third.close();
  });

  for (const [what, row, reason] of [
    ['a machine id of 600 bytes', listedMachine('i'.repeat(600)), 'the limit is 512'],
    ['an instance type of 600 bytes', listedMachine('type', { instanceType: 't'.repeat(600) }), '512'],
    ['a zone of 600 bytes', listedMachine('zone', { zone: 'z'.repeat(600) }), '512'],
    ['a label value of 900 KB', listedMachine('value', { labels: { a: 'v'.repeat(900_000) } }), '1024'],
    ['a label key of 318 bytes', listedMachine('key', { labels: { ['k'.repeat(318)]: 'v' } }), '317'],
  ] as const)
    it(`T3: the shard skips and names a row with ${what}`, async () => {
      other.rows = [row, listedMachine('beside')];
      await stage.refused('provider', 'other', 1, reason);
      await knows(2);
      await stage.staysWell();
    });

  it('T5: the shard skips and names rows that offend, whatever is wrong with them, and keeps the others', async () => {
    const before = (await stage.witness.tenant('provider', 'other'))!.refused;
    const good = Array.from({ length: 20 }, (_, index) => listedMachine(`good-${index}`));
    other.rows = [
      ...good.slice(0, 10),
      listedMachine(''),
      listedMachine('price', { pricePerHour: -1 }),
      listedMachine('state', { state: 99 }),
      listedMachine('quantity', { resources: { resources: { cpu: 'many' } } }),
      ...good.slice(10),
    ];
    other.tail = Buffer.from([0x0a, 4, 0x0a, 0x7f, 0x41, 0x42]); // a row whose id is longer than the row
    await knows(21);
    await stage.refused('provider', 'other', before + 5, '');
    await stage.staysWell();
    other.tail = Buffer.alloc(0);
  });

  it('T6: a provider of which the shard refuses every row makes it not ready, and the shard acts for the others', async () => {
    other.isEmpty = true;
    other.rows = Array.from({ length: 10 }, (_, index) => with256Names(`names-${index}`));
    await stage.staysWell('other');
    other.rows = [listedMachine('again')];
    await stage.staysWell();
  });

  it('T12: labels and capacities that differ in each of 16 listings leave the memory bounded', async () => {
    let listing = 0;
    other.beforeListing = () => {
      listing++;
      other.rows = Array.from({ length: 2_000 }, (_, index) =>
        listedMachine(`drift-${index}`, {
          labels: { [`drift-${listing}-${index}`]: `value-${listing}-${index}`, drift: `${listing}` },
          allocatable: { resources: { cpu: `${4_000 + 2_000 * listing + index}m`, memory: '16Gi' } },
        }),
      );
    };
    await until(
      '16 listings',
      () => listing,
      (count) => count > 16,
    );
    await knows(2_000);
    await stage.staysWell();
  });
});

describe('before the first listing', { timeout: TIMEOUT_MS }, () => {
  it('T6: invented resource names leave room for the names of all machines', async () => {
    const stage = new TenantStage();
    try {
      const address = await unusedAddress();
      await stage.startShard(address);
      const invent = async (clusterId: string) => {
        const operator = await stage.connect(clusterId, 0);
        operator.sendBytes(frameOf(clusterId, [inventedNames(15, clusterId)]));
        await stage.accepted(clusterId, 1);
      };
      await Promise.all(Array.from({ length: 12 }, (_, at) => invent(`hostile-${at}`)));
      expect(await stage.witness.notReady()).not.toBe('');
      await stage.startProvider(undefined, address);
      await stage.begin();
      expect((await stage.witness.tenant('provider', 'sim'))!.refused).toBe(0);
      await stage.staysWell();
    } finally {
      await stage.close();
    }
  });
});

async function unusedAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
}

describe('a provider that lists more machines than a shard holds', { timeout: TIMEOUT_MS }, () => {
  const other = new OtherProvider();
  let stage: TenantStage;

  beforeAll(async () => {
    const label = (index: number) => ({ labels: { 'other.example/serial': `s-${index}` } });
    other.rows = Array.from({ length: 400 }, (_, index) => listedMachine(`other-${index}`, label(index)));
    stage = await TenantStage.open({ other, shardFlags: ['--max-machines', '256'] });
  });
  afterAll(() => stage?.close());

  it('T1: leaves another provider its part of the machines, and the shard names what it refuses', async () => {
    await stage.refused('provider', 'other', 1, 'reserved for others');
    const machinesOf = async (name: string) => {
      const { byState } = (await stage.witness.tenant('provider', name))!;
      return Object.values(byState).reduce((sum, count) => sum + count, 0);
    };
    expect(await machinesOf('other')).toBe(192); // 64 of 256 are for the honest one, which has 60
    await stage.staysWell();
  });
});
