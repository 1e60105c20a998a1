import { beforeEach, describe, expect, it } from 'vitest';
import { ALL_STATES, type MachineState, STATE_NAMES } from '../../../src/machine/state.ts';
import { OPERATIONS } from '../../../src/simulation/provider/lifecycle.ts';
import { everyOperation } from '../../../src/simulation/provider/settings.ts';
import { outcome, type Rig, rig, S, Shard, seed, seedIn, value } from './fixture.ts';

const ASYNC = { operations: everyOperation({ latency: { meanMs: 500, p99Ms: 2_000 } }) };
const STYLES = [
  ['at once', {}],
  ['later', ASYNC],
] as const;

let shard: Shard;
beforeEach(() => {
  shard = new Shard();
});

function stateOf({ provider }: Rig, id: string): MachineState {
  return value(provider.get({ id })).state as MachineState;
}

describe.each(STYLES)('a provider that finishes %s', (style, settings) => {
  const isInstant = style === 'at once';

  function settle({ timers }: Rig): void {
    timers.advance(3_600_000);
  }

  it('moves a machine through its whole lifecycle', () => {
    const world = rig(settings, [seed('m')]);
    const { provider } = world;
    const created = value(provider.create(shard.next('m')));
    expect(created.machine.state).toBe(isInstant ? S.Idle : S.Creating);
    settle(world);
    expect(stateOf(world, 'm')).toBe(S.Idle);
    const configured = value(provider.configure({ ...shard.next('m'), clusterId: 'blue' }));
    expect(configured.machine.state).toBe(isInstant ? S.Configured : S.Configuring);
    settle(world);
    expect(stateOf(world, 'm')).toBe(S.Configured);
    const drained = value(provider.drain({ ...shard.next('m'), gracePeriodSeconds: 600 }));
    expect(drained.machine.state).toBe(isInstant ? S.Idle : S.Draining);
    settle(world);
    expect(stateOf(world, 'm')).toBe(S.Idle);
    const deleted = value(provider.delete(shard.next('m')));
    expect(deleted.machine.state).toBe(isInstant ? S.Speculative : S.Deleting);
    settle(world);
    expect(stateOf(world, 'm')).toBe(S.Speculative);
  });

  it('M3: shows a host from creation to deletion, and another host after the next creation', () => {
    const world = rig(settings, [seed('m')]);
    const { provider } = world;
    const hosts: unknown[] = [];
    for (let life = 0; life < 2; life++) {
      expect(value(provider.get({ id: 'm' })).host).toBeNull();
      provider.create(shard.next('m'));
      settle(world);
      hosts.push(value(provider.get({ id: 'm' })).host);
      provider.delete(shard.next('m'));
      settle(world);
    }
    expect(hosts[0]).toMatchObject({ provider: 'simulated' });
    expect(hosts[0]).not.toEqual(hosts[1]);
  });

  it('returns the same operation id for a repeat, during the operation and after it', () => {
    const world = rig(settings, [seed('m')]);
    const { provider } = world;
    const first = value(provider.create(shard.next('m')));
    expect(value(provider.create(shard.next('m'))).operationId).toBe(first.operationId);
    settle(world);
    const late = value(provider.create(shard.next('m')));
    expect(late).toMatchObject({ operationId: first.operationId, machine: { state: S.Idle } });
    expect(provider.ledger.count('create', 'started')).toBe(1);
    expect(provider.ledger.count('create', 'repeated')).toBe(2);
  });

  it('gives every new operation its own id', () => {
    const world = rig(settings, [seed('m')]);
    const { provider } = world;
    const ids = new Set<string>();
    for (let round = 0; round < 2; round++) {
      for (const call of ['create', 'delete'] as const) {
        ids.add(value(provider[call](shard.next('m'))).operationId);
        settle(world);
      }
    }
    expect(ids.size).toBe(4);
  });

  it('shows cluster and metadata on every snapshot while the machine is bound, and clears both at Idle', () => {
    const world = rig(settings, [seedIn(S.Idle, 'm')]);
    const { provider } = world;
    const shardMetadata = { 'a/b': '+Inf', empty: '', 'non-ascii é': '\u0000\n☃', __proto__x: '1' };
    const bound = { cluster: 'blue', shardMetadata };
    const unbound = { cluster: '', shardMetadata: {} };
    const seen = () => [value(provider.get({ id: 'm' })), value(provider.list()).machines[0]];
    const ack = value(provider.configure({ ...shard.next('m'), clusterId: 'blue', shardMetadata }));
    expect(ack.machine).toMatchObject(bound);
    expect(seen()).toMatchObject([bound, bound]);
    settle(world);
    expect(seen()).toMatchObject([bound, bound]);
    const drained = value(provider.drain({ ...shard.next('m'), gracePeriodSeconds: 30 }));
    expect(drained.machine).toMatchObject(isInstant ? unbound : bound);
    settle(world);
    for (const machine of seen()) expect(machine).toMatchObject(unbound);
    expect(Object.keys(value(provider.get({ id: 'm' })).shardMetadata)).toEqual([]);
  });

  it('keeps the metadata if the caller changes its object later', () => {
    const { provider } = rig(settings, [seedIn(S.Idle, 'm')]);
    const shardMetadata = { key: 'before' };
    provider.configure({ ...shard.next('m'), clusterId: 'blue', shardMetadata });
    shardMetadata.key = 'after';
    expect(value(provider.get({ id: 'm' })).shardMetadata).toEqual({ key: 'before' });
  });
});

