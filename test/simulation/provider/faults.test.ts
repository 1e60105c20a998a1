import { describe, expect, it } from 'vitest';
import { parseFault } from '../../../src/simulation/provider/fault-flags.ts';
import { everyOperation, type ProviderSettingsChange } from '../../../src/simulation/provider/settings.ts';
import { KIND, outcome, rig, S, Shard, seed, seedIn, value } from './fixture.ts';

const HOUR_MS = 3_600_000;

function faulty(...rules: string[]): ProviderSettingsChange {
  return { faults: rules.map(parseFault) };
}

function metadata(fingerprint: string, group: string) {
  const prefix = 'bigfleet.lucy.sh/assigned-';
  return { [`${prefix}need-fingerprint`]: fingerprint, [`${prefix}group`]: group };
}

describe('faults', () => {
  it('fail a Configure after its ack, and the machine keeps its binding', () => {
    const { provider, timers } = rig(faulty('configure,after=2s'), [seedIn(S.Idle, 'm')]);
    const shard = new Shard();
    const call = { clusterId: 'blue', shardMetadata: { key: 'value' } };
    const ack = value(provider.configure({ ...shard.next('m'), ...call }));
    expect(ack.machine.state).toBe(S.Configuring);
    timers.advance(1_999);
    expect(value(provider.get({ id: 'm' })).state).toBe(S.Configuring);
    timers.advance(1);
    expect(value(provider.get({ id: 'm' }))).toMatchObject({
      state: S.Failed,
      lastError: 'configure failed (simulated fault)',
      cluster: 'blue',
    });
    expect(outcome(provider.configure({ ...shard.next('m'), ...call }))).toBe('aborted');
    expect(provider.ledger.count('finished', 'failed')).toBe(1);
  });

  it('select by cluster, group, part of a fingerprint and instance type; all others succeed', () => {
    const ids = ['cluster', 'group', 'fingerprint', 'type', 'other'];
    const seeds = ids.map((id) =>
      seed(id, { state: S.Idle, kind: id === 'type' ? { ...KIND, instanceType: 'large-8' } : KIND }),
    );
    const rules = ['cluster=red', 'need=job-1', 'need=zone:1:a,b;', 'type=large-8'];
    const { provider, timers } = rig(faulty(...rules.map((rule) => `configure,${rule}`)), seeds);
    const shard = new Shard();
    for (const id of ids) {
      provider.configure({
        ...shard.next(id),
        clusterId: id === 'cluster' ? 'red' : 'blue',
        shardMetadata: metadata(
          id === 'fingerprint' ? 'p=1|reqs=zone:1:a,b;|spr=' : 'p=1|reqs=zone:1:c;|spr=',
          id === 'group' ? 'job-1' : 'job-10',
        ),
      });
    }
    timers.advance(0);
    const states = Object.fromEntries(value(provider.list()).machines.map(({ id, state }) => [id, state]));
    expect(states).toEqual({
      cluster: S.Failed,
      group: S.Failed,
      fingerprint: S.Failed,
      type: S.Failed,
      other: S.Configured,
    });
  });

  it('hit the given share of the operations', () => {
    const seeds = Array.from({ length: 1_000 }, (_, index) => seed(`m-${index}`));
    const { provider, timers } = rig(faulty('create,share=30%'), seeds);
    const shard = new Shard();
    for (const { id } of seeds) provider.create(shard.next(id));
    timers.advance(0);
    const failed = provider.ledger.count('finished', 'failed');
    expect(Math.abs(failed - 300)).toBeLessThan(75); // five standard deviations
    expect(provider.ledger.count('finished', 'succeeded')).toBe(1_000 - failed);
  });

  for (const [operation, from, bound] of [
    ['create', S.Speculative, false],
    ['configure', S.Idle, false],
    ['drain', S.Configured, true],
    ['delete', S.Idle, false],
  ] as const) {
    it(`undo a ${operation}, and the next ${operation} is a new operation`, () => {
      const { provider, timers } = rig(faulty(`${operation},end=undone,after=1s`), [seedIn(from, 'm')]);
      const before = value(provider.get({ id: 'm' }));
      const shard = new Shard();
      const call = () => value(provider[operation]({ ...shard.next('m'), clusterId: 'blue' }));
      const first = call();
      timers.advance(1_000);
      expect(value(provider.get({ id: 'm' }))).toEqual(before);
      expect(before.cluster !== '').toBe(bound);
      expect(call().operationId).not.toBe(first.operationId);
    });
  }

  it('remove a machine, and the next listing after the cursor names it', () => {
    const { provider, timers } = rig(faulty('configure,end=gone'), [seedIn(S.Idle, 'm')]);
    const { revision } = value(provider.list());
    const ack = value(provider.configure({ ...new Shard().next('m'), clusterId: 'blue' }));
    expect(ack.machine.state).toBe(S.Configuring);
    timers.advance(0);
    expect(outcome(provider.get({ id: 'm' }))).toBe('not_found');
    expect(value(provider.list({ sinceRevision: revision })).deletedIds).toEqual(['m']);
  });

  it('leave a node that never becomes ready CONFIGURING for good, or until the transition timeout', () => {
    for (const transitionTimeoutMs of [null, 30_000]) {
      const settings = { ...faulty('configure,end=never'), transitionTimeoutMs };
      const { provider, timers } = rig(settings, [seedIn(S.Idle, 'm')]);
      provider.configure({ ...new Shard().next('m'), clusterId: 'blue' });
      timers.advance(29_999);
      expect(value(provider.get({ id: 'm' })).state).toBe(S.Configuring);
      timers.advance(HOUR_MS);
      const { state, lastError } = value(provider.get({ id: 'm' }));
      expect({ state, lastError }).toEqual(
        transitionTimeoutMs === null
          ? { state: S.Configuring, lastError: '' }
          : {
              state: S.Failed,
              lastError: 'the node did not become ready within 30 s (transition timeout)',
            },
      );
    }
  });
});

describe('the transition timeout', () => {
  it('ends slow operations in FAILED, and their late completion changes nothing', () => {
    const operations = everyOperation({ latency: { meanMs: HOUR_MS, p99Ms: HOUR_MS } });
    const { provider, timers } = rig({ operations, transitionTimeoutMs: 60_000 }, [seed('m')]);
    provider.create(new Shard().next('m'));
    timers.advance(60_000);
    const failed = value(provider.get({ id: 'm' }));
    expect(failed).toMatchObject({
      state: S.Failed,
      host: null,
      lastError: 'create did not finish within 60 s (transition timeout)',
    });
    timers.advance(2 * HOUR_MS);
    expect(value(provider.get({ id: 'm' }))).toEqual(failed);
  });

  it('leaves operations alone that end in time, and ends hanging ones of an instant provider', () => {
    const operations = {
      create: { latency: { meanMs: 1_000, p99Ms: 1_000 } },
      delete: { hangProbability: 1 },
    };
    const { provider, timers } = rig({ operations, transitionTimeoutMs: 60_000 }, [
      seed('created'),
      seedIn(S.Idle, 'deleted'),
    ]);
    const shard = new Shard();
    provider.create(shard.next('created'));
    provider.delete(shard.next('deleted'));
    timers.advance(59_999);
    expect(value(provider.get({ id: 'created' })).state).toBe(S.Idle);
    expect(value(provider.get({ id: 'deleted' })).state).toBe(S.Deleting);
    timers.advance(1);
    expect(value(provider.get({ id: 'deleted' })).state).toBe(S.Failed);
  });
});
