import { describe, expect, it } from 'vitest';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { everyOperation, INSTANT } from '../../src/simulation/provider/settings.ts';
import { Fixture, machine, need, S } from './fixture.ts';

const LATENCY = { meanMs: 900, p99Ms: 1_000 };
const ASYNCHRONOUS = { operations: everyOperation({ latency: LATENCY }) };

const outcomes = ({ acceptedEnded }: Fixture) =>
  acceptedEnded.map(({ kind, outcome }) => `${kind} ${outcome}`);

describe('an action of an asynchronous provider', () => {
  it('X9: is a success when the machine is what the action asked for', async () => {
    const fixture = new Fixture({
      provider: ASYNCHRONOUS,
      machines: [machine('m', { capacityType: CapacityType.OnDemand })],
      demand: { c1: [need(1)] },
      settings: { idleHoldOnDemandMs: 20_000 },
    });
    await fixture.run(30);
    expect(fixture.actions.map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      'Provision accepted',
      'Bootstrap accepted',
    ]);
    expect(outcomes(fixture)).toEqual(['Provision success', 'Bootstrap success']);
    fixture.cluster().rows = [];
    await fixture.run(300);
    expect(outcomes(fixture).slice(2)).toEqual(['Reclaim success', 'Delete success']);
  });

  it('X9: is a failure when the machine ends in another state, however late', async () => {
    const fails = { ...INSTANT, latency: LATENCY, failProbability: 1 };
    const fixture = new Fixture({
      provider: { operations: { ...ASYNCHRONOUS.operations, configure: fails } },
      machines: [machine('m', { state: S.Idle })],
      demand: { c1: [need(1)] },
    });
    await fixture.run(30);
    expect(fixture.actions.map(({ outcome }) => outcome)).toEqual(['accepted']);
    expect(outcomes(fixture)).toEqual(['Bootstrap provider_error']);
  });
});
