/** Refusals: the right code for each reason, and no change by a refused call. */
import { MachineState } from '../../machine/state.ts';
import { type Check, skip } from '../check.ts';
import type { MutatingMethod } from '../client.ts';
import { INVALID_ARGUMENT, NOT_FOUND } from '../codes.ts';
import type { Begun } from '../driver.ts';
import {
  requireAnswer,
  requireCode,
  requireOtherCode,
  requireRefused,
  requireUnchanged,
  skipIfUnsupported,
} from '../expect.ts';
import { type Rig, USUAL_BINDING } from '../rig.ts';
import { stateName } from '../snapshot.ts';
import { MUTATING_METHODS, STEPS } from '../steps.ts';

const S = MachineState;
const binding = USUAL_BINDING;

/** A call that a stable state does not allow. */
function misfitCheck(
  method: MutatingMethod,
  state: MachineState,
  borrow: (rig: Rig) => Promise<string>,
): Check {
  return {
    id: `errors/${method}-${stateName(state)}`.toLowerCase(),
    contract: `${method} is not allowed in ${stateName(state)}: the provider refuses it with any code but FAILED_PRECONDITION and changes nothing.`,
    async run(rig) {
      const id = await borrow(rig);
      const before = await rig.driver.get(id);
      const reply = await rig.driver.send(method, id, { binding });
      requireRefused(reply, `${method} of a ${stateName(state)} machine`);
      requireUnchanged(before, await rig.driver.get(id), `a refused ${method}`);
      return undefined;
    },
  };
}

/**
 * A call whose target state the machine already has. The contract allows an ack (idempotency) and a refusal
 * (wrong starting state), but no change.
 */
function alreadyThereCheck(method: MutatingMethod, borrow: (rig: Rig) => Promise<string>): Check {
  const { to } = STEPS[method];
  return {
    id: `errors/${method}-${stateName(to)}`.toLowerCase(),
    contract: `${method} of a machine that is already ${stateName(to)} changes nothing.`,
    async run(rig) {
      const id = await borrow(rig);
      const before = await rig.driver.get(id);
      const reply = await rig.driver.send(method, id, { binding });
      requireAnswer(reply, `${method} of a ${stateName(to)} machine`);
      requireOtherCode(reply, `${method} of a ${stateName(to)} machine`);
      requireUnchanged(before, await rig.driver.get(id), `${method} of a ${stateName(to)} machine`);
      return undefined;
    },
  };
}

/**
 * A call that the transitional state does not allow. The transition may end before the call arrives. The
 * state after it does not allow the call either, with one exception: both calls lead to the same state (Drain
 * during Create). Then the call is one whose target the machine already has, and an ack is lawful.
 */
function inTransitCheck(
  method: MutatingMethod,
  during: MutatingMethod,
  borrow: (rig: Rig) => Promise<string>,
): Check {
  const { through, to } = STEPS[during];
  return {
    id: `errors/${method}-${stateName(through)}`.toLowerCase(),
    contract: `${method} is not allowed in ${stateName(through)}: the provider refuses it, and ${during} runs to its end.`,
    async run(rig) {
      const id = await borrow(rig);
      const begun: Begun = await rig.driver.begin(during, id, { binding });
      if (begun.machine.state !== through) {
        await rig.driver.finish(begun);
        skip(`the provider finishes ${during} at once, so no answer showed a ${stateName(through)} machine`);
      }
      const reply = await rig.driver.send(method, id, { binding });
      const showsTarget = reply.ok && STEPS[method].to === to && reply.value.machine?.state === to;
      const hadEnded = showsTarget && (await rig.driver.get(id)).state === to;
      await rig.driver.finish(begun);
      if (hadEnded) skip(`${during} ended before ${method} arrived, so the provider may acknowledge it`);
      requireRefused(reply, `${method} of a ${stateName(through)} machine`);
      return undefined;
    },
  };
}

