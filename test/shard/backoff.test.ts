/** Back-offs. X5: of a need whose bootstraps failed. X12: of machines and offerings whose actions failed. */
import { describe, expect, it } from 'vitest';
import { Flag } from '../../src/inventory/intent.ts';
import type { InventoryTables } from '../../src/inventory/tables.ts';
import { BurnBudget } from '../../src/shard/execute/burn-budget.ts';
import { NeedBackoffs } from '../../src/shard/execute/need-backoff.ts';
import { createTables } from '../../src/shard/tables.ts';
import { Fixture, machine, machines, need, S } from './fixture.ts';

const OFFERING = 'a/z1/reserved';
const SLOW_NETWORK = { delayMsMean: 400, requestLoss: 0, answerLoss: 0, noticedShare: 0 };

type IsLive = ConstructorParameters<typeof NeedBackoffs>[0]['isLive'];

function needBackoffs(tables: InventoryTables, isLive: IsLive = () => true): NeedBackoffs {
  const budget = new BurnBudget(tables.clusters, () => 0.1);
  return new NeedBackoffs({ tables, budget, isLive, isTried: () => true });
}

/** Ids of machines with the flag but without a back-off. */
function leftFlagged({ shard }: Fixture): string[] {
  const { inventory, backoffs } = shard;
  const left: string[] = [];
  for (const slot of inventory.slotsById) {
    if (!inventory.hasFlag(slot, Flag.Backoff) || backoffs.ofMachine(slot) !== null) continue;
    if (inventory.stateOf(slot) === S.Speculative && backoffs.ofOffering(slot) !== null) continue;
    left.push(inventory.idOf(slot));
  }
  return left;
}

describe('X12: the back-off of an offering', () => {
  it('X12: does not bar a machine whose Create was enqueued before the back-off', async () => {
    const quotas = { [OFFERING]: 0 };
    const fixture = new Fixture({
      machines: machines(10, 'm'),
      demand: { c1: [need(10)] },
      provider: { quotas },
      settings: { executeConcurrency: 4 },
    });
    fixture.world.network.faults = SLOW_NETWORK;
    await fixture.world.time.advance(60_000, () => {
      if (fixture.shard.gauges().offeringsInBackoff > 0) quotas[OFFERING] = 10;
    });
    expect(fixture.events.some(({ kind }) => kind === 'offering_backoff')).toBe(true);
    expect(fixture.truth().Configured).toBeGreaterThan(0);
    expect(leftFlagged(fixture)).toEqual([]);
  });

  it('X12: follows an offer that moves from one offering to another', async () => {
    const fixture = new Fixture({
      machines: [...machines(6, 'm'), machine('other', { zone: 'z2' })],
      demand: { c1: [need(3)] },
      provider: { quotas: { [OFFERING]: 0 } },
    });
    await fixture.run(3);
    const { inventory, backoffs, changes } = fixture.shard;
    expect(fixture.shard.gauges().offeringsInBackoff).toBe(1);
    const [offering] = fixture.shard.backoffs.offerings();
    expect(offering).toMatchObject({ provider: 0, failures: 3 });
    expect(offering!.untilMs - offering!.sinceMs).toBe(30_000);
    const barred = inventory.find('m-0005');
    const free = inventory.find('other');
    expect(inventory.hasFlag(barred, Flag.Backoff)).toBe(true);
    const nowMs = fixture.world.time.nowMs();
    changes.observe(barred, { ...inventory.get(barred), zone: 'z3' }, 'read', nowMs);
    expect(inventory.hasFlag(barred, Flag.Backoff)).toBe(false);
    changes.observe(free, { ...inventory.get(free), zone: 'z1' }, 'read', nowMs);
    expect(backoffs.ofOffering(free)).not.toBeNull();
    expect(inventory.hasFlag(free, Flag.Backoff)).toBe(true);
  });

  it('X12: forgets an offering whose machines are gone', async () => {
    const fixture = new Fixture({
      machines: machines(3, 'm'),
      demand: { c1: [need(3)] },
      provider: { quotas: { [OFFERING]: 0 } },
    });
    await fixture.run(3);
    const { instanceTypes, zones } = fixture.shard.inventory.shapes;
    expect(instanceTypes.count).toBe(1);
    fixture.world.setDemand(fixture.cluster(), []);
    for (let index = 0; index < 3; index++) fixture.world.provider.world.remove(`m-000${index}`);
    await fixture.run(700);
    expect(fixture.shard.inventory.count).toBe(0);
    expect([instanceTypes.count, zones.count]).toEqual([0, 0]);
  });
});

