/** C6: how long a need waits for a node, by how it got the machine. */
import { describe, expect, it } from 'vitest';
import { everyOperation } from '../../src/simulation/provider/settings.ts';
import { Fixture, machine, machines, need, S } from './fixture.ts';

const DRAIN_MS = 20_000;
const TWO_SECONDS = everyOperation({ latency: { meanMs: 2_000, p99Ms: 2_001 } });
const SLOW_DRAIN = { operations: { drain: { latency: { meanMs: DRAIN_MS, p99Ms: DRAIN_MS + 1 } } } };

function paths({ bound }: Fixture): string[] {
  return bound.map(({ path }) => path);
}

describe('C6: the time from a need to a node', () => {
  it('C6: of a need that finds an Idle machine is that of the call, from the roll-up on', async () => {
    const fixture = new Fixture({
      machines: machines(3, 'm', { state: S.Idle }),
      provider: { operations: TWO_SECONDS },
    });
    await fixture.run(25);
    fixture.world.setDemand(fixture.cluster(), [need(2)]);
    await fixture.run(25);
    expect(paths(fixture)).toEqual(['idle', 'idle']);
    for (const { neededMs, enqueuedMs } of fixture.bound) {
      expect(neededMs).toBeGreaterThanOrEqual(enqueuedMs);
      expect(neededMs).toBeGreaterThan(1_000);
      expect(neededMs).toBeLessThan(6_000);
    }
  });

  it('C6: of a machine that is created for the need covers both steps', async () => {
    const fixture = new Fixture({
      machines: machines(2, 'm'),
      demand: { c1: [need(2)] },
      provider: { operations: TWO_SECONDS },
    });
    await fixture.run(40);
    expect(paths(fixture)).toEqual(['created', 'created']);
    for (const { neededMs } of fixture.bound) expect(neededMs).toBeGreaterThan(3_000);
  });

  it('C6: of a need that preempts includes the drain', async () => {
    const fixture = new Fixture({
      machines: [machine('m', { state: S.Idle })],
      demand: { c1: [need(1, { priority: 10 })], c2: [] },
      provider: SLOW_DRAIN,
    });
    await fixture.run(25);
    fixture.world.setDemand(fixture.cluster('c2'), [need(1, { priority: 2_000_000 })]);
    await fixture.run(60);
    expect(paths(fixture)).toEqual(['idle', 'preempted']);
    expect(fixture.bound[1]!.neededMs).toBeGreaterThan(DRAIN_MS / 2);
    expect(fixture.bound[1]!.enqueuedMs).toBeLessThan(DRAIN_MS / 2);
  });

  it('C6: tells apart a need that waits for a machine which another cluster gave up before', async () => {
    const fixture = new Fixture({
      machines: [machine('m', { state: S.Idle })],
      demand: { c1: [need(1)], c2: [] },
      provider: SLOW_DRAIN,
    });
    await fixture.run(25);
    fixture.world.setDemand(fixture.cluster('c1'), []);
    await fixture.run(12);
    expect(fixture.known('m')).toBe('Draining');
    fixture.world.setDemand(fixture.cluster('c2'), [need(1)]);
    await fixture.run(60);
    expect(paths(fixture)).toEqual(['idle', 'drained']);
  });

  it('C6: of a need for which nothing was there counts from its roll-up', async () => {
    const fixture = new Fixture({ machines: [machine('other', { type: 'b' })], demand: { c1: [need(1)] } });
    await fixture.run(50);
    fixture.world.provider.add(machine('m', { state: S.Idle }));
    await fixture.run(25);
    expect(paths(fixture)).toEqual(['waited']);
    expect(fixture.bound[0]!.neededMs).toBeGreaterThan(40_000);
    expect(fixture.bound[0]!.enqueuedMs).toBeLessThan(5_000);
  });

  it('C6: a need that finds some of its machines at once waits only for the others', async () => {
    const fixture = new Fixture({
      machines: [machine('m', { state: S.Idle }), machine('offer')],
      demand: { c1: [need(3)] },
    });
    await fixture.run(50);
    fixture.world.provider.add(machine('late', { state: S.Idle }));
    await fixture.run(25);
    expect(paths(fixture).sort()).toEqual(['created', 'idle', 'waited']);
  });

  it('C6: the wait for the execute queue counts, and is no wait for machines', async () => {
    const fixture = new Fixture({
      machines: machines(20, 'm', { state: S.Idle }),
      demand: { c1: [need(20)] },
      provider: { operations: TWO_SECONDS },
      settings: { executeConcurrency: 1 },
    });
    await fixture.run(300);
    expect(paths(fixture)).toEqual(Array(20).fill('idle'));
    expect(Math.max(...fixture.bound.map(({ enqueuedMs }) => enqueuedMs))).toBeGreaterThan(2_100);
  });

  it('C6: a lost machine counts from the cycle that found it missing', async () => {
    const fixture = new Fixture({ machines: machines(2, 'm', { state: S.Idle }), demand: { c1: [need(1)] } });
    await fixture.run(95);
    const [gone] = fixture.started('configure');
    fixture.world.provider.world.remove(gone!.machineId);
    await fixture.run(60);
    expect(paths(fixture)).toEqual(['idle', 'idle']);
    expect(fixture.bound[1]!.neededMs).toBeLessThan(10_000);
  });
});
