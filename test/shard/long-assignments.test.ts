/** T4: what a shard writes on the machines of a need with a long fingerprint or group, and what it reads back. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ASSIGNMENT_KEYS } from '../../src/machine/assignment-keys.ts';
import { Operator, type Requirement } from '../../src/needs/requirements.ts';
import { Fixture, machines, need, S } from './fixture.ts';

const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
/** Excludes no machine. */
const LONG: Requirement = {
  key: 'example.com/revision',
  operator: Operator.NotIn,
  values: Array.from({ length: 50 }, (_, index) => `${index}`.padEnd(1_000, 'v')),
};
const GROUP = `team/${'g'.repeat(1_000)}`;
const longNeed = (count: number, group = GROUP) => need(count, { group, requirements: [LONG] });

function fingerprintIn(world: Fixture): string {
  const { needs } = world.shard;
  return needs.profiles.get(needs.profile[needs.sliceStart(1)]!).fingerprint;
}

/** The texts that the provider stores on bound machines. */
function written(world: Fixture): { fingerprint: string; group: string }[] {
  const listed = world.world.provider.list();
  if (listed.kind !== 'ok') throw new Error('the provider does not answer');
  return listed.value.machines
    .filter(({ state }) => state === S.Configured)
    .map(({ shardMetadata }) => ({
      fingerprint: shardMetadata![ASSIGNMENT_KEYS.fingerprint]!,
      group: shardMetadata![ASSIGNMENT_KEYS.group]!,
    }));
}

async function restart(world: Fixture): Promise<void> {
  world.world.killShard();
  world.actions.length = 0;
  world.world.startShard();
  await world.run(120);
}

/** How often each group is claimed by a need, by the engine. */
function claimedFor(world: Fixture): Record<string, number> {
  const { inventory, engine } = world.shard;
  const counts: Record<string, number> = {};
  for (let slot = 1; slot < inventory.columns.slotLimit; slot++) {
    const claim = engine.claimOf(slot);
    if (claim === null) continue;
    const group = inventory.tables.groups.get(claim.group);
    counts[group] = (counts[group] ?? 0) + 1;
  }
  return counts;
}

describe('T4: a need with a fingerprint of 50 KB and a long group', () => {
  it('T4: is written on its machines as digests, and in the record of actions whole', async () => {
    const world = new Fixture({ machines: machines(8, 'm'), demand: { c1: [longNeed(6)] } });
    await world.run(60);
    const fingerprint = fingerprintIn(world);
    expect(fingerprint.length).toBeGreaterThan(50_000);
    const digests = { fingerprint: digestOf(fingerprint), group: digestOf(GROUP) };
    expect(written(world)).toEqual(Array.from({ length: 6 }, () => digests));
    const records = world.actions.filter(({ kind }) => kind === 'Provision' || kind === 'Bootstrap');
    expect(records.length).toBeGreaterThanOrEqual(6);
    for (const record of records) expect(record).toMatchObject({ fingerprint, group: GROUP });
  });

  it('T4: keeps all its machines after a restart: the digest names the need', async () => {
    const rows = [longNeed(3, `${GROUP}-1`), longNeed(3, `${GROUP}-2`)];
    const world = new Fixture({ machines: machines(10, 'm'), demand: { c1: rows } });
    await world.run(60);
    await restart(world);
    expect(world.actions).toEqual([]);
    expect(claimedFor(world)).toEqual({ [`${GROUP}-1`]: 3, [`${GROUP}-2`]: 3 });
    expect(world.truth().Configured).toBe(6);
  });

  it('T4: is credited machines that carry its full texts: an older shard or a Go shard wrote them', async () => {
    const world = new Fixture({
      machines: machines(10, 'm'),
      demand: { c1: [longNeed(2), longNeed(2, 'b')] },
    });
    await world.run(60);
    const fingerprint = fingerprintIn(world);
    const shardMetadata = (group: string) => ({
      [ASSIGNMENT_KEYS.priority]: '1000',
      [ASSIGNMENT_KEYS.interruptionPenalty]: '0',
      [ASSIGNMENT_KEYS.reclamationPenalty]: '0',
      [ASSIGNMENT_KEYS.fingerprint]: fingerprint,
      [ASSIGNMENT_KEYS.group]: group,
    });
    const bound = (count: number, group: string, prefix: string) =>
      machines(count, prefix, { state: S.Configured, cluster: 'c1', shardMetadata: shardMetadata(group) });
    const after = new Fixture({
      machines: [...bound(2, GROUP, 'x'), ...bound(2, 'b', 'a'), ...machines(4, 'm')],
      demand: { c1: [longNeed(3), longNeed(2, 'b')] },
    });
    await after.run(60);
    // The third machine of the first need is new and has digests; the four keep what they carry.
    expect(after.actions.map(({ kind }) => kind).filter((kind) => kind === 'Reclaim')).toEqual([]);
    expect(claimedFor(after)).toEqual({ [GROUP]: 3, b: 2 });
    const groups = written(after)
      .map(({ group }) => group)
      .sort();
    expect(groups).toEqual(['b', 'b', GROUP, GROUP, digestOf(GROUP)].sort());
    await restart(after);
    expect(after.actions).toEqual([]);
    expect(claimedFor(after)).toEqual({ [GROUP]: 3, b: 2 });
  });

  it('T4: after it was withdrawn its machines show the digest', async () => {
    const world = new Fixture({
      machines: machines(4, 'm'),
      demand: { c1: [longNeed(2), need(1)] },
      settings: { reclaimCapFraction: 0.01 },
    });
    await world.run(60);
    const fingerprint = fingerprintIn(world);
    world.cluster().rows = [need(1)];
    await world.run(11);
    const { inventory } = world.shard;
    const shown = world
      .started('configure')
      .map(({ machineId }) => inventory.assignmentOf(inventory.find(machineId))?.fingerprint);
    expect(shown).toContain(digestOf(fingerprint));
    expect(shown).not.toContain(fingerprint);
  });
});
