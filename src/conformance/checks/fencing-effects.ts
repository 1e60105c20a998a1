/** The fence covers all four calls and unknown machines, not calls without a token; a refused call changes nothing. */
import { type Check, must } from '../check.ts';
import type { MutatingMethod } from '../client.ts';
import { FAILED_PRECONDITION, NOT_FOUND } from '../codes.ts';
import {
  describeReply,
  requireCode,
  requireFenced,
  requirePassed,
  requireUnchanged,
  skipIfUnsupported,
} from '../expect.ts';
import { type Rig, USUAL_BINDING } from '../rig.ts';
import { PARALLEL_CALLS } from '../settings.ts';
import { stateName } from '../snapshot.ts';
import { STEPS } from '../steps.ts';
import { ABSENT_TOKEN } from '../token.ts';

const EPOCH = 5;
const SEQUENCE = 10;

export const FENCED_CREATE_CHECK = fencedCheck('Create', 'Drain', ({ pool }) => pool.speculative());
export const FENCED_CONFIGURE_CHECK = fencedCheck('Configure', 'Drain', ({ pool }) => pool.idle());
export const FENCED_DRAIN_CHECK = fencedCheck(
  'Drain',
  'Configure',
  async ({ pool }) => (await pool.configured()).id,
);
export const FENCED_DELETE_CHECK = fencedCheck('Delete', 'Drain', ({ pool }) =>
  pool.idle({ isDeletable: true }),
);

/**
 * `method` would take effect if the fence let the stale call through. `idleCall` sets the mark: it has no
 * effect in this state.
 */
function fencedCheck(
  method: MutatingMethod,
  idleCall: MutatingMethod,
  borrow: (rig: Rig) => Promise<string>,
): Check {
  return {
    id: `fencing/${method.toLowerCase()}`,
    contract: `The provider refuses a stale ${method} and changes nothing.`,
    async run(rig) {
      const { driver } = rig;
      const id = await borrow(rig);
      const shard = driver.newShard();
      const before = await driver.get(id);
      const binding = USUAL_BINDING;
      const mark = { token: shard.token(EPOCH, SEQUENCE), binding };
      requirePassed(
        await driver.send(idleCall, id, mark),
        `${idleCall} of a ${stateName(before.state)} machine with the shard's first token`,
        'refuse a call that the state does not allow with another code, and accept repeats',
      );
      for (const token of [shard.token(EPOCH, SEQUENCE), shard.token(EPOCH - 1, SEQUENCE + 1)]) {
        const reply = await driver.send(method, id, { token, binding });
        skipIfUnsupported(reply, method);
        requireFenced(reply, `a stale ${method} of a machine that is ${stateName(STEPS[method].from)}`);
      }
      requireUnchanged(before, await driver.get(id), `a stale ${method}`);
      return undefined;
    },
  };
}

export const FENCING_UNKNOWN_CHECKS: readonly Check[] = [
  {
    id: 'fencing/before-existence',
    contract:
      'The provider checks the token before it looks the machine up: a stale call for an unknown machine returns FAILED_PRECONDITION.',
    async run({ driver }) {
      const id = driver.unknownId();
      const shard = driver.newShard();
      const first = await driver.send('Create', id, { token: shard.token(EPOCH, SEQUENCE) });
      skipIfUnsupported(first, 'Create');
      requireCode(
        first,
        NOT_FOUND,
        "Create of an unknown machine with the shard's first token",
        'accept the first token of a shard, then return NOT_FOUND because the machine does not exist',
      );
      for (const sequence of [SEQUENCE, SEQUENCE - 1]) {
        requireFenced(
          await driver.send('Create', id, { token: shard.token(EPOCH, sequence) }),
          'a stale Create of an unknown machine',
          'check the token before you look the machine up, and keep marks for unknown ids, too',
        );
      }
      requireCode(
        await driver.send('Create', id, { token: shard.token(EPOCH, SEQUENCE + 1) }),
        NOT_FOUND,
        'Create of an unknown machine with a newer token',
        'accept newer tokens, then return NOT_FOUND',
      );
      return undefined;
    },
  },
];

export const FENCING_BYPASS_CHECKS: readonly Check[] = [
  {
    id: 'fencing/absent-token',
    contract: 'A call with an absent token (empty shard_id, 0, 0) bypasses the fence every time.',
    async run({ driver, pool }) {
      const { id, binding } = await pool.configured();
      await driver.send('Configure', id, { token: driver.newShard().token(EPOCH, SEQUENCE), binding });
      for (const time of ['first', 'second']) {
        requirePassed(
          await driver.send('Configure', id, { token: ABSENT_TOKEN, binding }),
          `the ${time} call without a token`,
          'skip the fence when shard_id is empty and both numbers are 0',
        );
      }
      return undefined;
    },
  },
  {
    id: 'fencing/absent-token-keeps-marks',
    contract: 'A call without a token changes no mark of any shard.',
    async run({ driver, pool }) {
      const { id, binding } = await pool.configured();
      const shard = driver.newShard();
      const token = shard.token(EPOCH, SEQUENCE);
      requirePassed(
        await driver.send('Configure', id, { token, binding }),
        'the first call of a shard for this machine',
        'accept the first token of a shard for a machine',
      );
      await driver.send('Configure', id, { token: ABSENT_TOKEN, binding });
      requireFenced(
        await driver.send('Configure', id, { token, binding }),
        'a call with a used token, after a call without a token',
        'leave the marks unchanged when a call carries no token',
      );
      return undefined;
    },
  },
  {
    id: 'fencing/race',
    contract: 'Of concurrent calls with the same token, exactly one passes the fence.',
    async run({ driver, pool }) {
      const { id, binding } = await pool.configured();
      const token = driver.newShard().token(EPOCH, SEQUENCE);
      const replies = await Promise.all(
        Array.from({ length: PARALLEL_CALLS }, () =>
          driver.send('Configure', id, { token, binding, isRacing: true }),
        ),
      );
      const passed = replies.filter((reply) => reply.ok);
      const other = replies.find((reply) => !reply.ok && reply.code !== FAILED_PRECONDITION);
      must(passed.length === 1 && other === undefined, {
        expected: `1 of ${PARALLEL_CALLS} calls with the same token to pass, and FAILED_PRECONDITION for all others`,
        came: other === undefined ? `${passed.length} calls passed` : describeReply(other),
        change: 'compare the token and advance the mark under one lock',
      });
      return undefined;
    },
  },
];
