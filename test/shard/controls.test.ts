/** H1 to H4: what people tell a running shard, and what it then does not do. */
import { describe, expect, it } from 'vitest';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { readControls, WHOLE_FLEET, writeControls } from '../../src/shard/controls/control.ts';
import type { ControlScope, PauseCommand } from '../../src/shard/ports/controls.ts';
import { CYCLE_MS, Fixture, machines, need, S } from './fixture.ts';

const COMMANDER = { who: 'ann', why: 'a drill', via: 'test' };
const HOUR_MS = 3_600_000;

function pausing(
  pauses: readonly string[],
  scope: Partial<ControlScope> = {},
  forMs = HOUR_MS,
): PauseCommand {
  return { pauses, scope: { ...WHOLE_FLEET, ...scope }, forMs, ...COMMANDER };
}

function resuming(id: string) {
  return { id, pauses: [], scope: WHOLE_FLEET, isEvery: false, ...COMMANDER };
}

/** Two clusters with four bound machines each. */
async function settled(): Promise<Fixture> {
  const fixture = new Fixture({
    machines: machines(8, 'm', { state: S.Idle }),
    demand: { c1: [need(4)], c2: [need(4)] },
    settings: { hasRollupGuard: false, reclaimCapFraction: 0 },
  });
  await fixture.run(25);
  expect(fixture.truth()).toEqual({ Configured: 8 });
  return fixture;
}

