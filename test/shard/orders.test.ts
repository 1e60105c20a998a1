/** H5 to H8: machines that leave, are cordoned or given back, drains that the shard did not start, and clusters that are gone. */
import { describe, expect, it } from 'vitest';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { Operator } from '../../src/needs/requirements.ts';
import { WHOLE_FLEET } from '../../src/shard/controls/control.ts';
import type { ControlScope, Ordered } from '../../src/shard/ports/controls.ts';
import { everyOperation } from '../../src/simulation/provider/settings.ts';
import { Fixture, machine, machines, need, S } from './fixture.ts';

const COMMANDER = { who: 'ann', why: 'a drill', via: 'test' };
const RACK = 'rack';

const named = (...ids: string[]) => ids.map((id) => ({ ...WHOLE_FLEET, machine: id }));
const placed = (scope: Partial<ControlScope>) => [{ ...WHOLE_FLEET, ...scope }];

async function give(
  fixture: Fixture,
  order: string,
  scopes: readonly ControlScope[],
  forMs = 0,
): Promise<Ordered> {
  const given = fixture.shard.admin.order({ order, scopes, forMs, isPreview: false, ...COMMANDER });
  given.catch(() => {});
  await fixture.run(12);
  return given;
}

/** A cluster with two of four machines. */
async function settled(settings = {}): Promise<Fixture> {
  const fixture = new Fixture({
    machines: machines(4, 'm', { state: S.Idle, capacityType: CapacityType.OnDemand }),
    demand: { c1: [need(2)] },
    settings: { hasRollupGuard: false, reclaimCapFraction: 0, ...settings },
  });
  await fixture.run(25);
  expect(fixture.known('m-0000')).toBe('Configured');
  expect(fixture.known('m-0001')).toBe('Configured');
  return fixture;
}

describe('drains', () => {
  it('H5: a drained machine leaves after its replacement is Configured, and stays out of use until it is uncordoned', async () => {
    const fixture = await settled();
    const { controls, machines: count, lines } = await give(fixture, 'drain', named('m-0000'));
    expect(controls).toMatchObject([{ pauses: ['drain'], who: 'ann', untilMs: null }]);
    expect([count, lines.length > 0]).toEqual([1, true]);
    await fixture.run(60);
    expect(fixture.known('m-0000')).toBe('Idle');
    expect(fixture.known('m-0002')).toBe('Configured');
    const at = (event: 'configure' | 'drain', id: string) =>
      fixture.started(event).find((entry) => entry.machineId === id)?.atMs ?? Number.NaN;
    expect(at('configure', 'm-0002')).toBeLessThan(at('drain', 'm-0000'));
    await fixture.run(3_000);
    expect(fixture.known('m-0000')).toBe('Idle'); // R3 would have released it
    await give(fixture, 'uncordon', named('m-0000'));
    expect(fixture.shard.admin.controls()).toEqual([]);
    await fixture.run(700);
    expect(fixture.asked('delete').map(({ machineId }) => machineId)).toContain('m-0000');
  });

  it('H5: a drain of a place creates no replacement there, and a restart keeps it', async () => {
    const fixture = new Fixture({
      machines: [...machines(2, 'a', { zone: 'z1' }), ...machines(2, 'b', { zone: 'z2', price: 2 })],
      demand: { c1: [need(2)] },
      settings: { reclaimCapFraction: 0 },
    });
    await fixture.run(30);
    expect(fixture.known('a-0000')).toBe('Configured');
    const ordered = await give(fixture, 'drain', placed({ zone: 'z1' }));
    expect(ordered.machines).toBe(2);
    fixture.world.killShard();
    fixture.world.startShard();
    await fixture.run(120);
    expect(fixture.shard.admin.controls()).toHaveLength(1);
    for (const id of ['a-0000', 'a-0001']) expect(fixture.known(id)).toBe('Idle');
    for (const id of ['b-0000', 'b-0001']) expect(fixture.known(id)).toBe('Configured');
  });

  it('H5: without a replacement the machine stays, the command says so, and --now drains it', async () => {
    const fixture = new Fixture({
      machines: machines(1, 'm', { state: S.Idle }),
      demand: { c1: [need(1)] },
    });
    await fixture.run(25);
    const { lines } = await give(fixture, 'drain', named('m-0000'));
    expect(lines.join('\n')).toMatch(
      /stay until a replacement is found: there is none now\. --now .*\n {2}m-0000 waits for/,
    );
    await fixture.run(60);
    expect(fixture.known('m-0000')).toBe('Configured');
    await give(fixture, 'drain-now', named('m-0000'));
    expect(fixture.shard.admin.controls()).toMatchObject([{ pauses: ['drain-now'] }]); // in place of the drain
    await fixture.run(30);
    expect(fixture.known('m-0000')).toBe('Idle');
  });

  it('H5: the replacement of a gang’s machine comes from its domain', async () => {
    const inRack = (rack: string) => ({ state: S.Idle, labels: { rack } });
    const gang = { group: 'g', requirements: [{ key: RACK, operator: Operator.Same, values: [] }] };
    const fixture = new Fixture({
      machines: [...machines(3, 'a', inRack('r1')), ...machines(2, 'b', { ...inRack('r2'), price: 2 })],
      demand: { c1: [need(3, gang)] },
      settings: { reclaimCapFraction: 0 },
    });
    await fixture.run(25);
    const { lines } = await give(fixture, 'drain', named('a-0000'));
    expect(lines.join('\n')).toContain(
      'a-0000 waits for a machine in its gang’s domain r1, and there is none now',
    );
    await fixture.run(300);
    expect(fixture.known('a-0000')).toBe('Configured');
    fixture.world.provider.add(machine('a-9999', inRack('r1')));
    await fixture.run(60);
    expect([fixture.known('a-0000'), fixture.known('a-9999')]).toEqual(['Idle', 'Configured']);
    expect([fixture.known('b-0000'), fixture.known('b-0001')]).toEqual(['Idle', 'Idle']);
  });

  it('H5: a drain ends by itself after the time that the command gives', async () => {
    const fixture = await settled();
    await give(fixture, 'drain', named('m-0003'), 60_000);
    await fixture.run(60);
    expect(fixture.shard.admin.controls()).toEqual([]);
  });
});

