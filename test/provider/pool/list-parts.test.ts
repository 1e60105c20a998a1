/** A first listing in parts, with real threads and real gRPC: no row is lost, and nothing is kept too long. */
import { describe, expect, it } from 'vitest';
import type { ListAnswer, Listing } from '../../../src/shard/ports/providers.ts';
import { bytesOf } from '../../../src/wire/outgoing-message.ts';
import { applyAll, machinesOf } from '../../listing/compare/listing-fixture.ts';
import { rig, S, seed, seedIn } from '../../simulation/provider/fixture.ts';
import { serve } from '../client/fixture.ts';
import { later, ODD_FILES, startPool, type TestPool } from './fixture.ts';

const FULL = new Uint8Array(0);
const IDS = Array.from({ length: 60 }, (_, index) => `m-${index}`);
/** Small enough that an answer with these machines has several parts. */
const PARTS = { listingPartBytes: 2_000 };

function fleet() {
  return rig(
    {},
    IDS.map((id, index) => (index % 2 === 0 ? seed(id) : seedIn(S.Configured, id))),
  ).provider;
}

/** Starts so many providers with these machines. */
async function addresses(count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, async () => (await serve(fleet())).address));
}

const list = ({ pool }: TestPool, provider = 0) => pool.list({ ...later(), provider, sinceRevision: FULL });

function listed(answer: ListAnswer): Listing {
  if (answer.kind !== 'listed') throw new Error(`${answer.kind}: ${answer.detail}`);
  return answer;
}

/** The first part of a listing that has more. */
async function begun(test: TestPool, provider = 0): Promise<Required<Listing>> {
  const first = listed(await list(test, provider));
  expect(first.next).toBeDefined();
  return first as Required<Listing>;
}

async function allParts(first: Listing): Promise<Listing[]> {
  const parts = [first];
  for (let part = first; part.next !== undefined; parts.push(part)) part = listed(await part.next());
  return parts;
}

const idsOf = (parts: readonly Listing[]) =>
  parts.flatMap(({ rows }) => machinesOf(rows).map(({ id }) => id));

describe('a first listing in parts', () => {
  it('S1: has every machine once; the last part has the counts and the cursor of the whole', async () => {
    const timings: number[] = [];
    const test = startPool(await addresses(1), { ...PARTS, onListed: (provider) => timings.push(provider) });
    const parts = await allParts(await begun(test));
    expect(parts.length).toBeGreaterThan(3);
    expect(idsOf(parts)).toEqual(IDS);
    const last = parts.at(-1)!;
    expect(last).toMatchObject({ isFull: true, listedCount: 60, knownCount: 0, repeatedCount: 0 });
    expect(last.revision.length).toBeGreaterThan(0);
    expect(timings).toEqual([0]); // one listing
    for (const part of parts) applyAll(test.inventory, part);
    const again = listed(await list(test));
    expect(again).toMatchObject({ listedCount: 60, rows: { count: 0 }, removed: { count: 0 } });
    expect(again.next).toBeUndefined();
  });

  it('is one part if it is small, or if the inventory has a machine', async () => {
    const small = startPool(await addresses(1), { listingPartBytes: 1_000_000 });
    expect(listed(await list(small)).next).toBeUndefined();
    const known = startPool(await addresses(1), PARTS);
    known.inventory.insert(machinesOf((await begun(known)).rows)[0]!, 0, 0);
    const whole = listed(await list(known));
    expect(whole.next).toBeUndefined();
    expect(whole).toMatchObject({ listedCount: 60, knownCount: 1, rows: { count: 59 } });
  });

  it('S7: fails if a later part is malformed, and the next listing is an ordinary one', async () => {
    const provider = fleet();
    let isBroken = true;
    const served = Object.assign(Object.create(provider) as typeof provider, {
      encodeList: (call: object) => {
        const answer = provider.encodeList(call);
        if (answer.kind !== 'ok' || !isBroken) return answer;
        isBroken = false;
        return {
          kind: 'ok',
          value: Buffer.concat([bytesOf(answer.value), Buffer.from([0x0a, 0xff])]),
        } as const;
      },
    });
    const test = startPool([(await serve(served)).address], PARTS);
    const first = await begun(test);
    applyAll(test.inventory, first);
    let answer: ListAnswer = first;
    while (answer.kind === 'listed') answer = await answer.next!();
    expect(answer).toMatchObject({ kind: 'malformed', durationMs: expect.any(Number) });
    expect(answer.detail).toMatch(/byte \d+/);
    const whole = listed(await list(test));
    expect(whole.next).toBeUndefined();
    expect(whole).toMatchObject({ listedCount: 60, knownCount: first.rows.count });
    expect(idsOf([first, whole])).toEqual(IDS);
  });

  it('is the only one at a time: another provider’s listing comes as a whole meanwhile', async () => {
    const test = startPool(await addresses(2), PARTS);
    const first = await begun(test, 0);
    expect(listed(await list(test, 1)).next).toBeUndefined();
    expect(idsOf(await allParts(first))).toEqual(IDS);
    expect((await begun(test, 1)).rows.count).toBeLessThan(60);
  });

  it('is dropped when a part is released without a request for the next', async () => {
    const test = startPool(await addresses(2), PARTS);
    (await begun(test, 0)).release();
    await begun(test, 1); // in parts only because the other was dropped
  });

  it('is dropped when its provider is listed again', async () => {
    const test = startPool(await addresses(1), PARTS);
    await begun(test);
    expect(idsOf(await allParts(await begun(test)))).toEqual(IDS);
  });

  it('ends as worker_lost with its thread, in the middle of a part or between two', async () => {
    const test = startPool(await addresses(4), { ...PARTS, files: ODD_FILES });
    const inTheMiddle = await (await begun(test, 1)).next();
    expect(inTheMiddle).toMatchObject({ kind: 'worker_lost', durationMs: expect.any(Number) });
    const first = await begun(test, 3);
    await expect.poll(() => test.pool.workerRestarts, { timeout: 30_000 }).toBe(2);
    expect((await first.next()).kind).toBe('worker_lost');
    expect(idsOf(await allParts(await begun(test)))).toEqual(IDS);
  });

  it('ends with the pool, whether its next part is requested or not', async () => {
    const test = startPool(await addresses(3), { ...PARTS, files: ODD_FILES });
    const first = await begun(test, 2);
    const swallowed = first.next();
    await test.pool.close({ graceMs: 20 });
    expect((await swallowed).kind).toBe('timeout');
    const other = startPool(await addresses(1), PARTS);
    const part = await begun(other);
    await other.pool.close({ graceMs: 0 });
    part.release();
    expect((await part.next()).kind).toBe('unavailable');
  });
});
