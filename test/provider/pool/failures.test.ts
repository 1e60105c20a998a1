import { describe, expect, it } from 'vitest';
import { WATCHDOG_GRACE_MS } from '../../../src/provider/pool/open-calls.ts';
import type { ProviderAnswer } from '../../../src/shard/ports/providers.ts';
import { serveProvider } from '../../../src/simulation/provider/server.ts';
import { rig, S, seed, seedIn } from '../../simulation/provider/fixture.ts';
import { closeAfterwards, serve } from '../client/fixture.ts';
import { accepted, later, ODD_FILES, startPool, withSilence } from './fixture.ts';

async function oddPool(options = {}) {
  const { provider } = rig({}, [seed('m'), seedIn(S.Idle, 'i')]);
  const { address } = await serve(withSilence(provider));
  return startPool([address], { files: ODD_FILES, ...options });
}

describe('a deadline', () => {
  it('X8: ends a call as a timeout', async () => {
    const { pool } = await oddPool();
    await pool.read({ ...later(), machineId: 'm' }); // the thread has started
    const slow = await pool.call({ ...later(100), kind: 'create', machineId: 'slow-1' });
    expect(slow).toMatchObject({ kind: 'timeout', detail: expect.stringContaining('Deadline exceeded') });
  });

  it('is enforced by the watchdog if the thread does not enforce it, and no thread is ended', async () => {
    const { pool, lost } = await oddPool();
    const swallowed = await pool.call({ ...later(100), kind: 'create', machineId: 'swallow' });
    expect(swallowed).toMatchObject({ kind: 'timeout' });
    expect(pool.overdueCount).toBe(1);
    expect(pool.workerRestarts).toBe(0);
    expect(lost).toEqual([]);
    expect((await pool.read({ ...later(), machineId: 'm' })).kind).toBe('accepted');
  });

  it('has passed: later answers are ignored', async () => {
    const { pool } = await oddPool();
    const deadlineUnixMs = Date.now() + 3_000 - 2 * WATCHDOG_GRACE_MS;
    // The thread is blocked for 3 s and makes the call after that.
    const blocked = await pool.call({ provider: 0, kind: 'create', machineId: 'block', deadlineUnixMs });
    expect(blocked.kind).toBe('timeout');
    expect((await pool.read({ ...later(), machineId: 'm' })).kind).toBe('accepted');
    expect(pool.openCount).toBe(0);
    expect(pool.workerRestarts).toBe(0);
  });
});

describe('a thread that dies', () => {
  for (const [how, detail] of [
    ['exit', 'worker exited with code: 3'],
    ['throw', 'a thread broke'],
  ] as const) {
    it(`by ${how}: its calls end as worker_lost, and the next thread continues`, async () => {
      const { pool, lost } = await oddPool();
      const hanging = pool.call({ ...later(), kind: 'create', machineId: 'slow-1' });
      expect((await pool.read({ ...later(), machineId: 'm' })).kind).toBe('accepted'); // it was sent
      const killing = pool.call({ ...later(), kind: 'create', machineId: how });
      expect((await killing).kind).toBe('worker_lost');
      expect((await hanging).kind).toBe('worker_lost');
      expect((await pool.read({ ...later(), machineId: 'm' })).kind).toBe('accepted');
      await expect.poll(() => lost).toEqual([`calls: ${detail}`]);
      expect(pool.workerRestarts).toBe(1);
      expect(pool.openCount).toBe(0);
    });
  }

  it('does not affect the calls of other threads', async () => {
    const { pool } = await oddPool({ threads: 2 });
    // Two concurrent batches go to two threads; one of them dies.
    const hanging = pool.call({ ...later(5_000), kind: 'create', machineId: 'slow-1' });
    await new Promise((resolve) => setImmediate(resolve));
    expect((await pool.call({ ...later(), kind: 'create', machineId: 'exit' })).kind).toBe('worker_lost');
    expect((await hanging).kind).toBe('timeout');
    expect(pool.workerRestarts).toBe(1);
  });

  it('repeatedly: every call settles and the pool continues', async () => {
    const { pool } = await oddPool({ threads: 2 });
    for (let round = 0; round < 10; round++) {
      const answers: ProviderAnswer[] = await Promise.all([
        pool.call({ ...later(), kind: 'create', machineId: 'exit' }),
        pool.call({ ...later(), kind: 'create', machineId: 'throw' }),
        pool.read({ ...later(), machineId: 'm' }),
      ]);
      for (const { kind } of answers) expect(['worker_lost', 'accepted']).toContain(kind);
    }
    expect((await pool.read({ ...later(), machineId: 'm' })).kind).toBe('accepted');
  });
});

describe('a provider that goes away', () => {
  it('is unavailable, and calls work again when it is back', async () => {
    const { provider } = rig({}, [seed('m'), seed('n')]);
    const first = await serve(provider);
    const { pool } = startPool([first.address]);
    accepted(await pool.call({ ...later(), kind: 'create', machineId: 'm' }));
    await first.close();
    expect((await pool.call({ ...later(), kind: 'create', machineId: 'n' })).kind).toBe('unavailable');
    expect((await pool.read({ ...later(), machineId: 'm' })).kind).toBe('unavailable');
    closeAfterwards(await serveProvider(provider, first.address, { closeGraceMs: 50 }));
    await expect
      .poll(async () => (await pool.read({ ...later(), machineId: 'm' })).kind, { interval: 200 })
      .toBe('accepted');
  });
});

describe('a bootstrap blob', () => {
  const SECRET = 'do-not-tell-anyone';

  it('X5: arrives unchanged, and appears in no failure text', async () => {
    const blobs: string[] = [];
    const { provider } = rig({}, [seed('m'), seedIn(S.Idle, 'i')]);
    const { address, close } = await serve({
      ...withSilence(provider),
      configure: (call) => {
        blobs.push(Buffer.from(call.bootstrapBlob!).toString());
        return withSilence(provider).configure(call);
      },
    });
    const { pool, lost } = startPool([address], { files: ODD_FILES });
    const configure = (machineId: string, ms?: number) =>
      pool.call({
        ...later(ms),
        kind: 'configure',
        machineId,
        clusterId: 'blue',
        bootstrapBlob: Buffer.from(SECRET),
        shardMetadata: { ['__proto__']: 'any key' },
      });
    const answers = [await configure('m'), await configure('ghost'), await configure('slow-1', 100)];
    answers.push(await configure('exit'), await configure('throw'));
    const good = await configure('i');
    await close();
    answers.push(await configure('i', 1_000));
    const kinds = answers.map(({ kind }) => kind);
    expect(kinds).toEqual(['other', 'not_found', 'timeout', 'worker_lost', 'worker_lost', 'unavailable']);
    expect(JSON.stringify([answers, lost])).not.toContain(SECRET);
    expect(good.kind).toBe('accepted');
    expect(blobs.length).toBe(4);
    expect(new Set(blobs)).toEqual(new Set([SECRET]));
  });
});
