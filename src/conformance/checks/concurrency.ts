/** Concurrent calls: a shard keeps hundreds in flight. */
import { MachineState } from '../../machine/state.ts';
import { type Check, CheckFailedError, must, skip } from '../check.ts';
import type { ConfigureParameters } from '../client.ts';
import { codeName, FAILED_PRECONDITION, NOT_FOUND, UNIMPLEMENTED } from '../codes.ts';
import { describeReply, requireAnswer, requireEcho, requireUnchanged } from '../expect.ts';
import type { Rig } from '../rig.ts';
import { PARALLEL_CALLS } from '../settings.ts';
import { quote, stateName } from '../snapshot.ts';
import { ABSENT_TOKEN } from '../token.ts';

export const CONCURRENCY_CHECKS: readonly Check[] = [
  {
    id: 'concurrency/reads',
    contract: `${PARALLEL_CALLS} concurrent reads are answered, each with its own machine.`,
    async run({ client, driver }) {
      const listed = (await driver.list({ maxResults: PARALLEL_CALLS })).ids;
      if (listed.length === 0) skip('the provider lists no machine');
      const ids = Array.from({ length: PARALLEL_CALLS }, (_, index) => listed[index % listed.length]!);
      const replies = await Promise.all(ids.map((id) => client.get(id)));
      for (const [index, reply] of replies.entries()) {
        must(reply.ok && reply.value.id === ids[index], {
          expected: `machine ${quote(ids[index]!)}`,
          came: reply.ok ? `machine ${quote(reply.value.id)}` : describeReply(reply),
          change: 'keep no part of a request in shared variables, and lift limits on concurrent streams',
        });
      }
      return undefined;
    },
  },
  {
    id: 'concurrency/unknown-machines',
    contract: `${PARALLEL_CALLS} concurrent calls that must fail are each refused with the right code.`,
    async run({ driver }) {
      const replies = await Promise.all(
        Array.from({ length: PARALLEL_CALLS }, () => driver.send('Create', driver.unknownId())),
      );
      for (const reply of replies) {
        must(reply.code === NOT_FOUND || reply.code === UNIMPLEMENTED, {
          expected: codeName(NOT_FOUND),
          came: describeReply(reply),
          change: 'return the same code under load as for a single call',
        });
      }
      return undefined;
    },
  },
  {
    id: 'concurrency/one-operation',
    contract: `${PARALLEL_CALLS} concurrent repeats of one call are one operation.`,
    async run({ driver, pool }) {
      const { id, binding } = await pool.configured();
      const before = await driver.get(id);
      const operationIds = await configureTogether(driver, id, () => binding);
      must(operationIds.accepted === PARALLEL_CALLS && operationIds.distinct.size === 1, {
        expected: `${PARALLEL_CALLS} acks with one operation_id`,
        came: `${operationIds.accepted} acks with ${operationIds.distinct.size} operation_ids`,
        change: 'look the operation up and start it under one lock',
      });
      requireUnchanged(before, await driver.get(id), 'concurrent repeats of a call');
      return undefined;
    },
  },
  {
    id: 'concurrency/one-winner',
    contract: `Of ${PARALLEL_CALLS} concurrent and different Configure calls, one takes effect completely.`,
    async run({ driver, pool }) {
      const id = await pool.idle();
      const bindings: ConfigureParameters[] = Array.from({ length: PARALLEL_CALLS }, (_, index) => ({
        cluster: `conformance-rival-${index}`,
        shardMetadata: { rival: String(index) },
      }));
      const { distinct } = await configureTogether(driver, id, (index) => bindings[index]!);
      must(distinct.size === 1, {
        expected: 'the same operation_id in all acks',
        came: `${distinct.size} operation_ids`,
        change: 'check the state and change it under one lock',
      });
      const machine = await driver.get(id);
      const winner = bindings.find((binding) => binding.cluster === machine.cluster);
      if (winner === undefined) {
        throw new CheckFailedError({
          expected: 'the binding of one of the calls',
          came: `${stateName(machine.state)} with cluster ${quote(machine.cluster)}`,
          change: 'store cluster and shard_metadata before you acknowledge the call',
        });
      }
      requireEcho(machine, winner, 'Get after the race (cluster and shard_metadata of one call)');
      await settleBound(driver, id);
      return undefined;
    },
  },
];

/** Without tokens: otherwise the fence would pick the winner. */
async function configureTogether(
  driver: Rig['driver'],
  id: string,
  bindingOf: (index: number) => ConfigureParameters,
): Promise<{ accepted: number; distinct: Set<string> }> {
  const replies = await Promise.all(
    Array.from({ length: PARALLEL_CALLS }, (_, index) =>
      driver.send('Configure', id, { token: ABSENT_TOKEN, binding: bindingOf(index), isRacing: true }),
    ),
  );
  const distinct = new Set<string>();
  let accepted = 0;
  for (const reply of replies) {
    requireAnswer(reply, `each of ${PARALLEL_CALLS} concurrent Configure calls`);
    must(reply.code !== FAILED_PRECONDITION, {
      expected: 'calls without a token to bypass the fence',
      came: describeReply(reply),
      change: 'use FAILED_PRECONDITION for stale tokens only',
    });
    if (!reply.ok) continue;
    accepted++;
    distinct.add(reply.value.operationId);
  }
  return { accepted, distinct };
}

/** The machine may still be CONFIGURING after the race: waits for the end without another call. */
async function settleBound(driver: Rig['driver'], id: string): Promise<void> {
  const machine = await driver.get(id);
  const begun = { method: 'Configure', machineId: id, operationId: '', machine } as const;
  const { end } = await driver.finish(begun);
  must(end.state === MachineState.Configured, {
    expected: 'the machine to be CONFIGURED after the race',
    came: stateName(end.state),
    change: 'let the one accepted operation run to its end',
  });
}
