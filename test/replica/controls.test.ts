/** C4 and H2 with several replicas: what people paused stays paused, whichever replica is active and whatever happens to the directory. */
import { describe, expect, it } from 'vitest';
import type { Fate } from '../../src/directory/memory/directory.ts';
import { MachineState as S } from '../../src/machine/state.ts';
import { CONTROLS_BYTES_MAX, readControls } from '../../src/replica/records.ts';
import { WHOLE_FLEET } from '../../src/shard/controls/control.ts';
import { machines } from '../shard/fixture.ts';
import { LEASE_MS, Rig, RigReplica } from './rig.ts';

const CUT_OFF = (): Fate => ({ requestMs: 1, answerMs: 1, lost: 'request' });
const BY = { who: 'ann', why: 'a drill', via: 'socket' };
const HOUR_MS = 3_600_000;

async function pause(rig: Rig, { shard }: RigReplica, why = BY.why) {
  const command = { pauses: ['create', 'bind'], scope: WHOLE_FLEET, forMs: HOUR_MS, ...BY, why };
  const done = shard.admin.pause(command).catch((error: Error) => error);
  await rig.run(5);
  return done;
}

async function resume(rig: Rig, { shard }: RigReplica): Promise<void> {
  const done = shard.admin.resume({ id: '', pauses: [], scope: WHOLE_FLEET, isEvery: true, ...BY });
  await rig.run(5);
  await done;
}

const idsOf = ({ shard }: RigReplica) => shard.controls.inForce.map(({ id }) => id);
const boundIn = (rig: Rig) => rig.provider.ledger.count('configure');

function inDirectory(rig: Rig) {
  return readControls(rig.store.read(rig.keys.controls('s/1'))?.value ?? '');
}

async function started(rig: Rig, name: string, kept: string | null = null): Promise<RigReplica> {
  const replica = new RigReplica(rig, name, {}, kept);
  replica.start();
  await rig.run(15);
  return replica;
}

describe('controls of several replicas', () => {
  it('H2, F4: a takeover keeps the pauses of the former active replica, and brings back none that were lifted', async () => {
    const rig = new Rig(machines(3, 'm', { state: S.Idle }));
    const a = await started(rig, 'a');
    await pause(rig, a);
    await pause(rig, a, 'another');
    expect(a.life.areControlsShared).toBe(true);
    expect(a.keptControls).toContain('a drill');
    const b = await started(rig, 'b');
    a.kill();
    await rig.run(20);
    expect(idsOf(b)).toEqual(['c1', 'c2']);
    expect(b.shard.controls.inForce[0]).toMatchObject({ ...BY, scope: WHOLE_FLEET });
    b.demand('c1', 1);
    await rig.run(30);
    expect(boundIn(rig)).toBe(0);
    await resume(rig, b);
    await rig.run(30);
    expect(boundIn(rig)).toBe(1);

    // a comes back with the pauses that it knew, which b lifted, and becomes active before it has followed the directory.
    b.kill();
    const again = await started(rig, 'a', a.keptControls);
    expect(again.epoch).toBeGreaterThan(b.epoch);
    expect(idsOf(again)).toEqual([]);
    again.demand('c1', 2);
    await rig.run(30);
    expect(boundIn(rig)).toBe(2);
  });

  it('H2: a pause is in force although the directory is away, and gets there when it is back', async () => {
    const rig = new Rig(machines(3, 'm', { state: S.Idle }));
    const a = await started(rig, 'a');
    a.fate = CUT_OFF;
    await rig.run(LEASE_MS / 1_000);
    await pause(rig, a);
    expect(idsOf(a)).toEqual(['c1']);
    expect(a.life.areControlsShared).toBe(false);
    expect(inDirectory(rig)?.pauses).toBe('');
    a.demand('c1', 1);
    await rig.run(30);
    expect(boundIn(rig)).toBe(0);
    // A restart while the directory is away keeps it, too.
    a.kill();
    const next = new RigReplica(rig, 'a', {}, a.keptControls);
    next.start();
    await rig.run(40);
    expect(idsOf(next)).toEqual(['c1']);
    expect(next.life.areControlsShared).toBe(true);
    expect(inDirectory(rig)?.pauses).toContain('a drill');
  });

  it('C4, H2, F4: kill switch and pauses survive a restored directory, and one that lost everything', async () => {
    const rig = new Rig(machines(3, 'm', { state: S.Idle }));
    const empty = rig.store.snapshot();
    const a = await started(rig, 'a');
    const b = await started(rig, 'b');
    const backup = rig.store.snapshot();
    await pause(rig, a);
    a.controls = { isPaused: true, isDryRun: false };
    a.life.controlsChanged();
    await rig.run(5);
    rig.store.restore(backup);
    expect(inDirectory(rig)).toMatchObject({ isPaused: false, pauses: '' });
    await rig.run(20);
    // The active replica goes on, and puts back what it knows.
    expect(a.end).toBeNull();
    expect(inDirectory(rig)).toMatchObject({ isPaused: true, pauses: expect.stringContaining('a drill') });

    a.kill();
    rig.store.restore(empty, { isNewCluster: true });
    await rig.run(30);
    // The standby kept them in its data directory.
    expect(b.epoch).toBeGreaterThan(a.epoch);
    expect(b.shard.rails.isPaused).toBe(true);
    expect(idsOf(b)).toEqual(['c1']);
    expect(inDirectory(rig)).toMatchObject({ isPaused: true, epoch: b.epoch });
  });

  it('H2: a pause that the directory cannot keep is refused', async () => {
    const rig = new Rig([]);
    const a = await started(rig, 'a');
    const why = 'ö'.repeat(1_000);
    let refused: unknown = null;
    for (let count = 0; count < 260 && refused === null; count++) {
      const done = await pause(rig, a, why);
      if (done instanceof Error) refused = done;
    }
    expect(String(refused)).toContain(`and the directory keeps ${CONTROLS_BYTES_MAX}`);
    const before = inDirectory(rig);
    expect(JSON.parse(before!.pauses).controls).toHaveLength(idsOf(a).length);
  });

  it('C4, F4: controls in the directory that nobody can read hold everything', async () => {
    const rig = new Rig(machines(1, 'm', { state: S.Idle }));
    rig.store.transact({
      when: [],
      change: [{ kind: 'put', key: rig.keys.controls('s/1'), value: '{"version":1,"isPaused":"no"}' }],
    });
    const a = await started(rig, 'a');
    expect(a.shard.rails).toMatchObject({ isPaused: true, isDryRun: true });
    a.shard.setRails({ ...a.shard.rails, ...a.controls });
    a.life.controlsChanged();
    await rig.run(5);
    expect(inDirectory(rig)).toMatchObject({ isPaused: false, isDryRun: false });
  });

  it('H2: a data directory with controls that nobody wrote refuses the start of a replica', () => {
    expect(() => new RigReplica(new Rig([]), 'a', {}, '{"version":7}')).toThrow(
      'a pause may have been in force',
    );
  });
});
