import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { readState } from '../../../src/simulation/provider/durable-state.ts';
import { SimulatedProvider } from '../../../src/simulation/provider/provider.ts';
import { everyOperation, type ProviderSettingsChange } from '../../../src/simulation/provider/settings.ts';
import { StateFile, StateFileError } from '../../../src/simulation/provider/state-file.ts';
import { VirtualTimers } from '../../../src/simulation/provider/timers.ts';
import { outcome, S, Shard, seed, seedIn, value } from './fixture.ts';

const directory = mkdtempSync(join(tmpdir(), 'flotilla-state-'));
afterAll(() => rmSync(directory, { recursive: true }));

let fileCount = 0;
function newPath(): string {
  return join(directory, `state-${fileCount++}`);
}

const SLOW: ProviderSettingsChange = {
  operations: everyOperation({ latency: { meanMs: 5_000, p99Ms: 9_000 } }),
};

/** A provider process on a file: continues from it, or begins with four machines. */
function start(path: string, timers: VirtualTimers, settings = SLOW, failures: unknown[] = []) {
  const provider = new SimulatedProvider({ settings, timers, incarnation: fileCount + 1_000 });
  const file = new StateFile(path);
  const stored = readState(file, 'four machines');
  if (stored !== null) provider.restore(stored);
  else
    for (const state of [S.Speculative, S.Idle, S.Configured, S.Failed])
      provider.add(seedIn(state, `m-${state}`));
  provider.keepState({ file, made: 'four machines', onFailure: (error) => failures.push(error) });
  return provider;
}

function listed(provider: SimulatedProvider) {
  const { machines, revision } = value(provider.list());
  return { machines: machines.toSorted((left, right) => (left.id < right.id ? -1 : 1)), revision };
}

