import { describe, expect, it } from 'vitest';
import { MachineState as S } from '../../src/machine/state.ts';
import { Departures } from '../../src/session/departures.ts';
import { CONTROL_FRAMES_MAX, DEPARTURE_KEPT_MS, DEPARTURES_MAX } from '../../src/session/limits.ts';
import type { NodeState } from '../../src/shard/ports/operators.ts';
import { inState } from '../inventory/machines.ts';
import { startRig } from './rig.ts';

describe('node updates', () => {
  it('O3: follow every change of a bound machine, and the last one goes to the cluster it had', async () => {
    const { shard, greeted } = await startRig();
    const [east, west] = [await greeted('east'), await greeted('west')];
    shard.put(inState(S.Configuring, { id: 'm-1' }));
    await east.receives(() => east.states()['m-1'] === S.Configuring);
    shard.put(inState(S.Configured, { id: 'm-1', labels: { rack: 'r9' } }));
    await east.receives(() => east.states()['m-1'] === S.Configured);
    expect(east.nodes().at(-1)!.labels.rack).toBe('r9');
    shard.put(inState(S.Idle, { id: 'm-1' }));
    await east.receives(() => east.states()['m-1'] === S.Idle);
    shard.put(inState(S.Configured, { id: 'm-1', cluster: 'west' }));
    await west.receives(() => west.states()['m-1'] === S.Configured);
    expect(east.nodes()).toHaveLength(3);
    expect(west.nodes()).toHaveLength(1);
  });

  it('O3: several changes at once are one update, with the newest state', async () => {
    const { shard, greeted } = await startRig();
    const operator = await greeted('east');
    shard.put(inState(S.Configuring, { id: 'm-1' }));
    shard.put(inState(S.Configured, { id: 'm-1' }));
    shard.put(inState(S.Draining, { id: 'm-1' }));
    await operator.receives(() => operator.nodes().length > 0);
    shard.put(inState(S.Configured, { id: 'm-2' }));
    await operator.receives(() => operator.states()['m-2'] === S.Configured);
    expect(operator.nodes().map(({ machineId, state }) => [machineId, state])).toEqual([
      ['m-1', S.Draining],
      ['m-2', S.Configured],
    ]);
  });

  it('O1: a machine that changes before its resync update is sent once, in its newest state', async () => {
    const { shard, connect } = await startRig();
    for (let index = 0; index < 500; index++) shard.put(inState(S.Configured, { id: `m-${index}` }));
    const operator = connect({ clusterId: 'east' });
    await operator.receives(() => operator.nodes().length > 0);
    for (let index = 0; index < 500; index += 5) shard.put(inState(S.Draining, { id: `m-${index}` }));
    await operator.receives(
      () => Object.values(operator.states()).filter((state) => state === S.Draining).length === 100,
    );
    await operator.receives(() => Object.keys(operator.states()).length === 500);
    expect(operator.nodes().length).toBeLessThanOrEqual(600);
    const said = operator.nodes().map(({ machineId, state }) => `${machineId} ${state}`);
    expect(new Set(said).size).toBe(said.length);
  });

  it('O4: the last updates of machines that left without a session follow the resync', async () => {
    const { shard, greeted } = await startRig();
    for (const id of ['m-1', 'm-2', 'm-3']) shard.put(inState(S.Draining, { id }));
    shard.put(inState(S.Idle, { id: 'm-1' }));
    shard.put(inState(S.Failed, { id: 'm-2', cluster: '', lastError: 'removed by provider' }));
    shard.put(inState(S.Idle, { id: 'm-3' }));
    shard.put(inState(S.Configuring, { id: 'm-3' })); // the cluster has it again
    const operator = await greeted('east');
    await operator.receives(() => operator.nodes().length === 3);
    expect(operator.nodes().map(({ machineId, state }) => [machineId, state])).toEqual([
      ['m-3', S.Configuring],
      ['m-1', S.Idle],
      ['m-2', S.Failed],
    ]);
    expect(operator.nodes()[2]!.lastError).toBe('removed by provider');
  });

  it('O4: a last update that may have been lost with a dying connection goes to the next session again', async () => {
    const { shard, server, greeted } = await startRig({ deadPeerMs: 30_000 });
    shard.put(inState(S.Draining, { id: 'm-1' }));
    const first = await greeted('east');
    shard.put(inState(S.Idle, { id: 'm-1' }));
    await first.receives(() => first.states()['m-1'] === S.Idle);
    first.close();
    await expect.poll(() => server.sessionCount).toBe(0);
    shard.clock.advance(20_000);
    const second = await greeted('east');
    await second.receives(() => second.states()['m-1'] === S.Idle);
    shard.clock.advance(60_000);
    const third = await greeted('east');
    shard.put(inState(S.Configured, { id: 'm-2' }));
    await third.receives(() => third.states()['m-2'] === S.Configured);
    expect(third.nodes()).toHaveLength(1);
  });

  it('O5: a newer hint replaces an unsent one with the same key', async () => {
    const { server, greeted } = await startRig();
    const operator = await greeted('east');
    const hint = { fingerprint: 'p=1', requirements: [], confidence: 4 as const, costPerHourUsd: 0.5 };
    for (let count = 1; count <= 5; count++) server.hintCapacity('east', { ...hint, availableCount: count });
    server.hintCapacity('east', { ...hint, fingerprint: 'p=2', availableCount: 9 });
    server.hintCapacity('nobody', { ...hint, availableCount: 1 });
    const hints = () =>
      operator.received.flatMap(({ availableCapacity }) => (availableCapacity ? [availableCapacity] : []));
    await operator.receives(() => hints().length === 2);
    expect(
      hints().map((one) => [one.supersedesKey, one.availableCount, one.confidence, one.costPerHour]),
    ).toEqual([
      ['available:p=1', 5, 4, 0.5],
      ['available:p=2', 9, 4, 0.5],
    ]);
  });
});