function failedCheck(method: MutatingMethod): Check {
  return {
    id: `errors/${method}-failed`.toLowerCase(),
    contract: `FAILED is terminal: the provider refuses ${method} and changes nothing.`,
    async run({ driver, pool }) {
      const id = pool.failed();
      const before = await driver.get(id);
      if (before.state !== S.Failed) skip('the FAILED machine was repaired meanwhile');
      const reply = await driver.send(method, id, { binding });
      requireRefused(reply, `${method} of a FAILED machine`);
      requireUnchanged(before, await driver.get(id), `${method} of a FAILED machine`);
      return undefined;
    },
  };
}

function unknownMachineCheck(method: MutatingMethod): Check {
  return {
    id: `errors/unknown-${method}`.toLowerCase(),
    contract: `${method} of an unknown machine returns NOT_FOUND.`,
    async run({ driver }) {
      const reply = await driver.send(method, driver.unknownId(), { binding });
      skipIfUnsupported(reply, method);
      requireCode(
        reply,
        NOT_FOUND,
        `${method} of an unknown machine`,
        'return NOT_FOUND for an id that no machine has',
      );
      return undefined;
    },
  };
}

function emptyIdCheck(method: MutatingMethod): Check {
  return {
    id: `errors/empty-id-${method}`.toLowerCase(),
    contract: `${method} without a machine id returns INVALID_ARGUMENT.`,
    async run({ driver }) {
      const reply = await driver.send(method, '', { binding });
      skipIfUnsupported(reply, method);
      requireCode(
        reply,
        INVALID_ARGUMENT,
        `${method} with an empty id`,
        'check that the id is not empty before you look it up',
      );
      return undefined;
    },
  };
}

export const UNKNOWN_AND_EMPTY_CHECKS: readonly Check[] = [
  {
    id: 'errors/unknown-get',
    contract: 'Get of an unknown machine returns NOT_FOUND.',
    async run({ client, driver }) {
      const reply = await client.get(driver.unknownId());
      requireCode(
        reply,
        NOT_FOUND,
        'Get of an unknown machine',
        'return NOT_FOUND; a shard takes an empty Machine for a real one',
      );
      return undefined;
    },
  },
  ...MUTATING_METHODS.map(unknownMachineCheck),
  {
    id: 'errors/empty-id-get',
    contract: 'Get without an id returns INVALID_ARGUMENT.',
    async run({ client }) {
      const reply = await client.get('');
      requireCode(
        reply,
        INVALID_ARGUMENT,
        'Get with an empty id',
        'check that the id is not empty before you look it up',
      );
      return undefined;
    },
  },
  ...MUTATING_METHODS.map(emptyIdCheck),
];

const anOffer = ({ pool }: Rig) => pool.speculative();
const anIdleOne = ({ pool }: Rig) => pool.idle();
const aBoundOne = async ({ pool }: Rig) => (await pool.configured()).id;

export const SPECULATIVE_MISFIT_CHECKS: readonly Check[] = [
  misfitCheck('Configure', S.Speculative, anOffer),
  misfitCheck('Drain', S.Speculative, anOffer),
  alreadyThereCheck('Delete', anOffer),
  inTransitCheck('Drain', 'Create', ({ pool }) => pool.speculative({ willBeCreated: true })),
];

export const IDLE_MISFIT_CHECKS: readonly Check[] = [
  alreadyThereCheck('Create', anIdleOne),
  alreadyThereCheck('Drain', anIdleOne),
];

export const BOUND_MISFIT_CHECKS: readonly Check[] = [
  misfitCheck('Create', S.Configured, aBoundOne),
  misfitCheck('Delete', S.Configured, async ({ pool }) => (await pool.configured({ isDeletable: true })).id),
  inTransitCheck('Create', 'Configure', anIdleOne),
  inTransitCheck('Delete', 'Configure', ({ pool }) => pool.idle({ isDeletable: true })),
];

export const DELETING_MISFIT_CHECKS: readonly Check[] = [
  inTransitCheck('Drain', 'Delete', ({ pool }) => pool.idle({ isDeletable: true })),
  inTransitCheck('Configure', 'Delete', ({ pool }) => pool.idle({ isDeletable: true })),
];

export const FAILED_CHECKS: readonly Check[] = MUTATING_METHODS.map(failedCheck);
