/** X16: a process that stood still. The simulator's checks hold for all of these too; here each promise is seen on its own. */
import { describe, expect, it } from 'vitest';
import { CapacityType } from '../../src/machine/capacity-type.ts';
import { type MachineState, STATE_NAMES } from '../../src/machine/state.ts';
import { LoneCall, type Turn } from '../../src/shard/execute/lone-call.ts';
import { Fixture, machine, machines, need, S } from './fixture.ts';

/** From the state while a call is under way to the one before it. */
const BACK = ['Creating to Speculative', 'Configuring to Idle', 'Draining to Configured', 'Deleting to Idle'];
const SLOW_CALLS = { delayMsMean: 300, requestLoss: 0, answerLoss: 0, noticedShare: 0 };

async function standStill(fixture: Fixture, forMs: number): Promise<void> {
  const { life } = fixture.process;
  life.stop();
  await fixture.world.time.advance(forMs);
  life.resume();
}

describe('a process that stood still', () => {
  it('X16: drops what it decided before, decides again, and loses nothing', async () => {
    const fixture = new Fixture({
      machines: machines(12, 'm', { state: S.Idle }),
      demand: { c1: [need(12)] },
      settings: { executeConcurrency: 2 },
    });
    fixture.world.network.faults = SLOW_CALLS;
    while (fixture.asked('configure').length < 3) await fixture.world.time.advance(50);
    const sent = fixture.asked('configure').length;
    await standStill(fixture, 20_000);
    expect(fixture.shard.counters.stalls).toBe(0);
    await fixture.world.time.advance(1);
    expect(fixture.shard.counters.stalls).toBe(1);
    expect(fixture.shard.counters.actionsOutdated).toBeGreaterThan(0);
    expect(fixture.shard.executor.waitingCount).toBe(0);
    // Calls that were under way arrived meanwhile; nothing else did.
    expect(fixture.asked('configure').length).toBeLessThanOrEqual(sent + 2);
    await fixture.run(60);
    expect(fixture.truth().Configured).toBe(12);
  });

  it('X16: sends no call that waits in a thread when the process stops, and takes the machine back', async () => {
    const fixture = new Fixture({
      machines: [machine('m', { state: S.Speculative, capacityType: CapacityType.Spot })],
      demand: { c1: [need(1)] },
      settings: { hasRollupGuard: false, idleHoldSpotMs: 5_000 },
    });
    const takenBack: string[] = [];
    fixture.shard.changes.onChange(({ source, from, to }) => {
      const isBack =
        source === 'local' && `${STATE_NAMES[from as MachineState]} to ${STATE_NAMES[to as MachineState]}`;
      if (isBack !== false && BACK.includes(isBack)) takenBack.push(isBack);
    });
    let stops = 0;
    // The call that was taken back is the next one, and then comes the next kind.
    const stopAgain = (calls: number) => {
      fixture.world.stopAtCall = {
        calls,
        stop: ({ life }) => {
          stops++;
          life.stop();
        },
      };
    };
    stopAgain(1);
    for (const [index, event] of (['create', 'configure', 'drain', 'delete'] as const).entries()) {
      if (event === 'drain') fixture.world.setDemand(fixture.cluster(), []);
      for (let second = 0; second < 120 && stops === index; second++) await fixture.run(1);
      expect(stops).toBe(index + 1);
      await fixture.run(20);
      expect(fixture.asked(event)).toHaveLength(0);
      stopAgain(2);
      fixture.process.life.resume();
      // No back-off follows, because the provider was never called.
      for (let second = 0; second < 12 && fixture.asked(event).length === 0; second++) await fixture.run(1);
      expect(fixture.asked(event)).toHaveLength(1);
    }
    expect(takenBack).toEqual(BACK);
    await fixture.run(10);
    expect(fixture.known('m')).toBe('Speculative');
  });

  it('X16: binds nothing for a cluster whose session has not answered a ping', async () => {
    const fixture = new Fixture({
      machines: machines(4, 'm', { state: S.Idle }),
      demand: { c1: [need(1)], c2: [need(1)] },
    });
    await fixture.run(15);
    const [gone, here] = [fixture.cluster('c1'), fixture.cluster('c2')];
    // The operator left without a word, as behind a network that is cut.
    gone.disconnect();
    await standStill(fixture, 20_000);
    await fixture.world.time.advance(1);
    expect(fixture.shard.sessions.count).toBe(2);
    fixture.world.setDemand(here, [need(2)]);
    await fixture.run(15);
    expect(fixture.process.operators.hasSession('c1')).toBe(true);
    const refs = fixture.shard.inventory.tables.clusters;
    expect(fixture.shard.sessions.isAlive(refs.find('c1'))).toBe(false);
    expect(fixture.shard.sessions.isAlive(refs.find('c2'))).toBe(true);
    expect(fixture.truth().Configured).toBe(3);
  });

  it('X16: sends one call alone, and the others after its answer', async () => {
    const fixture = new Fixture({
      machines: machines(6, 'm', { state: S.Idle }),
      demand: { c1: [need(6)] },
    });
    fixture.world.network.faults = SLOW_CALLS;
    await fixture.world.time.advance(100);
    await standStill(fixture, 20_000);
    let alone = 0;
    let most = 0;
    await fixture.world.time.advance(5_000, () => {
      const inFlight = fixture.shard.executor.inFlight;
      if (fixture.asked('configure').length === 0 && inFlight > 0) alone = Math.max(alone, inFlight);
      most = Math.max(most, inFlight);
    });
    expect(alone).toBe(1);
    expect(most).toBeGreaterThan(1);
    await fixture.run(30);
    expect(fixture.truth().Configured).toBe(6);
  });

  it('X16: a shorter pause changes nothing', async () => {
    const fixture = new Fixture({
      machines: machines(6, 'm', { state: S.Idle }),
      demand: { c1: [need(6)] },
    });
    await fixture.world.time.advance(100);
    await standStill(fixture, 4_000);
    await fixture.run(30);
    expect(fixture.shard.counters.stalls).toBe(0);
    expect(fixture.truth().Configured).toBe(6);
  });
});

describe('the lone call', () => {
  it('X16: passes its turn on after no answer, to another provider first', async () => {
    const lone = new LoneCall();
    lone.begin();
    const order: number[] = [];
    const turns: (Turn | null)[] = [];
    for (const provider of [0, 0, 1]) {
      void lone.turn(provider).then((turn) => {
        order.push(provider);
        turns.push(turn);
      });
    }
    await Promise.resolve();
    expect(order).toEqual([0]);
    lone.ended(turns[0]!, 'none');
    await Promise.resolve();
    expect(order).toEqual([0, 1]);
    lone.ended(turns[1]!, 'unused');
    await Promise.resolve();
    expect(order).toEqual([0, 1, 0]);
    lone.ended(turns[0]!, 'definite'); // an answer to an earlier turn proves nothing
    expect(lone.isOn).toBe(true);
    lone.ended(turns[2]!, 'definite');
    expect(lone.isOn).toBe(false);
  });

  it('X16: a second stall takes the turn from its holder', async () => {
    const lone = new LoneCall();
    lone.begin();
    const turn = await lone.turn(0);
    lone.begin();
    lone.ended(turn, 'definite');
    expect(lone.isOn).toBe(true);
    expect(await lone.turn(0)).not.toBeNull();
  });
});
