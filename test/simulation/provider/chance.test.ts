import { describe, expect, it } from 'vitest';
import { Random } from '../../../src/base/random.ts';
import { CapacityType } from '../../../src/machine/capacity-type.ts';
import { parseFault } from '../../../src/simulation/provider/fault-flags.ts';
import { drawLatencyMs } from '../../../src/simulation/provider/latency.ts';
import {
  everyOperation,
  InvalidProviderSettingError,
  type ProviderSettingsChange,
  providerSettings,
} from '../../../src/simulation/provider/settings.ts';
import { drawPoisson } from '../../../src/simulation/provider/weather.ts';
import { KIND, outcome, rig, S, Shard, seed, seedIn, value } from './fixture.ts';

const HOUR_MS = 3_600_000;

describe('chance and time', () => {
  it('latency has the configured mean and 99th percentile', () => {
    const random = new Random(7);
    const drawn = Array.from({ length: 50_000 }, () => drawLatencyMs({ meanMs: 200, p99Ms: 1_000 }, random));
    const mean = drawn.reduce((sum, each) => sum + each, 0) / drawn.length;
    const p99 = drawn.sort((a, b) => a - b)[49_500]!;
    expect(mean).toBeGreaterThan(190);
    expect(mean).toBeLessThan(210);
    expect(p99).toBeGreaterThan(930);
    expect(p99).toBeLessThan(1_070);
  });

  it('a Poisson draw has the given expectation, small or large', () => {
    const random = new Random(7);
    for (const expected of [0.1, 3, 1_700]) {
      let total = 0;
      for (let draw = 0; draw < 2_000; draw++) total += drawPoisson(expected, random);
      expect(Math.abs(total / 2_000 - expected)).toBeLessThan(4 * Math.sqrt(expected / 2_000));
    }
  });

  it('operations end in the order of their due times, not of their calls', () => {
    const seeds = Array.from({ length: 200 }, (_, index) => seed(`m-${index}`));
    const { provider, timers } = rig(
      { operations: everyOperation({ latency: { meanMs: 1_000, p99Ms: 5_000 } }) },
      seeds,
    );
    const shard = new Shard();
    for (const { id } of seeds) provider.create(shard.next(id));
    timers.advance(HOUR_MS);
    const finished = provider.ledger.entries().filter(({ event }) => event === 'finished');
    expect(finished).toHaveLength(200);
    const times = finished.map(({ atMs }) => atMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(finished.map(({ machineId }) => machineId)).not.toEqual(seeds.map(({ id }) => id));
    expect(timers.waitingCount).toBe(0);
  });

  it('a drain ends with its grace period, however slow the provider', () => {
    const operations = { drain: { latency: { meanMs: HOUR_MS, p99Ms: HOUR_MS } } };
    const { provider, timers } = rig({ operations }, [seedIn(S.Configured, 'm')]);
    provider.drain({ ...new Shard().next('m'), gracePeriodSeconds: 10 });
    timers.advance(9_999);
    expect(value(provider.get({ id: 'm' })).state).toBe(S.Draining);
    timers.advance(1);
    expect(value(provider.get({ id: 'm' })).state).toBe(S.Idle);
  });

  it('a hanging operation never ends, and its repeat is the same operation', () => {
    const { provider, timers } = rig({ operations: { create: { hangProbability: 1 } } }, [seed('m')]);
    const shard = new Shard();
    const first = value(provider.create(shard.next('m')));
    timers.advance(100 * HOUR_MS);
    expect(value(provider.create(shard.next('m')))).toEqual(first);
    expect(first.machine.state).toBe(S.Creating);
    expect(provider.world.finish('m')).toBe(true);
    expect(value(provider.get({ id: 'm' })).state).toBe(S.Idle);
  });

  it('a call without an answer is still carried out', () => {
    const { provider } = rig({ operations: { create: { silenceProbability: 1 } } }, [seed('m')]);
    expect(outcome(provider.create(new Shard().next('m')))).toBe('silent');
    expect(value(provider.get({ id: 'm' })).state).toBe(S.Idle);
  });

  it('a late completion does not change a machine that changed meanwhile', () => {
    const settings = { operations: { create: { latency: { meanMs: 1_000, p99Ms: 1_000 } } } };
    const { provider, timers } = rig(settings, [seed('m')]);
    provider.create(new Shard().next('m'));
    provider.world.fail('m', 'power cut');
    timers.advance(HOUR_MS);
    expect(value(provider.get({ id: 'm' }))).toMatchObject({ state: S.Failed, lastError: 'power cut' });
    provider.world.remove('m');
    provider.add(seed('n'));
    timers.advance(HOUR_MS);
    expect(value(provider.get({ id: 'n' })).state).toBe(S.Speculative);
  });

  it('a failed operation leaves the machine FAILED, with an error and its binding, until it is repaired', () => {
    const settings: ProviderSettingsChange = {
      operations: { drain: { failProbability: 1 } },
      weather: { repairAfterMs: 60_000 },
    };
    const { provider, timers } = rig(settings, [seedIn(S.Configured, 'm')]);
    const { machine } = value(provider.drain({ ...new Shard().next('m'), gracePeriodSeconds: 1 }));
    expect(machine).toMatchObject({
      state: S.Failed,
      cluster: 'blue',
      lastError: 'drain failed (simulated)',
    });
    timers.advance(59_999);
    expect(value(provider.get({ id: 'm' })).state).toBe(S.Failed);
    timers.advance(1);
    expect(value(provider.get({ id: 'm' }))).toMatchObject({
      state: S.Speculative,
      cluster: '',
      lastError: '',
    });
  });

  it('the same seed gives the same history, and another seed a different one', () => {
    const history = (number: number) => {
      const settings: ProviderSettingsChange = {
        seed: number,
        operations: everyOperation({ latency: { meanMs: 900, p99Ms: 4_000 }, failProbability: 0.2 }),
      };
      const seeds = Array.from({ length: 50 }, (_, index) => seed(`m-${index}`));
      const { provider, timers } = rig(settings, seeds);
      const shard = new Shard();
      for (const { id } of seeds) provider.create(shard.next(id));
      timers.advance(HOUR_MS);
      return provider.ledger.entries();
    };
    expect(history(1)).toEqual(history(1));
    expect(history(1)).not.toEqual(history(2));
  });
});

describe('random events', () => {
  const spotKind = { ...KIND, capacityType: CapacityType.Spot };
  const spots = Array.from({ length: 400 }, (_, index) =>
    seed(`spot-${index}`, { kind: spotKind, interruptionProbability: 0.5, state: S.Idle }),
  );
  const steady = Array.from({ length: 100 }, (_, index) => seedIn(S.Configured, `steady-${index}`));

  for (const [interruptionOutcome, left, failed] of [
    ['failed', 500, true],
    ['speculative', 500, false],
    ['vanished', 0, false],
  ] as const) {
    it(`interrupt spot machines at their rate and no others; the outcome is ${interruptionOutcome}`, () => {
      const { provider, timers } = rig({ weather: { interruptionsPerHourFactor: 1, interruptionOutcome } }, [
        ...spots,
        ...steady,
      ]);
      timers.advance(HOUR_MS);
      const { machines } = value(provider.list());
      const untouched = machines.filter(({ id, state }) => id.startsWith('spot') && state === S.Idle);
      // Each survives the hour with e^−0.5 = 61 %; five standard deviations are 49 machines.
      expect(Math.abs(untouched.length - 400 * Math.exp(-0.5))).toBeLessThan(49);
      expect(machines.filter(({ state }) => state === S.Configured)).toHaveLength(100);
      if (left > 0) expect(machines).toHaveLength(left);
      expect(machines.some(({ state }) => state === S.Failed)).toBe(failed);
    });
  }

  it('remove machines, and the next listing after the cursor names them', () => {
    const { provider, timers } = rig({ weather: { vanishingPerHour: 0.2 } }, steady);
    const { revision } = value(provider.list());
    timers.advance(HOUR_MS);
    const { deletedIds } = value(provider.list({ sinceRevision: revision }));
    expect(deletedIds.length).toBeGreaterThan(3);
    expect(value(provider.list()).machines).toHaveLength(100 - deletedIds.length);
  });

  it('change the price of a whole offering by up to a quarter of its list price', () => {
    const { provider, timers } = rig({ weather: { priceChangesPerHour: 50 } }, [...steady, ...spots]);
    timers.advance(HOUR_MS);
    const prices = value(provider.list()).machines.map(({ pricePerHour }) => pricePerHour);
    expect(new Set(prices).size).toBe(2);
    for (const price of prices) {
      expect(price).toBeGreaterThanOrEqual(0.25 * 0.75);
      expect(price).toBeLessThanOrEqual(0.25 * 1.25);
    }
  });

  it('stop when the provider is closed', () => {
    const { provider, timers } = rig({ weather: { vanishingPerHour: 1 } }, steady);
    provider.close();
    timers.advance(HOUR_MS);
    expect(value(provider.list()).machines).toHaveLength(100);
    expect(timers.waitingCount).toBe(0);
  });
});

describe('settings', () => {
  for (const [change, named] of [
    [{ operations: { drain: { failProbability: 1.5 } } }, 'drain.failProbability'],
    [{ operations: { create: { hangProbability: Number.NaN } } }, 'create.hangProbability'],
    [{ operations: { create: { latency: { meanMs: 100, p99Ms: 50 } } } }, 'create.latency'],
    [{ operations: { create: { latency: { meanMs: 1, p99Ms: 100 } } } }, 'create.latency'],
    [{ quotas: { 'a/b/spot': -1 } }, 'quota of a/b/spot'],
    [{ weather: { intervalMs: 0 } }, 'weather.intervalMs'],
    [{ weather: { vanishingPerHour: -1 } }, 'weather.vanishingPerHour'],
    [{ faults: [parseFault('create,cluster=blue')] }, 'faults[0].operation'],
    [{ faults: [{ ...parseFault('drain'), share: 2 }] }, 'faults[0].share'],
    [{ transitionTimeoutMs: 0 }, 'transitionTimeoutMs'],
    [{ seed: 0.5 }, 'seed'],
    [{ name: '' }, 'name'],
  ] as const satisfies readonly (readonly [ProviderSettingsChange, string])[]) {
    it(`reject ${JSON.stringify(change)} and name ${named}`, () => {
      expect(() => providerSettings(change)).toThrow(InvalidProviderSettingError);
      expect(() => providerSettings(change)).toThrow(named);
    });
  }

  it('M3: reject a seed machine that breaks an invariant or repeats an id, without changing the fleet', () => {
    const { provider } = rig({}, [seed('m')]);
    expect(() => provider.add(seed('m'))).toThrow('another machine has this id');
    expect(() => provider.add(seed('n', { state: S.Configured }))).toThrow('without a cluster');
    expect(() => provider.add(seed('n', { pricePerHourUsd: Number.NaN }))).toThrow('price_per_hour');
    expect(value(provider.list()).machines).toHaveLength(1);
  });
});
