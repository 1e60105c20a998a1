/** What the fence covers (all four calls, unknown machines), what it does not (absent tokens), and that a refused call does nothing. */
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
 * The stale call is one that would take effect at once if it were let through. The mark is set by a call
 * that has nothing to do in this state.
 */
function fencedCheck(
  method: MutatingMethod,
  idleCall: MutatingMethod,
  borrow: (rig: Rig) => Promise<string>,
): Check {
  return {
    id: `fencing/${method.toLowerCase()}`,
    contract: `A stale ${method} is refused, and nothing of it is applied.`,
    async run(rig) {
      const { driver } = rig;
      const id = await borrow(rig);
      const shard = driver.newShard();
      const before = await driver.get(id);
      const binding = USUAL_BINDING;
      const mark = { token: shard.token(EPOCH, SEQUENCE), binding };
      requirePassed(
        await driver.send(idleCall, id, mark),
        `${idleCall} of a ${stateName(before.state)} machine with a first token`,
        'refuse what does not fit the state with another code, and let repeats pass',
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
      'The fence comes before existence: a stale call about an unknown machine is FAILED_PRECONDITION.',
    async run({ driver }) {
      const id = driver.unknownId();
      const shard = driver.newShard();
      const first = await driver.send('Create', id, { token: shard.token(EPOCH, SEQUENCE) });
      skipIfUnsupported(first, 'Create');
      requireCode(
        first,
        NOT_FOUND,
        'Create of an unknown machine with a first token',
        'accept the first contact, then say that there is no such machine',
      );
      for (const sequence of [SEQUENCE, SEQUENCE - 1]) {
        requireFenced(
          await driver.send('Create', id, { token: shard.token(EPOCH, sequence) }),
          'a stale Create of an unknown machine',
          'check the token before you look the machine up, and keep marks for ids that you do not know, too',
        );
      }
      requireCode(
        await driver.send('Create', id, { token: shard.token(EPOCH, SEQUENCE + 1) }),
        NOT_FOUND,
        'Create of an unknown machine with a newer token',
        'let newer tokens through',
      );
      return undefined;
    },
  },
];

export const FENCING_BYPASS_CHECKS: readonly Check[] = [
  {
    id: 'fencing/absent-token',
    contract: 'An absent token (empty shard_id, 0, 0) bypasses the fence, as often as it comes.',
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
    contract: 'A call without a token leaves the marks of all shards where they were.',
    async run({ driver, pool }) {
      const { id, binding } = await pool.configured();
      const shard = driver.newShard();
      const token = shard.token(EPOCH, SEQUENCE);
      requirePassed(await driver.send('Configure', id, { token, binding }), 'a first contact', 'accept it');
      await driver.send('Configure', id, { token: ABSENT_TOKEN, binding });
      requireFenced(
        await driver.send('Configure', id, { token, binding }),
        'a used token, after a call without one',
        'leave the marks alone when a call carries no token',
      );
      return undefined;
    },
  },
  {
    id: 'fencing/race',
    contract: 'Of calls that arrive together with one and the same token exactly one passes.',
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
        expected: `1 of ${PARALLEL_CALLS} calls with the same token to pass, all others FAILED_PRECONDITION`,
        came: other === undefined ? `${passed.length} passed` : describeReply(other),
        change: 'compare the token and advance the mark in one step, under one lock',
      });
      return undefined;
    },
  },
];
