import { describe, expect, it } from 'vitest';
import { ProviderDirectory } from '../../../src/provider/client/directory.ts';
import { parseEndpoints } from '../../../src/provider/client/endpoint.ts';
import { FencingTokens } from '../../../src/provider/client/fencing.ts';
import { rig, S, seed } from '../../simulation/provider/fixture.ts';
import { closeAfterwards, serve } from './fixture.ts';
import { rawServer } from './hostile-provider.ts';

describe('several providers', () => {
  it('are called by name and share one sequence, and one that hangs delays no other', async () => {
    const left = rig({}, [seed('l-1'), seed('l-2')]).provider;
    const right = rig({}, [seed('r-1')]).provider;
    const mute = closeAfterwards(await rawServer(() => {}));
    const endpoints = parseEndpoints([
      `left=${(await serve(left)).address}`,
      `right=${(await serve(right)).address}`,
      `mute=${mute.address}`,
    ]);
    // By structured clone, as a worker receives it.
    const setup = structuredClone({ endpoints, fencing: FencingTokens.create('s', 3).shared });
    const directory = closeAfterwards(new ProviderDirectory(setup, { limits: { callTimeoutMs: 2_000 } }));
    expect(directory.names).toEqual(['left', 'right', 'mute']);

    let isMuteSettled = false;
    const muteCall = directory.reader('mute').create({ machineId: 'x' });
    void muteCall.then(() => {
      isMuteSettled = true;
    });
    for (const [name, machineId] of [
      ['left', 'l-1'],
      ['right', 'r-1'],
      ['left', 'l-2'],
    ] as const) {
      const outcome = await directory.reader(name).create({ machineId });
      expect(outcome).toMatchObject({ kind: 'accepted', machine: { id: machineId, state: S.Idle } });
    }
    expect(isMuteSettled).toBe(false);
    const tokens = [left, right].flatMap(({ ledger }) =>
      ledger.entries().flatMap(({ token }) => token ?? []),
    );
    expect(tokens.map(({ epoch }) => epoch)).toEqual([3n, 3n, 3n]);
    expect(new Set(tokens.map(({ sequence }) => sequence))).toEqual(new Set([1n, 2n, 3n]));
    expect(await directory.reader('right').get({ machineId: 'l-1' })).toMatchObject({ kind: 'not_found' });
    expect(await muteCall).toMatchObject({ kind: 'timeout' });
  });
});
