/** Checks at the end of a run: rules that hold for every answer, and whether the fleet is as it was. */
import { ALL_STATES } from '../../machine/state.ts';
import { type Check, must, skip } from '../check.ts';
import { NOT_FOUND, OK, UNIMPLEMENTED } from '../codes.ts';
import { countByState } from '../custody.ts';
import { describeReply } from '../expect.ts';
import { SHAPE_RULES, type ShapeRule } from '../shape-rules.ts';
import type { Violations } from '../sightings.ts';
import { quote, stateName } from '../snapshot.ts';
import { MUTATING_METHODS } from '../steps.ts';

export const CLOSING_CHECKS: readonly Check[] = [
  {
    id: 'lifecycle/ack-style',
    contract:
      'The ack of a lifecycle call shows the transitional state, or the terminal one if the operation is already done.',
    async run({ settings, sightings }) {
      const { ackStyles } = sightings;
      if (ackStyles.length === 0) skip('the provider acknowledged no lifecycle call');
      const terminalCount = ackStyles.filter((ack) => ack.isTerminal).length;
      const wrong = ackStyles.find((ack) => ack.isTerminal !== (settings.style === 'sync'));
      must(settings.style === 'auto' || wrong === undefined, {
        expected: `every ack to show the ${settings.style === 'sync' ? 'terminal' : 'transitional'} state, because of --style ${settings.style}`,
        came: `an ack of ${wrong?.method} with the ${wrong?.isTerminal ? 'terminal' : 'transitional'} state`,
        change:
          'the contract allows both styles: correct the provider if it should have only this one, else use --style auto',
      });
      return `${terminalCount} of ${ackStyles.length} acks showed the terminal state`;
    },
  },
  {
    id: 'lifecycle/operation-id',
    contract: 'Every ack carries an operation_id.',
    async run({ sightings }) {
      if (sightings.ackStyles.length === 0) skip('the provider acknowledged no lifecycle call');
      requireNone(sightings.violations.get('lifecycle/operation-id'), {
        expected: 'an operation_id in every ack',
        change: 'give every accepted operation an id, and return it again for a repeated call',
      });
      return undefined;
    },
  },
  {
    id: 'lifecycle/same-id',
    contract: 'A machine keeps its id for life, and every answer is about the machine that was asked for.',
    async run({ sightings }) {
      requireNone(sightings.violations.get('lifecycle/same-id'), {
        expected: 'the id that was asked for in every ack and every Get',
        change: 'keep the id in all states; put the name that your backend uses into host.ref',
      });
      return undefined;
    },
  },
  {
    id: 'errors/failed-precondition-means-fencing',
    contract: 'On this service FAILED_PRECONDITION means a stale token and nothing else.',
    async run({ sightings }) {
      requireNone(sightings.unexplainedRefusals, {
        expected: 'no FAILED_PRECONDITION for a read, for a call without a token or for a newer token',
        change:
          'use another code for everything but a stale token: a shard that receives FAILED_PRECONDITION stops executing for good',
      });
      return undefined;
    },
  },
  {
    id: 'errors/unimplemented-for-good',
    contract: 'UNIMPLEMENTED means that the provider never supports the operation.',
    async run({ sightings }) {
      for (const method of MUTATING_METHODS) {
        const refusedCount = sightings.replyCount(method, UNIMPLEMENTED);
        must(refusedCount === 0 || sightings.replyCount(method, OK) === 0, {
          expected: `UNIMPLEMENTED for every ${method} or for none`,
          came: `${refusedCount} × UNIMPLEMENTED and ${sightings.replyCount(method, OK)} × OK`,
          change:
            'use another code if the operation fails only now or only for this machine: after UNIMPLEMENTED a shard never tries it again',
        });
      }
      return undefined;
    },
  },
  {
    id: 'cursor/tombstones',
    contract:
      'deleted_ids, if a provider sends them, appear only after a cursor and name only machines that no longer exist.',
    async run({ client, sightings }) {
      if (sightings.tombstoneIds.size === 0) skip('the provider sent no deleted_ids during the run');
      requireNone(sightings.badTombstones, {
        expected: 'deleted_ids only after a cursor, and no machine both in machines and in deleted_ids',
        change:
          'name a machine in deleted_ids once it no longer exists; after Delete it still exists and is SPECULATIVE',
      });
      for (const id of sightings.tombstoneIds) {
        const reply = await client.get(id);
        must(reply.code === NOT_FOUND, {
          expected: `NOT_FOUND for Get of ${quote(id)}, which was in deleted_ids`,
          came: describeReply(reply),
          change: 'put only machines that no longer exist into deleted_ids: a shard forgets them',
        });
      }
      return `${sightings.tombstoneIds.size} ids`;
    },
  },
  ...SHAPE_RULES.map(shapeCheck),
  {
    id: 'population/put-back',
    contract:
      'Drain undoes Configure and Delete undoes Create: every machine that the suite used is back in its original state.',
    async run({ custody, strays }) {
      const [first] = strays;
      must(first === undefined, {
        expected: `all ${custody.touchedIds.size} machines that the suite used to be in their original states`,
        came: strays
          .map(
            ({ id, foundIn, leftIn, why }) =>
              `${quote(id)} ${stateName(foundIn)} → ${stateName(leftIn)} (${why})`,
          )
          .join('; '),
        change: 'look for the cause in the checks that failed before, and put these machines back by hand',
      });
      return `${custody.touchedIds.size} machines used`;
    },
  },
  {
    id: 'population/same-counts',
    contract: 'After a run every state has as many machines as before it.',
    async run({ custody, driver }) {
      const { ids, states, machineCount } = await driver.list();
      const before = custody.originalCounts();
      const after = countByState(states);
      const changes = ALL_STATES.filter((state) => before[state] !== after[state]).map(
        (state) => `${stateName(state)} ${before[state]} → ${after[state]}`,
      );
      const other = ids.find(
        (id, row) => !custody.touchedIds.has(id) && custody.originalState(id) !== states[row],
      );
      must(changes.length === 0, {
        expected: 'as many machines in each state as when the run began',
        came: `${changes.join(', ')}${other === undefined ? '' : `; machine ${quote(other)} moved, although the suite never called it`}`,
        change:
          'let a call change only its own machine; if another client moves machines, run the suite without it',
      });
      return `${machineCount} machines`;
    },
  },
];

function shapeCheck(rule: ShapeRule): Check {
  return {
    id: rule.id,
    contract: rule.contract,
    async run({ sightings }) {
      if (sightings.machineCount === 0) skip('the provider showed no machine');
      requireNone(sightings.violations.get(rule.id), rule);
      return `${sightings.machineCount} records checked`;
    },
  };
}

function requireNone(
  violations: Violations | undefined,
  { expected, change }: { readonly expected: string; readonly change: string },
): void {
  const { count, examples } = violations ?? { count: 0, examples: [] };
  must(count === 0, {
    expected,
    came: `${count} violation${count === 1 ? '' : 's'}: ${examples.join('; ')}`,
    change,
  });
}
