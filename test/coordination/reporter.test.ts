import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CoordinatorReporter } from '../../src/coordination/reporter.ts';
import { InstructAckOutcome as Outcome } from '../../src/wire/protocol.generated.ts';
import { CoordinatorState, TestCoordinator } from './coordinator.ts';
import { ask, closeAfterwards, factsOf, rig } from './fixture.ts';

const RACK = { topologyKey: 'rack', topologyValue: 'r1' };

describe('K1: reports to a coordinator', () => {
  it('arrive every interval with the current facts, and register the shard', async () => {
    let cycle = 0;
    const source = { reportFacts: () => factsOf({ cycle: ++cycle }) };
    const { coordinator, state, reporter } = await rig({ source });
    await expect.poll(() => state.reports.length).toBeGreaterThan(3);
    expect(state.reports.slice(0, 3).map((report) => report.cycle)).toEqual([1, 2, 3]);
    expect(state.reports[0]).toMatchObject({
      shardId: 'shard-1',
      shardEpoch: 7,
      shardAddress: '127.0.0.1:7780',
      summary: { totalMachines: 10, freeMachines: 4 },
    });
    const { shards } = await ask(coordinator, 'ListShards', {});
    expect(shards).toMatchObject([{ shardId: 'shard-1', address: '127.0.0.1:7780' }]);
    expect(reporter.status()).toMatchObject({ failedInARow: 0, lastFailure: '', highestTerm: 1 });
    expect(reporter.term).toBe(1);
  });

  it('carry the acks of the instructions of the previous answer', async () => {
    const { coordinator, state, reporter, events } = await rig();
    await ask(coordinator, 'AssignDomain', { ...RACK, shardId: 'shard-1' });
    await expect.poll(() => state.acks.length).toBe(1);
    expect(state.acks[0]).toMatchObject({ instructionId: 'i-1', outcome: Outcome.OUTCOME_ACCEPTED });
    expect(reporter.status().domains).toMatchObject([RACK]);
    const { assignments } = await ask(coordinator, 'ListDomainAssignments', {});
    expect(assignments).toMatchObject([{ ...RACK, shardId: 'shard-1' }]);

    await ask(coordinator, 'UnassignDomain', RACK);
    await expect.poll(() => state.acks.length).toBe(2);
    await expect.poll(() => reporter.status()).toMatchObject({ domains: [], waitingAcks: 0 });
    const whats = events.map((event) => (event.kind === 'instruction' ? event.what : event.kind));
    expect(whats).toEqual(['assignDomain', 'unassignDomain']);
  });

  it('repeat an ack if the report was received but not answered; the instruction is executed once', async () => {
    const { coordinator, state, reporter } = await rig();
    coordinator.fault = 'lost-with-acks';
    state.instruct('shard-1', { assignDomain: RACK });
    await expect.poll(() => state.acks.length).toBeGreaterThan(2);
    expect(reporter.status().waitingAcks).toBe(1);
    coordinator.fault = 'none';
    await expect.poll(() => reporter.status().waitingAcks).toBe(0);
    expect(new Set(state.acks.map((ack) => ack.outcome))).toEqual(new Set([Outcome.OUTCOME_ACCEPTED]));
    expect(reporter.status().instructions.accepted).toBe(1);
  });

  it('after a lost answer the instruction comes again and is executed', async () => {
    const { coordinator, state, reporter } = await rig();
    coordinator.fault = 'lost';
    await expect.poll(() => coordinator.callCount).toBeGreaterThan(1);
    state.instruct('shard-1', { assignDomain: RACK });
    await wait(50);
    expect(reporter.status().domains).toEqual([]);
    coordinator.fault = 'none';
    await expect.poll(() => state.acks.length).toBe(1);
    expect(reporter.status().domains).toMatchObject([RACK]);
  });

  it('keep their acks if they are answered but not acknowledged', async () => {
    const coordinator = closeAfterwards(await TestCoordinator.serve());
    coordinator.fault = 'unacknowledged';
    coordinator.state.instruct('shard-1', { assignDomain: RACK });
    const { state, reporter, events } = await rig({ coordinator });
    await expect.poll(() => reporter.status().failedInARow).toBeGreaterThan(2);
    expect(reporter.status()).toMatchObject({
      domains: [RACK],
      waitingAcks: 1,
      lastFailure: expect.stringContaining('did not acknowledge'),
    });
    expect(events.filter((event) => event.kind === 'coordinator_lost')).toHaveLength(1);
    coordinator.fault = 'none';
    await expect.poll(() => reporter.status().waitingAcks).toBe(0);
    expect(state.acks).toMatchObject([{ outcome: Outcome.OUTCOME_ACCEPTED }]);
  });

  it('refuse instructions of an old term as stale, even if the coordinator itself goes back', async () => {
    const state = new CoordinatorState();
    state.term = 9;
    const coordinator = closeAfterwards(await TestCoordinator.serve(state));
    const { reporter } = await rig({ coordinator });
    await expect.poll(() => reporter.term).toBe(9);
    state.term = 4; // restored from an old backup, or a deposed leader that does not know it
    await ask(coordinator, 'AssignDomain', { ...RACK, shardId: 'shard-1' });
    await expect.poll(() => state.acks.length).toBe(1);
    expect(state.acks[0]).toMatchObject({ outcome: Outcome.OUTCOME_REJECTED_STALE });
    expect(state.acks[0]!.reason).toContain('term 4 is stale');
    expect(reporter.status()).toMatchObject({ domains: [], highestTerm: 9 });
    state.term = 10;
    await ask(coordinator, 'AssignDomain', { ...RACK, shardId: 'shard-1' });
    await expect.poll(() => reporter.status().domains.length).toBe(1);
  });

  it('ack a repeated id again and do not execute it, if the coordinator forgot the ack', async () => {
    const { state, reporter } = await rig();
    state.instruct('shard-1', { instructionId: 'same', assignDomain: RACK });
    await expect.poll(() => state.acks.length).toBe(1);
    state.instruct('shard-1', { instructionId: 'gone', unassignDomain: RACK });
    await expect.poll(() => state.acks.length).toBe(2);
    state.instruct('shard-1', { instructionId: 'same', assignDomain: RACK });
    await expect.poll(() => state.acks.length).toBe(3);
    expect(state.acks[2]).toMatchObject({ instructionId: 'same', outcome: Outcome.OUTCOME_ACCEPTED });
    expect(reporter.status()).toMatchObject({ domains: [], instructions: { accepted: 2, repeated: 1 } });
  });

  it('K1: acknowledge an instruction that the shard does not carry out, and it does not come again', async () => {
    const { state, reporter } = await rig();
    state.instruct('shard-1', { crossShardDrain: { machineIds: ['m-1'], preemptorPriority: 9 } });
    state.instruct('shard-1', { transferOwnership: { machineIds: ['m-1'], toShardId: 'shard-2' } });
    state.instruct('shard-1', { reassignSpeculative: { machineIds: ['m-1'] } });
    await expect.poll(() => state.acks.length).toBe(3);
    for (const ack of state.acks) {
      expect(ack.outcome).toBe(Outcome.OUTCOME_ACCEPTED);
      expect(ack.reason).toContain('does not carry it out');
    }
    await expect.poll(() => state.open.get('shard-1')).toEqual([]);
    expect(reporter.status()).toMatchObject({ domains: [], instructions: { accepted: 3 } });
  });
});

