import { afterEach, describe, expect, it } from 'vitest';
import { type CheckResult, type Report, runConformance } from '../../src/conformance/run.ts';
import { CHECKS, CLOSING_CHECKS } from '../../src/conformance/suite.ts';
import { MachineState } from '../../src/machine/state.ts';
import type { SimulatedProvider } from '../../src/simulation/provider/provider.ts';
import { ok } from '../../src/simulation/provider/requests.ts';
import { serveProvider } from '../../src/simulation/provider/server.ts';
import { callsOf, hasCursor, withList, withMutations } from './mutants/bend.ts';
import {
  ASYNCHRONOUS,
  endsWhenRead,
  judge,
  newProvider,
  resultsWith,
  SLOW,
  SYNCHRONOUS,
  settingsFor,
  USUAL_POPULATION,
} from './subject.ts';

const S = MachineState;
const CHECK_COUNT = CHECKS.length + CLOSING_CHECKS.length;

let provider: SimulatedProvider;
afterEach(() => provider.close());

function statesOf(simulated: SimulatedProvider): Record<string, number> {
  const answer = simulated.list();
  if (answer.kind !== 'ok') throw new Error('List was refused');
  return Object.fromEntries(answer.value.machines.map((machine) => [machine.id, machine.state]));
}

function reasonFor(report: Report, id: string): string {
  const result = report.results.find((candidate) => candidate.id === id);
  return result?.outcome === 'skipped' ? result.reason : `${id} was ${result?.outcome}`;
}

