/** Each lifecycle call does its one thing, at once or later, and what it did stays done. */
import { setTimeout as sleep } from 'node:timers/promises';
import { MachineState } from '../../machine/state.ts';
import { type Check, must } from '../check.ts';
import { requireEcho, requireUnbound } from '../expect.ts';
import { USUAL_BINDING } from '../rig.ts';
import { stateName } from '../snapshot.ts';

const S = MachineState;

const STABLE_READS = 4;
const STABLE_PAUSE_MS = 25;

export const CREATE_CHECK: Check = {
  id: 'lifecycle/create',
  contract: 'Create brings a SPECULATIVE machine to IDLE, at once or through CREATING; List and Get show it.',
  async run({ driver, pool }) {
    const id = await pool.speculative({ willBeCreated: true });
    const { seen, end } = await driver.perform('Create', id);
    await driver.getListed(id, S.Idle);
    requireUnbound(end, 'a machine that was just created');
    return pathOf(seen);
  },
};

export const CONFIGURE_CHECK: Check = {
  id: 'lifecycle/configure',
  contract:
    'Configure brings an IDLE machine to CONFIGURED, at once or through CONFIGURING; List and Get show it.',
  async run({ driver, pool }) {
    const id = await pool.idle();
    const { seen } = await driver.perform('Configure', id, { binding: USUAL_BINDING });
    await driver.getListed(id, S.Configured);
    return pathOf(seen);
  },
};

export const DRAIN_CHECK: Check = {
  id: 'lifecycle/drain',
  contract: 'Drain brings a CONFIGURED machine to IDLE, at once or through DRAINING; List and Get show it.',
  async run({ driver, pool }) {
    const { id } = await pool.configured();
    const { seen } = await driver.perform('Drain', id);
    await driver.getListed(id, S.Idle);
    return pathOf(seen);
  },
};

export const DELETE_CHECK: Check = {
  id: 'lifecycle/delete',
  contract:
    'Delete brings an IDLE machine to SPECULATIVE, at once or through DELETING; List and Get show it.',
  async run({ driver, pool }) {
    const id = await pool.idle({ isDeletable: true });
    const { seen } = await driver.perform('Delete', id);
    await driver.getListed(id, S.Speculative);
    return pathOf(seen);
  },
};

export const STABLE_END_CHECK: Check = {
  id: 'lifecycle/end-is-stable',
  contract: 'A terminal state lasts until the next call.',
  async run({ driver, pool }) {
    const id = await pool.idle();
    await driver.perform('Configure', id, { binding: USUAL_BINDING });
    for (let read = 0; read < STABLE_READS; read++) {
      await sleep(STABLE_PAUSE_MS);
      const machine = await driver.get(id);
      must(machine.state === S.Configured, {
        expected: 'the machine to stay CONFIGURED',
        came: stateName(machine.state),
        change: 'show the terminal state only when nothing is left to do, and keep it',
      });
      requireEcho(machine, USUAL_BINDING, 'a machine that nobody has called since');
    }
    return undefined;
  },
};

function pathOf(seen: readonly { readonly state: number }[]): string {
  const states: string[] = [];
  for (const { state } of seen) if (states.at(-1) !== stateName(state)) states.push(stateName(state));
  return `seen as ${states.join(' → ')}`;
}
