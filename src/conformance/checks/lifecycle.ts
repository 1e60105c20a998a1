/** Each lifecycle call moves a machine to its terminal state, at once or later, and the machine stays there. */
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
  contract: 'Create moves a SPECULATIVE machine to IDLE, at once or through CREATING; List and Get show it.',
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
    'Configure moves an IDLE machine to CONFIGURED, at once or through CONFIGURING; List and Get show it.',
  async run({ driver, pool }) {
    const id = await pool.idle();
    const { seen } = await driver.perform('Configure', id, { binding: USUAL_BINDING });
    await driver.getListed(id, S.Configured);
    return pathOf(seen);
  },
};

export const DRAIN_CHECK: Check = {
  id: 'lifecycle/drain',
  contract: 'Drain moves a CONFIGURED machine to IDLE, at once or through DRAINING; List and Get show it.',
  async run({ driver, pool }) {
    const { id } = await pool.configured();
    const { seen } = await driver.perform('Drain', id);
    await driver.getListed(id, S.Idle);
    return pathOf(seen);
  },
};

export const DELETE_CHECK: Check = {
  id: 'lifecycle/delete',
  contract: 'Delete moves an IDLE machine to SPECULATIVE, at once or through DELETING; List and Get show it.',
  async run({ driver, pool }) {
    const id = await pool.idle({ isDeletable: true });
    const { seen } = await driver.perform('Delete', id);
    await driver.getListed(id, S.Speculative);
    return pathOf(seen);
  },
};

export const STABLE_END_CHECK: Check = {
  id: 'lifecycle/end-is-stable',
  contract: 'A machine stays in its terminal state until the next call.',
  async run({ driver, pool }) {
    const id = await pool.idle();
    await driver.perform('Configure', id, { binding: USUAL_BINDING });
    for (let read = 0; read < STABLE_READS; read++) {
      await sleep(STABLE_PAUSE_MS);
      const machine = await driver.get(id);
      must(machine.state === S.Configured, {
        expected: 'the machine to stay CONFIGURED',
        came: stateName(machine.state),
        change: 'show the terminal state only when the operation is complete, and then keep it',
      });
      requireEcho(machine, USUAL_BINDING, 'a CONFIGURED machine without further calls');
    }
    return undefined;
  },
};

function pathOf(seen: readonly { readonly state: number }[]): string {
  const states: string[] = [];
  for (const { state } of seen) if (states.at(-1) !== stateName(state)) states.push(stateName(state));
  return `states seen: ${states.join(' → ')}`;
}
