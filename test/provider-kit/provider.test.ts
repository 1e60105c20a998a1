import { describe, expect, it } from 'vitest';
import { MachineState } from '../../src/machine/state.ts';
import { type Cloud, Refused } from '../../src/provider-kit/cloud.ts';
import { InvalidOfferError } from '../../src/provider-kit/errors.ts';
import { IN_MEMORY } from '../../src/provider-kit/state-log.ts';
import { call, HeldCloud, LIMITS_MS, listing, machineOf, offer, providerOf, settled } from './rig.ts';

const S = MachineState;

async function started(change: Parameters<typeof providerOf>[2] = {}) {
  const cloud = new HeldCloud();
  const provider = providerOf(cloud, [offer('m-1'), offer('m-2', { hostRef: 'rack/2' })], change);
  await provider.start(IN_MEMORY, []);
  return { cloud, provider };
}

describe('an operation of the kit', () => {
  it('is acked with the transitional state, and ends when the function has ended', async () => {
    const { cloud, provider } = await started();
    const ack = await call(provider, 'create', {});
    expect(ack.machine).toMatchObject({ state: S.Creating, host: null });
    expect(cloud.pending).toMatchObject([{ name: 'create', operationId: ack.operationId, attempt: 1 }]);
    cloud.pending[0]!.end();
    await settled();
    expect(machineOf(provider, 'm-1')).toMatchObject({
      state: S.Idle,
      host: { provider: 'kit', ref: 'host-of-m-1' },
    });
  });

  it('goes back to where it was if the function refuses, and the caller gets the code if it waits for the ack', async () => {
    const { cloud, provider } = await started({ ackWithinMs: 60_000 });
    const answer = call(provider, 'create', {});
    await settled();
    cloud.pending[0]!.end(new Refused('resource_exhausted', 'no stock'));
    expect(await answer).toMatchObject({ code: 'resource_exhausted', detail: 'no stock' });
    expect(machineOf(provider, 'm-1').state).toBe(S.Speculative);
  });

  it('goes back to where it was if the function refuses after the ack, and the next call is a new operation', async () => {
    const { cloud, provider } = await started();
    const first = await call(provider, 'create', {});
    expect(first).toMatchObject({ code: 'ok', machine: { state: S.Creating } });
    cloud.pending[0]!.end(new Refused('unavailable', 'the API is down'));
    await settled();
    expect(machineOf(provider, 'm-1').state).toBe(S.Speculative);
    expect((await call(provider, 'create', {})).operationId).not.toBe(first.operationId);
  });

  it('fails with the message of the function, and a sighting repairs the machine', async () => {
    const { cloud, provider } = await started();
    await call(provider, 'configure', { machineId: 'm-2', cluster: 'blue', shardMetadata: { need: 'n' } });
    cloud.pending[0]!.end(new Error('no boot device\nfound'));
    await settled();
    const failed = machineOf(provider, 'm-2');
    expect(failed).toMatchObject({
      state: S.Failed,
      lastError: 'configure: no boot device found',
      cluster: 'blue',
    });
    expect(await call(provider, 'drain', { machineId: 'm-2' })).toMatchObject({ code: 'aborted' });
    expect(await provider.report('m-2', { state: 'idle' })).toBe(true);
    expect(machineOf(provider, 'm-2')).toMatchObject({
      state: S.Idle,
      cluster: '',
      lastError: '',
      shardMetadata: {},
    });
  });

  it('is Failed when its time is up, and done after all if the function still does it', async () => {
    const { cloud, provider } = await started({ limitsMs: { ...LIMITS_MS, create: 1 } });
    await call(provider, 'create', {});
    await expect.poll(() => machineOf(provider, 'm-1').state).toBe(S.Failed);
    expect(machineOf(provider, 'm-1').lastError).toContain('did not end within');
    expect(cloud.pending[0]!.signal.aborted).toBe(true);
    cloud.pending[0]!.end();
    await settled();
    expect(machineOf(provider, 'm-1')).toMatchObject({
      state: S.Idle,
      host: { ref: 'host-of-m-1' },
      lastError: '',
    });
  });

  it('ignores a late end once a sighting has decided', async () => {
    const { cloud, provider } = await started({ limitsMs: { ...LIMITS_MS, create: 1 } });
    await call(provider, 'create', {});
    await expect.poll(() => machineOf(provider, 'm-1').state).toBe(S.Failed);
    await provider.report('m-1', { state: 'gone' });
    cloud.pending[0]!.end();
    await settled();
    expect(machineOf(provider, 'm-1')).toMatchObject({ state: S.Speculative, host: null });
  });

  it('that the author left out is UNIMPLEMENTED, behind the fence', async () => {
    const held = new HeldCloud();
    const rack: Cloud = { configure: (order) => held.configure(order), drain: (order) => held.drain(order) };
    const provider = providerOf(rack, [offer('m-1', { hostRef: 'rack/1' })]);
    await provider.start(IN_MEMORY, []);
    const token = { shardId: 's', epoch: 1n, sequence: 1n };
    expect((await call(provider, 'delete', { token })).code).toBe('unimplemented');
    expect((await call(provider, 'delete', { token })).code).toBe('failed_precondition');
  });

  it('is not interrupted by a report, which returns false meanwhile', async () => {
    const { provider } = await started();
    await call(provider, 'create', {});
    expect(await provider.report('m-1', { state: 'gone' })).toBe(false);
    expect(await provider.report('nobody', { state: 'gone' })).toBe(false);
    expect(machineOf(provider, 'm-1').state).toBe(S.Creating);
  });
});

