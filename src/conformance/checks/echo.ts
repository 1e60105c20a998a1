/**
 * The provider returns a binding as Configure sent it. A restarted shard knows only from these echoes which
 * machine serves which need, so a provider that loses or edits one costs a cluster its machines.
 */
import { MachineState } from '../../machine/state.ts';
import { type Check, skip } from '../check.ts';
import type { ConfigureParameters } from '../client.ts';
import { requireEcho, requireUnbound } from '../expect.ts';
import { USUAL_BINDING } from '../rig.ts';
import { stateName } from '../snapshot.ts';

const S = MachineState;

const LONG_VALUE_CHARS = 4_096;
const MANY_KEYS = 64;
/** O1: a cluster id has 1 to 253 bytes. */
const CLUSTER_BYTES_MAX = 253;

const LONG_BINDING: ConfigureParameters = {
  cluster: 'c'.repeat(CLUSTER_BYTES_MAX),
  shardMetadata: Object.fromEntries([
    ...Array.from({ length: MANY_KEYS }, (_, index) => [
      `conformance.example/key-${index}`,
      `value ${index}`,
    ]),
    ['bigfleet.lucy.sh/assigned-need-fingerprint', 'reqs=zone:1:a;'.padEnd(LONG_VALUE_CHARS, 'x')],
  ]),
};

const MALFORMED_BINDING: ConfigureParameters = {
  cluster: 'conformance-malformed',
  shardMetadata: {
    'bigfleet.lucy.sh/assigned-priority': 'not a number',
    'bigfleet.lucy.sh/assigned-interruption-penalty-dollars': 'NaN dollars',
    'bigfleet.lucy.sh/assigned-need-fingerprint': '',
    'bigfleet.lucy.sh/assigned-something-of-tomorrow': '?',
  },
};

const SMALL_BINDING: ConfigureParameters = { cluster: 'conformance-small', shardMetadata: { only: 'this' } };
const BARE_BINDING: ConfigureParameters = { cluster: 'conformance-bare', shardMetadata: {} };

export const ECHO_CHECKS: readonly Check[] = [
  {
    id: 'echo/configure-ack',
    contract:
      'The ack of Configure, and every read until the operation ends, shows cluster and shard_metadata.',
    async run({ driver, pool }) {
      const id = await pool.idle();
      const { seen } = await driver.perform('Configure', id, { binding: USUAL_BINDING });
      requireEcho(seen[0]!, USUAL_BINDING, `the ack of Configure (${stateName(seen[0]!.state)})`);
      for (const machine of seen)
        requireEcho(machine, USUAL_BINDING, `a ${stateName(machine.state)} machine`);
      return undefined;
    },
  },
  {
    id: 'echo/get',
    contract: 'Get returns cluster and shard_metadata of a bound machine byte for byte.',
    async run({ driver, pool }) {
      const { id, binding } = await pool.configured();
      requireEcho(await driver.get(id), binding, 'Get');
      return undefined;
    },
  },
  {
    id: 'echo/list',
    contract: 'List returns cluster and shard_metadata of a bound machine byte for byte.',
    async run({ driver, pool }) {
      const { id, binding } = await pool.configured();
      requireEcho(await driver.getListed(id, S.Configured), binding, 'List');
      return undefined;
    },
  },
  {
    id: 'echo/own-machine',
    contract: 'Each machine shows its own cluster and shard_metadata.',
    async run({ driver, pool }) {
      const first = await pool.configured();
      const second = await pool.idle();
      await driver.perform('Configure', second, { binding: SMALL_BINDING });
      requireEcho(await driver.get(first.id), first.binding, 'Get after another machine was configured');
      requireEcho(await driver.get(second), SMALL_BINDING, 'Get of the other machine');
      await driver.perform('Drain', second);
      requireEcho(await driver.get(first.id), first.binding, 'Get after another machine was drained');
      return undefined;
    },
  },
  {
    id: 'echo/draining',
    contract:
      'A DRAINING machine still shows cluster and shard_metadata: in the ack of Drain, in Get and in List.',
    async run({ driver, pool }) {
      const { id, binding } = await pool.configured();
      const begun = await driver.begin('Drain', id);
      const isSeen = begun.machine.state === S.Draining;
      if (isSeen) {
        const listed = (await driver.list({ states: [S.Draining] })).find(id);
        if (listed?.state === S.Draining) requireEcho(listed, binding, 'List of a DRAINING machine');
      }
      const { seen } = await driver.finish(begun);
      for (const machine of seen) {
        if (machine.state === S.Draining) requireEcho(machine, binding, 'a DRAINING machine');
      }
      if (!isSeen) skip('the provider drains at once, so no answer showed a DRAINING machine');
      return undefined;
    },
  },
  {
    id: 'echo/cleared',
    contract: 'The provider clears cluster and shard_metadata together when a drain ends in IDLE.',
    async run({ driver, pool }) {
      const { id } = await pool.configured();
      const { seen, end } = await driver.perform('Drain', id);
      for (const machine of seen) if (machine.state === S.Idle) requireUnbound(machine, 'an IDLE machine');
      requireUnbound(end, 'Get after the drain');
      requireUnbound(await driver.getListed(id, S.Idle), 'List after the drain');
      return undefined;
    },
  },
  {
    id: 'echo/replaced',
    contract: 'Configure replaces shard_metadata completely: no key of an earlier binding remains.',
    async run({ driver, pool }) {
      const { id } = await pool.configured();
      await driver.perform('Drain', id);
      const { end } = await driver.perform('Configure', id, { binding: SMALL_BINDING });
      requireEcho(end, SMALL_BINDING, 'a machine that was configured, drained and configured again');
      await driver.perform('Drain', id);
      return undefined;
    },
  },
  boundAs('echo/no-metadata', 'A machine configured without shard_metadata shows none.', BARE_BINDING),
  boundAs('echo/long', 'Long cluster ids, long values and many keys come back complete.', LONG_BINDING),
  boundAs(
    'echo/not-interpreted',
    'A provider never interprets shard_metadata: it keeps values that no shard could parse like any others.',
    MALFORMED_BINDING,
  ),
];

function boundAs(id: string, contract: string, binding: ConfigureParameters): Check {
  return {
    id,
    contract,
    async run({ driver, pool }) {
      const machineId = await pool.idle();
      const { end } = await driver.perform('Configure', machineId, { binding });
      requireEcho(end, binding, 'Get');
      requireEcho(await driver.getListed(machineId, S.Configured), binding, 'List');
      await driver.perform('Drain', machineId);
      return undefined;
    },
  };
}
