import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { systemUptime } from '../../../src/base/clock.ts';
import { Confirmation } from '../../../src/base/confirmation.ts';
import { ProviderClient } from '../../../src/provider/client/client.ts';
import { InvalidEndpointError, parseEndpoints } from '../../../src/provider/client/endpoint.ts';
import { FencingTokens } from '../../../src/provider/client/fencing.ts';
import { isUndecided } from '../../../src/provider/client/outcome.ts';
import { rig, seed } from '../../simulation/provider/fixture.ts';
import { closeAfterwards, serve } from './fixture.ts';

describe('endpoints', () => {
  it('reads names and addresses of several providers', () => {
    expect(
      parseEndpoints(['a=10.0.0.7:7790', 'rack-2.x=[::1]:80', 'c=dns:///p.example:1', 'd=unix:/run/p']),
    ).toEqual([
      { name: 'a', address: '10.0.0.7:7790' },
      { name: 'rack-2.x', address: '[::1]:80' },
      { name: 'c', address: 'dns:///p.example:1' },
      { name: 'd', address: 'unix:/run/p' },
    ]);
  });

  for (const [texts, why] of [
    [['10.0.0.7:7790'], 'no name'],
    [['=10.0.0.7:7790'], 'name must be'],
    [['Upper=h:1'], 'name must be'],
    [[`${'x'.repeat(64)}=h:1`], 'name must be'],
    [['a=host'], 'not HOST:PORT'],
    [['a=host:0'], 'not HOST:PORT'],
    [['a=host:65536'], 'not HOST:PORT'],
    [['a=ho st:1'], 'not HOST:PORT'],
    [['a=http://host:1'], 'not HOST:PORT'],
    [['a=h:1', 'a=h:2'], 'another provider already has this name'],
    [['a=h:1', 'b=h:1'], 'its machines would appear twice'],
  ] as const) {
    it(`refuses ${texts.join(' ').slice(0, 40)}: ${why}`, () => {
      expect(() => parseEndpoints(texts)).toThrow(InvalidEndpointError);
      expect(() => parseEndpoints(texts)).toThrow(why);
    });
  }
});

describe('fencing tokens', () => {
  it('increase by one from 1 within an epoch', () => {
    const tokens = FencingTokens.create('s', 4);
    expect([tokens.take(), tokens.take()]).toEqual([
      { shardId: 's', shardEpoch: 4, sequenceNumber: 1 },
      { shardId: 's', shardEpoch: 4, sequenceNumber: 2 },
    ]);
  });

  it('never repeat across threads', async () => {
    const THREADS = 3;
    const TAKEN_EACH = 200_000;
    const tokens = FencingTokens.create('s', 1);
    const module = fileURLToPath(new URL('../../../dist/src/provider/client/fencing.js', import.meta.url));
    // All begin at once: threads that run one after the other would not even break a plain counter.
    const ready = new SharedArrayBuffer(4);
    const script = `
      const { parentPort, workerData } = require('node:worker_threads');
      const { module, shared, ready, threads, count } = workerData;
      import(module).then(({ FencingTokens }) => {
        const tokens = FencingTokens.open(shared);
        const arrived = new Int32Array(ready);
        Atomics.add(arrived, 0, 1);
        while (Atomics.load(arrived, 0) < threads);
        const taken = Float64Array.from({ length: count }, () => tokens.take().sequenceNumber);
        parentPort.postMessage(taken);
      });`;
    const workerData = { module, shared: tokens.shared, ready, threads: THREADS, count: TAKEN_EACH };
    const takeInThread = () =>
      new Promise<Float64Array>((resolve, reject) => {
        const worker = new Worker(script, { eval: true, workerData });
        worker.once('message', resolve);
        worker.once('error', reject);
      });
    const taken = await Promise.all(Array.from({ length: THREADS }, takeInThread));
    const isTaken = new Uint8Array(THREADS * TAKEN_EACH + 1);
    for (const sequence of taken.flatMap((each) => [...each])) isTaken[sequence] = 1;
    // As many different numbers as were taken, without a gap.
    expect(isTaken.reduce((sum, each) => sum + each, 0)).toBe(THREADS * TAKEN_EACH);
    expect(tokens.take().sequenceNumber).toBe(THREADS * TAKEN_EACH + 1);
  });

  it('refuse an empty shard id and epoch 0, which would pass every fence', () => {
    expect(() => FencingTokens.create('', 1)).toThrow();
    expect(() => FencingTokens.create('s', 0)).toThrow();
    expect(() => FencingTokens.create('s', 2 ** 53)).toThrow();
  });
});

describe('calls that a replica may not send', () => {
  it('F4: a standby sends none; F2: a replica that is not confirmed sends none that removes', async () => {
    const { provider } = rig({}, [seed('m')]);
    const { address } = await serve(provider);
    const confirmation = Confirmation.create();
    const tokens = FencingTokens.createStandby('s', confirmation);
    const client = closeAfterwards(new ProviderClient({ name: 'p', address }, tokens));
    const target = { machineId: 'm' };
    expect(await client.create(target)).toMatchObject({ kind: 'held', attemptCount: 0 });
    tokens.setEpoch(7);
    expect(await client.create(target)).toMatchObject({ kind: 'answered' });
    expect(await client.delete(target)).toMatchObject({ kind: 'held' });
    expect(await client.drain({ ...target, gracePeriodSeconds: 1 })).toMatchObject({ kind: 'held' });
    const later = { uptimeMs: systemUptime() + 60_000, wallMs: Date.now() + 60_000 };
    confirmation.extend(later);
    expect(await client.delete(target)).toMatchObject({ kind: 'answered' });
    // A machine that was suspended: its uptime stood still.
    confirmation.extend({ ...later, wallMs: Date.now() });
    expect(await client.delete(target)).toMatchObject({ kind: 'held' });
    expect((['create', 'drain', 'delete'] as const).map((call) => provider.ledger.count(call))).toEqual([
      1, 0, 1,
    ]);
    expect(() => tokens.setEpoch(8)).toThrow();
  });
});

describe('outcomes', () => {
  it('X8: only after a timeout or a lost connection may the provider have executed the call', () => {
    const kinds = [
      'not_found',
      'unsupported',
      'fenced',
      'timeout',
      'unavailable',
      'invalid',
      'malformed',
      'other',
    ] as const;
    expect(kinds.filter(isUndecided)).toEqual(['timeout', 'unavailable']);
  });
});