describe('X5: the back-off of a need', () => {
  it('X5: leaves a machine Idle that was created for a need whose bootstrap just failed', async () => {
    const fixture = new Fixture({
      machines: [machine('a', { state: S.Idle }), machine('b')],
      demand: { c1: [need(2)] },
    });
    fixture.cluster().faults = { delayMsMean: 5, blobError: 1, blobSilence: 0 };
    // The Create ends long after the operator refused the Idle machine's bootstrap.
    fixture.world.network.faults = { ...SLOW_NETWORK, delayMsMean: 1_500 };
    await fixture.run(30);
    const failures = fixture.actions
      .filter(({ outcome }) => outcome === 'blob_error')
      .map(({ atMs }) => atMs);
    const gaps = failures.slice(1).map((atMs, index) => atMs - failures[index]!);
    expect(fixture.known('b')).toBe('Idle');
    // Bootstraps under way at the same time may fail together; the next one comes after the back-off.
    for (const gapMs of gaps.filter((gapMs) => gapMs > 500)) expect(gapMs).toBeGreaterThanOrEqual(10_000);
  });

  it('X5: counts a failure during the back-off as the same one, and waits 10 s from the last', () => {
    const { tables } = createTables({ machinesMax: 16, hasRollupGuard: true }).inventory;
    const backoffs = needBackoffs(tables);
    const need = [
      tables.clusters.intern('c'),
      tables.fingerprints.intern('p'),
      tables.groups.intern('g'),
    ] as const;
    const isBarredAt = (nowMs: number) => {
      backoffs.expire(nowMs);
      return backoffs.isBarred(...need);
    };
    backoffs.failed(...need, { text: 'no token' }, 0);
    backoffs.failed(...need, { text: 'no answer' }, 9_000);
    expect([18_999, 19_001].map(isBarredAt)).toEqual([true, false]);
    backoffs.failed(...need, { text: 'no token' }, 20_000); // the second in a row: 20 s
    expect([39_999, 40_001].map(isBarredAt)).toEqual([true, false]);
  });

  it('T12, X5: keeps at most 1,024 back-offs of a cluster for withdrawn needs, the last ones, and gives back the others', () => {
    const { tables } = createTables({ machinesMax: 16, hasRollupGuard: true }).inventory;
    const live = new Set<number>();
    const backoffs = needBackoffs(tables, (_cluster, _fingerprint, group) => live.has(group));
    const [cluster, other] = [tables.clusters.intern('c'), tables.clusters.intern('d')];
    const fingerprint = tables.fingerprints.intern('p');
    const fail = (of: number, name: string) => {
      const group = tables.groups.intern(name);
      backoffs.failed(of, fingerprint, group, { text: 'no token' }, 0);
      tables.groups.release(group); // the need is withdrawn
      return group;
    };
    fail(other, 'of-another');
    const groups = Array.from({ length: 3_000 }, (_, index) => fail(cluster, `g-${index}`));
    for (const group of groups.slice(0, 500)) live.add(group);
    backoffs.expire(1);
    expect(backoffs.count).toBe(1_025);
    expect(tables.groups.count).toBe(1_025);
    expect(backoffs.isBarred(cluster, fingerprint, groups[0]!)).toBe(true);
    expect(backoffs.isBarred(cluster, fingerprint, groups[500]!)).toBe(false);
    expect(backoffs.isBarred(cluster, fingerprint, groups[2_999]!)).toBe(true);
    expect(backoffs.isBarred(other, fingerprint, tables.groups.find('of-another'))).toBe(true);
    backoffs.expire(3_600_000);
    expect([backoffs.count, tables.groups.count]).toEqual([0, 0]);
  });
});