describe('a call that the state does not allow', () => {
  for (const state of ALL_STATES) {
    for (const name of ['create', 'configure', 'drain', 'delete'] as const) {
      const steps = OPERATIONS[name];
      if (state === steps.from || state === steps.through || state === steps.to) continue;
      it(`${name} of a ${STATE_NAMES[state]} machine is refused and changes nothing`, () => {
        const { provider } = rig({}, [seedIn(state, 'm')]);
        const before = value(provider.list());
        const answer = provider[name]({ ...shard.next('m'), clusterId: 'green', gracePeriodSeconds: 1 });
        expect(outcome(answer)).toBe('aborted');
        expect(value(provider.list())).toEqual(before);
      });
    }
  }

  it('create of a machine that became Idle by a drain is refused: the drain was another operation', () => {
    const { provider } = rig({}, [seedIn(S.Configured, 'm')]);
    provider.drain({ ...shard.next('m'), gracePeriodSeconds: 1 });
    expect(outcome(provider.create(shard.next('m')))).toBe('aborted');
    expect(outcome(provider.drain({ ...shard.next('m'), gracePeriodSeconds: 1 }))).toBe('ok');
  });

  it('FAILED is terminal: a repeat of the failed call is refused, too', () => {
    const { provider } = rig({ operations: { create: { failProbability: 1 } } }, [seed('m')]);
    const { machine } = value(provider.create(shard.next('m')));
    expect(machine).toMatchObject({ state: S.Failed, lastError: 'create failed (simulated)', host: null });
    expect(outcome(provider.create(shard.next('m')))).toBe('aborted');
  });

  it('a repeated Configure for another cluster is acked with the existing binding', () => {
    const { provider } = rig({}, [seedIn(S.Idle, 'm')]);
    const first = value(provider.configure({ ...shard.next('m'), clusterId: 'blue' }));
    const second = value(provider.configure({ ...shard.next('m'), clusterId: 'green' }));
    expect(second).toMatchObject({ operationId: first.operationId, machine: { cluster: 'blue' } });
  });
});

describe('codes', () => {
  it('an unknown machine is NOT_FOUND, in reads and mutations', () => {
    const { provider } = rig({}, []);
    expect(outcome(provider.get({ id: 'ghost' }))).toBe('not_found');
    for (const name of ['create', 'configure', 'drain', 'delete'] as const) {
      expect(outcome(provider[name]({ ...shard.next('ghost'), clusterId: 'blue' }))).toBe('not_found');
    }
  });

  it('an empty id is INVALID_ARGUMENT, and so are an empty cluster and a negative grace', () => {
    const { provider } = rig({}, [seedIn(S.Idle, 'm'), seedIn(S.Configured, 'n')]);
    expect(outcome(provider.get({ id: '' }))).toBe('invalid_argument');
    for (const name of ['create', 'configure', 'drain', 'delete'] as const) {
      expect(outcome(provider[name]({ ...shard.next(''), clusterId: 'blue' }))).toBe('invalid_argument');
    }
    expect(outcome(provider.configure({ ...shard.next('m'), clusterId: '' }))).toBe('invalid_argument');
    const negative = { ...shard.next('n'), gracePeriodSeconds: -1 };
    expect(outcome(provider.drain(negative))).toBe('invalid_argument');
    expect(outcome(provider.list({ maxResults: -1 }))).toBe('invalid_argument');
  });

  it('an unsupported operation is UNIMPLEMENTED, and the others work', () => {
    const { provider } = rig({ unsupported: ['delete'] }, [seed('m')]);
    expect(outcome(provider.create(shard.next('m')))).toBe('ok');
    expect(outcome(provider.delete(shard.next('m')))).toBe('unimplemented');
    expect(value(provider.get({ id: 'm' })).state).toBe(S.Idle);
  });

  it('an exhausted quota is RESOURCE_EXHAUSTED until a machine of the offering is deleted', () => {
    const quotas = { 'small-4/zone-a/on-demand': 2 };
    const { provider } = rig({ quotas }, [seedIn(S.Idle, 'a'), seed('b'), seed('c')]);
    expect(outcome(provider.create(shard.next('b')))).toBe('ok');
    expect(outcome(provider.create(shard.next('c')))).toBe('resource_exhausted');
    expect(value(provider.get({ id: 'c' })).state).toBe(S.Speculative);
    provider.delete(shard.next('a'));
    expect(outcome(provider.create(shard.next('c')))).toBe('ok');
  });
});
