/** F3, F4 and F5 on the real shards, on virtual time. */
import { describe, expect, it } from 'vitest';
import type { Fate } from '../../src/directory/memory/directory.ts';
import { Flag } from '../../src/inventory/intent.ts';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { MachineState as S } from '../../src/machine/state.ts';
import { claimPartitions, PartitionTakenError } from '../../src/replica/partitions.ts';
import { machine, machines } from '../shard/fixture.ts';
import { CYCLE_MS, LEASE_MS, Rig, RigReplica } from './rig.ts';

const CUT_OFF = (): Fate => ({ requestMs: 1, answerMs: 1, lost: 'request' });

describe('a standby', () => {
  it('F4: takes the word of a provider at once, and sends no call; nothing of its clocks counts after the takeover', async () => {
    const spot = { state: S.Idle, capacityType: CapacityType.Spot };
    const rig = new Rig([...machines(4, 'm', { state: S.Idle }), machine('spot', spot)], {
      operations: { drain: { latency: { meanMs: 3_600_000, p99Ms: 3_600_000 } } },
    });
    const a = new RigReplica(rig, 'a', { idleHoldSpotMs: 1_000_000 });
    a.start();
    await rig.run(30);
    const b = new RigReplica(rig, 'b', { idleHoldSpotMs: 60_000 });
    b.start();
    await rig.run(20);
    expect(a.epoch).toBeGreaterThan(0);
    expect(b.life.view()).toMatchObject({ role: 'standby', activeReplica: 'a', activeAddress: 'a:1' });

    a.demand('c1', 2);
    await rig.run(20);
    const bound = rig.provider.ledger.entries().filter(({ event }) => event === 'configure');
    expect(bound).toHaveLength(2);
    const { machineId } = bound[0]!;
    // Idle → Configured is no single step, and the standby believes it with its assignment.
    expect(b.get(machineId)).toMatchObject({ state: S.Configured, cluster: 'c1' });
    expect(b.get(machineId).assignment).toEqual(a.get(machineId).assignment);
    a.demand('c1', 1);
    await rig.run(20);
    const draining = rig.provider.ledger.entries().find(({ event }) => event === 'drain')!.machineId;
    expect(b.get(draining).state).toBe(S.Draining);
    await rig.run(60);
    expect(b.calls).toEqual([]);

    a.kill();
    await rig.run(LEASE_MS / 1_000 + 2);
    expect(b.epoch).toBeGreaterThan(a.epoch);
    const { inventory } = b.shard;
    // One listing, from where the standby's ended.
    expect(b.requests[b.standbyRequests]!.sinceRevision.length).toBeGreaterThan(0);
    for (const id of ['spot', draining]) {
      expect(inventory.columns.stateSinceMsOf(inventory.find(id))).toBe(b.activatedMs);
    }
    expect(inventory.hasFlag(inventory.find(draining), Flag.FoundDraining)).toBe(true);
    // The standby saw it Idle for longer than the hold; the hold begins with the takeover.
    await rig.run(50);
    expect(rig.provider.ledger.count('delete')).toBe(0);
    await rig.run(30);
    expect(rig.provider.ledger.count('delete')).toBe(1);
    // N6: its clusters have not reported to b.
    expect(rig.provider.ledger.count('drain')).toBe(1);
  });

  it('F5: a handover lets actions end, and the next replica is active and confirmed at once', async () => {
    const rig = new Rig(machines(4, 'm', { state: S.Idle }));
    const [a, b] = [new RigReplica(rig, 'a'), new RigReplica(rig, 'b')];
    a.start();
    await rig.run(15);
    b.start();
    await rig.run(15);
    const released = a.life.handOver(() => a.shard.stop(10_000));
    await rig.run(0.2);
    await released;
    expect(a.life.isConfirmed).toBe(false);
    expect(b.epoch).toBeGreaterThan(a.epoch);
    expect(b.life.isConfirmed).toBe(true);
    expect(b.life.replicas.map(({ replica, role }) => [replica, role])).toEqual([['b', 'active']]);
  });
});

