/** Judged at the end: what was seen on every answer of the run, and whether the fleet is as it was. */
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
      'Lifecycle calls are acknowledged with the transitional state, or with the terminal one if done at once.',
    async run({ settings, sightings }) {
      const { ackStyles } = sightings;
      if (ackStyles.length === 0) skip('no lifecycle call was acknowledged');
      const terminalCount = ackStyles.filter((ack) => ack.isTerminal).length;
      const wrong = ackStyles.find((ack) => ack.isTerminal !== (settings.style === 'sync'));
      must(settings.style === 'auto' || wrong === undefined, {
        expected: `every ack with the ${settings.style === 'sync' ? 'terminal' : 'transitional'} state, as --style ${settings.style} says`,
        came: `an ack of ${wrong?.method} with the ${wrong?.isTerminal ? 'terminal' : 'transitional'} state`,
        change:
          'both styles are lawful: correct the provider if it was meant to have one, else use --style auto',
      });
      return `${terminalCount} of ${ackStyles.length} acks showed the terminal state`;
    },
  },
  {
    id: 'lifecycle/operation-id',
    contract: 'An ack names its operation.',
    async run({ sightings }) {
      if (sightings.ackStyles.length === 0) skip('no lifecycle call was acknowledged');
      requireNone(sightings.violations.get('lifecycle/operation-id'), {
        expected: 'an operation_id in every ack',
        change: 'give every accepted operation an id',
      });
      return undefined;
    },
  },
  {
    id: 'lifecycle/same-id',
    contract:
      'The id of a machine is stable for life, and an answer is about the machine that was asked for.',
    async run({ sightings }) {
      requireNone(sightings.violations.get('lifecycle/same-id'), {
        expected: 'the id that was asked for in every ack and every Get',
        change: 'keep the id through all states; put names of your backend into host.ref',
      });
      return undefined;
    },
  },
  {
    id: 'errors/failed-precondition-means-fencing',
    contract: 'FAILED_PRECONDITION means fencing and nothing else on this service.',
    async run({ sightings }) {
      requireNone(sightings.unexplainedRefusals, {
        expected: 'no FAILED_PRECONDITION for a read, for a call without a token or for a newer token',
        change:
          'use another code for everything that is not a stale token: a shard that sees this one stops for good',
      });
      return undefined;
    },
  },
  {
    id: 'errors/unimplemented-for-good',
    contract: 'UNIMPLEMENTED means that the operation is never supported.',
    async run({ sightings }) {
      for (const method of MUTATING_METHODS) {
        const refusedCount = sightings.replyCount(method, UNIMPLEMENTED);
        must(refusedCount === 0 || sightings.replyCount(method, OK) === 0, {
          expected: `${method} to be UNIMPLEMENTED always or never`,
          came: `${refusedCount} × UNIMPLEMENTED and ${sightings.replyCount(method, OK)} × OK`,
          change:
            'use another code for what cannot be done now, or with this machine: a shard never asks again',
        });
      }
      return undefined;
    },
  },
  {
    id: 'cursor/tombstones',
    contract: 'deleted_ids, if a provider sends them, name machines that are gone, after a cursor only.',
    async run({ client, sightings }) {
      if (sightings.tombstoneIds.size === 0) skip('the provider named no deleted machine during the run');
      requireNone(sightings.badTombstones, {
        expected: 'deleted_ids after a cursor only, disjoint from machines',
        change:
          'name a machine in deleted_ids when it is no longer listed at all; a Delete leaves it SPECULATIVE',
      });
      for (const id of sightings.tombstoneIds) {
        const reply = await client.get(id);
        must(reply.code === NOT_FOUND, {
          expected: `NOT_FOUND for ${quote(id)}, which deleted_ids named`,
          came: describeReply(reply),
          change: 'name only machines that no longer exist',
        });
      }
      return `${sightings.tombstoneIds.size} ids`;
    },
  },
  ...SHAPE_RULES.map(shapeCheck),
  {
    id: 'population/put-back',
    contract:
      'Drain and Delete undo Configure and Create: every machine that the suite used is as it was found.',
    async run({ custody, strays }) {
      const [first] = strays;
      must(first === undefined, {
        expected: `all ${custody.touchedIds.size} machines that the suite used in the states in which it found them`,
        came: strays
          .map(
            ({ id, foundIn, leftIn, why }) =>
              `${quote(id)} ${stateName(foundIn)} → ${stateName(leftIn)} (${why})`,
          )
          .join('; '),
        change: 'see the checks that failed before; then bring these machines back by hand',
      });
      return `${custody.touchedIds.size} machines used`;
    },
  },
  {
    id: 'population/same-counts',
    contract: 'A run leaves as many machines in each state as it found.',
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
        expected: 'the population of states with which the run began',
        came: `${changes.join(', ')}${other === undefined ? '' : `; ${quote(other)} moved, which the suite never named`}`,
        change: 'let a call change its own machine alone; or run the suite on a fleet that nobody else moves',
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
      if (sightings.machineCount === 0) skip('no machine was seen');
      requireNone(sightings.violations.get(rule.id), rule);
      return `${sightings.machineCount} sightings`;
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
    came: `${count} time${count === 1 ? '' : 's'} otherwise: ${examples.join('; ')}`,
    change,
  });
}
