import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { rig, seed } from '../../simulation/provider/fixture.ts';
import { closeAfterwards, serve } from '../client/fixture.ts';
import { hasSettled, later, startPool, withSilence } from './fixture.ts';

const run = promisify(execFile);

/** A whole program: opens a pool, calls, closes, and has nothing else that keeps it alive. */
const PROGRAM = `
const [root, address] = process.argv.slice(1);
const load = (path) => import(root + 'dist/src/' + path);
const { ProviderPool } = await load('provider/pool/pool.js');
const { FencingTokens } = await load('provider/client/fencing.js');
const { Inventory } = await load('inventory/inventory.js');
const { VectorTable } = await load('base/vectors.js');
const { DimensionTable } = await load('base/dimensions.js');
const inventory = new Inventory({ vectors: new VectorTable(new DimensionTable()), machinesMax: 64 });
const pool = new ProviderPool({
  endpoints: [{ name: 'p', address }],
  fencing: FencingTokens.create('shard-1', 1).shared,
  inventory: inventory.share(),
  threads: 2,
});
const deadlineUnixMs = Date.now() + 60_000;
const read = await pool.read({ provider: 0, machineId: 'm', deadlineUnixMs });
const listed = await pool.list({ provider: 0, sinceRevision: new Uint8Array(0), deadlineUnixMs });
const hanging = pool.call({ kind: 'create', provider: 0, machineId: 'slow', deadlineUnixMs });
await pool.read({ provider: 0, machineId: 'm', deadlineUnixMs }); // the call has been sent
await pool.close({ graceMs: 50 });
console.log(read.kind, listed.kind, listed.rows.count, (await hanging).kind);
`;

describe('closing', () => {
  it('I3: waits for calls in flight, within the grace', async () => {
    const { provider } = rig({}, [seed('m')]);
    const { pool } = startPool([(await serve(withSilence(provider))).address]);
    const ending = pool.call({ ...later(500), kind: 'create', machineId: 'slow-1' });
    await pool.read({ ...later(), machineId: 'm' });
    await pool.close({ graceMs: 60_000 });
    expect(await hasSettled(ending)).toBe(true);
    expect(await ending).toMatchObject({
      kind: 'timeout',
      detail: expect.not.stringContaining('ended before'),
    });
  });

  it('makes no call afterwards, and a second close changes nothing', async () => {
    const { provider } = rig({}, [seed('m')]);
    const { pool } = startPool([(await serve(provider)).address]);
    await Promise.all([pool.close({ graceMs: 0 }), pool.close({ graceMs: 0 })]);
    const sinceRevision = new Uint8Array(0);
    expect((await pool.call({ ...later(), kind: 'create', machineId: 'm' })).kind).toBe('unavailable');
    expect((await pool.read({ ...later(), machineId: 'm' })).kind).toBe('unavailable');
    expect((await pool.list({ ...later(), sinceRevision })).kind).toBe('unavailable');
    expect(provider.ledger.entries('m')).toEqual([]);
  });

  it('leaves nothing that keeps a process alive, and every thread writes its CPU profile', async () => {
    const { provider } = rig({}, [seed('m')]);
    const { address } = await serve(withSilence(provider));
    const directory = mkdtempSync(join(tmpdir(), 'flotilla-pool-'));
    closeAfterwards({ close: () => rmSync(directory, { recursive: true }) });
    const root = new URL('../../../', import.meta.url).href;
    const flags = ['--cpu-prof', `--cpu-prof-dir=${directory}`, '--input-type=module', '-e', PROGRAM];
    const { stdout } = await run(process.execPath, [...flags, root, address], { timeout: 60_000 });
    expect(stdout.trim()).toBe('accepted listed 1 timeout');
    expect(readdirSync(directory).length).toBe(4); // main, two for calls, one for listings
  });
});
