/** If an answer is lost, the shard repeats the call. Both calls must be one operation. */
import { type Check, CheckFailedError, must } from '../check.ts';
import type { AckReply, ConfigureParameters, MutatingMethod } from '../client.ts';
import type { Begun } from '../driver.ts';
import { describeReply, requireEcho, requirePassed, requireUnchanged } from '../expect.ts';
import { type Rig, USUAL_BINDING } from '../rig.ts';
import { quote } from '../snapshot.ts';

const OTHER_BINDING: ConfigureParameters = { cluster: 'conformance-other', shardMetadata: { other: 'yes' } };

export const CREATE_REPEAT_CHECK = repeatCheck('Create', ({ pool }) =>
  pool.speculative({ willBeCreated: true }),
);
export const CONFIGURE_REPEAT_CHECK = repeatCheck('Configure', ({ pool }) => pool.idle());
export const DRAIN_REPEAT_CHECK = repeatCheck('Drain', async ({ pool }) => (await pool.configured()).id);
export const DELETE_REPEAT_CHECK = repeatCheck('Delete', ({ pool }) => pool.idle({ isDeletable: true }));

/** Repeats the call once while the operation may be in progress, and once after its end. */
function repeatCheck(method: MutatingMethod, borrow: (rig: Rig) => Promise<string>): Check {
  return {
    id: `idempotency/${method.toLowerCase()}`,
    contract: `${method} is idempotent on (machine_id, target state): a repeated call returns the same operation_id.`,
    async run(rig) {
      const { driver } = rig;
      const id = await borrow(rig);
      const binding = USUAL_BINDING;
      const begun = await driver.begin(method, id, { binding });
      requireSameOperation(begun, await driver.send(method, id, { binding }), 'right after the first call');
      const { end } = await driver.finish(begun);
      requireSameOperation(
        begun,
        await driver.send(method, id, { binding }),
        'after the operation has ended',
      );
      requireUnchanged(end, await driver.get(id), `a repeated ${method}`);
      return undefined;
    },
  };
}

export const IDEMPOTENCY_CHECKS: readonly Check[] = [
  {
    id: 'idempotency/machines-differ',
    contract:
      'An operation belongs to one machine: the same call for another machine returns another operation_id.',
    async run({ driver, pool }) {
      const first = await pool.idle();
      const second = await pool.idle();
      const left = await driver.perform('Configure', first, { binding: USUAL_BINDING });
      const right = await driver.perform('Configure', second, { binding: USUAL_BINDING });
      requireDifferent(left, right);
      return undefined;
    },
  },
  {
    id: 'idempotency/other-cluster',
    contract: 'Configure for another cluster does not move a bound machine: the machine keeps its binding.',
    async run({ driver, pool }) {
      const { id, binding } = await pool.configured();
      const before = await driver.get(id);
      const reply = await driver.send('Configure', id, { binding: OTHER_BINDING });
      requirePassed(
        reply,
        'Configure of a CONFIGURED machine for another cluster',
        'refuse the call with another code, or answer it as a repeat',
      );
      const after = await driver.get(id);
      requireEcho(after, binding, 'Get after Configure for another cluster');
      requireUnchanged(before, after, 'Configure of a bound machine for another cluster');
      return undefined;
    },
  },
  {
    id: 'idempotency/second-round',
    contract:
      'Idempotency ends with the operation: after a drain, Configure is a new operation and takes effect.',
    async run({ driver, pool }) {
      const { id } = await pool.configured();
      await driver.perform('Drain', id);
      const { end } = await driver.perform('Configure', id, { binding: OTHER_BINDING });
      requireEcho(end, OTHER_BINDING, 'the machine after its second Configure');
      await driver.perform('Drain', id);
      return undefined;
    },
  },
];

export const TARGETS_DIFFER_CHECK: Check = {
  id: 'idempotency/targets-differ',
  contract: 'Calls for different target states of one machine are different operations.',
  async run({ driver, pool }) {
    const id = await pool.idle();
    const configured = await driver.perform('Configure', id, { binding: USUAL_BINDING });
    const drained = await driver.perform('Drain', id);
    requireDifferent(configured, drained);
    return undefined;
  },
};

/** Create and Drain both end in IDLE, so by the contract these two may share an operation_id. */
export const ALL_TARGETS_DIFFER_CHECK: Check = {
  id: 'idempotency/delete-differs',
  contract: 'Create, Configure and Delete of one machine are different operations.',
  async run({ driver, pool }) {
    const id = await pool.speculative({ willBeCreated: true });
    const created = await driver.perform('Create', id);
    const configured = await driver.perform('Configure', id, { binding: USUAL_BINDING });
    const drained = await driver.perform('Drain', id);
    const deleted = await driver.perform('Delete', id);
    for (const [left, right] of [
      [created, configured],
      [created, deleted],
      [configured, deleted],
      [drained, deleted],
    ] as const) {
      requireDifferent(left, right);
    }
    return undefined;
  },
};

function requireSameOperation(begun: Begun, reply: AckReply, when: string): void {
  const change = 'store the operation_id per (machine_id, target state) and answer a repeated call with it';
  const expected = `a repeated ${begun.method} ${when} to return operation_id ${quote(begun.operationId)}`;
  if (!reply.ok) throw new CheckFailedError({ expected, came: describeReply(reply), change });
  const { operationId } = reply.value;
  must(operationId === begun.operationId, { expected, came: quote(operationId), change });
}

function requireDifferent(left: Begun, right: Begun): void {
  must(left.operationId !== right.operationId, {
    expected: `${left.method} of ${quote(left.machineId)} and ${right.method} of ${quote(right.machineId)} to have different operation_ids`,
    came: `${quote(left.operationId)} for both`,
    change: 'derive the operation_id from machine and target state, or number the operations',
  });
}
