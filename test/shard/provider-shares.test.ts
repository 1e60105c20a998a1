/** One provider that fills tables, beside another one. */
import { describe, expect, it } from 'vitest';
import type { MachineInit } from '../../src/wire/protocol.generated.ts';
import { S } from './fixture.ts';
import { Parts } from './listing-world.ts';

const CYCLE_SECONDS = 10;
const MACHINES_MAX = 64;
/** Half of the table in two equal parts. */
const RESERVED = 16;

function listed(id: string, parts: MachineInit = {}): MachineInit {
  return {
    id,
    state: S.Idle,
    host: { provider: 'sim', ref: id },
    instanceType: 'a',
    zone: 'zone-a',
    capacityType: 1,
    pricePerHour: 1,
    resources: { resources: { cpu: '4', memory: '16Gi' } },
    ...parts,
  };
}

function many(
  count: number,
  prefix: string,
  parts: (index: number) => MachineInit = () => ({}),
): MachineInit[] {
  return Array.from({ length: count }, (_, index) => {
    const id = `${prefix}-${String(index).padStart(4, '0')}`;
    return listed(id, parts(index));
  });
}

const known = ({ shard: { inventory } }: Parts, provider: number) => {
  const { state, provider: owner } = inventory.columns;
  let count = 0;
  for (let slot = 1; slot < state.length; slot++) if (state[slot] !== 0 && owner[slot] === provider) count++;
  return count;
};

const rejections = (world: Parts, provider: string) =>
  world.events.filter((event) => event.kind === 'record_rejected' && event.provider === provider);

describe('a provider that never answers', () => {
  const SECONDS = 20;

  it('T1, X3: holds slots and places in the queue only up to its share: others are called at once', async () => {
    const idle = (prefix: string, price: number) => many(200, prefix, () => ({ pricePerHour: price }));
    const world = new Parts([idle('a', 1), idle('b', 2)], { machinesMax: 512, executeConcurrency: 8 });
    world.hangsAt = 0;
    world.shard.start();
    world.demand(300);
    await world.run(SECONDS);
    const called = (provider: number) => world.calls.filter((call) => call.provider === provider).length;
    expect(called(0)).toBeGreaterThanOrEqual(5);
    expect(called(0)).toBeLessThanOrEqual(6);
    // They fail: the need backs off, and tries one at a time.
    expect(called(1)).toBeGreaterThanOrEqual(3);
  });

  it('T1, X13: leaves a quarter of the reads under way to others', async () => {
    const creating = (prefix: string) => many(200, prefix, () => ({ state: S.Creating, host: null }));
    const world = new Parts([creating('a'), creating('b')], { machinesMax: 512, executeConcurrency: 64 });
    world.hangsAt = 0;
    world.shard.start();
    await world.run(1);
    const { inventory, reads } = world.shard;
    for (const machine of world.machines.flat()) reads.recheck(inventory.find(machine.id!));
    await world.run(1);
    const read = (prefix: string) => new Set(world.reads.filter((id) => id.startsWith(prefix))).size;
    expect([read('a'), read('b')]).toEqual([48, 200]);
    expect(reads.inFlightCount).toBe(48);
  });
});

