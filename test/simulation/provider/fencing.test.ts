import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fence } from '../../../src/simulation/provider/fence.ts';
import { outcome, rig, S, Shard, seed, seedIn, value } from './fixture.ts';

describe('the fence', () => {
  const shard = new Shard('one');

  it('accepts the first token of a shard, whatever its numbers', () => {
    const { provider } = rig({}, [seed('m')]);
    expect(outcome(provider.create(shard.at('m', 0, 0)))).toBe('ok');
  });

  for (const [epoch, sequence, passes, because] of [
    [5, 7, false, 'the same token'],
    [5, 6, false, 'an older sequence'],
    [4, 99, false, 'an older epoch, however high its sequence'],
    [5, 8, true, 'a newer sequence'],
    [6, 1, true, 'a new epoch restarts the sequence'],
  ] as const) {
    it(`after (5, 7), (${epoch}, ${sequence}) ${passes ? 'passes' : 'is refused'}: ${because}`, () => {
      const { provider } = rig({}, [seed('m')]);
      provider.create(shard.at('m', 5, 7));
      const answer = provider.delete(shard.at('m', epoch, sequence));
      expect(outcome(answer)).toBe(passes ? 'ok' : 'failed_precondition');
      expect(value(provider.get({ id: 'm' })).state).toBe(passes ? S.Speculative : S.Idle);
    });
  }

  it('comes before existence and idempotency: it refuses stale tokens for unknown machines and repeats, too', () => {
    const { provider } = rig({}, [seed('m')]);
    provider.create(shard.at('m', 1, 1));
    expect(outcome(provider.create(shard.at('m', 1, 1)))).toBe('failed_precondition');
    expect(outcome(provider.create(shard.at('ghost', 1, 1)))).toBe('not_found');
    expect(outcome(provider.create(shard.at('ghost', 1, 1)))).toBe('failed_precondition');
  });

  it('advances its mark even if the call then fails', () => {
    const { provider } = rig({ unsupported: ['delete'] }, [seed('m'), seedIn(S.Idle, 'n')]);
    expect(outcome(provider.drain(shard.at('m', 1, 5)))).toBe('aborted');
    expect(outcome(provider.create(shard.at('m', 1, 5)))).toBe('failed_precondition');
    expect(outcome(provider.delete(shard.at('n', 1, 5)))).toBe('unimplemented');
    expect(outcome(provider.configure({ ...shard.at('n', 1, 4), clusterId: 'blue' }))).toBe(
      'failed_precondition',
    );
  });

  it('keeps separate marks for machines and shards', () => {
    const { provider } = rig({}, [seed('m'), seed('n')]);
    provider.create(shard.at('m', 9, 9));
    expect(outcome(provider.create(shard.at('n', 1, 1)))).toBe('ok');
    expect(outcome(provider.delete(new Shard('two').at('m', 1, 1)))).toBe('ok');
  });

  it('accepts a call without a token and leaves the mark unchanged', () => {
    const { provider } = rig({}, [seed('m')]);
    provider.create(shard.at('m', 5, 5));
    expect(outcome(provider.delete({ machineId: 'm' }))).toBe('ok');
    expect(outcome(provider.create(shard.at('m', 5, 5)))).toBe('failed_precondition');
    expect(outcome(provider.create(shard.at('m', 5, 6)))).toBe('ok');
  });

  it('does not fence reads', () => {
    const { provider } = rig({}, [seed('m')]);
    provider.create(shard.at('m', 5, 5));
    expect(outcome(provider.get({ id: 'm' }))).toBe('ok');
    expect(outcome(provider.list())).toBe('ok');
  });

  it('keeps the mark of a machine that vanished and came back under its old id', () => {
    const { provider } = rig({}, [seed('m')]);
    provider.create(shard.at('m', 5, 5));
    provider.world.remove('m');
    provider.add(seed('m'));
    expect(outcome(provider.create(shard.at('m', 5, 5)))).toBe('failed_precondition');
  });

  it('forgets marks of unknown ids, oldest first, but never those of existing machines', () => {
    const fence = new Fence();
    const token = { shardId: 's', epoch: 1n, sequence: 1n };
    fence.admit(token, 'real', true);
    for (let number = 0; number <= 100_000; number++) fence.admit(token, `ghost-${number}`, false);
    expect(fence.admit(token, 'real', true)).toBe(false);
    expect(fence.admit(token, 'ghost-100000', false)).toBe(false);
    expect(fence.admit(token, 'ghost-0', false)).toBe(true);
  });

  it('compares all 64 bits', () => {
    const { provider } = rig({}, [seed('m')]);
    const beyond = 2n ** 53n;
    provider.create(shard.at('m', beyond, 1));
    expect(outcome(provider.create(shard.at('m', beyond, 1)))).toBe('failed_precondition');
    expect(outcome(provider.create(shard.at('m', beyond + 1n, 1)))).toBe('ok');
    expect(outcome(provider.create(shard.at('m', beyond, 2)))).toBe('failed_precondition');
  });

  it('admits exactly the tokens that are newer than all admitted before, in any order of arrival', () => {
    let admittedCount = 0;
    let refusedCount = 0;
    const tokens = fc.array(fc.tuple(fc.bigInt(0n, 3n), fc.bigInt(0n, 5n), fc.boolean()), { maxLength: 40 });
    fc.assert(
      fc.property(tokens, (arrivals) => {
        const fence = new Fence();
        let newest: readonly [bigint, bigint] | null = null;
        for (const [epoch, sequence, exists] of arrivals) {
          const isNewer: boolean =
            newest === null || epoch > newest[0] || (epoch === newest[0] && sequence > newest[1]);
          expect(fence.admit({ shardId: 's', epoch, sequence }, 'm', exists)).toBe(isNewer);
          if (isNewer) newest = [epoch, sequence];
          if (isNewer) admittedCount++;
          else refusedCount++;
        }
      }),
    );
    expect(admittedCount).toBeGreaterThan(50);
    expect(refusedCount).toBeGreaterThan(50);
  });
});