describe('the suite with a conforming provider', () => {
  it('passes a synchronous provider and skips only the checks that need transitional states', async () => {
    provider = newProvider(SYNCHRONOUS);
    const before = statesOf(provider);
    const report = await judge(provider, { style: 'sync', allowDelete: true });
    expect(resultsWith(report, 'failed')).toEqual([]);
    expect(resultsWith(report, 'skipped').sort()).toEqual([
      'cursor/end-of-transition',
      'cursor/tombstones',
      'echo/draining',
      'errors/configure-deleting',
      'errors/create-configuring',
      'errors/delete-configuring',
      'errors/drain-creating',
      'errors/drain-deleting',
    ]);
    expect(report.isComplete).toBe(true);
    expect(report.results).toHaveLength(CHECK_COUNT);
    expect(statesOf(provider)).toEqual(before);
    for (const id of ['bound-0', 'bound-1', 'bound-2']) {
      const mutations = provider.ledger.entries(id).filter(({ event }) => event !== 'get');
      expect(mutations).toEqual([]); // another client's machines
    }
  });

  it('passes an asynchronous provider and sees every transitional state', async () => {
    provider = newProvider(ASYNCHRONOUS);
    const before = statesOf(provider);
    const calls = endsWhenRead(callsOf(provider), provider);
    const report = await judge(calls, { style: 'async', allowDelete: true });
    expect(resultsWith(report, 'failed')).toEqual([]);
    expect(resultsWith(report, 'skipped')).toEqual(['cursor/tombstones']);
    expect(statesOf(provider)).toEqual(before);
  });

  it('passes a provider whose operations end after random delays', async () => {
    provider = newProvider(SLOW);
    const before = statesOf(provider);
    const report = await judge(provider, {
      only: ['lifecycle', 'idempotency', 'echo', 'cursor', 'population'],
    });
    expect(resultsWith(report, 'failed')).toEqual([]);
    expect(statesOf(provider)).toEqual(before);
  });

  it('passes a provider without cursors and gives the reason for skipping the cursor checks', async () => {
    provider = newProvider({ cursors: false });
    const report = await judge(provider, { only: ['cursor'] });
    expect(resultsWith(report, 'failed')).toEqual([]);
    expect(resultsWith(report, 'passed')).toEqual(['cursor/unknown']);
    expect(reasonFor(report, 'cursor/strict')).toContain('no revision');
  });

  it('passes a provider that sends revisions but answers every cursor with all machines', async () => {
    provider = newProvider();
    const forgetful = withList(callsOf(provider), (listing, call) => {
      const everything = provider.list();
      return hasCursor(call) && everything.kind === 'ok' ? everything.value : listing;
    });
    const report = await judge(forgetful, { only: ['cursor'] });
    expect(resultsWith(report, 'failed')).toEqual([]);
    expect(reasonFor(report, 'cursor/strict')).toContain('with all machines');
  });

  it('passes a provider that names removed machines in deleted_ids', async () => {
    provider = newProvider();
    const losing = withList(callsOf(provider), (listing, call) => {
      if (hasCursor(call)) provider.world.remove('bound-0'); // takes effect in the next listing
      return listing;
    });
    const report = await judge(losing, { only: ['cursor/used-twice', 'cursor/tombstones'] });
    expect(resultsWith(report, 'failed')).toEqual([]);
    expect(resultsWith(report, 'passed')).toContain('cursor/tombstones');
  });

  it('creates no machine if Delete is not supported, because it could not put the machine back', async () => {
    provider = newProvider({ unsupported: ['delete'] }, { ...USUAL_POPULATION, idle: 2 });
    const report = await judge(provider, { only: ['lifecycle', 'errors', 'population'] });
    expect(resultsWith(report, 'failed')).toEqual([]);
    expect(reasonFor(report, 'lifecycle/create')).toContain('could not put back');
    expect(resultsWith(report, 'passed')).toContain('lifecycle/configure');
    expect(provider.ledger.count('create', 'started')).toBe(0);
  });

  it('works with Idle machines alone and deletes none of the machines that it found', async () => {
    provider = newProvider(SYNCHRONOUS, { ...USUAL_POPULATION, speculative: 0 });
    const report = await judge(provider, { only: ['lifecycle', 'errors', 'idempotency', 'population'] });
    expect(resultsWith(report, 'failed')).toEqual([]);
    expect(reasonFor(report, 'lifecycle/create')).toContain('no SPECULATIVE machine');
    expect(resultsWith(report, 'skipped')).toContain('lifecycle/delete');
    expect(resultsWith(report, 'passed')).toContain('lifecycle/drain');
    expect(provider.ledger.count('delete', 'started')).toBe(0);
  });

  it('deletes found machines with --allow-delete and creates them again', async () => {
    provider = newProvider(SYNCHRONOUS, { ...USUAL_POPULATION, speculative: 0 });
    const before = statesOf(provider);
    const only = ['lifecycle', 'errors', 'idempotency', 'population'];
    const report = await judge(provider, { allowDelete: true, only });
    expect(resultsWith(report, 'failed')).toEqual([]);
    expect(resultsWith(report, 'passed')).toContain('lifecycle/delete');
    expect(resultsWith(report, 'passed')).toContain('lifecycle/create');
    expect(statesOf(provider)).toEqual(before);
  });

  it('works with Speculative machines alone', async () => {
    provider = newProvider(SYNCHRONOUS, { speculative: 4, idle: 0, failed: 0, configured: 0 });
    const report = await judge(provider, { only: ['lifecycle', 'fencing', 'population'] });
    expect(resultsWith(report, 'failed')).toEqual([]);
    expect(resultsWith(report, 'passed')).toContain('fencing/per-machine');
    expect(Object.values(statesOf(provider))).toEqual([
      S.Speculative,
      S.Speculative,
      S.Speculative,
      S.Speculative,
    ]);
  });

  it('fails no check if the provider has no machine at all', async () => {
    provider = newProvider(SYNCHRONOUS, { speculative: 0, idle: 0, failed: 0, configured: 0 });
    const report = await judge(provider);
    expect(resultsWith(report, 'failed')).toEqual([]);
    expect(reasonFor(report, 'lifecycle/configure')).toContain('no IDLE machine');
  });

  for (const [style, settings, epochs] of [
    ['sync', SYNCHRONOUS, [1_000, 2_000, 3_000]],
    ['async', ASYNCHRONOUS, [1_000, 2_000]],
  ] as const) {
    it(`passes one ${style} provider ${epochs.length} times under one shard id, with the same results`, async () => {
      provider = newProvider(settings);
      const before = statesOf(provider);
      const calls = style === 'async' ? endsWhenRead(callsOf(provider), provider) : provider;
      const served = await serveProvider(calls, '127.0.0.1:0', { closeGraceMs: 10 });
      const passed: string[][] = [];
      for (const epoch of epochs) {
        const report = await runConformance({ ...settingsFor(served.address), style, epoch });
        expect(resultsWith(report, 'failed')).toEqual([]);
        passed.push(resultsWith(report, 'passed'));
        expect(statesOf(provider)).toEqual(before);
      }
      await served.close();
      for (const again of passed) expect(again).toEqual(passed[0]);
    });
  }

  it('skips errors/drain-creating if the Create ended before the Drain arrived, because an ack is lawful then', async () => {
    provider = newProvider(ASYNCHRONOUS);
    const calls = endsWhenRead(callsOf(provider), provider);
    const acknowledging = withMutations(
      calls,
      (call, _operation, next) => {
        provider.world.finish(call.machineId);
        const answer = next(call);
        const current = provider.get({ id: call.machineId });
        const isIdle = current.kind === 'ok' && current.value.state === S.Idle;
        return answer.kind === 'refused' && answer.code === 'aborted' && isIdle
          ? ok({ operationId: 'the one of Create', machine: current.value })
          : answer;
      },
      ['drain'],
    );
    const report = await judge(acknowledging, { only: ['errors'] });
    expect(resultsWith(report, 'failed')).toEqual([]);
    expect(reasonFor(report, 'errors/drain-creating')).toContain('ended before Drain arrived');
  });

  it('skips the checks that create a machine if the quota of the provider is used up', async () => {
    provider = newProvider({ quotas: { 'm-large/zone-a/on-demand': 8 } });
    const report = await judge(provider, { only: ['lifecycle', 'idempotency', 'population'] });
    expect(resultsWith(report, 'failed')).toEqual([]);
    expect(reasonFor(report, 'lifecycle/create')).toContain('no capacity');
    expect(resultsWith(report, 'passed')).toContain('lifecycle/configure');
  });
});