describe('a provider that lists more than its share', () => {
  it('T1: leaves the slots that are reserved for another, which lists later', async () => {
    const world = new Parts([many(MACHINES_MAX, 'a'), []], { machinesMax: MACHINES_MAX });
    world.shard.start();
    await world.run(CYCLE_SECONDS);
    expect(known(world, 0)).toBe(MACHINES_MAX - RESERVED);
    world.machines[1] = many(RESERVED, 'b');
    await world.run(2 * CYCLE_SECONDS);
    expect([known(world, 0), known(world, 1)]).toEqual([MACHINES_MAX - RESERVED, RESERVED]);
    expect(rejections(world, 'p0')[0]).toMatchObject({
      detail: expect.stringMatching(/^Machine a-\d+: Provider p0 has 48 of the 64 entries .* machines/),
    });
    expect(rejections(world, 'p1')).toEqual([]);
    expect(world.shard.readiness.notReady()).toBe('');
  });

  it('T1: gets them again, with cursors too, when other machines of its own are gone', async () => {
    const world = new Parts([many(MACHINES_MAX, 'a'), many(RESERVED, 'b')], {
      machinesMax: MACHINES_MAX,
      isIncremental: true,
      fullListEveryCycles: 0,
    });
    world.shard.start();
    await world.run(CYCLE_SECONDS);
    expect(known(world, 0)).toBe(MACHINES_MAX - RESERVED);
    world.machines[0] = world.machines[0]!.slice(32);
    await world.run(3 * CYCLE_SECONDS);
    expect(known(world, 0)).toBe(MACHINES_MAX - RESERVED); // S6: it lacks 32 of 48
    await world.run(600);
    await world.run(3 * CYCLE_SECONDS);
    expect(known(world, 0)).toBe(32);
    expect(world.shard.inventory.find('a-0063')).toBeGreaterThan(0);
  });

  it('T1: machines that all differ in a label leave another provider its shapes, and hide none of its own machines', async () => {
    const machinesMax = 256;
    // 512 shapes of 1 KiB: each of these has more than four.
    const value = 'v'.repeat(1_000);
    const labels = (index: number) => ({
      labels: Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`l-${at}`, `${index}-${value}`])),
    });
    const world = new Parts([[...many(150, 'a', labels), ...many(10, 'plain')], []], { machinesMax });
    world.shard.start();
    await world.run(CYCLE_SECONDS);
    const shown = known(world, 0);
    expect(shown).toBeGreaterThan(50);
    expect(shown).toBeLessThan(150);
    for (let index = 0; index < 10; index++) {
      expect(world.shard.inventory.find(`plain-000${index}`)).toBeGreaterThan(0);
    }
    expect(rejections(world, 'p0')[0]).toMatchObject({
      detail: expect.stringContaining('bytes that the shard holds of shapes'),
    });
    world.machines[1] = many(20, 'b', (index) => ({ labels: { rack: `r-${index}` } }));
    await world.run(2 * CYCLE_SECONDS);
    expect(known(world, 1)).toBe(20);
    expect(rejections(world, 'p1')).toEqual([]);
  });

  for (const [table, parts] of [
    ['ids', (index: number) => ({ id: `${'i'.repeat(480)}-${index}` })],
    ['hosts', (index: number) => ({ host: { provider: 'sim', ref: `${'h'.repeat(1_000)}-${index}` } })],
    ['errors', (index: number) => ({ state: S.Failed, lastError: `${'e'.repeat(4_000)}-${index}` })],
    ['names of hosts', (index: number) => ({ host: { provider: `${'n'.repeat(900)}-${index}`, ref: 'h' } })],
  ] as const)
    it(`T1: long texts (${table}) leave another provider its part`, async () => {
      const world = new Parts(
        [many(200, 'a', parts), many(30, 'b', () => ({ state: S.Failed, lastError: 'broken' }))],
        {
          machinesMax: 256,
        },
      );
      world.bend = async (part, _, provider) => {
        if (provider === 1) await world.run(0.1); // after the other one
        return part;
      };
      world.shard.start();
      await world.run(3 * CYCLE_SECONDS);
      expect(known(world, 0)).toBeLessThan(200);
      expect(known(world, 0)).toBeGreaterThan(0);
      expect(known(world, 1)).toBe(30);
      expect(rejections(world, 'p0').length).toBeGreaterThan(0);
      expect(rejections(world, 'p1')).toEqual([]);
    });

  it('T1: bindings to invented clusters, needs and groups leave demand its half of the tables', async () => {
    const machinesMax = 16_384;
    const bound = many(8_192, 'a', (index) => ({ state: S.Configured, cluster: `invented-${index}` }));
    const world = new Parts([bound], { machinesMax });
    world.shard.start();
    await world.run(CYCLE_SECONDS);
    const { clusters } = world.shard.inventory.tables;
    expect(known(world, 0)).toBe(8_192);
    expect(clusters.entriesMax).toBe(16_384);
    world.machines[0] = many(9_000, 'a', (index) => ({ state: S.Configured, cluster: `invented-${index}` }));
    await world.run(CYCLE_SECONDS);
    expect(known(world, 0)).toBe(8_192);
    expect(rejections(world, 'p0')[0]).toMatchObject({ detail: expect.stringContaining('clusters') });
    world.demand(1);
    expect(world.shard.needs.acceptedRows(clusters.find('c1'))).toBe(1);
  });
});