describe('pauses', () => {
  it('H3: a pause of reclaims of one cluster keeps its machines, and those of another are reclaimed', async () => {
    const fixture = await settled();
    const { admin } = fixture.shard;
    const { id } = await admin.pause(pausing(['reclaim'], { cluster: 'c1' }));
    for (const cluster of ['c1', 'c2']) fixture.world.setDemand(fixture.cluster(cluster), []);
    await fixture.run(60);
    expect(fixture.truth()).toEqual({ Configured: 4, Idle: 4 });
    expect(admin.controls()).toMatchObject([{ id: 'c1', holding: 4, who: 'ann', why: 'a drill' }]);
    await admin.resume(resuming(id));
    await fixture.run(60);
    expect(fixture.truth()).toEqual({ Idle: 8 });
  });

  it('H3: a paused cluster gets credit only, and gets machines again when the pause has expired', async () => {
    const fixture = new Fixture({
      machines: machines(4, 'm', { state: S.Idle }),
      demand: { c1: [], c2: [] },
    });
    await fixture.run(15);
    await fixture.shard.admin.pause(pausing(['bind'], { cluster: 'c1' }, 60_000));
    for (const cluster of ['c1', 'c2']) fixture.world.setDemand(fixture.cluster(cluster), [need(2)]);
    await fixture.run(40);
    expect(fixture.truth()).toEqual({ Configured: 2, Idle: 2 });
    expect(fixture.shard.engine.shortfalls).toEqual([]);
    await fixture.run(25);
    expect(fixture.truth()).toEqual({ Configured: 4 });
    expect(fixture.shard.admin.controls()).toEqual([]);
  });

  for (const [what, scope, isHeld] of [
    ['this zone', { zone: 'z1' }, true],
    ['another zone', { zone: 'z2' }, false],
    ['this instance type', { instanceType: 'a' }, true],
    ['this capacity type', { capacityType: 'on-demand' }, true],
    ['another capacity type', { capacityType: 'spot' }, false],
    ['this provider', { provider: 'simulated' }, true],
    ['the fleet', {}, true],
  ] as const) {
    it(`H3: a pause of creates for ${what} ${isHeld ? 'holds' : 'does not hold'} them, and Idle machines are bound`, async () => {
      const onDemand = { capacityType: CapacityType.OnDemand };
      const fixture = new Fixture({
        machines: [...machines(1, 'idle', { state: S.Idle, ...onDemand }), ...machines(2, 'offer', onDemand)],
        demand: { c1: [] },
      });
      await fixture.run(15);
      await fixture.shard.admin.pause(pausing(['create'], scope));
      fixture.world.setDemand(fixture.cluster(), [need(3)]);
      await fixture.run(30);
      expect(fixture.truth()).toEqual(isHeld ? { Configured: 1, Speculative: 2 } : { Configured: 3 });
    });
  }

  it('H3: a paused cluster loses no machine to a higher priority, and gives way afterwards', async () => {
    const fixture = new Fixture({
      machines: machines(3, 'm', { state: S.Idle }),
      demand: { low: [need(3, { priority: 100 })], high: [] },
    });
    await fixture.run(25);
    const { id } = await fixture.shard.admin.pause(pausing(['preempt'], { cluster: 'low' }));
    fixture.world.setDemand(fixture.cluster('high'), [need(1, { priority: 1_000_000 })]);
    await fixture.run(40);
    expect(fixture.asked('drain')).toEqual([]);
    await fixture.shard.admin.resume(resuming(id));
    await fixture.run(40);
    expect(fixture.asked('drain')).toHaveLength(1);
  });

  it('H3: a pause of releases keeps Idle machines whose hold is over', async () => {
    const fixture = new Fixture({
      machines: machines(2, 'm', { state: S.Idle, capacityType: CapacityType.Spot }),
      settings: { idleHoldSpotMs: 20_000 },
    });
    await fixture.run(15);
    const { id } = await fixture.shard.admin.pause(pausing(['release'], { capacityType: 'spot' }));
    await fixture.run(60);
    expect(fixture.truth()).toEqual({ Idle: 2 });
    await fixture.shard.admin.resume(resuming(id));
    await fixture.run(20);
    expect(fixture.truth()).toEqual({ Speculative: 2 });
  });

  it('H3: a pause of binds between Create and Configure leaves the new machine Idle', async () => {
    const fixture = new Fixture({ machines: machines(1, 'm'), demand: { c1: [] } });
    await fixture.run(15);
    fixture.cluster().faults = { delayMsMean: 5_000, blobError: 0, blobSilence: 0 };
    fixture.world.setDemand(fixture.cluster(), [need(1)]);
    for (let at = 0; at < 200 && fixture.known('m-0000') !== 'Configuring'; at++) await fixture.run(0.05);
    expect(fixture.known('m-0000')).toBe('Configuring');
    await fixture.shard.admin.pause(pausing(['bind'], {}, 600_000));
    await fixture.run(120);
    expect(fixture.asked('configure')).toEqual([]);
    expect(fixture.truth()).toEqual({ Idle: 1 });
    expect(fixture.outcomes('Provision')).toEqual(['suppressed']);
    expect(fixture.shard.counters.actionsPaused).toBe(1);
  });

  it('H3: bindings that wait for a slot are withdrawn when a pause covers them', async () => {
    const fixture = new Fixture({
      machines: machines(40, 'm', { state: S.Idle }),
      demand: { c1: [] },
      settings: { executeConcurrency: 2 },
    });
    await fixture.run(15);
    fixture.cluster().faults = { delayMsMean: 30_000, blobError: 0, blobSilence: 0 };
    fixture.world.setDemand(fixture.cluster(), [need(40)]);
    await fixture.run(1);
    expect(fixture.shard.executor.waitingCount).toBeGreaterThan(20);
    await fixture.shard.admin.pause(pausing(['bind'], { cluster: 'c1' }));
    expect(fixture.shard.executor.waitingCount).toBe(0);
  });

  it('H4: counts of unmet needs stand still while creates are paused, and no gang is parked', async () => {
    const fixture = new Fixture({ machines: machines(2, 'm'), demand: { c1: [] } });
    await fixture.run(15);
    await fixture.shard.admin.pause(pausing(['create']));
    fixture.world.setDemand(fixture.cluster(), [need(2)]);
    await fixture.run(100);
    const { engine, inventory } = fixture.shard;
    const seen: number[] = [];
    engine.verdictsOf(inventory.tables.clusters.find('c1'), (_, { cyclesUnmet }) => seen.push(cyclesUnmet));
    expect(seen).toEqual([0]);
    expect(engine.shortfalls.map(({ ageCycles }) => ageCycles)).toEqual([0]);
  });
});

