/**
 * A shard that sends frames in any order, acks when it likes and ends streams in between. Whatever it does, an operator of the
 * kit keeps the protocol, and its handlers see the newest state of every machine.
 */
import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MachineState } from '../../src/machine/state.ts';
import { ClusterOperator } from '../../src/operator-kit/cluster-operator.ts';
import { ScriptedShard } from '../simulation/operators/scripted-shard.ts';
import { need } from './stage.ts';

const S = MachineState;
const MACHINES = ['m-0', 'm-1', 'm-2'];
const STATES = [S.Configuring, S.Configured, S.Draining, S.Failed, S.Idle];

const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('node'), of: fc.nat(2), state: fc.nat(4) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('ask'), of: fc.nat(), state: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('reclaim'), of: fc.nat(2), state: fc.nat() }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('needs'), of: fc.nat(), state: fc.nat() }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('ack'), of: fc.nat(), state: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('hello again'), of: fc.nat(), state: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('empty'), of: fc.nat(), state: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('end'), of: fc.nat(), state: fc.nat() }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('pause'), of: fc.nat(5), state: fc.nat() }) },
  ),
  { minLength: 5, maxLength: 40 },
);
type Step = typeof steps extends fc.Arbitrary<(infer Each)[]> ? Each : never;

const shard = new ScriptedShard({ acksRollups: false });
beforeAll(() => shard.listen());
afterAll(() => shard.close());

const ticks = async (count: number) => {
  for (let tick = 0; tick < count; tick++) await new Promise((resolve) => setImmediate(resolve));
};

let runs = 0;
const seen = { reconnects: 0, answers: 0, skipped: 0 };

async function run(script: readonly Step[], delays: readonly number[]): Promise<void> {
  const clusterId = `cluster-${runs++}`;
  const announced = new Map<string, MachineState[]>(MACHINES.map((id) => [id, []]));
  const handled = new Map<string, MachineState[]>(MACHINES.map((id) => [id, []]));
  let calls = 0;
  const operator = new ClusterOperator({
    shard: shard.address,
    clusterId,
    reconnect: { initialMs: 1, maxMs: 2 },
    rollup: { paceMs: 0, intervalMs: 5, ackTimeoutMs: 60_000 },
    bootstrap: async ({ requestId }) => {
      await ticks(delays[calls++ % delays.length]!);
      return requestId;
    },
    onNode: async ({ machineId, state }) => {
      handled.get(machineId)!.push(state);
      await ticks(delays[calls++ % delays.length]!);
    },
    onReclaim: () => ticks(delays[calls++ % delays.length]!),
  });
  await operator.start();
  const mine = () => shard.all.filter((session) => session.clusterId === clusterId);
  const current = () => mine().at(-1)!;
  const acked = new Map<object, number>();
  const announce = (id: string, state: MachineState) => {
    announced.get(id)!.push(state);
    current().announce(id, state);
  };
  const unacked = (session: ReturnType<typeof current>) =>
    session.count('rollup') - (acked.get(session) ?? 0);
  const ack = () => {
    if (unacked(current()) === 0) return;
    acked.set(current(), (acked.get(current()) ?? 0) + 1);
    current().send({ ack: { echo: 'rollup' } });
  };
  let asked = 0;
  const askedOn = new Map<string, object>();
  const nextId = () => {
    const id = `q-${asked++}`;
    askedOn.set(id, current());
    return id;
  };
  for (const { kind, of, state } of script) {
    if (kind === 'node') announce(MACHINES[of]!, STATES[state]!);
    else if (kind === 'ask') current().askForBlob(nextId());
    else if (kind === 'reclaim')
      current().send({ reclaimInstruction: { instructionId: nextId(), nodes: [MACHINES[of]!] } });
    else if (kind === 'needs') operator.setNeeds([need(`v-${asked++}`)]);
    else if (kind === 'ack') ack();
    else if (kind === 'hello again') current().send({ ack: { echo: 'hello' } });
    else if (kind === 'empty') current().send({});
    else if (kind === 'end') {
      const before = mine().length;
      current().end(status.UNAVAILABLE, 'the script says so');
      await expect.poll(() => mine().length, { interval: 1 }).toBeGreaterThan(before);
      await expect.poll(() => operator.isConnected, { interval: 1 }).toBe(true);
      seen.reconnects++;
    } else await ticks(of);
    for (const session of mine()) expect(unacked(session)).toBeLessThanOrEqual(1);
  }
  // As O1's resync: each state once more, and the last request after all others.
  for (const id of MACHINES) announce(id, S.Configured);
  askedOn.set('last', current());
  current().askForBlob('last');
  operator.setNeeds([need('last')]);
  const isAcked = operator.acknowledged();
  await expect.poll(() => current().received.some(isAnswerTo('last')), { interval: 1 }).toBe(true);
  await expect
    .poll(() => MACHINES.map((id) => handled.get(id)!.at(-1)), { interval: 1 })
    .toEqual(MACHINES.map(() => S.Configured));
  await expect
    .poll(
      () => {
        ack();
        return current().last('rollup')?.rollup?.needs[0]?.group;
      },
      { interval: 1 },
    )
    .toBe('last');
  ack();
  await isAcked;
  await operator.close();

  for (const id of MACHINES) {
    expect(isSubsequence(handled.get(id)!, announced.get(id)!), id).toBe(true);
    seen.skipped += announced.get(id)!.length - handled.get(id)!.length;
  }
  for (const session of mine()) {
    const answers = session.received.flatMap((message) => answerOf(message) ?? []);
    expect(new Set(answers).size).toBe(answers.length);
    expect(answers.filter((id) => askedOn.get(id) !== session)).toEqual([]);
    seen.answers += answers.length;
    expect(session.received[0]?.payload).toBe('hello');
    expect(session.count('hello')).toBe(1);
    expect(unacked(session)).toBeLessThanOrEqual(1);
  }
}

type Received = ScriptedShard['all'][number]['received'][number];

const isAnswerTo = (requestId: string) => (message: Received) =>
  message.bootstrapResponse?.requestId === requestId;

function answerOf({ bootstrapResponse, reclaimAck }: Received): string | undefined {
  return bootstrapResponse?.requestId ?? reclaimAck?.instructionId;
}

function isSubsequence<Value>(part: readonly Value[], whole: readonly Value[]): boolean {
  let at = 0;
  for (const value of whole) if (at < part.length && part[at] === value) at++;
  return at === part.length;
}

it('O1, N1, X5: an operator keeps the order of frames, whatever the shard sends and however slow the handlers are', async () => {
  const delays = fc.array(fc.nat(6), { minLength: 1, maxLength: 5 });
  await fc.assert(fc.asyncProperty(steps, delays, run), { numRuns: 40 });
  expect(seen.reconnects).toBeGreaterThan(20);
  expect(seen.answers).toBeGreaterThan(60);
  expect(seen.skipped).toBeGreaterThan(0);
});
