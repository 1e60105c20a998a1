import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findInvalid } from '../../../src/machine/machine.ts';
import {
  OPERATION_NAMES,
  OPERATIONS,
  type OperationName,
} from '../../../src/simulation/provider/lifecycle.ts';
import type { SimulatedProvider } from '../../../src/simulation/provider/provider.ts';
import { everyOperation } from '../../../src/simulation/provider/settings.ts';
import type { Machine } from '../../../src/wire/protocol.generated.ts';
import { rig, S, Shard, seed, value } from './fixture.ts';

function wrongWith(machine: Machine): string {
  const invalid = findInvalid(machine.id, {
    state: machine.state,
    hasHost: machine.host !== null,
    hasCluster: machine.cluster !== '',
    hasLastError: machine.lastError !== '',
    pricePerHourUsd: machine.pricePerHour,
    interruptionProbability: machine.interruptionProbability,
  });
  const hasBinding = Object.keys(machine.shardMetadata).length > 0;
  if (hasBinding !== (machine.cluster !== '')) return `${machine.id} has half a binding`;
  return invalid?.message ?? '';
}

const LATENCIES = [null, { meanMs: 100, p99Ms: 400 }] as const;

/** Purely random calls rarely suit the state: most steps call what the machine's state allows, or repeat a call. */
const steps = fc.array(
  fc.record({
    id: fc.integer({ min: 0, max: 3 }).map((number) => `m-${number}`),
    what: fc.oneof(
      { weight: 8, arbitrary: fc.constant('fitting' as const) },
      { weight: 4, arbitrary: fc.constant('again' as const) },
      { weight: 4, arbitrary: fc.constantFrom(...OPERATION_NAMES) },
      { weight: 4, arbitrary: fc.constant('wait' as const) },
      { weight: 2, arbitrary: fc.constantFrom('finish', 'fail', 'reset', 'remove', 'add') },
    ),
    isStale: fc.integer({ min: 0, max: 5 }).map((draw) => draw === 0),
  }),
  { minLength: 20, maxLength: 80 },
);

/** The operation that starts from the machine's state; an Idle machine has two. */
function fitting(provider: SimulatedProvider, id: string, prefersDelete: boolean): OperationName {
  const row = provider.world.fleet.rowOf(id);
  const state = row < 0 ? S.Speculative : provider.world.stateOf(row);
  if (state === S.Idle) return prefersDelete ? 'delete' : 'configure';
  return OPERATION_NAMES.find((name) => OPERATIONS[name].from === state) ?? 'create';
}

describe('any calls in any order', () => {
  it('M3: keep the invariants of every machine, and a refused call changes nothing', () => {
    const counts = { started: 0, repeated: 0, unfit: 0, fenced: 0, failed: 0 };
    fc.assert(
      fc.property(
        steps,
        fc.integer({ min: 1, max: 1_000 }),
        fc.constantFrom(...LATENCIES),
        (history, number, latency) => {
          const operations = everyOperation({ latency, failProbability: 0.3, hangProbability: 0.1 });
          const { provider, timers } = rig(
            { seed: number, operations, weather: { repairAfterMs: 500 } },
            ['m-0', 'm-1', 'm-2'].map((id) => seed(id)),
          );
          const shard = new Shard();
          let called: OperationName = 'create';
          for (const [index, { id, what, isStale }] of history.entries()) {
            if (what === 'wait') timers.advance(150);
            else if (what === 'finish') provider.world.finish(id);
            else if (what === 'fail') provider.world.fail(id, 'lost');
            else if (what === 'reset') provider.world.reset(id);
            else if (what === 'remove') provider.world.remove(id);
            else if (what === 'add') {
              if (provider.world.fleet.rowOf(id) < 0) provider.add(seed(id));
            } else {
              const before = value(provider.list());
              if (what === 'fitting') called = fitting(provider, id, index % 3 === 0);
              else if (what !== 'again') called = what;
              const token = isStale ? shard.at(id, 0, 1) : shard.next(id);
              const binding = { clusterId: 'blue', shardMetadata: { key: 'value' }, gracePeriodSeconds: 10 };
              const answer = provider[called]({ ...token, ...binding });
              if (answer.kind === 'refused') expect(value(provider.list())).toEqual(before);
            }
            for (const machine of value(provider.list()).machines) expect(wrongWith(machine)).toBe('');
          }
          for (const name of OPERATION_NAMES) {
            for (const result of ['started', 'repeated', 'unfit', 'fenced'] as const) {
              counts[result] += provider.ledger.count(name, result);
            }
          }
          counts.failed += provider.ledger.count('finished', 'failed');
        },
      ),
      { numRuns: 150 },
    );
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(100);
  });
});