describe('controls', () => {
  it('H2: survive a restart, and expire in the new process', async () => {
    const fixture = await settled();
    await fixture.shard.admin.pause(pausing(['reclaim'], {}, 200_000));
    fixture.world.killShard();
    fixture.world.startShard();
    for (const cluster of ['c1', 'c2']) fixture.world.setDemand(fixture.cluster(cluster), []);
    await fixture.run(100);
    expect(fixture.shard.admin.controls()).toMatchObject([{ id: 'c1', pauses: ['reclaim'] }]);
    expect(fixture.truth()).toEqual({ Configured: 8 });
    await fixture.run(120);
    expect(fixture.truth()).toEqual({ Idle: 8 });
    // A number is not given twice in one process; a control of an earlier process may have had any lower one.
    expect((await fixture.shard.admin.pause(pausing(['create']))).id).toBe('c2');
  });

  it('H2: are said at the start of a process and once an hour', async () => {
    const fixture = await settled();
    await fixture.shard.admin.pause(pausing(['reclaim'], {}, 3 * HOUR_MS));
    fixture.world.killShard();
    fixture.world.startShard();
    const said = () => fixture.events.filter(({ kind }) => kind === 'control_in_force').length;
    expect(said()).toBe(1);
    await fixture.run(HOUR_MS / 1_000 + CYCLE_MS / 1_000);
    expect(said()).toBe(2);
  });

  it('H2: that the configuration declares hold until it no longer does, and no command lifts them', async () => {
    const fixture = await settled();
    const { shard } = fixture;
    const declared = {
      pauses: ['reclaim'],
      scope: WHOLE_FLEET,
      who: 'git',
      why: 'freeze',
      untilMs: null,
    } as const;
    shard.setRails({ ...shard.rails, controls: [declared] });
    for (const cluster of ['c1', 'c2']) fixture.world.setDemand(fixture.cluster(cluster), []);
    await fixture.run(40);
    expect(fixture.truth()).toEqual({ Configured: 8 });
    await expect(shard.admin.resume(resuming('file-1'))).rejects.toThrow('declared in the configuration');
    await expect(shard.admin.resume({ ...resuming(''), isEvery: true })).rejects.toThrow('No control');
    shard.setRails({ ...shard.rails, controls: [] });
    await fixture.run(40);
    expect(fixture.truth()).toEqual({ Idle: 8 });
  });

  for (const [what, command, said] of [
    ['without anything to pause', pausing([]), 'names nothing to pause'],
    ['of something unknown', pausing(['sleep']), 'There is no "sleep" to pause'],
    ['without a reason', { ...pausing(['create']), why: ' ' }, '--why is missing'],
    ['without a name', { ...pausing(['create']), who: '' }, '--who is missing'],
    ['with a reason of two lines', { ...pausing(['create']), why: 'a\nb' }, 'cannot be printed'],
    ['of no time', pausing(['create'], {}, 0), 'A pause of 0 ms'],
    ['of a year', pausing(['create'], {}, 365 * 24 * HOUR_MS), 'Give --for a time from 1s to 90d'],
    ['of releases of a cluster', pausing(['release'], { cluster: 'c1' }), 'belongs to none'],
    [
      'of binds of some machines of a cluster',
      pausing(['bind'], { cluster: 'c1', zone: 'z1' }),
      '--cluster alone',
    ],
    ['for an unknown provider', pausing(['create'], { provider: 'x' }), 'Its providers are simulated'],
    ['for an unknown capacity type', pausing(['create'], { capacityType: 'gold' }), 'Write one of'],
  ] as const) {
    it(`H1: a pause ${what} is refused, and nothing changes`, async () => {
      const fixture = new Fixture();
      await expect(fixture.shard.admin.pause(command)).rejects.toThrow(said);
      expect(fixture.shard.admin.controls()).toEqual([]);
      expect(fixture.events).toContainEqual(expect.objectContaining({ kind: 'control', outcome: 'refused' }));
    });
  }

  it('H1: a resume that names nothing in force says what is', async () => {
    const fixture = new Fixture();
    const { admin } = fixture.shard;
    await expect(admin.resume(resuming('c9'))).rejects.toThrow('No control is in force');
    await admin.pause(pausing(['reclaim'], { cluster: 'c1' }));
    await expect(admin.resume({ ...resuming(''), pauses: ['reclaim'] })).rejects.toThrow(
      'c1 (reclaim of cluster c1)',
    );
    const scope = { ...WHOLE_FLEET, cluster: 'c1' };
    expect(await admin.resume({ ...resuming(''), pauses: ['reclaim', 'create'], scope })).toMatchObject([
      { id: 'c1' },
    ]);
  });

  it('H2: a command that cannot be stored changes nothing', async () => {
    const fixture = new Fixture({ isStopped: true });
    fixture.world.storeFailure = 'the disk is full';
    fixture.world.startShard();
    await expect(fixture.shard.admin.pause(pausing(['create']))).rejects.toThrow('the disk is full');
    expect(fixture.shard.admin.controls()).toEqual([]);
  });

  it('H2: stored controls that no shard wrote refuse the start', () => {
    const control = { ...pausing(['create']), id: 'c1', sinceMs: 1, untilMs: 2 };
    const { forMs: _, ...stored } = control;
    expect(readControls(writeControls([{ ...stored, pauses: ['create'] }]))).toHaveLength(1);
    for (const text of [
      '',
      '{',
      '{"version":2}',
      '{"version":1,"controls":[{}]}',
      '{"version":1,"controls":{}}',
    ])
      expect(() => readControls(text)).toThrow('The shard was not started');
  });
});