describe('cordons', () => {
  it('H6: a need does not get a cordoned machine, and gets it when it is uncordoned', async () => {
    const fixture = await settled();
    await give(fixture, 'cordon', named('m-0002', 'm-0003'));
    expect(fixture.shard.admin.controls()).toHaveLength(2);
    fixture.world.setDemand(fixture.cluster(), [need(3)]);
    await fixture.run(40);
    expect(fixture.truth()).toEqual({ Configured: 2, Idle: 2 });
    await give(fixture, 'uncordon', named('m-0003'));
    await fixture.run(20);
    expect(fixture.known('m-0003')).toBe('Configured');
    expect(fixture.known('m-0002')).toBe('Idle');
  });

  it('H6: a queued binding of a machine that is cordoned meanwhile is not sent', async () => {
    const fixture = await settled({ executeConcurrency: 1 });
    fixture.world.setDemand(fixture.cluster(), [need(4)]);
    await give(fixture, 'cordon', placed({ zone: 'z1' }));
    await fixture.run(40);
    expect(fixture.truth().Configured).toBeLessThan(4);
  });

  it('H6: an order that names nothing, the whole fleet, an unknown machine or a cordon that is not there is refused', async () => {
    const fixture = await settled();
    const refused = (order: string, scopes: readonly ControlScope[]) =>
      expect(give(fixture, order, scopes)).rejects.toThrow(/Nothing was changed/);
    await refused('drain', []);
    await refused('cordon', [WHOLE_FLEET]);
    await refused('drain', named('nothing'));
    await refused('drain', placed({ cluster: 'c1' }));
    await refused('uncordon', named('m-0000'));
    await refused('explode', named('m-0000'));
    await refused('release', named('m-0000'));
    await refused('retry', named('m-0000'));
    expect(fixture.shard.admin.controls()).toEqual([]);
  });

  it('H6: a preview changes nothing and says what there is', async () => {
    const fixture = await settled();
    const command = {
      order: 'drain',
      scopes: placed({ zone: 'z1' }),
      forMs: 0,
      isPreview: true,
      ...COMMANDER,
    };
    const { machines: count, lines } = await fixture.shard.admin.order(command);
    expect([count, lines]).toEqual([4, ['4 machines of zone z1: 2 Idle and 2 Configured.']]);
    expect(fixture.shard.admin.controls()).toEqual([]);
  });
});

describe('giving back and trying again', () => {
  it('R3: a release deletes an Idle machine at once, although it is cordoned and its hold is not over', async () => {
    const fixture = await settled();
    await give(fixture, 'cordon', named('m-0003'));
    const { machines: count } = await give(fixture, 'release', named('m-0003'));
    expect(count).toBe(1);
    expect(fixture.asked('delete').map(({ machineId }) => machineId)).toEqual(['m-0003']);
    expect(fixture.events).toContainEqual(
      expect.objectContaining({ kind: 'control', command: 'release', outcome: 'done', who: 'ann' }),
    );
  });

  it('X12: a retry ends the back-off of a machine', async () => {
    const fixture = await settled();
    const slot = fixture.shard.inventory.find('m-0003');
    fixture.shard.inventory.setFlag(slot, 2, true); // as a failure would
    await give(fixture, 'retry', named('m-0003'));
    expect(fixture.shard.inventory.hasFlag(slot, 2)).toBe(false);
  });
});

describe('drains at the provider', () => {
  it('H7: a machine that somebody drains is left alone for ten minutes once it is Idle, and then used again', async () => {
    const fixture = new Fixture({
      machines: machines(3, 'm', { state: S.Idle }),
      demand: { c1: [need(2)] },
      settings: { hasRollupGuard: false },
      provider: { operations: everyOperation({ latency: { meanMs: 15_000, p99Ms: 16_000 } }) },
    });
    await fixture.run(60);
    expect(fixture.truth()).toEqual({ Configured: 2, Idle: 1 });
    fixture.world.provider.drain({ machineId: 'm-0000', gracePeriodSeconds: 600 });
    await fixture.run(40);
    expect(fixture.known('m-0000')).toBe('Idle');
    expect(fixture.events).toContainEqual(
      expect.objectContaining({ kind: 'foreign_drain', machineId: 'm-0000' }),
    );
    fixture.world.setDemand(fixture.cluster(), [need(3)]);
    await fixture.run(400);
    expect(fixture.known('m-0000')).toBe('Idle');
    await fixture.run(250);
    expect(fixture.known('m-0000')).toBe('Configured');
  });
});

describe('retired clusters', () => {
  it('H8: the demand of a retired cluster goes, its machines are reclaimed, and the control ends', async () => {
    const fixture = await settled();
    await expect(give(fixture, 'retire-cluster', placed({ cluster: 'c1' }))).rejects.toThrow(/is connected/);
    fixture.world.disconnect(fixture.cluster());
    await fixture.run(20);
    const { machines: count } = await give(fixture, 'retire-cluster', placed({ cluster: 'c1' }));
    expect(count).toBe(2);
    await fixture.run(60);
    expect(fixture.truth()).toEqual({ Idle: 4 });
    expect(fixture.shard.admin.controls()).toEqual([]);
    expect(fixture.shard.inventory.tables.clusters.find('c1')).toBe(0);
  });
});