describe('offers of the kit', () => {
  it('that disappear leave tombstones; a machine that exists stays until it is deleted', async () => {
    const { cloud, provider } = await started();
    await call(provider, 'create', {});
    cloud.pending[0]!.end();
    await settled();
    const { revision } = listing(provider);
    provider.setOffers([offer('m-3')]);
    const changes = listing(provider, { sinceRevision: revision });
    expect(changes.machines.map(({ id }) => id)).toEqual(['m-3']);
    expect(changes.deletedIds).toEqual(['m-2']);
    await call(provider, 'delete', {});
    cloud.pending[0]!.end();
    await settled();
    expect(listing(provider, { sinceRevision: changes.revision })).toMatchObject({
      machines: [],
      deletedIds: ['m-1'],
    });
    expect(listing(provider).machines.map(({ id }) => id)).toEqual(['m-3']);
  });

  it('that change their price are listed again, and equal ones are not', async () => {
    const { provider } = await started();
    const { revision } = listing(provider);
    provider.setOffers([offer('m-1', { pricePerHourUsd: 2 }), offer('m-2', { hostRef: 'rack/2' })]);
    expect(listing(provider, { sinceRevision: revision }).machines).toMatchObject([
      { id: 'm-1', pricePerHour: 2 },
    ]);
  });

  for (const [change, because] of [
    [{ id: '' }, 'empty'],
    [{ id: 'm-0' }, 'two offers'],
    [{ pricePerHourUsd: Number.NaN }, 'dollars'],
    [{ interruptionProbability: 30 }, 'between 0 and 1'],
    [{ resources: { cpu: 'many' } }, 'quantity'],
    [{ allocatable: {} }, 'allocatable is empty'],
    [{ labels: { '': 'x' } }, 'no key'],
    [{ labels: { rack: '\ud800' } }, 'Unicode'],
    [{ zone: 'z'.repeat(600) }, 'limit is 512'],
    [{ capacityType: 'cheap' as 'spot' }, 'capacityType'],
  ] as const) {
    it(`refuses ${JSON.stringify(change)}: ${because}`, () => {
      const { provider } = { provider: providerOf(new HeldCloud(), []) };
      const set = () => provider.setOffers([offer('m-0'), offer('m-1', change)]);
      expect(set).toThrow(InvalidOfferError);
      expect(set).toThrow(because);
      expect(provider.machines).toEqual([]);
    });
  }
});