describe('an active replica', () => {
  it('F3: that is cut off binds machines for its clusters, holds removals, and makes up for them later', async () => {
    const rig = new Rig(machines(6, 'm', { state: S.Idle }));
    const a = new RigReplica(rig, 'a');
    a.start();
    await rig.run(15);
    a.demand('c1', 2);
    await rig.run(10);
    a.fate = CUT_OFF;
    await rig.run(10);
    expect(a.life.view().role).toBe('adrift');
    a.demand('c1', 4);
    await rig.run((2 * CYCLE_MS) / 1_000);
    expect(rig.provider.ledger.count('configure')).toBe(4);
    a.demand('c1', 1);
    await rig.run((5 * CYCLE_MS) / 1_000);
    expect(rig.provider.ledger.count('drain')).toBe(0);
    expect(a.shard.counters.removalsHeld).toBeGreaterThan(0);
    expect(a.life.view().text).toMatch(/^adrift with epoch \d+ for \d+ s: bindings go on, removals are held/);
    a.fate = () => ({ requestMs: 1, answerMs: 1 });
    await rig.run((2 * LEASE_MS) / 1_000 + (3 * CYCLE_MS) / 1_000);
    expect(a.life.view().role).toBe('active');
    expect(rig.provider.ledger.count('drain')).toBe(3);
    expect(a.calls.every(({ isSent }) => isSent)).toBe(true);
  });

  it('F2: whose confirmation ends between the check and the call sends no Drain, and the machine stays Configured', async () => {
    const rig = new Rig(machines(2, 'm', { state: S.Idle }));
    const a = new RigReplica(rig, 'a');
    a.start();
    await rig.run(15);
    a.demand('c1', 2);
    await rig.run(10);
    a.endConfirmationAtCall = true;
    a.demand('c1', 1);
    await rig.run(CYCLE_MS / 1_000 + 1);
    expect(a.calls.filter(({ isSent }) => !isSent).map(({ call }) => call.kind)).toEqual(['drain']);
    expect(a.actions.at(-1)).toMatchObject({ kind: 'Reclaim', outcome: 'held' });
    expect(rig.provider.ledger.count('drain')).toBe(0);
    for (const id of ['m-0000', 'm-0001'])
      expect(a.get(id)).toMatchObject({ state: S.Configured, cluster: 'c1' });
    // No back-off: the provider was never called.
    expect(a.shard.gauges().machinesInBackoff).toBe(0);
    await rig.run(40);
    expect(rig.provider.ledger.count('drain')).toBe(1);
  });

  it('C4: with a kill switch in the directory stays paused until its own settings are reloaded', async () => {
    const rig = new Rig(machines(2, 'm', { state: S.Idle }));
    const a = new RigReplica(rig, 'a');
    a.controls = { isPaused: true, isDryRun: false };
    a.start();
    await rig.run(15);
    a.kill();
    const b = new RigReplica(rig, 'b');
    b.start();
    await rig.run(20);
    b.demand('c1', 1);
    await rig.run(20);
    expect(b.shard.rails.isPaused).toBe(true);
    expect(rig.provider.ledger.count('configure')).toBe(0);
    b.shard.setRails({ ...b.shard.rails, ...b.controls });
    b.life.controlsChanged();
    await rig.run(20);
    expect(rig.provider.ledger.count('configure')).toBe(1);
    expect(b.events).toContainEqual({ kind: 'controls-written', isPaused: false, isDryRun: false });
  });

  it('H9: begins with what the disruption budgets of the shard have used', async () => {
    const rig = new Rig(machines(6, 'm', { state: S.Idle }));
    const scope = { cluster: '', provider: '', zone: '', instanceType: '', capacityType: '', machine: '' };
    const perWindow = { most: { count: 2 }, windowMs: 600_000 };
    const budgets = [{ name: 'slow', scope, perWindow, atATime: null, schedule: null }];
    const settings = { budgets, reclaimCapFraction: 0, hasRollupGuard: false };
    const a = new RigReplica(rig, 'a', settings);
    a.start();
    await rig.run(15);
    a.demand('c1', 6);
    await rig.run(20);
    a.demand('c1', 1);
    await rig.run(30);
    expect(rig.provider.ledger.count('drain')).toBe(2);
    a.kill();
    const b = new RigReplica(rig, 'b', settings);
    b.start();
    await rig.run(40);
    b.demand('c1', 1);
    await rig.run(60);
    expect(b.life.view().role).toBe('active');
    expect(rig.provider.ledger.count('drain')).toBe(2);
    expect(b.shard.budgets.views()).toMatchObject([{ used: 2, holds: 'used_up' }]);
    await rig.run(600);
    expect(rig.provider.ledger.count('drain')).toBe(4);
  });

  it('F1: of another shard does not start with a provider that belongs to this one', async () => {
    const rig = new Rig([]);
    const a = new RigReplica(rig, 'a');
    a.start();
    await rig.run(5);
    const other = claimPartitions(a.directory, rig.keys, 'other', [{ name: 'p', address: 'p:1' }]);
    const failure = other.catch((error: unknown) => error);
    await rig.run(1);
    expect(await failure).toBeInstanceOf(PartitionTakenError);
  });
});
