import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/base/random.ts';
import type { ListAnswer, Listing, ListRequest } from '../../../src/shard/ports/providers.ts';
import { ok } from '../../../src/simulation/provider/requests.ts';
import type { ProviderCalls } from '../../../src/simulation/provider/server.ts';
import { encode } from '../../../src/wire/codec.ts';
import { inState, inventory } from '../../inventory/machines.ts';
import { applyAll, machinesOf, onWire } from '../../listing/compare/listing-fixture.ts';
import { rig, S, seed, seedIn } from '../../simulation/provider/fixture.ts';
import { serve } from '../client/fixture.ts';
import { later, ODD_FILES, startPool, type TestPool } from './fixture.ts';

const FULL = new Uint8Array(0);

async function listed({ pool }: TestPool, parts: Partial<ListRequest> = {}): Promise<Listing> {
  const answer = await pool.list({ ...later(), sinceRevision: FULL, ...parts });
  if (answer.kind !== 'listed') throw new Error(`${answer.kind}: ${answer.detail}`);
  return answer;
}

describe('a listing over gRPC, compared in the listing thread', () => {
  it('S1: has the new machines, then nothing, then the changed and removed ones', async () => {
    const { provider } = rig({}, [seed('a'), seedIn(S.Configured, 'b'), seedIn(S.Failed, 'c')]);
    const test = startPool([(await serve(provider)).address]);
    const first = await listed(test);
    expect(machinesOf(first.rows).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(first).toMatchObject({ isFull: true, listedCount: 3, knownCount: 0 });
    expect(first.answerBytes).toBeGreaterThan(300);
    expect(first.durationMs).toBeGreaterThan(0);
    applyAll(test.inventory, first);
    expect((await listed(test)).rows.count).toBe(0);
    provider.world.reprice('b', 3);
    provider.world.remove('a');
    const next = await listed(test);
    expect(machinesOf(next.rows)).toMatchObject([{ id: 'b', pricePerHourUsd: 3 }]);
    expect(Array.from(next.removed.slot, (slot) => test.inventory.idOf(slot))).toEqual(['a']);
    const delta = await listed(test, { sinceRevision: first.revision });
    expect(delta).toMatchObject({ isFull: false, listedCount: 1, removed: { count: 1 } });
    expect(machinesOf(delta.rows)).toMatchObject([{ id: 'b', pricePerHourUsd: 3 }]);
  });

  it('S7: fails as a whole if it is malformed, too large or unavailable', async () => {
    const { provider } = rig(
      {},
      Array.from({ length: 50 }, (_, index) => seed(`m-${index}`)),
    );
    const broken = Object.assign(Object.create(provider) as typeof provider, {
      encodeList: () => ({ kind: 'ok', value: Buffer.from([0x0a, 0xff]) }) as const,
    });
    const addresses = [await serve(provider), await serve(broken)].map(({ address }) => address);
    const { pool } = startPool([...addresses, '127.0.0.1:1'], { limits: { listBytesMax: 1_000 } });
    const kinds = await Promise.all(
      [0, 1, 2].map(async (at) => (await pool.list({ ...later(), provider: at, sinceRevision: FULL })).kind),
    );
    expect(kinds).toEqual(['malformed', 'malformed', 'unavailable']);
  });

  it('T3, T5: rejects long and malformed records alone, in parts or whole', async () => {
    const { provider } = rig({}, [seed('a')]);
    const good = (id: string) => ({ id, state: S.Speculative, instanceType: 't' });
    const long = { ...good('long'), labels: { k: 'x'.repeat(900_000) } };
    const malformed = Buffer.from([0x0a, 0x05, 0x0a, 0x01, 0x62, 0x26, 0x00]); // machine "b", then wire type 6
    const bytes = Buffer.concat([
      encode('MachineList', { machines: [good('first'), long] }),
      malformed,
      encode('MachineList', { machines: [good('last')] }),
    ]);
    const odd = Object.assign(Object.create(provider) as typeof provider, {
      encodeList: () => ({ kind: 'ok', value: Buffer.from(bytes) }) as const,
    });
    const { address } = await serve(odd);
    for (const listingPartBytes of [1_000, 10_000_000]) {
      const test = startPool([address], { listingPartBytes });
      let answer: ListAnswer = await listed(test);
      const found: string[] = [];
      for (;;) {
        if (answer.kind !== 'listed') throw new Error(answer.detail);
        found.push(...machinesOf(answer.rows).map(({ id }) => id));
        if (answer.next === undefined) break;
        answer = await answer.next();
      }
      expect(found).toEqual(['first', 'last']);
      expect(answer).toMatchObject({ listedCount: 2, rejected: { structural: 2 }, unnamedCount: 0 });
      expect(answer.rejectionTexts[0]).toMatch(
        /"long" .*label value .* has 900000 bytes, and the limit is 1024/,
      );
      expect(answer.rejectionTexts[1]).toMatch(/"b" .*record 3 of the listing is not a valid message/);
    }
  });

  it('S1: rejects an id of another provider', async () => {
    const { provider } = rig({}, [seed('a')]);
    const addresses = [await serve(provider), await serve(provider)].map(({ address }) => address);
    const test = startPool(addresses);
    applyAll(test.inventory, await listed(test));
    const other = await listed(test, { provider: 1 });
    expect(other).toMatchObject({ listedCount: 0, rejected: { structural: 1 }, removed: { count: 0 } });
    expect(other.rejectionTexts[0]).toContain('p0');
  });

  it('does not wait for a provider that does not answer, and is one at a time per provider', async () => {
    const { provider } = rig({}, [seed('a')]);
    const silent = Object.assign(Object.create(provider) as typeof provider, {
      encodeList: () => ({ kind: 'silent' }) as const,
    });
    const addresses = [await serve(silent), await serve(provider)].map(({ address }) => address);
    const test = startPool(addresses);
    const hanging = test.pool.list({ ...later(3_000), sinceRevision: FULL });
    expect((await listed(test, { provider: 1 })).listedCount).toBe(1);
    expect((await test.pool.list({ ...later(), sinceRevision: FULL })).kind).toBe('unavailable');
    expect((await hanging).kind).toBe('timeout');
  });

  it('ends as worker_lost with its thread, and another thread makes the next one', async () => {
    const { provider } = rig({}, [seed('a')]);
    const test = startPool([(await serve(provider)).address], { files: ODD_FILES });
    const lost = await test.pool.list({ ...later(), sinceRevision: Buffer.from('exit') });
    expect(lost).toMatchObject({ kind: 'worker_lost', durationMs: expect.any(Number) });
    expect((await listed(test)).listedCount).toBe(1);
    await expect.poll(() => test.lost).toEqual(['list: worker exited with code: 3']);
    expect(test.pool.workerRestarts).toBe(1);
  });

  it('in flight ends with the pool', async () => {
    const { provider } = rig({}, [seed('a')]);
    const { pool } = startPool([(await serve(provider)).address], { files: ODD_FILES });
    const swallowed = pool.list({ ...later(), sinceRevision: Buffer.from('swallow') });
    await pool.close({ graceMs: 20 });
    expect((await swallowed).kind).toBe('timeout');
  });
});

describe('a listing that is compared while the main thread writes', () => {
  it('misses no permanent difference, invents none, and is empty when all is applied', async () => {
    const random = new Random(5);
    const ids = Array.from({ length: 400 }, (_, index) => `m-${index}`);
    const truth = ids.map((id) => inState(S.Configured, { id, host: { provider: 'p', ref: `h-${id}` } }));
    const { provider } = rig({}, []);
    const served: ProviderCalls = Object.assign(Object.create(provider) as typeof provider, {
      encodeList: () => ok(encode('MachineList', { machines: truth.map(onWire) })),
    });
    const known = inventory({ machinesMax: 1_000, guards: false });
    const test = startPool([(await serve(served)).address], { known });
    applyAll(known, await listed(test));
    // Shapes and clusters come and go, so the inventory reuses their refs while rows are compared. The first twenty
    // machines always differ from the provider's in some way.
    const bend = (index: number) => {
      const slot = known.find(ids[index]!);
      const rack = `r-${random.below(30)}`;
      if (index < 20) known.apply(slot, { labels: { rack }, cluster: `c-${random.below(30)}` }, 0);
      else if (random.unit() < 0.5) known.apply(slot, { labels: { rack } }, 0);
      else known.apply(slot, truth[index]!, 0, { force: true });
    };
    for (let index = 0; index < ids.length; index++) bend(index);
    for (let round = 0; round < 12; round++) {
      const listing = listed(test);
      let isDone = false;
      void listing.finally(() => {
        isDone = true;
      });
      while (!isDone) {
        for (let writes = 0; writes < 100; writes++) bend(random.below(ids.length));
        await new Promise((resolve) => setImmediate(resolve));
      }
      const { rows } = await listing;
      const said = new Map(machinesOf(rows).map((each) => [each.id, each]));
      for (const each of truth.slice(0, 20)) expect(said.get(each.id)).toEqual(each);
      for (const each of said.values()) expect(each).toEqual(truth[ids.indexOf(each.id)]);
    }
    applyAll(known, await listed(test));
    expect(ids.map((id) => known.get(known.find(id)))).toEqual(truth);
    expect((await listed(test)).rows.count).toBe(0);
  });
});