describe('a provider with a state file', () => {
  it('loses nothing that an answer has shown, whenever it is killed', () => {
    let killCount = 0;
    let repeatCount = 0;
    const ids = ['m-1', 'm-3', 'm-5', 'm-8', 'unknown'];
    const step = fc.record({
      what: fc.constantFrom(
        'create',
        'configure',
        'drain',
        'delete',
        'advance',
        'fail',
        'remove',
        'kill',
        'kill',
      ),
      id: fc.constantFrom(...ids),
      isStale: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 30 }), (steps) => {
        const path = newPath();
        const timers = new VirtualTimers(1_000_000);
        let provider = start(path, timers);
        let sequence = 100;
        for (const { what, id, isStale } of steps) {
          if (what === 'advance') timers.advance(3_000);
          else if (what === 'fail') provider.world.fail(id, 'power cut');
          else if (what === 'remove') provider.world.remove(id);
          else if (what !== 'kill') {
            const call = { ...new Shard().at(id, 1, isStale ? sequence : ++sequence), clusterId: 'blue' };
            const answer = provider[what]({ ...call, shardMetadata: { at: String(sequence) } });
            if (answer.kind !== 'ok') continue;
            // An ack that was lost with the process: the repeat after the restart is the same operation.
            provider = start(path, timers);
            const again = provider[what]({ ...new Shard().at(id, 1, ++sequence), clusterId: 'blue' });
            expect(value(again)).toEqual(answer.value);
            repeatCount++;
          } else {
            const before = listed(provider);
            const used = new Shard().at(id, 1, ++sequence);
            provider.delete(used);
            const cursor = value(provider.list()).revision;
            const shown = listed(provider);
            provider = start(path, timers);
            expect(listed(provider)).toEqual(shown);
            expect(outcome(provider.delete(used))).toBe('failed_precondition');
            const delta = value(provider.list({ sinceRevision: before.revision }));
            const changed = shown.machines.filter(
              (machine) => !before.machines.some((old) => JSON.stringify(old) === JSON.stringify(machine)),
            );
            expect(delta.machines.map((machine) => machine.id).sort()).toEqual(
              changed.map((machine) => machine.id),
            );
            expect(value(provider.list({ sinceRevision: cursor })).machines).toEqual([]);
            killCount++;
          }
        }
      }),
      { numRuns: 25, seed: 20 },
    );
    expect(killCount).toBeGreaterThan(50);
    expect(repeatCount).toBeGreaterThan(20);
  });

  it('ends operations at their time, also those that fell due while it was down', () => {
    const path = newPath();
    const timers = new VirtualTimers(1_000_000);
    const first = start(path, timers, {
      faults: [],
      transitionTimeoutMs: 60_000,
      operations: { create: { hangProbability: 1 } },
    });
    first.create(new Shard().next('m-1'));
    timers.advance(59_000);
    const second = start(path, timers, { transitionTimeoutMs: 60_000 });
    expect(value(second.get({ id: 'm-1' })).state).toBe(S.Creating);
    const later = new VirtualTimers(timers.nowMs() + 3_600_000);
    const third = start(path, later, { transitionTimeoutMs: 60_000 });
    later.advance(0);
    expect(value(third.get({ id: 'm-1' }))).toMatchObject({
      state: S.Failed,
      lastError: expect.stringContaining('within 60 s'),
    });
  });

  it('drops an incomplete last line, which no answer has shown', () => {
    const path = newPath();
    const timers = new VirtualTimers();
    const before = listed(start(path, timers));
    appendFileSync(path, 'deadbeef ["machi');
    expect(listed(start(path, timers))).toEqual(before);
    expect(readFileSync(path, 'utf8')).not.toContain('deadbeef');
  });

  for (const [how, damage, text] of [
    [
      'a flipped bit',
      (bytes: Buffer) => bytes.map((byte, at) => (at === 700 ? byte ^ 1 : byte)),
      'the checksum is wrong',
    ],
    [
      'a missing line',
      (bytes: Buffer) => bytes.subarray(bytes.indexOf(10) + 1),
      'in line 1: it does not begin as a state file',
    ],
    ['a text of another kind', () => Buffer.from('hello\n'), 'in line 1: the checksum is wrong'],
  ] as const) {
    it(`does not start from a file with ${how}, and leaves the file as it is`, () => {
      const path = newPath();
      start(path, new VirtualTimers()).close();
      const damaged = Buffer.from(damage(readFileSync(path)));
      writeFileSync(path, damaged);
      expect(() => start(path, new VirtualTimers())).toThrow(StateFileError);
      expect(() => start(path, new VirtualTimers())).toThrow(text);
      expect(readFileSync(path)).toEqual(damaged);
    });
  }

  it('does not start from a fleet of other flags, or with a path that cannot be written', () => {
    const path = newPath();
    start(path, new VirtualTimers()).close();
    expect(() => readState(new StateFile(path), 'five machines')).toThrow(
      'made with four machines, not with five machines',
    );
    expect(() => readState(new StateFile(directory), '')).toThrow('cannot read state file');
    const nowhere = new StateFile(join(directory, 'missing', 'file'));
    expect(() => new SimulatedProvider().keepState({ file: nowhere, made: '', onFailure: () => {} })).toThrow(
      'cannot write state file',
    );
  });

  it('answers nothing more when another process takes its file', () => {
    const path = newPath();
    const failures: unknown[] = [];
    const first = start(path, new VirtualTimers(), SLOW, failures);
    start(path, new VirtualTimers());
    const shard = new Shard();
    expect(() => first.create(shard.next('m-1'))).toThrow('Another process changed or removed state file');
    expect(() => first.get({ id: 'm-1' })).toThrow(StateFileError);
    expect(failures).toHaveLength(1);
    expect(value(start(path, new VirtualTimers()).get({ id: 'm-1' })).state).toBe(S.Speculative);
  });

  it('keeps its file small, however many changes it stores', () => {
    const path = newPath();
    const provider = start(path, new VirtualTimers());
    for (let change = 0; change < 3_000; change++) {
      provider.world.fail('m-3', `${change} `.repeat(1_000));
      provider.get({ id: 'm-3' });
    }
    expect(statSync(path).size).toBeLessThan(6_000_000); // of 14 MB
    expect(listed(start(path, new VirtualTimers()))).toEqual(listed(start(path, new VirtualTimers())));
  });
});

describe('shuffled listings', () => {
  const seeds = Array.from({ length: 50 }, (_, index) => seed(`m-${index}`));
  const idsOf = (provider: SimulatedProvider, maxResults = 0) =>
    value(provider.list({ maxResults })).machines.map((machine) => machine.id);

  it('have the same machines in another order each time', () => {
    const provider = new SimulatedProvider({ settings: { shuffledListings: true } });
    for (const each of seeds) provider.add(each);
    const [first, second] = [idsOf(provider), idsOf(provider)];
    expect(first).not.toEqual(second);
    expect(first.toSorted()).toEqual(second.toSorted());
    expect(first.toSorted()).toEqual(seeds.map(({ id }) => id).toSorted());
  });

  it('can be read page by page after their cursors without a gap', () => {
    const provider = new SimulatedProvider({ settings: { shuffledListings: true } });
    for (const each of seeds) provider.add(each);
    const seen: string[] = [];
    let sinceRevision = new Uint8Array(0);
    for (let page = 0; page < 8; page++) {
      const { machines, revision } = value(provider.list({ maxResults: 7, sinceRevision }));
      seen.push(...machines.map((machine) => machine.id));
      sinceRevision = Uint8Array.from(revision);
    }
    expect(seen.toSorted()).toEqual(seeds.map(({ id }) => id).toSorted());
  });
});