describe('K1: a coordinator that fails changes nothing else', () => {
  it('one that is down for long costs a counter and one log event, and is found again', async () => {
    const first = await TestCoordinator.serve();
    const { state, reporter, events } = await rig({ coordinator: first });
    state.instruct('shard-1', { assignDomain: RACK });
    await expect.poll(() => reporter.status().domains.length).toBe(1);
    await first.close();
    await expect.poll(() => reporter.status().failedInARow).toBeGreaterThan(20);
    expect(reporter.status()).toMatchObject({
      domains: [RACK],
      lastFailure: expect.stringContaining('unavailable'),
    });
    expect(events.filter((event) => event.kind === 'coordinator_lost')).toHaveLength(1);

    state.term = 2; // another leader with the same state
    closeAfterwards(await TestCoordinator.serve(state, { port: first.port }));
    await expect.poll(() => reporter.status().failedInARow).toBe(0);
    expect(reporter.term).toBe(2);
    expect(events.at(-1)).toMatchObject({ kind: 'coordinator_found' });
    await expect.poll(() => reporter.status().waitingAcks).toBe(0);
    expect(new Set(state.acks.map((ack) => ack.instructionId))).toEqual(new Set(['i-1']));
  });

  it('one that never existed is no different', async () => {
    const gone = await TestCoordinator.serve();
    await gone.close();
    const { reporter } = await rig({ coordinator: gone });
    await expect.poll(() => reporter.status().failedInARow).toBeGreaterThan(5);
    expect(reporter.status()).toMatchObject({ reportsAnswered: 0, lastAnswerAtMs: 0, highestTerm: 0 });
  });

  it('a slow one delays nothing: one report is in flight, none queues up, and close does not wait', async () => {
    let snapshotCount = 0;
    const source = {
      reportFacts: () => {
        snapshotCount++;
        return factsOf();
      },
    };
    const coordinator = closeAfterwards(await TestCoordinator.serve());
    coordinator.fault = 'silent';
    const { reporter } = await rig({ coordinator, source, intervalMs: 5, callTimeoutMs: 60_000 });
    await expect.poll(() => coordinator.callCount).toBe(1);
    let turnCount = 0;
    const turns = setInterval(() => turnCount++, 5);
    await expect.poll(() => turnCount).toBeGreaterThan(20); // the event loop still turns many intervals later
    clearInterval(turns);
    expect([snapshotCount, coordinator.callCount]).toEqual([1, 1]);
    await reporter.close(); // a minute before the deadline
    expect(reporter.status().lastFailure).toContain('cancelled');
  });

  it('one that never answers ends at the deadline, and the next report is sent', async () => {
    const coordinator = closeAfterwards(await TestCoordinator.serve());
    coordinator.fault = 'silent';
    const { reporter } = await rig({ coordinator, callTimeoutMs: 50 });
    await expect.poll(() => coordinator.callCount).toBeGreaterThan(2);
    expect(reporter.status().lastFailure).toContain('deadline');
    coordinator.fault = 'none';
    await expect.poll(() => reporter.status().failedInARow).toBe(0);
  });

  it('a silently dead connection is closed, and the next report dials again', async () => {
    const coordinator = closeAfterwards(await TestCoordinator.serve());
    const sockets: Socket[] = [];
    const wire = createServer((near) => {
      const far = connect(Number(coordinator.address.split(':')[1]), '127.0.0.1');
      sockets.push(near, far);
      for (const socket of [near, far]) socket.on('error', () => {});
      near.pipe(far).pipe(near);
    });
    await new Promise<void>((resolve) => wire.listen(0, '127.0.0.1', resolve));
    closeAfterwards({
      close: () => {
        for (const socket of sockets) socket.destroy();
        wire.close();
      },
    });
    const { port } = wire.address() as AddressInfo;
    const coordinatorAddress = `127.0.0.1:${port}`;
    const { reporter } = await rig({ coordinator, coordinatorAddress, callTimeoutMs: 500 });
    await expect.poll(() => reporter.status().reportsAnswered).toBeGreaterThan(0);
    for (const socket of sockets) socket.unpipe().pause();
    const answered = reporter.status().reportsAnswered;
    await expect.poll(() => sockets.length).toBeGreaterThan(2); // a new connection: the previous one was closed
    await expect.poll(() => reporter.status().reportsAnswered).toBeGreaterThan(answered);
    await expect.poll(() => reporter.status().failedInARow).toBe(0);
  });

  it('its failure text is one clean line', async () => {
    const coordinator = closeAfterwards(await TestCoordinator.serve());
    coordinator.fault = 'down';
    const { reporter } = await rig({ coordinator });
    await expect.poll(() => reporter.status().lastFailure).toBe('unavailable: try [2J again later');
  });

  it('after a restart of the shard, instructions without an ack come again', async () => {
    const { coordinator, state, reporter } = await rig();
    state.instruct('shard-1', { assignDomain: RACK });
    await expect.poll(() => reporter.status().domains.length).toBe(1);
    await reporter.close();
    state.open.set('shard-1', []);
    state.instruct('shard-1', { instructionId: 'not acked', assignDomain: { ...RACK, topologyValue: 'r2' } });
    const { reporter: next } = await rig({ coordinator });
    await expect.poll(() => next.status().domains).toMatchObject([{ topologyValue: 'r2' }]);
  });

  it('the shard sends nothing before start or after close', async () => {
    const coordinator = closeAfterwards(await TestCoordinator.serve());
    const reporter = new CoordinatorReporter({
      coordinatorAddress: coordinator.address,
      shardAddress: '',
      providerAddress: '',
      source: { reportFacts: () => factsOf() },
      intervalMs: 5,
    });
    await wait(30);
    expect(coordinator.callCount).toBe(0);
    reporter.start();
    reporter.start();
    await expect.poll(() => coordinator.callCount).toBeGreaterThan(1);
    await reporter.close();
    await reporter.close();
    await wait(50); // for reports sent before
    const { callCount } = coordinator;
    reporter.start();
    await wait(50);
    expect(coordinator.callCount).toBe(callCount);
  });

  it('the coordinator of these tests answers the administrators’ calls', async () => {
    const { coordinator, state } = await rig();
    state.quotas.push({ provider: 'p', region: 'eu', perShard: { 'shard-1': 5 } });
    const { allocations } = await ask(coordinator, 'ListQuotas', {});
    expect(allocations).toMatchObject([{ provider: 'p', region: 'eu', perShard: { 'shard-1': 5 } }]);
    await expect.poll(() => state.shards.size).toBe(1);
    await ask(coordinator, 'RemoveShard', { shardId: 'shard-1' });
    await expect.poll(() => state.shards.size).toBe(1); // it still reports, which registers it again
  });
});