describe('an interrupted run', () => {
  it('puts the machines back when it is stopped', async () => {
    provider = newProvider(SLOW);
    const before = statesOf(provider);
    const stopping = new AbortController();
    const served = await serveProvider(provider, '127.0.0.1:0');
    const results: CheckResult[] = [];
    const report = await runConformance(settingsFor(served.address), {
      signal: stopping.signal,
      onResult(result) {
        results.push(result);
        if (result.id === 'lifecycle/configure') stopping.abort();
      },
    });
    await served.close();
    expect(reasonFor(report, 'lifecycle/drain')).toBe('the run was stopped');
    expect(report.isComplete).toBe(false);
    expect(resultsWith(report, 'passed')).toContain('population/put-back');
    expect(results).toEqual(report.results);
    expect(statesOf(provider)).toEqual(before);
  });

  it('ends soon when the provider stops answering, and names the machines that it could not put back', async () => {
    provider = newProvider();
    const served = await serveProvider(provider, '127.0.0.1:0', { closeGraceMs: 1 });
    let closing: Promise<void> | undefined;
    const report = await runConformance(settingsFor(served.address), {
      onResult({ id }) {
        if (id === 'lifecycle/configure') closing = served.close();
      },
    });
    await closing;
    expect(report.isComplete).toBe(false);
    expect(reasonFor(report, 'lifecycle/delete')).toBe('the provider no longer answers');
    const stray = report.results.find(({ id }) => id === 'population/put-back');
    expect(stray?.outcome === 'failed' ? stray.finding.came : '').toContain('SPECULATIVE → ');
  });
});