describe('a reader that stops reading', () => {
  it('O6: costs one mark per machine, and finally gets every newest state, ack and request', async () => {
    const { shard, server, greeted } = await startRig();
    const operator = await greeted('east');
    operator.stream.pause();
    const labels = { note: 'x'.repeat(2_000) };
    for (let round = 0; round < 40; round++) {
      const state = round === 39 ? S.Draining : S.Configured;
      for (let index = 0; index < 300; index++) {
        shard.put(inState(state, { id: `m-${index}`, labels: { ...labels, round: `${round % 2}` } }));
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    // The stream is full: the outbox has one mark per machine, not forty states.
    await expect.poll(() => server.sessions()[0]!.outboxDepth).toBeLessThanOrEqual(300);
    const written = server.counters.framesOut;
    expect(written).toBeLessThan(6_000);
    const answers = Array.from({ length: 20 }, () =>
      server.requestBlob({ clusterId: 'east', requirements: [], timeoutMs: 60_000 }),
    );
    for (let index = 0; index < 20; index++) {
      const instruction = {
        instructionId: `r-${index}`,
        nodes: ['n'],
        graceSeconds: 1,
        preemptorPriority: 0,
      };
      server.instructReclaim('east', instruction);
    }
    for (let time = 0; time < 5; time++) operator.hello('east');
    await expect.poll(() => server.counters.framesIn.hello).toBe(6);
    operator.stream.resume();
    await operator.receives(() => operator.acks('hello') === 6);
    await operator.receives(
      () => Object.values(operator.states()).filter((state) => state === S.Draining).length === 300,
    );
    const ids = operator.received.flatMap(({ bootstrapRequest }) => bootstrapRequest?.requestId ?? []);
    expect(new Set(ids).size).toBe(20);
    const reclaims = operator.received.flatMap(
      ({ reclaimInstruction }) => reclaimInstruction?.instructionId ?? [],
    );
    expect(reclaims).toEqual(Array.from({ length: 20 }, (_, index) => `r-${index}`));
    for (const requestId of ids)
      operator.send({ bootstrapResponse: { requestId, userData: Buffer.from('b') } });
    expect((await Promise.all(answers)).every(({ kind }) => kind === 'blob')).toBe(true);
  });

  it('O6: is ended with RESOURCE_EXHAUSTED when too many requests wait for it', async () => {
    const { server, greeted } = await startRig();
    const operator = await greeted('east');
    operator.stream.pause();
    const nodes = ['n'.repeat(2_000)];
    for (let index = 0; index < CONTROL_FRAMES_MAX + 5_000; index++) {
      server.instructReclaim('east', {
        instructionId: `r-${index}`,
        nodes,
        graceSeconds: 1,
        preemptorPriority: 0,
      });
    }
    await expect.poll(() => server.sessionCount).toBe(0);
    operator.stream.resume();
    expect((await operator.endedWith()).code).toBe('RESOURCE_EXHAUSTED');
  });

  it('does not delay the session that replaces it', async () => {
    const { shard, greeted } = await startRig();
    const old = await greeted('east');
    old.stream.pause();
    for (let index = 0; index < 1_000; index++) {
      shard.put(inState(S.Configured, { id: `m-${index}`, labels: { note: 'x'.repeat(1_000) } }));
    }
    const young = await greeted('east');
    await young.receives(() => Object.keys(young.states()).length === 1_000);
  });
});

describe('machines that left a cluster without a session', () => {
  const node = (machineId: string): NodeState => ({
    machineId,
    clusterId: 'east',
    state: S.Idle,
    nodeName: machineId,
    providerId: '',
    lastError: '',
    labels: {},
    resources: {},
  });

  it('O4: are kept for an hour', () => {
    const departures = new Departures(60_000);
    departures.add(node('old'), 0);
    departures.add(node('new'), 1);
    departures.reopen(DEPARTURE_KEPT_MS);
    expect(departures.depth).toBe(1);
    expect(departures.take(0)!.includes('new')).toBe(true);
    expect(departures.take(0)).toBe(null);
  });

  it('O4: are at most 10,000; the oldest are forgotten first', () => {
    const departures = new Departures(60_000);
    for (let index = 0; index < DEPARTURES_MAX + 10; index++) departures.add(node(`m-${index}`), index);
    expect(departures.size).toBe(10_000);
    departures.reopen(DEPARTURES_MAX + 10);
    expect(departures.take(0)!.includes('node:m-10')).toBe(true);
  });

  it('O4: are cut to the limit again when a session ends before it received more', () => {
    const departures = new Departures(60_000);
    departures.reopen(0);
    for (let index = 0; index < DEPARTURES_MAX + 10; index++) departures.add(node(`m-${index}`), index);
    expect(departures.depth).toBe(DEPARTURES_MAX + 10);
    departures.readerLeft();
    expect(departures.depth).toBe(DEPARTURES_MAX);
    expect(departures.take(0)!.includes('node:m-10')).toBe(true);
  });
});
